/* SPDX-License-Identifier: MIT */
/* What stands in the way of attaching: to processes that are made up, and to real ones. */
#include "../programs/seccomp_filter.h"
#include "stop_target.h"
#include "unit.h"

#include "base/xalloc.h"
#include "target/attach_check.h"
#include "target/attach_filters.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define OK SEEP_FINDING_OK
#define NOTE SEEP_FINDING_NOTE
#define PROBLEM SEEP_FINDING_PROBLEM
#define NO_LIMIT SEEP_NO_LIMIT
#define MIB(n) ((uint64_t)(n) << 20)

static struct seep_attach_facts healthy(void)
{
	return (struct seep_attach_facts){
		.pid = 4242,
		.process = 4242,
		.name = "server",
		.state = 'S',
		.refusal = { .pid = 4242, .name = "server", .has_proc = true },
		.sees_mappings = true,
		.opens_files = true,
		.kind = { .is_64bit = true, .machine = EM_X86_64 },
		.kind_is_known = true,
		.libc = SEEP_ATTACH_GLIBC,
		.glibc_minor = 36,
		.needed_glibc_minor = 35,
		.left = { NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT },
		.group = { NO_LIMIT, NO_LIMIT },
		.resident_bytes = MIB(100),
		.own_uid = 1000,
		.folder = "/dev/shm",
		.room = { NULL, MIB(8192), MIB(8000) },
	};
}

static const struct seep_finding *find(const struct seep_findings *found, const char *code)
{
	for (size_t i = 0; i < found->count; i++)
		if (strcmp(found->items[i].code, code) == 0)
			return &found->items[i];
	return NULL;
}

static void expect(const struct seep_findings *found, const char *code,
		   enum seep_finding_level level, const char *part)
{
	const struct seep_finding *finding = find(found, code);

	if (!finding) {
		fail_msg("the check %s was not made", code);
		return;
	}
	if (finding->level != level ||
	    (!strstr(finding->sentence, part) && !strstr(finding->advice, part)))
		fail_msg("%s: %d, \"%s\", \"%s\"; wanted %d, \"%s\"", code, finding->level,
			 finding->sentence, finding->advice, level, part);
	assert_true(level == OK || *finding->advice);
}

TEST(where_all_is_well_nothing_is_said)
{
	const struct seep_attach_facts facts = healthy();
	struct seep_findings *found = seep_xmalloc(sizeof(*found));

	seep_attach_judge(&facts, found);
	assert_int_equal(found->count, 10);
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].level != OK)
			fail_msg("%s: %s", found->items[i].code, found->items[i].sentence);
	free(found);
}

/* A change to what is well, and what is then said. */
#define CASE(name, code, level, part, ...)                                  \
	TEST(name)                                                          \
	{                                                                   \
		struct seep_findings *found = seep_xmalloc(sizeof(*found)); \
		struct seep_attach_facts f = healthy();                     \
                                                                            \
		__VA_ARGS__;                                                \
		seep_attach_judge(&f, found);                               \
		expect(found, code, level, part);                           \
		free(found);                                                \
	}

CASE(no_process, "process", PROBLEM, "there is no process 4242", f.state = 0)
CASE(a_thread_of_the_kernel, "process", PROBLEM, "thread of the kernel",
     f.refusal.is_kernels = true)
CASE(one_that_has_ended, "process", PROBLEM, "has ended", f.state = 'Z';
     f.refusal.is_kernels = true)
CASE(a_thread_is_no_process, "process", PROBLEM, "a thread of process 4000", f.process = 4000)
CASE(one_that_is_stopped, "process", PROBLEM, "kill -CONT 4242", f.state = 'T')
CASE(another_tracer, "rights", PROBLEM, "gdb (pid 7) traces it already", f.refusal.tracer = 7;
     (void)strcpy(f.refusal.tracer_name, "gdb"))
CASE(yama_for_descendants, "rights", PROBLEM, "ptrace_scope is 1", f.trace_errno = EPERM;
     f.refusal.yama = 1)
CASE(yama_for_nobody, "rights", PROBLEM, "boot again", f.trace_errno = EPERM; f.refusal.yama = 3)
CASE(yama_that_lets_us_is_no_problem, "rights", OK, "", f.refusal.yama = 1)
CASE(another_user, "rights", PROBLEM, "another user", f.trace_errno = EPERM;
     f.refusal.other_user = true)
CASE(not_dumpable, "rights", PROBLEM, "not dumpable", f.trace_errno = EPERM;
     f.refusal.is_guarded = true)
CASE(a_user_namespace_outside, "rights", PROBLEM, "user namespace", f.trace_errno = EPERM;
     f.refusal.may_trace_any = f.refusal.is_beyond = true)
CASE(files_of_another_user, "rights", PROBLEM, "CAP_DAC_OVERRIDE", f.opens_files = false)
CASE(recorded_already, "recorded", PROBLEM, "seep top 4242", f.is_recorded = true)
CASE(preloaded_without_ledger, "recorded", PROBLEM, "library-loaded", f.is_preloaded = true)
CASE(a_program_of_32_bits, "kind", PROBLEM, "64-bit x86", f.kind.is_64bit = false)
CASE(musl, "kind", PROBLEM, "musl", f.libc = SEEP_ATTACH_MUSL; f.glibc_minor = 0)
CASE(no_vdso, "kind", PROBLEM, "vDSO", f.lacks_vdso = true)
CASE(static_linked, "kind", PROBLEM, "-static", f.libc = SEEP_ATTACH_NO_LIBC; f.glibc_minor = 0)
CASE(one_that_has_just_begun, "kind", PROBLEM, "again in a moment", f.libc = SEEP_ATTACH_NO_LIBC;
     f.is_starting = true; f.glibc_minor = 0)
CASE(go_without_c, "kind", PROBLEM, "runtime/pprof", f.libc = SEEP_ATTACH_NO_LIBC;
     f.kind.is_go = true)
CASE(go_with_c, "kind", NOTE, "only what C code", f.kind.is_go = true)
CASE(an_older_glibc, "kind", PROBLEM, "up to GLIBC_2.31, and attaching needs GLIBC_2.35",
     f.glibc_minor = 31)
CASE(a_glibc_that_cannot_be_read, "kind", PROBLEM, "cannot be told", f.glibc_minor = 0)
CASE(shadow_stacks, "kind", PROBLEM, "x86_shstk=off", f.has_shadow_stack = true)
CASE(valgrind, "allocator", PROBLEM, "valgrind", f.tool = "valgrind"; f.tool_is_in_the_way = true)
CASE(heaptrack, "allocator", NOTE, "heaptrack", f.tool = "heaptrack")
CASE(an_allocator_linked_in, "allocator", NOTE, "seep attach --entries 4242",
     f.linked_allocator = "jemalloc")
CASE(an_allocator_of_other_names, "allocator", NOTE, "record a build",
     f.linked_allocator = "rpmalloc")
CASE(strict_mode, "seccomp", PROBLEM, "strict mode", f.seccomp = 1)
CASE(a_filter_that_we_may_not_read, "seccomp", PROBLEM, "CAP_SYS_ADMIN", f.seccomp = 2)
CASE(a_filter_that_is_read, "seccomp", NOTE, "reads it first", f.seccomp = 2;
     f.may_read_filters = true)
CASE(apparmor, "confinement", NOTE, "docker-default",
     (void)strcpy(f.confined, "docker-default (enforce)"))
CASE(address_space, "limits", PROBLEM, "prlimit --as=unlimited --pid 4242",
     f.left.address_space_bytes = MIB(159))
CASE(data_segment, "limits", PROBLEM, "RLIMIT_DATA", f.left.data_bytes = MIB(63))
CASE(file_size, "limits", PROBLEM, "RLIMIT_FSIZE", f.left.file_bytes = 511 << 10)
CASE(descriptors, "limits", PROBLEM, "RLIMIT_NOFILE", f.left.descriptor_count = 7)
CASE(locked_memory, "limits", NOTE, "mlockall", f.locked_bytes = MIB(60))
CASE(nowhere_for_a_ledger, "ledger", PROBLEM, "/run/user/1000", *f.folder = '\0')
CASE(a_full_folder, "ledger", PROBLEM, "/dev/shm, as it sees it", f.room.free_bytes = 4096)
CASE(a_group_that_is_full, "group", PROBLEM, "MemoryMax=", f.group.room_bytes = MIB(15))
CASE(a_group_that_is_nearly_full, "group", NOTE, "MemoryMax=", f.group.room_bytes = MIB(63))

TEST(whom_we_may_not_trace_we_say_no_more_of)
{
	struct seep_findings *found = seep_xmalloc(sizeof(*found));
	struct seep_attach_facts f = healthy();

	f.trace_errno = EPERM;
	f.sees_mappings = false;
	seep_attach_judge(&f, found);
	assert_int_equal(found->count, 2);
	free(found);
}

/* ---- real ones ----------------------------------------------------------------------------- */

static void run_on(void)
{
	shared->ready = 1;
	for (;;)
		(void)pause();
}

static void check(pid_t pid, int code, const char *said)
{
	struct seep_error err = { 0 };
	struct seep_attach_facts facts;
	int rc;

	seep_attach_look(pid, &facts);
	rc = seep_attach_check(&facts, &err);
	if (rc != -code || !strstr(err.text, said))
		fail_msg("%d, \"%s\"; wanted %d, \"%s\"", rc, err.text, -code, said);
}

TARGET_TEST(a_child_of_ours_can_be_attached_to, run_on)
{
	struct seep_attach_facts facts;

	check(target, 0, "");
	seep_attach_look(target, &facts);
	assert_true(facts.glibc_minor >= facts.needed_glibc_minor);
	assert_true(facts.needed_glibc_minor >= 34);
	assert_int_equal(facts.own_uid, getuid());
	assert_true(*facts.folder);
}

TEST(nobody_attaches_to_himself_to_threads_or_to_nobody)
{
	check(getpid(), SEEP_EREFUSED, "itself");
	check(INT32_MAX, SEEP_ENOTFOUND, "no process");
}

TARGET_TEST(who_is_stopped_is_told_to_go_on, run_on)
{
	assert_int_equal(kill(target, SIGSTOP), 0);
	WAIT_FOR(state_of(target) == 'T');
	check(target, SEEP_EREFUSED, "kill -CONT");
}

TEST(who_has_ended_is_not_found)
{
	const pid_t pid = start_target(run_on);

	assert_int_equal(kill(pid, SIGKILL), 0);
	WAIT_FOR(state_of(pid) == 'Z');
	check(pid, SEEP_ENOTFOUND, "has ended");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void run_traced(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	run_on();
}

TARGET_TEST(a_tracer_is_named, run_traced)
{
	check(target, SEEP_EREFUSED, "traces it already");
}

static void run_strict(void)
{
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	shared->ready = 1;
	for (;;)
		;
}

TARGET_TEST(strict_mode_is_seen, run_strict)
{
	check(target, SEEP_EREFUSED, "strict mode");
}

static void run_limited(void)
{
	const struct rlimit small = { 4, 4 };

	(void)setrlimit(RLIMIT_NOFILE, &small);
	run_on();
}

TARGET_TEST(descriptors_that_are_left_are_counted, run_limited)
{
	check(target, SEEP_EREFUSED, "RLIMIT_NOFILE");
}

/* A file of that name, of @bytes that make no sense, is mapped with @protection. */
static void map_named(const char *name, int protection)
{
	char path[128], folder[] = "/tmp/seep-attach-XXXXXX";
	int fd;

	if (!mkdtemp(folder))
		_exit(1);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, protection, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	(void)unlink(path);
	(void)rmdir(folder);
}

static void run_asan(void)
{
	map_named("libasan.so.8", PROT_READ);
	map_named("libc.so.6", PROT_NONE);
	run_on();
}

TARGET_TEST(a_sanitizer_is_seen, run_asan)
{
	check(target, SEEP_EUNSUPPORTED, "AddressSanitizer");
}

static void run_false_ledger(void)
{
	map_named("seep.1.2.0.ledger", PROT_READ);
	run_on();
}

TARGET_TEST(not_every_file_of_that_name_is_a_ledger, run_false_ledger)
{
	check(target, 0, "");
}

/* ---- filters ------------------------------------------------------------------------------- */

static const int *filter_calls;
static unsigned filter_count;
static uint32_t filter_answer, filter_others;

static void run_filtered(void)
{
	if (set_filter(filter_calls, filter_count, filter_answer, filter_others) != 0)
		shared->result = -1;
	run_on();
}

static void check_filter(int call, uint32_t answer, int code, const char *said)
{
	struct seep_error err = { 0 };
	pid_t pid;
	int rc;

	filter_calls = &call;
	filter_count = 1;
	filter_answer = answer;
	filter_others = SECCOMP_RET_ALLOW;
	pid = start_target(run_filtered);
	assert_int_equal(shared->result, 0);
	rc = seep_attach_check_filters(pid, &err);
	end_target(pid);
	if (rc == -SEEP_ESYS)
		skip(); /* no CAP_SYS_ADMIN, or we are under a filter */
	if (rc != -code || !strstr(err.text, said))
		fail_msg("call %d: %d, \"%s\"", call, rc, err.text);
}

TEST(a_filter_that_kills_for_what_is_done_prevents_it)
{
	check_filter(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS, SEEP_EREFUSED, "memfd_create");
	check_filter(SYS_getcwd, SECCOMP_RET_TRAP, SEEP_EREFUSED,
		     "kills for the system call getcwd");
	check_filter(SYS_mount, SECCOMP_RET_KILL_PROCESS, 0, "");
}

TEST(a_filter_that_denies_prevents_it_only_where_it_matters)
{
	check_filter(SYS_openat, SECCOMP_RET_ERRNO | EPERM, SEEP_EREFUSED, "denies");
	check_filter(SYS_getcwd, SECCOMP_RET_ERRNO | EPERM, 0, "");
}
