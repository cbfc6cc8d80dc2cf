/* SPDX-License-Identifier: MIT */
/* From a file's sections to the image: what is wanted of them, inflated, one after the other. */
#include "symbol/elf_image.h"

#include "base/xalloc.h"
#include "symbol/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_MAX_BYTES ((uint64_t)8 << 30)

/* zstd can do better than this on zeros only; a claim beyond it is refused, not tried. */
#define INFLATE_RATIO_MAX 4096

/* What is read of a file, besides symbol tables. */
static const char *const wanted_names[] = {
	".debug_info",	       ".debug_abbrev",	      ".debug_str",
	".debug_line",	       ".debug_line_str",     ".debug_ranges",
	".debug_rnglists",     ".debug_addr",	      ".debug_str_offsets",
	".debug_types",	       ".gnu_debugaltlink",   ".gnu_debuglink",
	".gnu_debugdata",      ".note.gnu.build-id",  ".debug_cu_index",
	".debug_info.dwo",     ".debug_abbrev.dwo",   ".debug_str.dwo",
	".debug_line.dwo",     ".debug_line_str.dwo", ".debug_str_offsets.dwo",
	".debug_rnglists.dwo", ".debug_types.dwo",
};

static bool is_wanted(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	const char *name = seep_elf_section_name(elf, section);
	size_t i;

	switch (section->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_SYMTAB_SHNDX:
		return true;
	case SHT_NULL:
	case SHT_NOBITS:
		return false;
	default:
		break;
	}
	for (i = 0; i < sizeof(wanted_names) / sizeof(wanted_names[0]); i++)
		if (strcmp(name, wanted_names[i]) == 0)
			return true;
	return false;
}

/* How a section lies in the file, and what it will be in the image. */
struct plan {
	uint64_t from;	     /* file offset of the contents proper */
	uint64_t from_bytes; /* 0 = left out */
	uint64_t bytes;	     /* inflated */
	uint32_t packing;    /* 0, ELFCOMPRESS_ZLIB or ELFCOMPRESS_ZSTD */
};

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static bool plan_is_sane(const struct seep_elf *elf, const struct plan *plan)
{
	if (plan->from > elf->file_bytes || plan->from_bytes > elf->file_bytes - plan->from)
		return false;
	if (plan->packing == 0)
		return true;
	return plan->bytes / INFLATE_RATIO_MAX <= plan->from_bytes;
}

static bool plan_compressed(const struct seep_elf *elf, const Elf64_Shdr *section,
			    struct plan *plan)
{
	Elf64_Chdr packed;

	if (section->sh_size < sizeof(packed) ||
	    !seep_elf_read_at(elf, section->sh_offset, &packed, sizeof(packed)) ||
	    (packed.ch_type != ELFCOMPRESS_ZLIB && packed.ch_type != ELFCOMPRESS_ZSTD))
		return false;
	plan->from = section->sh_offset + sizeof(packed);
	plan->from_bytes = section->sh_size - sizeof(packed);
	plan->bytes = packed.ch_size;
	plan->packing = packed.ch_type;
	return true;
}

static void plan_section(const struct seep_elf *elf, const Elf64_Shdr *section, struct plan *plan)
{
	bool known = true;

	*plan = (struct plan){ 0 };
	if (!is_wanted(elf, section))
		return;
	if (section->sh_flags & SHF_COMPRESSED) {
		known = plan_compressed(elf, section, plan);
	} else {
		plan->from = section->sh_offset;
		plan->from_bytes = plan->bytes = section->sh_size;
	}
	if (!known || !plan_is_sane(elf, plan))
		*plan = (struct plan){ 0 };
}

static bool fill(const struct seep_elf *elf, const struct plan *plan, uint8_t *to)
{
	uint8_t *packed;
	bool done;

	if (plan->packing == 0)
		return seep_elf_read_at(elf, plan->from, to, plan->bytes);
	packed = seep_xcalloc(plan->from_bytes + 1, 1);
	done = seep_elf_read_at(elf, plan->from, packed, plan->from_bytes);
	if (done && plan->packing == ELFCOMPRESS_ZLIB)
		done = seep_inflate_zlib(packed, plan->from_bytes, to, plan->bytes);
	else if (done)
		done = seep_inflate_zstd(packed, plan->from_bytes, to, plan->bytes);
	free(packed);
	return done;
}

enum { IMAGE_ALIGN = 16 };

/* At least one zero byte stays between two sections. */
static uint64_t padded(uint64_t bytes)
{
	return (bytes + IMAGE_ALIGN) & ~(uint64_t)(IMAGE_ALIGN - 1);
}

static void place(struct seep_elf *elf, size_t index, const struct plan *plan, uint64_t offset)
{
	Elf64_Shdr *section = &elf->sections[index];

	section->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	section->sh_offset = offset;
	if (plan->from_bytes && fill(elf, plan, elf->image + offset)) {
		section->sh_size = plan->bytes;
		return;
	}
	/* Address and size stay: they say where code is. */
	if (section->sh_type != SHT_NULL)
		section->sh_type = SHT_NOBITS;
	memset(elf->image + offset, 0, plan->from_bytes ? plan->bytes : 0);
}

static bool build_image(struct seep_elf *elf, struct plan *plans)
{
	uint64_t read_bytes = 0;
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < elf->section_count; i++) {
		plan_section(elf, &elf->sections[i], &plans[i]);
		/* Sections of an honest file do not overlap. */
		read_bytes += plans[i].from_bytes;
		if (read_bytes > elf->file_bytes || plans[i].bytes > IMAGE_MAX_BYTES - at)
			return false;
		at += plans[i].from_bytes ? padded(plans[i].bytes) : 0;
	}
	elf->image_bytes = at + 1;
	elf->image = seep_xcalloc(elf->image_bytes, 1);
	for (i = 0, at = 0; i < elf->section_count; i++) {
		place(elf, i, &plans[i], at);
		at += plans[i].from_bytes ? padded(plans[i].bytes) : 0;
	}
	return true;
}

bool seep_elf_load(struct seep_elf *elf)
{
	struct plan *plans;
	bool done;

	if (elf->image)
		return true;
	if (!elf->section_count)
		return false;
	plans = seep_xcalloc(elf->section_count, sizeof(*plans));
	done = build_image(elf, plans);
	free(plans);
	if (elf->fd >= 0)
		(void)close(elf->fd);
	elf->fd = -1;
	elf->memory = NULL;
	elf->file_bytes = 0;
	return done;
}
