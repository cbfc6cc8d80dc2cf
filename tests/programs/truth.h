/* SPDX-License-Identifier: MIT */
/*
 * Ground truth of a target program: every allocation the program makes itself goes through a
 * counted function that stays visible in the call stack (SITE), and the counts are printed at
 * the end, one line per function. Nothing here allocates, so the printing changes no count.
 * A test sums the recording's contexts that pass through the function and compares exactly.
 */
#ifndef TESTS_PROGRAMS_TRUTH_H
#define TESTS_PROGRAMS_TRUTH_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Never inlined, cloned or merged with a function of the same body: the name must be its own. */
#ifdef __clang__
#define SITE __attribute__((noinline, optnone, used))
#else
#define SITE __attribute__((noipa, used))
#endif

/* What of a site is known exactly; the other fields are not printed. */
enum truth_known {
	TRUTH_ALL = 0,
	TRUTH_COUNTS = 1, /* numbers of blocks, not bytes */
	TRUTH_LIVE = 2,	  /* live blocks and bytes: libc takes scratch blocks on the way */
	TRUTH_LIVE_COUNT = 3,
};

struct truth_site {
	const char *name;
	unsigned known;
	int has_peak;
	int has_temporary;
	/* Changed with relaxed atomic adds by any thread and by signal handlers. */
	unsigned long long allocs, bytes, frees, freed_bytes;
	unsigned long long peak_bytes, temporary;
};

/* Declares the counters of the function @fn; they reach the list through a linker section. */
#define TRUTH_SITE_KNOWN(fn, what)                                                  \
	static struct truth_site site_##fn = { #fn, what, 0, 0, 0, 0, 0, 0, 0, 0 }; \
	static struct truth_site *const site_entry_##fn                             \
		__attribute__((used, section("truth_sites"))) = &site_##fn
#define TRUTH_SITE(fn) TRUTH_SITE_KNOWN(fn, TRUTH_ALL)

#ifdef __cplusplus
extern "C" {
#endif
extern struct truth_site *const __start_truth_sites[];
extern struct truth_site *const __stop_truth_sites[];
#ifdef __cplusplus
}
#endif

static int truth_failures;

static inline void truth_add(unsigned long long *counter, unsigned long long amount)
{
	__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static inline void truth_alloced(struct truth_site *site, size_t bytes)
{
	truth_add(&site->allocs, 1);
	truth_add(&site->bytes, bytes);
}

static inline void truth_freed(struct truth_site *site, size_t bytes)
{
	truth_add(&site->frees, 1);
	truth_add(&site->freed_bytes, bytes);
}

/* A block that says itself where it came from; at least sizeof(struct truth_tag) bytes. */
struct truth_tag {
	struct truth_site *site;
	size_t bytes;
};

static inline void truth_tag_block(void *block, struct truth_site *site, size_t bytes)
{
	struct truth_tag *tag = (struct truth_tag *)block;

	tag->site = site;
	tag->bytes = bytes;
	truth_alloced(site, bytes);
}

/* Forget a tagged block, just before it is freed. */
static inline void truth_untag_block(void *block)
{
	struct truth_tag *tag = (struct truth_tag *)block;

	truth_freed(tag->site, tag->bytes);
}

static inline void truth_set_peak(struct truth_site *site, unsigned long long bytes)
{
	site->has_peak = 1;
	site->peak_bytes = bytes;
}

static inline void truth_set_temporary(struct truth_site *site, unsigned long long count)
{
	site->has_temporary = 1;
	site->temporary = count;
}

/* In a forked child: what the parent did is not the child's truth. */
static inline void truth_reset(void)
{
	struct truth_site *const *entry;

	for (entry = __start_truth_sites; entry < __stop_truth_sites; entry++) {
		struct truth_site *site = *entry;

		site->allocs = site->bytes = site->frees = site->freed_bytes = 0;
		site->peak_bytes = site->temporary = 0;
		site->has_peak = site->has_temporary = 0;
	}
}

static char truth_text[1 << 16];
static size_t truth_used;

__attribute__((format(printf, 1, 2))) static inline void truth_line(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(truth_text + truth_used, sizeof(truth_text) - truth_used, fmt, args);
	va_end(args);
	if (length > 0 && truth_used + (size_t)length < sizeof(truth_text))
		truth_used += (size_t)length;
}

static inline void truth_line_site(const struct truth_site *site)
{
	truth_line("truth %s", site->name);
	if (site->known <= TRUTH_COUNTS)
		truth_line(" allocs=%llu frees=%llu", site->allocs, site->frees);
	if (site->known == TRUTH_ALL)
		truth_line(" bytes=%llu freed_bytes=%llu", site->bytes, site->freed_bytes);
	truth_line(" live_blocks=%llu", site->allocs - site->frees);
	if (site->known == TRUTH_ALL || site->known == TRUTH_LIVE)
		truth_line(" live_bytes=%llu", site->bytes - site->freed_bytes);
	if (site->has_peak)
		truth_line(" peak_bytes=%llu", site->peak_bytes);
	if (site->has_temporary)
		truth_line(" temporary=%llu", site->temporary);
	truth_line("\n");
}

static inline void truth_flush(int fd)
{
	size_t done = 0;

	while (done < truth_used) {
		ssize_t n = write(fd, truth_text + done, truth_used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	truth_used = 0;
}

/*
 * Print all sites to stdout, or to the file $TRUTH_FILE. A process that is not the first one, or
 * a second image of it, gives a @suffix for the file's name, and prints nothing without TRUTH_FILE.
 */
static inline void truth_print_as(const char *suffix)
{
	static char name[4096];
	const char *path = getenv("TRUTH_FILE");
	struct truth_site *const *entry;
	int fd = STDOUT_FILENO;

	if (*suffix && !path)
		return;
	if (path) {
		(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0)
			return;
	}
	for (entry = __start_truth_sites; entry < __stop_truth_sites; entry++)
		truth_line_site(*entry);
	truth_flush(fd);
	if (path)
		(void)close(fd);
}

static inline void truth_print(void)
{
	truth_print_as("");
}

/* The same in a child: $TRUTH_FILE.<pid>. */
static inline void truth_print_child(void)
{
	char suffix[32];

	(void)snprintf(suffix, sizeof(suffix), ".%d", (int)getpid());
	truth_print_as(suffix);
}

/* The C library must behave as documented, with the profiler as without it. */
#define EXPECT(condition)                                           \
	do {                                                        \
		if (!(condition))                                   \
			truth_fail(__FILE__, __LINE__, #condition); \
	} while (0)

static inline void truth_fail(const char *file, int line, const char *what)
{
	static char text[512];
	int length = snprintf(text, sizeof(text), "unexpected: %s:%d: not (%s), errno %d\n", file,
			      line, what, errno);

	__atomic_fetch_add(&truth_failures, 1, __ATOMIC_RELAXED);
	if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
		return;
}

/* Keeps the compiler from knowing a value: a failing size, a pointer it might reason about. */
static inline size_t truth_hide(size_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static inline void *truth_hide_ptr(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

/* The path of a file beside the program; the next call takes its place. */
static inline const char *truth_beside(const char *name)
{
	static char path[8192];
	ssize_t length = readlink("/proc/self/exe", path, 4096);

	EXPECT(length > 0);
	if (length <= 0)
		return name;
	path[length] = '\0';
	(void)snprintf(strrchr(path, '/'), 256, "/%s", name);
	return path;
}

#ifdef __cplusplus
#define TRUTH_LINKAGE extern "C"
#else
#define TRUTH_LINKAGE static
#endif

/* Declares the counters of the function @fn, and defines it: fn(bytes) gives what @made makes. */
#define TRUTH_MAKER(fn, made)                     \
	TRUTH_SITE(fn);                           \
	TRUTH_LINKAGE SITE void *fn(size_t bytes) \
	{                                         \
		void *block = made;               \
                                                  \
		truth_alloced(&site_##fn, bytes); \
		return block;                     \
	}                                         \
	TRUTH_LINKAGE SITE void *fn(size_t bytes)

/* The same, and tags the block. */
#define TRUTH_TAGGING_MAKER(fn, made)                      \
	TRUTH_SITE(fn);                                    \
	TRUTH_LINKAGE SITE void *fn(size_t bytes)          \
	{                                                  \
		void *block = made;                        \
                                                           \
		truth_tag_block(block, &site_##fn, bytes); \
		return block;                              \
	}                                                  \
	TRUTH_LINKAGE SITE void *fn(size_t bytes)

/* A block of @bytes that @site allocates and frees at once, and says so. */
#define TRUTH_TEMPORARY(site, bytes)                         \
	do {                                                 \
		void *block = truth_hide_ptr(malloc(bytes)); \
		truth_alloced(&site_##site, bytes);          \
		free(block);                                 \
		truth_freed(&site_##site, bytes);            \
	} while (0)

/* A small generator with a fixed seed: every run does the same. */
static inline uint32_t truth_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

#endif
