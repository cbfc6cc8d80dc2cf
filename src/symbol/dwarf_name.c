/* SPDX-License-Identifier: MIT */
/*
 * Compilers write no linkage name for functions that nobody can link to (static ones, anonymous
 * namespaces, lambdas in them). Their C++ name is then put together from the scopes around the
 * entry; without parameters, because types have no names that a demangler would agree with.
 */
#include "symbol/dwarf_name.h"

#include "symbol/demangle.h"

#include <dwarf.h>
#include <string.h>

enum { CHAIN_MAX = 16, SCOPES_MAX = 32, QUALIFIED_MAX_BYTES = 4096, NAME_MAX_BYTES = 64 << 10 };

static const char *attribute_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static bool attribute_entry(Dwarf_Die *die, unsigned int name, Dwarf_Die *ret_die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && dwarf_formref_die(&attribute, ret_die);
}

/* The entry that this one only completes. */
static bool next_in_chain(Dwarf_Die *die, Dwarf_Die *ret_die)
{
	return attribute_entry(die, DW_AT_abstract_origin, ret_die) ||
	       attribute_entry(die, DW_AT_specification, ret_die);
}

static const char *linkage_of(Dwarf_Die *die)
{
	const char *linkage = attribute_string(die, DW_AT_linkage_name);

	return linkage ? linkage : attribute_string(die, DW_AT_MIPS_linkage_name);
}

static bool language_has_scopes(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* DW_LANG_C_plus_plus_17 */
	case 0x2c: /* DW_LANG_C_plus_plus_20 */
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	default:
		return false;
	}
}

/* @inner is the name of what lies in the scope. */
static const char *scope_name(const struct dwarf_unit_index *index, const struct dwarf_scope *scope,
			      const char *inner)
{
	Dwarf_Die die = dwarf_unit_entry(index, scope->addr);
	const char *name = NULL;
	Dwarf_Die next;
	int steps;

	for (steps = 0; steps < CHAIN_MAX; steps++) {
		name = attribute_string(&die, DW_AT_name);
		if (name || !next_in_chain(&die, &next))
			break;
		die = next;
	}
	if (name)
		return name;
	if (dwarf_tag(&die) == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strncmp(inner, "operator()", 10) == 0 ? "{lambda}" : "(anonymous class)";
}

/* The scopes that @addr lies in, innermost first. */
static size_t find_scopes(const struct dwarf_unit_index *index, const void *addr,
			  const struct dwarf_scope *found[SCOPES_MAX])
{
	uint32_t scope = SEEP_INTERVAL_NONE;
	size_t high = index->scope_count;
	size_t count = 0;
	size_t low = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)index->scopes[middle].addr < (uintptr_t)addr)
			low = middle + 1;
		else
			high = middle;
	}
	/* What is around addr is the last scope that starts before it, or around that one. */
	if (low)
		scope = (uint32_t)(low - 1);
	for (; scope != SEEP_INTERVAL_NONE && count < SCOPES_MAX;
	     scope = index->scopes[scope].parent)
		if ((uintptr_t)index->scopes[scope].last >= (uintptr_t)addr)
			found[count++] = &index->scopes[scope];
	return count;
}

static bool put(char *text, size_t *used, const char *part)
{
	size_t bytes = strlen(part);

	if (bytes >= QUALIFIED_MAX_BYTES - *used)
		return false;
	memcpy(text + *used, part, bytes);
	*used += bytes;
	return true;
}

/* Names outlive the file they are from. A hostile one may refer to one long text many times. */
static const char *copy(struct dwarf_names *names, const char *text)
{
	return seep_arena_strndup(names->arena, text, strnlen(text, NAME_MAX_BYTES));
}

/* @die is the entry where the function was declared first. */
static const char *qualified(struct dwarf_names *names, Dwarf_Die *die, const char *name)
{
	const struct dwarf_scope *scopes[SCOPES_MAX];
	const struct dwarf_unit_index *index;
	char text[QUALIFIED_MAX_BYTES];
	size_t used = 0;
	size_t count;

	if (!language_has_scopes(die))
		return copy(names, name);
	index = names->find_index(names->opaque, die->cu);
	count = index ? find_scopes(index, die->addr, scopes) : 0;
	while (count-- > 0)
		if (!put(text, &used, scope_name(index, scopes[count], name)) ||
		    !put(text, &used, "::"))
			return copy(names, name);
	if (!put(text, &used, name))
		return copy(names, name);
	return seep_arena_strndup(names->arena, text, used);
}

/* In DWARF 2 gcc writes the cold part of a function as one of its own. */
static const char *without_section(const char *name)
{
	static const char prefix[] = "__second_sect_of_";

	return strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

static const char *readable(struct dwarf_names *names, const char *linkage)
{
	size_t bytes = seep_name_base_bytes(linkage);

	if (linkage[bytes])
		linkage = seep_arena_strndup(names->arena, linkage, bytes);
	return seep_demangle(names->arena, linkage);
}

static struct dwarf_function *read_function(struct dwarf_names *names, Dwarf_Die *die)
{
	struct dwarf_function *function = seep_arena_alloc(names->arena, sizeof(*function));
	const char *name = NULL;
	Dwarf_Die at = *die;
	Dwarf_Die next;
	int steps;

	for (steps = 0; steps < CHAIN_MAX; steps++) {
		if (!function->linkage)
			function->linkage = linkage_of(&at);
		if (!name)
			name = attribute_string(&at, DW_AT_name);
		if (!next_in_chain(&at, &next))
			break;
		at = next;
	}
	if (function->linkage) {
		function->linkage = copy(names, function->linkage);
		function->name = readable(names, function->linkage);
	}
	if (!function->name && name)
		function->name = qualified(names, &at, without_section(name));
	if (!function->name)
		function->name = function->linkage;
	return function;
}

struct dwarf_function *dwarf_names_of(struct dwarf_names *names, Dwarf_Die *die)
{
	struct dwarf_function *function;
	Dwarf_Die origin;

	/* A constructor's complete and base forms share an origin, but not their linkage names. */
	if (linkage_of(die) || !attribute_entry(die, DW_AT_abstract_origin, &origin))
		return read_function(names, die);
	function = seep_pointer_map_get(&names->functions, (uintptr_t)origin.addr);
	if (!function) {
		function = read_function(names, &origin);
		seep_pointer_map_put(&names->functions, (uintptr_t)origin.addr, function);
	}
	return function;
}
