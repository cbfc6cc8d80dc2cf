/* SPDX-License-Identifier: MIT */
/* The contents of a file's sections: those that are wanted, inflated. */
#include "symbol/elf_image.h"

#include "base/xalloc.h"
#include "symbol/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONTENTS_MAX_BYTES ((uint64_t)8 << 30)

/* zstd can do better than this on zeros only; a claim beyond it is refused, not tried. */
#define INFLATE_RATIO_MAX 4096

/* What is read of a file, besides symbol tables. */
static const char *const wanted_names[] = {
	".debug_info",	       ".debug_abbrev",	      ".debug_str",
	".debug_line",	       ".debug_line_str",     ".debug_ranges",
	".debug_rnglists",     ".debug_addr",	      ".debug_str_offsets",
	".debug_types",	       ".gnu_debugaltlink",   ".gnu_debuglink",
	".gnu_debugdata",      ".debug_cu_index",     ".debug_info.dwo",
	".debug_abbrev.dwo",   ".debug_str.dwo",      ".debug_line.dwo",
	".debug_line_str.dwo", ".debug_rnglists.dwo", ".debug_str_offsets.dwo",
	".debug_types.dwo",
};

static bool is_wanted(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	const char *name = seep_elf_section_name(elf, section);

	switch (section->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
		return true;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(wanted_names) / sizeof(wanted_names[0]); i++)
		if (strcmp(name, wanted_names[i]) == 0)
			return true;
	return false;
}

uint8_t *seep_elf_contents(const struct seep_elf *elf, const Elf64_Shdr *section,
			   uint64_t bytes_max, uint64_t *ret_bytes)
{
	uint64_t from = section->sh_offset, left = section->sh_size;
	uint8_t *packed, *contents;
	Elf64_Chdr header = { 0 };
	bool done;

	if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS)
		return NULL;
	*ret_bytes = left;
	if (section->sh_flags & SHF_COMPRESSED) {
		if (left < sizeof(header) || !seep_elf_read_at(elf, from, &header, sizeof(header)))
			return NULL;
		from += sizeof(header);
		left -= sizeof(header);
		*ret_bytes = header.ch_size;
	}
	if (left > elf->file_bytes || *ret_bytes > bytes_max ||
	    *ret_bytes / INFLATE_RATIO_MAX > left)
		return NULL;
	packed = seep_xmalloc(left + 1);
	packed[left] = 0;
	done = seep_elf_read_at(elf, from, packed, left);
	if (done && !(section->sh_flags & SHF_COMPRESSED))
		return packed;
	contents = done ? seep_xmalloc(*ret_bytes + 1) : NULL;
	if (contents && seep_inflate(header.ch_type, packed, left, contents, *ret_bytes)) {
		contents[*ret_bytes] = 0;
	} else {
		free(contents);
		contents = NULL;
	}
	free(packed);
	return contents;
}

bool seep_elf_load(struct seep_elf *elf)
{
	uint64_t read_bytes = 0, left = CONTENTS_MAX_BYTES;

	if (elf->contents)
		return true;
	if (!elf->section_count)
		return false;
	elf->contents = seep_xcalloc(elf->section_count, sizeof(*elf->contents));
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		uint64_t bytes;

		if (section->sh_type == SHT_NOBITS || !is_wanted(elf, section))
			continue;
		/* Sections of an honest file do not overlap. */
		if (section->sh_size > elf->file_bytes - read_bytes)
			break;
		read_bytes += section->sh_size;
		elf->contents[i].data = seep_elf_contents(elf, section, left, &bytes);
		if (elf->contents[i].data) {
			elf->contents[i].bytes = bytes;
			left -= bytes;
		}
	}
	if (elf->fd >= 0)
		(void)close(elf->fd);
	elf->fd = -1;
	elf->memory = NULL;
	elf->file_bytes = 0;
	return true;
}
