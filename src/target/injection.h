/* SPDX-License-Identifier: MIT */
/*
 * System calls in the name of one stopped thread, which afterwards stands as it stood: registers,
 * blocked signals, and what it was interrupted in. All its signals are blocked meanwhile. If we are
 * killed in the middle, the process is lost.
 *
 *	struct seep_injection injection;
 *
 *	rc = seep_injection_begin(&injection, tid, site, err);
 *	if (rc == 0)
 *		rc = seep_injection_call(&injection, SYS_getppid, none, &value, err);
 *	seep_injection_end(&injection);
 *
 * The thread must have stopped as SEEP_TRACEE_STOPPED: only on its way out of that stop does the
 * kernel take up again a system call that it was interrupted in.
 */
#ifndef SEEP_TARGET_INJECTION_H
#define SEEP_TARGET_INJECTION_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct seep_injection {
	pid_t tid; /* 0: not begun */
	uint64_t site;
	struct user_regs_struct saved;
	uint64_t blocked; /* signals */
	uint64_t rseq_at; /* where the thread says which restartable sequence it is in; 0: */
	uint64_t rseq;	  /* it is in none */
	pid_t child;	  /* that the last call made and that is traced too; 0 none */
};

/*
 * The address of an instruction that makes a system call, in the code of @pid; 0: none was found.
 */
uint64_t seep_injection_site(pid_t pid);

/*
 * Whether there is one there, in a process that a thread of is stopped: it may have called exec().
 */
bool seep_injection_is_site(pid_t tid, uint64_t address);

/* Returns: 0, or -SEEP_ESYS. */
SEEP_NODISCARD int seep_injection_begin(struct seep_injection *injection, pid_t tid, uint64_t site,
					struct seep_error *err);

/*
 * @number:    none that sleeps until a time, since the kernel has one place only to note how such a
 *             call is taken up again
 * @ret_value: what the kernel returned, negative errno included.
 * Returns: 0, or -SEEP_ESYS (the thread was killed, or the call takes more than a minute).
 */
SEEP_NODISCARD int seep_injection_call(struct seep_injection *injection, long number,
				       const uint64_t arguments[6], int64_t *ret_value,
				       struct seep_error *err);

/* Also after a failure. */
void seep_injection_end(struct seep_injection *injection);

#endif
