/* SPDX-License-Identifier: MIT */
/*
 * Reads demangled names by brackets, not by grammar: the name is what stands between the last
 * space outside all brackets and the first parenthesis outside all brackets.
 */
#include "analysis/function_name.h"

#include <ctype.h>
#include <string.h>

#include "base/xalloc.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Past the bracket that @text opens with, or the end when it is never closed. */
static const char *skip_bracket(const char *text)
{
	const char open = *text;
	const char close = open == '<' ? '>' : open == '{' ? '}' : ')';
	unsigned depth = 0;

	for (; *text != '\0'; text++) {
		if (*text == open)
			depth++;
		/* "->" closes nothing. */
		else if (*text == close && !(close == '>' && text[-1] == '-') && --depth == 0)
			return text + 1;
	}
	return text;
}

/* Past an operator's symbol: the longest, since "operator+<char>" has template arguments. */
static const char *skip_symbol(const char *text)
{
	static const char *const symbols[] = {
		"<=>", "->*", "<<=", ">>=", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=",
		"&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (starts_with(text, symbols[i]))
			return text + strlen(symbols[i]);
	return *text != '\0' && strchr("+-*/%^&|~!=<>,", *text) != NULL ? text + 1 : text;
}

/* Past "operator" and the symbol or type behind it; the parameters' parenthesis comes next. */
static const char *skip_operator(const char *text)
{
	text += strlen("operator");
	if (*text == ' ' ||
	    *text == '"') { /* operator new[], operator unsigned long, operator"" _x */
		while (*text != '\0' && *text != '(')
			text = *text == '<' ? skip_bracket(text) : text + 1;
		return text;
	}
	text = skip_symbol(text);
	return starts_with(text, " <") ? skip_bracket(text + 1) : text; /* operator< <int> */
}

static bool is_operator(const char *function, const char *at)
{
	return starts_with(at, "operator") && !is_word(at[strlen("operator")]) &&
	       (at == function || !is_word(at[-1]));
}

static bool is_unnamed_scope(const char *at)
{
	return starts_with(at, "(anonymous ") || starts_with(at, "('lambda");
}

/* Past a lambda's or local class's owner: "f(int)::{lambda()#1}::operator()" has two parameters. */
static const char *skip_parameters(const char *text)
{
	text = skip_bracket(text);
	while (starts_with(text, " const") || starts_with(text, " volatile"))
		text += strcspn(text + 1, " :") + 1;
	return starts_with(text, "::") ? text + 2 : NULL;
}

struct seep_name_part seep_function_name(const char *function)
{
	const char *start = function;
	const char *at = function;
	bool has_parameters = false;

	/* Rust: "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", and no parameters. */
	while (*at != '\0') {
		if (is_operator(function, at)) {
			at = skip_operator(at);
		} else if (*at == '(' && is_unnamed_scope(at)) {
			at = skip_bracket(at);
		} else if (*at == '(') {
			const char *more = skip_parameters(at);

			has_parameters = true;
			if (more == NULL)
				break;
			at = more;
		} else if (*at == '<' || *at == '{') {
			at = skip_bracket(at);
		} else if (*at == ' ') {
			if (at[1] == '[') /* "[clone .cold]" */
				break;
			start = ++at;
		} else {
			at++;
		}
	}
	/* Only what has parameters can have a return type: a C name may be anything. */
	if (at == start || !has_parameters)
		return (struct seep_name_part){ function, strlen(function) };
	return (struct seep_name_part){ start, (size_t)(at - start) };
}

/* Template arguments that are what they always are. */
static const char *const default_arguments[] = {
	"std::allocator<", "std::char_traits<", "std::less<",
	"std::hash<",	   "std::equal_to<",	"std::default_delete<",
};

/* At ", std::allocator<…>": how many bytes to leave out, with a space before the closing '>'. */
static size_t default_argument_at(const char *at, const char *end)
{
	const char *name = at + 2;

	if (end - at < 2 || at[0] != ',' || at[1] != ' ')
		return 0;
	for (size_t i = 0; i < sizeof(default_arguments) / sizeof(default_arguments[0]); i++) {
		const size_t bytes = strlen(default_arguments[i]);

		if ((size_t)(end - name) > bytes &&
		    memcmp(name, default_arguments[i], bytes) == 0) {
			const char *after = skip_bracket(name + bytes - 1);

			return after < end ? (size_t)(after - at) : (size_t)(end - at);
		}
	}
	return 0;
}

static const struct {
	const char *from;
	const char *to;
} replacements[] = {
	{ "std::__cxx11::", "std::" },
	{ "(anonymous namespace)", "(anon)" },
	{ " >", ">" },
	{ "basic_string<char>", "string" },
	{ "basic_string_view<char>", "string_view" },
};

static void replace_all(char *text, const char *from, const char *to)
{
	char *out = text;

	while (*text != '\0') {
		if (starts_with(text, from)) {
			memcpy(out, to, strlen(to));
			out += strlen(to);
			text += strlen(from);
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

char *seep_function_short_name(const char *function)
{
	const struct seep_name_part name = seep_function_name(function);
	const char *end = name.text + name.bytes;
	char *text = seep_xmalloc(name.bytes + 1);
	char *out = text;

	for (const char *at = name.text; at < end;) {
		const size_t skip = default_argument_at(at, end);

		if (skip > 0)
			at += skip;
		else
			*out++ = *at++;
	}
	*out = '\0';
	if (strchr(text, '<') != NULL || strchr(text, '(') != NULL)
		for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++)
			replace_all(text, replacements[i].from, replacements[i].to);
	return text;
}

static bool part_is(struct seep_name_part name, const char *text)
{
	return strlen(text) == name.bytes && memcmp(name.text, text, name.bytes) == 0;
}

static bool part_starts(struct seep_name_part name, const char *text)
{
	return name.bytes >= strlen(text) && memcmp(name.text, text, strlen(text)) == 0;
}

static const char *const plumbing_names[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"memalign",
	"posix_memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"strdup",
	"strndup",
	"__strdup",
	"__strndup",
	"wcsdup",
	"asprintf",
	"vasprintf",
	"getline",
	"getdelim",
	"_IO_getdelim",
	"xmalloc",
	"xcalloc",
	"xzalloc",
	"xrealloc",
	"xreallocarray",
	"xnmalloc",
	"xnrealloc",
	"x2realloc",
	"x2nrealloc",
	"xmemdup",
	"xstrdup",
	"xstrndup",
	"xmallocz",
	"xmemdupz",
	"safe_malloc",
	"safe_calloc",
	"safe_realloc",
	"emalloc",
	"erealloc",
	"mymalloc",
	"zmalloc",
	"zcalloc",
	"zrealloc",
	"ztrymalloc",
	"ztrycalloc",
	"ztryrealloc",
	"g_malloc",
	"g_malloc0",
	"g_malloc_n",
	"g_malloc0_n",
	"g_try_malloc",
	"g_try_malloc0",
	"g_realloc",
	"g_realloc_n",
	"g_try_realloc",
	"g_slice_alloc",
	"g_slice_alloc0",
	"g_slice_copy",
	"g_strdup",
	"g_strndup",
	"g_memdup",
	"g_memdup2",
	"CRYPTO_malloc",
	"CRYPTO_zalloc",
	"CRYPTO_realloc",
	"CRYPTO_strdup",
	"CRYPTO_memdup",
	"PyMem_Malloc",
	"PyMem_Calloc",
	"PyMem_Realloc",
	"PyMem_RawMalloc",
	"PyMem_RawCalloc",
	"PyMem_RawRealloc",
	"PyObject_Malloc",
	"PyObject_Calloc",
	"PyObject_Realloc",
	"_PyMem_RawMalloc",
	"_PyMem_RawCalloc",
	"_PyMem_RawRealloc",
	"_PyObject_Malloc",
	"_PyObject_Calloc",
	"_PyObject_Realloc",
	"Perl_safesysmalloc",
	"Perl_safesyscalloc",
	"Perl_safesysrealloc",
	"sqlite3Malloc",
	"sqlite3MallocZero",
	"sqlite3Realloc",
	"sqlite3MemMalloc",
	"sqlite3MemRealloc",
	"sqlite3_malloc",
	"sqlite3_malloc64",
	"sqlite3_realloc64",
	"uv__malloc",
	"uv__calloc",
	"uv__realloc",
	"av_malloc",
	"av_mallocz",
	"av_realloc",
	"__rust_alloc",
	"__rust_alloc_zeroed",
	"__rust_realloc",
	"__rdl_alloc",
	"__rdl_alloc_zeroed",
	"__rdl_realloc",
	"__rg_alloc",
	"__rg_realloc",
};

static const char *const plumbing_prefixes[] = {
	"operator new",	 "std::",      "__gnu_cxx::",
	"__gnu_debug::", "void std::", "boost::container::",
	"alloc::",	 "core::",     "<alloc::",
	"<core::",	 "<std::",     "hashbrown::",
	"<hashbrown::",
};

bool seep_function_is_plumbing(const char *function)
{
	const struct seep_name_part name = seep_function_name(function);

	for (size_t i = 0; i < sizeof(plumbing_prefixes) / sizeof(plumbing_prefixes[0]); i++)
		if (part_starts(name, plumbing_prefixes[i]))
			return true;
	for (size_t i = 0; i < sizeof(plumbing_names) / sizeof(plumbing_names[0]); i++)
		if (part_is(name, plumbing_names[i]))
			return true;
	return false;
}

bool seep_function_is_startup(const char *function)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
		"__GI___clone",
		"__GI___clone3",
		"_dl_start_user",
	};
	const size_t bytes = strcspn(function, "@"); /* __libc_start_main@@GLIBC_2.34 */

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == bytes && memcmp(function, names[i], bytes) == 0)
			return true;
	return false;
}
