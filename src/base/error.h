/* SPDX-License-Identifier: MIT */
/*
 * Errors of the tool: a code for the caller to act on and one sentence for the person.
 * Library functions return 0 or a negative code and fill the sentence; only src/cli prints it.
 */
#ifndef SEEP_BASE_ERROR_H
#define SEEP_BASE_ERROR_H

#define SEEP_NODISCARD __attribute__((warn_unused_result))
#define SEEP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Codes are returned negated: -SEEP_ECORRUPT. Their numbers are not stored anywhere. */
enum seep_code {
	SEEP_ESYS = 1,	   /* the operating system refused; the sentence has strerror */
	SEEP_EUSAGE,	   /* the person asked for something that makes no sense */
	SEEP_ECORRUPT,	   /* a file is damaged, or not what it should be */
	SEEP_ETRUNC,	   /* a file ends too early */
	SEEP_EVERSION,	   /* a newer seep wrote it */
	SEEP_ENOTFOUND,	   /* no such process, file, symbol or name */
	SEEP_EEXIST,	   /* the output is there already */
	SEEP_ELIMIT,	   /* a bound of ours was reached */
	SEEP_EUNSUPPORTED, /* a program or file of a kind that seep cannot record or read */
	SEEP_EREFUSED,	   /* the kernel does not let us look into a process */
};

enum { SEEP_ERROR_TEXT_BYTES = 512 };

/* Filled on failure only. Plain memory: nothing to release. */
struct seep_error {
	int code;			  /* an enum seep_code, positive; 0 = never filled */
	char text[SEEP_ERROR_TEXT_BYTES]; /* one sentence, no newline, no full stop */
};

/**
 * seep_fail - fill @err and give back the code to return
 * @err: may be NULL; then only the code remains
 *
 * Returns: -@code, always, so that a function ends with "return seep_fail(...)".
 */
int seep_fail(struct seep_error *err, enum seep_code code, const char *fmt, ...) SEEP_PRINTF(3, 4);

/* The same for SEEP_ESYS; appends ": " and strerror(errno_value). */
int seep_fail_errno(struct seep_error *err, int errno_value, const char *fmt, ...)
	SEEP_PRINTF(3, 4);

/* Put "<context>: " in front of the sentence in @err. NULL is a no-op. */
void seep_error_prefix(struct seep_error *err, const char *fmt, ...) SEEP_PRINTF(2, 3);

#endif
