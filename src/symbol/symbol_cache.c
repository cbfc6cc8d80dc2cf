/* SPDX-License-Identifier: MIT */
#include "symbol/symbol_cache.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "symbol/answer_file.h"
#include "symbol/pointer_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NAME_BYTES_MAX = 2 * SEEP_BUILD_ID_MAX_BYTES + 64,
	TOUCH_AFTER_S = 3600,	  /* a file's time says when it was used last, roughly */
	LEFT_BEHIND_AFTER_S = 60, /* a temporary file this old is nobody's */
	ADDED_MAX = 1 << 20,	  /* answers per module */
};

static const char suffix[] = ".answers";
static const char temporary_suffix[] = ".part";

struct seep_symbol_cache {
	char *directory;
	uint64_t bytes_max;
	uint64_t program;
	int fd;	     /* -1: not there, or not to be used */
	bool is_bad; /* not to be used, nor made */
	bool has_written;
};

struct seep_symbol_answers {
	struct seep_symbol_cache *cache;
	struct seep_answer_key key;
	char name[NAME_BYTES_MAX];
	char *data; /* the file; NULL: there is none that can be used */
	struct seep_answer_file file;
	struct seep_arena *arena; /* of what was added */
	struct seep_pointer_map added_by_address;
	struct seep_answer **added;
	size_t added_room;
	uint32_t added_count;
};

/* ---- the directory ------------------------------------------------------------------------ */

static bool is_own(const char *directory)
{
	struct stat st;

	return stat(directory, &st) == 0 && st.st_uid == geteuid();
}

char *seep_symbol_cache_directory(void)
{
	const char *own = getenv("SEEP_CACHE_DIR");
	const char *caches = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		return *own == '/' ? seep_xstrdup(own) : NULL;
	if (caches && *caches == '/')
		return is_own(caches) ? seep_xasprintf("%s/seep", caches) : NULL;
	if (home && *home == '/' && is_own(home))
		return seep_xasprintf("%s/.cache/seep", home);
	return NULL;
}

static int open_directory(struct seep_symbol_cache *cache)
{
	struct stat st;
	int fd = open(cache->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		cache->is_bad = true;
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* With all above it that is missing. */
static void make_directory(const char *directory)
{
	char *path = seep_xstrdup(directory);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	(void)mkdir(path, 0700);
	free(path);
}

struct seep_symbol_cache *seep_symbol_cache_open(const char *directory, uint64_t bytes_max)
{
	struct seep_symbol_cache *cache = seep_xcalloc(1, sizeof(*cache));

	cache->directory = seep_xasprintf("%s/symbols", directory);
	cache->bytes_max = bytes_max;
	cache->program = seep_answer_program();
	cache->fd = open_directory(cache);
	return cache;
}

static bool ends_with(const char *name, const char *end)
{
	const size_t bytes = strlen(name);

	return bytes > strlen(end) && strcmp(name + bytes - strlen(end), end) == 0;
}

struct kept_file {
	char *name;
	uint64_t bytes;
	time_t used;
};

static int by_age(const void *a, const void *b)
{
	const struct kept_file *left = a;
	const struct kept_file *right = b;

	return (left->used > right->used) - (left->used < right->used);
}

/* Only files that have names of ours are looked at, whatever else lies there. */
static size_t list_files(const struct seep_symbol_cache *cache, DIR *folder,
			 struct kept_file **ret_files)
{
	struct kept_file *files = NULL;
	const time_t now = time(NULL);
	struct dirent *entry;
	size_t room = 0;
	size_t count = 0;

	while ((entry = readdir(folder)) != NULL) {
		const bool is_part = ends_with(entry->d_name, temporary_suffix);
		struct stat st;

		if ((!is_part && !ends_with(entry->d_name, suffix)) ||
		    fstatat(cache->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (is_part) {
			if (st.st_mtime + LEFT_BEHIND_AFTER_S < now)
				(void)unlinkat(cache->fd, entry->d_name, 0);
			continue;
		}
		files = seep_xgrow(files, &room, count + 1, sizeof(*files));
		files[count++] = (struct kept_file){ .name = seep_xstrdup(entry->d_name),
						     .bytes = (uint64_t)st.st_blocks * 512,
						     .used = st.st_mtime };
	}
	*ret_files = files;
	return count;
}

/* Down to nine tenths of what is allowed, so that not every run removes something. */
static void remove_oldest(struct seep_symbol_cache *cache)
{
	const int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct kept_file *files;
	uint64_t bytes = 0;
	size_t count;

	if (!folder) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	count = list_files(cache, folder, &files);
	(void)closedir(folder);
	for (size_t i = 0; i < count; i++)
		bytes += files[i].bytes;
	if (bytes > cache->bytes_max) {
		qsort(files, count, sizeof(*files), by_age);
		for (size_t i = 0; i < count && bytes > cache->bytes_max / 10 * 9; i++)
			if (unlinkat(cache->fd, files[i].name, 0) == 0)
				bytes -= files[i].bytes;
	}
	for (size_t i = 0; i < count; i++)
		free(files[i].name);
	free(files);
}

void seep_symbol_cache_close(struct seep_symbol_cache *cache)
{
	if (!cache)
		return;
	if (cache->has_written)
		remove_oldest(cache);
	if (cache->fd >= 0)
		(void)close(cache->fd);
	free(cache->directory);
	free(cache);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void make_name(struct seep_symbol_answers *answers)
{
	char *at = answers->name;

	for (uint32_t i = 0; i < answers->key.build_id_bytes; i++)
		at += sprintf(at, "%02x", answers->key.build_id[i]);
	(void)sprintf(at, "-%016" PRIx64 "%s", answers->key.program, suffix);
}

/* A file that was used today is not among the oldest. */
static void touch(int fd, const struct stat *st)
{
	if (st->st_mtime + TOUCH_AFTER_S < time(NULL))
		(void)futimens(fd, NULL);
}

/* Copied, not mapped: another process may cut the file at any moment. */
static void read_answers(struct seep_symbol_answers *answers)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = openat(answers->cache->fd, answers->name, flags);
	struct stat st;
	size_t bytes;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    seep_file_read_fd(fd, answers->name, SEEP_ANSWER_FILE_BYTES_MAX, &answers->data, &bytes,
			      NULL) == 0) {
		if (seep_answer_file_read(answers->data, bytes, &answers->key, &answers->file)) {
			touch(fd, &st);
		} else {
			free(answers->data);
			answers->data = NULL;
		}
	}
	(void)close(fd);
}

struct seep_symbol_answers *seep_symbol_answers_open(struct seep_symbol_cache *cache,
						     const uint8_t *build_id, size_t build_id_bytes)
{
	struct seep_symbol_answers *answers = seep_xcalloc(1, sizeof(*answers));

	if (build_id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		build_id_bytes = SEEP_BUILD_ID_MAX_BYTES;
	answers->cache = cache;
	answers->key.program = cache->program;
	answers->key.build_id_bytes = (uint32_t)build_id_bytes;
	memcpy(answers->key.build_id, build_id, build_id_bytes);
	make_name(answers);
	if (cache->fd >= 0)
		read_answers(answers);
	return answers;
}

static size_t find_in_file(const struct seep_symbol_answers *answers, uint64_t address,
			   struct seep_symbol_frame *frames, size_t frames_max)
{
	uint32_t from = 0;
	uint32_t to = answers->data ? answers->file.address_count : 0;

	while (from < to) {
		const uint32_t middle = from + (to - from) / 2;
		const uint64_t there = answers->file.addresses[middle];

		if (there == address)
			return seep_answer_file_frames(&answers->file, middle, frames, frames_max);
		if (there < address)
			from = middle + 1;
		else
			to = middle;
	}
	return 0;
}

size_t seep_symbol_answers_find(struct seep_symbol_answers *answers, uint64_t address,
				struct seep_symbol_frame *frames, size_t frames_max)
{
	const struct seep_answer *added;

	added = seep_pointer_map_get(&answers->added_by_address, address + 1);
	if (!added)
		return find_in_file(answers, address, frames, frames_max);
	if (added->count > frames_max)
		return 0;
	memcpy(frames, added->frames, added->count * sizeof(*frames));
	return added->count;
}

/* ---- writing ------------------------------------------------------------------------------ */

void seep_symbol_answers_add(struct seep_symbol_answers *answers, uint64_t address,
			     const struct seep_symbol_frame *frames, size_t count)
{
	struct seep_symbol_frame *copy;
	struct seep_answer *answer;

	/* The last address cannot be a key; nothing is ever there. */
	if (answers->cache->is_bad || count == 0 || count > SEEP_ANSWER_FRAMES_MAX ||
	    answers->added_count == ADDED_MAX || address == UINT64_MAX ||
	    seep_pointer_map_get(&answers->added_by_address, address + 1))
		return;
	if (!answers->arena)
		answers->arena = seep_arena_new();
	copy = seep_arena_calloc(answers->arena, count, sizeof(*copy));
	memcpy(copy, frames, count * sizeof(*copy));
	answer = seep_arena_alloc(answers->arena, sizeof(*answer));
	*answer = (struct seep_answer){ address, copy, (uint32_t)count };
	answers->added = seep_xgrow(answers->added, &answers->added_room, answers->added_count + 1,
				    sizeof(struct seep_answer *));
	answers->added[answers->added_count++] = answer;
	seep_pointer_map_put(&answers->added_by_address, address + 1, answer);
}

static int by_address(const void *a, const void *b)
{
	const struct seep_answer *left = a;
	const struct seep_answer *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* What was read and what was added, in order. Returns how many. */
static uint32_t merge(struct seep_symbol_answers *answers, bool with_file,
		      struct seep_answer **ret_all)
{
	const uint32_t old = with_file && answers->data ? answers->file.address_count : 0;
	struct seep_answer *all = seep_xcalloc((size_t)old + answers->added_count, sizeof(*all));
	uint32_t count = 0;

	for (uint32_t i = 0; i < old; i++) {
		const uint32_t frames = answers->file.firsts[i + 1] - answers->file.firsts[i];
		struct seep_symbol_frame *room;

		/* Asked for with less room than it has frames, and then added again. */
		if (seep_pointer_map_get(&answers->added_by_address,
					 answers->file.addresses[i] + 1))
			continue;
		room = seep_arena_calloc(answers->arena, frames, sizeof(*room));
		(void)seep_answer_file_frames(&answers->file, i, room, frames);
		all[count++] = (struct seep_answer){ answers->file.addresses[i], room, frames };
	}
	for (uint32_t i = 0; i < answers->added_count; i++)
		all[count++] = *answers->added[i];
	qsort(all, count, sizeof(*all), by_address);
	*ret_all = all;
	return count;
}

static bool write_file(const struct seep_symbol_answers *answers, const void *data, size_t bytes)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	char part[NAME_BYTES_MAX + 64];
	struct timespec now;
	int fd;
	bool ok;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)snprintf(part, sizeof(part), "%s.%d.%ld%s", answers->name, (int)getpid(), now.tv_nsec,
		       temporary_suffix);
	fd = openat(answers->cache->fd, part, flags, 0600);
	if (fd < 0)
		return false;
	ok = seep_file_write_fd(fd, part, data, bytes, NULL) == 0;
	ok = close(fd) == 0 && ok;
	if (ok)
		ok = renameat(answers->cache->fd, part, answers->cache->fd, answers->name) == 0;
	if (!ok)
		(void)unlinkat(answers->cache->fd, part, 0);
	return ok;
}

/* A module with more than a file holds keeps what was asked for last. */
static void write_answers(struct seep_symbol_answers *answers)
{
	struct seep_symbol_cache *cache = answers->cache;
	void *data = NULL;
	size_t bytes = 0;

	if (cache->fd < 0) {
		make_directory(cache->directory);
		cache->fd = open_directory(cache);
	}
	if (cache->fd < 0)
		return;
	for (int with_file = 1; with_file >= 0 && !data; with_file--) {
		struct seep_answer *all;
		const uint32_t count = merge(answers, with_file, &all);

		data = seep_answer_file_make(&answers->key, all, count, &bytes);
		free(all);
	}
	if (data && bytes <= cache->bytes_max && write_file(answers, data, bytes))
		cache->has_written = true;
	free(data);
}

void seep_symbol_answers_close(struct seep_symbol_answers *answers)
{
	if (!answers)
		return;
	if (answers->added_count)
		write_answers(answers);
	seep_pointer_map_done(&answers->added_by_address);
	seep_arena_free(answers->arena);
	free(answers->added);
	free(answers->data);
	free(answers);
}
