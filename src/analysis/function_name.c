/* SPDX-License-Identifier: MIT */
/*
 * Reads demangled names by brackets, not by grammar: the name is what stands between the last
 * space outside all brackets and the first parenthesis outside all brackets.
 */
#include "analysis/function_name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"

enum { ARGUMENTS_BYTES_MAX = 40, ARGUMENT_DEPTH_MAX = 3 };

static const char gap[] = "<…>";

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
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
		if (seep_begins_with(text, symbols[i]))
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
	return seep_begins_with(text, " <") ? skip_bracket(text + 1) : text; /* operator< <int> */
}

static bool is_operator(const char *function, const char *at)
{
	return seep_begins_with(at, "operator") && !is_word(at[strlen("operator")]) &&
	       (at == function || !is_word(at[-1]));
}

static bool is_unnamed_scope(const char *at)
{
	return seep_begins_with(at, "(anonymous ") || seep_begins_with(at, "('lambda");
}

/* Go: "runtime.(*mheap).grow". */
static bool is_receiver(const char *function, const char *at)
{
	return seep_begins_with(at, "(*") && at > function && at[-1] == '.';
}

/* Past a lambda's or local class's owner: "f(int)::{lambda()#1}::operator()" has two parameters. */
static const char *skip_parameters(const char *text)
{
	text = skip_bracket(text);
	while (seep_begins_with(text, " const") || seep_begins_with(text, " volatile"))
		text += strcspn(text + 1, " :") + 1;
	return seep_begins_with(text, "::") ? text + 2 : NULL;
}

/* Past a return type that is spelt out: "decltype (::new ((void*)0) T) std::f<T>(T*)". */
static const char *skip_decltype(const char *function)
{
	const char *at = function;

	if (!seep_begins_with(at, "decltype"))
		return function;
	at += strlen("decltype");
	at += *at == ' ';
	if (*at != '(')
		return function;
	at = skip_bracket(at);
	return *at == ' ' ? at + 1 : function;
}

/* Past a bracket with all in it, or one byte. */
static const char *skip_one(const char *text)
{
	return strchr("<({", *text) ? skip_bracket(text) : text + 1;
}

static bool is_parameters(const char *function, const char *at)
{
	return *at == '(' && !is_unnamed_scope(at) && !is_receiver(function, at);
}

/* Past what belongs to a name at @at, which is not its end; NULL: its parameters end it there. */
static const char *skip_name(const char *function, const char *at)
{
	if (is_operator(function, at))
		return skip_operator(at);
	return is_parameters(function, at) ? skip_parameters(at) : skip_one(at);
}

struct seep_name_part seep_function_name(const char *function)
{
	const char *start = skip_decltype(function);
	const char *at = start, *next;
	bool has_parameters = false;

	/* Rust: "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", and no parameters. */
	for (; *at != '\0' && !seep_begins_with(at, " ["); at = next) { /* "[clone .cold]" */
		has_parameters |= is_parameters(function, at);
		next = skip_name(function, at);
		if (next == NULL)
			break;
		start = *at == ' ' ? next : start;
	}
	/* Only what has parameters can have a return type: a C name may be anything. */
	if (at == start || !has_parameters)
		return (struct seep_name_part){ function, strlen(function) };
	return (struct seep_name_part){ start, (size_t)(at - start) };
}

/* "<&mut T as Trait>::f" is the library's where both T and the trait are: at T. */
static const char *self_type(struct seep_name_part name)
{
	const char *at = name.text + 1;

	while (*at == '&' || *at == '*' || *at == '[' || *at == '(')
		at++;
	for (;;) {
		if (seep_begins_with(at, "mut ") || seep_begins_with(at, "dyn "))
			at += 4;
		else if (seep_begins_with(at, "const "))
			at += 6;
		else
			return at;
	}
}

static const char *const library_prefixes[] = {
	"std::",   "__gnu_cxx::", "__gnu_debug::", "boost::container::",
	"alloc::", "core::",	  "hashbrown::",   "__rust_begin_short_backtrace",
	"__rdl_",  "__rg_",	  "__rust_",	   NULL,
};

static const char *const compiled_in[] = {
	"boost::",  "boost_asio_", "google::protobuf::",
	"absl::",   "QtPrivate::", "QtSharedPointer::",
	"QHash<",   "QList<",	   "QMap<",
	"QVector<", NULL,
};

bool seep_function_is_compiled_in(const char *function)
{
	return seep_begins_among(seep_function_name(function).text, compiled_in);
}

/* What calls or holds a callable, and which of its template arguments that is. */
static const struct {
	const char *name;
	unsigned argument;
	bool calls;
} holders[] = {
	{ "std::_Function_handler<", 1, true },
	{ "std::__invoke_impl<", 1, true },
	{ "std::__invoke_r<", 1, true },
	{ "std::__invoke<", 0, true },
	{ "std::invoke<", 0, true },
	{ "std::thread::_State_impl<", 0, true },
	{ "std::thread::_Invoker<", 0, true },
	{ "std::__future_base::_Async_state_impl<", 0, true },
	{ "std::__future_base::_Deferred_state<", 0, true },
	{ "std::__future_base::_Task_state<", 0, true },
	{ "std::__future_base::_Task_setter<", 1, false },
	{ "std::tuple<", 0, false },
	{ "std::_Bind<", 0, false },
	{ "std::reference_wrapper<", 0, false },
	{ "std::__1::__function::__func<", 0, true },
	{ "std::sys::backtrace::__rust_begin_short_backtrace::<", 0, true },
};

/* The template argument @index of those that begin at @at; NULL: there are not as many. */
static const char *find_argument(const char *at, const char *end, unsigned index)
{
	while (index > 0 && at < end && *at != '>') {
		const bool ends = seep_begins_with(at, ", ");

		index -= ends;
		at = ends ? at + 2 : skip_one(at);
	}
	return index == 0 && at < end ? at : NULL;
}

/* A type that can have an operator(): nothing if it is a pointer, built in or the library's. */
static struct seep_name_part named_type(const char *type, const char *end)
{
	const char *at = type;

	for (const char *next = type; next != NULL;) {
		at = next;
		next = at < end && strchr(",>&* ", *at) == NULL ? skip_name(type, at) : NULL;
	}
	if (at >= end || at == type || *at == '*' || seep_begins_with(at, " (*") ||
	    seep_begins_among(type, library_prefixes) || seep_begins_among(type, compiled_in))
		return (struct seep_name_part){ 0 };
	if (seep_begins_with(at, " (") && memmem(at, (size_t)(skip_bracket(at + 1) - at), "*)", 2))
		return (struct seep_name_part){ 0 }; /* T (T::*)(int) */
	return (struct seep_name_part){ type, (size_t)(at - type) };
}

/* The type of what the function at @at was made to call. False: it has no name, or is none. */
static bool find_callable(const char *at, const char *end, struct seep_name_part *ret)
{
	bool calls = false;

	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]);) {
		if (!seep_begins_with(at, holders[i].name) || (!calls && !holders[i].calls)) {
			i++;
			continue;
		}
		calls = true;
		at = find_argument(at + strlen(holders[i].name), end, holders[i].argument);
		if (at == NULL)
			return false;
		i = 0;
	}
	*ret = calls ? named_type(at, end) : (struct seep_name_part){ 0 };
	return ret->bytes > 0;
}

static const char *const call_members[] = { "::_M_invoke",   "::_M_run", "::operator()",
					    "::do_complete", "::impl",	 NULL };

/* "boost::asio::detail::binder1<app::run()::{lambda(int)#1}, int>::operator()", however deep. */
static bool find_lambda_argument(struct seep_name_part name, struct seep_name_part *ret)
{
	const char *open = name.text + strcspn(name.text, "<"), *end = skip_bracket(open);
	const char *at = memmem(open, (size_t)(end - open), "{lambda", 7);
	long depth = 0;

	if (at == NULL || !seep_begins_among(end, call_members))
		return false;
	for (; at > open + 1 && (depth > 0 || (at[-1] != '<' && at[-1] != ' ')); at--)
		depth += (at[-1] == ')' || at[-1] == '>') - (at[-1] == '(' || at[-1] == '<');
	*ret = named_type(at, end);
	return ret->bytes > 0;
}

/* Behind the arguments of what holds a callable: what it does is to call it. */
static bool is_call(const struct seep_name_part *name)
{
	const char *at = skip_bracket(name->text + strcspn(name->text, "<"));

	return at >= name->text + name->bytes || seep_begins_among(at, call_members);
}

/* "<app::f::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}" */
static bool find_closure(const struct seep_name_part *name, struct seep_name_part *ret)
{
	static const char as_function[] = " as core::ops::function::Fn";
	const char *end = name->text + name->bytes;
	const char *self, *trait;

	if (*name->text != '<')
		return false;
	self = self_type(*name);
	trait = self < end ? memmem(self, (size_t)(end - self), as_function, strlen(as_function))
			   : NULL;
	if (trait == NULL || seep_begins_among(self, library_prefixes) ||
	    memmem(self, (size_t)(trait - self), "{closure", 8) == NULL)
		return false;
	*ret = (struct seep_name_part){ self, (size_t)(trait - self) };
	return true;
}

/* What @name was made to call. False: nothing of the program's. */
static bool callable_of(struct seep_name_part name, struct seep_name_part *ret)
{
	return (find_callable(name.text, name.text + name.bytes, ret) && is_call(&name)) ||
	       find_lambda_argument(name, ret) || find_closure(&name, ret);
}

bool seep_function_is_invoker(const char *function)
{
	struct seep_name_part callable;

	return callable_of(seep_function_name(function), &callable);
}

bool seep_function_is_shim(const char *function)
{
	static const char *const prefixes[] = { "core::ops::function::Fn",
						"std::sys::backtrace::__rust_begin_short_",
						"std::sys_common::backtrace::__rust_begin_short_",
						NULL };

	return seep_begins_among(function, prefixes);
}

/* At ", std::allocator<…>": how many bytes to leave out, with a space before the closing '>'. */
static size_t default_argument_at(const char *at, const char *end)
{
	/* What they always are. */
	static const char *const defaults[] = {
		"std::allocator<", "std::char_traits<",	   "std::less<", "std::hash<",
		"std::equal_to<",  "std::default_delete<", NULL,
	};
	const char *after;

	if (end - at < 2 || at[0] != ',' || at[1] != ' ' || !seep_begins_among(at + 2, defaults))
		return 0;
	after = skip_bracket(at + strcspn(at, "<"));
	return (size_t)((after < end ? after : end) - at);
}

static const struct {
	const char *from;
	const char *to;
} replacements[] = {
	{ "std::__cxx11::", "std::" },
	{ "(anonymous namespace)", "(anon)" },
	{ " >", ">" },
	{ "}::operator()() const::{", "}::{" },
	{ "basic_string<char>", "string" },
	{ "basic_string_view<char>", "string_view" },
};

static void replace_all(char *text, const char *from, const char *to)
{
	char *out = text;

	while (*text != '\0') {
		if (seep_begins_with(text, from)) {
			memcpy(out, to, strlen(to));
			out += strlen(to);
			text += strlen(from);
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* "{lambda:37(char)#1}": the line tells it from others. */
static void shorten_lines(char *text)
{
	while ((text = strstr(text, "{lambda:")) != NULL) {
		const char *end = skip_bracket(text);

		text += strcspn(text, "(}");
		if (*text == '(')
			memmove(text, end - 1, strlen(end - 1) + 1);
	}
}

/* There is one thing to do with a lambda: "main::{lambda:37}::operator()" is main::{lambda:37}. */
static void shorten_call(char *text)
{
	static const char call[] = "::operator()";
	char *end = NULL, *after;

	for (char *at = text; (at = strstr(at, call)) != NULL; at++)
		end = at;
	if (end == NULL || end == text || (end[-1] != '}' && strstr(text, "$_") == NULL))
		return;
	after = end + strlen(call);
	if (*after == '\0' || (*after == '<' && *skip_bracket(after) == '\0'))
		*end = '\0';
}

char *seep_function_short_name(const char *function, const char *file)
{
	struct seep_name_part name = seep_function_name(function), callable;
	const bool called = file == NULL && callable_of(name, &callable);
	const char *end;
	char *text, *out;

	if (called)
		name = callable;
	end = name.text + name.bytes;
	out = text = seep_xmalloc(name.bytes + sizeof("::operator()"));
	for (const char *at = name.text; at < end;) {
		const size_t skip = default_argument_at(at, end);

		if (skip > 0)
			at += skip;
		else
			*out++ = *at++;
	}
	strcpy(out, called && *name.text != '<' && end[-1] != '}' ? "::operator()" : "");
	if (strstr(text, "{{closure") != NULL) {
		replace_all(text, "{{", "{");
		replace_all(text, "}}", "}");
	}
	if (strpbrk(text, "<(") != NULL)
		for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++)
			replace_all(text, replacements[i].from, replacements[i].to);
	shorten_lines(text);
	shorten_call(text);
	return text;
}

static void add_brief(struct seep_strbuf *out, const char *at, const char *end, unsigned depth);

/* "<app::Conn, …>": the first template argument is what tells two types apart. */
static void add_arguments(struct seep_strbuf *out, const char *at, const char *end, unsigned depth)
{
	const bool whole = depth < ARGUMENT_DEPTH_MAX && end[-1] == '>';
	const size_t before = out->length;
	const char *first = at + 1;

	while (whole && first < end - 1 && *first != ',')
		first = skip_one(first);
	if (whole && first < end) {
		seep_strbuf_addc(out, '<');
		add_brief(out, at + 1, first, depth + 1);
		seep_strbuf_adds(out, first < end - 1 ? ", …>" : ">");
	}
	if (out->length == before || out->length - before > ARGUMENTS_BYTES_MAX) {
		seep_strbuf_cut(out, before);
		seep_strbuf_adds(out, gap);
	}
}

/* A name has the first of its first arguments, and gaps for others that are longer than a gap. */
static void add_brief(struct seep_strbuf *out, const char *from, const char *end, unsigned depth)
{
	bool first = true;

	for (const char *at = from, *next; at < end; at = next) {
		const bool symbol = is_operator(from, at);

		next = symbol ? skip_operator(at) : *at == '<' ? skip_bracket(at) : at + 1;
		next = next < end ? next : end;
		if (symbol || *at != '<' || (!first && (size_t)(next - at) < strlen(gap)))
			seep_strbuf_add(out, at, (size_t)(next - at));
		else if (first)
			add_arguments(out, at, next, depth);
		else
			seep_strbuf_adds(out, gap);
		/* Not Rust's "Arc<T>", whose T a later one tells. */
		first &= *at != '<' || symbol || (size_t)(next - at) < strlen(gap);
	}
}

char *seep_function_brief_name(const char *name)
{
	struct seep_strbuf out;

	/* Rust's "<T as Trait>::f" would lose everything. */
	if (*name == '<')
		return seep_xstrdup(name);
	out = seep_strbuf_of(SIZE_MAX / 2);
	add_brief(&out, name, name + strlen(name), 0);
	return seep_strbuf_take(&out);
}

static bool is_among(struct seep_name_part name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == name.bytes && memcmp(name.text, *names, name.bytes) == 0)
			return true;
	return false;
}

bool seep_function_is_library(const char *function)
{
	const struct seep_name_part name = seep_function_name(function);
	const char *end = name.text + name.bytes;
	struct seep_name_part callable;
	const char *self, *trait;

	if (seep_begins_among(name.text, library_prefixes))
		return true;
	if (*name.text != '<')
		return false;
	if (find_closure(&name, &callable))
		return true;
	self = self_type(name);
	trait = strstr(self, " as ");
	if (self > end || (trait != NULL && trait + 4 > end))
		return false;
	if (trait == NULL)
		return seep_begins_among(self, library_prefixes);
	/* A type without a path is built in, or a parameter. */
	return seep_begins_among(trait + 4, library_prefixes) &&
	       (seep_begins_among(self, library_prefixes) ||
		memmem(self, (size_t)(trait - self), "::", 2) == NULL);
}

bool seep_function_is_allocator(const char *function)
{
	static const char *const names[] = {
		"malloc",    "calloc",	       "realloc",	"reallocarray",
		"memalign",  "posix_memalign", "aligned_alloc", "strdup",
		"strndup",   "xmalloc",	       "xcalloc",	"xzalloc",
		"xrealloc",  "xstrdup",	       "xstrndup",	"g_malloc",
		"g_malloc0", "g_realloc",      "g_strdup",	"g_strndup",
		NULL,
	};
	const struct seep_name_part name = seep_function_name(function);

	return seep_begins_with(name.text, "operator new") || is_among(name, names);
}

bool seep_function_says_alloc(const char *function)
{
	const struct seep_name_part name = seep_function_name(function);
	const char *end = name.text + name.bytes, *at = strcasestr(name.text, "alloc");

	/* zmalloc_usable, sqlite3_realloc64 */
	return (at != NULL && at > name.text && at < end &&
		(strchr("mMcC", at[-1]) != NULL ||
		 (at - name.text > 1 && strncasecmp(at - 2, "re", 2) == 0))) ||
	       (name.bytes > 5 && strncasecmp(end - 5, "alloc", 5) == 0 &&
		(name.bytes < 7 || strncasecmp(end - 7, "dealloc", 7) != 0));
}

bool seep_function_is_startup(const char *function)
{
	static const char *const names[] = {
		"_start",
		"libc_start_main",
		"libc_start_main_impl",
		"libc_start_call_main",
		"libc_csu_init",
		"start_thread",
		"clone",
		"clone3",
		"_dl_start_user",
		"_dl_init",
		"call_init",
		NULL,
	};

	function += seep_begins_with(function, "__GI_") ? strlen("__GI_") : 0;
	function += seep_begins_with(function, "__") ? strlen("__") : 0;
	/* __libc_start_main@@GLIBC_2.34 */
	return is_among((struct seep_name_part){ function, strcspn(function, "@") }, names);
}
