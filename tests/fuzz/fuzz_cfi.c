/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a module's unwind data. Build and run:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc tests/fuzz/fuzz_cfi.c src/cfi/<all>.c
 *   ./a.out -max_len=1024
 *
 * The first eight bytes choose the pc (as an offset, for only such encodings survive a move) and
 * whether it is exact; the rest is the module, starting with .eh_frame_hdr. libFuzzer's copies
 * have the exact size, so any read outside is caught.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cfi/cfi.h"

enum { PREFIX_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum cfi_result result, cfi_rule rule)
{
	enum cfi_kind kind = cfi_rule_kind(rule);

	if ((unsigned)result >= CFI_RESULT_COUNT || (result == CFI_FOUND) != (kind != CFI_NONE) ||
	    kind > CFI_STOP || (result != CFI_FOUND && rule != 0))
		abort();
	if ((kind == CFI_SP || kind == CFI_FP) && cfi_rule_fp_offset(rule) > 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_module module;
	uintptr_t pc = 0;
	cfi_rule rule;

	if (size <= PREFIX_BYTES)
		return 0;
	for (int i = 0; i < PREFIX_BYTES - 1; i++)
		pc |= (uintptr_t)data[i] << (8 * i);
	module.eh_frame_hdr = data + PREFIX_BYTES;
	module.start = (uintptr_t)module.eh_frame_hdr;
	module.end = (uintptr_t)data + size;
	if (data[PREFIX_BYTES - 1] & 2)
		pc += module.start;
	check(cfi_compile(&module, pc, data[PREFIX_BYTES - 1] & 1, &rule), rule);
	return 0;
}
