/* SPDX-License-Identifier: MIT */
#include "symbol/elf_image.h"

#include "base/file.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "core/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define NOTES_MAX_BYTES ((uint64_t)1 << 20)
/* Of what is inflated: so much, and for each byte of the file. zstd gets to 20 on symbols. */
#define CONTENTS_LEAST_BYTES ((uint64_t)64 << 20)
#define CONTENTS_MAX_BYTES ((uint64_t)8 << 30)
enum { CONTENTS_RATIO_MAX = 64 };

#define XZ_OUT_MAX_BYTES ((size_t)256 << 20)
#define XZ_WORK_MAX_BYTES ((uint64_t)128 << 20)

/* zstd can do better than this on zeros only; a claim beyond it is refused, not tried. */
#define INFLATE_RATIO_MAX 4096

/* Of sections, those that were asked for. */
struct seep_elf_contents {
	uint64_t unread_bytes; /* of the file: sections of an honest one do not overlap */
	uint64_t room_bytes;   /* for what is inflated */
	struct seep_elf_bytes sections[];
};

bool seep_elf_read_at(const struct seep_elf *elf, uint64_t offset, void *to, uint64_t bytes)
{
	uint8_t *at = to;

	if (offset > elf->file_bytes || bytes > elf->file_bytes - offset)
		return false;
	if (elf->memory) {
		memcpy(to, elf->memory + offset, bytes);
		return true;
	}
	while (bytes) {
		ssize_t got = pread(elf->fd, at, bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return true;
}

bool seep_elf_segment(const struct seep_elf *elf, size_t index, Elf64_Phdr *ret_segment)
{
	return elf->header.e_phentsize == sizeof(*ret_segment) && index < elf->header.e_phnum &&
	       elf->header.e_phoff < UINT64_MAX / 2 &&
	       seep_elf_read_at(elf, elf->header.e_phoff + index * sizeof(*ret_segment),
				ret_segment, sizeof(*ret_segment));
}

static const Elf64_Shdr *find_section(const struct seep_elf *elf, const char *name)
{
	for (size_t i = 1; i < elf->section_count; i++) {
		const uint32_t at = elf->sections[i].sh_name;

		if (at < elf->names.bytes && strcmp((const char *)elf->names.data + at, name) == 0)
			return &elf->sections[i];
	}
	return NULL;
}

/* @packing: ELFCOMPRESS_…. Exactly @out_bytes and a zero after them; NULL: it is anything else. */
static uint8_t *inflate_section(uint32_t packing, const void *in, size_t in_bytes, size_t out_bytes)
{
	uint8_t *out = seep_xmalloc(out_bytes + 1);
	uLongf inflated = out_bytes;
	bool done = false;

	if (packing == ELFCOMPRESS_ZLIB)
		done = uncompress(out, &inflated, in, in_bytes) == Z_OK && inflated == out_bytes;
	else if (packing == ELFCOMPRESS_ZSTD) /* its errors are sizes that none has */
		done = ZSTD_decompress(out, out_bytes, in, in_bytes) == out_bytes;
	out[out_bytes] = 0;
	if (done)
		return out;
	free(out);
	return NULL;
}

/* Inflated, and a zero after them; NULL when they are not in the file, or more than @bytes_max. */
static uint8_t *read_contents(const struct seep_elf *elf, const Elf64_Shdr *section,
			      uint64_t bytes_max, uint64_t *ret_bytes)
{
	uint64_t from = section->sh_offset, left = section->sh_size;
	uint8_t *packed, *contents = NULL;
	Elf64_Chdr header = { 0 };

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
	    *ret_bytes / INFLATE_RATIO_MAX > left || !seep_work_has_room(left + *ret_bytes))
		return NULL;
	packed = seep_xmalloc(left + 1);
	packed[left] = 0;
	if (seep_elf_read_at(elf, from, packed, left)) {
		if (!(section->sh_flags & SHF_COMPRESSED))
			return packed;
		contents = inflate_section(header.ch_type, packed, left, *ret_bytes);
	}
	free(packed);
	return contents;
}

static struct seep_elf_bytes contents_of(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	struct seep_elf_bytes *found = &elf->contents->sections[section - elf->sections];

	if (found->data || section->sh_size > elf->contents->unread_bytes)
		return *found;
	found->data = read_contents(elf, section, elf->contents->room_bytes, &found->bytes);
	if (!found->data)
		return *found = (struct seep_elf_bytes){ 0 };
	elf->contents->unread_bytes -= section->sh_size;
	elf->contents->room_bytes -= found->bytes;
	return *found;
}

struct seep_elf_bytes seep_elf_section(const struct seep_elf *elf, const char *name)
{
	const Elf64_Shdr *section = find_section(elf, name);

	return section ? contents_of(elf, section) : (struct seep_elf_bytes){ 0 };
}

void seep_elf_stop_reading(struct seep_elf *elf)
{
	if (!elf)
		return;
	if (elf->fd >= 0)
		(void)close(elf->fd);
	elf->fd = -1;
	free(elf->memory);
	elf->memory = NULL;
	elf->file_bytes = 0;
}

struct seep_elf_table seep_elf_table(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	struct seep_elf_table table = { .items = contents_of(elf, section) };

	if (section->sh_link < elf->section_count &&
	    elf->sections[section->sh_link].sh_type == SHT_STRTAB)
		table.strings = contents_of(elf, &elf->sections[section->sh_link]);
	return table;
}

bool seep_elf_table_item(const struct seep_elf_table *table, size_t index, void *ret_item,
			 size_t bytes)
{
	if (index >= table->items.bytes / bytes)
		return false;
	memcpy(ret_item, table->items.data + index * bytes, bytes);
	return true;
}

const char *seep_elf_table_string(const struct seep_elf_table *table, uint64_t at)
{
	return at < table->strings.bytes ? (const char *)table->strings.data + at : NULL;
}

static bool open_next_table(struct seep_elf_symbols *symbols)
{
	const struct seep_elf *elf = symbols->elf;

	while (++symbols->section < elf->section_count) {
		const Elf64_Shdr *section = &elf->sections[symbols->section];

		if (section->sh_type != SHT_DYNSYM &&
		    (section->sh_type != SHT_SYMTAB || symbols->is_dynamic))
			continue;
		symbols->table = seep_elf_table(elf, section);
		symbols->next = 0;
		return true;
	}
	return false;
}

bool seep_elf_next_symbol(struct seep_elf_symbols *symbols)
{
	while (!seep_elf_table_item(&symbols->table, symbols->next++, &symbols->symbol,
				    sizeof(symbols->symbol)))
		if (!open_next_table(symbols))
			return false;
	symbols->name = seep_elf_table_string(&symbols->table, symbols->symbol.st_name);
	return !seep_work_is_over();
}

bool seep_elf_has_section(const struct seep_elf *elf, const char *name)
{
	const Elf64_Shdr *section = find_section(elf, name);

	return section && section->sh_type != SHT_NOBITS && section->sh_size > 0;
}

/* A file without section headers has no symbols that we read, but it may have its build-id. */
static bool read_sections(struct seep_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t count = header->e_shnum;

	if (header->e_shoff == 0 || count == 0)
		return true;
	if (header->e_shentsize != sizeof(Elf64_Shdr) ||
	    count * sizeof(Elf64_Shdr) > elf->file_bytes)
		return false;
	elf->sections = seep_xcalloc(count, sizeof(*elf->sections));
	if (!seep_elf_read_at(elf, header->e_shoff, elf->sections, count * sizeof(*elf->sections)))
		return false;
	elf->section_count = count;
	elf->contents = seep_xcalloc(1, sizeof(*elf->contents) +
						count * sizeof(elf->contents->sections[0]));
	elf->contents->unread_bytes = elf->file_bytes;
	elf->contents->room_bytes = core_smaller(
		CONTENTS_MAX_BYTES,
		CONTENTS_LEAST_BYTES +
			core_smaller(elf->held_bytes, CONTENTS_MAX_BYTES) * CONTENTS_RATIO_MAX);
	if (header->e_shstrndx >= count)
		return false;
	elf->names = contents_of(elf, &elf->sections[header->e_shstrndx]);
	return elf->names.data != NULL;
}

static void read_notes(struct seep_elf *elf, uint64_t offset, uint64_t bytes)
{
	const uint8_t *id = NULL;
	size_t id_bytes = 0;
	SEEP_FREED uint8_t *notes = NULL;

	if (elf->build_id_bytes || bytes > NOTES_MAX_BYTES || bytes > elf->file_bytes)
		return;
	notes = seep_xcalloc(bytes + 1, 1);
	if (seep_elf_read_at(elf, offset, notes, bytes))
		id = core_notes_build_id(notes, bytes, &id_bytes);
	if (id && id_bytes <= SEEP_BUILD_ID_MAX_BYTES) {
		memcpy(elf->build_id, id, id_bytes);
		elf->build_id_bytes = id_bytes;
	}
}

static void read_build_id(struct seep_elf *elf)
{
	Elf64_Phdr segment;

	for (size_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == SHT_NOTE)
			read_notes(elf, elf->sections[i].sh_offset, elf->sections[i].sh_size);
	/* Segments only where there are no sections: a debug file's segments have no contents. */
	for (size_t i = 0; !elf->section_count && seep_elf_segment(elf, i, &segment); i++)
		if (segment.p_type == PT_NOTE)
			read_notes(elf, segment.p_offset, segment.p_filesz);
}

static void find_code(struct seep_elf *elf)
{
	const uint64_t code_flags = SHF_ALLOC | SHF_EXECINSTR;

	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if ((section->sh_flags & code_flags) != code_flags ||
		    section->sh_addr + section->sh_size <= section->sh_addr)
			continue;
		if (elf->code_to == 0 || section->sh_addr < elf->code_from)
			elf->code_from = section->sh_addr;
		if (section->sh_addr + section->sh_size > elf->code_to)
			elf->code_to = section->sh_addr + section->sh_size;
	}
}

static const char *read_headers(struct seep_elf *elf)
{
	const unsigned char *ident = elf->header.e_ident;

	if (!seep_elf_read_at(elf, 0, &elf->header, sizeof(elf->header)) ||
	    memcmp(ident, ELFMAG, SELFMAG) != 0)
		return "not an ELF file";
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return "not a 64-bit little-endian ELF file";
	if (!read_sections(elf))
		return "damaged ELF file";
	read_build_id(elf);
	find_code(elf);
	return NULL;
}

static const char *open_problem(int errno_value)
{
	switch (errno_value) {
	case ENOENT:
	case ENOTDIR:
		return "file is gone";
	case EACCES:
	case EPERM:
		return "no permission to read the file";
	case ENODEV:
		return "not a regular file";
	default:
		return "file cannot be opened";
	}
}

static const char *finish_open(struct seep_elf *elf, struct seep_elf **ret_elf)
{
	const char *problem = read_headers(elf);

	if (problem)
		seep_elf_close(elf);
	else
		*ret_elf = elf;
	return problem;
}

/* @fd is taken. */
static const char *open_regular(int fd, const char *path, struct seep_elf **ret_elf)
{
	struct seep_elf *elf;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return "not a regular file";
	}
	elf = seep_xcalloc(1, sizeof(*elf));
	elf->fd = fd;
	elf->path = path ? seep_xstrdup(path) : NULL;
	elf->file_bytes = (uint64_t)st.st_size;
	elf->held_bytes = (uint64_t)st.st_blocks * 512;
	seep_work_opens(elf->held_bytes);
	return finish_open(elf, ret_elf);
}

const char *seep_elf_open(const char *path, struct seep_elf **ret_elf)
{
	int fd = seep_file_open_regular(path, geteuid());

	return fd < 0 ? open_problem(errno) : open_regular(fd, path, ret_elf);
}

const char *seep_elf_open_fd(int fd, struct seep_elf **ret_elf)
{
	return open_regular(fcntl(fd, F_DUPFD_CLOEXEC, 0), NULL, ret_elf);
}

/*
 * A whole .xz stream, whose size is known only afterwards. NULL when it is damaged or stands for
 * more than 256 MB.
 */
static uint8_t *inflate_xz(struct seep_elf_bytes in, uint64_t *ret_bytes)
{
	uint64_t work_bytes = XZ_WORK_MAX_BYTES;
	size_t room = in.bytes < XZ_OUT_MAX_BYTES / 8 ? in.bytes * 8 + 4096 : XZ_OUT_MAX_BYTES;
	uint8_t *out = NULL;

	for (;;) {
		size_t used_in = 0;
		size_t used_out = 0;
		lzma_ret status;

		if (!seep_work_has_room(room))
			break;
		out = seep_xrealloc(out, room, 1);
		status = lzma_stream_buffer_decode(&work_bytes, 0, NULL, in.data, &used_in,
						   in.bytes, out, &used_out, room);
		if (status == LZMA_OK) {
			*ret_bytes = used_out;
			return out;
		}
		if (status != LZMA_BUF_ERROR || used_in >= in.bytes || room >= XZ_OUT_MAX_BYTES)
			break;
		room = room < XZ_OUT_MAX_BYTES / 2 ? room * 2 : XZ_OUT_MAX_BYTES;
	}
	free(out);
	return NULL;
}

bool seep_elf_open_mini(const struct seep_elf *elf, struct seep_elf **ret_elf)
{
	struct seep_elf_bytes packed = seep_elf_section(elf, ".gnu_debugdata");
	struct seep_elf *mini;

	if (!packed.bytes)
		return false;
	mini = seep_xcalloc(1, sizeof(*mini));
	mini->fd = -1;
	mini->memory = inflate_xz(packed, &mini->file_bytes);
	mini->held_bytes = mini->file_bytes;
	return finish_open(mini, ret_elf) == NULL;
}

void seep_elf_close(struct seep_elf *elf)
{
	if (!elf)
		return;
	seep_elf_stop_reading(elf);
	for (size_t i = 0; elf->contents && i < elf->section_count; i++)
		free((void *)elf->contents->sections[i].data);
	free(elf->path);
	free(elf->sections);
	free(elf->contents);
	free(elf);
}

bool seep_elf_has_build_id(const struct seep_elf *elf, const uint8_t *build_id, size_t bytes)
{
	return bytes && elf->build_id_bytes == bytes && memcmp(elf->build_id, build_id, bytes) == 0;
}

bool seep_elf_is_code(const struct seep_elf *elf, uint64_t address)
{
	return elf->code_to == 0 || (address >= elf->code_from && address < elf->code_to);
}
