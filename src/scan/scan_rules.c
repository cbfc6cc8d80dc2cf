/* SPDX-License-Identifier: MIT */
/*
 * Rules for pointers behind a block's begin. valgrind's heuristics name the situations; vtables are
 * checked by the Itanium C++ ABI (2.5, "offset to top"), array cookies by its 2.7.
 */

#include "base/search.h"
#include "core/bits.h"
#include "scan/scan_private.h"

enum { WORD = sizeof(uint64_t), COOKIE_MAX = 64 };

/*
 * A count stands before the first element: 8 bytes in front of the block's end if there are none.
 * The cookie is as large as the elements' alignment, of which their size is a multiple.
 */
static enum scan_rule array_rule(const struct scan *scan, const struct scan_block *block,
				 uint64_t offset)
{
	enum ledger_family family = (enum ledger_family)(block->flags & LEDGER_CELL_FAMILY);
	uint64_t count, rest = block->size - offset;

	if (family != LEDGER_FAMILY_NEW_ARRAY && family != LEDGER_FAMILY_NEW_ARRAY_ALIGNED &&
	    !(scan->private->replaced_new && family <= LEDGER_FAMILY_MEMALIGN))
		return SCAN_RULE_NONE;
	if (offset > COOKIE_MAX || offset & (offset - 1) ||
	    !scan_read_word(scan, block->address + offset - WORD, &count))
		return SCAN_RULE_NONE;
	if (!rest)
		return count ? SCAN_RULE_NONE : SCAN_RULE_ZERO_ARRAY;
	if (!count || count > rest || rest % count || (offset > WORD && rest / count % offset))
		return SCAN_RULE_NONE;
	return SCAN_RULE_NEW_ARRAY;
}

static bool may_hold_vtables(const struct scan *scan, uint64_t address)
{
	const struct scan_range *ranges = scan->options.vtables;
	const size_t begun = seep_search_upto(ranges, scan->options.vtable_count, sizeof(*ranges),
					      address);

	return begun && address < ranges[begun - 1].end;
}

/* Whether the word at @address points to a vtable; how far before that its object begins. */
static bool read_vtable(const struct scan *scan, uint64_t address, uint64_t *ret_to_top)
{
	uint64_t vtable;

	return scan_read_word(scan, address, &vtable) && vtable % WORD == 0 &&
	       may_hold_vtables(scan, vtable) &&
	       scan_read_word(scan, vtable - 2 * WORD, ret_to_top);
}

/* An object in an object: each has a vtable that says where in it the whole begins. */
static bool is_second_base(const struct scan *scan, const struct scan_block *block, uint64_t offset)
{
	uint64_t to_top, top_to_top;

	if (!scan->options.vtable_count || block->size - offset < WORD ||
	    !read_vtable(scan, block->address + offset, &to_top) || -to_top > offset)
		return false;
	return read_vtable(scan, block->address, &top_to_top) && !top_to_top;
}

/* The text of the old std::string is behind length, capacity and a count of users. */
static bool is_string(const struct scan *scan, const struct scan_block *block, uint64_t offset)
{
	enum { LENGTH, CAPACITY, USERS, WORDS };
	uint64_t head[WORDS], room = block->size - offset;

	if (offset != sizeof(head) || !scan_copy(scan, block->address, head, sizeof(head)) ||
	    head[LENGTH] > head[CAPACITY] || head[CAPACITY] >= room)
		return false;
	/* Of characters of 1, 2 or 4 bytes, with one more for the end. */
	for (unsigned width = 1; width <= 4; width *= 2)
		if ((head[CAPACITY] + 1) * width == room)
			return true;
	return false;
}

/*
 * sds, the strings of redis: length and room of 1, 2, 4 or 8 bytes each and a byte that says which;
 * one byte alone, with the length in its upper bits, if that is below 32. The room may be all that
 * the allocator gave, a quarter more than it was asked for.
 */
static bool is_sds(const struct scan *scan, const struct scan_block *block, uint64_t offset)
{
	enum { WIDTH_MAX = 8, TYPE_BITS = 3, ROUNDED = 64 };
	const uint64_t width = offset / 2, size = block->size;
	uint8_t head[2 * WIDTH_MAX + 1], type = 0, end;
	uint64_t length = 0, room = 0;

	if (!(offset & 1) || width > WIDTH_MAX || width & (width - 1) ||
	    !scan_copy(scan, block->address, head, offset))
		return false;
	for (uint64_t i = 0; i < width; i++) {
		length |= (uint64_t)head[i] << 8 * i;
		room |= (uint64_t)head[width + i] << 8 * i;
	}
	while (width >> type)
		type++;
	if (!width) {
		length = head[0] >> TYPE_BITS;
		if (head[0] & ((1 << TYPE_BITS) - 1) || length + 2 != size)
			return false;
	} else if (head[2 * width] != type || length > room || room > size + size / 4 + ROUNDED ||
		   room + offset + 1 < size) {
		return false;
	}
	return scan_copy(scan, block->address + offset + length, &end, 1) && !end;
}

static bool is_behind_length(const struct scan *scan, const struct scan_block *block,
			     uint64_t offset)
{
	uint64_t length;

	return offset == WORD && scan_read_word(scan, block->address, &length) &&
	       length == block->size - offset;
}

static bool is_control(uint8_t byte)
{
	enum { DELETED = 0x80, EMPTY = 0xff };

	return byte <= DELETED || byte == EMPTY;
}

/*
 * hashbrown, the tables of Rust: a power of two of buckets, and behind them, where the pointer is, a
 * byte for each that says what it holds, and 16 more: at the end the first 16 again, or as many as
 * there are, and in between, where there are less, nothing. One bucket at least is empty.
 */
static bool is_hash_table(const struct scan *scan, const struct scan_block *block, uint64_t offset)
{
	enum { GROUP = 16, EMPTY = 0xff, LEAST = 4, LOOKED_AT = 1024 };
	const uint64_t buckets = block->size - offset - GROUP, at = block->address + offset;
	const uint64_t looked_at = core_smaller(buckets + GROUP, LOOKED_AT);
	const uint64_t repeated = core_smaller(buckets, GROUP);
	uint8_t control[LOOKED_AT], again[GROUP];
	bool has_empty = false;

	if (offset % GROUP || block->size - offset < LEAST + GROUP || buckets & (buckets - 1) ||
	    (buckets > GROUP && offset % buckets) || !scan_copy(scan, at, control, looked_at) ||
	    !scan_copy(scan, at + core_larger(buckets, GROUP), again, repeated) ||
	    __builtin_memcmp(control, again, repeated) != 0)
		return false;
	for (uint64_t i = 0; i < looked_at; i++) {
		const bool is_bucket = i < buckets;

		if (!is_control(control[i]) || (!is_bucket && i < GROUP && control[i] != EMPTY))
			return false;
		has_empty |= is_bucket && control[i] == EMPTY;
	}
	return has_empty;
}

enum scan_rule scan_rule_of(const struct scan *scan, const struct scan_block *block,
			    uint64_t address)
{
	uint64_t offset = address - block->address;
	enum scan_rule rule;

	if (offset > block->size)
		return SCAN_RULE_NONE;
	if (offset % WORD && is_sds(scan, block, offset))
		return SCAN_RULE_STRING;
	if (offset % WORD)
		return offset == block->size ? SCAN_RULE_NONE
		       : offset < WORD	     ? SCAN_RULE_LOW_TAG
					     : SCAN_RULE_INTERIOR;
	rule = offset ? array_rule(scan, block, offset) : SCAN_RULE_START;
	if (rule != SCAN_RULE_NONE || offset == block->size)
		return rule;
	if (is_behind_length(scan, block, offset))
		return SCAN_RULE_LENGTH;
	if (is_string(scan, block, offset))
		return SCAN_RULE_STRING;
	if (is_second_base(scan, block, offset))
		return SCAN_RULE_SECOND_BASE;
	return is_hash_table(scan, block, offset) ? SCAN_RULE_HASH_TABLE : SCAN_RULE_INTERIOR;
}
