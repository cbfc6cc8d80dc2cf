/* SPDX-License-Identifier: MIT */
#include "runtime/life/make.h"

#include "runtime/life/identity.h"
#include "runtime/life/layout.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	INSTANCES_MAX = 10000,
	PATH_BYTES = 4096,
	NAME_PART_MAX = 120,
	ARGV_MAX = 64 << 10,
};

char rt_ledger_name[LEDGER_NAME_BYTES];
const char *rt_ledger_dir = "";
bool rt_ledger_moved;

/* A bounded string under construction: text beyond the end is dropped. */
struct text {
	char *at;
	size_t used;
	size_t max;
};

static void put(struct text *t, const char *s)
{
	while (*s && t->used < t->max - 1)
		t->at[t->used++] = *s++;
	t->at[t->used] = '\0';
}

static void put_number(struct text *t, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(t, digits + at);
}

static struct text text_begin(char *buffer, size_t max)
{
	struct text t = { buffer, 0, max };

	buffer[0] = '\0';
	return t;
}

/* Open @path if it is a directory of ours that nobody else can enter. */
static long open_private(const char *path, uint32_t uid)
{
	long fd = rt_syscall6(SYS_openat, AT_FDCWD, (long)path,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (rt_syscall3(SYS_fstat, fd, (long)&st, 0) == 0 && st.st_uid == uid &&
	    !(st.st_mode & 077))
		return fd;
	(void)rt_syscall3(SYS_close, fd, 0, 0);
	return -EACCES;
}

static long open_directory(const char *given, uint32_t uid)
{
	static const char *const roots[] = { "/dev/shm", "/tmp" };
	static RT_LARGE char path[PATH_BYTES]; /* not on a stack that may be tiny */
	long fd = -ENOENT;

	if (given) {
		if (rt_ledger_dir != given)
			rt_ledger_dir = given;
		fd = open_private(given, uid);
		if (fd >= 0)
			return fd;
	}
	rt_ledger_dir = path;
	for (size_t i = 0; fd < 0 && i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct text t = text_begin(path, sizeof(path));

		put(&t, roots[i]);
		put(&t, "/seep-");
		put_number(&t, uid);
		/* The program's umask may have taken our own access away. */
		if (rt_syscall3(SYS_mkdir, (long)path, 0700, 0) == 0)
			(void)rt_syscall3(SYS_chmod, (long)path, 0700, 0);
		fd = open_private(path, uid);
	}
	return fd;
}

struct file {
	long dir;
	long fd;
	uint32_t instance;
	char name[LEDGER_NAME_BYTES];
	char unfinished[LEDGER_NAME_BYTES + 8];
};

static void name_file(struct file *file, const struct rt_identity *id)
{
	struct text t = text_begin(file->name, sizeof(file->name));
	const char *base = NULL;
	char exe[NAME_PART_MAX];
	struct text e = text_begin(exe, sizeof(exe));

	for (const char *c = id->exe; *c; c++)
		base = *c == '/' ? c : base;
	put(&e, base ? base + 1 : "unknown");
	for (char *c = exe; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	put(&t, exe);
	put(&t, ".");
	put_number(&t, id->pid);
	put(&t, ".");
	put_number(&t, id->start_ticks);
	put(&t, ".");
	put_number(&t, file->instance);
	put(&t, ".ledger");
	t = text_begin(file->unfinished, sizeof(file->unfinished));
	put(&t, file->name);
	put(&t, ".new");
}

/* exec keeps pid and start time: take the first number that is free. */
static bool open_file(struct file *file, const struct rt_identity *id)
{
	for (file->instance = 0; file->instance < INSTANCES_MAX; file->instance++) {
		struct stat st;

		name_file(file, id);
		if (rt_syscall6(SYS_newfstatat, file->dir, (long)file->name, (long)&st,
				AT_SYMLINK_NOFOLLOW, 0, 0) == 0)
			continue;
		file->fd = rt_syscall6(SYS_openat, file->dir, (long)file->unfinished,
				       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600, 0,
				       0);
		if (file->fd >= 0)
			return true;
		if (file->fd != -EEXIST)
			return false;
	}
	return false;
}

static bool give_name(const struct file *file)
{
	enum { NOREPLACE = 1 };
	long ret = rt_syscall6(SYS_renameat2, file->dir, (long)file->unfinished, file->dir,
			       (long)file->name, NOREPLACE, 0);

	if (ret == -EINVAL || ret == -ENOSYS)
		ret = rt_syscall6(SYS_renameat, file->dir, (long)file->unfinished, file->dir,
				  (long)file->name, 0, 0);
	return ret == 0;
}

static void point_at(uint8_t *base, uint64_t bytes)
{
	struct ledger_header *header = (struct ledger_header *)base;
	const struct ledger_table *tables = header->table;

	rt_global.base = base;
	rt_global.bytes = bytes;
	rt_global.header = header;
	rt_global.control = (struct ledger_control *)(base + LEDGER_PAGE_BYTES);
	rt_global.state = (struct ledger_state *)(base + 2 * LEDGER_PAGE_BYTES);
	rt_global.caches = (struct ledger_cache *)(base + tables[LEDGER_TABLE_CACHES].offset);
	rt_global.slots = (struct ledger_slot *)(base + tables[LEDGER_TABLE_SLOTS].offset);
	rt_global.rows = (struct ledger_row *)(base + tables[LEDGER_TABLE_ROWS].offset);
	rt_global.contexts = (struct ledger_context *)(base + tables[LEDGER_TABLE_CONTEXTS].offset);
	rt_global.nodes = (struct ledger_node *)(base + tables[LEDGER_TABLE_NODES].offset);
	rt_global.modules = (struct ledger_module *)(base + tables[LEDGER_TABLE_MODULES].offset);
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

static void fill_strings(struct ledger_header *header, const struct rt_make *make,
			 const struct rt_identity *id)
{
	static RT_LARGE char cwd[PATH_BYTES]; /* not on a stack that may be tiny */
	long got = rt_syscall3(SYS_getcwd, (long)cwd, sizeof(cwd), 0);

	header->exe = rt_table_string(id->exe, id->exe_bytes);
	header->cwd = rt_table_string(cwd, got > 1 ? (size_t)got - 1 : 0);
	if (make->origin != LEDGER_ORIGIN_FORK)
		rt_give_back(cwd, sizeof(cwd));
	if (make->origin == LEDGER_ORIGIN_FORK)
		header->argv = rt_table_string((const char *)make->argv, make->argv_bytes);
	else if (make->options->argv && make->arguments && make->arguments[0])
		header->argv = put_arguments(make->arguments);
	if (make->options->text)
		header->options = rt_table_string(make->options->text, strlen(make->options->text));
	header->allocator_path = rt_table_string(make->allocator_path,
						 strlen(make->allocator_path));
}

static void fill_header(struct ledger_header *header, const struct rt_make *make,
			const struct rt_identity *id)
{
	struct text parent;

	memcpy(header->magic, LEDGER_MAGIC, sizeof(header->magic));
	header->version = LEDGER_VERSION;
	header->header_bytes = sizeof(*header);
	memcpy(header->boot_id, id->boot_id, sizeof(header->boot_id));
	header->pid_namespace = id->pid_namespace;
	header->pid = id->pid;
	header->ppid = id->ppid;
	header->uid = id->uid;
	header->start_ticks = id->start_ticks;
	header->created_ns = rt_now_ns() - make->age_ns;
	header->created_realtime_ns = rt_realtime_ns() - make->age_ns;
	header->session = make->session;
	header->first_row = make->first_row;
	header->parent_rows_end = make->parent_rows_end;
	header->allocator = rt_global.glibc ? LEDGER_ALLOCATOR_GLIBC : LEDGER_ALLOCATOR_OTHER;
	header->depth_max = (uint32_t)make->options->depth;
	header->origin = make->origin;
	header->blocks = (struct ledger_blocks){
		.leaves = (uintptr_t)rt_leaves,
		.facts = (uintptr_t)&rt_facts,
		.granule_shift = rt_global.granule_shift,
	};
	parent = text_begin(header->parent, sizeof(header->parent));
	put(&parent, make->parent);
}

static void fill_control(struct ledger_control *control, const struct rt_options *options)
{
	uint32_t filters = rt_options_filters(options);

	rt_store(&control->mode, (options->mode ? LEDGER_MODE_OFF : LEDGER_MODE_ALL) | filters);
	rt_store(&control->size_min_bytes, options->size_min);
	rt_store(&control->size_max_bytes, options->size_max);
	rt_store(&control->exit_wait_ms, (uint32_t)options->exit_wait_ms);
	/* 0 is what a slot holds that never saw a turn. */
	rt_store(&control->peak_turn, 1);
	if (options->mode || filters)
		rt_store(&control->filtered_once, 1);
}

/* Map @file and make its first pages real; NULL on failure. */
static uint8_t *map_file(const struct file *file, uint64_t bytes)
{
	long base;

	if (rt_syscall3(SYS_ftruncate, file->fd, (long)bytes, 0) != 0)
		return NULL;
	base = rt_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd,
			   0);
	if (base < 0 && base > -4096)
		return NULL;
	(void)rt_syscall3(SYS_madvise, base, (long)bytes, MADV_DONTDUMP);
	/* Or a disk's file system reads ahead into the holes: up to 8 MB of zeros for each page. */
	(void)rt_syscall3(SYS_madvise, base, (long)bytes, MADV_RANDOM);
	if (rt_syscall3(SYS_madvise, base, RT_HEADER_PAGES * LEDGER_PAGE_BYTES,
			RT_MADV_POPULATE_WRITE) == 0) {
		rt_facts_own((void *)base, rt_page_up(bytes));
		return (uint8_t *)base;
	}
	(void)rt_syscall3(SYS_munmap, base, (long)bytes, 0);
	return NULL;
}

static bool make_file(struct file *file, const struct rt_make *make, const struct rt_identity *id)
{
	struct ledger_table tables[LEDGER_TABLE_COUNT] = { 0 };
	uint64_t wanted = rt_ledger_max_wanted(make->options);
	uint64_t limit = rt_file_bytes_allowed();
	uint64_t bytes;
	uint8_t *base;

	if (limit < LEDGER_FILE_MIN_BYTES)
		return false;
	bytes = rt_lay_out(wanted, limit, tables);
	base = bytes <= limit ? map_file(file, bytes) : NULL;
	if (!base)
		return false;
	memcpy(((struct ledger_header *)base)->table, tables, sizeof(tables));
	point_at(base, bytes);
	rt_global.header->file_bytes = bytes;
	rt_global.header->ledger_max_bytes =
		wanted ? wanted
		       : rt_ledger_max_default(file->fd, make->origin == LEDGER_ORIGIN_FORK);
	rt_global.header->instance = file->instance;
	rt_store(&rt_global.state->real_bytes, RT_HEADER_PAGES * LEDGER_PAGE_BYTES);
	rt_store(&rt_global.state->private_bytes, make->private_bytes);
	fill_header(rt_global.header, make, id);
	fill_strings(rt_global.header, make, id);
	fill_control(rt_global.control, make->options);
	rt_global.pid = id->pid;
	rt_global.first_row = make->first_row;
	return !make->fill || make->fill();
}

static void note_directory(long fd)
{
	static struct stat last;
	struct stat now = { 0 };

	(void)rt_syscall3(SYS_fstat, fd, (long)&now, 0);
	rt_ledger_moved = last.st_ino && (now.st_dev != last.st_dev || now.st_ino != last.st_ino);
	last = now;
}

bool rt_ledger_make(const struct rt_make *make)
{
	static RT_LARGE struct rt_identity id; /* too large for a stack that may be a signal's */
	struct rt_global before = rt_global;
	struct file file = { .dir = -1, .fd = -1 };
	bool made = false;

	rt_identify(&id);
	if ((int32_t)id.pid <= 0)
		return false;
	file.dir = open_directory(make->dir, id.uid);
	if (file.dir < 0)
		return false;
	if (open_file(&file, &id)) {
		made = make_file(&file, make, &id) && give_name(&file);
		if (!made) {
			(void)rt_syscall3(SYS_unlinkat, file.dir, (long)file.unfinished, 0);
			if (rt_global.base != before.base)
				rt_munmap_sparse(rt_global.base, rt_global.bytes);
			rt_global = before;
		} else {
			memcpy(rt_ledger_name, file.name, sizeof(rt_ledger_name));
			note_directory(file.dir);
		}
		(void)rt_syscall3(SYS_close, file.fd, 0, 0);
	}
	(void)rt_syscall3(SYS_close, file.dir, 0, 0);
	return made;
}
