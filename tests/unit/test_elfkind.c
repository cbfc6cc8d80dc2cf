/* SPDX-License-Identifier: MIT */
/* ELF files that lie about their tables: reading them has an end. */
#include <string.h>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/preflight.h"
#include "unit.h"

enum { NAME_AT = 1, ENTRY_COUNT = 3 };

/* A file of one dynamic section, which needs the library whose name is at NAME_AT. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	Elf64_Dyn dynamic[ENTRY_COUNT];
	char names[32];
};

static struct file honest_file(void)
{
	return (struct file){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phoff = offsetof(struct file, segment),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shoff = offsetof(struct file, sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2,
		},
		.sections = {
			[1] = {
				.sh_type = SHT_DYNAMIC,
				.sh_offset = offsetof(struct file, dynamic),
				.sh_size = sizeof(((struct file *)0)->dynamic),
				.sh_link = 2,
				.sh_addralign = 8,
			},
			[2] = {
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct file, names),
				.sh_size = sizeof(((struct file *)0)->names),
				.sh_addralign = 1,
			},
		},
		.dynamic = {
			{ .d_tag = DT_NEEDED, .d_un.d_val = NAME_AT },
			{ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE },
			{ .d_tag = DT_NULL },
		},
		.names = "\0libasan.so.8",
	};
}

static struct seep_elfkind kind_of(const struct file *file)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct seep_elfkind kind;
	struct seep_error err = { 0 };

	assert_int_equal(write(fd, file, sizeof(*file)), sizeof(*file));
	assert_int_equal(seep_elfkind_read(fd, "elf", &kind, &err), 0);
	(void)close(fd);
	return kind;
}

TEST(a_sanitizer_that_is_needed_is_found)
{
	const struct file file = honest_file();
	const struct seep_elfkind kind = kind_of(&file);

	assert_string_equal(kind.sanitizer, "AddressSanitizer");
	assert_false(kind.is_library);
}

TEST(a_table_without_an_end_ends_with_its_section)
{
	struct file file = honest_file();

	file.dynamic[2] = file.dynamic[1];
	/* Not a whole number of entries. */
	file.sections[1].sh_size -= 1;
	assert_string_equal(kind_of(&file).sanitizer, "AddressSanitizer");
}

TEST(a_table_beyond_the_file_is_none)
{
	struct file file = honest_file();

	file.sections[1].sh_offset = UINT64_MAX - 8;
	assert_null(kind_of(&file).sanitizer);
	file = honest_file();
	file.sections[1].sh_size = UINT64_MAX;
	assert_null(kind_of(&file).sanitizer);
	file = honest_file();
	file.sections[1].sh_link = UINT32_MAX;
	assert_null(kind_of(&file).sanitizer);
}

TEST(strings_beyond_their_table_are_none)
{
	struct file file = honest_file();

	file.dynamic[0].d_un.d_val = sizeof(file.names);
	assert_null(kind_of(&file).sanitizer);
	/* The last string has no end of its own. */
	file = honest_file();
	memset(file.names + NAME_AT, 'x', sizeof(file.names) - NAME_AT);
	assert_null(kind_of(&file).sanitizer);
}

TEST(a_program_with_damaged_sections_only_loses_what_they_tell)
{
	struct file file = honest_file();
	struct seep_elfkind kind;

	file.header.e_shnum = 60000;
	kind = kind_of(&file);
	assert_int_equal(kind.machine, EM_X86_64);
	assert_true(kind.is_64bit);
	assert_null(kind.sanitizer);
}

TEST(of_other_machines_the_first_bytes_are_enough)
{
	struct file file = honest_file();
	struct seep_elfkind kind;

	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	file.header.e_ident[EI_DATA] = ELFDATA2MSB;
	file.header.e_machine = __builtin_bswap16(EM_PPC);
	kind = kind_of(&file);
	assert_false(kind.is_64bit);
	assert_false(kind.is_little_endian);
	assert_int_equal(kind.machine, EM_PPC);
}
