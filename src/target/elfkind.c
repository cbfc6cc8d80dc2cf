/* SPDX-License-Identifier: MIT */
#include "target/elfkind.h"

#include "base/path.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Sanitizers whose runtime must come first in the search order, or replaces malloc itself. */
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
	{ "liblsan.so", "__lsan_init", "LeakSanitizer" },
	{ "libclang_rt.lsan", "__lsan_init", "LeakSanitizer" },
};

enum { SANITIZER_COUNT = sizeof(sanitizers) / sizeof(sanitizers[0]) };

/* There is one such section; more of them would only take time. */
static void read_dynamic(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	struct seep_elf_table table;
	Elf64_Dyn entry;
	size_t at = 1;

	while (at < elf->section_count && elf->sections[at].sh_type != SHT_DYNAMIC)
		at++;
	if (at >= elf->section_count)
		return;
	kind->is_library = kind->type == ET_DYN;
	table = seep_elf_table(elf, &elf->sections[at]);
	for (size_t i = 0; seep_elf_table_item(&table, i, &entry, sizeof(entry)); i++) {
		const char *text = seep_elf_table_string(&table, entry.d_un.d_val);

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
			kind->is_library = false;
		if (text && entry.d_tag == DT_SONAME && seep_begins_with(text, "ld-linux"))
			kind->is_loader = true;
		for (int k = 0; text && entry.d_tag == DT_NEEDED && k < SANITIZER_COUNT; k++)
			if (seep_begins_with(text, sanitizers[k].library))
				kind->sanitizer = sanitizers[k].name;
	}
}

static void read_symbols(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	struct seep_elf_symbols symbols = { .elf = elf, .is_dynamic = true };

	while (seep_elf_next_symbol(&symbols))
		for (int k = 0; symbols.name && k < SANITIZER_COUNT; k++)
			if (symbols.symbol.st_shndx != SHN_UNDEF &&
			    strcmp(symbols.name, sanitizers[k].symbol) == 0)
				kind->sanitizer = sanitizers[k].name;
}

/* Programs without section headers, or with damaged ones, only lose what sections tell. */
static void read_sections(int fd, struct seep_elfkind *kind)
{
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;

	if (seep_elf_open_fd(fd, &elf))
		return;
	kind->has_unwind = seep_elf_has_section(elf, ".eh_frame");
	kind->is_go = seep_elf_has_section(elf, ".go.buildinfo");
	read_dynamic(elf, kind);
	read_symbols(elf, kind);
}

/* Returns false where the kernel cannot read what it needs to start the file either. */
static bool read_loader(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	Elf64_Phdr segment;
	size_t i = 0;

	for (; seep_elf_segment(elf, i, &segment); i++) {
		if (segment.p_type != PT_INTERP || segment.p_filesz > sizeof(kind->loader))
			continue;
		if (!seep_elf_read_at(elf, segment.p_offset, kind->loader, segment.p_filesz))
			return false;
		kind->loader[sizeof(kind->loader) - 1] = '\0';
	}
	return i > 0 && i == elf->header.e_phnum;
}

/* Which stands in the same place whatever the class. */
static bool read_start(struct seep_elf *elf, struct seep_elfkind *kind)
{
	Elf64_Ehdr *header = &elf->header;
	const uint8_t *ident = header->e_ident;

	if (!seep_elf_read_at(elf, 0, header, sizeof(*header)) ||
	    memcmp(ident, ELFMAG, SELFMAG) != 0)
		return false;
	kind->is_64bit = ident[EI_CLASS] == ELFCLASS64;
	kind->is_little_endian = ident[EI_DATA] == ELFDATA2LSB;
	kind->type = kind->is_little_endian ? header->e_type : __builtin_bswap16(header->e_type);
	kind->machine = kind->is_little_endian ? header->e_machine
					       : __builtin_bswap16(header->e_machine);
	return (kind->is_64bit || ident[EI_CLASS] == ELFCLASS32) &&
	       (kind->is_little_endian || ident[EI_DATA] == ELFDATA2MSB);
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
		return seep_fail_errno(err, errno, "cannot access %s", name);
	elf.file_bytes = (uint64_t)st.st_size;
	if (!read_start(&elf, &kind))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	is_ours = kind.is_64bit && kind.is_little_endian;
	if (is_ours && kind.type != ET_EXEC && kind.type != ET_DYN)
		return seep_fail(err, SEEP_ECORRUPT, "%s is an ELF file, but not a program", name);
	if (is_ours && !read_loader(&elf, &kind))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	if (is_ours)
		read_sections(fd, &kind);
	*ret_kind = kind;
	return 0;
}

static const char *machine_name(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_ARM, "32-bit ARM" }, { EM_AARCH64, "64-bit ARM" },
		{ EM_RISCV, "RISC-V" },	  { EM_PPC64, "64-bit PowerPC" },
		{ EM_S390, "IBM Z" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "other";
}

/* Why not; NULL: it can. A half sentence that begins with a verb. */
static const char *refusal(const struct seep_elfkind *kind)
{
	const char *loader = seep_path_base(kind->loader);

	if (!kind->is_64bit || !kind->is_little_endian || kind->machine == EM_386)
		return "is a 32-bit program; this seep records 64-bit ones";
	if (seep_begins_with(loader, "ld-musl"))
		return "is linked with musl; this seep records programs linked with glibc";
	if (*loader || kind->is_loader)
		return NULL;
	if (kind->is_library)
		return "is a shared library, not a program";
	if (kind->is_go)
		return "is a Go program without C code: it is static and takes its memory by mmap; "
		       "use Go's own heap profile, runtime/pprof";
	return "is statically linked, so that no library can be preloaded into it; link it without "
	       "-static";
}

int seep_elfkind_check(const struct seep_elfkind *kind, const char *name, struct seep_error *err)
{
	const char *loader = seep_path_base(kind->loader), *why = refusal(kind);

	if (kind->machine != EM_X86_64 && kind->machine != EM_386)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built for %s processors (ELF machine %u); this seep "
				 "records programs for x86-64",
				 name, machine_name(kind->machine), kind->machine);
	if (why)
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s %s", name, why);
	if (*loader && !seep_begins_with(loader, "ld-linux") && !seep_begins_with(loader, "ld-2."))
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s starts with the loader %s, which is not glibc's; this seep "
				 "records programs linked with glibc",
				 name, kind->loader);
	if (kind->sanitizer)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built with %s, which replaces malloc itself; record a "
				 "build without it",
				 name, kind->sanitizer);
	return 0;
}
