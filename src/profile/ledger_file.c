/* SPDX-License-Identifier: MIT */
#include "profile/ledger_file.h"

#include "base/file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 16 * 1024, SUMS_AT = LEDGER_FIXED_BYTES - LEDGER_PAGE_BYTES };

int seep_ledger_refuse(const struct ledger_view *view, enum ledger_view_status status,
		       struct seep_error *err)
{
	static const char *const problems[] = {
		[LEDGER_VIEW_SHORT] = "too short to be a ledger",
		[LEDGER_VIEW_FOREIGN] = "not a ledger",
		[LEDGER_VIEW_HEADER] = "damaged: its header contradicts its layout version",
		[LEDGER_VIEW_TABLE] = "damaged: a table lies outside the file or over another",
		[LEDGER_VIEW_MISALIGNED] = "mapped at an odd address",
	};

	if (status == LEDGER_VIEW_NEWER)
		return seep_fail(
			err, SEEP_EVERSION,
			"another version of seep wrote it (layout %u, this seep reads %d); read it "
			"with that one",
			view->header.version, LEDGER_VERSION);
	if (status == LEDGER_VIEW_TRUNCATED)
		return seep_fail(err, SEEP_ETRUNC, "the file has %llu bytes, its header says %llu",
				 (unsigned long long)view->bytes,
				 (unsigned long long)view->header.file_bytes);
	return seep_fail(err, status == LEDGER_VIEW_SHORT ? SEEP_ETRUNC : SEEP_ECORRUPT, "%s",
			 problems[status]);
}

/*
 * Whose files may be written to: our own. For root another user's too, where that user has put it into a
 * folder that is his alone, as the library does: so no file of somebody else's is there by another name.
 */
static bool may_write(int dir_fd, const char *file_name, const struct stat *file)
{
	SEEP_FREED char *folder = seep_path_folder(file_name);
	struct stat st;

	return file->st_uid == geteuid() ||
	       (geteuid() == 0 && fstatat(dir_fd, folder, &st, 0) == 0 &&
		st.st_uid == file->st_uid && !(st.st_mode & 077));
}

static int open_file(struct seep_ledger *ledger, int dir_fd, enum seep_ledger_access access,
		     struct seep_error *err)
{
	/* O_NONBLOCK: a pipe that somebody put here must not make us wait. */
	int flags = (access == SEEP_LEDGER_WRITE ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC |
		    O_NOCTTY | (access == SEEP_LEDGER_READ ? 0 : O_NOFOLLOW);
	struct stat st;

	ledger->fd = openat(dir_fd, ledger->file_name, flags);
	if (ledger->fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "no such file");
	if (ledger->fd < 0 && (errno == ELOOP || errno == ENXIO || errno == EISDIR))
		return seep_fail(err, SEEP_EUNSUPPORTED, "not a regular file");
	if (ledger->fd < 0)
		return seep_fail_errno(err, errno, "cannot open");
	if (fstat(ledger->fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot access it");
	if (!S_ISREG(st.st_mode) ||
	    (access != SEEP_LEDGER_READ && !may_write(dir_fd, ledger->file_name, &st)))
		return seep_fail(err, SEEP_EUNSUPPORTED, "not a regular file%s",
				 access == SEEP_LEDGER_READ ? "" : " of this user");
	ledger->bytes = (uint64_t)st.st_size;
	return 0;
}

/*
 * Its process may write to the file, but whoever owns the folder gave it the name: no process can
 * pass itself off as another.
 */
static bool is_as_named(const struct seep_ledger *ledger)
{
	const struct ledger_header *header = &ledger->view.header;
	struct seep_ledger_name name;

	return !seep_ledger_name_parse(seep_path_base(ledger->file_name), &name) ||
	       (name.pid == header->pid && name.start_ticks == header->start_ticks);
}

/* Over the mapped page, if there is a file with the sums, of the ledger's owner. False: not mapped. */
static bool lay_sums(const struct seep_ledger *ledger, int dir_fd, bool writable)
{
	SEEP_FREED char *name = seep_ledger_sums_name(ledger->file_name);
	SEEP_CLOSED const int fd = openat(dir_fd, name,
					  (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC |
						  O_NOCTTY | O_NOFOLLOW);
	struct stat ours, st;

	if (fd < 0 || fstat(ledger->fd, &ours) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != ours.st_uid || st.st_size != LEDGER_PAGE_BYTES)
		return true;
	return mmap((char *)ledger->map.at + SUMS_AT, LEDGER_PAGE_BYTES,
		    PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_FIXED, fd,
		    0) != MAP_FAILED;
}

int seep_ledger_map(const struct seep_ledger *ledger, struct seep_shared_map *ret_map,
		    struct seep_error *err)
{
	const int rc = seep_shared_map_open(ledger->fd, ledger->bytes, false, ret_map, err);

	/* Of no bytes: the shared page once more. What fails may leave a hole. */
	if (rc < 0 ||
	    mremap((char *)ledger->map.at + SUMS_AT, 0, LEDGER_PAGE_BYTES,
		   MREMAP_MAYMOVE | MREMAP_FIXED, (char *)ret_map->at + SUMS_AT) != MAP_FAILED)
		return rc;
	seep_shared_map_close(ret_map);
	return seep_fail_errno(err, errno, "cannot map its sums");
}

int seep_ledger_remove(int dir_fd, const char *file_name)
{
	SEEP_FREED char *sums = seep_ledger_sums_name(file_name);

	if (unlinkat(dir_fd, file_name, 0) != 0)
		return errno;
	(void)unlinkat(dir_fd, sums, 0);
	return 0;
}

static int map_pages(struct seep_ledger *ledger, int dir_fd, bool writable, struct seep_error *err)
{
	enum ledger_view_status status;
	int rc;

	if (ledger->bytes < LEDGER_FIXED_BYTES)
		return seep_ledger_refuse(&ledger->view, LEDGER_VIEW_SHORT, err);
	rc = seep_shared_map_open(ledger->fd, LEDGER_FIXED_BYTES, writable, &ledger->map, err);
	if (rc < 0)
		return rc;
	if (!lay_sums(ledger, dir_fd, writable))
		return seep_fail_errno(err, errno, "cannot map its sums");
	/* The view reads no more than the fixed pages from the map. */
	status = ledger_view_init(&ledger->view, ledger->map.at, ledger->bytes);
	/* Nobody will write to a dead ledger that was cut; it can still be looked at. */
	if (status != LEDGER_VIEW_OK && (status != LEDGER_VIEW_TRUNCATED || writable))
		return seep_ledger_refuse(&ledger->view, status, err);
	if (!is_as_named(ledger))
		return seep_fail(err, SEEP_ECORRUPT,
				 "damaged: it says that it is of process %u, its name says another",
				 ledger->view.header.pid);
	ledger->view.header.parent[LEDGER_NAME_BYTES - 1] = '\0';
	ledger->control = (void *)((char *)ledger->map.at + LEDGER_PAGE_BYTES);
	ledger->state = (void *)((char *)ledger->map.at + 2 * LEDGER_PAGE_BYTES);
	return 0;
}

int seep_ledger_open(int dir_fd, const char *file_name, enum seep_ledger_access access,
		     struct seep_ledger *ret_ledger, struct seep_error *err)
{
	struct seep_ledger ledger = { .fd = -1, .file_name = seep_xstrdup(file_name) };
	int rc = open_file(&ledger, dir_fd, access, err);

	if (rc == 0)
		rc = map_pages(&ledger, dir_fd, access == SEEP_LEDGER_WRITE, err);
	if (rc < 0) {
		seep_error_prefix(err, "%s", file_name);
		seep_ledger_close(&ledger);
		return rc;
	}
	*ret_ledger = ledger;
	return 0;
}

void seep_ledger_close(struct seep_ledger *ledger)
{
	seep_shared_map_close(&ledger->map);
	if (ledger->fd >= 0)
		(void)close(ledger->fd);
	free(ledger->file_name);
	*ledger = (struct seep_ledger){ .fd = -1 };
}

bool seep_ledger_is_cut(const struct seep_ledger *ledger)
{
	return seep_shared_map_is_cut(&ledger->map);
}

/*
 * Call @each for the items of a table that may be touched, without those in holes; ends early where
 * the file does.
 */
static void each_item(struct seep_ledger *ledger, enum ledger_table_type type,
		      void (*each)(const void *item, struct seep_ledger_sums *sums),
		      struct seep_ledger_sums *sums)
{
	const struct ledger_table *table = &ledger->view.header.table[type];
	const uint64_t item_bytes = table->item_bytes, per_chunk = CHUNK_BYTES / item_bytes;
	_Alignas(64) unsigned char chunk[CHUNK_BYTES];
	uint64_t next = 0, data, hole = 0;

	for (;;) {
		uint64_t want;
		ssize_t got;

		data = table->offset + next * item_bytes;
		if (data >= hole && !seep_file_next_data(ledger->fd, &data, &hole))
			return;
		next = (data - table->offset) / item_bytes;
		if (next >= ledger->view.count[type])
			return;
		want = core_smaller(ledger->view.count[type] - next, per_chunk);
		got = pread(ledger->fd, chunk, want * item_bytes,
			    (off_t)(table->offset + next * item_bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < (ssize_t)item_bytes)
			return;
		want = (uint64_t)got / item_bytes;
		for (uint64_t i = 0; i < want; i++)
			each(chunk + i * item_bytes, sums);
		next += want;
	}
}

/* Parts may be below 0, and such that were written over may sum to anything. */
static void add_cache(const void *item, struct seep_ledger_sums *sums)
{
	const struct ledger_cache *cache = item;

	if (!LEDGER_GET(cache->ready))
		return;
	sums->live_bytes += (uint64_t)LEDGER_GET(cache->sum) + (uint64_t)LEDGER_GET(cache->first) +
			    LEDGER_GET(cache->passed_kept);
	sums->usable_bytes += LEDGER_GET(cache->usable_alloc_bytes) -
			      LEDGER_GET(cache->usable_freed_bytes);
}

/* Both or neither, as in a profile of the ledger. */
static void add_counts(struct seep_ledger_sums *sums, uint64_t allocs, uint64_t frees)
{
	struct seep_ledger_sums more = *sums;

	if (seep_ledger_add(&more.allocs, allocs) && seep_ledger_add(&more.frees, frees))
		*sums = more;
}

static void add_row(const void *item, struct seep_ledger_sums *sums)
{
	const struct ledger_row *row = item;

	add_counts(sums, LEDGER_GET(row->allocs),
		   LEDGER_GET(row->frees) + LEDGER_GET(row->direct_frees));
}

static void add_slot(const void *item, struct seep_ledger_sums *sums)
{
	const struct ledger_slot *slot = item;

	if (LEDGER_GET(slot->row) != 0)
		add_counts(sums, LEDGER_GET(slot->allocs), LEDGER_GET(slot->frees));
}

/* Rows before slots: what a flush moves meanwhile is missed by this pass, never counted twice. */
struct seep_ledger_sums seep_ledger_sum(struct seep_ledger *ledger)
{
	struct seep_ledger_sums sums = { .usable_bytes =
						 -LEDGER_GET(ledger->state->direct_usable_bytes) };

	ledger_view_refresh(&ledger->view);
	each_item(ledger, LEDGER_TABLE_ROWS, add_row, &sums);
	each_item(ledger, LEDGER_TABLE_SLOTS, add_slot, &sums);
	sums.live_bytes = (uint64_t)LEDGER_GET(ledger->state->live_bytes);
	each_item(ledger, LEDGER_TABLE_CACHES, add_cache, &sums);
	if ((int64_t)sums.live_bytes < 0)
		sums.live_bytes = 0;
	if ((int64_t)sums.usable_bytes < 0)
		sums.usable_bytes = 0;
	return sums;
}

char *seep_ledger_string(const struct seep_ledger *ledger, struct ledger_string string)
{
	const struct ledger_table *table = &ledger->view.header.table[LEDGER_TABLE_STRINGS];
	const size_t bytes = core_smaller(string.bytes, SEEP_LEDGER_TEXT_BYTES);
	char *text = seep_xcalloc(bytes + 1, 1);

	if (string.offset > table->capacity || bytes > table->capacity - string.offset)
		return text;
	if (pread(ledger->fd, text, bytes, (off_t)(table->offset + string.offset)) < 0)
		text[0] = '\0';
	return text;
}
