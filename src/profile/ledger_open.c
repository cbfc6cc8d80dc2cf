/* SPDX-License-Identifier: MIT */
/*
 * From a path to bytes in memory. A ledger whose process runs is mapped, because only a mapping
 * is read word by word in order; if it is cut meanwhile, what was read is no account. Every other
 * ledger is copied with pread(): only items that its watermarks call real, and of those only what is
 * not a hole, so neither a truncation nor a sparse file that claims terabytes does harm.
 */
#include "profile/ledger_load.h"

#include "base/shared_map.h"
#include "ledger/ledger_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIXED_BYTES = 3 * LEDGER_PAGE_BYTES };

#define COPY_MAX_BYTES (64ull << 30)

struct ledger_file {
	const char *path;
	int fd;
	uint64_t bytes;
	void *copy; /* of what is real, @bytes long; NULL: none */
	uint64_t copied;
};

static int open_file(struct ledger_file *file, struct seep_error *err)
{
	struct stat st;

	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "no such file");
	if (file->fd < 0)
		return seep_fail_errno(err, errno, "cannot open");
	if (fstat(file->fd, &st) != 0)
		return seep_fail_errno(err, errno, "cannot stat");
	if (!S_ISREG(st.st_mode))
		return seep_fail(err, SEEP_ECORRUPT, "not a regular file");
	file->bytes = (uint64_t)st.st_size;
	return 0;
}

static void close_file(struct ledger_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}

/* Copy [from, to) to the same place in memory. A file that ends earlier leaves zeros. */
static int copy_range(struct ledger_file *file, uint64_t from, uint64_t to, struct seep_error *err)
{
	while (from < to) {
		ssize_t got = pread(file->fd, (char *)file->copy + from, to - from, (off_t)from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return seep_fail_errno(err, errno, "cannot read");
		if (got == 0)
			return 0;
		from += (uint64_t)got;
		file->copied += (uint64_t)got;
		if (file->copied > COPY_MAX_BYTES)
			return seep_fail(err, SEEP_ELIMIT, "larger than %llu bytes",
					 COPY_MAX_BYTES);
	}
	return 0;
}

static int copy_data(struct ledger_file *file, uint64_t from, uint64_t to, struct seep_error *err)
{
	while (from < to) {
		off_t data = lseek(file->fd, (off_t)from, SEEK_DATA);
		off_t hole;
		int r;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0)
			return copy_range(file, from, to, err);
		if ((uint64_t)data >= to)
			return 0;
		hole = lseek(file->fd, data, SEEK_HOLE);
		if (hole <= data)
			return copy_range(file, (uint64_t)data, to, err);
		r = copy_range(file, (uint64_t)data, (uint64_t)hole < to ? (uint64_t)hole : to,
			       err);
		if (r < 0)
			return r;
		from = (uint64_t)hole;
	}
	return 0;
}

static int reserve(struct ledger_file *file, struct seep_error *err)
{
	void *map = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return seep_fail_errno(err, errno, "cannot reserve %llu bytes",
				       (unsigned long long)file->bytes);
	file->copy = map;
	return 0;
}

/* A header that makes no sense is left for the loader to refuse, in its words. */
static int copy_file(struct ledger_file *file, struct seep_error *err)
{
	enum ledger_view_status status;
	struct ledger_view view;
	int r = reserve(file, err);

	if (r < 0)
		return r;
	r = copy_range(file, 0, file->bytes < FIXED_BYTES ? file->bytes : FIXED_BYTES, err);
	if (r < 0)
		return r;
	status = ledger_view_init(&view, file->copy, file->bytes);
	if (status != LEDGER_VIEW_OK && status != LEDGER_VIEW_TRUNCATED)
		return 0;
	for (int t = 0; t < LEDGER_TABLE_COUNT && r == 0; t++) {
		const struct ledger_table *table = &view.header.table[t];

		r = copy_data(file, table->offset,
			      table->offset + view.count[t] * table->item_bytes, err);
	}
	return r;
}

/* exec leaves pid and start time as they are, so the ledger before it must be asked itself. */
static bool is_live(struct ledger_file *file)
{
	_Alignas(64) unsigned char pages[FIXED_BYTES];
	struct ledger_view view;
	const struct ledger_state *state;

	if (pread(file->fd, pages, sizeof(pages), 0) != (ssize_t)sizeof(pages) ||
	    ledger_view_init(&view, pages, file->bytes) != LEDGER_VIEW_OK)
		return false;
	state = ledger_view_state(&view);
	if (atomic_load_explicit(&state->ended, memory_order_relaxed) == LEDGER_ENDED_EXEC)
		return false;
	return seep_profile_process_life(&view.header, NULL) == SEEP_PROCESS_RUNNING;
}

static int load_live(struct ledger_file *file, struct seep_profile **ret_profile,
		     struct seep_error *err)
{
	struct seep_shared_map map;
	struct seep_profile *profile = NULL;
	int r = seep_shared_map_open(file->fd, file->bytes, false, &map, err);

	if (r < 0)
		return r;
	r = seep_profile_load_ledger_memory(map.at, file->bytes, true, &profile, err);
	if (seep_shared_map_is_cut(&map)) {
		seep_profile_free(profile);
		r = seep_fail(err, SEEP_ETRUNC,
			      "cut while it was read; what is left of it can be read once more");
	}
	seep_shared_map_close(&map);
	if (r == 0)
		*ret_profile = profile;
	return r;
}

/* What was cut while it was copied is known by the file's size afterwards. */
static int load_dead(struct ledger_file *file, struct seep_profile **ret_profile,
		     struct seep_error *err)
{
	uint64_t bytes = file->bytes;
	struct stat st;
	int r = copy_file(file, err);

	if (r == 0 && fstat(file->fd, &st) == 0 && (uint64_t)st.st_size < bytes)
		bytes = (uint64_t)st.st_size;
	if (r == 0)
		r = seep_profile_load_ledger_memory(file->copy, bytes, false, ret_profile, err);
	if (file->copy)
		(void)munmap(file->copy, file->bytes);
	file->copy = NULL;
	return r;
}

/*
 * The process may die during the reading; then what it left in the middle of a flush is not
 * moving but finished by the reader of a dead ledger.
 */
static int load_opened(struct ledger_file *file, bool live, struct seep_profile **ret_profile,
		       struct seep_error *err)
{
	struct seep_profile *profile = NULL;
	int r;

	if (!live)
		return load_dead(file, ret_profile, err);
	r = load_live(file, &profile, err);
	if (r < 0)
		return r;
	if (!is_live(file)) {
		seep_profile_free(profile);
		return load_dead(file, ret_profile, err);
	}
	*ret_profile = profile;
	return 0;
}

int seep_profile_load_ledger(const char *path, const struct seep_profile_load_options *opt,
			     struct seep_profile **ret_profile, struct seep_error *err)
{
	struct ledger_file file = { .path = path, .fd = -1 };
	int r = open_file(&file, err);

	if (r < 0)
		goto out;
	if (file.bytes == 0) {
		r = seep_fail(err, SEEP_ETRUNC, "empty, not a ledger");
		goto out;
	}
	r = load_opened(&file, !(opt && opt->dead) && is_live(&file), ret_profile, err);
out:
	close_file(&file);
	if (r < 0)
		seep_error_prefix(err, "%s", path);
	return r;
}
