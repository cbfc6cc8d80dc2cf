/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Leaks by the function that allocated: each of them dropped or freed, and what it must still
 * return.
 */
#include "leak.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <malloc.h>
#include <netdb.h>
#include <regex.h>
#include <setjmp.h>
#include <wchar.h>

/* Takes what was allocated out of the compiler's and everybody's sight. */
static APART void drop(void *made)
{
	EXPECT(made);
	__asm__ volatile("" : "+r"(made)::"memory");
}

static APART void aligned(void)
{
	void *made = NULL;

	drop(aligned_alloc(64, 640));
	EXPECT(posix_memalign(&made, 64, 641) == 0);
	drop(made);
	made = NULL;
	drop(memalign(64, 642));
	drop(valloc(643));
	drop(reallocarray(NULL, 5, 129));
}

static APART void whole_pages(void)
{
	drop(pvalloc(644));
}

static APART void freed(void)
{
	void *made = NULL;

	free(aligned_alloc(64, 640));
	EXPECT(posix_memalign(&made, 64, 641) == 0);
	free(made);
	free(memalign(64, 642));
	free(valloc(643));
	free(reallocarray(NULL, 5, 129));
	free(calloc(3, 7));
	free(strdup("freed"));
}

static APART void strings(void)
{
	char *made = NULL;
	size_t room = 0;
	FILE *lines;

	drop(strdup("thirty-two characters and a zero"));
	drop(strndup("thirty-two characters and a zero", 20));
	drop(wcsdup(L"seventeen letters"));
	EXPECT(asprintf(&made, "%0*d", 200, 7) == 200);
	drop(made);
	made = NULL;
	lines = fopen("/proc/self/stat", "r");
	EXPECT(lines && getline(&made, &room, lines) > 0);
	fclose(lines);
	drop(made);
	made = NULL;
	drop(realpath("/usr/bin/../lib", NULL));
	EXPECT(chdir("/usr") == 0);
	drop(getcwd(NULL, 0));
}

static APART void directory(void)
{
	drop(opendir("/"));
}

static APART void address(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;

	EXPECT(getaddrinfo("127.0.0.1", NULL, &hints, &found) == 0);
	drop(found);
	found = NULL;
}

static APART void globbed(void)
{
	glob_t found;

	EXPECT(glob("/etc/passw[d]", 0, NULL, &found) == 0 && found.gl_pathc == 1);
	memset(&found, 0, sizeof(found));
}

static APART void expression(void)
{
	regex_t made;

	EXPECT(regcomp(&made, "a(b|c)*d", REG_EXTENDED) == 0);
	memset(&made, 0, sizeof(made));
}

static APART void scanned(void)
{
	struct dirent **names = NULL;

	EXPECT(scandir("/proc/self/task", &names, NULL, NULL) >= 2);
	drop(names);
	names = NULL;
}

static APART void open_file(void)
{
	drop(fopen("/dev/null", "r"));
}

static APART void realloc_chain(void)
{
	char *made = NULL;
	volatile size_t bytes;

	for (bytes = 10; bytes <= 960; bytes += 50) {
		made = (char *)realloc(made, bytes);
		EXPECT(made);
	}
	drop(made);
}

static APART void realloc_to_nothing(void)
{
	void *made = block(970);

	EXPECT(realloc(made, 0) == NULL);
	drop(realloc(NULL, 971));
}

static APART void realloc_fails(void)
{
	void *volatile made = block(4242);

	errno = 0;
	made = realloc(made, (size_t)PTRDIFF_MAX - 1);
	EXPECT(made == NULL && errno == ENOMEM);
}

static APART void impossible(void)
{
	volatile size_t huge = SIZE_MAX / 2 + 2;
	void *made = NULL;

	errno = 0;
	EXPECT(calloc(huge, 2) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(reallocarray(NULL, huge, 2) == NULL && errno == ENOMEM);
	EXPECT(posix_memalign(&made, 3, 10) == EINVAL && made == NULL);
	made = aligned_alloc(3, 10);
	free(made);
	errno = 0;
	EXPECT(malloc(huge) == NULL && errno == ENOMEM);
}

static APART void errno_kept(void)
{
	void *made = block(980);

	errno = 7;
	free(made);
	free(NULL);
	EXPECT(errno == 7);
}

static jmp_buf back;

static APART void jumps(void)
{
	void *volatile owner = block(5151);

	if (owner)
		longjmp(back, 1);
}

static APART void jumped_past_owner(void)
{
	if (setjmp(back) == 0)
		jumps();
}

static APART void looked_up(void)
{
	void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	void *(*first)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");

	EXPECT(next && first);
	drop(first(5202));
	free(next(5203));
}

static APART void looked_up_in_libc(void)
{
	void *library = dlopen("libc.so.6", RTLD_NOW);
	void *(*found)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");

	EXPECT(found);
	drop(found(5204));
}

static APART void sized_free(void)
{
	void (*free_sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT,
									     "free_sized");
	void *made = block(990);

	if (free_sized)
		free_sized(made, 990);
	else
		free(made);
}

static const struct leak_case cases[] = {
	{ "aligned", "F1", "LOST 640 1; LOST 641 1; LOST 642 1; LOST 643 1; LOST 645 1", "",
	  aligned },
	{ "whole_pages", "F1", "LOST 644 1", "", whole_pages },
	{ "freed", "F1", "none", "", freed },
	{ "strings", "F2",
	  "LOST 33 1; LOST 21 1; LOST 72 1; LOST 201 1; LOST * 1; LOST 9 1; LOST 5 1", "",
	  strings },
	{ "directory", "F3", "LOST * 1", "", directory },
	{ "address", "F3", "LOST * 1", "", address },
	{ "globbed", "F3", "LOST * 1 with * 1", "", globbed },
	{ "expression", "F3", "LOST 256 1; LOST * 1 with * *", "", expression },
	{ "scanned", "F3", "LOST * 1 with * *", "", scanned },
	{ "open_file", "F3", "REACHABLE * 1", "", open_file },
	{ "realloc_chain", "F4", "LOST 960 1", "", realloc_chain },
	{ "realloc_to_nothing", "F5", "LOST 971 1", "", realloc_to_nothing },
	{ "realloc_fails", "F6", "LOST 4242 1", "", realloc_fails },
	{ "impossible", "F7", "none", "", impossible },
	{ "errno_kept", "F8", "none", "", errno_kept },
	{ "jumped_past_owner", "F12", "LOST 5151 1", "", jumped_past_owner },
	{ "looked_up", "F14", "LOST 5202 1", "", looked_up },
	{ "looked_up_in_libc", "F14", "LOST 5204 1", "", looked_up_in_libc },
	{ "sized_free", "F17", "none", "", sized_free },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
