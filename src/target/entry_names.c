/* SPDX-License-Identifier: MIT */
#include "target/entry_names.h"

#include <string.h>

#define ALLOC LEDGER_ENTRY_ALLOC
#define MANY LEDGER_ENTRY_ALLOC_MANY
#define ALIGNED LEDGER_ENTRY_ALIGNED
#define RESIZE LEDGER_ENTRY_RESIZE
#define FREE LEDGER_ENTRY_FREE

static const struct {
	const char *name;
	enum ledger_entry_form form;
	bool is_prefixed; /* only with a prefix is it an allocator's */
} functions[] = {
	{ "malloc", ALLOC, false },
	{ "calloc", MANY, false },
	{ "realloc", RESIZE, false },
	{ "reallocarray", LEDGER_ENTRY_RESIZE_MANY, false },
	{ "free", FREE, false },
	{ "cfree", FREE, false },
	{ "free_sized", FREE, false },
	{ "free_aligned_sized", FREE, false },
	{ "memalign", ALIGNED, false },
	{ "aligned_alloc", ALIGNED, false },
	{ "posix_memalign", LEDGER_ENTRY_POSIX, false },
	{ "valloc", ALLOC, false },
	{ "pvalloc", ALLOC, false },
	/* jemalloc's */
	{ "mallocx", ALLOC, false },
	{ "rallocx", RESIZE, false },
	{ "dallocx", FREE, false },
	{ "sdallocx", FREE, false },
	/* mimalloc's */
	{ "zalloc", ALLOC, true },
	{ "malloc_small", ALLOC, true },
	{ "zalloc_small", ALLOC, true },
	{ "malloc_aligned", ALLOC, true },
	{ "zalloc_aligned", ALLOC, true },
	{ "malloc_aligned_at", ALLOC, true },
	{ "zalloc_aligned_at", ALLOC, true },
	{ "mallocn", MANY, true },
	{ "calloc_aligned", MANY, true },
	{ "calloc_aligned_at", MANY, true },
	{ "reallocn", LEDGER_ENTRY_RESIZE_MANY, true },
	{ "recalloc", LEDGER_ENTRY_RESIZE_MANY, true },
	{ "recalloc_aligned", LEDGER_ENTRY_RESIZE_MANY, true },
	{ "rezalloc", RESIZE, true },
	{ "realloc_aligned", RESIZE, true },
	{ "realloc_aligned_at", RESIZE, true },
	{ "rezalloc_aligned", RESIZE, true },
	{ "rezalloc_aligned_at", RESIZE, true },
	{ "new_realloc", RESIZE, true },
	{ "new_reallocn", LEDGER_ENTRY_RESIZE_MANY, true },
	{ "free_size", FREE, true },
	{ "free_size_aligned", FREE, true },
	{ "free_aligned", FREE, true },
	/* and tcmalloc's */
	{ "new", ALLOC, true },
	{ "new_nothrow", ALLOC, true },
	{ "new_n", MANY, true },
	{ "new_aligned", ALLOC, true },
	{ "new_aligned_nothrow", ALLOC, true },
	{ "newarray", ALLOC, true },
	{ "newarray_nothrow", ALLOC, true },
	{ "newarray_aligned", ALLOC, true },
	{ "newarray_aligned_nothrow", ALLOC, true },
	{ "delete", FREE, true },
	{ "delete_nothrow", FREE, true },
	{ "delete_sized", FREE, true },
	{ "delete_aligned", FREE, true },
	{ "delete_aligned_nothrow", FREE, true },
	{ "delete_sized_aligned", FREE, true },
	{ "deletearray", FREE, true },
	{ "deletearray_nothrow", FREE, true },
	{ "deletearray_sized", FREE, true },
	{ "deletearray_aligned", FREE, true },
	{ "deletearray_aligned_nothrow", FREE, true },
	{ "deletearray_sized_aligned", FREE, true },
};

static const char *const prefixes[] = { "", "je_", "_rjem_", "mi_", "tc_" };
_Static_assert(sizeof(prefixes) / sizeof(*prefixes) == SEEP_ENTRY_OPERATORS, "one each");

static bool is_called(const char *name, size_t length, const char *full)
{
	return strncmp(full, name, length) == 0 && !full[length];
}

static unsigned part_of(const char *name, size_t length)
{
	return is_called(name, length, "malloc") ? SEEP_ENTRY_MALLOC
	       : is_called(name, length, "free") ? SEEP_ENTRY_FREE
	       : is_called(name, length, "realloc") || is_called(name, length, "calloc")
		       ? SEEP_ENTRY_REALLOC
		       : 0;
}

/* By their exact names: there are others, which place objects and allocate nothing. */
static enum ledger_entry_form form_of_operator(const char *name, size_t length)
{
	static const char *const operators[] = {
#define CORE_OPERATOR(symbol, ...) #symbol,
#include "core/allocation.def"
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (is_called(name, length, operators[i]))
			return name[2] == 'n' ? ALLOC : FREE;
	return 0;
}

struct seep_entry_name seep_entry_name(const char *name)
{
	struct seep_entry_name found = { 0 };
	size_t length;

	for (unsigned i = SEEP_ENTRY_OPERATORS; i-- > 1 && !found.family;)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			found.family = i;
	name += strlen(prefixes[found.family]);
	length = strcspn(name, ".");
	/* What is hardly ever done lies apart; nobody calls it but the function. */
	if (strcmp(name + length, ".cold") == 0)
		return found;
	found.is_copy = name[length] != '\0';
	found.part = part_of(name, length);
	if (strncmp(name, "_Z", 2) == 0) {
		found.form = found.family ? 0 : form_of_operator(name, length);
		found.family = SEEP_ENTRY_OPERATORS;
		return found;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (is_called(name, length, functions[i].name) &&
		    !(functions[i].is_prefixed && found.family == SEEP_ENTRY_PLAIN))
			found.form = functions[i].form;
	return found;
}

bool seep_entry_knows(const char *allocator)
{
	static const char *const known[] = { "malloc", "jemalloc", "mimalloc", "tcmalloc" };
	bool is_known = false;

	for (size_t i = 0; allocator && i < sizeof(known) / sizeof(*known); i++)
		is_known |= strcmp(allocator, known[i]) == 0;
	return is_known;
}
