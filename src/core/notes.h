/* SPDX-License-Identifier: MIT */
/* The notes of an ELF file: records of a name, a type and bytes. */
#ifndef SEEP_CORE_NOTES_H
#define SEEP_CORE_NOTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The GNU build-id among the @bytes of notes at @notes, which may be damaged; NULL: there is none.
 * @ret_bytes: at least 1
 */
const uint8_t *core_notes_build_id(const uint8_t *notes, size_t bytes, size_t *ret_bytes);

#endif
