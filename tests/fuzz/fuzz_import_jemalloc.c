/* SPDX-License-Identifier: MIT */
/* libFuzzer: any text as a heap profile of jemalloc or tcmalloc. See tests/fuzz/run. */
#include "fuzz_import.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_lines(data, size, max_size, seed, seed % 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&seep_import_jemalloc, data, size);
}
