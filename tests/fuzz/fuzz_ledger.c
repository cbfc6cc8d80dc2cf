/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a sound ledger with any words of it replaced, read as dead and as live. Build and
 * run, with the libraries of the tool (dw elf iberty sqlite3 z zstd lzma):
 *
 *   clang -g -O1 -D_GNU_SOURCE= -fsanitize=fuzzer,address,undefined -Isrc -Itests/unit \
 *	tests/fuzz/fuzz_ledger.c src/{profile,ledger,base,symbol}/<all>.c -l<libraries>
 *   ./a.out -max_len=512
 *
 * Input: records of 12 bytes, four for where (modulo the size) and eight for what. The ledger is
 * as long as its header says and the page behind it is not mapped, so any read outside is caught.
 */
#include "ledger_build.h"
#include "profile/ledger_load.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORD_BYTES = 12, POKES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct built_sizes tiny = {
	.caches = 4,
	.slots = 64,
	.rows = 32,
	.contexts = 16,
	.nodes = 32,
	.modules = 4,
	.strings = 512,
	.marks = 4,
};

static struct built_ledger ledger;
static unsigned char *whole;
static uint64_t bytes;

static void fill(void)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 7);
	uint32_t cache = built_cache(&ledger, 4);
	uint32_t other = built_cache(&ledger, 4);
	uint32_t node = 0;

	for (uint32_t i = 0; i < 8; i++) {
		uint32_t context;
		uint32_t row;

		node = built_node(&ledger, i % 3 ? node : 0, module, 0x1000 + i);
		context = built_context(&ledger, node, (uint8_t)i);
		row = built_row(&ledger, context, i % 2);
		built_row_at(&ledger, row)->allocs = 10;
		built_row_at(&ledger, row)->alloc_bytes = 100;
		built_slot(&ledger, i % 2 ? cache : other, i)->row = row;
		built_slot(&ledger, i % 2 ? cache : other, i)->frees = 3;
	}
	ledger.caches[cache].redo.active = 1;
	ledger.caches[cache].redo.row = ledger.header->first_row + 3;
	ledger.rows[3].sequence = LEDGER_SEQ_ODD;
	built_mark(&ledger, "mark", 1, 5);
	ledger.state->unseen = UINT32_MAX;
}

static void build_once(void)
{
	if (whole)
		return;
	built_init(&ledger, &tiny);
	fill();
	bytes = ledger.header->file_bytes;
	/* The end of the file at the end of a page, the next one inaccessible. */
	whole = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (whole == MAP_FAILED || mprotect(whole + bytes, 4096, PROT_NONE) != 0)
		abort();
}

static void read_it(bool live)
{
	struct seep_profile *profile = NULL;
	struct seep_profile_sample sample;

	if (seep_profile_load_ledger_memory(whole, bytes, live, &profile, NULL) == 0)
		seep_profile_free(profile);
	if (seep_profile_sample_ledger(whole, bytes, &sample, NULL) != 0)
		return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	build_once();
	memcpy(whole, ledger.map, bytes);
	for (int i = 0; i < POKES_MAX && size >= RECORD_BYTES; i++) {
		uint32_t where;

		memcpy(&where, data, sizeof(where));
		memcpy(whole + where % (bytes - 7), data + 4, 8);
		data += RECORD_BYTES;
		size -= RECORD_BYTES;
	}
	read_it(false);
	/* An odd row costs a live reader its whole patience: one input in four. */
	if (whole[8192] % 4 == 0)
		read_it(true);
	return 0;
}
