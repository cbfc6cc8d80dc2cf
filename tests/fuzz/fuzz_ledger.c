/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a ledger of any bytes, read from memory and from a file, as dead, as live, and while
 * a thread goes on writing. See tests/fuzz/run.
 *
 * An input is a whole file. The seeds are real ledgers whose tables were moved together, so that
 * they fit; the mutator knows where tables, items and fields are.
 */
#include "fuzz_common.h"

#include "ledger/ledger_view.h"
#include "profile/ledger_live.h"
#include "profile/ledger_load.h"
#include "profile/profile_check.h"
#include "profile/total_fields.h"
#include "recording/recording.h"

#include <fcntl.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEDGER_BYTES_MAX = 1 << 20, WORD = 8 };

/* ---- the mutator --------------------------------------------------------------------------- */

static uint64_t get_word(const uint8_t *data, size_t bytes)
{
	uint64_t word = 0;

	memcpy(&word, data, bytes);
	return word;
}

/* Change one aligned word of @data[from..to). */
static void change_word(struct fuzz_random *random, uint8_t *data, size_t from, size_t to,
			uint64_t count)
{
	size_t bytes = fuzz_below(random, 3) ? 4 : WORD;
	size_t at = from + fuzz_below(random, (to - from) / bytes) * bytes;
	uint64_t word;

	if (at + bytes > to)
		return;
	word = fuzz_word(random, get_word(data + at, bytes), count);
	memcpy(data + at, &word, bytes);
}

static uint64_t table_items(const uint8_t *data, size_t table)
{
	struct ledger_state state;

	memcpy(&state, data + 2 * (size_t)LEDGER_PAGE_BYTES, sizeof(state));
	return state.table[table].reserved;
}

static void change_item(struct fuzz_random *random, uint8_t *data, size_t size)
{
	struct ledger_header header;
	size_t table = fuzz_below(random, LEDGER_TABLE_COUNT);
	size_t other = fuzz_below(random, LEDGER_TABLE_COUNT);
	uint64_t items;
	uint64_t at;

	memcpy(&header, data, sizeof(header));
	items = table_items(data, table);
	at = header.table[table].offset +
	     fuzz_below(random, items) * (uint64_t)header.table[table].item_bytes;
	if (at < size && size - at >= header.table[table].item_bytes)
		change_word(random, data, at, at + header.table[table].item_bytes,
			    table_items(data, other));
}

/* A flush that its thread did not live to finish: row, redo record and slot agree. */
static void leave_flush(struct fuzz_random *random, uint8_t *data, size_t size)
{
	struct ledger_header header;
	uint64_t index = fuzz_below(random, table_items(data, LEDGER_TABLE_ROWS));
	uint64_t cache = fuzz_below(random, table_items(data, LEDGER_TABLE_CACHES));
	uint64_t count = fuzz_below(random, 100);
	uint64_t row_at;
	uint64_t cache_at;
	struct ledger_redo redo = { 0 };
	uint64_t sequence = count << LEDGER_SEQ_COUNT_SHIFT | cache << LEDGER_SEQ_CACHE_SHIFT |
			    LEDGER_SEQ_ODD;

	memcpy(&header, data, sizeof(header));
	row_at = header.table[LEDGER_TABLE_ROWS].offset + index * sizeof(struct ledger_row);
	cache_at = header.table[LEDGER_TABLE_CACHES].offset + cache * sizeof(struct ledger_cache);
	if (row_at >= size || size - row_at < sizeof(struct ledger_row) || cache_at >= size ||
	    size - cache_at < sizeof(struct ledger_cache))
		return;
	redo.active = (uint32_t)fuzz_below(random, 2);
	redo.row = header.first_row + (uint32_t)index;
	redo.slot = fuzz_below(random, table_items(data, LEDGER_TABLE_SLOTS));
	redo.values.allocs = fuzz_below(random, 1000);
	redo.values.turn = fuzz_below(random, 3);
	memcpy(data + row_at + offsetof(struct ledger_row, sequence), &sequence, sizeof(sequence));
	memcpy(data + cache_at + offsetof(struct ledger_cache, redo), &redo, sizeof(redo));
}

static size_t cut(struct fuzz_random *random, size_t size)
{
	if (fuzz_below(random, 2))
		return fuzz_below(random, size / LEDGER_PAGE_BYTES) * LEDGER_PAGE_BYTES;
	return fuzz_below(random, size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	const size_t page = LEDGER_PAGE_BYTES;
	struct fuzz_random random = { seed };
	int changes = 1 + (int)fuzz_below(&random, 4);

	if (size < 3 * page || fuzz_below(&random, 16) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (fuzz_below(&random, 24) == 0)
		return cut(&random, size);
	while (changes-- > 0) {
		switch (fuzz_below(&random, 9)) {
		case 8:
			leave_flush(&random, data, size);
			break;
		case 0:
			change_word(&random, data, 8, sizeof(struct ledger_header), size);
			break;
		case 1:
			change_word(&random, data, page, page + sizeof(struct ledger_control), 3);
			break;
		case 2:
			change_word(&random, data, 2 * page, 2 * page + sizeof(struct ledger_state),
				    64);
			break;
		default:
			change_item(&random, data, size);
		}
	}
	return size;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static uint8_t *room; /* LEDGER_BYTES_MAX, and a page that cannot be touched */

/* The input at the end of the room, at a multiple of 64 as a mapping is. */
static uint8_t *place(const uint8_t *data, size_t size)
{
	size_t padded = (size + 63) / 64 * 64;
	uint8_t *at;

	if (!room) {
		room = mmap(NULL, LEDGER_BYTES_MAX + LEDGER_PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED ||
		    mprotect(room + LEDGER_BYTES_MAX, LEDGER_PAGE_BYTES, PROT_NONE) != 0)
			abort();
	}
	ASAN_UNPOISON_MEMORY_REGION(room, LEDGER_BYTES_MAX);
	at = room + LEDGER_BYTES_MAX - padded;
	if (size)
		memcpy(at, data, size);
	ASAN_POISON_MEMORY_REGION(at + size, padded - size);
	return at;
}

/* What a running program does to its ledger, and what a broken one does. */
struct writer {
	uint8_t *map;
	struct ledger_view view;
	struct fuzz_random random;
	pthread_t thread;
	_Atomic bool stop;
};

static void write_something(struct writer *w)
{
	const struct ledger_view *view = &w->view;
	struct ledger_control *control = (void *)(w->map + LEDGER_PAGE_BYTES);
	uint64_t row = fuzz_below(&w->random, view->count[LEDGER_TABLE_ROWS]);
	uint64_t slot = fuzz_below(&w->random, view->count[LEDGER_TABLE_SLOTS]);
	uint64_t cache = fuzz_below(&w->random, view->count[LEDGER_TABLE_CACHES]);
	const struct ledger_row *rows = ledger_view_row(view, row);
	const struct ledger_slot *slots = ledger_view_slot(view, slot);
	const struct ledger_cache *caches = ledger_view_cache(view, cache);

	if (rows)
		atomic_fetch_add((_Atomic uint64_t *)(uintptr_t)&rows->sequence, 1);
	if (slots)
		atomic_fetch_add((_Atomic uint64_t *)(uintptr_t)&slots->allocs, 1);
	if (caches && fuzz_below(&w->random, 4) == 0)
		atomic_store((_Atomic uint64_t *)(uintptr_t)&caches->slots,
			     fuzz_below(&w->random, view->count[LEDGER_TABLE_SLOTS]) << 8 |
				     fuzz_below(&w->random, 8));
	if (fuzz_below(&w->random, 64) == 0)
		atomic_fetch_add(&control->peak_turn, 1);
}

static void *write_on(void *opaque)
{
	struct writer *w = opaque;

	while (!atomic_load(&w->stop))
		write_something(w);
	return NULL;
}

/* What is wrong in a ledger is mended, whatever it is; no figure is more than a recording takes. */
static void check(const struct seep_profile *profile)
{
	if (seep_profile_check(profile, NULL) != 0)
		abort();
	for (size_t i = 0; i < seep_total_field_count; i++)
		if (seep_total_get(&profile->totals, &seep_total_fields[i]) > INT64_MAX)
			abort();
}

static void load_memory(const uint8_t *map, size_t size, bool live)
{
	struct seep_profile *profile = NULL;

	if (seep_profile_load_ledger_memory(map, size, live, &profile, NULL) != 0)
		return;
	check(profile);
	seep_profile_free(profile);
}

/* Between two readings anything may change. */
static void refresh(const uint8_t *bytes, size_t size, uint64_t choice)
{
	struct fuzz_random random = { choice };
	struct seep_ledger_live *live = NULL;
	uint8_t *map;
	int fd;

	fuzz_write_file(bytes, size);
	if (seep_ledger_live_open(fuzz_path, &live, NULL) != 0)
		return;
	fd = open(fuzz_path, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	(void)close(fd);
	for (int i = 0; i < 3; i++) {
		change_item(&random, map, size);
		change_word(&random, map, 2 * (size_t)LEDGER_PAGE_BYTES,
			    2 * (size_t)LEDGER_PAGE_BYTES + sizeof(struct ledger_state), 64);
		if (seep_ledger_live_refresh(live, NULL) != 0)
			abort();
		check(seep_ledger_live_profile(live));
	}
	seep_ledger_live_close(live);
	(void)munmap(map, size);
}

static void load_while_written(uint8_t *map, size_t size, uint64_t choice)
{
	struct writer w = { .map = map, .random = { choice } };

	if (ledger_view_init(&w.view, map, size) != LEDGER_VIEW_OK ||
	    pthread_create(&w.thread, NULL, write_on, &w) != 0)
		return;
	load_memory(map, size, true);
	atomic_store(&w.stop, true);
	(void)pthread_join(w.thread, NULL);
}

/* So that the process that the file names runs: it is this one. */
static void name_ourselves(uint8_t *map, uint64_t choice)
{
	struct ledger_header *header = (void *)map;
	char stat_text[1024] = "";
	FILE *file = fopen("/proc/self/stat", "r");
	char *fields = file && fgets(stat_text, sizeof(stat_text), file) ? strrchr(stat_text, ')')
									 : NULL;

	if (fields)
		(void)sscanf(fields + 1,
			     " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			     " %*s %*s %*s %lu",
			     &header->start_ticks);
	if (file)
		(void)fclose(file);
	header->pid = (uint32_t)getpid();
	memset(header->boot_id, 0, sizeof(header->boot_id));
	header->pid_namespace = choice % 3;
}

static void load_file(const uint8_t *map, size_t size)
{
	struct seep_profile *profile = NULL;
	struct seep_error err = { 0 };

	fuzz_let_calls_succeed();
	fuzz_write_file(map, size);
	if (fuzz_hash(map, size) % 2)
		fuzz_fail_calls(fuzz_hash(map, size) >> 8);
	if (seep_profile_open(fuzz_path, &profile, &err) == 0)
		seep_profile_free(profile);
	else if (!*err.text)
		abort(); /* refused without a word */
	fuzz_let_calls_succeed();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t choice = fuzz_hash(data, size);
	uint8_t *map;

	if (size > LEDGER_BYTES_MAX)
		return 0;
	map = place(data, size);
	fuzz_begin();
	load_memory(map, size, false);
	if (choice % 4 == 0)
		load_file(map, size);
	/* An odd row costs a live reader its whole patience. */
	if (choice % 32 == 1)
		load_memory(map, size, true);
	if (choice % 64 == 2 && size >= sizeof(struct ledger_header)) {
		name_ourselves(map, choice >> 8);
		load_file(map, size);
	}
	if (choice % 32 == 4)
		refresh(map, size, choice);
	if (choice % 64 == 3)
		load_while_written(map, size, choice);
	fuzz_end();
	return 0;
}
