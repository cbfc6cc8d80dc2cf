/* SPDX-License-Identifier: MIT */
/* C++ and Rust names from the linker's form to the person's. */
#ifndef SEEP_SYMBOL_DEMANGLE_H
#define SEEP_SYMBOL_DEMANGLE_H

#include "base/arena.h"

/**
 * seep_demangle - the readable form of a linkage name
 * @arena: receives the text
 *
 * C++ (with parameters), Rust's legacy and v0 forms. The input may be hostile: names longer than
 * 4,096 bytes, or whose text would pass 16 KB (a short name can stand for an exponentially long
 * one), are left alone.
 *
 * Returns: NULL when @name is not a mangled one, or left alone.
 */
const char *seep_demangle(struct seep_arena *arena, const char *name);

/**
 * seep_name_base_bytes - how much of a linkage name the source code knows
 *
 * Optimisers append ".cold", ".constprop.0", ".lto_priv.1" to copies and pieces of a function.
 * Other dots belong to the name in some languages.
 *
 * Returns: the length of @name without that.
 */
size_t seep_name_base_bytes(const char *name);

#endif
