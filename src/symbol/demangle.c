/* SPDX-License-Identifier: MIT */
/*
 * libiberty's callback interface is used because it can be left in the middle: neither demangler
 * holds memory while it prints, so a jump out of the callback ends an endless name.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

enum { NAME_MAX_BYTES = 4096, TEXT_MAX_BYTES = 16 << 10 };

struct output {
	jmp_buf too_long;
	size_t used;
	char text[TEXT_MAX_BYTES];
};

static void collect(const char *text, size_t bytes, void *opaque)
{
	struct output *out = opaque;

	if (bytes >= sizeof(out->text) - out->used)
		longjmp(out->too_long, 1);
	memcpy(out->text + out->used, text, bytes);
	out->used += bytes;
}

static bool demangle_into(struct output *out, const char *name)
{
	/*
	 * The length is bounded already; libiberty's own limit refuses every C++ name of more than
	 * 1,024 bytes, which templates reach.
	 */
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	if (setjmp(out->too_long))
		return false;
	out->used = 0;
	/* Legacy Rust names are valid C++ ones too: Rust first, it knows its own by their hash. */
	if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, collect, out) && out->used)
		return true;
	out->used = 0;
	return cplus_demangle_v3_callback(name, options, collect, out) && out->used;
}

const char *seep_demangle(struct seep_arena *arena, const char *name)
{
	struct output out;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	if (strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
		return NULL;
	if (!demangle_into(&out, name))
		return NULL;
	return seep_arena_strndup(arena, out.text, out.used);
}

/* A number follows those that end in a dot. */
static const char *const clone_suffixes[] = { ".cold",	     ".constprop.", ".isra.", ".llvm.",
					      ".localalias", ".lto_priv.",  ".part." };

static bool is_clone_suffix(const char *at, const char *suffix)
{
	size_t bytes = strlen(suffix);

	if (strncmp(at, suffix, bytes) != 0)
		return false;
	if (suffix[bytes - 1] == '.')
		return at[bytes] >= '0' && at[bytes] <= '9';
	return at[bytes] == '\0' || at[bytes] == '.' || at[bytes] == '@';
}

size_t seep_name_base_bytes(const char *name)
{
	const char *at = name;

	while (*at && (at = strchr(at + 1, '.')) != NULL) {
		/* Rust's legacy form writes "::" as two dots. */
		if (at[-1] == '.' || at[1] == '.')
			continue;
		for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++)
			if (is_clone_suffix(at, clone_suffixes[i]))
				return (size_t)(at - name);
	}
	return strlen(name);
}
