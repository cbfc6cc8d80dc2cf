/* SPDX-License-Identifier: MIT */
#include "target/elfkind.h"

#include "base/path.h"

#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <string.h>

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

enum { VERSIONS_MAX = 16384 };

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

static void read_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			 struct seep_elfkind *kind)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;

	kind->is_library = kind->type == ET_DYN;

	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
		const char *text = NULL;

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
			kind->is_library = false;
		if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME)
			text = elf_strptr(elf, header->sh_link, (size_t)entry.d_un.d_val);
		if (text && entry.d_tag == DT_NEEDED)
			note_needed(kind, text);
		if (text && entry.d_tag == DT_SONAME && has_prefix(text, "ld-linux"))
			kind->is_loader = true;
	}
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			 struct seep_elfkind *kind)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

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
static void read_library_versions(Elf *elf, Elf_Data *data, const GElf_Shdr *header, size_t at,
				  unsigned *left, struct seep_elfkind *kind)
{
	GElf_Vernaux item = { .vna_next = 1 };

	for (; item.vna_next && *left && gelf_getvernaux(data, (int)at, &item);
	     at += item.vna_next) {
		const char *name = elf_strptr(elf, header->sh_link, item.vna_name);

		*left -= 1;
		if (name)
			note_version(kind, name);
	}
}

static void read_versions(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			  struct seep_elfkind *kind)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Verneed need = { .vn_next = 1 };
	/* Far more than there are. Both lists may lead back to where they were. */
	unsigned left = VERSIONS_MAX;

	for (size_t at = 0; data && need.vn_next && left && gelf_getverneed(data, (int)at, &need);
	     at += need.vn_next) {
		left--;
		read_library_versions(elf, data, header, at + need.vn_aux, &left, kind);
	}
}

static void note_section(struct seep_elfkind *kind, const char *name)
{
	if (strcmp(name, ".eh_frame") == 0)
		kind->has_unwind = true;
	if (strcmp(name, ".go.buildinfo") == 0)
		kind->is_go = true;
}

/* Programs without section headers are rare and then only lose what sections tell. */
static void read_sections(Elf *elf, struct seep_elfkind *kind)
{
	Elf_Scn *section = NULL;
	size_t names = 0;

	(void)elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name)
			note_section(kind, name);
		if (header.sh_type == SHT_GNU_verneed)
			read_versions(elf, section, &header, kind);
		if (header.sh_type == SHT_DYNAMIC)
			read_dynamic(elf, section, &header, kind);
		else if (header.sh_type == SHT_DYNSYM)
			read_symbols(elf, section, &header, kind);
	}
}

static void read_loader(Elf *elf, struct seep_elfkind *kind)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_filesz > sizeof(kind->loader))
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
					    ELF_T_BYTE);
		if (!data || !data->d_buf || data->d_size > sizeof(kind->loader))
			continue;
		memcpy(kind->loader, data->d_buf, data->d_size);
		kind->loader[sizeof(kind->loader) - 1] = '\0';
	}
}

int seep_elfkind_read(int fd, const char *name, struct seep_elfkind *ret_kind,
		      struct seep_error *err)
{
	struct seep_elfkind kind = { 0 };
	GElf_Ehdr header;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
		if (elf)
			(void)elf_end(elf);
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	}
	kind.is_64bit = header.e_ident[EI_CLASS] == ELFCLASS64;
	kind.is_little_endian = header.e_ident[EI_DATA] == ELFDATA2LSB;
	kind.machine = header.e_machine;
	kind.type = header.e_type;
	read_loader(elf, &kind);
	read_sections(elf, &kind);
	(void)elf_end(elf);
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
