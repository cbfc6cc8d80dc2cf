/* SPDX-License-Identifier: MIT */
#include "runtime/life/make.h"

#include "runtime/life/layout.h"
#include "runtime/life/rt_options.h"
#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
	INSTANCES_MAX = 10000,
	PATH_BYTES = 4096,
	ROOT_BYTES = 64, /* of /dev/shm/seep-UID */
	NAME_PART_MAX = 120,
	ARGV_MAX = 64 << 10,
};

char rt_ledger_name[LEDGER_NAME_BYTES];
const char *rt_ledger_dir = "";
bool rt_ledger_moved, rt_ledger_is_crowding;
_Atomic bool rt_ledger_is_named;
static const char *wanted_dir;
static size_t program_bytes; /* of rt_ledger_name: what it begins with */

#define UNFINISHED ".new"
static char unfinished_name[LEDGER_NAME_BYTES + sizeof(UNFINISHED)];
static char sums_name[LEDGER_NAME_BYTES];

/* Where a ledger was that was left, and zeros are. NULL: nowhere. */
static uint8_t *left;
static uint64_t left_bytes;

/* Of rt_ledger_dir: a path may lead elsewhere by now. */
static dev_t dir_device;
static ino_t dir_inode;

/* The strings of the header, as they stand at the beginning of the string table. */
static char *first_strings;
static size_t first_bytes, kept_bytes;
static uint32_t first_unseen;

struct file {
	long dir;
	struct stat dir_is;
	long fd;
	struct stat other_is;  /* not it, but asked for on the way */
	char exe[PATH_BYTES];  /* not in a forked child */
	char text[PATH_BYTES]; /* to work in */
};

static void close_it(long fd)
{
	(void)rt_syscall3(SYS_close, fd, 0, 0);
}

/* Open @path if it is a directory of ours that nobody else can enter. */
static long open_private(const char *path, uint32_t uid, struct stat *ret)
{
	long fd = rt_syscall6(SYS_openat, AT_FDCWD, (long)path,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0);

	if (fd < 0)
		return fd;
	if (rt_syscall3(SYS_fstat, fd, (long)ret, 0) == 0 && ret->st_uid == uid &&
	    !(ret->st_mode & 077))
		return fd;
	close_it(fd);
	return -EACCES;
}

static long open_directory(uint32_t uid, struct stat *ret)
{
	static const char *const roots[LEDGER_ROOT_COUNT] = { LEDGER_ROOTS };
	static char path[ROOT_BYTES];
	char user[RT_DIGITS_BYTES];
	long fd = wanted_dir ? open_private(wanted_dir, uid, ret) : -ENOENT;
	const char *dir = fd >= 0 ? wanted_dir : path, *number = rt_digits(uid, 10, user);

	/* Not without need: it is a page of a forked child's. */
	if (rt_ledger_dir != dir)
		rt_ledger_dir = dir;
	for (size_t i = 0; fd < 0 && i < LEDGER_ROOT_COUNT; i++) {
		(void)rt_text(path, sizeof(path), roots[i], i == LEDGER_ROOT_OF_USER ? number : "",
			      "/seep-", number);
		/* The program's umask may have taken our own access away. */
		if (rt_syscall3(SYS_mkdir, (long)path, 0700, 0) == 0)
			(void)rt_syscall3(SYS_chmod, (long)path, 0700, 0);
		fd = open_private(path, uid, ret);
	}
	return fd;
}

/* Of /proc/self/stat. */
static uint64_t parse_start_ticks(const char *stat)
{
	const char *at = "";
	uint64_t value = 0;
	int field = 2;

	for (const char *c = stat; *c; c++)
		at = *c == ')' ? c : at;
	/* After the name: field 3 follows one space; 22 is nineteen further. */
	for (; *at && field < 22; at++)
		field += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

static void parse_boot_id(const char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned nibbles = 0; *text && nibbles < 32; text++) {
		const char *digit = strchr(digits, *text);
		uint8_t *byte = &rt_header.boot_id[nibbles / 2];

		if (digit)
			*byte = (uint8_t)(*byte << 4 | (digit - digits));
		nibbles += digit != NULL;
	}
}

/*
 * Which process this is, so that its ledger can be told from that of another one with its number.
 * What /proc does not tell is 0. False: there is no number, or it is not clear whose it is.
 */
static bool identify(struct file *file)
{
	/* Of a forked child's parent, which rt_header is about until now; else 0. */
	const uint32_t parent = rt_header.pid, before = rt_header.uid;
	uint32_t user[3];

	rt_header.pid = rt_getpid_or_tid();
	rt_header.ppid = (uint32_t)rt_syscall3(SYS_getppid, 0, 0, 0);
	if (rt_syscall3(SYS_getresuid, (long)&user[0], (long)&user[1], (long)&user[2]) != 0)
		return false;
	rt_header.uid = user[1];
	rt_header.start_ticks = 0;
	if (rt_read_file("/proc/self/stat", file->text, sizeof(file->text)) > 0)
		rt_header.start_ticks = parse_start_ticks(file->text);
	/* A child that sees its parent under the parent's own number is in the same namespace. */
	if (parent <= 1 || rt_header.ppid != parent)
		rt_header.pid_namespace = rt_syscall6(SYS_newfstatat, AT_FDCWD,
						      (long)"/proc/self/ns/pid",
						      (long)&file->other_is, 0, 0, 0) == 0
						  ? file->other_is.st_ino
						  : 0;
	rt_header.created_ns = rt_now_ns();
	rt_header.created_realtime_ns = rt_realtime_ns();
	/* A child that acts for another user, and can go back, would leave its ledger to him. */
	return (int32_t)rt_header.pid > 0 &&
	       (!parent || user[1] == before || (user[0] != before && user[2] != before));
}

/* A forked child has its parent's. */
static void identify_program(struct file *file)
{
	long got = rt_syscall6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)file->exe,
			       sizeof(file->exe) - 1, 0, 0);
	const char *slash;

	file->exe[got > 0 ? got : 0] = '\0';
	slash = strrchr(file->exe, '/');
	(void)rt_text(rt_ledger_name, NAME_PART_MAX, slash ? slash + 1 : "unknown");
	program_bytes = (size_t)(rt_make_printable(rt_ledger_name) - rt_ledger_name);
}

static void name_file(uint32_t instance)
{
	char pid[RT_DIGITS_BYTES], start[RT_DIGITS_BYTES], number[RT_DIGITS_BYTES];

	(void)rt_text(rt_ledger_name + program_bytes, sizeof(rt_ledger_name) - program_bytes, ".",
		      rt_digits(rt_header.pid, 10, pid), ".",
		      rt_digits(rt_header.start_ticks, 10, start), ".",
		      rt_digits(instance, 10, number), LEDGER_SUFFIX);
	(void)rt_text(unfinished_name, sizeof(unfinished_name), rt_ledger_name, UNFINISHED);
	memcpy(sums_name, rt_ledger_name, sizeof(sums_name));
	memcpy(sums_name + strlen(sums_name) - strlen(LEDGER_SUFFIX), LEDGER_SUMS_SUFFIX,
	       sizeof(LEDGER_SUMS_SUFFIX));
}

/* exec keeps pid and start time: take the first number that is free. */
static bool open_file(struct file *file)
{
	for (uint32_t instance = 0; instance < INSTANCES_MAX; instance++) {
		name_file(instance);
		if (rt_syscall6(SYS_newfstatat, file->dir, (long)rt_ledger_name,
				(long)&file->other_is, AT_SYMLINK_NOFOLLOW, 0, 0) == 0)
			continue;
		file->fd = rt_syscall6(SYS_openat, file->dir, (long)unfinished_name,
				       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600, 0,
				       0);
		if (file->fd >= 0)
			return true;
		if (file->fd != -EEXIST)
			return false;
	}
	return false;
}

static bool give_name(long dir)
{
	enum { NOREPLACE = 1 };
	const long from = (long)unfinished_name, to = (long)rt_ledger_name;
	long ret = rt_syscall6(SYS_renameat2, dir, from, dir, to, NOREPLACE, 0);

	if (ret == -EINVAL || ret == -ENOSYS)
		ret = rt_syscall6(SYS_renameat, dir, from, dir, to, 0, 0);
	/* Of two threads that fork at once, one finds it done. */
	if (ret == 0)
		rt_store(&rt_ledger_is_named, true);
	return ret == 0;
}

static void remove_it(long dir)
{
	(void)rt_syscall3(SYS_unlinkat, dir, (long)unfinished_name, 0);
	if (rt_global.sums)
		(void)rt_syscall3(SYS_unlinkat, dir, (long)sums_name, 0);
}

static void point_at(uint8_t *base)
{
	const struct ledger_table *tables = rt_header.table;

	rt_global.base = base;
	rt_global.control = (struct ledger_control *)(base + LEDGER_PAGE_BYTES);
	rt_global.state = (struct ledger_state *)(base + 2 * LEDGER_PAGE_BYTES);
	rt_global.sums = NULL;
	rt_global.caches = (struct ledger_cache *)(base + tables[LEDGER_TABLE_CACHES].offset);
	rt_global.slots = (struct ledger_slot *)(base + tables[LEDGER_TABLE_SLOTS].offset);
	rt_global.rows = (struct ledger_row *)(base + tables[LEDGER_TABLE_ROWS].offset);
	rt_global.contexts = (struct ledger_context *)(base + tables[LEDGER_TABLE_CONTEXTS].offset);
	rt_global.nodes = (struct ledger_node *)(base + tables[LEDGER_TABLE_NODES].offset);
	rt_global.modules = (struct ledger_module *)(base + tables[LEDGER_TABLE_MODULES].offset);
	rt_global.findings = (struct ledger_finding *)(base + tables[LEDGER_TABLE_FINDINGS].offset);
	rt_global.scopes = (struct ledger_scope *)(base + tables[LEDGER_TABLE_SCOPES].offset);
	rt_global.entries = (struct ledger_entries *)(base + tables[LEDGER_TABLE_ENTRIES].offset);
	rt_global.strings = base + tables[LEDGER_TABLE_STRINGS].offset;
}

static struct ledger_string put_arguments(char *const *arguments)
{
	size_t bytes = 0;

	/* The kernel lays them out one after the other. */
	for (char *const *a = arguments; *a && *a == arguments[0] + bytes; a++) {
		size_t length = strlen(*a) + 1;

		if (bytes + length > ARGV_MAX) {
			rt_note_unseen(LEDGER_UNSEEN_ARGUMENTS);
			break;
		}
		bytes += length;
	}
	return rt_table_string(arguments[0], bytes);
}

/* A forked child's are the same. */
static void fill_strings(const struct rt_start *first, struct file *file)
{
	const char *allocator = rt_next_malloc_path();
	long got = rt_syscall3(SYS_getcwd, (long)file->text, sizeof(file->text), 0);

	rt_header.exe = rt_table_string(file->exe, strlen(file->exe));
	rt_header.cwd = rt_table_string(file->text, got > 1 ? (size_t)got - 1 : 0);
	if (rt_options.argv && first->arguments[0])
		rt_header.argv = put_arguments(first->arguments);
	if (rt_options.text)
		rt_header.options = rt_table_string(rt_options.text, strlen(rt_options.text));
	rt_header.allocator_path = rt_table_string(allocator, strlen(allocator));
	first_bytes = rt_load(&rt_tables[LEDGER_TABLE_STRINGS].reserved);
	first_unseen = rt_load(&rt_global.state->unseen) & LEDGER_UNSEEN_ARGUMENTS;
	/* Of a ledger that was left. */
	rt_munmap(first_strings, kept_bytes);
	kept_bytes = first_bytes;
	first_strings = first_bytes <= rt_load(&rt_tables[LEDGER_TABLE_STRINGS].ready)
				? rt_mmap(first_bytes)
				: NULL;
	if (first_strings)
		memcpy(first_strings, rt_global.strings, first_bytes);
}

static void copy_strings(void)
{
	const struct ledger_string none = { 0, 0 };

	if (first_strings && rt_table_string(first_strings, first_bytes).bytes)
		return;
	rt_header.exe = rt_header.cwd = rt_header.argv = none;
	rt_header.options = rt_header.allocator_path = none;
}

static void fill_header(const struct rt_start *first, char *text)
{
	memcpy(rt_header.magic, LEDGER_MAGIC, sizeof(rt_header.magic));
	rt_header.version = LEDGER_VERSION;
	rt_header.header_bytes = sizeof(rt_header);
	if (rt_read_file("/proc/sys/kernel/random/boot_id", text, PATH_BYTES) > 0)
		parse_boot_id(text);
	rt_header.session = first->session;
	rt_global.first_row = rt_header.first_row = 1;
	rt_header.allocator = rt_global.glibc ? LEDGER_ALLOCATOR_GLIBC : LEDGER_ALLOCATOR_OTHER;
	rt_header.depth_max = (uint32_t)rt_options.depth;
	rt_header.sample_log2 = core_bit_width(rt_options.sample_rate - !!rt_options.sample_rate);
	rt_tier_start(rt_options_tier() == LEDGER_MODE_SAMPLED);
	rt_header.blocks = (struct ledger_blocks){
		.leaves = (uintptr_t)rt_leaves,
		.facts = (uintptr_t)&rt_facts,
		.granule_shift = rt_global.granule_shift,
	};
}

static void fill_control(void)
{
	struct ledger_control *control = rt_global.control;
	uint32_t filters = rt_options_filters();

	rt_store(&control->mode, (uint32_t)rt_options.mode | rt_options_tier() | filters);
	rt_store(&control->size_min_bytes, rt_options.size_min);
	rt_store(&control->size_max_bytes, rt_options.size_max);
	rt_store(&control->exit_wait_ms, (uint32_t)rt_options.exit_wait_ms);
	/* 0 is what a slot holds that never saw a turn. */
	rt_store(&control->peak_turn, 1);
	if (rt_options.mode || rt_header.origin == LEDGER_ORIGIN_ATTACH)
		rt_store(&control->filtered_once, LEDGER_FILTERED_ALL);
	else if (filters)
		rt_store(&control->filtered_once, LEDGER_FILTERED_SOME);
}

/* Children may have other rights, or become another's. The guards go too. */
static bool hide_from_children(uint8_t *base, uint64_t bytes)
{
	return rt_syscall3(SYS_madvise, (long)(base - RT_GUARD_BYTES),
			   (long)(rt_page_up(bytes) + (size_t)2 * RT_GUARD_BYTES),
			   MADV_DONTFORK) == 0;
}

/* In the folder @dir. Without it children have no sums to add to: they keep ledgers of their own. */
static void share_sums(long dir)
{
	uint8_t *page = rt_global.base + LEDGER_FIXED_BYTES - LEDGER_PAGE_BYTES;
	long fd = -EFBIG;

	/* It may be lower than when the ledger was made, and exceeding it is a fatal signal. */
	if (rt_limit_of(RLIMIT_FSIZE) >= LEDGER_PAGE_BYTES)
		fd = rt_syscall6(SYS_openat, dir, (long)sums_name,
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600, 0, 0);
	if (fd >= 0 && rt_syscall3(SYS_ftruncate, fd, LEDGER_PAGE_BYTES, 0) == 0 &&
	    rt_syscall6(SYS_mmap, (long)page, LEDGER_PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, fd, 0) == (long)page &&
	    rt_syscall3(SYS_madvise, (long)page, LEDGER_PAGE_BYTES, MADV_POPULATE_WRITE) == 0)
		rt_global.sums = (struct ledger_sums *)page;
	else
		rt_note_unseen(LEDGER_UNSEEN_NO_SPACE);
	close_it(fd);
}

/* MAP_SHARED only so that RLIMIT_DATA does not count it. */
void rt_ledger_leave(void)
{
	left = rt_global.base;
	rt_global.sums = NULL;
	left_bytes = rt_page_up(rt_header.file_bytes);
	(void)rt_syscall6(SYS_mmap, (long)left, (long)left_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

/* In the place of one that was left, or elsewhere. */
static uint8_t *find_place(long fd, uint64_t bytes)
{
	uint8_t *base = left;

	if (!base || left_bytes < rt_page_up(bytes) ||
	    rt_syscall6(SYS_mmap, (long)base, (long)bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, fd, 0) != (long)base)
		return rt_map_file((int)fd, bytes);
	left = NULL;
	return base;
}

/* Map @file and make its first pages real; NULL on failure. */
static uint8_t *map_file(const struct file *file, uint64_t bytes)
{
	uint8_t *base;

	if (rt_syscall3(SYS_ftruncate, file->fd, (long)bytes, 0) != 0)
		return NULL;
	base = find_place(file->fd, bytes);
	if (!base)
		return NULL;
	(void)rt_syscall3(SYS_madvise, (long)base, (long)bytes, MADV_DONTDUMP);
	/* Or a disk's file system reads ahead into the holes: up to 8 MB of zeros for each page. */
	(void)rt_syscall3(SYS_madvise, (long)base, (long)bytes, MADV_RANDOM);
	if (rt_syscall3(SYS_madvise, (long)base, LEDGER_FIXED_BYTES, MADV_POPULATE_WRITE) == 0 &&
	    hide_from_children(base, bytes))
		return base;
	rt_unmap_alone(base, bytes);
	return NULL;
}

/* A ledger without contents. */
static bool begin_file(struct file *file)
{
	uint8_t *base = rt_lay_out(file->fd) ? map_file(file, rt_header.file_bytes) : NULL;

	if (!base)
		return false;
	point_at(base);
	rt_note_unseen(rt_load(&rt_nowhere.unseen));
	rt_tables_start();
	rt_count_private(0);
	fill_control();
	return true;
}

static bool is_directory(const struct stat *it)
{
	return it->st_dev == dir_device && it->st_ino == dir_inode;
}

/* Its magic is what says that the rest of it is there. */
static void publish_header(void)
{
	struct ledger_header *header = (struct ledger_header *)rt_global.base;

	memcpy(header->magic + sizeof(header->magic), rt_header.magic + sizeof(rt_header.magic),
	       sizeof(rt_header) - sizeof(rt_header.magic));
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, rt_header.magic, sizeof(rt_header.magic));
}

static bool publish(long dir)
{
	rt_header.created_ns = rt_now_ns();
	rt_header.created_realtime_ns = rt_realtime_ns();
	publish_header();
	/* Before the name: whoever reads it then has both. */
	share_sums(dir);
	return give_name(dir);
}

static bool fill_first(struct file *file, const struct rt_start *first)
{
	fill_header(first, file->text);
	fill_strings(first, file);
	return first->attaches || publish(file->dir);
}

static bool fill_fork(void)
{
	rt_global.first_row = rt_header.first_row = rt_load(&rt_mine.first_row);
	copy_strings();
	rt_note_unseen(first_unseen);
	publish_header();
	return true;
}

/* @first: as in rt_ledger_make(). */
static bool make_file(struct file *file, const struct rt_start *first)
{
	bool made = false;

	rt_store(&rt_ledger_is_named, false);
	file->dir = open_directory(rt_header.uid, &file->dir_is);
	if (file->dir < 0)
		return false;
	if (open_file(file)) {
		made = begin_file(file) && (first ? fill_first(file, first) : fill_fork());
		if (!made)
			remove_it(file->dir);
		rt_ledger_moved = made && dir_inode && !is_directory(&file->dir_is);
		rt_ledger_is_crowding = !rt_header.session && ledger_is_crowded(&file->dir_is);
		dir_device = file->dir_is.st_dev;
		dir_inode = file->dir_is.st_ino;
		close_it(file->fd);
	}
	close_it(file->dir);
	return made;
}

bool rt_ledger_make(const struct rt_start *first)
{
	const uint8_t *before = rt_global.base;
	struct file *file = rt_scratch_take(sizeof(*file));
	bool made = false;

	if (!file)
		return false;
	if (first) {
		rt_header = (struct ledger_header){
			.origin = first->attaches ? LEDGER_ORIGIN_ATTACH : LEDGER_ORIGIN_START,
		};
		wanted_dir = first->dir;
		identify_program(file);
	} else {
		rt_header.origin = LEDGER_ORIGIN_FORK;
		/* Of what it frees much may be the parent's. */
		rt_tier_add_no_more();
	}
	if (identify(file))
		made = make_file(file, first);
	rt_scratch_give(file);
	if (made)
		return true;
	rt_global.state = &rt_nowhere;
	if (rt_global.base != before)
		rt_unmap_alone(rt_global.base, rt_header.file_bytes);
	rt_global.base = NULL;
	return false;
}

/* The directory of the ledger, if the path still leads there; else < 0. */
static long open_again(void)
{
	struct stat now;
	long fd = open_private(rt_ledger_dir, (uint32_t)rt_syscall3(SYS_geteuid, 0, 0, 0), &now);

	if (fd < 0 || is_directory(&now))
		return fd;
	close_it(fd);
	return -ENOENT;
}

void rt_ledger_give_name(bool shares)
{
	long dir = open_again();

	if (dir < 0)
		return;
	if (shares)
		share_sums(dir);
	if (!rt_load(&rt_ledger_is_named))
		(void)give_name(dir);
	close_it(dir);
}

bool rt_ledger_is_half_made(void)
{
	return rt_header.origin == LEDGER_ORIGIN_ATTACH && !rt_load(&rt_ledger_is_named);
}

bool rt_ledger_publish(void)
{
	const long dir = open_again();
	const bool is_published = dir >= 0 && publish(dir);

	if (dir >= 0)
		close_it(dir);
	return is_published;
}

void rt_ledger_remove(void)
{
	long dir = open_again();

	if (dir < 0)
		return;
	remove_it(dir);
	close_it(dir);
}
