/* SPDX-License-Identifier: MIT */
/*
 * From a path to bytes in memory. A ledger whose process runs is mapped, because only a mapping
 * is read word by word in order; if it is cut meanwhile, what was read is discarded. Every other
 * ledger is copied with pread(): only items that its watermarks call real, and of those only what
 * is not a hole, so neither a truncation nor a sparse file that claims terabytes does harm.
 */
#include "base/file.h"
#include "profile/ledger_file.h"
#include "profile/ledger_load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_MAX_BYTES (64ull << 30)

struct copy {
	const struct seep_ledger *ledger;
	char *at; /* as long as the file */
	uint64_t copied;
};

/* Copy [from, to) to the same place in memory. A file that ends earlier leaves zeros. */
static int copy_range(struct copy *copy, uint64_t from, uint64_t to, struct seep_error *err)
{
	while (from < to) {
		ssize_t got = pread(copy->ledger->fd, copy->at + from, to - from, (off_t)from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return seep_fail_errno(err, errno, "cannot read");
		if (got == 0)
			return 0;
		from += (uint64_t)got;
		copy->copied += (uint64_t)got;
		if (copy->copied > COPY_MAX_BYTES)
			return seep_fail(err, SEEP_ELIMIT, "larger than %llu bytes",
					 COPY_MAX_BYTES);
	}
	return 0;
}

static int copy_data(struct copy *copy, uint64_t from, uint64_t end, struct seep_error *err)
{
	uint64_t to;
	int r = 0;

	for (; r == 0 && from < end && seep_file_next_data(copy->ledger->fd, &from, &to); from = to)
		r = copy_range(copy, from, to < end ? to : end, err);
	return r;
}

static int copy_tables(struct copy *copy, struct seep_error *err)
{
	const struct ledger_view *view = &copy->ledger->view;
	int r = copy_range(copy, 0, LEDGER_FIXED_BYTES, err);

	for (int t = 0; t < LEDGER_TABLE_COUNT && r == 0; t++) {
		const struct ledger_table *table = &view->header.table[t];

		r = copy_data(copy, table->offset,
			      table->offset + view->count[t] * table->item_bytes, err);
	}
	return r;
}

/* What was cut while it was copied is known by the file's size afterwards. */
static int load_dead(struct seep_ledger *ledger, struct seep_profile **ret_profile,
		     struct seep_error *err)
{
	uint64_t bytes = ledger->bytes;
	struct copy copy = { .ledger = ledger };
	struct stat st;
	int r;

	ledger_view_refresh(&ledger->view);
	copy.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy.at == MAP_FAILED)
		return seep_fail_errno(err, errno, "cannot reserve %llu bytes",
				       (unsigned long long)bytes);
	r = copy_tables(&copy, err);
	if (r == 0 && fstat(ledger->fd, &st) == 0 && (uint64_t)st.st_size < bytes)
		bytes = (uint64_t)st.st_size;
	if (r == 0)
		r = seep_profile_load_ledger_memory(copy.at, bytes, false, ret_profile, err);
	(void)munmap(copy.at, ledger->bytes);
	return r;
}

static int load_live(const struct seep_ledger *ledger, struct seep_profile **ret_profile,
		     struct seep_error *err)
{
	struct seep_shared_map map;
	int r = seep_shared_map_open(ledger->fd, ledger->bytes, false, &map, err);

	if (r < 0)
		return r;
	r = seep_profile_load_ledger_memory(map.at, ledger->bytes, true, ret_profile, err);
	if (seep_shared_map_is_cut(&map)) {
		if (r == 0)
			seep_profile_free(*ret_profile);
		r = seep_fail(err, SEEP_ETRUNC,
			      "truncated while it was read; read it again to see what is left");
	}
	seep_shared_map_close(&map);
	return r;
}

/* exec leaves pid and start time as they are, so the ledger before it must be asked itself. */
static bool is_live(const struct seep_ledger *ledger)
{
	return ledger->bytes >= ledger->view.header.file_bytes &&
	       LEDGER_GET(ledger->state->ended) != LEDGER_ENDED_EXEC &&
	       seep_profile_process_life(&ledger->view.header, NULL) == SEEP_PROCESS_RUNNING;
}

/*
 * The process may die during the reading; then what it left in the middle of a flush is not
 * moving but finished by the reader of a dead ledger.
 */
int seep_profile_load_ledger(const char *path, bool dead, struct seep_profile **ret_profile,
			     struct seep_error *err)
{
	struct seep_profile *profile = NULL;
	struct seep_ledger ledger;
	int r = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &ledger, err);

	if (r < 0)
		return r;
	if (!dead && is_live(&ledger))
		r = load_live(&ledger, &profile, err);
	if (r == 0 && !(profile && is_live(&ledger))) {
		seep_profile_free(profile);
		r = load_dead(&ledger, &profile, err);
	}
	seep_ledger_close(&ledger);
	if (r < 0)
		seep_error_prefix(err, "%s", path);
	else
		*ret_profile = profile;
	return r;
}
