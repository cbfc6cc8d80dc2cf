/* SPDX-License-Identifier: MIT */
/* What looking at machine, program and process for "seep doctor" have in common. */
#ifndef SEEP_TARGET_DOCTOR_LOOK_H
#define SEEP_TARGET_DOCTOR_LOOK_H

#include "target/doctor.h"

/* The file system of @path, which is kept under the name @shown. All zero when it cannot be asked. */
struct seep_doctor_room seep_doctor_look_room(struct seep_doctor_facts *facts, const char *path,
					      const char *shown);

/* What the control groups of a process leave. */
struct core_cgroup seep_doctor_look_group(uint32_t pid);

/* The first line of @text, kept; NULL when there is none. */
const char *seep_doctor_first_line(struct seep_doctor_facts *facts, const char *text);

#endif
