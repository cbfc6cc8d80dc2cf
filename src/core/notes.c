/* SPDX-License-Identifier: MIT */
#include "core/notes.h"

#include <elf.h>
#include <string.h>

static size_t aligned(uint32_t bytes)
{
	return ((size_t)bytes + 3) & ~(size_t)3;
}

const uint8_t *core_notes_build_id(const uint8_t *notes, size_t bytes, size_t *ret_bytes)
{
	Elf64_Nhdr note;

	while (bytes >= sizeof(note)) {
		const uint8_t *name = notes + sizeof(note);
		size_t left = bytes - sizeof(note);
		size_t name_bytes;

		memcpy(&note, notes, sizeof(note));
		name_bytes = aligned(note.n_namesz);
		if (name_bytes > left || note.n_descsz > left - name_bytes)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0 && note.n_descsz > 0) {
			*ret_bytes = note.n_descsz;
			return name + name_bytes;
		}
		left -= name_bytes;
		/* The last one's padding may be missing. */
		if (aligned(note.n_descsz) > left)
			return NULL;
		bytes = left - aligned(note.n_descsz);
		notes = name + name_bytes + aligned(note.n_descsz);
	}
	return NULL;
}
