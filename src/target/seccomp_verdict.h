/* SPDX-License-Identifier: MIT */
/*
 * What the filters of a thread (seccomp) answer to a system call that it has not made yet. A filter
 * is a program that jumps forward only, so one pass over it finds all that it can answer: what it
 * looks at and we do not know makes it go both ways.
 */
#ifndef SEEP_TARGET_SECCOMP_VERDICT_H
#define SEEP_TARGET_SECCOMP_VERDICT_H

#include "base/error.h"

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One filter. */
struct seep_seccomp_program {
	struct sock_filter *code;
	size_t count;
};

/* The filters of one thread, the oldest first. Zeroed storage is empty. */
struct seep_seccomp {
	struct seep_seccomp_program *items;
	size_t count;
};

/**
 * seep_seccomp_read - the filters that a thread runs under
 * @tid:         stopped, and traced by the calling thread
 * @ret_filters: set on success only; release with seep_seccomp_done()
 *
 * Returns: 0, also where there is none; or -SEEP_ESYS: they cannot be read. That takes
 * CAP_SYS_ADMIN, and that no filter is in force for us.
 */
SEEP_NODISCARD int seep_seccomp_read(pid_t tid, struct seep_seccomp *ret_filters,
				     struct seep_error *err);
void seep_seccomp_done(struct seep_seccomp *filters);

/* A system call of the x86-64 ABI. */
struct seep_seccomp_call {
	uint32_t number;
	unsigned known; /* bit N: argument N is known */
	uint64_t arguments[6];
};

/* What comes of a call, from what is mildest on. */
enum seep_seccomp_outcome {
	SEEP_SECCOMP_PASSES,
	SEEP_SECCOMP_ASKS, /* another process decides (SECCOMP_RET_USER_NOTIF, _TRACE) */
	SEEP_SECCOMP_FAILS,
	SEEP_SECCOMP_KILLS, /* or sends SIGSYS, of which a program ends unless it handles that */
};

/* As SECCOMP_RET_*, with their data. Both are the same unless it depends on what is not known. */
struct seep_seccomp_verdict {
	uint32_t strictest;
	uint32_t mildest;
};

/* What all @filters together answer: of their answers the kernel takes the strictest. */
struct seep_seccomp_verdict seep_seccomp_judge(const struct seep_seccomp *filters,
					       const struct seep_seccomp_call *call);

enum seep_seccomp_outcome seep_seccomp_outcome_of(uint32_t answer);

#endif
