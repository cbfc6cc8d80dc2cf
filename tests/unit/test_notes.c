/* SPDX-License-Identifier: MIT */
/* The notes of ELF files, which hold the build-id. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/notes.h"
#include "unit.h"

enum { NOTES_MAX = 256 };

struct notes {
	uint8_t at[NOTES_MAX];
	size_t bytes;
};

static void add(struct notes *notes, const char *name, uint32_t type, const char *text)
{
	Elf64_Nhdr note = { .n_namesz = (uint32_t)strlen(name) + 1,
			    .n_descsz = (uint32_t)strlen(text),
			    .n_type = type };

	memcpy(notes->at + notes->bytes, &note, sizeof(note));
	notes->bytes += sizeof(note);
	memcpy(notes->at + notes->bytes, name, note.n_namesz);
	notes->bytes += (note.n_namesz + 3) & ~3u;
	memcpy(notes->at + notes->bytes, text, note.n_descsz);
	notes->bytes += (note.n_descsz + 3) & ~3u;
}

TEST(the_build_id_is_found_behind_other_notes)
{
	struct notes notes = { 0 };
	size_t bytes = 0;
	const uint8_t *id;

	add(&notes, "Go", NT_GNU_BUILD_ID, "of another kind");
	add(&notes, "GNU", NT_GNU_ABI_TAG, "also");
	add(&notes, "GNU", NT_GNU_BUILD_ID, "");
	assert_null(core_notes_build_id(notes.at, notes.bytes, &bytes));
	add(&notes, "GNU", NT_GNU_BUILD_ID, "this one!");
	add(&notes, "GNU", NT_GNU_BUILD_ID, "too late");
	id = core_notes_build_id(notes.at, notes.bytes, &bytes);
	assert_non_null(id);
	assert_int_equal(bytes, 9);
	assert_memory_equal(id, "this one!", 9);
}

TEST(notes_that_are_cut_or_lie_about_sizes_are_not_read_beyond_their_end)
{
	static const uint32_t sizes[] = { 5, 0x7fffffff, 0xfffffffd, 0xffffffff };
	size_t bytes;

	for (size_t end = 0; end < 40; end++) {
		struct notes notes = { 0 };
		uint8_t *exact = malloc(end + 1);

		add(&notes, "GNU", NT_GNU_ABI_TAG, "1234");
		add(&notes, "GNU", NT_GNU_BUILD_ID, "1234");
		assert_int_equal(notes.bytes, 40);
		memcpy(exact, notes.at, end);
		assert_null(core_notes_build_id(exact, end, &bytes));
		for (size_t i = 0; i < 4 && end == 39; i++) {
			/* Of the first: its name's size, then its own. */
			memcpy(notes.at, &sizes[i], 4);
			assert_null(core_notes_build_id(notes.at, notes.bytes, &bytes));
			memcpy(notes.at, &(uint32_t){ 4 }, 4);
			memcpy(notes.at + 4, &sizes[i], 4);
			assert_null(core_notes_build_id(notes.at, notes.bytes, &bytes));
		}
		free(exact);
	}
}
