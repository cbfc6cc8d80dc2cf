/* SPDX-License-Identifier: MIT */
/*
 * Compilers write no linkage name for functions that nobody can link to (static ones, anonymous
 * namespaces, lambdas in them). Their C++ name is then put together from the scopes around the
 * entry; without parameters, because types have no names that a demangler would agree with. What
 * has no name of its own, a lambda or a closure, is told from others by the line it stands in.
 */
#include "symbol/dwarf_name.h"

#include "base/search.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "symbol/demangle.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 16, SCOPES_MAX = 32, QUALIFIED_MAX_BYTES = 4096, NAME_MAX_BYTES = 64 << 10 };

/* The entry that this one only completes. */
static bool next_in_chain(const struct dwarf_entry *entry, struct dwarf_entry *ret)
{
	return dwarf_entry_follow(entry, DW_AT_abstract_origin, ret) ||
	       dwarf_entry_follow(entry, DW_AT_specification, ret);
}

static const char *linkage_of(const struct dwarf_entry *entry)
{
	const char *linkage = dwarf_entry_text(entry, DW_AT_linkage_name);

	return linkage ? linkage : dwarf_entry_text(entry, DW_AT_MIPS_linkage_name);
}

static bool language_has_scopes(uint32_t language)
{
	switch (language) {
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

/* No more is looked at than there may be room for. */
static void put(struct seep_strbuf *text, const char *part)
{
	seep_strbuf_add(text, part, strnlen(part, QUALIFIED_MAX_BYTES + 1));
}

/* "{lambda:37}" */
static void put_line(struct seep_strbuf *text, const char *what, const struct dwarf_entry *entry)
{
	const uint64_t line = dwarf_entry_number(entry, DW_AT_decl_line, 0);

	if (line > 0)
		seep_strbuf_addf(text, "%s:%" PRIu64, what, line);
	else
		seep_strbuf_adds(text, what);
}

struct place {
	const struct dwarf_unit_index *index;
	const struct dwarf_scope *scope;
};

/* @inner is the name of what lies in the scope. */
static void put_scope(struct seep_strbuf *text, const struct place *place, const char *inner)
{
	struct dwarf_entry entry;
	struct dwarf_entry next;
	const char *name = NULL;

	if (!dwarf_entry_read(place->index->unit, place->scope->at, &entry)) {
		put(text, "?");
		return;
	}
	for (int steps = 0; steps < CHAIN_MAX; steps++) {
		name = dwarf_entry_text(&entry, DW_AT_name);
		if (name || !next_in_chain(&entry, &next))
			break;
		entry = next;
	}
	if (name) {
		put(text, name);
	} else if (entry.abbrev->tag == DW_TAG_namespace) {
		put(text, "(anonymous namespace)");
	} else if (strncmp(inner, "operator()", 10) == 0) {
		put_line(text, "{lambda", &entry);
		put(text, "}");
	} else {
		put(text, "(anonymous class)");
	}
}

/* What the scope completes: *@ret is where that was declared first. False: nothing. */
static bool is_declared_elsewhere(const struct place *place, struct dwarf_entry *ret)
{
	struct dwarf_entry entry, next;
	int steps = 0;

	if (!dwarf_entry_read(place->index->unit, place->scope->at, &entry))
		return false;
	for (; steps < CHAIN_MAX && next_in_chain(&entry, &next); steps++)
		entry = next;
	*ret = steps > 0 ? entry : *ret;
	return steps > 0;
}

/*
 * The scopes that @entry lies in, innermost first. Around a function that is defined outside of its class are
 * those that it was declared in.
 */
static size_t find_scopes(struct dwarf_names *names, struct dwarf_entry entry,
			  struct place found[SCOPES_MAX])
{
	size_t count = 0, before;
	bool is_elsewhere;

	do {
		const struct dwarf_unit_index *index = dwarf_unit_walk(entry.unit, names->elf);
		uint32_t scope;

		/* What is around it is the last scope that starts before it, or around that one. */
		before = seep_search_upto(index->scopes, index->scope_count, sizeof(*index->scopes),
					  (uintptr_t)entry.at - 1);
		scope = before ? (uint32_t)(before - 1) : SEEP_INTERVAL_NONE;
		is_elsewhere = false;
		for (; scope != SEEP_INTERVAL_NONE && count < SCOPES_MAX && !is_elsewhere;
		     scope = index->scopes[scope].parent)
			if (index->scopes[scope].end > entry.at) {
				found[count] = (struct place){ index, &index->scopes[scope] };
				is_elsewhere = is_declared_elsewhere(&found[count++], &entry);
			}
	} while (is_elsewhere);
	return count;
}

/* Names outlive the file they are from. A hostile one may refer to one long text many times. */
static const char *copy(struct dwarf_names *names, const char *text)
{
	return seep_arena_strndup(names->arena, text, strnlen(text, NAME_MAX_BYTES));
}

/*
 * @entry is where the function was declared first. What dwz moved to a unit of its own has no
 * language there: @language is that of the unit that refers to it.
 */
static const char *qualified(struct dwarf_names *names, const struct dwarf_entry *entry,
			     const char *name, uint32_t language)
{
	struct place scopes[SCOPES_MAX];
	SEEP_STRBUF(text, QUALIFIED_MAX_BYTES);
	size_t count;

	if (!language_has_scopes(entry->unit->language ? entry->unit->language : language))
		return copy(names, name);
	count = find_scopes(names, *entry, scopes);
	while (count-- > 0) {
		put_scope(&text, &scopes[count], name);
		put(&text, "::");
	}
	put(&text, name);
	return copy(names, text.overflowed ? name : text.text);
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

/*
 * Where "::operator()" begins, if that is the function itself, and not what something that stands in it, or
 * has it for an argument, is named by: no other scope is entered after it outside of brackets. Else NULL.
 */
static const char *own_call(const char *name)
{
	static const char call[] = "::operator()";
	const char *found = NULL;
	long depth = 0;

	for (const char *at = name; *at; at++) {
		if (depth == 0 && at[0] == ':' && at[1] == ':') {
			found = strncmp(at, call, strlen(call)) == 0 ? at : NULL;
			at += found ? strlen(call) - 1 : 1;
			continue;
		}
		depth += (strchr("(<{[", *at) != NULL) -
			 (strchr(")>}]", *at) != NULL && !(at > name && at[-1] == '-'));
	}
	return found;
}

/* The line of a lambda or closure goes between @bytes of its name, and @what, and @rest. */
struct line_place {
	size_t bytes;
	const char *what;
	const char *rest; /* NULL: it is none */
};

static struct line_place line_place(const char *name)
{
	static const char closure[] = "::{{closure}}", lambda[] = "{lambda";
	const size_t bytes = strlen(name);
	const char *call, *at;
	long depth = 1;

	if (bytes >= strlen(closure) && strcmp(name + bytes - strlen(closure), closure) == 0)
		return (struct line_place){ bytes - strlen("}}"), "", name + bytes - strlen("}}") };
	call = own_call(name);
	if (!call || call == name)
		return (struct line_place){ 0 };
	at = call - 1;
	if (*at == '}') {
		while (at > name && depth > 0) {
			at--;
			depth += (*at == '}') - (*at == '{');
		}
		if (strncmp(at, lambda, strlen(lambda)) != 0)
			return (struct line_place){ 0 };
		at += strlen(lambda);
		return (struct line_place){ (size_t)(at - name), "", at };
	}
	/* clang's "main::$_0::operator()" */
	while (at > name && *at >= '0' && *at <= '9')
		at--;
	if (at == name || at + 1 == call || at[-1] != '$' || *at != '_')
		return (struct line_place){ 0 };
	return (struct line_place){ (size_t)(at - 1 - name), lambda, call };
}

/* All closures of a function have one name in Rust's older mangling, and lambdas a number. */
static const char *with_line(struct dwarf_names *names, const char *name,
			     const struct dwarf_entry *entry)
{
	struct place scopes[SCOPES_MAX];
	const struct line_place place = line_place(name);
	struct dwarf_entry scope = *entry;
	SEEP_STRBUF(text, NAME_MAX_BYTES);

	if (place.rest == NULL)
		return name;
	/* gcc tells it of the lambda's class alone. */
	if (dwarf_entry_number(entry, DW_AT_decl_line, 0) == 0 &&
	    find_scopes(names, *entry, scopes) > 0)
		(void)dwarf_entry_read(scopes[0].index->unit, scopes[0].scope->at, &scope);
	if (dwarf_entry_number(&scope, DW_AT_decl_line, 0) == 0)
		return name;
	seep_strbuf_add(&text, name, place.bytes);
	put_line(&text, place.what, &scope);
	seep_strbuf_adds(&text, *place.what ? "}" : "");
	put(&text, place.rest);
	return text.overflowed ? name : copy(names, text.text);
}

/* "keep<app::Row>", in which Rust's older mangling has lost the type: app::keep<app::Row>. */
static const char *with_arguments(struct dwarf_names *names, const char *name, const char *own)
{
	const size_t bytes = own ? strcspn(own, "<") : 0, all = strlen(name);
	SEEP_STRBUF(text, NAME_MAX_BYTES);

	if (bytes == 0 || all < bytes + 2 || name[all - bytes - 1] != ':' ||
	    memcmp(name + all - bytes, own, bytes) != 0)
		return name;
	put(&text, name);
	put(&text, own + bytes);
	return text.overflowed ? name : copy(names, text.text);
}

static struct dwarf_function *read_function(struct dwarf_names *names,
					    const struct dwarf_entry *entry, uint32_t language)
{
	struct dwarf_function *function = seep_arena_alloc(names->arena, sizeof(*function));
	struct dwarf_entry at = *entry;
	struct dwarf_entry next;
	const char *name = NULL;

	for (int steps = 0; steps < CHAIN_MAX; steps++) {
		if (!function->linkage)
			function->linkage = linkage_of(&at);
		if (!name)
			name = dwarf_entry_text(&at, DW_AT_name);
		if (!next_in_chain(&at, &next))
			break;
		at = next;
	}
	if (function->linkage) {
		function->linkage = copy(names, function->linkage);
		function->name = readable(names, function->linkage);
	}
	if (function->name)
		function->name = with_arguments(names, with_line(names, function->name, &at), name);
	if (!function->name && name)
		function->name = qualified(names, &at, without_section(name), language);
	if (!function->name)
		function->name = function->linkage;
	return function;
}

struct dwarf_function *dwarf_names_of(struct dwarf_names *names, const struct dwarf_entry *entry)
{
	uint32_t language = entry->unit->language;
	size_t bucket = SEEP_IDTABLE_START;
	struct dwarf_function *function;
	struct dwarf_entry origin;
	uint64_t hash;
	uint32_t id;

	/* A constructor's complete and base forms share an origin, but not their linkage names. */
	if (linkage_of(entry) || !dwarf_entry_follow(entry, DW_AT_abstract_origin, &origin))
		return read_function(names, entry, language);
	hash = seep_hash_mix(0, (uintptr_t)origin.at);
	while ((id = seep_idtable_find(&names->ids, hash, &bucket)) != SEEP_IDTABLE_NONE)
		if (names->functions[id]->at == origin.at)
			return names->functions[id];
	function = read_function(names, &origin, language);
	function->at = origin.at;
	seep_idtable_add(&names->ids, hash, (uint32_t)names->count);
	*SEEP_APPEND(names->functions, names->count) = function;
	return function;
}

void dwarf_names_done(struct dwarf_names *names)
{
	free(names->functions);
	seep_idtable_done(&names->ids);
}
