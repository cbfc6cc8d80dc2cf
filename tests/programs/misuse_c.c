/* SPDX-License-Identifier: MIT */
// build: -pthread -ldl
/* Wrong frees by C's functions, and right uses of all of them; wrong accesses are in misuse_access.c. */
#include "misuse_case.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Weak: the C library may not have them; without libseep.so, free() stands in for them. */
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment, size_t size);
void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { LARGE = 1 << 20 };

static char global[4096];
static __thread char local[256];

/* ---- no block, or the middle of one ------------------------------------------------------- */

static void middle(void)
{
	release((char *)block(640) + 16);
}

static void middle_by_1(void)
{
	release((char *)block(641) + 1);
}

static void middle_by_8(void)
{
	release((char *)block(642) + 8);
}

static void middle_of_large(void)
{
	release((char *)block(LARGE) + 12304);
}

static void middle_of_page(void)
{
	release((char *)block(LARGE + 1) + 3 * 4096 - 16);
}

static void middle_of_aligned(void)
{
	char *made = opaque(aligned_alloc(256, 1024));

	HERE(middle_of_aligned);
	release(made + 256);
}

static void last_byte(void)
{
	release((char *)block(643) + 642);
}

static void behind_the_last(void)
{
	release((char *)block(640) + 640);
}

static void resized_in_the_middle(void)
{
	resize((char *)block(644) + 16, 100);
}

static void middle_of_freed(void)
{
	char *made = block(645);

	release(made);
	release_again(made + 32);
}

/* What glibc looks at is as it should be. */
static void middle_like_a_block(void)
{
	size_t *words = block(646);

	words[2] = 0;
	words[3] = 65;
	words[11] = 65;
	release(words + 4);
}

static void of_stack(void)
{
	char area[64];

	memset(opaque(area), 0, sizeof(area));
	release(area + 16);
	memset(opaque(area), 0, sizeof(area));
}

static void of_global(void)
{
	release(global + 64);
}

static void of_thread_local(void)
{
	release((void *)(((uintptr_t)opaque(local) + 47) & ~(uintptr_t)15));
}

static void of_literal(void)
{
	release((void *)"a text that nobody allocated");
}

static void of_code(void)
{
	release((void *)of_code);
}

static void of_unaligned(void)
{
	release(global + 3);
}

static void of_low_address(void)
{
	release((void *)0x1000);
}

static void of_last_address(void)
{
	release((void *)-(uintptr_t)16);
}

static void of_no_address(void)
{
	release((void *)0x800000000000);
}

static void of_mapping(void)
{
	char *made = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	release(made + 64);
}

static void resized_of_stack(void)
{
	char area[64];

	memset(opaque(area), 0, sizeof(area));
	resize(area + 16, 100);
	memset(opaque(area), 0, sizeof(area));
}

/* ---- twice -------------------------------------------------------------------------------- */

static void twice(void)
{
	void *made = block(700);

	release(made);
	release_again(made);
}

static void twice_with_another_between(void)
{
	void *made = block(40), *other = block(40);

	release(made);
	release(other);
	release_again(made);
}

static void twice_of_large(void)
{
	void *made = block(LARGE + 2);

	release(made);
	release_again(made);
}

static void twice_of_small(void)
{
	void *made = block(1);

	release(made);
	release_again(made);
}

static void twice_of_none(void)
{
	void *made = malloc(0);

	HERE(twice_of_none);
	release(made);
	release_again(made);
}

static void twice_of_aligned(void)
{
	void *made = opaque(memalign(4096, 701));

	HERE(twice_of_aligned);
	release(made);
	release_again(made);
}

static void twice_of_zeroed(void)
{
	void *made = opaque(calloc(3, 234));

	HERE(twice_of_zeroed);
	release(made);
	release_again(made);
}

static void twice_of_copied(void)
{
	char *made = opaque(strdup("a text of 24 characters"));

	HERE(twice_of_copied);
	release(made);
	release_again(made);
}

/* glibc looks only at the first block of its list then. */
static void twice_behind_full_cache(void)
{
	void *full[8], *made = block(48), *other = block(48);
	size_t i;

	for (i = 0; i < 8; i++)
		full[i] = block(48);
	for (i = 0; i < 8; i++)
		free(opaque(full[i]));
	release(made);
	release(other);
	release_again(made);
}

/* What glibc notes in a freed block has gone. */
static void twice_and_written_between(void)
{
	void *made = block(702);

	release(made);
	scribble(made, 8, 8);
	release_again(made);
}

static APART void *thread_release(void *made)
{
	pthread_setname_np(pthread_self(), "misuser");
	free(opaque(made));
	HERE(thread_release);
	return NULL;
}

static void join_release(void *made)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, thread_release, made) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

static void twice_first_by_thread(void)
{
	void *made = block(703);

	join_release(made);
	release_again(made);
}

static void twice_then_by_thread(void)
{
	void *made = block(704);

	release(made);
	join_release(made);
}

static pthread_key_t key;

static APART void release_local(void *made)
{
	free(opaque(made));
	HERE(release_local);
}

static void *thread_with_local(void *made)
{
	EXPECT(pthread_setspecific(key, made) == 0);
	release(made);
	return NULL;
}

static void twice_at_thread_end(void)
{
	pthread_t thread;

	EXPECT(pthread_key_create(&key, release_local) == 0);
	EXPECT(pthread_create(&thread, NULL, thread_with_local, block(705)) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

static void moved(void)
{
	void *made = block(706);

	leak_keep[0] = block(706);
	leak_keep[1] = resize(made, 100000);
	EXPECT(leak_keep[1] != made);
	release_again(made);
}

static void resized_after(void)
{
	void *made = block(707);

	release(made);
	leak_keep[0] = resize(made, 1000);
}

static void resized_to_nothing(void)
{
	void *made = block(708);

	resize(made, 0);
	release_again(made);
}

static void array_resized_after(void)
{
	void *made = block(709);

	release(made);
	leak_keep[0] = opaque(reallocarray(opaque(made), 3, 400));
	HERE(array_resized_after);
}

/* The second free is of another block, which had just got that address. */
static void freed_for_another(void)
{
	void *made = block(710), *next;

	release(made);
	next = block(710);
	EXPECT(next == made);
	release(made);
	EXPECT(block(710) == next);
}

static void freed_for_another_and_again(void)
{
	void *made = block(711), *next;

	release(made);
	next = block(711);
	EXPECT(next == made);
	release(made);
	release_again(next);
}

/* Its place is inside another block by now. */
static void freed_and_covered(void)
{
	char *made[8], *next;
	size_t i;

	for (i = 0; i < 8; i++)
		made[i] = block(2000);
	leak_keep[0] = block(2000);
	for (i = 0; i < 8; i++)
		release(made[i]);
	next = leak_keep[1] = block(2016 * 6);
	EXPECT(next == made[0]);
	release_again(made[2]);
}

/* As freed_for_another, where freed blocks wait: nobody else had got the address. */
static void freed_while_waiting(void)
{
	void *made = block(712);

	release(made);
	leak_keep[0] = block(712);
	release_again(made);
}

static void twice_after_many_others(void)
{
	void *made = block(713);
	size_t i;

	release(made);
	for (i = 0; i < 20000; i++)
		release(churn(713 + 32 * (i % 5)));
	release_again(made);
}

static void *handled;

static void handle_release(int number)
{
	(void)number;
	release(handled);
	release_again(handled);
	HERE(handle_release);
}

static void in_handler(void)
{
	handled = block(714);
	signal(SIGUSR1, handle_release);
	raise(SIGUSR1);
}

static void release_handled(void)
{
	release_again(handled);
	HERE(release_handled);
}

static void at_exit(void)
{
	handled = block(715);
	release(handled);
	EXPECT(atexit(release_handled) == 0);
}

static sigjmp_buf back;

static void handle_abort(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* A program that goes on after glibc's abort. */
static void going_on(void)
{
	void *made = block(716);

	signal(SIGABRT, handle_abort);
	if (sigsetjmp(back, 1) == 0) {
		release(made);
		release_again(made);
	}
	say("went on\n");
}

static void join_child(pid_t child)
{
	int status;

	EXPECT(child >= 0 && waitpid(child, &status, 0) == child);
}

static void in_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		void *made = block(717);

		release(made);
		release_again(made);
		_exit(0);
	}
	join_child(child);
}

static void inherited_in_child(void)
{
	void *made = block(718);
	pid_t child = fork();

	if (child == 0) {
		release(made);
		release_again(made);
		_exit(0);
	}
	join_child(child);
	release(made);
}

static void middle_in_child(void)
{
	char *made = block(719);
	pid_t child = fork();

	if (child == 0) {
		release(made + 16);
		_exit(0);
	}
	join_child(child);
	release(made);
}

/* ---- C23's frees -------------------------------------------------------------------------- */

static APART void release_sized(void *block, size_t bytes)
{
	if (free_sized)
		free_sized(opaque(block), bytes);
	else
		free(opaque(block));
	HERE(release_sized);
}

static APART void release_aligned_sized(void *block, size_t alignment, size_t bytes)
{
	if (free_aligned_sized)
		free_aligned_sized(opaque(block), alignment, bytes);
	else
		free(opaque(block));
	HERE(release_aligned_sized);
}

static void sized_right(void)
{
	release_sized(block(800), 800);
	release_sized(opaque(calloc(2, 400)), 800);
	release_sized(resize(block(10), 801), 801);
	release_sized(NULL, 5);
	release_aligned_sized(block_aligned(64, 802), 64, 802);
	release_aligned_sized(NULL, 64, 5);
}

static void sized_wrong(void)
{
	release_sized(block(803), 804);
}

static void sized_of_aligned(void)
{
	release_sized(block_aligned(64, 805), 805);
}

static void aligned_sized_of_plain(void)
{
	release_aligned_sized(block(806), 16, 806);
}

static void aligned_sized_wrong_size(void)
{
	release_aligned_sized(block_aligned(64, 807), 64, 8);
}

static void aligned_sized_wrong_alignment(void)
{
	release_aligned_sized(block_aligned(64, 808), 128, 808);
}

static void sized_twice(void)
{
	void *made = block(809);

	release(made);
	release_sized(made, 809);
}

/* ---- of other allocators, and right ------------------------------------------------------- */

static void of_other_libc(void)
{
	void *other = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void *(*their_malloc)(size_t);

	EXPECT(other);
	their_malloc = (void *(*)(size_t))dlsym(other, "malloc");
	EXPECT(their_malloc);
	release(their_malloc(720));
}

static void of_private_malloc(void)
{
	release(opaque(__libc_malloc(721)));
	release(opaque(__libc_memalign(64, 722)));
	release(resize(opaque(__libc_malloc(723)), 3000));
	release(opaque(__libc_malloc(LARGE + 4)));
}

static void of_own_pool(void)
{
	release(global + 128 + ((16 - (uintptr_t)global) & 15));
}

static void right_functions(void)
{
	char *line = NULL;
	void *made = NULL;
	size_t room = 0;

	free(NULL);
	release(opaque(calloc(3, 5)));
	release(opaque(memalign(64, 5)));
	release(opaque(valloc(5)));
	release(opaque(reallocarray(NULL, 3, 5)));
	release(opaque(strdup("text")));
	EXPECT(posix_memalign(&made, 64, 5) == 0);
	release(resize(made, 5000));
	EXPECT(asprintf(&line, "%d", 5) == 1);
	release(line);
	line = NULL;
	EXPECT(getline(&line, &room, stdin) < 0);
	release(line);
	EXPECT(!resize(block(5), 0));
	release(resize(NULL, 5));
	EXPECT(!resize(made = block(6), PTRDIFF_MAX));
	release(made);
	join_release(block(7));
}

static void right_whole_pages(void)
{
	release(opaque(pvalloc(5)));
}

static void right_many_times(void)
{
	void *made[64] = { NULL };
	size_t i, at, bytes;

	for (i = 0; i < 200000; i++) {
		at = i * 7919 % 64;
		bytes = i * 31 % 3000;
		if (i % 3)
			made[at] = resize(made[at], bytes + 1);
		else
			release(made[at]), made[at] = block(bytes);
	}
	for (i = 0; i < 64; i++)
		release(made[i]);
}

#define UNKNOWN "unknown-free free here=release"
#define TWICE "double-free free offset=0 alloc=block freed=release here=release_again "
#define MIDDLE "interior-free free alloc=block here=release "

static const struct leak_case cases[] = {
	{ "middle", "I3", MIDDLE "size=640 offset=16", "", middle },
	{ "middle_by_1", "I3", MIDDLE "size=641 offset=1", "", middle_by_1 },
	{ "middle_by_8", "I3", MIDDLE "size=642 offset=8", "", middle_by_8 },
	{ "middle_of_large", "I3", MIDDLE "size=1048576 offset=12304", "", middle_of_large },
	{ "middle_of_page", "I3", MIDDLE "size=1048577 offset=12272", "", middle_of_page },
	{ "middle_of_aligned", "I3",
	  "interior-free free alloc=middle_of_aligned here=release size=1024 offset=256", "",
	  middle_of_aligned },
	{ "last_byte", "I3", MIDDLE "size=643 offset=642", "", last_byte },
	{ "behind_the_last", "I3", "unknown-free|interior-free free here=release", "",
	  behind_the_last },
	{ "resized_in_the_middle", "I3",
	  "interior-free realloc size=644 offset=16 alloc=block here=resize", "",
	  resized_in_the_middle },
	{ "middle_of_freed", "I3", "unknown-free free here=release_again", "", middle_of_freed },
	{ "middle_like_a_block", "I3", MIDDLE "size=646 offset=32", "missed", middle_like_a_block },
	{ "of_stack", "I3", UNKNOWN, "", of_stack },
	{ "of_global", "I3", UNKNOWN, "", of_global },
	{ "of_thread_local", "I3", UNKNOWN, "", of_thread_local },
	{ "of_literal", "I3", UNKNOWN, "", of_literal },
	{ "of_code", "I3", UNKNOWN, "", of_code },
	{ "of_unaligned", "I3", UNKNOWN, "", of_unaligned },
	{ "of_low_address", "I3", UNKNOWN, "", of_low_address },
	{ "of_last_address", "I3", UNKNOWN, "", of_last_address },
	{ "of_no_address", "I3", UNKNOWN, "", of_no_address },
	{ "resized_of_stack", "I3", "unknown-free realloc here=resize", "", resized_of_stack },

	{ "twice", "I4", TWICE "size=700", "fast", twice },
	{ "twice_with_another_between", "I4", TWICE "size=40", "", twice_with_another_between },
	{ "twice_of_large", "I4", TWICE "size=1048578", "", twice_of_large },
	{ "twice_of_small", "I4", TWICE "size=1", "", twice_of_small },
	{ "twice_of_none", "I4",
	  "double-free free offset=0 size=0 alloc=twice_of_none freed=release here=release_again",
	  "", twice_of_none },
	{ "twice_of_aligned", "I4",
	  "double-free free size=701 alloc=twice_of_aligned freed=release here=release_again", "",
	  twice_of_aligned },
	{ "twice_of_zeroed", "I4",
	  "double-free free size=702 alloc=twice_of_zeroed freed=release here=release_again", "",
	  twice_of_zeroed },
	{ "twice_of_copied", "I4", "double-free free size=24 freed=release here=release_again", "",
	  twice_of_copied },
	{ "twice_behind_full_cache", "I4", TWICE "size=48", "", twice_behind_full_cache },
	{ "twice_and_written_between", "I4", TWICE "size=702", "no-quarantine",
	  twice_and_written_between },
	{ "twice_first_by_thread", "I4",
	  "double-free free size=703 alloc=block freed=thread_release here=release_again", "",
	  twice_first_by_thread },
	{ "twice_then_by_thread", "I4",
	  "double-free free size=704 alloc=block freed=release here=thread_release thread=misuser",
	  "", twice_then_by_thread },
	{ "twice_at_thread_end", "I4",
	  "double-free free size=705 alloc=block freed=release here=release_local", "",
	  twice_at_thread_end },
	{ "moved", "I4", "double-free free size=706 alloc=block freed=resize here=release_again",
	  "", moved },
	{ "resized_after", "I4",
	  "double-free realloc size=707 alloc=block freed=release here=resize", "", resized_after },
	{ "resized_to_nothing", "I4",
	  "double-free free size=708 alloc=block freed=resize here=release_again", "",
	  resized_to_nothing },
	{ "array_resized_after", "I4",
	  "double-free realloc size=709 alloc=block freed=release here=array_resized_after", "",
	  array_resized_after },
	{ "freed_for_another", "I4", "none", "reuses", freed_for_another },
	{ "freed_for_another_and_again", "I4", TWICE "size=711", "reuses",
	  freed_for_another_and_again },
	{ "freed_and_covered", "I4", "double-free|interior-free free here=release_again", "reuses",
	  freed_and_covered },
	{ "freed_while_waiting", "I4", TWICE "size=712", "quarantine", freed_while_waiting },
	{ "twice_after_many_others", "I4",
	  "double-free free size=713 alloc=churn freed=release here=release_again", "reuses",
	  twice_after_many_others },
	{ "in_handler", "I4", TWICE "size=714 within=handle_release", "", in_handler },
	{ "at_exit", "I4", TWICE "size=715 within=release_handled", "", at_exit },
	{ "going_on", "I4", TWICE "size=716", "", going_on },
	{ "in_child", "I4", TWICE "size=717", "", in_child },
	{ "inherited_in_child", "I4", "double-free free size=718 freed=release here=release_again",
	  "", inherited_in_child },
	{ "middle_in_child", "I4", "interior-free free size=719 offset=16 here=release", "",
	  middle_in_child },

	{ "sized_right", "I9", "none", "", sized_right },
	{ "sized_wrong", "I2",
	  "size-mismatch free_sized size=803 expected=803 actual=804 alloc=block "
	  "here=release_sized",
	  "c23", sized_wrong },
	{ "sized_of_aligned", "I1",
	  "mismatched-free free_sized size=805 actual=free_sized alloc=block_aligned "
	  "here=release_sized",
	  "c23", sized_of_aligned },
	{ "aligned_sized_of_plain", "I1",
	  "mismatched-free free_aligned_sized size=806 actual=free_aligned_sized alloc=block "
	  "here=release_aligned_sized",
	  "c23", aligned_sized_of_plain },
	{ "aligned_sized_wrong_size", "I2",
	  "size-mismatch free_aligned_sized size=807 expected=807 actual=8 alloc=block_aligned "
	  "here=release_aligned_sized",
	  "c23", aligned_sized_wrong_size },
	{ "aligned_sized_wrong_alignment", "I2",
	  "align-mismatch free_aligned_sized size=808 expected=64 actual=128 alloc=block_aligned "
	  "here=release_aligned_sized",
	  "c23", aligned_sized_wrong_alignment },
	{ "sized_twice", "I4",
	  "double-free free_sized size=809 alloc=block freed=release here=release_sized", "c23",
	  sized_twice },

	{ "of_mapping", "I8", UNKNOWN, "", of_mapping },
	{ "of_own_pool", "I8", UNKNOWN, "", of_own_pool },
	{ "of_other_libc", "I8", UNKNOWN, "missed", of_other_libc },
	{ "of_private_malloc", "I8", "none", "", of_private_malloc },
	{ "right_functions", "I9", "none", "", right_functions },
	{ "right_whole_pages", "I9", "none", "", right_whole_pages },
	{ "right_many_times", "I9", "none", "", right_many_times },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	no_core();
	return leak_main(argc, argv, cases);
}
