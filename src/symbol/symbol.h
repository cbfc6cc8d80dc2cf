/* SPDX-License-Identifier: MIT */
/*
 * From an address in a module to function names, files and lines, inlined functions included:
 * outside the target, after the fact, from the module's path and build-id alone.
 *
 * What is known about a module falls back step by step: DWARF of the file itself or of a separate
 * debug file, the symbol table, the compressed one of "mini debug information", the dynamic one.
 */
#ifndef SEEP_SYMBOL_SYMBOL_H
#define SEEP_SYMBOL_SYMBOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cache of opened modules. One thread at a time. */
struct seep_symbols;

struct seep_symbol_module;

struct seep_symbols_options {
	/* Searched like /usr/lib/debug and before it; also for the modules themselves, by path and
	 * by basename, where a build-id proves that they are the right ones. Borrowed. */
	const char *const *debug_dirs;
	size_t debug_dir_count;
	/* Ask the debuginfod servers of DEBUGINFOD_URLS for what is found nowhere else. */
	bool debuginfod;
};

struct seep_symbol_frame {
	const char *function;	  /* demangled; NULL unknown */
	const char *linkage_name; /* as the linker knows it, when that differs; else NULL */
	const char *file;	  /* NULL unknown */
	uint32_t line;		  /* 0 unknown */
	bool inlined;		  /* into the function of the next frame */
};

/**
 * seep_symbols_new - an empty cache
 * @opt: may be NULL: no extra directories
 *
 * Returns: 0; with debuginfod asked for, the errors of seep_debuginfod_new().
 */
SEEP_NODISCARD int seep_symbols_new(const struct seep_symbols_options *opt,
				    struct seep_symbols **ret, struct seep_error *err);

/*
 * Around all that one job looks up: base/work.h. What a job that was over has read in part is not
 * used by the next one.
 */
void seep_symbols_begin(struct seep_symbols *symbols);
void seep_symbols_end(struct seep_symbols *symbols);

/* What went wrong between all modules (servers), as a sentence; NULL: nothing. */
const char *seep_symbols_trouble(const struct seep_symbols *symbols);

/* Releases modules and every string that was returned. NULL is a no-op. */
void seep_symbols_free(struct seep_symbols *symbols);

/**
 * seep_symbols_module - find or open a module
 * @path:           of the file as this process sees it; copied
 * @build_id:       of the module that was loaded, NULL when it is not known
 * @build_id_bytes: 0 when it is not known
 *
 * Never NULL: where nothing can be read, every look answers "unknown" and
 * seep_symbol_module_problem() says why. A file of another build-id is not used. Without a
 * build-id the file at the path is believed.
 */
struct seep_symbol_module *seep_symbols_module(struct seep_symbols *symbols, const char *path,
					       const uint8_t *build_id, size_t build_id_bytes);

/*
 * Why names or lines are missing, as half a sentence; NULL when the module has DWARF. May become
 * known only when an address is looked up.
 */
const char *seep_symbol_module_problem(const struct seep_symbol_module *module);

/*
 * What to add to a place in the module's file for its address as linked, where code was mapped from
 * @offset of the file on. 0 for most files, and for those that cannot be read.
 */
uint64_t seep_symbol_module_shift(const struct seep_symbol_module *module, uint64_t offset);

/**
 * seep_symbol_lookup - the frames at one address, innermost (most inlined) first
 * @address:    as linked: the run time address minus the module's load bias; for a return address
 *              the caller has subtracted 1, so that it lies in the call
 * @frames_max: at least 1. When there are more, the innermost ones and the outermost are given.
 *
 * The strings live as long as the cache.
 *
 * Returns: the number of frames written, at least 1; the frame of an unknown address is all zero.
 */
size_t seep_symbol_lookup(struct seep_symbol_module *module, uint64_t address,
			  struct seep_symbol_frame *frames, size_t frames_max);

/*
 * The variable at @address, as linked, and where in it that is; NULL: none is known. The string
 * lives as long as the cache.
 */
const char *seep_symbol_variable(struct seep_symbol_module *module, uint64_t address,
				 uint64_t *ret_offset);

#endif
