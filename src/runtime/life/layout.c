/* SPDX-License-Identifier: MIT */
#include "runtime/life/layout.h"

#include "core/cgroup.h"
#include "ledger/ledger_scope.h"
#include "runtime/life/rt_options.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"

#include <sys/resource.h>
#include <sys/vfs.h>

enum {
	SHARE_OF_LIMIT = 8, /* of RLIMIT_AS: the program needs the rest */
	SHARE_OF_GROUP = 8, /* of what the memory control group leaves */
	ROWS_GROW = LEDGER_ROW_ID_END / LEDGER_ROWS_USUAL,
};

#define DEFAULT_MAX_LEAST_BYTES (1ull << 20) /* on a tiny file system: until it is full */

/* Capacities of a file of the usual size; scaled to what limits and ledger_max allow. */
static const struct ledger_table usual[LEDGER_TABLE_COUNT] = {
	[LEDGER_TABLE_CACHES] = { sizeof(struct ledger_cache), 0, 0, 1 << 14 },
	[LEDGER_TABLE_SLOTS] = { sizeof(struct ledger_slot), 0, 0, 1 << 20 },
	[LEDGER_TABLE_ROWS] = { sizeof(struct ledger_row), 0, 0, LEDGER_ROWS_USUAL },
	[LEDGER_TABLE_CONTEXTS] = { sizeof(struct ledger_context), 0, 0, 3 << 19 },
	[LEDGER_TABLE_NODES] = { sizeof(struct ledger_node), 0, 0, 1 << 23 },
	[LEDGER_TABLE_MODULES] = { sizeof(struct ledger_module), 0, 0, 1 << 13 },
	[LEDGER_TABLE_STRINGS] = { 1, 0, 0, 8 << 20 },
	[LEDGER_TABLE_MARKS] = { sizeof(struct ledger_mark), 0, 0, 1 << 12 },
	[LEDGER_TABLE_LOST] = { sizeof(struct ledger_lost), 0, 0, 1 << 13 },
	[LEDGER_TABLE_FINDINGS] = { sizeof(struct ledger_finding), 0, 0, 1 << 14 },
	[LEDGER_TABLE_SCOPES] = { sizeof(struct ledger_scope), 0, 0, 1 << 14 },
	[LEDGER_TABLE_ENTRIES] = { sizeof(struct ledger_entries), 0, 0, 1 << 15 },
};

/*
 * What the limits leave for the file. Exceeding RLIMIT_FSIZE is a fatal signal. Of the address
 * space that RLIMIT_AS still allows, most is the program's; with too little there is no ledger.
 */
static uint64_t bytes_allowed(void)
{
	uint64_t limit = rt_limit_of(RLIMIT_FSIZE);
	uint64_t address_space = rt_limit_of(RLIMIT_AS);
	char statm[64];
	uint64_t used = 0;

	if (address_space == RLIM_INFINITY)
		return limit;
	if (rt_read_file("/proc/self/statm", statm, sizeof(statm)) > 0)
		for (const char *p = statm; *p >= '0' && *p <= '9'; p++)
			used = used * 10 + (uint64_t)(*p - '0');
	used *= LEDGER_PAGE_BYTES;
	if (address_space < used || address_space - used < LEDGER_ADDRESS_SPACE_MIN_BYTES)
		return 0;
	return core_smaller((address_space - used) / SHARE_OF_LIMIT, limit);
}

/*
 * A part of the memory that the control groups leave: a ledger in a tmpfs is charged to them, and
 * so is our private memory, which grows with it.
 */
static uint64_t group_max(void)
{
	struct core_cgroup_buffers *buffers = rt_mmap(sizeof(*buffers));
	uint64_t room = UINT64_MAX;
	struct core_cgroup group;

	if (buffers && core_cgroup_memory(rt_read_file, "", "self", buffers, &group))
		room = group.room_bytes;
	rt_munmap(buffers, sizeof(*buffers));
	if (room == UINT64_MAX)
		return UINT64_MAX;
	/* Very little is better than nothing, unless there is next to none. */
	return core_larger(room / SHARE_OF_GROUP, core_smaller(room / 4, DEFAULT_MAX_LEAST_BYTES));
}

static uint64_t max_default(long fd)
{
	uint64_t max = group_max();
	struct statfs fs;

	if (rt_syscall3(SYS_fstatfs, fd, (long)&fs, 0) != 0 || fs.f_blocks == 0)
		return max;
	return core_smaller(max, core_larger((uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / 4,
					     DEFAULT_MAX_LEAST_BYTES));
}

/* In about @limit bytes: headers and rounding to pages may come out above it. */
static uint64_t lay_out_about(uint64_t limit)
{
	struct ledger_table *tables = rt_header.table;
	uint64_t usual_bytes = 0, wanted;
	uint64_t at = LEDGER_FIXED_BYTES;

	for (int i = 0; i < LEDGER_TABLE_COUNT; i++)
		usual_bytes += usual[i].item_bytes * usual[i].capacity;
	/* No more than ids of rows can name. */
	wanted = core_smaller(core_larger(rt_options.ledger_max, usual_bytes),
			      core_smaller(usual_bytes * ROWS_GROW, limit));
	for (int i = 0; i < LEDGER_TABLE_COUNT; i++) {
		/* 23 bits by 33 at most. */
		tables[i].item_bytes = usual[i].item_bytes;
		tables[i].offset = at;
		tables[i].capacity = usual[i].capacity * wanted / (usual_bytes + usual_bytes / 50);
		tables[i].capacity = core_larger(tables[i].capacity,
						 LEDGER_PAGE_BYTES / tables[i].item_bytes);
		at = rt_page_up(at + tables[i].capacity * tables[i].item_bytes);
	}
	/* A number that another field can hold. */
	if (tables[LEDGER_TABLE_MODULES].capacity > UINT16_MAX - 1)
		tables[LEDGER_TABLE_MODULES].capacity = UINT16_MAX - 1;
	return at;
}

bool rt_lay_out(long fd)
{
	const uint64_t rounding = LEDGER_TABLE_COUNT * LEDGER_PAGE_BYTES + LEDGER_FIXED_BYTES;
	const bool is_fork = rt_header.origin == LEDGER_ORIGIN_FORK;
	const uint64_t limit = bytes_allowed();

	if (is_fork && rt_header.file_bytes <= limit)
		return true;
	if (limit < LEDGER_FILE_MIN_BYTES)
		return false;
	if (!is_fork)
		rt_header.ledger_max_bytes = rt_options.ledger_max ? rt_options.ledger_max
								   : max_default(fd);
	rt_header.file_bytes = lay_out_about(limit);
	if (rt_header.file_bytes > limit)
		rt_header.file_bytes = lay_out_about(limit - rounding);
	return rt_header.file_bytes <= limit;
}
