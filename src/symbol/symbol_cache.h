/* SPDX-License-Identifier: MIT */
/*
 * Answers that are kept on disk: one file per build-id, in a directory that several processes may
 * use at once. Files are written whole under another name and renamed; of two that write at the same
 * time the later one's stays. Whatever is wrong with a file (cut, flipped, hostile, another
 * version's), it is as if it were not there, and the next answers replace it.
 *
 * What answers depend on besides the build-id is this program: its own build-id is part of a
 * file's name, so that another seep asks anew. docs/symbol-cache.md describes what users see.
 */
#ifndef SEEP_SYMBOL_SYMBOL_CACHE_H
#define SEEP_SYMBOL_SYMBOL_CACHE_H

#include "symbol/symbol.h"

#include <stddef.h>
#include <stdint.h>

struct seep_symbol_cache;
struct seep_symbol_answers;

/* What all files together may take before the oldest go. */
#define SEEP_SYMBOL_CACHE_BYTES_MAX (512ull << 20)

/**
 * seep_symbol_cache_directory - where it is
 *
 * $SEEP_CACHE_DIR, else $XDG_CACHE_HOME/seep, else $HOME/.cache/seep.
 *
 * Returns: its name, released with free(), or NULL: relative, not set, or another user's home, as
 * under sudo.
 */
char *seep_symbol_cache_directory(void);

/**
 * seep_symbol_cache_open - use the answers below @directory
 * @bytes_max: of all files together
 *
 * Never fails: a directory that is not there is made when there is something to keep; one that
 * belongs to somebody else, or that others may write to, is not used.
 */
struct seep_symbol_cache *seep_symbol_cache_open(const char *directory, uint64_t bytes_max);

/* After the answers of all modules. Removes the oldest files when there is too much. NULL is a no-op. */
void seep_symbol_cache_close(struct seep_symbol_cache *cache);

/* What is kept about the module with this build-id. Never NULL. */
struct seep_symbol_answers *seep_symbol_answers_open(struct seep_symbol_cache *cache,
						     const uint8_t *build_id,
						     size_t build_id_bytes);

/**
 * seep_symbol_answers_find - as seep_symbol_lookup()
 *
 * Strings live until seep_symbol_answers_close().
 *
 * Returns: 0 when it is not known here, or has more than @frames_max frames.
 */
size_t seep_symbol_answers_find(struct seep_symbol_answers *answers, uint64_t address,
				struct seep_symbol_frame *frames, size_t frames_max);

/* Keep the @count frames at @address. Strings must live until seep_symbol_answers_close(). */
void seep_symbol_answers_add(struct seep_symbol_answers *answers, uint64_t address,
			     const struct seep_symbol_frame *frames, size_t count);

/* Write what was added, if anything was, and release. NULL is a no-op. */
void seep_symbol_answers_close(struct seep_symbol_answers *answers);

#endif
