/* SPDX-License-Identifier: MIT */
#include "target/allocators.h"

#include "base/path.h"
#include "base/release.h"
#include "symbol/elf_image.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEPT = 64 };

static struct seep_allocation_function functions[] = {
#define CORE_MALLOC(symbol, ...) { #symbol, SEEP_ALLOCATION_MALLOC, NULL },
#define CORE_OPERATOR(symbol, ...) { #symbol, SEEP_ALLOCATION_OPERATORS, NULL },
#define CORE_PRIVATE(symbol, allocator) { #symbol, SEEP_ALLOCATION_PRIVATE, allocator },
#include "core/allocation.def"
};

enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

static int by_symbol(const void *left, const void *right)
{
	const struct seep_allocation_function *a = left, *b = right;

	return strcmp(a->symbol, b->symbol);
}

static void sort_functions(void)
{
	qsort(functions, FUNCTION_COUNT, sizeof(*functions), by_symbol);
}

/* A large program has millions of symbols to ask about. */
const struct seep_allocation_function *seep_allocation_function(const char *symbol)
{
	static pthread_once_t sorted = PTHREAD_ONCE_INIT;
	const struct seep_allocation_function wanted = { .symbol = symbol };

	(void)pthread_once(&sorted, sort_functions);
	return bsearch(&wanted, functions, FUNCTION_COUNT, sizeof(*functions), by_symbol);
}

/* By a part of their file name. */
static const struct {
	const char *part, *name;
} allocators[] = {
	{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" }, { "libmimalloc", "mimalloc" },
	{ "librpmalloc", "rpmalloc" }, { "libhoard", "Hoard" },	      { "libsnmalloc", "snmalloc" },
};

const char *seep_allocator_library(const char *path)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (strstr(path, allocators[i].part))
			return allocators[i].name;
	return NULL;
}

/* The last files asked about: a build runs the same few programs thousands of times. */
static struct {
	struct stat file;
	const char *name;
} kept[KEPT];
static unsigned kept_next;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; guards both above */

/* What is defined under @symbol: "malloc", an allocator's name, or NULL. */
static const char *allocator_of(const char *symbol)
{
	const struct seep_allocation_function *function = seep_allocation_function(symbol);

	if (!function || function->kind == SEEP_ALLOCATION_OPERATORS)
		return NULL;
	if (function->kind == SEEP_ALLOCATION_MALLOC)
		return strcmp(symbol, "malloc") == 0 ? "malloc" : NULL;
	return *function->allocator ? function->allocator : NULL;
}

/* "malloc" says more than whose it is. */
static const char *more_telling(const char *found, const char *other)
{
	return !found || (other && strcmp(other, "malloc") == 0) ? other : found;
}

static const char *look_in_file(const char *path)
{
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;
	struct seep_elf_symbols symbols = { 0 };
	const char *found = NULL;

	if (seep_elf_open(path, &elf))
		return NULL;
	symbols.elf = elf;
	while (seep_elf_next_symbol(&symbols))
		if (symbols.name && symbols.symbol.st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(symbols.symbol.st_info) == STT_FUNC)
			found = more_telling(found, allocator_of(symbols.name));
	return found;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

const char *seep_allocator_in(const char *path)
{
	const char *name = NULL;
	bool is_kept = false;
	struct stat file;

	if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
		return NULL;
	(void)pthread_mutex_lock(&kept_lock);
	for (size_t i = 0; i < KEPT && !is_kept; i++)
		if (same_file(&kept[i].file, &file)) {
			name = kept[i].name;
			is_kept = true;
		}
	if (!is_kept) {
		name = look_in_file(path);
		kept[kept_next].file = file;
		kept[kept_next].name = name;
		kept_next = (kept_next + 1) % KEPT;
	}
	(void)pthread_mutex_unlock(&kept_lock);
	return name;
}

static const struct seep_memory_manager managers[] = {
	{ "python", "libpython", "PYTHONMALLOC=malloc",
	  "Python keeps objects of up to 512 bytes in memory that it maps itself: these are not "
	  "recorded",
	  "set PYTHONMALLOC=malloc to record every object" },
	{ "node", "libnode", NULL,
	  "Node keeps the objects of JavaScript in memory that it maps itself: these are not "
	  "recorded; native code, buffers and the engine are",
	  "start it with --perf-basic-prof to have names for compiled functions" },
	{ "java", "libjvm", NULL,
	  "Java keeps its objects in memory that it maps itself: these are not recorded; native code "
	  "and libraries are",
	  "use -XX:NativeMemoryTracking=summary and jcmd for the virtual machine's own memory" },
	{ "php", "libphp", "USE_ZEND_ALLOC=0",
	  "PHP keeps what a request needs in memory that it maps itself: this is not recorded",
	  "set USE_ZEND_ALLOC=0 to record every piece" },
	{ "beam.smp", NULL, NULL,
	  "Erlang takes memory in large pieces and gives out parts of them: only the pieces are "
	  "recorded",
	  "start it with +Mea min to record every part" },
	{ NULL, "libglib-2.0.so.0", "G_SLICE=always-malloc",
	  "GLib before 2.76 keeps small pieces (g_slice) in larger ones that it divides itself: only "
	  "these are recorded, and what is in them has no verdict of its own",
	  "set G_SLICE=always-malloc to record every piece" },
	{ NULL, "libgc.so", NULL,
	  "the Boehm collector keeps its objects in memory that it maps itself: these are not "
	  "recorded",
	  "" },
};

/* Since 2.76, which is libglib-2.0.so.0.7600.0, g_slice is malloc. */
static bool is_new_glib(const char *path)
{
	static const char library[] = "libglib-2.0.so.0.";
	SEEP_FREED char *real = realpath(path, NULL);
	const char *at = strstr(real ? real : path, library);

	return at && strtoul(at + strlen(library), NULL, 10) >= 7600;
}

const struct seep_memory_manager *seep_memory_manager_of(const char *path)
{
	const char *name = seep_path_base(path);

	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++) {
		const struct seep_memory_manager *manager = &managers[i];

		if ((manager->program && !strstr(name, ".so") &&
		     strncmp(name, manager->program, strlen(manager->program)) == 0) ||
		    (manager->library && strstr(name, manager->library)))
			return is_new_glib(path) ? NULL : manager;
	}
	return NULL;
}

bool seep_memory_manager_is_off(const struct seep_memory_manager *manager, const char *environment,
				size_t bytes)
{
	const char *end = environment + bytes;

	for (const char *at = environment; manager->off && at < end; at += strlen(at) + 1)
		if (strncmp(at, manager->off, strlen(manager->off)) == 0)
			return true;
	return false;
}
