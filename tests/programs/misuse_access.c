/* SPDX-License-Identifier: MIT */
/* Accesses outside of a block and after its free, and right ones up to its last byte. */
#include "misuse_case.h"

#include <malloc.h>
#include <signal.h>

enum { LARGE = 1 << 20 };

static char read_last;

/* ---- outside of a block ------------------------------------------------------------------- */

static void behind_by_1(void)
{
	void *made = block(900);

	scribble(made, 900, 1);
	release(made);
}

static void behind_at_7(void)
{
	void *made = block(901);

	scribble(made, 908, 1);
	release(made);
}

static void behind_by_8_of_even(void)
{
	void *made = block(1024);

	scribble(made, 1024, 8);
	release(made);
}

static void behind_of_text(void)
{
	char *made = block(16);

	strcpy(made, opaque("sixteen letters."));
	release(made);
}

static void behind_of_large(void)
{
	void *made = block(LARGE + 3);

	scribble(made, LARGE + 3, 1);
	release(made);
}

static void behind_of_aligned(void)
{
	void *made = block_aligned(256, 902);

	scribble(made, 902, 1);
	release(made);
}

static void behind_of_zeroed(void)
{
	void *made = opaque(calloc(1, 903));

	HERE(behind_of_zeroed);
	scribble(made, 903, 1);
	release(made);
}

static void behind_of_none(void)
{
	void *made = opaque(malloc(0));

	HERE(behind_of_none);
	scribble(made, 0, 1);
	release(made);
}

static void behind_seen_by_realloc(void)
{
	void *made = block(904);

	scribble(made, 904, 1);
	leak_keep[0] = resize(made, 2000);
}

static void behind_after_realloc(void)
{
	void *made = resize(block(905), 300);

	scribble(made, 300, 1);
	release(made);
}

static void behind_never_freed(void)
{
	leak_keep[0] = block(906);
	scribble(leak_keep[0], 906, 1);
}

static void in_front_by_1(void)
{
	void *made = block(907);

	scribble(made, -1, 1);
	release(made);
}

static void in_front_by_8(void)
{
	void *made = block(908);

	scribble(made, -8, 1);
	release(made);
}

static void in_front_of_aligned(void)
{
	void *made = block_aligned(256, 909);

	scribble(made, -1, 1);
	release(made);
}

static void in_front_never_freed(void)
{
	leak_keep[0] = block(910);
	scribble(leak_keep[0], -1, 1);
}

static APART void read_from(void *block, size_t at)
{
	read_last = ((volatile char *)opaque(block))[at];
	HERE(read_from);
}

static void behind_read(void)
{
	char *made = block(912);

	read_from(made, 912);
	release(made);
}

static void all_bytes_written(void)
{
	size_t bytes;

	for (bytes = 0; bytes < 300; bytes++) {
		char *made = block(bytes);

		scribble(made, 0, malloc_usable_size(made));
		made = resize(made, bytes + 1 + bytes / 2);
		scribble(made, 0, bytes + 1 + bytes / 2);
		made = resize(made, bytes / 2 + 1);
		scribble(made, 0, bytes / 2 + 1);
		release(made);
		made = opaque(calloc(1, bytes + 1));
		scribble(made, 0, bytes + 1);
		release(made);
	}
	for (bytes = 16; bytes <= 65536; bytes *= 4) {
		char *made = block_aligned(bytes, 333);
		void *other = NULL;

		EXPECT(((uintptr_t)made & (bytes - 1)) == 0);
		scribble(made, 0, 333);
		release(made);
		EXPECT(posix_memalign(&other, bytes, bytes + 1) == 0);
		scribble(other, 0, bytes + 1);
		other = resize(other, 3 * bytes);
		scribble(other, 0, 3 * bytes);
		release(other);
	}
}

/* ---- after the free ----------------------------------------------------------------------- */

static void written_after(void)
{
	void *made = block(950);

	release(made);
	scribble(made, 5, 1);
}

static void written_after_at_end(void)
{
	void *made = block(951);

	release(made);
	scribble(made, 950, 1);
}

static void written_after_realloc(void)
{
	void *made = block(952);

	leak_keep[0] = block(952);
	leak_keep[1] = resize(made, 100000);
	EXPECT(leak_keep[1] != made);
	scribble(made, 100, 4);
}

/* Not the end finds it, as there is none: its turn to be given back. */
static void written_after_and_given_back(void)
{
	void *made = block(953);
	size_t i;

	release(made);
	scribble(made, 7, 1);
	for (i = 0; i < 4096; i++)
		release(churn(65536));
	kill(getpid(), SIGKILL);
}

static void read_after(void)
{
	char *made = block(954);

	release(made);
	read_from(made, 5);
}

static void written_when_reused(void)
{
	void *made = block(955);

	release(made);
	leak_keep[0] = block(955);
	EXPECT(leak_keep[0] == made);
	scribble(made, 5, 1);
}

#define BEHIND "rear-guard * alloc=block here=release "
#define FRONT "front-guard * alloc=block here=release "
#define AFTER "use-after-free * alloc=block freed=release "

static const struct leak_case cases[] = {
	{ "behind_by_1", "I5", BEHIND "size=900 offset=900", "guard", behind_by_1 },
	{ "behind_at_7", "I5", BEHIND "size=901 offset=908", "guard", behind_at_7 },
	{ "behind_by_8_of_even", "I5", BEHIND "size=1024 offset=1024", "guard",
	  behind_by_8_of_even },
	{ "behind_of_text", "I5", BEHIND "size=16 offset=16", "guard", behind_of_text },
	{ "behind_of_large", "I5", BEHIND "size=1048579 offset=1048579", "guard", behind_of_large },
	{ "behind_of_aligned", "I5",
	  "rear-guard * size=902 offset=902 alloc=block_aligned here=release", "guard",
	  behind_of_aligned },
	{ "behind_of_zeroed", "I5",
	  "rear-guard * size=903 offset=903 alloc=behind_of_zeroed here=release", "guard",
	  behind_of_zeroed },
	{ "behind_of_none", "I5", "rear-guard * size=0 offset=0 alloc=behind_of_none here=release",
	  "guard", behind_of_none },
	{ "behind_seen_by_realloc", "I5",
	  "rear-guard * size=904 offset=904 alloc=block here=resize", "guard",
	  behind_seen_by_realloc },
	{ "behind_after_realloc", "I5",
	  "rear-guard * size=300 offset=300 alloc=resize here=release", "guard",
	  behind_after_realloc },
	{ "behind_never_freed", "I5", "rear-guard * size=906 offset=906 alloc=block", "guard",
	  behind_never_freed },
	{ "in_front_by_1", "I5", FRONT "size=907 offset=-1", "guard", in_front_by_1 },
	{ "in_front_by_8", "I5", FRONT "size=908 offset=-8", "guard", in_front_by_8 },
	{ "in_front_of_aligned", "I5",
	  "front-guard * size=909 offset=-1 alloc=block_aligned here=release", "guard",
	  in_front_of_aligned },
	{ "in_front_never_freed", "I5", "front-guard * size=910 offset=-1 alloc=block", "guard",
	  in_front_never_freed },
	{ "behind_read", "I5", "out-of-bounds * size=912 offset=912", "guard missed", behind_read },
	{ "all_bytes_written", "I7", "none", "guard", all_bytes_written },

	{ "written_after", "I6", AFTER "size=950 offset=5", "quarantine", written_after },
	{ "written_after_at_end", "I6", AFTER "size=951 offset=950", "quarantine",
	  written_after_at_end },
	{ "written_after_realloc", "I6",
	  "use-after-free * size=952 offset=100 alloc=block freed=resize", "quarantine",
	  written_after_realloc },
	{ "written_after_and_given_back", "I6", AFTER "size=953 offset=7", "quarantine",
	  written_after_and_given_back },
	{ "read_after", "I6", AFTER "size=954 offset=5 within=read_from", "sample", read_after },
	{ "trapped_after", "I6", AFTER "size=950 offset=5 within=scribble", "sample",
	  written_after },
	{ "trapped_in_front", "I5",
	  "out-of-bounds|front-guard * size=907 offset=-1 distance=-1 alloc=block", "sample",
	  in_front_by_1 },
	{ "trapped_behind", "I5",
	  "out-of-bounds|rear-guard * size=1024 offset=1024 distance=0 alloc=block", "sample",
	  behind_by_8_of_even },
	{ "right_when_trapped", "I7", "none", "sample", all_bytes_written },
	{ "written_when_reused", "I6", "use-after-free * size=955 offset=5", "reuses missed",
	  written_when_reused },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	no_core();
	return leak_main(argc, argv, cases);
}
