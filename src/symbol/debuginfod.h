/* SPDX-License-Identifier: MIT */
/*
 * Files from debuginfod servers, by build-id. Only where somebody asked for it: nothing here is
 * reached otherwise, whatever the environment says.
 *
 * The transfer is libdebuginfod's, which is loaded when needed, keeps a cache and reads the servers
 * from DEBUGINFOD_URLS. A server that does not answer is waited for once (DEBUGINFOD_TIMEOUT), not
 * once per file.
 */
#ifndef SEEP_SYMBOL_DEBUGINFOD_H
#define SEEP_SYMBOL_DEBUGINFOD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* One thread at a time. */
struct seep_debuginfod;

enum seep_debuginfod_kind { SEEP_DEBUGINFOD_DEBUG, SEEP_DEBUGINFOD_EXECUTABLE };

/**
 * seep_debuginfod_new - be ready to ask; asks nothing
 *
 * Returns: 0, or
 *   -SEEP_EUSAGE        DEBUGINFOD_URLS names no server
 *   -SEEP_EUNSUPPORTED  the library is not installed
 */
SEEP_NODISCARD int seep_debuginfod_new(struct seep_debuginfod **ret, struct seep_error *err);

/* NULL is a no-op. */
void seep_debuginfod_free(struct seep_debuginfod *client);

/**
 * seep_debuginfod_find - the path of a file with that build-id, downloaded if need be
 * @client: NULL: nobody is asked
 * @name:   of the module, for the progress line
 *
 * seep_work_interrupt() ends it within about a second.
 *
 * Returns: for free(); NULL when no server has it, or none can be asked any more.
 */
char *seep_debuginfod_find(struct seep_debuginfod *client, enum seep_debuginfod_kind kind,
			   const uint8_t *build_id, size_t build_id_bytes, const char *name);

/* Why nobody is asked any more, as a sentence; NULL: all is well. */
const char *seep_debuginfod_trouble(const struct seep_debuginfod *client);

#endif
