/* SPDX-License-Identifier: MIT */
/* Blocks that a program cuts out of larger ones, and says so: each is lost or reachable by itself. */
#include "leak.h"

#include "seep/seep.h"

#include <sys/mman.h>

static char *next; /* of the pool in use */

static APART char *carve(size_t bytes)
{
	char *made = next;

	next += (bytes + 31) & -(size_t)32;
	memset(made, 0x11, bytes);
	seep_pool_alloc(made, bytes);
	__asm__ volatile("" : "+r"(made)::"memory");
	return made;
}

/* A global leads to one, which leads to another; a third is lost with a fourth; and what was given back. */
static APART void carve_some(size_t bytes)
{
	char *first, *lost, *given;

	first = carve(bytes);
	leak_keep[1] = first;
	set_word(first, 1, carve(bytes + 1));
	lost = carve(bytes + 2);
	set_word(lost, 2, carve(bytes + 3));
	/* Pointers in what is left of a block keep nothing alive; those in the program's own memory do. */
	given = carve(bytes + 4);
	set_word(given, 0, carve(bytes + 5));
	seep_pool_free(given);
	/* Not at the end of a block. */
	next += 64;
}

static APART void chunk(size_t chunk_bytes, size_t header_bytes, size_t bytes)
{
	char *made = (char *)block(chunk_bytes);

	leak_keep[0] = made;
	next = made + header_bytes;
	seep_pool_add(next, chunk_bytes - header_bytes);
	carve_some(bytes);
}

static APART void in_heap(void)
{
	chunk(100000, 64, 304);
	clobber_stack();
}

static APART void in_chunk_mapping(void)
{
	chunk(1 << 20, 64, 320);
	clobber_stack();
}

/* The chunk has 32 bytes left: its cell has no room for another block. */
static APART void small_chunk(void)
{
	chunk(4000, 32, 336);
	clobber_stack();
}

static APART void without_header(void)
{
	chunk(100000, 0, 352);
	clobber_stack();
}

/* What leads from one chunk to the next is in its header. */
static APART void chain_of_chunks(void)
{
	char *outer = (char *)block(50000);

	leak_keep[2] = outer;
	seep_pool_add(outer + 48, 50000 - 48);
	chunk(60000, 64, 368);
	set_word(outer, 0, leak_keep[0]);
	leak_keep[0] = NULL;
	clobber_stack();
}

static APART void in_static_memory(void)
{
	static _Alignas(32) char memory[10000];

	leak_keep[0] = block(1000);
	next = memory;
	seep_pool_add(memory, sizeof(memory));
	carve_some(384);
	clobber_stack();
}

static APART void in_own_mapping(void)
{
	next = (char *)mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	EXPECT(next != MAP_FAILED);
	leak_keep[0] = block(1000);
	seep_pool_add(next, 1 << 20);
	carve_some(400);
	clobber_stack();
}

static APART void large_blocks(void)
{
	chunk(1 << 20, 64, 40960);
	clobber_stack();
}

static APART void chunk_lost(void)
{
	chunk(70000, 64, 416);
	leak_keep[0] = leak_keep[1] = NULL;
	next = NULL;
	clobber_stack();
}

static APART void removed(void)
{
	chunk(80000, 64, 432);
	seep_pool_remove((char *)leak_keep[0] + 64, 80000 - 64);
	leak_keep[0] = leak_keep[1] = NULL;
	next = NULL;
	clobber_stack();
}

#define SOME(a, b, c, d) "REACHABLE " a " 1; REACHABLE " b " 1; LOST " c " 1 with " d " 1"

static const struct leak_case cases[] = {
	{ "in_heap", "P1", "REACHABLE 64 1; " SOME("304", "305", "306", "307") "; LOST 309 1",
	  "fast no-lsan no-valgrind", in_heap },
	{ "in_chunk_mapping", "P1",
	  "REACHABLE 64 1; " SOME("320", "321", "322", "323") "; LOST 325 1", "no-lsan no-valgrind",
	  in_chunk_mapping },
	{ "small_chunk", "P1", "REACHABLE 32 1; " SOME("336", "337", "338", "339") "; LOST 341 1",
	  "no-lsan no-valgrind", small_chunk },
	{ "without_header", "P1", SOME("352", "353", "354", "355") "; LOST 357 1",
	  "no-lsan no-valgrind", without_header },
	{ "chain_of_chunks", "P1",
	  "REACHABLE 48 1; REACHABLE 64 1; " SOME("368", "369", "370", "371") "; LOST 373 1",
	  "no-lsan no-valgrind", chain_of_chunks },
	{ "in_static_memory", "P2", SOME("384", "385", "386", "387") "; REACHABLE 389 1",
	  "no-lsan no-valgrind", in_static_memory },
	{ "in_own_mapping", "P2", SOME("400", "401", "402", "403") "; REACHABLE 405 1",
	  "no-lsan no-valgrind", in_own_mapping },
	{ "large_blocks", "P1",
	  "REACHABLE 64 1; " SOME("40960", "40961", "40962", "40963") "; LOST 40965 1",
	  "no-lsan no-valgrind", large_blocks },
	{ "chunk_lost", "P3", "LOST 64 1; LOST 416 1 with 417 1; LOST 418 1 with 419 1; LOST 421 1",
	  "no-lsan no-valgrind", chunk_lost },
	{ "removed", "P3", "LOST 64 1", "no-lsan no-valgrind", removed },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
