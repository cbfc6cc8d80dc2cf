/* SPDX-License-Identifier: MIT */
/*
 * Every allocation function of the C library, each through its own counted function, with the
 * results, errno, alignment and usable sizes that glibc documents asserted on the way. Odd sizes
 * make requested and usable bytes differ, so a recording that stores the wrong one is seen.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <wchar.h>

#include "truth.h"

enum { ROUNDS = 1000 };

TRUTH_MAKER(api_malloc, malloc(bytes));
TRUTH_SITE(api_calloc);
TRUTH_MAKER(api_realloc_first, realloc(NULL, bytes));
TRUTH_SITE(api_realloc_grown);
TRUTH_SITE(api_reallocarray);
TRUTH_SITE(api_memalign);
TRUTH_SITE(api_posix_memalign);
TRUTH_SITE(api_aligned_alloc);
TRUTH_SITE(api_valloc);
TRUTH_SITE(api_pvalloc);
TRUTH_SITE(api_strdup);
TRUTH_SITE(api_strndup);
TRUTH_SITE(api_wcsdup);
TRUTH_SITE(api_malloc_zero);
TRUTH_SITE(api_calloc_zero);
TRUTH_SITE(api_realloc_zero);
TRUTH_SITE(api_realloc_to_zero);
/* Above the mmap threshold, and above what fits 30 bits of size. */
TRUTH_MAKER(api_big, malloc(bytes));
TRUTH_SITE(api_failures);
TRUTH_SITE(api_realloc_fails);
TRUTH_SITE(api_errno_kept);
TRUTH_SITE(api_free_sized);
TRUTH_SITE_KNOWN(api_asprintf, TRUTH_LIVE);
TRUTH_SITE_KNOWN(api_getcwd, TRUTH_LIVE);
TRUTH_SITE_KNOWN(api_getline, TRUTH_LIVE);
TRUTH_SITE_KNOWN(api_realpath, TRUTH_LIVE_COUNT);

static void *kept[32 * ROUNDS];
static size_t kept_count;

/* Blocks that stay allocated stay reachable. */
static void keep(void *block)
{
	kept[kept_count++ % (sizeof(kept) / sizeof(*kept))] = block;
}

static void done_with(struct truth_site *site, void *block, size_t bytes, int round)
{
	EXPECT(block != NULL);
	EXPECT(malloc_usable_size(block) >= bytes);
	memset(block, 0x5a, bytes);
	if (round % 4 == 0) {
		keep(block);
		return;
	}
	free(block);
	truth_freed(site, bytes);
}

static SITE void *api_calloc(size_t n, size_t bytes)
{
	unsigned char *block = (unsigned char *)calloc(n, bytes);
	size_t i;

	truth_alloced(&site_api_calloc, n * bytes);
	for (i = 0; i < n * bytes; i++)
		EXPECT(block[i] == 0);
	return block;
}

static SITE void *api_realloc_grown(void *block, size_t bytes)
{
	void *grown = realloc(block, bytes);

	truth_alloced(&site_api_realloc_grown, bytes);
	return grown;
}

static SITE void *api_reallocarray(void *block, size_t n, size_t bytes)
{
	void *grown = reallocarray(block, n, bytes);

	truth_alloced(&site_api_reallocarray, n * bytes);
	return grown;
}

static SITE void *api_memalign(size_t alignment, size_t bytes)
{
	void *block = memalign(alignment, bytes);

	truth_alloced(&site_api_memalign, bytes);
	EXPECT((uintptr_t)block % alignment == 0);
	return block;
}

static SITE void *api_posix_memalign(size_t alignment, size_t bytes)
{
	void *block = NULL;
	int error;

	errno = 77;
	error = posix_memalign(&block, alignment, bytes);
	truth_alloced(&site_api_posix_memalign, bytes);
	EXPECT(error == 0 && errno == 77);
	EXPECT((uintptr_t)block % alignment == 0);
	return block;
}

static SITE void *api_aligned_alloc(size_t alignment, size_t bytes)
{
	void *block = aligned_alloc(alignment, bytes);

	truth_alloced(&site_api_aligned_alloc, bytes);
	EXPECT((uintptr_t)block % alignment == 0);
	return block;
}

static SITE void *api_valloc(size_t bytes)
{
	void *block = valloc(bytes);

	truth_alloced(&site_api_valloc, bytes);
	EXPECT((uintptr_t)block % 4096 == 0);
	return block;
}

static SITE void *api_pvalloc(size_t bytes)
{
	void *block = pvalloc(bytes);

	truth_alloced(&site_api_pvalloc, bytes);
	EXPECT((uintptr_t)block % 4096 == 0);
	EXPECT(malloc_usable_size(block) >= (bytes + 4095) / 4096 * 4096);
	return block;
}

static SITE char *api_strdup(const char *text)
{
	char *copy = strdup(text);

	truth_alloced(&site_api_strdup, strlen(text) + 1);
	return copy;
}

static SITE char *api_strndup(const char *text, size_t n)
{
	char *copy = strndup(text, n);

	truth_alloced(&site_api_strndup, strnlen(text, n) + 1);
	return copy;
}

static SITE wchar_t *api_wcsdup(const wchar_t *text)
{
	wchar_t *copy = wcsdup(text);

	truth_alloced(&site_api_wcsdup, (wcslen(text) + 1) * sizeof(wchar_t));
	return copy;
}

static SITE void *api_malloc_zero(void)
{
	void *block = malloc(truth_hide(0));

	truth_alloced(&site_api_malloc_zero, 0);
	return block;
}

static SITE void *api_calloc_zero(void)
{
	void *block = calloc(truth_hide(0), 16);

	truth_alloced(&site_api_calloc_zero, 0);
	return block;
}

static SITE void *api_realloc_zero(void)
{
	void *block = realloc(NULL, truth_hide(0));

	truth_alloced(&site_api_realloc_zero, 0);
	return block;
}

/* glibc frees the block and gives NULL without touching errno: a free, not an allocation. */
static SITE void api_realloc_to_zero(size_t bytes)
{
	void *block = malloc(bytes);
	void *after;

	truth_alloced(&site_api_realloc_to_zero, bytes);
	errno = 7;
	after = realloc(block, truth_hide(0));
	EXPECT(after == NULL && errno == 7);
	truth_freed(&site_api_realloc_to_zero, bytes);
}

/* Nothing in here succeeds, so the site has no allocation at all. */
static SITE void api_failures(void)
{
	size_t huge = truth_hide((size_t)PTRDIFF_MAX + 1);
	size_t wrap = truth_hide(SIZE_MAX / 2 + 2);
	void *untouched = &truth_failures;

	errno = 0;
	EXPECT(malloc(huge) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(calloc(wrap, 2) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(calloc(huge, 1) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(realloc(NULL, huge) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(reallocarray(NULL, wrap, 2) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(memalign(64, truth_hide(SIZE_MAX - 32)) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(aligned_alloc(64, truth_hide(SIZE_MAX - 63)) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(valloc(truth_hide(SIZE_MAX - 32)) == NULL && errno == ENOMEM);
	errno = 0;
	EXPECT(pvalloc(truth_hide(SIZE_MAX - 32)) == NULL && errno == ENOMEM);
	EXPECT(posix_memalign(&untouched, truth_hide(3), 8) == EINVAL);
	EXPECT(posix_memalign(&untouched, truth_hide(4), 8) == EINVAL);
	EXPECT(posix_memalign(&untouched, truth_hide(0), 8) == EINVAL);
	EXPECT(posix_memalign(&untouched, 64, huge) == ENOMEM);
	EXPECT(untouched == &truth_failures);
}

/* A realloc that fails leaves the old block as it is, and counts nothing. */
static SITE void *api_realloc_fails(size_t bytes)
{
	unsigned char *block = (unsigned char *)malloc(bytes);
	size_t i;

	truth_alloced(&site_api_realloc_fails, bytes);
	memset(block, 0x42, bytes);
	errno = 0;
	EXPECT(realloc(truth_hide_ptr(block), truth_hide((size_t)PTRDIFF_MAX + 1)) == NULL &&
	       errno == ENOMEM);
	errno = 0;
	EXPECT(reallocarray(truth_hide_ptr(block), truth_hide(SIZE_MAX / 2 + 2), 2) == NULL &&
	       errno == ENOMEM);
	for (i = 0; i < bytes; i++)
		EXPECT(block[i] == 0x42);
	return block;
}

static SITE void api_errno_kept(size_t bytes)
{
	void *block;

	errno = 7;
	block = malloc(bytes);
	truth_alloced(&site_api_errno_kept, bytes);
	EXPECT(block != NULL && errno == 7);
	free(block);
	truth_freed(&site_api_errno_kept, bytes);
	EXPECT(errno == 7);
	free(NULL);
	EXPECT(errno == 7);
	EXPECT(malloc_usable_size(NULL) == 0 && errno == 7);
}

/* C23's forms exist in newer C libraries only; who asks for them gets the same answer. */
static void (*sized_free)(void *, size_t);
static void (*aligned_free)(void *, size_t, size_t);

static void find_sized_forms(void)
{
	*(void **)&sized_free = dlsym(RTLD_DEFAULT, "free_sized");
	*(void **)&aligned_free = dlsym(RTLD_DEFAULT, "free_aligned_sized");
}

static SITE void api_free_sized(size_t bytes)
{
	void *block;

	if (!sized_free || !aligned_free)
		return;
	block = malloc(bytes);
	truth_alloced(&site_api_free_sized, bytes);
	sized_free(block, bytes);
	truth_freed(&site_api_free_sized, bytes);
	block = aligned_alloc(64, bytes);
	truth_alloced(&site_api_free_sized, bytes);
	aligned_free(block, 64, bytes);
	truth_freed(&site_api_free_sized, bytes);
}

static SITE char *api_asprintf(int number)
{
	char *text = NULL;
	int length = asprintf(&text, "%0*d", 100 + number % 300, number);

	truth_alloced(&site_api_asprintf, (size_t)length + 1);
	return text;
}

static SITE char *api_getcwd(void)
{
	char *path = getcwd(NULL, 0);

	if (path)
		truth_alloced(&site_api_getcwd, strlen(path) + 1);
	return path;
}

static SITE char *api_realpath(void)
{
	char *path = realpath("/proc/self/../../", NULL);

	EXPECT(path && strcmp(path, "/") == 0);
	if (path)
		truth_alloced(&site_api_realpath, 2);
	return path;
}

static SITE char *api_getline(FILE *file, ssize_t length)
{
	char *line = NULL;
	size_t size = 0;

	EXPECT(getline(&line, &size, file) == length);
	truth_alloced(&site_api_getline, size);
	return line;
}

static void line_of_300(void)
{
	static char stdio_buffer[4096];
	FILE *file = tmpfile();
	int i;

	if (!file)
		return;
	(void)setvbuf(file, stdio_buffer, _IOFBF, sizeof(stdio_buffer));
	for (i = 0; i < 300; i++)
		(void)fputc('x', file);
	rewind(file);
	keep(api_getline(file, 300));
	(void)fclose(file);
}

static void plain_round(int i)
{
	size_t odd = (size_t)(i % 777) + 1;

	done_with(&site_api_malloc, api_malloc(odd), odd, i);
	done_with(&site_api_calloc, api_calloc(3, odd), 3 * odd, i);
	done_with(&site_api_memalign, api_memalign(64, odd + 1), odd + 1, i);
	done_with(&site_api_memalign, api_memalign(1 << (i % 13), odd), odd, i);
	done_with(&site_api_posix_memalign, api_posix_memalign(32, 641), 641, i);
	done_with(&site_api_aligned_alloc, api_aligned_alloc(128, 640), 640, i);
	if (i % 50 == 0) {
		done_with(&site_api_valloc, api_valloc(643), 643, i);
		done_with(&site_api_pvalloc, api_pvalloc(644), 644, i);
	}
}

static void realloc_round(int i)
{
	size_t odd = (size_t)(i % 333) + 1;
	void *block = api_realloc_first(odd);

	memset(block, 1, odd);
	block = api_realloc_grown(block, 3 * odd);
	truth_freed(&site_api_realloc_first, odd);
	block = api_reallocarray(block, 5, odd);
	truth_freed(&site_api_realloc_grown, 3 * odd);
	done_with(&site_api_reallocarray, block, 5 * odd, i);
	block = api_realloc_first(4 * odd);
	block = api_realloc_grown(block, odd);
	truth_freed(&site_api_realloc_first, 4 * odd);
	done_with(&site_api_realloc_grown, block, odd, i);
}

static void text_round(int i)
{
	static const char text[] = "eleven more words than anybody would ever want to read here";
	static const wchar_t wide[] = L"wide words";
	size_t n = (size_t)(i % 100);

	done_with(&site_api_strdup, api_strdup(text + i % 40), strlen(text + i % 40) + 1, i);
	done_with(&site_api_strndup, api_strndup(text, n), strnlen(text, n) + 1, i);
	done_with(&site_api_wcsdup, api_wcsdup(wide + i % 8),
		  (wcslen(wide + i % 8) + 1) * sizeof(wchar_t), i);
	if (i % 10 == 0)
		keep(api_asprintf(i));
}

static void zero_round(int i)
{
	done_with(&site_api_malloc_zero, api_malloc_zero(), 0, i);
	done_with(&site_api_calloc_zero, api_calloc_zero(), 0, i);
	done_with(&site_api_realloc_zero, api_realloc_zero(), 0, i);
	api_realloc_to_zero((size_t)(i % 4000) + 1);
	api_errno_kept((size_t)i);
	api_failures();
	api_free_sized((size_t)i + 64);
}

int main(void)
{
	size_t big = (size_t)1500 << 20;
	void *block;
	int i;

	find_sized_forms();
	for (i = 0; i < ROUNDS; i++) {
		plain_round(i);
		realloc_round(i);
		text_round(i);
		zero_round(i);
	}
	for (i = 0; i < 20; i++)
		done_with(&site_api_big, api_big((size_t)400000 + i), (size_t)400000 + i, i);
	block = api_big(big);
	EXPECT(block != NULL);
	free(block);
	truth_freed(&site_api_big, big);
	keep(api_realloc_fails(4242));
	keep(api_getcwd());
	keep(api_realpath());
	line_of_300();
	truth_print();
	return truth_failures != 0;
}
