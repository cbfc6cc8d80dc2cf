/* SPDX-License-Identifier: MIT */
/* The resource limits of a process, and which of them leaves no room for a ledger. */
#ifndef SEEP_TARGET_LIMITS_H
#define SEEP_TARGET_LIMITS_H

#include <stdint.h>

/* No limit, or not known. */
#define SEEP_NO_LIMIT UINT64_MAX

/* Soft ones. */
struct seep_limits {
	uint64_t address_space_bytes;
	uint64_t file_bytes;
	uint64_t descriptors;
	uint64_t data_bytes;
};

/* Of @pid, 0: of this process. A process that nobody has waited for still has them. */
struct seep_limits seep_limits_of(uint32_t pid);

/**
 * seep_limits_why - which limit is below what recording needs
 * @ret_command: the shell's word that sets it; set with the sentence only; may be NULL
 *
 * Returns: "its ... is limited to ..., recording needs ...", NULL when none is. Release with free().
 */
char *seep_limits_why(const struct seep_limits *limits, const char **ret_command);

#endif
