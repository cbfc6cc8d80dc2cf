/* SPDX-License-Identifier: MIT */
#include "target/attach_filters.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "target/tracee.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define STOP_NS UINT64_C(20000000) /* for a thread to stop */

/* A call that attaching, the loader or the library makes. */
struct made {
	const char *name;
	uint32_t number;
	bool is_needed; /* an error instead of an answer ends it: no library, or no ledger */
	int argument;	/* that filters look at and that is known; -1: none */
	uint64_t value;
};

#define CALL(name)                              \
	{                                       \
#name, SYS_##name, false, -1, 0 \
	}
#define NEEDED(name)                           \
	{                                      \
#name, SYS_##name, true, -1, 0 \
	}
#define CALL_WITH(name, argument, value)                  \
	{                                                 \
#name, SYS_##name, false, argument, value \
	}
#define NEEDED_WITH(name, argument, value)               \
	{                                                \
#name, SYS_##name, true, argument, value \
	}

/* src/runtime says which; of its options those that nobody gives to an attach are left out. */
static const struct made calls[] = {
	NEEDED(memfd_create),
	NEEDED(openat),
	NEEDED(read),
	CALL(pread64),
	NEEDED(fstat),
	NEEDED(newfstatat),
	NEEDED_WITH(mmap, 2, PROT_NONE),
	NEEDED_WITH(mmap, 2, PROT_READ),
	NEEDED_WITH(mmap, 2, PROT_READ | PROT_WRITE),
	NEEDED_WITH(mmap, 2, PROT_READ | PROT_EXEC),
	NEEDED_WITH(mprotect, 2, PROT_READ),
	NEEDED_WITH(mprotect, 2, PROT_READ | PROT_WRITE),
	CALL_WITH(mprotect, 2, PROT_READ | PROT_EXEC),
	CALL_WITH(mprotect, 2, PROT_READ | PROT_WRITE | PROT_EXEC),
	CALL(munmap),
	CALL(close),
	CALL(brk),
	NEEDED_WITH(madvise, 2, MADV_POPULATE_WRITE),
	NEEDED_WITH(madvise, 2, MADV_WIPEONFORK),
	NEEDED_WITH(madvise, 2, MADV_DONTFORK),
	CALL_WITH(madvise, 2, MADV_DONTNEED),
	CALL_WITH(madvise, 2, MADV_DONTDUMP),
	CALL_WITH(madvise, 2, MADV_NOHUGEPAGE),
	CALL_WITH(madvise, 2, MADV_RANDOM),
	CALL(mkdir),
	CALL(chmod),
	CALL(fstatfs),
	NEEDED(ftruncate),
	CALL(renameat2),
	CALL(unlinkat),
	CALL(readlinkat),
	CALL(getcwd),
	NEEDED(getpid),
	NEEDED(gettid),
	CALL(getppid),
	CALL(getpgid),
	NEEDED(getresuid),
	CALL(geteuid),
	CALL(prlimit64),
	CALL(clock_gettime),
	CALL(tgkill),
	CALL(rt_sigprocmask),
	CALL(process_vm_readv),
	CALL(sigaltstack),
	CALL_WITH(prctl, 0, PR_GET_NAME),
	CALL_WITH(futex, 1, FUTEX_WAIT),
	CALL_WITH(futex, 1, FUTEX_WAKE),
	CALL_WITH(futex, 1, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG),
	CALL_WITH(futex, 1, FUTEX_WAKE | FUTEX_PRIVATE_FLAG),
	CALL(membarrier),
	CALL(pause),
};

static struct seep_seccomp_verdict judge(const struct seep_seccomp *filters,
					 const struct made *made)
{
	struct seep_seccomp_call call = { .number = made->number };

	if (made->argument >= 0) {
		call.known = 1u << made->argument;
		call.arguments[made->argument] = made->value;
	}
	return seep_seccomp_judge(filters, &call);
}

static int judge_all(const struct seep_seccomp *filters, struct seep_error *err)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		const struct made *made = &calls[i];
		const struct seep_seccomp_verdict verdict = judge(filters, made);

		if (seep_seccomp_outcome_of(verdict.strictest) == SEEP_SECCOMP_KILLS)
			return seep_fail(
				err, SEEP_EREFUSED,
				"a seccomp filter of it kills%s for the system call %s; let "
				"the filter allow that, or record it from its start",
				verdict.strictest == verdict.mildest ? "" : ", or may kill,",
				made->name);
		if (made->is_needed &&
		    seep_seccomp_outcome_of(verdict.mildest) == SEEP_SECCOMP_FAILS)
			return seep_fail(
				err, SEEP_EREFUSED,
				"a seccomp filter of it denies the system call %s; let the "
				"filter allow that, or record it from its start",
				made->name);
	}
	return 0;
}

/* One that does not stop at once is passed over: as far as we know it has none. */
static int read_filters(pid_t tid, struct seep_seccomp *filters, struct seep_error *err)
{
	enum seep_tracee stands;
	int signal = 0, rc;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return errno == ESRCH ? 0
				      : seep_fail_errno(err, errno, "cannot trace thread %d", tid);
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	stands = seep_tracee_await(tid, seep_monotonic_ns() + STOP_NS, &signal);
	if (stands != SEEP_TRACEE_STOPPED && stands != SEEP_TRACEE_SIGNAL)
		return 0;
	rc = seep_seccomp_read(tid, filters, err);
	seep_tracee_go(PTRACE_DETACH, tid, stands == SEEP_TRACEE_SIGNAL ? signal : 0);
	return rc;
}

static int check_thread(pid_t tid, struct seep_error *err)
{
	struct seep_seccomp filters = { 0 };
	int rc = read_filters(tid, &filters, err);

	if (rc == 0)
		rc = judge_all(&filters, err);
	seep_seccomp_done(&filters);
	return rc;
}

struct job {
	pid_t pid;
	struct seep_error *err;
	int rc;
};

static void *check_threads(void *argument)
{
	struct job *job = argument;
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *threads = seep_procfs_threads(job->pid);
	struct seep_procfs_status status;
	pid_t tid;

	while (job->rc == 0 && (tid = seep_procfs_thread(threads)))
		if (seep_procfs_status((uint32_t)tid, &status) && status.seccomp)
			job->rc = check_thread(tid, job->err);
	return NULL;
}

/* By a thread, at whose end the kernel lets go what has not stopped for it. */
int seep_attach_check_filters(pid_t pid, struct seep_error *err)
{
	struct job job = { .pid = pid, .err = err };
	pthread_t thread;
	int problem;

	problem = pthread_create(&thread, NULL, check_threads, &job);
	if (problem)
		return seep_fail_errno(err, problem, "cannot start a thread");
	(void)pthread_join(thread, NULL);
	return job.rc;
}
