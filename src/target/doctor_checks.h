/* SPDX-License-Identifier: MIT */
/*
 * The judgements of "seep doctor", one per row of the table in doctor.c, and the words that they
 * judge by. A finding is ok when it comes; a check says one sentence, and one of advice if need be,
 * or nothing at all where it does not apply.
 */
#ifndef SEEP_TARGET_DOCTOR_CHECKS_H
#define SEEP_TARGET_DOCTOR_CHECKS_H

#include "target/doctor.h"

void seep_doctor_say(struct seep_doctor_finding *finding, enum seep_doctor_result result,
		     const char *fmt, ...) SEEP_PRINTF(3, 4);
void seep_doctor_advise(struct seep_doctor_finding *finding, const char *fmt, ...)
	SEEP_PRINTF(2, 3);

/*
 * A sentence of an error: what follows its last "; " is the advice. Result: problem.
 */
void seep_doctor_say_error(struct seep_doctor_finding *finding, const char *text);

/* The name of the allocator that a library or program of this path is; NULL none. */
const char *seep_doctor_allocator_of(const char *path);

typedef void seep_doctor_judge_fn(const struct seep_doctor_facts *facts,
				  struct seep_doctor_finding *finding);

seep_doctor_judge_fn seep_doctor_check_kernel, seep_doctor_check_proc, seep_doctor_check_library,
	seep_doctor_check_glibc, seep_doctor_check_options, seep_doctor_check_ledgers,
	seep_doctor_check_room, seep_doctor_check_trial, seep_doctor_check_preload,
	seep_doctor_check_limits, seep_doctor_check_group, seep_doctor_check_confinement,
	seep_doctor_check_output, seep_doctor_check_symbols;

seep_doctor_judge_fn seep_doctor_check_program, seep_doctor_check_script,
	seep_doctor_check_libraries, seep_doctor_check_own_malloc, seep_doctor_check_allocator,
	seep_doctor_check_imports, seep_doctor_check_manager, seep_doctor_check_unwind,
	seep_doctor_check_lines, seep_doctor_check_build_id;

seep_doctor_judge_fn seep_doctor_check_process, seep_doctor_check_recorded,
	seep_doctor_check_loaded, seep_doctor_check_user, seep_doctor_check_namespaces,
	seep_doctor_check_process_room, seep_doctor_check_seccomp, seep_doctor_check_process_limits,
	seep_doctor_check_process_group, seep_doctor_check_process_allocator,
	seep_doctor_check_memory;

#endif
