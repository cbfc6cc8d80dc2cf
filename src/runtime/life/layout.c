/* SPDX-License-Identifier: MIT */
#include "runtime/life/layout.h"

#include "core/cgroup.h"
#include "runtime/sys/sys.h"

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
};

static uint64_t limit_of(int resource)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	(void)rt_syscall6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0);
	return limit.rlim_cur;
}

uint64_t rt_file_bytes_allowed(void)
{
	uint64_t limit = limit_of(RLIMIT_FSIZE);
	uint64_t address_space = limit_of(RLIMIT_AS);
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
	address_space = (address_space - used) / SHARE_OF_LIMIT;
	return address_space < limit ? address_space : limit;
}

uint64_t rt_ledger_max_wanted(const struct rt_options *options)
{
	if (options->ledger_max && options->ledger_max < LEDGER_MAX_LEAST_BYTES)
		return LEDGER_MAX_LEAST_BYTES;
	return options->ledger_max;
}

/*
 * A part of the memory that the control groups leave: a ledger in a tmpfs is charged to them, and
 * so is our private memory, which grows with it. Of a forked child its parent's: reading it takes
 * time.
 */
static uint64_t group_max(bool is_fork)
{
	static RT_LARGE struct core_cgroup_buffers
		buffers; /* too large for a stack that may be tiny */
	static uint64_t room = UINT64_MAX;
	struct core_cgroup group;
	uint64_t least;

	if (!is_fork) {
		if (core_cgroup_memory(rt_read_file, "", "self", &buffers, &group))
			room = group.room_bytes;
		rt_give_back(&buffers, sizeof(buffers));
	}
	if (room == UINT64_MAX)
		return UINT64_MAX;
	/* Very little is better than nothing, unless there is next to none. */
	least = room / 4 < DEFAULT_MAX_LEAST_BYTES ? room / 4 : DEFAULT_MAX_LEAST_BYTES;
	return room / SHARE_OF_GROUP > least ? room / SHARE_OF_GROUP : least;
}

uint64_t rt_ledger_max_default(long fd, bool is_fork)
{
	uint64_t max = group_max(is_fork);
	struct statfs fs;
	uint64_t quarter;

	if (rt_syscall3(SYS_fstatfs, fd, (long)&fs, 0) != 0 || fs.f_blocks == 0)
		return max;
	quarter = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / 4;
	if (quarter < DEFAULT_MAX_LEAST_BYTES)
		quarter = DEFAULT_MAX_LEAST_BYTES;
	return quarter < max ? quarter : max;
}

/* In about @limit bytes: headers and rounding to pages may come out above it. */
static uint64_t lay_out_about(uint64_t wanted, uint64_t limit, struct ledger_table *tables)
{
	uint64_t usual_bytes = 0;
	uint64_t at = RT_HEADER_PAGES * LEDGER_PAGE_BYTES;

	for (int i = 0; i < LEDGER_TABLE_COUNT; i++)
		usual_bytes += usual[i].item_bytes * usual[i].capacity;
	if (wanted < usual_bytes)
		wanted = usual_bytes;
	/* No more than ids of rows can name. */
	if (wanted > usual_bytes * ROWS_GROW)
		wanted = usual_bytes * ROWS_GROW;
	if (wanted > limit)
		wanted = limit;
	for (int i = 0; i < LEDGER_TABLE_COUNT; i++) {
		/* 23 bits by 33 at most. */
		tables[i].item_bytes = usual[i].item_bytes;
		tables[i].offset = at;
		tables[i].capacity = usual[i].capacity * wanted / (usual_bytes + usual_bytes / 50);
		if (tables[i].capacity * tables[i].item_bytes < LEDGER_PAGE_BYTES)
			tables[i].capacity = LEDGER_PAGE_BYTES / tables[i].item_bytes;
		at = rt_page_up(at + tables[i].capacity * tables[i].item_bytes);
	}
	/* A number that another field can hold. */
	if (tables[LEDGER_TABLE_MODULES].capacity > UINT16_MAX - 1)
		tables[LEDGER_TABLE_MODULES].capacity = UINT16_MAX - 1;
	return at;
}

uint64_t rt_lay_out(uint64_t wanted, uint64_t limit, struct ledger_table *ret_tables)
{
	const uint64_t rounding = (LEDGER_TABLE_COUNT + RT_HEADER_PAGES) * LEDGER_PAGE_BYTES;
	uint64_t bytes = lay_out_about(wanted, limit, ret_tables);

	return bytes <= limit ? bytes : lay_out_about(wanted, limit - rounding, ret_tables);
}
