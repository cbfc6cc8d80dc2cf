/* SPDX-License-Identifier: MIT */
/*
 * The order of reading matters in a live ledger: rows first, and findings. The contexts they name,
 * with nodes, modules and strings, were published before them, so they are there when the reader
 * arrives.
 *
 * Threads that met the same thing at the same time may each have added it. From modules to nodes
 * to contexts, what is equal becomes one here, the first that was met; rows sum up to contexts.
 */
#include "profile/ledger_load.h"

#include "base/file.h"
#include "base/units.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_file.h"
#include "profile/ledger_parts.h"
#include "profile/process_life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a table's items that are said to be there. */
enum { HOLES_MAX_BYTES = 1 << 20 };
/* Of a ledger that nobody needs to ask about. */
enum { USUAL_MAX_BYTES = 32 << 20 };

bool seep_profile_is_ledger(const void *head, size_t bytes)
{
	const size_t magic_bytes = sizeof(((struct ledger_header *)0)->magic);

	return bytes >= magic_bytes && memcmp(head, LEDGER_MAGIC, magic_bytes) == 0;
}

void *seep_ledger_grow(void *array, uint64_t *count, uint64_t wanted, size_t item_bytes)
{
	const uint64_t old = *count;

	wanted = core_smaller(wanted, UINT32_MAX);
	if (array && wanted <= old)
		return array;
	*count = wanted;
	return seep_xextend(array, old, wanted, item_bytes);
}

static uint64_t held_bytes(const struct ledger_view *view)
{
	uint64_t bytes = 0;

	for (int i = 0; i < LEDGER_TABLE_COUNT; i++)
		bytes += view->count[i] * view->header.table[i].item_bytes;
	return bytes;
}

int seep_ledger_load_begin(struct seep_ledger_load *load, const void *map, uint64_t bytes,
			   bool live, struct seep_error *err)
{
	enum ledger_view_status status;

	*load = (struct seep_ledger_load){ .live = live };
	status = ledger_view_init(&load->view, map, bytes);
	/* A running process would write beyond the end at any moment, and die of it. */
	if (status != LEDGER_VIEW_OK && (status != LEDGER_VIEW_TRUNCATED || live))
		return seep_ledger_refuse(&load->view, status, err);
	seep_builder_init(&load->builder, held_bytes(&load->view));
	load->profile = load->builder.profile;
	load->profile->knows_findings = true;
	seep_ledger_load_process(load);
	return 0;
}

void seep_ledger_load_bound(struct seep_ledger_load *load, const struct seep_ledger *ledger)
{
	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		const struct ledger_table *table = &ledger->view.header.table[t];
		const uint64_t end = table->offset + table->capacity * table->item_bytes;
		uint64_t from = table->offset, held = HOLES_MAX_BYTES, to;

		for (; from < end && seep_file_next_data(ledger->fd, &from, &to); from = to)
			held += core_smaller(to, end) - core_smaller(from, end);
		load->view.readable[t] = held / table->item_bytes;
	}
	ledger_view_refresh(&load->view);
}

void seep_ledger_load_figures(struct seep_ledger_load *load)
{
	load->impossible = 0;
	seep_ledger_load_end(load);
	seep_rows_read(&load->view, load->live, &load->rows);
	seep_ledger_mend_rows(load);
	seep_ledger_copy_findings(load);
	/* Only what the rows read name is looked at, and that has been published by now. */
	ledger_view_refresh(&load->view);
	seep_builder_hold(&load->builder, held_bytes(&load->view));
	seep_ledger_load_modules(load);
	seep_ledger_load_nodes(load);
	seep_ledger_load_scopes(load);
	seep_ledger_load_entries(load);
	seep_ledger_load_contexts(load);
	seep_ledger_place_findings(load);
	seep_ledger_load_totals(load);
}

void seep_ledger_load_notes(struct seep_ledger_load *load)
{
	load->profile->mark_count = load->profile->unseen_count = 0;
	seep_ledger_load_marks(load);
	seep_ledger_load_findings(load);
	seep_ledger_load_unseen(load);
	seep_builder_finish(&load->builder);
}

void seep_ledger_load_done(struct seep_ledger_load *load)
{
	seep_builder_done(&load->builder);
	seep_rows_done(&load->rows);
	free(load->nodes);
	free(load->folded);
	free(load->modules);
	free(load->contexts);
	free(load->findings);
	free(load->scopes);
	free(load->gifts);
	seep_idtable_done(&load->module_ids);
	seep_idtable_done(&load->context_ids);
	seep_idtable_done(&load->scope_ids);
}

/* @ledger: mapped there, and it runs; NULL: a copy, or memory. */
static int load_from(const void *map, size_t bytes, bool live, const struct seep_ledger *ledger,
		     const struct seep_ledger_found *found, struct seep_profile **ret_profile,
		     struct seep_error *err)
{
	struct seep_ledger_load load;
	int r = seep_ledger_load_begin(&load, map, bytes, live, err);

	if (r < 0)
		return r;
	load.found = found;
	if (ledger)
		seep_ledger_load_bound(&load, ledger);
	seep_ledger_load_figures(&load);
	seep_ledger_load_notes(&load);
	*ret_profile = seep_builder_take(&load.builder);
	seep_ledger_load_done(&load);
	return 0;
}

int seep_profile_load_ledger_memory(const void *map, size_t bytes, bool live,
				    struct seep_profile **ret_profile, struct seep_error *err)
{
	return load_from(map, bytes, live, NULL, NULL, ret_profile, err);
}

/*
 * From a path to bytes in memory. A ledger whose process runs is mapped, because only a mapping
 * is read word by word in order; if it is cut meanwhile, what was read is discarded. Every other
 * ledger is copied with pread(): only items that its watermarks call real, and of those only what
 * is not a hole, so neither a truncation nor a sparse file that claims terabytes does harm.
 */
struct copy {
	const struct seep_ledger *ledger;
	char *at;	     /* as long as the file */
	uint64_t left_bytes; /* of the memory that it may take */
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
		if ((uint64_t)got > copy->left_bytes)
			return seep_fail(
				err, SEEP_ELIMIT,
				"it holds more than a third of the %s of memory that are free",
				seep_bytes_text(seep_memory_room()).text);
		copy->left_bytes -= (uint64_t)got;
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
	const size_t sums = LEDGER_FIXED_BYTES - LEDGER_PAGE_BYTES;
	int r = copy_range(copy, 0, sums, err);

	memcpy(copy->at + sums, (const char *)copy->ledger->map.at + sums, LEDGER_PAGE_BYTES);
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
	struct copy copy = { .ledger = ledger, .left_bytes = UINT64_MAX };
	struct stat st;
	int r;

	ledger_view_refresh(&ledger->view);
	if (held_bytes(&ledger->view) > USUAL_MAX_BYTES)
		copy.left_bytes = seep_memory_room() / 3;
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

int seep_profile_load_found(const struct seep_ledger *ledger, const struct seep_ledger_found *found,
			    struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_shared_map map;
	int r = seep_ledger_map(ledger, &map, err);

	if (r < 0)
		return r;
	r = load_from(map.at, ledger->bytes, true, ledger, found, ret_profile, err);
	if (seep_shared_map_is_cut(&map)) {
		if (r == 0)
			seep_profile_free(*ret_profile);
		r = seep_fail(err, SEEP_ETRUNC,
			      "truncated while it was read; read it again to see what is left");
	}
	seep_shared_map_close(&map);
	return r;
}

static bool is_live(const struct seep_ledger *ledger)
{
	return ledger->bytes >= ledger->view.header.file_bytes &&
	       seep_process_life(ledger, NULL) == SEEP_PROCESS_RUNNING;
}

/*
 * The process may die during the reading; then what it left in the middle of a flush is not
 * moving but finished by the reader of a dead ledger.
 */
int seep_profile_load_ledger(const char *path, bool dead, struct seep_profile **ret_profile,
			     struct seep_error *err)
{
	struct seep_profile *profile = NULL;
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int r = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &ledger, err);

	if (r < 0)
		return r;
	if (!dead && is_live(&ledger))
		r = seep_profile_load_found(&ledger, NULL, &profile, err);
	if (r == 0 && !(profile && is_live(&ledger))) {
		seep_profile_free(profile);
		r = load_dead(&ledger, &profile, err);
	}
	if (r < 0)
		seep_error_prefix(err, "%s", path);
	else
		*ret_profile = profile;
	return r;
}
