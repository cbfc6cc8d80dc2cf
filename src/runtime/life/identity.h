/* SPDX-License-Identifier: MIT */
/* Which process this is, so that a ledger can be told from that of another one with its number. */
#ifndef SEEP_RUNTIME_IDENTITY_H
#define SEEP_RUNTIME_IDENTITY_H

#include "ledger/ledger.h"

#include <stddef.h>
#include <stdint.h>

enum {
	RT_EXE_BYTES = 4096,
	RT_STAT_BYTES = 400, /* as far as the 22nd field of /proc/self/stat */
};

struct rt_identity {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid;
	uint64_t start_ticks;
	uint64_t pid_namespace;
	uint8_t boot_id[16];
	char text[RT_STAT_BYTES]; /* to work in */
	char exe[RT_EXE_BYTES];
	size_t exe_bytes;
};

/*
 * @parent: of the parent's ledger, in a forked child, which has the same boot and program: these are
 * not asked for; else NULL. What /proc does not tell is 0 or empty.
 */
void rt_identify(struct rt_identity *ret_id, const struct ledger_header *parent);

#endif
