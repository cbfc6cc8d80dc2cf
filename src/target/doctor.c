/* SPDX-License-Identifier: MIT */
#include "target/doctor.h"

#include "target/doctor_checks.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MACHINE SEEP_DOCTOR_MACHINE
#define PROGRAM SEEP_DOCTOR_PROGRAM
#define PROCESS SEEP_DOCTOR_PROCESS

/* clang-format off */
const struct seep_doctor_check seep_doctor_checks[] = {
	/* code                 what is checked                                    subject  by */
	{ "process",            "the process is there",                            PROCESS, seep_doctor_check_process },
	{ "recorded",           "whether it is recorded",                          PROCESS, seep_doctor_check_recorded },
	{ "library-loaded",     "libseep.so in the process",                       PROCESS, seep_doctor_check_loaded },
	{ "user",               "whose process it is",                             PROCESS, seep_doctor_check_user },
	{ "namespaces",         "whether it sees the same files and processes",    PROCESS, seep_doctor_check_namespaces },
	{ "process-room",       "room for a ledger where it runs",                 PROCESS, seep_doctor_check_process_room },
	{ "seccomp",            "system calls that it may make",                   PROCESS, seep_doctor_check_seccomp },
	{ "process-limits",     "resource limits of the process",                  PROCESS, seep_doctor_check_process_limits },
	{ "process-group",      "memory left in its control group",                PROCESS, seep_doctor_check_process_group },
	{ "process-allocator",  "allocators loaded in the process",                PROCESS, seep_doctor_check_process_allocator },
	{ "memory",             "what its memory is made of",                      PROCESS, seep_doctor_check_memory },
	{ "program",            "the program can be started and takes a library",  PROGRAM, seep_doctor_check_program },
	{ "script",             "the interpreter of a script",                     PROGRAM, seep_doctor_check_script },
	{ "libraries",          "the libraries that it needs",                     PROGRAM, seep_doctor_check_libraries },
	{ "own-malloc",         "whether the program brings its own malloc",       PROGRAM, seep_doctor_check_own_malloc },
	{ "allocator",          "the library that provides malloc",                PROGRAM, seep_doctor_check_allocator },
	{ "imports",            "whether it calls malloc at all",                  PROGRAM, seep_doctor_check_imports },
	{ "memory-manager",     "memory management on top of malloc",              PROGRAM, seep_doctor_check_manager },
	{ "unwind",             "unwind information",                              PROGRAM, seep_doctor_check_unwind },
	{ "names",              "names and lines",                                 PROGRAM, seep_doctor_check_lines },
	{ "build-id",           "the build-id",                                    PROGRAM, seep_doctor_check_build_id },
	{ "kernel",             "the kernel",                                      MACHINE, seep_doctor_check_kernel },
	{ "proc",               "/proc",                                           MACHINE, seep_doctor_check_proc },
	{ "library",            "libseep.so",                                      MACHINE, seep_doctor_check_library },
	{ "glibc",              "the C library",                                   MACHINE, seep_doctor_check_glibc },
	{ "options",            "SEEP_OPTIONS",                                    MACHINE, seep_doctor_check_options },
	{ "ledgers",            "the folder of ledgers",                           MACHINE, seep_doctor_check_ledgers },
	{ "room",               "room for ledgers",                                MACHINE, seep_doctor_check_room },
	{ "trial",              "whether a program is recorded",                   MACHINE, seep_doctor_check_trial },
	{ "preload",            "what LD_PRELOAD holds",                           MACHINE, seep_doctor_check_preload },
	{ "limits",             "resource limits",                                 MACHINE, seep_doctor_check_limits },
	{ "group",              "memory left in the control group",                MACHINE, seep_doctor_check_group },
	{ "confinement",        "AppArmor and SELinux",                            MACHINE, seep_doctor_check_confinement },
	{ "output",             "room for recordings",                             MACHINE, seep_doctor_check_output },
	{ "symbols",            "where names and lines come from",                 MACHINE, seep_doctor_check_symbols },
};
/* clang-format on */

const size_t seep_doctor_check_count = sizeof(seep_doctor_checks) / sizeof(seep_doctor_checks[0]);

void seep_doctor_judge(const struct seep_doctor_check *check, const struct seep_doctor_facts *facts,
		       struct seep_doctor_finding *ret_finding)
{
	assert(facts->subjects & check->subject);
	*ret_finding = (struct seep_doctor_finding){ .result = SEEP_DOCTOR_OK };
	check->judge(facts, ret_finding);
}

void seep_doctor_say(struct seep_doctor_finding *finding, enum seep_doctor_result result,
		     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(finding->sentence, sizeof(finding->sentence), fmt, args);
	va_end(args);
	finding->result = result;
}

void seep_doctor_advise(struct seep_doctor_finding *finding, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(finding->advice, sizeof(finding->advice), fmt, args);
	va_end(args);
}

void seep_doctor_say_error(struct seep_doctor_finding *finding, const char *text)
{
	const char *cut = NULL;

	for (const char *at = text; (at = strstr(at, "; ")); at += 2) {
		cut = at;
	}
	if (!cut) {
		seep_doctor_say(finding, SEEP_DOCTOR_PROBLEM, "%s", text);
		return;
	}
	seep_doctor_say(finding, SEEP_DOCTOR_PROBLEM, "%.*s", (int)(cut - text), text);
	seep_doctor_advise(finding, "%s.", cut + 2);
	finding->advice[0] = (char)toupper((unsigned char)finding->advice[0]);
}

void seep_doctor_facts_init(struct seep_doctor_facts *facts)
{
	*facts = (struct seep_doctor_facts){ .arena = seep_arena_new(), .uid = geteuid() };
}

void seep_doctor_facts_done(struct seep_doctor_facts *facts)
{
	seep_arena_free(facts->arena);
	*facts = (struct seep_doctor_facts){ 0 };
}

const char *seep_doctor_keep(struct seep_doctor_facts *facts, const char *text)
{
	return text ? seep_arena_strndup(facts->arena, text, strlen(text)) : NULL;
}
