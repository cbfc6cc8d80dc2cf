/* SPDX-License-Identifier: MIT */
/*
 * Calls through code that it made itself, and says in a perf map what that code is called, as JIT
 * compilers do. The argument says what kind of file it leaves in /tmp: "map", "killed" (and dies by
 * SIGKILL), "link" to a map elsewhere ($TRUTH_FILE.map), "fifo", "odd" (lines that are none).
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "truth.h"

enum { BYTES = 48, ROUNDS = 100, CODE_BYTES = 4096, STEP_BYTES = 256 };

TRUTH_SITE(allocates);

static const unsigned char code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	0xff, 0xd7,	  /* call *%rdi */
	0x5d, 0xc3,	  /* pop %rbp; ret */
};

static SITE void allocates(void)
{
	TRUTH_TEMPORARY(allocates, BYTES);
}

static SITE void calls(void (*generated)(void (*)(void)))
{
	for (int i = 0; i < ROUNDS; i++)
		generated(allocates);
}

static void write_map(const char *path, const unsigned char *at, int odd)
{
	FILE *map = fopen(path, "w");

	if (!map)
		return;
	fprintf(map, "%" PRIxPTR " %x outdated\n", (uintptr_t)at, STEP_BYTES);
	if (odd) {
		fprintf(map, "\n \nzz 1 x\n-1 1 x\n1 x\n%" PRIxPTR "\n%" PRIxPTR " 100\n",
			(uintptr_t)at, (uintptr_t)at);
		fprintf(map, "ffffffffffffffff ffffffffffffffff wraps\n11111111111111111 2 long\n");
		fprintf(map, "0 1 ");
		for (int i = 0; i < 100000; i++)
			fputc('x', map);
		fputc('\n', map);
	}
	fprintf(map, "%" PRIxPTR " %zx JS:*first thing /a b.js:1\n", (uintptr_t)at, sizeof(code));
	fprintf(map, "%" PRIxPTR " %x \x1b[31msecond\n", (uintptr_t)at + STEP_BYTES, STEP_BYTES);
	fprintf(map, "%" PRIxPTR " %x unfinished", (uintptr_t)at, STEP_BYTES);
	fclose(map);
}

static void leave(const char *kind, const unsigned char *at)
{
	char path[64];
	char elsewhere[4096];

	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s.map", getenv("TRUTH_FILE"));
	(void)unlink(path); /* of an earlier process with this pid */
	if (strcmp(kind, "link") == 0) {
		write_map(elsewhere, at, 0);
		EXPECT(symlink(elsewhere, path) == 0);
	} else if (strcmp(kind, "fifo") == 0) {
		EXPECT(mkfifo(path, 0600) == 0);
	} else {
		write_map(path, at, strcmp(kind, "odd") == 0);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "map";
	unsigned char *at = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(at != MAP_FAILED);
	memcpy(at, code, sizeof(code));
	memcpy(at + STEP_BYTES, code, sizeof(code));
	calls((void (*)(void (*)(void)))(uintptr_t)at);
	calls((void (*)(void (*)(void)))(uintptr_t)(at + STEP_BYTES));
	leave(kind, at);
	truth_print();
	if (strcmp(kind, "killed") == 0)
		(void)raise(SIGKILL);
	return truth_failures;
}
