/* SPDX-License-Identifier: MIT */
/* What is said of machines, programs and processes that are made up here. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "target/reasons.h"
#include "unit.h"

#define OK SEEP_FINDING_OK
#define NOTE SEEP_FINDING_NOTE
#define PROBLEM SEEP_FINDING_PROBLEM
#define NO_LIMIT SEEP_NO_LIMIT
#define MIB(n) ((uint64_t)(n) << 20)

static const struct seep_memory_manager manager = { "python", NULL, NULL, "Python keeps", "" };

static struct seep_facts healthy(void)
{
	return (struct seep_facts){
		.looked = SEEP_FACTS_MACHINE | SEEP_FACTS_PROGRAM | SEEP_FACTS_INSIDE |
			  SEEP_FACTS_PROCESS | SEEP_FACTS_LIMITS | SEEP_FACTS_OUTPUT,
		.uid = 1000,
		.limits = { NO_LIMIT, NO_LIMIT, NO_LIMIT },
		.group = { NO_LIMIT, NO_LIMIT },
		.ledgers = { "/dev/shm/seep-0", MIB(8192), MIB(8000) },
		.output = { "/home/me", MIB(90000), MIB(40000) },
		.output_writable = true,
		.machine = {
			.kernel = "6.1.0", .has_proc = true, .kernel_populates = true,
			.library = "/usr/lib/seep/libseep.so", .ledger_dir = "/dev/shm/seep-0",
			.was_tried = true, .tried_well = true,
		},
		.program = {
			.name = "prog", .path = "/usr/bin/prog", .loaded = "/usr/bin/prog",
			.was_read = true, .kind = { .is_64bit = true, .has_unwind = true },
		},
		.process = {
			.pid = 4242, .exists = true, .exe = "/usr/bin/prog", .uid = 1000,
			.real_uid = 1000, .can_look = true, .has_library = true,
			.recorded = "recorded",
		},
	};
}

/* The finding of @code; NULL when that check does not apply. */
static const struct seep_finding *find(const struct seep_facts *facts, const char *code)
{
	static struct seep_findings found;

	seep_reasons_find(facts, &found);
	for (size_t i = 0; i < found.count; i++)
		if (strcmp(found.items[i].code, code) == 0)
			return &found.items[i];
	return NULL;
}

static void expect(const struct seep_facts *facts, const char *code, enum seep_finding_level level,
		   const char *part)
{
	const struct seep_finding *finding = find(facts, code);

	if (!finding) {
		fail_msg("the check %s does not apply", code);
		return;
	}
	assert_int_equal(finding->level, level);
	if (!strstr(finding->sentence, part) && !strstr(finding->advice, part))
		fail_msg("no \"%s\" in \"%s\" or \"%s\"", part, finding->sentence, finding->advice);
	/* Who is told of a problem is told what to do. */
	assert_true(level != PROBLEM || *finding->advice);
}

TEST(what_is_well_gives_no_alarm)
{
	const struct seep_facts facts = healthy();
	struct seep_findings *found = seep_xmalloc(sizeof(*found));
	struct seep_finding reason;

	seep_reasons_find(&facts, found);
	for (size_t i = 0; i < found->count; i++) {
		if (found->items[i].level != OK)
			fail_msg("%s: %s", found->items[i].code, found->items[i].sentence);
		assert_string_equal(found->items[i].sentence, "");
		assert_string_equal(found->items[i].advice, "");
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(found->items[i].code, found->items[k].code);
	}
	assert_int_equal(found->count, 24);
	assert_false(seep_reasons_first(&facts, &reason));
	free(found);
}

/* In the order of the table of reasons: a change to what is well, and what is then said. */
#define CASE(name, code, level, part, ...)       \
	TEST(name)                               \
	{                                        \
		struct seep_facts f = healthy(); \
                                                 \
		__VA_ARGS__;                     \
		expect(&f, code, level, part);   \
	}

CASE(no_process_is_a_problem, "process", PROBLEM, "there is no process 4242",
     f.process.exists = false)
CASE(a_process_may_not_be_looked_at, "process", NOTE, "ask as root", f.process.exe = NULL)
CASE(root_is_not_told_to_be_root, "process", NOTE, "CAP_SYS_PTRACE", f.process.exe = NULL;
     f.uid = 0)
CASE(a_thread_of_the_kernel_is_no_program, "process", PROBLEM, "thread of the kernel",
     f.process.exe = NULL;
     f.process.is_kernels = true)
CASE(the_first_process_is_not_started_by_us, "recorded", NOTE, "started in its place",
     f.process.recorded = NULL;
     f.process.pid = 1)
CASE(how_to_be_the_user_is_said, "user", NOTE, "sudo -u www-data seep ps",
     f.process.recorded = NULL;
     f.process.uid = f.process.real_uid = 33; f.process.user = "www-data")
CASE(root_becomes_the_user_without_sudo, "user", NOTE, "setpriv --clear-groups --reuid 33 seep ps",
     f.process.recorded = NULL;
     f.process.uid = f.process.real_uid = 33; f.uid = 0)
CASE(a_set_user_id_program_is_said, "user", PROBLEM, "run seep as its owner, user 33",
     f.process.recorded = NULL;
     f.process.is_ours = true; f.process.uid = 33)
CASE(a_process_is_not_recorded, "recorded", NOTE, "start it again", f.process.recorded = NULL)
CASE(a_library_without_ledger_is_a_problem, "library-loaded", PROBLEM, "made no ledger",
     f.process.recorded = NULL)
CASE(a_ledger_elsewhere_is_named, "library-loaded", PROBLEM, "look: /srv/x.1.2.0.ledger",
     f.process.recorded = NULL;
     f.process.ledger = "/srv/x.1.2.0.ledger")
CASE(a_young_child_is_no_problem, "library-loaded", NOTE, "neither allocated nor freed since",
     f.process.recorded = NULL;
     f.process.ledger = "/srv/x.1.2.0.ledger"; f.process.is_forked = true)
CASE(a_young_child_is_recorded, "recorded", OK, "", f.process.recorded = NULL;
     f.process.is_forked = true)
CASE(a_library_that_was_not_taken_is_a_problem, "library-loaded", PROBLEM, "more privileges",
     f.process.has_library = false;
     f.process.asked_for_library = true)
CASE(another_user_has_another_folder, "user", NOTE, "/dev/shm/seep-33", f.process.recorded = NULL;
     f.process.uid = f.process.real_uid = 33)
CASE(a_process_that_changed_its_user_is_said, "user", NOTE, "runs as user 33",
     f.process.recorded = NULL;
     f.process.uid = 33; f.process.real_uid = 0)
CASE(a_container_is_said, "namespaces", NOTE, "and other processes",
     f.process.other_root = f.process.other_pid_namespace = true)
CASE(another_pid_namespace_is_said, "namespaces", NOTE, "another PID namespace",
     f.process.other_pid_namespace = true)
CASE(a_seccomp_filter_is_said, "seccomp", NOTE, "madvise", f.process.seccomp = 2)

CASE(an_error_of_the_preflight_is_cut_into_two, "program", PROBLEM, "link it without -static",
     f.program.problem = "x is statically linked, so that no library can be preloaded into it; "
			 "link it without -static")
CASE(a_program_that_is_not_there_has_advice, "program", PROBLEM, "PATH",
     f.program.problem = "x: no such program")
CASE(a_program_that_is_not_readable_is_said, "program", NOTE, "without names and lines",
     f.program.was_read = false)
CASE(a_script_is_said, "script", NOTE, "is recorded is /bin/sh", f.program.is_script = true;
     f.program.loaded = "/bin/sh")
CASE(a_missing_library_is_a_problem, "libraries", PROBLEM, "libgone.so.1",
     f.program.missing_library = "libgone.so.1")
CASE(a_malloc_of_its_own_is_a_problem, "own-malloc", PROBLEM, "malloc of its own",
     f.program.linked_allocator = "malloc")
CASE(an_allocator_that_is_linked_in_is_said, "own-malloc", NOTE, "linked in (jemalloc)",
     f.program.linked_allocator = "jemalloc")
CASE(a_librarys_allocator_is_said, "allocator", NOTE, "mimalloc (/usr/lib/libmimalloc.so.2)",
     f.program.allocator = "mimalloc";
     f.program.allocator_library = "/usr/lib/libmimalloc.so.2")
CASE(a_go_program_is_said, "memory-manager", NOTE, "runtime/pprof", f.program.kind.is_go = true)
CASE(a_memory_manager_is_said, "memory-manager", NOTE, "Python keeps", f.program.manager = &manager)
CASE(missing_unwind_information_is_said, "unwind", NOTE, ".eh_frame",
     f.program.kind.has_unwind = false)

CASE(an_old_kernel_is_a_problem, "kernel", PROBLEM, "5.14", f.machine.kernel_populates = false)
CASE(a_missing_proc_is_said, "proc", NOTE, "mount -t proc", f.machine.has_proc = false)
CASE(a_missing_library_of_ours_is_a_problem, "library", PROBLEM, "set SEEP_LIB",
     f.machine.library = NULL;
     f.machine.library_problem = "libseep.so is nowhere; set SEEP_LIB")
CASE(a_noexec_mount_is_a_problem, "library", PROBLEM, "noexec", f.machine.library_noexec = true)
CASE(a_library_that_is_refused_is_a_problem, "library", PROBLEM, "wrong ELF class",
     f.machine.tried = "ERROR: ld.so: object '/usr/lib/seep/libseep.so' from LD_PRELOAD cannot be "
		       "preloaded (wrong ELF class: ELFCLASS32): ignored.")
CASE(an_old_c_library_is_a_problem, "library", PROBLEM, "GLIBC_2.38",
     f.machine.tried = "seep: libc.so.6: version `GLIBC_2.38' not found (required by "
		       "/usr/lib/seep/libseep.so)")
CASE(another_library_that_is_refused_is_not_ours, "library", OK, "",
     f.machine.tried = "ERROR: ld.so: object '/gone.so' from LD_PRELOAD cannot be preloaded "
		       "(cannot open shared object file): ignored.")
CASE(wrong_options_are_a_problem, "options", PROBLEM, "did you mean mode",
     f.machine.tried = "seep: SEEP_OPTIONS: unknown key mod; did you mean mode")
CASE(a_folder_of_others_is_a_problem, "ledgers", PROBLEM, "0700",
     f.machine.ledgers_problem =
	     "other users have access to /tmp; set SEEP_DIR to a folder of mode 0700")
CASE(a_folder_that_cannot_be_made_has_advice, "ledgers", PROBLEM, "SEEP_DIR",
     f.machine.ledgers_problem = "cannot make /x for ledgers: No such file or directory")
CASE(no_room_is_a_problem, "room", PROBLEM, "seep ps", f.ledgers.free_bytes = 4096)
CASE(a_containers_shm_is_said, "room", NOTE, "--shm-size",
     f.ledgers.total_bytes = f.ledgers.free_bytes = MIB(64))
CASE(a_trial_without_ledger_is_a_problem, "trial", PROBLEM, "made no ledger",
     f.machine.tried_well = false)
CASE(a_confined_trial_names_the_profile, "trial", PROBLEM, "usr.sbin.x (enforce)",
     f.machine.tried_well = false;
     f.machine.confined = "usr.sbin.x (enforce)")
CASE(a_profile_that_stops_nothing_is_not_said, "trial", OK, "",
     f.machine.confined = "usr.sbin.x (enforce)")
CASE(a_failed_trial_that_is_explained_says_nothing, "trial", OK, "", f.machine.tried_well = false;
     f.limits.file_bytes = 4096)
CASE(what_is_wrong_with_the_program_explains_no_trial, "trial", PROBLEM, "made no ledger",
     f.machine.tried_well = false;
     f.program.linked_allocator = "malloc")
CASE(a_preloaded_sanitizer_is_a_problem, "preload", PROBLEM, "insists on being first",
     f.machine.preload = "/usr/lib/libasan.so.8")
CASE(what_else_is_preloaded_is_well, "preload", OK, "", f.machine.preload = "libstdbuf.so")
CASE(a_small_address_space_is_a_problem, "limits", PROBLEM, "LimitAS",
     f.limits.address_space_bytes = MIB(100))
CASE(a_limit_of_address_space_is_said, "limits", NOTE, "an eighth",
     f.limits.address_space_bytes = MIB(1000))
CASE(an_address_space_in_which_the_trial_failed_is_a_problem, "limits", PROBLEM, "an eighth",
     f.limits.address_space_bytes = MIB(170);
     f.machine.tried_well = false)
CASE(a_small_file_size_is_a_problem, "limits", PROBLEM, "LimitFSIZE", f.limits.file_bytes = 1000)
CASE(a_small_data_segment_is_a_problem, "limits", PROBLEM, "its data segment (RLIMIT_DATA) is",
     f.limits.data_bytes = MIB(40))
CASE(ours_is_not_its, "limits", PROBLEM, "the data segment (RLIMIT_DATA) is",
     f.limits.data_bytes = MIB(40);
     f.looked &= ~(unsigned)SEEP_FACTS_PROCESS)
CASE(a_limit_of_file_size_is_said, "limits", NOTE, "smaller", f.limits.file_bytes = MIB(100))
CASE(a_group_with_little_room_is_said, "group", NOTE, "40.0 MB left of 100 MB",
     f.group = ((struct core_cgroup){ MIB(100), MIB(40) }))
CASE(a_group_with_room_is_well, "group", OK, "",
     f.group = ((struct core_cgroup){ MIB(1000), MIB(900) }))
CASE(a_full_group_is_a_problem, "group", PROBLEM, "MemoryMax",
     f.group = ((struct core_cgroup){ MIB(100), 0 }))
CASE(a_folder_that_is_not_writable_is_said, "output", NOTE, "seep run -o FILE",
     f.output_writable = false)
CASE(a_full_disk_is_a_problem, "output", PROBLEM, "left for recordings", f.output.free_bytes = 0)
CASE(a_nearly_full_disk_is_said, "output", NOTE, "only 30.0 MB", f.output.free_bytes = MIB(30))

/* ---- why there is no ledger ------------------------------------------------------------------ */

/* Of a process that was to be recorded. */
static struct seep_facts unrecorded(void)
{
	struct seep_facts facts = healthy();

	facts.looked = SEEP_FACTS_PROGRAM | SEEP_FACTS_PROCESS | SEEP_FACTS_LIMITS;
	facts.process.is_ours = true;
	facts.process.recorded = NULL;
	return facts;
}

#define REASON(name, part, ...)                                           \
	TEST(name)                                                        \
	{                                                                 \
		struct seep_facts f = unrecorded();                       \
		struct seep_finding reason;                               \
                                                                          \
		__VA_ARGS__;                                              \
		assert_true(seep_reasons_first(&f, &reason));             \
		if (!strstr(reason.sentence, part))                       \
			fail_msg("no \"%s\": %s", part, reason.sentence); \
	}

REASON(the_program_comes_before_its_environment, "is static",
       f.program.problem = "x is static; link it without -static";
       f.process.has_library = false)
REASON(a_variable_that_was_not_passed_on_is_the_reason, "taken out of its environment",
       f.process.has_library = false)
REASON(a_library_that_is_not_loaded_yet_is_none, "RLIMIT_DATA", f.process.has_library = false;
       f.process.asked_for_library = true; f.limits.data_bytes = 0)
REASON(another_user_is_the_reason, "it runs as user 33", f.process.can_look = false;
       f.process.has_library = false; f.process.uid = f.process.real_uid = 33)
REASON(a_limit_is_the_reason_and_not_that_the_library_is_there, "RLIMIT_FSIZE",
       f.limits.file_bytes = 1000)
REASON(a_full_group_is_no_reason, "libseep.so is loaded in it",
       f.group = ((struct core_cgroup){ MIB(100), 0 }))

TEST(there_may_be_no_reason_that_can_be_known)
{
	struct seep_facts facts = unrecorded();
	struct seep_finding reason;

	facts.process.can_look = facts.process.has_library = false;
	assert_false(seep_reasons_first(&facts, &reason));
}

/* A name may hold anything: what we advise is not to be taken from it. */
TEST(a_name_does_not_become_advice)
{
	struct seep_facts facts = healthy();
	const struct seep_finding *finding;

	facts.program.is_script = true;
	facts.program.path = "/tmp/a; rm -rf /";
	facts.program.loaded = "/tmp/x\nrm -rf /";
	finding = find(&facts, "script");
	assert_string_equal(finding ? finding->advice : "none", "");
	facts.program.kind.has_unwind = false;
	finding = find(&facts, "unwind");
	assert_int_equal(strncmp(finding ? finding->advice : "", "compile with -f", 15), 0);
}

TEST(what_is_not_there_is_judged_once)
{
	struct seep_facts facts = healthy();

	facts.looked &= ~(unsigned)SEEP_FACTS_MACHINE;
	facts.process.exists = false;
	facts.program.problem = "x: no such program";
	assert_non_null(find(&facts, "process"));
	assert_non_null(find(&facts, "program"));
	assert_null(find(&facts, "recorded"));
	assert_null(find(&facts, "script"));
	assert_null(find(&facts, "unwind"));
}
