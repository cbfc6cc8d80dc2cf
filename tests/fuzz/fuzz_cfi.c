/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a module's unwind data. See tests/fuzz/run.
 *
 * The first eight bytes choose the pc (relative to the module, for only such encodings survive a
 * move; signed, 56 bits) and whether it is exact; the rest is the module from .eh_frame_hdr on, as
 * linked. Code lies before it, as in a real object; its bytes are never read.
 */
#include "fuzz_common.h"

#include "cfi/cfi.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

enum { PREFIX_BYTES = 8, ROOM_BYTES = 1 << 20, PCS = 8 };

static void check(enum cfi_result result, struct cfi_rule rule)
{
	enum cfi_kind kind = rule.kind;

	if ((unsigned)result >= CFI_RESULT_COUNT || (result == CFI_FOUND) != (kind != CFI_NONE) ||
	    kind > CFI_STOP || (result != CFI_FOUND && (rule.cfa_offset || rule.fp_offset)))
		abort();
	if ((kind == CFI_SP || kind == CFI_FP) && rule.fp_offset > 0)
		abort();
}

/* The bytes at the end of the room, so that any read outside of them is caught. */
static const uint8_t *place(const uint8_t *data, size_t size)
{
	static uint8_t *room;
	uint8_t *at;

	if (!room)
		room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (room == MAP_FAILED)
		abort();
	ASAN_UNPOISON_MEMORY_REGION(room, ROOM_BYTES);
	at = room + ROOM_BYTES / 2;
	memcpy(at, data, size);
	ASAN_POISON_MEMORY_REGION(room, ROOM_BYTES / 2);
	ASAN_POISON_MEMORY_REGION(at + size, ROOM_BYTES / 2 - size);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_module module = { 0 };
	struct fuzz_random random = { fuzz_hash(data, size) };
	uint64_t word = 0;
	struct cfi_rule rule;
	uintptr_t pc;

	if (size <= PREFIX_BYTES || size > ROOM_BYTES / 4)
		return 0;
	memcpy(&word, data, sizeof(word));
	module.eh_frame_hdr = place(data + PREFIX_BYTES, size - PREFIX_BYTES);
	module.start = (uintptr_t)module.eh_frame_hdr;
	module.end = module.start + size - PREFIX_BYTES;
	/* Sign-extended: code lies before the tables. */
	pc = (uintptr_t)((int64_t)(word << 8) >> 8);
	if (data[PREFIX_BYTES - 1] & 2)
		pc += module.start;
	fuzz_begin();
	for (int i = 0; i < PCS; i++) {
		check(cfi_compile(&module, pc, data[PREFIX_BYTES - 1] & 1, &(struct cfi_work){ 0 },
				  &rule),
		      rule);
		pc += fuzz_below(&random, 64);
	}
	if (data[PREFIX_BYTES - 1] & 4)
		module.eh_frame_hdr = NULL;
	check(cfi_compile(&module, pc, false, &(struct cfi_work){ 0 }, &rule), rule);
	fuzz_end();
	return 0;
}
