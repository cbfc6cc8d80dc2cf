/* SPDX-License-Identifier: MIT */
/*
 * Allocators that are linked into a program: known by the names in its symbol tables, as long as
 * it is not stripped.
 */
#ifndef SEEP_SYMBOL_ALLOCATORS_H
#define SEEP_SYMBOL_ALLOCATORS_H

/*
 * What a known allocator is called that the ELF file at @path defines functions of; "malloc" where
 * it defines that, whosever it is. NULL when there is none, or the file cannot be read. Static
 * storage.
 */
const char *seep_allocator_in(const char *path);

#endif
