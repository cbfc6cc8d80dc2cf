/* SPDX-License-Identifier: MIT */
/*
 * The maps of opcodes: Intel's Software Developer's Manual, volume 2, appendix A.
 */
#include "target/entry_code.h"

#include <stdbool.h>
#include <string.h>

enum {
	INSTRUCTION_BYTES_MAX = 15,
	JUMP = 0xe9,
	JUMP_SHORT = 0xeb,
	CALL = 0xe8,
	ESCAPE = 0x0f,
};

/* What follows an opcode. */
enum {
	NOT_KNOWN = 0,
	NOTHING = 1,
	MODRM = 2,
	BYTE = 4,	 /* an immediate one */
	WORD = 8,	 /* 4 bytes, 2 with the prefix 66 */
	NEAR = 16,	 /* a branch's distance, 1 byte */
	FAR = 32,	 /* 4 bytes */
	WIDE = 64,	 /* 8 bytes with REX.W, else as WORD */
	TEST_BYTE = 128, /* BYTE and WORD, if the modrm's middle is 0 or 1 */
	TEST_WORD = 256,
};

struct range {
	uint8_t from, to;
	uint16_t what;
};

/* The first that fits. */
static const struct range one_byte[] = {
	{ 0x40, 0x4f, NOT_KNOWN },
	{ 0x50, 0x5f, NOTHING },
	{ 0x63, 0x63, MODRM },
	{ 0x68, 0x68, WORD },
	{ 0x69, 0x69, MODRM | WORD },
	{ 0x6a, 0x6a, BYTE },
	{ 0x6b, 0x6b, MODRM | BYTE },
	{ 0x70, 0x7f, NEAR },
	{ 0x80, 0x80, MODRM | BYTE },
	{ 0x81, 0x81, MODRM | WORD },
	{ 0x83, 0x83, MODRM | BYTE },
	{ 0x84, 0x8e, MODRM },
	{ 0x90, 0x99, NOTHING },
	{ 0x9b, 0x9f, NOTHING },
	{ 0xa4, 0xa7, NOTHING },
	{ 0xa8, 0xa8, BYTE },
	{ 0xa9, 0xa9, WORD },
	{ 0xaa, 0xaf, NOTHING },
	{ 0xb0, 0xb7, BYTE },
	{ 0xb8, 0xbf, WIDE },
	{ 0xc0, 0xc1, MODRM | BYTE },
	{ 0xc3, 0xc3, NOTHING },
	{ 0xc6, 0xc6, MODRM | BYTE },
	{ 0xc7, 0xc7, MODRM | WORD },
	{ 0xc9, 0xc9, NOTHING },
	{ 0xcc, 0xcc, NOTHING },
	{ 0xd0, 0xd3, MODRM },
	{ 0xd8, 0xdf, MODRM },
	{ 0xe0, 0xe3, NEAR },
	{ 0xe8, 0xe9, FAR },
	{ 0xeb, 0xeb, NEAR },
	{ 0xf4, 0xf4, NOTHING },
	{ 0xf6, 0xf6, MODRM | TEST_BYTE },
	{ 0xf7, 0xf7, MODRM | TEST_WORD },
	{ 0xf5, 0xf5, NOTHING },
	{ 0xf8, 0xfd, NOTHING },
	{ 0xfe, 0xff, MODRM },
};

/* After 0f; of VEX and EVEX the first map, in which branches do not come. */
static const struct range two_byte[] = {
	{ 0x05, 0x05, NOTHING },      { 0x0b, 0x0b, NOTHING },	    { 0x0d, 0x0d, MODRM },
	{ 0x10, 0x1f, MODRM },	      { 0x28, 0x2f, MODRM },	    { 0x31, 0x31, NOTHING },
	{ 0x40, 0x6f, MODRM },	      { 0x70, 0x73, MODRM | BYTE }, { 0x74, 0x76, MODRM },
	{ 0x77, 0x77, NOTHING },      { 0x7c, 0x7f, MODRM },	    { 0x80, 0x8f, FAR },
	{ 0x90, 0x9f, MODRM },	      { 0xa2, 0xa2, NOTHING },	    { 0xa3, 0xa3, MODRM },
	{ 0xa4, 0xa4, MODRM | BYTE }, { 0xa5, 0xa5, MODRM },	    { 0xab, 0xab, MODRM },
	{ 0xac, 0xac, MODRM | BYTE }, { 0xad, 0xb1, MODRM },	    { 0xb3, 0xb3, MODRM },
	{ 0xb6, 0xb8, MODRM },	      { 0xba, 0xba, MODRM | BYTE }, { 0xbb, 0xc1, MODRM },
	{ 0xc2, 0xc2, MODRM | BYTE }, { 0xc3, 0xc3, MODRM },	    { 0xc4, 0xc6, MODRM | BYTE },
	{ 0xc7, 0xc7, MODRM },	      { 0xc8, 0xcf, NOTHING },	    { 0xd0, 0xff, MODRM },
};

static unsigned look_up(const struct range *ranges, size_t count, uint8_t opcode)
{
	for (size_t i = 0; i < count; i++)
		if (opcode >= ranges[i].from && opcode <= ranges[i].to)
			return ranges[i].what;
	return NOT_KNOWN;
}

#define LOOK_UP(ranges, opcode) look_up((ranges), sizeof(ranges) / sizeof(*(ranges)), (opcode))

static unsigned of_one_byte(uint8_t opcode)
{
	/* Eight groups of the same arithmetic. */
	if (opcode < 0x40)
		return (opcode & 7) < 4	   ? MODRM
		       : (opcode & 7) == 4 ? BYTE
		       : (opcode & 7) == 5 ? WORD
					   : NOT_KNOWN;
	return LOOK_UP(one_byte, opcode);
}

/* @map: 1 after 0f, 2 after 0f 38, 3 after 0f 3a. */
static unsigned of_map(unsigned map, uint8_t opcode)
{
	return map == 1	  ? LOOK_UP(two_byte, opcode)
	       : map == 2 ? MODRM
	       : map == 3 ? MODRM | BYTE
			  : NOT_KNOWN;
}

/* The bytes of a modrm at @code and what goes with it. @ret_rip: as seep_instruction_bytes(), from it on */
static size_t modrm_bytes(const uint8_t *code, size_t *ret_rip)
{
	const unsigned mod = code[0] >> 6, rm = code[0] & 7;
	const bool has_sib = mod != 3 && rm == 4;
	const size_t bytes = has_sib ? 2 : 1;

	*ret_rip = 0;
	if (mod == 1)
		return bytes + 1;
	if (mod == 2 || (mod == 0 && has_sib && (code[1] & 7) == 5))
		return bytes + 4;
	if (mod == 0 && rm == 5) {
		*ret_rip = bytes;
		return bytes + 4;
	}
	return bytes;
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x2e ||
	       byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* Where the opcode is, and what follows it; 0: not known. */
static size_t find_opcode(const uint8_t *code, size_t at, unsigned *ret_what)
{
	if (code[at] == 0xc5) { /* VEX, two bytes; three; EVEX */
		*ret_what = of_map(1, code[at + 2]);
		return at + 2;
	}
	if (code[at] == 0xc4) {
		*ret_what = of_map(code[at + 1] & 31, code[at + 2 + 1]);
		return at + 3;
	}
	if (code[at] == 0x62) {
		*ret_what = of_map(code[at + 1] & 7, code[at + 4]);
		return at + 4;
	}
	if (code[at] != ESCAPE) {
		*ret_what = of_one_byte(code[at]);
		return at;
	}
	if (code[at + 1] == 0x38 || code[at + 1] == 0x3a) {
		*ret_what = of_map(code[at + 1] == 0x38 ? 2 : 3, code[at + 2]);
		return at + 2;
	}
	*ret_what = of_map(1, code[at + 1]);
	return at + 1;
}

size_t seep_instruction_bytes(const uint8_t *code, size_t left, size_t *ret_rip, size_t *ret_branch)
{
	uint8_t padded[2 * INSTRUCTION_BYTES_MAX + 8] = { 0 };
	size_t at = 0, rip = 0;
	bool is_wide = false, is_short = false;
	unsigned what;

	memcpy(padded, code, left < INSTRUCTION_BYTES_MAX ? left : INSTRUCTION_BYTES_MAX);
	*ret_rip = *ret_branch = 0;
	for (; at < 4 && is_prefix(padded[at]); at++)
		is_short |= padded[at] == 0x66;
	if ((padded[at] & 0xf0) == 0x40)
		is_wide = padded[at++] & 8;
	at = find_opcode(padded, at, &what);
	if (what & (TEST_BYTE | TEST_WORD) && (padded[at + 1] >> 3 & 7) < 2)
		what |= what & TEST_BYTE ? BYTE : WORD;
	at++;
	if (what == NOT_KNOWN || (is_short && what & FAR))
		return 0;
	if (what & MODRM) {
		const size_t bytes = modrm_bytes(padded + at, &rip);

		*ret_rip = rip ? at + rip : 0;
		at += bytes;
	}
	if (what & (NEAR | FAR))
		*ret_branch = at;
	at += (what & (BYTE | NEAR) ? 1 : 0) + (what & FAR ? 4 : 0);
	if (what & WIDE && is_wide)
		at += 8;
	else if (what & (WORD | WIDE))
		at += is_short ? 2 : 4;
	return at <= left && at <= INSTRUCTION_BYTES_MAX ? at : 0;
}

static int64_t distance(const uint8_t *code, size_t at, size_t end)
{
	int32_t value;

	if (end - at == 1)
		return (int8_t)code[at];
	memcpy(&value, code + at, sizeof(value));
	return value;
}

/* These do the same in another place, once distances are put right. */
static bool is_movable(const uint8_t *code, size_t bytes)
{
	static const struct range movable[] = {
		{ 0x50, 0x5f, 1 }, { 0x63, 0x63, 1 }, { 0x68, 0x6b, 1 }, { 0x70, 0x7f, 1 },
		{ 0x80, 0x81, 1 }, { 0x83, 0x85, 1 }, { 0x88, 0x8b, 1 }, { 0x8d, 0x8d, 1 },
		{ 0x90, 0x90, 1 }, { 0xa8, 0xa9, 1 }, { 0xb0, 0xc1, 1 }, { 0xc6, 0xc7, 1 },
		{ 0xd0, 0xd3, 1 }, { 0xe9, 0xe9, 1 }, { 0xeb, 0xeb, 1 }, { 0xf6, 0xf7, 1 },
	};
	static const struct range movable_two[] = {
		{ 0x10, 0x1f, 1 }, { 0x28, 0x29, 1 }, { 0x40, 0x4f, 1 }, { 0x57, 0x57, 1 },
		{ 0x6e, 0x6f, 1 }, { 0x7e, 0x8f, 1 }, { 0xaf, 0xaf, 1 }, { 0xb6, 0xb7, 1 },
		{ 0xbd, 0xbf, 1 }, { 0xef, 0xef, 1 },
	};
	size_t at = 0;

	for (; at < bytes && is_prefix(code[at]); at++)
		if (code[at] == 0xf0)
			return false;
	at += (code[at] & 0xf0) == 0x40;
	if (code[at] == ESCAPE)
		return LOOK_UP(movable_two, code[at + 1]) != 0;
	return code[at] < 0x40 || LOOK_UP(movable, code[at]) != 0;
}

struct move {
	const uint8_t *function;
	uint64_t at, to;
	size_t from, until; /* what is moved of the function */
	struct seep_entry_code *code;
};

static bool put(struct move *move, const void *bytes, size_t count)
{
	struct seep_entry_code *code = move->code;

	if (count > sizeof(code->code) - code->code_bytes)
		return false;
	memcpy(code->code + code->code_bytes, bytes, count);
	code->code_bytes += count;
	return true;
}

/* The 4 bytes behind what was put so far, of an instruction that ends there: to lead to @target. */
static bool put_distance(struct move *move, uint64_t target)
{
	const int64_t wide = (int64_t)(target - (move->to + move->code->code_bytes + 4));
	const int32_t value = (int32_t)wide;

	return wide == value && put(move, &value, sizeof(value));
}

static bool put_jump(struct move *move, uint64_t target)
{
	const uint8_t jump = JUMP;

	return put(move, &jump, 1) && put_distance(move, target);
}

static const char too_far[] = "begins with an instruction that uses something too far away";

/* A jump, with a condition or without, in its long form. */
static const char *move_branch(struct move *move, const uint8_t *code, uint64_t target)
{
	const uint8_t opcode = code[0] == ESCAPE ? code[1] : (uint8_t)(code[0] + 0x10);
	const uint8_t condition[] = { ESCAPE, opcode };
	bool done;

	if (code[0] == JUMP || code[0] == JUMP_SHORT)
		done = put_jump(move, target);
	else
		done = put(move, condition, sizeof(condition)) && put_distance(move, target);
	return done ? NULL : too_far;
}

static const char *move_one(struct move *move, size_t bytes, size_t rip, size_t branch)
{
	const uint8_t *code = move->function + move->until;
	const uint64_t end = move->at + move->until + bytes;
	struct seep_entry_code *to = move->code;
	int64_t wide;
	int32_t value;

	if (branch)
		return code[0] == ESCAPE || branch == 1
			       ? move_branch(move, code,
					     end + (uint64_t)distance(code, branch, bytes))
			       : "begins with a branch that has a prefix";
	if (!put(move, code, bytes))
		return "begins with instructions that are too long";
	if (!rip)
		return NULL;
	wide = distance(code, rip, rip + 4) + (int64_t)(end - (move->to + to->code_bytes));
	value = (int32_t)wide;
	memcpy(to->code + to->code_bytes - bytes + rip, &value, sizeof(value));
	return wide == value ? NULL : too_far;
}

/*
 * A branch of the function to between what is moved would meet the middle of the jump; one back to its
 * beginning would enter it again, further in each time. A call of itself is a call like any other.
 */
static const char *look_for_branches(const struct move *move, size_t bytes)
{
	size_t length, rip, branch;

	for (size_t at = move->from; at < bytes; at += length) {
		const uint8_t *code = move->function + at;
		uint64_t target;

		length = seep_instruction_bytes(code, bytes - at, &rip, &branch);
		if (!length)
			return "has instructions that seep does not know";
		if (!branch)
			continue;
		target = at + length + (uint64_t)distance(code, branch, length);
		if (target < move->until &&
		    !(*code == CALL && (target == 0 || target == move->from)))
			return "has a branch to its first instructions";
	}
	return NULL;
}

const char *seep_entry_code(const uint8_t *function, size_t bytes, uint64_t at, uint64_t to,
			    struct seep_entry_code *ret_code)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct move move = { .function = function, .at = at, .to = to, .code = ret_code };
	bool is_over = false;
	const char *why;

	*ret_code = (struct seep_entry_code){ 0 };
	if (bytes >= sizeof(landing) && memcmp(function, landing, sizeof(landing)) == 0)
		ret_code->skipped = sizeof(landing);
	move.from = move.until = ret_code->skipped;
	while (move.until - move.from < LEDGER_ENTRY_PATCH_BYTES) {
		const uint8_t *code = function + move.until;
		size_t rip, branch, length;

		length = seep_instruction_bytes(code, bytes - move.until, &rip, &branch);
		if (is_over || move.until >= bytes)
			return "is too short";
		if (!length || !is_movable(code, length))
			return "begins with an instruction that cannot be moved";
		why = move_one(&move, length, rip, branch);
		if (why)
			return why;
		is_over = branch && (code[0] == JUMP || code[0] == JUMP_SHORT);
		move.until += length;
	}
	ret_code->bytes = move.until - move.from;
	if (!put_jump(&move, at + move.until))
		return too_far;
	return look_for_branches(&move, bytes);
}

size_t seep_entry_branches(const uint8_t *code, size_t bytes, uint64_t at,
			   const struct ledger_entry_page *page)
{
	for (size_t i = 0; i + 5 <= bytes; i++) {
		const bool is_long = code[i] == ESCAPE && (code[i + 1] & 0xf0) == 0x80;
		const size_t end = i + 5 + is_long;
		uint64_t target;

		if (!(is_long || code[i] == CALL || code[i] == JUMP) || end > bytes)
			continue;
		target = at + end + (uint64_t)distance(code, end - 4, end);
		for (size_t j = 0; j < page->count; j++)
			if (target - page->items[j].at - 1 < page->items[j].bytes - UINT64_C(1))
				return j;
	}
	return page->count;
}
