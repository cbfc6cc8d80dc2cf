/* SPDX-License-Identifier: MIT */
#include "target/heap_look.h"

#include <string.h>

#include "base/clock.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/finding.h"
#include "ledger/ledger_facts.h"
#include "ledger/ledger_view.h"
#include "target/block_list.h"
#include "target/remote_memory.h"

enum {
	KEPT_BYTES = 64 << 20,
	FINDINGS_MAX = 1 << 16,
	CLOSE_LOOKS = 16,
	LIST_PART = 512,
	DATA_BYTES = 64 << 10,
	LIVE_WINDOW = DATA_BYTES, /* they are looked at by address */
	WAITING_WINDOW = LEDGER_PAGE_BYTES,
};

struct look {
	struct seep_memory *memory;
	struct seep_heap_look *found;
	struct ledger_guards guards;
	uint64_t left_bytes; /* that may be looked at: headers may lie */
	uint64_t window;     /* is read at once, and serves for many; 0: a close look */
	uint64_t at, bytes;  /* that data has */
	uint8_t data[DATA_BYTES];
};

struct subject {
	uint64_t address, size;
	uint64_t witness; /* address of the cell, or of the place in the list of those that wait */
	const struct scan_block *live; /* NULL: it waits */
	struct ledger_guarded header;  /* as it was read last */
	bool is_known;		       /* that is its header */
};

/* @bytes at @address, DATA_BYTES at most; NULL: they cannot be read. */
static const uint8_t *look_at(struct look *look, uint64_t address, uint64_t bytes)
{
	const uint64_t offset = address - look->at;

	if (look->window && (bytes > look->left_bytes || seep_work_is_interrupted()))
		return NULL;
	look->left_bytes -= look->window ? bytes : 0;
	if (look->window && offset < look->bytes && look->bytes - offset >= bytes)
		return look->data + offset;
	look->at = address;
	look->bytes = core_larger(bytes, look->window);
	if (seep_memory_read(look->memory, address, look->data, look->bytes))
		return look->data;
	look->bytes = bytes;
	if (look->window && seep_memory_read(look->memory, address, look->data, bytes))
		return look->data;
	look->bytes = 0;
	return NULL;
}

/* The address of the first byte that is not @fill; 0: all are, or they cannot be read. */
static uint64_t first_other(struct look *look, uint64_t address, uint64_t count, uint8_t fill)
{
	for (uint64_t some, at; count; address += some, count -= some) {
		const uint8_t *bytes;

		some = core_smaller(count, DATA_BYTES);
		bytes = look_at(look, address, some);
		at = bytes ? ledger_guarded_first_other(bytes, some, fill) : 0;
		if (!bytes || at < some)
			return bytes ? address + at : 0;
	}
	return 0;
}

/* What the library finds when the block is freed, or leaves quarantine: the address; 0: nothing. */
static uint64_t damage_of(struct look *look, struct subject *s)
{
	const uint64_t front_bytes = look->guards.front_bytes;
	const uint64_t guard_bytes = front_bytes - sizeof(s->header);
	const uint8_t *front = look_at(look, s->address - front_bytes, front_bytes);
	size_t at;

	if (!front)
		return 0;
	memcpy((void *)&s->header, front, sizeof(s->header));
	s->is_known = LEDGER_GET(s->header.tag) ==
		      ledger_guarded_tag(look->guards.seed, s->address, &s->header,
					 s->live ? LEDGER_GUARDED_LIVE : LEDGER_GUARDED_WAITING);
	if (!s->live && !s->is_known)
		return s->address - front_bytes;
	if (!s->live)
		return first_other(look, s->address, s->header.size,
				   (uint8_t)look->guards.waiting_byte);
	at = ledger_guarded_first_other(front + sizeof(s->header), guard_bytes, LEDGER_GUARD_FILL);
	if (at < guard_bytes)
		return s->address - guard_bytes + at;
	/* Without its tag it is about to be freed. */
	return s->is_known && s->header.size == s->size
		       ? first_other(look, s->address + s->size,
				     ledger_guarded_rear_bytes(guard_bytes, s->size),
				     LEDGER_GUARD_FILL)
		       : 0;
}

/* Does the block live, or wait? */
static bool is_there(const struct look *look, const struct subject *s)
{
	uint64_t word;

	if (!seep_memory_read(look->memory, s->witness, &word, sizeof(word)))
		return false;
	if (!s->live)
		return word == s->address;
	return ledger_cell_state(word) == LEDGER_CELL_LIVE &&
	       ledger_cell_row(word) == s->live->row &&
	       ledger_flags_are_guarded(ledger_cell_flags(word)) &&
	       (s->size >= LEDGER_LARGE_BYTES || ledger_cell_size(word) == s->size);
}

/* Of what is taken and given back all the time, one look in twenty may be deceived. */
static bool is_sure(struct look *look, struct subject *s, uint64_t damage)
{
	const uint64_t window = look->window;
	bool sure = true;

	look->window = 0;
	for (unsigned i = 0; i < CLOSE_LOOKS && sure; i++)
		sure = is_there(look, s) && damage_of(look, s) == damage && is_there(look, s);
	look->window = window;
	look->bytes = 0;
	return sure;
}

static void look_at_block(struct look *look, struct subject *s)
{
	struct seep_heap_look *found = look->found;
	const uint64_t damage = damage_of(look, s);
	struct ledger_finding finding = {
		.ready = 1,
		.kind = !s->live	      ? LEDGER_FINDING_USE_AFTER_FREE
			: damage < s->address ? LEDGER_FINDING_FRONT_GUARD
					      : LEDGER_FINDING_REAR_GUARD,
		.pointer = damage,
		.count = 1,
	};

	if (!damage || !is_sure(look, s, damage))
		return;
	if (s->live || s->is_known) {
		const uint64_t cell = s->header.cell;

		finding.block_row = s->live ? s->live->row : ledger_cell_row(cell);
		finding.family = s->live ? s->live->flags & LEDGER_CELL_FAMILY
					 : (uint8_t)ledger_cell_family(cell);
		finding.freed_row = s->live ? 0 : s->header.freed_row;
		finding.block_bytes = s->live ? s->size : s->header.size;
		finding.offset = (int64_t)(damage - s->address);
	}
	finding.at_ns = seep_monotonic_ns();
	*SEEP_APPEND(found->findings, found->count) = finding;
}

static void look_at_live(struct look *look, const struct scan *scan)
{
	const struct ledger_guards *guards = &look->guards;

	look->window = LIVE_WINDOW;
	for (uint64_t i = 0; i < scan->block_count && look->found->count < FINDINGS_MAX; i++) {
		const struct scan_block *block = &scan->blocks[i];
		struct subject s = { .address = block->address,
				     .size = block->size,
				     .live = block };

		if (!ledger_flags_are_guarded(block->flags) ||
		    (block->address >= guards->sampled_begin &&
		     block->address < guards->sampled_end))
			continue;
		s.witness = scan_cell_at(scan, block);
		look_at_block(look, &s);
		look->found->live++;
	}
}

static void look_at_waiting(struct look *look)
{
	const uint64_t count = core_smaller(look->guards.waiting_count, LEDGER_WAITING_MAX);
	uint64_t list[LIST_PART];

	look->window = WAITING_WINDOW;
	look->bytes = 0;
	for (uint64_t i = 0; i < count && look->found->count < FINDINGS_MAX; i++) {
		const uint64_t part = i % LIST_PART, at = look->guards.waiting + i * sizeof(*list);
		struct subject s = { .witness = at };

		if (part == 0 &&
		    !seep_memory_read(look->memory, at, list,
				      core_smaller(count - i, LIST_PART) * sizeof(*list)))
			return;
		s.address = list[part];
		if (!s.address)
			continue;
		look_at_block(look, &s);
		look->found->waiting++;
	}
}

static bool read_guards(struct look *look, uint64_t facts)
{
	const uint64_t at = facts + offsetof(struct ledger_facts, guards);
	struct ledger_guards *guards = &look->guards;
	uint32_t bytes;

	return seep_memory_read(look->memory, facts, &bytes, sizeof(bytes)) &&
	       bytes == sizeof(struct ledger_facts) &&
	       seep_memory_read(look->memory, at, guards, sizeof(*guards)) &&
	       guards->front_bytes >= sizeof(struct ledger_guarded) &&
	       guards->front_bytes <= sizeof(struct ledger_guarded) + LEDGER_GUARD_MAX_BYTES;
}

int seep_heap_look(pid_t pid, const struct ledger_header *header, struct seep_heap_look *ret,
		   struct seep_error *err)
{
	SEEP_FREED struct look *look = seep_xcalloc(1, sizeof(*look));
	struct seep_heap_look found = { 0 };
	struct scan scan;
	int rc = seep_memory_open(pid, KEPT_BYTES, &look->memory, err);

	if (rc < 0)
		return rc;
	look->found = &found;
	if (!read_guards(look, header->blocks.facts))
		rc = seep_fail(err, SEEP_EUSAGE,
			       "process %d was not started with guards; start it with \"seep run "
			       "--guard\"",
			       pid);
	if (rc == 0)
		rc = seep_block_list_scan(pid, header, look->memory, 1, &scan, err);
	if (rc == 0) {
		look->left_bytes = scan.options.blocks_max_bytes;
		look_at_live(look, &scan);
		look_at_waiting(look);
		*ret = found;
	}
	seep_memory_close(look->memory);
	return rc;
}
