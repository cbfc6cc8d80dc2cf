/* SPDX-License-Identifier: MIT */
/*
 * The anatomy of a demangled function name: which part of
 * "std::vector<int> app::load<char>(char const*)" is the name, and whose function it is.
 */
#ifndef SEEP_ANALYSIS_FUNCTION_NAME_H
#define SEEP_ANALYSIS_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* A stretch of the caller's string. */
struct seep_name_part {
	const char *text;
	size_t bytes;
};

/*
 * The qualified name without return type, parameters and trailing qualifiers: app::load<char>.
 * A name that is not C++ or Rust comes back whole. Never empty unless @function is.
 */
struct seep_name_part seep_function_name(const char *function);

/*
 * The same for reading, in new memory: template arguments that have their default value left out,
 * std::string for what it is, "(anon)"; of a lambda its own name alone, and of an invoker the name
 * of what it calls, unless its @file is known. Release with free().
 */
char *seep_function_short_name(const char *function, const char *file);

/*
 * A short name with the first of its template arguments alone, in new memory: "map<int, …>::at",
 * "make_shared<Conn>"; "<…>" where that is long. Release with free().
 */
char *seep_function_brief_name(const char *name);

/*
 * Whether @function is of a language's standard library: std::, __gnu_cxx::, Rust's alloc:: and
 * core::, and what these define for built-in types.
 */
bool seep_function_is_library(const char *function);

/* Whether it is of a library that programs have parts of in them: Boost, Qt, protobuf. */
bool seep_function_is_compiled_in(const char *function);

/*
 * Whether @function is the library's for one callable of the program's, and does nothing but call
 * it: std::_Function_handler<void (), main::{lambda()#2}>::_M_invoke, Rust's call_once(). Where no
 * function of the program stands further inside, the callable was inlined there. With debug
 * information an inlined callable is a frame of its own.
 */
bool seep_function_is_invoker(const char *function);

/* The same of Rust's, whose older names do not tell what they call: each is one of its own. */
bool seep_function_is_shim(const char *function);

/* Whether @function is one that everybody knows to allocate: operator new, xmalloc, g_malloc... */
bool seep_function_is_allocator(const char *function);

/* Whether its name ends in "alloc", or has "malloc" or "realloc" in it: zmalloc_usable... */
bool seep_function_says_alloc(const char *function);

/* Whether @function comes before main or a thread's function: _start, start_thread, clone... */
bool seep_function_is_startup(const char *function);

#endif
