/* SPDX-License-Identifier: MIT */
/* libFuzzer: any text as one of heaptrack's files. See tests/fuzz/run. */
#include "fuzz_import.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_lines(data, size, max_size, seed, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&seep_import_heaptrack, data, size);
}
