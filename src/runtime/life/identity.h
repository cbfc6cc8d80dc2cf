/* SPDX-License-Identifier: MIT */
/* Which process this is, so that a ledger can be told from that of another one with its number. */
#ifndef SEEP_RUNTIME_IDENTITY_H
#define SEEP_RUNTIME_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

enum { RT_EXE_BYTES = 4096 };

struct rt_identity {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid;
	uint64_t start_ticks;
	uint64_t pid_namespace;
	uint8_t boot_id[16];
	char exe[RT_EXE_BYTES];
	size_t exe_bytes;
};

/*
 * @id: zeros, or what was filled in before a fork; a child has the same boot and program. What
 * /proc does not tell is 0 or empty.
 */
void rt_identify(struct rt_identity *id);

#endif
