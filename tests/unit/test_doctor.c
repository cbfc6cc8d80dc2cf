/* SPDX-License-Identifier: MIT */
/* What "seep doctor" says of machines, programs and processes that are made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/doctor.h"
#include "target/doctor_checks.h"

#define OK SEEP_DOCTOR_OK
#define NOTE SEEP_DOCTOR_NOTE
#define PROBLEM SEEP_DOCTOR_PROBLEM
#define NO_LIMIT SEEP_NO_LIMIT
#define MIB(n) ((uint64_t)(n) << 20)

static struct seep_doctor_facts healthy(void)
{
	const struct seep_limits limits = { NO_LIMIT, NO_LIMIT, 1024, NO_LIMIT };
	const struct core_cgroup group = { NO_LIMIT, NO_LIMIT };
	const struct seep_doctor_room shm = { "/dev/shm/seep-0", MIB(8192), MIB(8000), true };

	return (struct seep_doctor_facts){
		.subjects = SEEP_DOCTOR_MACHINE | SEEP_DOCTOR_PROGRAM | SEEP_DOCTOR_PROCESS,
		.uid = 1000,
		.machine = {
			.kernel = "6.1.0", .has_proc = true, .kernel_populates = true,
			.library = "/usr/lib/seep/libseep.so", .glibc_needed = "2.34",
			.glibc_here = "2.36", .ledgers = shm,
			.output = { "/home/me", MIB(90000), MIB(40000), false },
			.output_writable = true, .limits = limits, .group = group,
			.was_tried = true, .tried_well = true,
		},
		.program = {
			.name = "prog", .path = "/usr/bin/prog", .loaded = "/usr/bin/prog",
			.was_read = true,
			.kind = { .is_64bit = true, .imports_malloc = true, .has_unwind = true },
			.libraries = { "/lib/x86_64-linux-gnu/libc.so.6" }, .library_count = 1,
			.has_lines = true, .has_names = true, .has_build_id = true,
		},
		.process = {
			.pid = 4242, .exists = true, .exe = "/usr/bin/prog", .uid = 1000,
			.real_uid = 1000, .can_look = true, .has_library = true,
			.recorded = "recorded", .live_bytes = MIB(20), .shm = shm,
			.limits = limits, .group = group, .rss_bytes = MIB(30), .anonymous_bytes = MIB(25),
		},
	};
}

static const struct seep_doctor_check *find(const char *code)
{
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		if (strcmp(seep_doctor_checks[i].code, code) == 0)
			return &seep_doctor_checks[i];
	}
	fail_msg("there is no check %s", code);
	return NULL;
}

static void expect(const struct seep_doctor_facts *facts, const char *code,
		   enum seep_doctor_result result, const char *part)
{
	struct seep_doctor_finding finding;

	seep_doctor_judge(find(code), facts, &finding);
	assert_int_equal(finding.result, result);
	if (!strstr(finding.sentence, part) && !strstr(finding.advice, part))
		fail_msg("no \"%s\" in \"%s\" or \"%s\"", part, finding.sentence, finding.advice);
	/* Who is told of a problem is told what to do. */
	assert_true(result != PROBLEM || *finding.advice);
}

static void what_is_well_gives_no_alarm(void **state)
{
	const struct seep_doctor_facts facts = healthy();
	struct seep_doctor_finding finding;

	(void)state;
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		seep_doctor_judge(&seep_doctor_checks[i], &facts, &finding);
		if (finding.result != OK || !*finding.sentence)
			fail_msg("%s: %s", seep_doctor_checks[i].code, finding.sentence);
		assert_string_equal(finding.advice, "");
	}
}

static void codes_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < seep_doctor_check_count; i++)
		assert_ptr_equal(find(seep_doctor_checks[i].code), &seep_doctor_checks[i]);
}

/* In the order of the table of checks: a change to what is well, and what is then said. */
#define CASE(name, code, result, part, ...)                 \
	static void name(void **state)                      \
	{                                                   \
		struct seep_doctor_facts facts = healthy(); \
                                                            \
		(void)state;                                \
		__VA_ARGS__;                                \
		expect(&facts, code, result, part);         \
	}

CASE(no_process_is_a_problem, "process", PROBLEM, "There is no process 4242",
     facts.process.exists = false)
CASE(a_process_may_not_be_looked_at, "process", NOTE, "sudo seep doctor 4242",
     facts.process.exe = NULL)
CASE(root_is_not_told_to_be_root, "process", NOTE, "CAP_SYS_PTRACE", facts.process.exe = NULL;
     facts.uid = 0)
CASE(a_thread_of_the_kernel_is_no_program, "process", PROBLEM, "thread of the kernel",
     facts.process.exe = NULL;
     facts.process.is_kernels = true)
CASE(the_first_process_is_not_started_by_us, "recorded", NOTE, "The first process is started by",
     facts.process.recorded = NULL;
     facts.process.pid = 1)
CASE(how_to_be_the_user_is_said, "user", NOTE, "sudo -u www-data seep ps",
     facts.process.recorded = NULL;
     facts.process.uid = facts.process.real_uid = 33; facts.process.user = "www-data")
CASE(root_becomes_the_user_without_sudo, "user", NOTE, "setpriv --clear-groups --reuid 33 seep ps",
     facts.process.recorded = NULL;
     facts.process.uid = facts.process.real_uid = 33; facts.uid = 0)
CASE(a_process_is_not_recorded, "recorded", NOTE, "Start it again", facts.process.recorded = NULL)
CASE(a_library_without_ledger_is_a_problem, "library-loaded", PROBLEM, "no ledger",
     facts.process.recorded = NULL)
CASE(a_library_that_was_not_taken_is_a_problem, "library-loaded", PROBLEM, "more privileges",
     facts.process.has_library = false;
     facts.process.asked_for_library = true)
CASE(another_user_has_another_folder, "user", NOTE, "/dev/shm/seep-33",
     facts.process.recorded = NULL;
     facts.process.uid = facts.process.real_uid = 33)
CASE(a_process_that_dropped_privileges_is_said, "user", NOTE, "Started by user 0",
     facts.process.recorded = NULL;
     facts.process.uid = 33; facts.process.real_uid = 0)
CASE(a_container_is_said, "namespaces", NOTE, "and other processes",
     facts.process.other_root = facts.process.other_pid_namespace = true)
CASE(another_pid_namespace_is_said, "namespaces", NOTE, "another PID namespace",
     facts.process.other_pid_namespace = true)
CASE(a_full_shm_of_a_process_is_a_problem, "process-room", PROBLEM, "0 B left",
     facts.process.shm.free_bytes = 0)
CASE(strict_seccomp_is_a_problem, "seccomp", PROBLEM, "strict", facts.process.seccomp = 1)
CASE(a_seccomp_filter_is_said, "seccomp", NOTE, "madvise", facts.process.seccomp = 2)
CASE(a_small_address_space_is_a_problem, "process-limits", PROBLEM, "LimitAS",
     facts.process.limits.address_space_bytes = MIB(100))
CASE(a_full_group_is_a_problem, "process-group", PROBLEM, "MemoryMax",
     facts.process.group = ((struct core_cgroup){ MIB(100), MIB(5) }))
CASE(a_loaded_allocator_is_said, "process-allocator", NOTE, "jemalloc",
     facts.process.allocator = "jemalloc")
CASE(memory_that_is_no_heap_is_said, "memory", NOTE, "files and shared memory",
     facts.process.rss_bytes = MIB(500))
CASE(memory_that_is_not_live_is_said, "memory", NOTE, "kept by the allocator",
     facts.process.rss_bytes = facts.process.anonymous_bytes = MIB(500))
CASE(locked_memory_is_said, "memory", NOTE, "MCL_ONFAULT", facts.process.locked_bytes = MIB(29))

CASE(an_error_of_the_preflight_is_cut_into_two, "program", PROBLEM, "Link it without -static.",
     facts.program.problem = "x is statically linked, so that no library can be preloaded into "
			     "it; link it without -static")
CASE(a_program_that_is_not_there_has_advice, "program", PROBLEM, "PATH",
     facts.program.problem = "x: no such program")
CASE(a_program_that_is_not_executable_has_advice, "program", PROBLEM, "ls -l",
     facts.program.problem = "cannot execute x: Permission denied")
CASE(a_program_that_is_not_readable_is_said, "program", NOTE, "names or lines",
     facts.program.was_read = false)
CASE(a_script_is_said, "script", NOTE, "is recorded is /bin/sh", facts.program.is_script = true;
     facts.program.loaded = "/bin/sh")
CASE(a_missing_library_is_a_problem, "libraries", PROBLEM, "libgone.so.1",
     facts.program.missing_library = "libgone.so.1")
CASE(a_malloc_of_its_own_is_a_problem, "own-malloc", PROBLEM, "malloc of its own",
     facts.program.kind.exports_malloc = true)
CASE(a_linked_allocator_is_said, "allocator", NOTE, "mimalloc (/usr/lib/libmimalloc.so.2)",
     facts.program.libraries[facts.program.library_count++] = "/usr/lib/libmimalloc.so.2")
CASE(a_go_program_is_said, "imports", NOTE, "runtime/pprof", facts.program.kind.is_go = true)
CASE(a_program_of_libraries_is_well, "imports", OK, "Only its libraries",
     facts.program.kind.imports_malloc = false)
CASE(python_is_told_by_its_name, "memory-manager", NOTE, "PYTHONMALLOC=malloc",
     facts.program.loaded = "/usr/bin/python3.11")
CASE(node_is_told_by_its_library, "memory-manager", NOTE, "--perf-basic-prof",
     facts.program.libraries[facts.program.library_count++] = "/usr/lib/libnode.so.108")
CASE(java_is_told_by_its_name, "memory-manager", NOTE, "NativeMemoryTracking",
     facts.program.loaded = "/usr/lib/jvm/java-17/bin/java")
CASE(missing_unwind_information_is_said, "unwind", NOTE, ".eh_frame",
     facts.program.kind.has_unwind = false)
CASE(missing_lines_are_said, "names", NOTE, "names, but no lines", facts.program.has_lines = false)
CASE(a_stripped_program_is_said, "names", NOTE, "neither names nor lines",
     facts.program.has_lines = facts.program.has_names = false)
CASE(the_package_with_lines_is_named, "names", NOTE, "Install tool-dbgsym",
     facts.program.has_lines = false;
     facts.program.package = "tool")
CASE(a_missing_build_id_is_said, "build-id", NOTE, "--build-id", facts.program.has_build_id = false)

CASE(an_old_kernel_is_a_problem, "kernel", PROBLEM, "5.14", facts.machine.kernel_populates = false)
CASE(a_missing_proc_is_said, "proc", NOTE, "mount -t proc", facts.machine.has_proc = false)
CASE(a_missing_library_of_ours_is_a_problem, "library", PROBLEM, "Set SEEP_LIB.",
     facts.machine.library = NULL;
     facts.machine.library_problem = "libseep.so is nowhere; set SEEP_LIB")
CASE(a_noexec_mount_is_a_problem, "library", PROBLEM, "noexec", facts.machine.library_noexec = true)
CASE(a_library_that_is_refused_is_a_problem, "library", PROBLEM, "wrong ELF class",
     facts.machine.tried = "ERROR: ld.so: object 'libseep.so' from LD_PRELOAD cannot be "
			   "preloaded (wrong ELF class: ELFCLASS32): ignored.")
CASE(an_old_c_library_is_a_problem, "glibc", PROBLEM, "needs glibc 2.34, here is 2.9",
     facts.machine.glibc_here = "2.9")
CASE(wrong_options_are_a_problem, "options", PROBLEM, "did you mean mode",
     facts.machine.tried = "seep: SEEP_OPTIONS: unknown key mod; did you mean mode")
CASE(options_that_ask_for_help_are_a_problem, "options", PROBLEM, "nothing is recorded",
     facts.machine.tried = "seep: SEEP_OPTIONS=key=value:key=value, with these keys:")
CASE(a_folder_of_others_is_a_problem, "ledgers", PROBLEM, "0700",
     facts.machine.ledgers_problem = "others have access to /tmp; set SEEP_DIR to a folder of "
				     "mode 0700")
CASE(a_folder_that_cannot_be_made_has_advice, "ledgers", PROBLEM, "SEEP_DIR",
     facts.machine.ledgers_problem = "cannot make /x for ledgers: No such file or directory")
CASE(no_room_is_a_problem, "room", PROBLEM, "seep ps", facts.machine.ledgers.free_bytes = 4096)
CASE(a_containers_shm_is_said, "room", NOTE, "--shm-size",
     facts.machine.ledgers.total_bytes = facts.machine.ledgers.free_bytes = MIB(64))
CASE(little_room_on_disk_is_said, "room", NOTE, "with more room",
     facts.machine.ledgers.free_bytes = MIB(20);
     facts.machine.ledgers.in_memory = false)
CASE(a_trial_without_ledger_is_a_problem, "trial", PROBLEM, "made no ledger",
     facts.machine.tried_well = false)
CASE(a_failed_trial_that_is_explained_says_nothing, "trial", OK, "",
     facts.machine.tried_well = false;
     facts.machine.limits.file_bytes = 4096)
CASE(a_preloaded_sanitizer_is_a_problem, "preload", PROBLEM, "insists on being first",
     facts.machine.preload = "/usr/lib/libasan.so.8")
CASE(a_preload_that_is_not_there_is_said, "preload", NOTE, "/gone.so, which is not there",
     facts.machine.preload = facts.machine.preload_missing = "/gone.so")
CASE(a_preloaded_seep_is_said, "preload", NOTE, "already",
     facts.machine.preload = "/usr/lib/seep/libseep.so")
CASE(a_preloaded_allocator_is_said, "preload", NOTE, "tcmalloc",
     facts.machine.preload = "libtcmalloc_minimal.so.4")
CASE(what_else_is_preloaded_is_well, "preload", OK, "before it",
     facts.machine.preload = "libstdbuf.so")
CASE(a_small_limit_of_address_space_is_a_problem, "limits", PROBLEM, "ulimit -v",
     facts.machine.limits.address_space_bytes = MIB(100))
CASE(a_limit_of_address_space_is_said, "limits", NOTE, "an eighth",
     facts.machine.limits.address_space_bytes = MIB(1000))
CASE(a_small_limit_of_file_size_is_a_problem, "limits", PROBLEM, "LimitFSIZE",
     facts.machine.limits.file_bytes = 1000)
CASE(a_small_limit_of_the_data_segment_is_a_problem, "limits", PROBLEM, "ulimit -d",
     facts.machine.limits.data_bytes = MIB(40))
CASE(a_small_data_segment_of_a_process_is_a_problem, "process-limits", PROBLEM, "LimitDATA",
     facts.process.limits.data_bytes = MIB(40))
CASE(a_failed_trial_below_a_limit_of_data_says_nothing, "trial", OK, "",
     facts.machine.tried_well = false;
     facts.machine.limits.data_bytes = MIB(1))
CASE(a_limit_of_file_size_is_said, "limits", NOTE, "smaller",
     facts.machine.limits.file_bytes = MIB(100))
CASE(few_descriptors_are_said, "limits", NOTE, "ulimit -n", facts.machine.limits.descriptors = 20)
CASE(a_group_with_little_room_is_said, "group", NOTE, "40.0 MB left of 100 MB",
     facts.machine.group = ((struct core_cgroup){ MIB(100), MIB(40) }))
CASE(a_group_with_room_is_well, "group", OK, "900 MB left",
     facts.machine.group = ((struct core_cgroup){ MIB(1000), MIB(900) }))
CASE(a_full_group_of_ours_is_a_problem, "group", PROBLEM, "0 B left",
     facts.machine.group = ((struct core_cgroup){ MIB(100), 0 }))
CASE(confinement_is_said, "confinement", NOTE, "usr.sbin.x (enforce)",
     facts.machine.confined = "usr.sbin.x (enforce)")
CASE(an_unconfined_process_under_selinux_is_well, "confinement", OK, "SELinux",
     facts.machine.selinux_enforces = true)
CASE(a_folder_that_is_not_writable_is_said, "output", NOTE, "seep run -o FILE",
     facts.machine.output_writable = false)
CASE(a_full_disk_is_a_problem, "output", PROBLEM, "left for recordings",
     facts.machine.output.free_bytes = 0)
CASE(a_nearly_full_disk_is_said, "output", NOTE, "only 30.0 MB",
     facts.machine.output.free_bytes = MIB(30))
CASE(debuginfod_is_not_asked_unasked, "symbols", OK, "only with --debuginfod",
     facts.machine.debuginfod_urls = "http://localhost:1")

static void what_is_not_there_is_judged_once(void **state)
{
	struct seep_doctor_facts facts = healthy();
	struct seep_doctor_finding finding;
	size_t said = 0;

	(void)state;
	facts.process.exists = false;
	facts.program.problem = "x: no such program";
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		if (seep_doctor_checks[i].subject == SEEP_DOCTOR_MACHINE)
			continue;
		seep_doctor_judge(&seep_doctor_checks[i], &facts, &finding);
		said += *finding.sentence != '\0';
	}
	assert_int_equal(said, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_well_gives_no_alarm),
		cmocka_unit_test(codes_are_unique),
		cmocka_unit_test(what_is_not_there_is_judged_once),
		cmocka_unit_test(no_process_is_a_problem),
		cmocka_unit_test(a_process_may_not_be_looked_at),
		cmocka_unit_test(root_is_not_told_to_be_root),
		cmocka_unit_test(a_thread_of_the_kernel_is_no_program),
		cmocka_unit_test(the_first_process_is_not_started_by_us),
		cmocka_unit_test(how_to_be_the_user_is_said),
		cmocka_unit_test(root_becomes_the_user_without_sudo),
		cmocka_unit_test(a_process_is_not_recorded),
		cmocka_unit_test(a_library_without_ledger_is_a_problem),
		cmocka_unit_test(a_library_that_was_not_taken_is_a_problem),
		cmocka_unit_test(another_user_has_another_folder),
		cmocka_unit_test(a_process_that_dropped_privileges_is_said),
		cmocka_unit_test(a_container_is_said),
		cmocka_unit_test(another_pid_namespace_is_said),
		cmocka_unit_test(a_full_shm_of_a_process_is_a_problem),
		cmocka_unit_test(strict_seccomp_is_a_problem),
		cmocka_unit_test(a_seccomp_filter_is_said),
		cmocka_unit_test(a_small_address_space_is_a_problem),
		cmocka_unit_test(a_full_group_is_a_problem),
		cmocka_unit_test(a_loaded_allocator_is_said),
		cmocka_unit_test(memory_that_is_no_heap_is_said),
		cmocka_unit_test(memory_that_is_not_live_is_said),
		cmocka_unit_test(locked_memory_is_said),
		cmocka_unit_test(an_error_of_the_preflight_is_cut_into_two),
		cmocka_unit_test(a_program_that_is_not_there_has_advice),
		cmocka_unit_test(a_program_that_is_not_executable_has_advice),
		cmocka_unit_test(a_program_that_is_not_readable_is_said),
		cmocka_unit_test(a_script_is_said),
		cmocka_unit_test(a_missing_library_is_a_problem),
		cmocka_unit_test(a_malloc_of_its_own_is_a_problem),
		cmocka_unit_test(a_linked_allocator_is_said),
		cmocka_unit_test(a_go_program_is_said),
		cmocka_unit_test(a_program_of_libraries_is_well),
		cmocka_unit_test(python_is_told_by_its_name),
		cmocka_unit_test(node_is_told_by_its_library),
		cmocka_unit_test(java_is_told_by_its_name),
		cmocka_unit_test(missing_unwind_information_is_said),
		cmocka_unit_test(missing_lines_are_said),
		cmocka_unit_test(a_stripped_program_is_said),
		cmocka_unit_test(the_package_with_lines_is_named),
		cmocka_unit_test(a_missing_build_id_is_said),
		cmocka_unit_test(an_old_kernel_is_a_problem),
		cmocka_unit_test(a_missing_proc_is_said),
		cmocka_unit_test(a_missing_library_of_ours_is_a_problem),
		cmocka_unit_test(a_noexec_mount_is_a_problem),
		cmocka_unit_test(a_library_that_is_refused_is_a_problem),
		cmocka_unit_test(an_old_c_library_is_a_problem),
		cmocka_unit_test(wrong_options_are_a_problem),
		cmocka_unit_test(options_that_ask_for_help_are_a_problem),
		cmocka_unit_test(a_folder_of_others_is_a_problem),
		cmocka_unit_test(a_folder_that_cannot_be_made_has_advice),
		cmocka_unit_test(no_room_is_a_problem),
		cmocka_unit_test(a_containers_shm_is_said),
		cmocka_unit_test(little_room_on_disk_is_said),
		cmocka_unit_test(a_trial_without_ledger_is_a_problem),
		cmocka_unit_test(a_failed_trial_that_is_explained_says_nothing),
		cmocka_unit_test(a_preloaded_sanitizer_is_a_problem),
		cmocka_unit_test(a_preload_that_is_not_there_is_said),
		cmocka_unit_test(a_preloaded_seep_is_said),
		cmocka_unit_test(a_preloaded_allocator_is_said),
		cmocka_unit_test(what_else_is_preloaded_is_well),
		cmocka_unit_test(a_small_limit_of_address_space_is_a_problem),
		cmocka_unit_test(a_limit_of_address_space_is_said),
		cmocka_unit_test(a_small_limit_of_file_size_is_a_problem),
		cmocka_unit_test(a_small_limit_of_the_data_segment_is_a_problem),
		cmocka_unit_test(a_small_data_segment_of_a_process_is_a_problem),
		cmocka_unit_test(a_failed_trial_below_a_limit_of_data_says_nothing),
		cmocka_unit_test(a_limit_of_file_size_is_said),
		cmocka_unit_test(few_descriptors_are_said),
		cmocka_unit_test(a_group_with_little_room_is_said),
		cmocka_unit_test(a_group_with_room_is_well),
		cmocka_unit_test(a_full_group_of_ours_is_a_problem),
		cmocka_unit_test(confinement_is_said),
		cmocka_unit_test(an_unconfined_process_under_selinux_is_well),
		cmocka_unit_test(a_folder_that_is_not_writable_is_said),
		cmocka_unit_test(a_full_disk_is_a_problem),
		cmocka_unit_test(a_nearly_full_disk_is_said),
		cmocka_unit_test(debuginfod_is_not_asked_unasked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
