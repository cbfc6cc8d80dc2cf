/* SPDX-License-Identifier: MIT */
#include "target/elfkind.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Sanitizers whose runtime insists on being first, or replaces malloc beneath us. */
static const struct {
	const char *library; /* prefix of a DT_NEEDED name */
	const char *symbol;  /* in .dynsym when the runtime is linked statically */
	const char *name;
} sanitizers[] = {
	{ "libasan.so", "__asan_init", "AddressSanitizer" },
	{ "libclang_rt.asan", "__asan_init", "AddressSanitizer" },
	{ "libtsan.so", "__tsan_init", "ThreadSanitizer" },
	{ "libclang_rt.tsan", "__tsan_init", "ThreadSanitizer" },
	{ "libhwasan.so", "__hwasan_init", "HWAddressSanitizer" },
	{ "libmsan.so", "__msan_init", "MemorySanitizer" },
};

enum { VERSIONS_MAX = 16384, SECTION_MAX_BYTES = 1 << 28 };

enum { SANITIZER_COUNT = sizeof(sanitizers) / sizeof(sanitizers[0]) };

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void note_needed(struct seep_elfkind *kind, const char *library)
{
	for (int i = 0; i < SANITIZER_COUNT; i++) {
		if (has_prefix(library, sanitizers[i].library))
			kind->sanitizer = sanitizers[i].name;
	}
}

/* What programs take memory by; operator new in its plain forms. */
static const char *const allocating[] = { "malloc",	    "calloc", "realloc",
					  "posix_memalign", "_Znwm",  "_Znam" };

static void note_import(struct seep_elfkind *kind, const char *symbol)
{
	for (size_t i = 0; i < sizeof(allocating) / sizeof(allocating[0]); i++) {
		if (strcmp(symbol, allocating[i]) == 0)
			kind->imports_malloc = true;
	}
}

static void note_export(struct seep_elfkind *kind, const char *symbol)
{
	if (strcmp(symbol, "malloc") == 0)
		kind->exports_malloc = true;
	for (int i = 0; i < SANITIZER_COUNT; i++) {
		if (strcmp(symbol, sanitizers[i].symbol) == 0)
			kind->sanitizer = sanitizers[i].name;
	}
}

/* A section's bytes, ended by a zero; NULL when they are not in the file, or too many. */
static uint8_t *section_bytes(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	uint8_t *bytes;

	if (section->sh_type == SHT_NOBITS || section->sh_size > SECTION_MAX_BYTES ||
	    section->sh_size > elf->file_bytes)
		return NULL;
	bytes = seep_xcalloc(section->sh_size + 1, 1);
	if (seep_elf_read_at(elf, section->sh_offset, bytes, section->sh_size))
		return bytes;
	free(bytes);
	return NULL;
}

/* A section with the strings that it names. */
struct table {
	uint8_t *data;
	uint64_t bytes;
	char *strings;
	uint64_t string_bytes;
};

static struct table table_read(const struct seep_elf *elf, const Elf64_Shdr *section)
{
	struct table table = { .data = section_bytes(elf, section), .bytes = section->sh_size };
	const Elf64_Shdr *strings;

	if (section->sh_link >= elf->section_count)
		return table;
	strings = &elf->sections[section->sh_link];
	if (strings->sh_type == SHT_STRTAB)
		table.strings = (char *)section_bytes(elf, strings);
	if (table.strings)
		table.string_bytes = strings->sh_size;
	return table;
}

static void table_done(struct table *table)
{
	free(table->data);
	free(table->strings);
}

/* Copy the @bytes at @at; false when they are not all there. */
static bool table_item(const struct table *table, uint64_t at, void *ret_item, size_t bytes)
{
	if (!table->data || at > table->bytes || bytes > table->bytes - at)
		return false;
	memcpy(ret_item, table->data + at, bytes);
	return true;
}

static const char *table_string(const struct table *table, uint64_t at)
{
	return at < table->string_bytes ? table->strings + at : NULL;
}

static void read_dynamic(const struct table *table, struct seep_elfkind *kind)
{
	Elf64_Dyn entry;

	kind->is_library = kind->type == ET_DYN;

	for (uint64_t at = 0; table_item(table, at, &entry, sizeof(entry)); at += sizeof(entry)) {
		const char *text = NULL;

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
			kind->is_library = false;
		if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME)
			text = table_string(table, entry.d_un.d_val);
		if (text && entry.d_tag == DT_NEEDED)
			note_needed(kind, text);
		if (text && entry.d_tag == DT_SONAME && has_prefix(text, "ld-linux"))
			kind->is_loader = true;
	}
}

static void read_symbols(const struct table *table, struct seep_elfkind *kind)
{
	Elf64_Sym symbol;

	for (uint64_t at = 0; table_item(table, at, &symbol, sizeof(symbol));
	     at += sizeof(symbol)) {
		const char *name = table_string(table, symbol.st_name);

		if (name && symbol.st_shndx != SHN_UNDEF)
			note_export(kind, name);
		else if (name)
			note_import(kind, name);
	}
}

/* "GLIBC_2.34" against what was found so far. */
static void note_version(struct seep_elfkind *kind, const char *version)
{
	const char *prefix = "GLIBC_";

	if (!has_prefix(version, prefix))
		return;
	version += strlen(prefix);
	if (strlen(version) < sizeof(kind->glibc) && strverscmp(version, kind->glibc) > 0)
		strcpy(kind->glibc, version);
}

/* One library's versions. @left: how many more are looked at. */
static void read_library_versions(const struct table *table, uint64_t at, unsigned *left,
				  struct seep_elfkind *kind)
{
	Elf64_Vernaux item = { .vna_next = 1 };

	for (; item.vna_next && *left && table_item(table, at, &item, sizeof(item));
	     at += item.vna_next) {
		const char *name = table_string(table, item.vna_name);

		*left -= 1;
		if (name)
			note_version(kind, name);
	}
}

static void read_versions(const struct table *table, struct seep_elfkind *kind)
{
	Elf64_Verneed need = { .vn_next = 1 };
	/* Far more than there are. Both lists may lead to the same place again and again. */
	unsigned left = VERSIONS_MAX;

	for (uint64_t at = 0; need.vn_next && left && table_item(table, at, &need, sizeof(need));
	     at += need.vn_next) {
		left--;
		read_library_versions(table, at + need.vn_aux, &left, kind);
	}
}

static void note_section(struct seep_elfkind *kind, const char *name)
{
	if (strcmp(name, ".eh_frame") == 0)
		kind->has_unwind = true;
	if (strcmp(name, ".go.buildinfo") == 0)
		kind->is_go = true;
}

static void read_section(const struct seep_elf *elf, const Elf64_Shdr *section,
			 struct seep_elfkind *kind)
{
	struct table table = table_read(elf, section);

	if (section->sh_type == SHT_GNU_verneed)
		read_versions(&table, kind);
	else if (section->sh_type == SHT_DYNAMIC)
		read_dynamic(&table, kind);
	else
		read_symbols(&table, kind);
	table_done(&table);
}

/* There is one of each; more of them would only take time. */
static void read_first(const struct seep_elf *elf, uint32_t type, struct seep_elfkind *kind)
{
	for (size_t i = 1; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == type) {
			read_section(elf, &elf->sections[i], kind);
			return;
		}
}

/* Programs without section headers, or with damaged ones, only lose what sections tell. */
static void read_sections(int fd, struct seep_elfkind *kind)
{
	struct seep_elf *elf;
	const char *problem;

	if (!seep_elf_open_fd(fd, &elf, &problem))
		return;
	for (size_t i = 1; i < elf->section_count; i++)
		note_section(kind, seep_elf_section_name(elf, &elf->sections[i]));
	read_first(elf, SHT_GNU_verneed, kind);
	read_first(elf, SHT_DYNAMIC, kind);
	read_first(elf, SHT_DYNSYM, kind);
	seep_elf_close(elf);
}

static void read_loader(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	if (elf->header.e_phentsize != sizeof(Elf64_Phdr))
		return;
	for (uint64_t i = 0; i < elf->header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!seep_elf_read_at(elf, elf->header.e_phoff + i * sizeof(segment), &segment,
				      sizeof(segment)))
			return;
		if (segment.p_type != PT_INTERP || segment.p_filesz > sizeof(kind->loader) ||
		    !seep_elf_read_at(elf, segment.p_offset, kind->loader, segment.p_filesz))
			continue;
		kind->loader[sizeof(kind->loader) - 1] = '\0';
	}
}

/* What stands in the same place whatever the class. */
struct start {
	uint8_t ident[EI_NIDENT];
	uint16_t type;
	uint16_t machine;
};

static bool read_start(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	struct start start;

	if (!seep_elf_read_at(elf, 0, &start, sizeof(start)) ||
	    memcmp(start.ident, ELFMAG, SELFMAG) != 0)
		return false;
	kind->is_64bit = start.ident[EI_CLASS] == ELFCLASS64;
	kind->is_little_endian = start.ident[EI_DATA] == ELFDATA2LSB;
	kind->type = kind->is_little_endian ? start.type : __builtin_bswap16(start.type);
	kind->machine = kind->is_little_endian ? start.machine : __builtin_bswap16(start.machine);
	return (kind->is_64bit || start.ident[EI_CLASS] == ELFCLASS32) &&
	       (kind->is_little_endian || start.ident[EI_DATA] == ELFDATA2MSB);
}

/* Of what is not for this machine the first bytes say enough. */
int seep_elfkind_read(int fd, const char *name, struct seep_elfkind *ret_kind,
		      struct seep_error *err)
{
	struct seep_elfkind kind = { 0 };
	struct seep_elf elf = { .fd = fd };
	struct stat st;
	bool is_ours;

	if (fstat(fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot look at %s", name);
	elf.file_bytes = (uint64_t)st.st_size;
	if (!read_start(&elf, &kind))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	is_ours = kind.is_64bit && kind.is_little_endian;
	if (is_ours && !seep_elf_read_at(&elf, 0, &elf.header, sizeof(elf.header)))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	if (is_ours) {
		read_loader(&elf, &kind);
		read_sections(fd, &kind);
	}
	*ret_kind = kind;
	return 0;
}

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_386:
		return "32-bit x86";
	case EM_ARM:
		return "32-bit ARM";
	case EM_AARCH64:
		return "64-bit ARM";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "64-bit PowerPC";
	case EM_S390:
		return "IBM Z";
	default:
		return "another";
	}
}

int seep_elfkind_check(const struct seep_elfkind *kind, const char *name, struct seep_error *err)
{
	if (kind->machine != EM_X86_64 && kind->machine != EM_386)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built for %s processor architecture (ELF machine %u); this "
				 "seep records x86-64",
				 name, machine_name(kind->machine), kind->machine);
	if (!kind->is_64bit || !kind->is_little_endian || kind->machine == EM_386)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is a 32-bit program; this seep records 64-bit ones", name);
	if (!kind->loader[0] && !kind->is_loader && kind->is_library)
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s is a shared library, not a program",
				 name);
	if (!kind->loader[0] && !kind->is_loader && kind->is_go)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is a Go program without C code: it is static and takes its "
				 "memory by mmap; use Go's own heap profile, runtime/pprof",
				 name);
	if (!kind->loader[0] && !kind->is_loader)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is statically linked, so that no library can be preloaded "
				 "into it; link it without -static",
				 name);
	if (kind->loader[0] && has_prefix(seep_path_base(kind->loader), "ld-musl"))
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is linked with musl; this seep records programs linked with "
				 "glibc",
				 name);
	if (kind->loader[0] && !has_prefix(seep_path_base(kind->loader), "ld-linux") &&
	    !has_prefix(seep_path_base(kind->loader), "ld-2."))
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s starts with the loader %s, which is not glibc's", name,
				 kind->loader);
	if (kind->sanitizer)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built with %s, which replaces malloc itself; record a "
				 "build without it",
				 name, kind->sanitizer);
	return 0;
}
