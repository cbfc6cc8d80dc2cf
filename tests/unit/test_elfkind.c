/* SPDX-License-Identifier: MIT */
/* ELF files that lie about their tables: reading them has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/elfkind.h"

enum { NEED_COUNT = 4, NAME_AT = 1 };

/* A file of one table of versions that are needed; all of them are of the name at NAME_AT. */
struct file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	Elf64_Verneed needs[NEED_COUNT];
	Elf64_Vernaux versions[NEED_COUNT];
	char names[32];
};

static struct file honest_file(void)
{
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shoff = offsetof(struct file, sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2,
		},
		.sections = {
			[1] = {
				.sh_type = SHT_GNU_verneed,
				.sh_offset = offsetof(struct file, needs),
				.sh_size = sizeof(file.needs) + sizeof(file.versions),
				.sh_link = 2,
				.sh_addralign = 8,
			},
			[2] = {
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct file, names),
				.sh_size = sizeof(file.names),
				.sh_addralign = 1,
			},
		},
		.names = "\0GLIBC_2.34",
	};

	for (uint32_t i = 0; i < NEED_COUNT; i++) {
		const uint32_t to_versions = (NEED_COUNT - i) * sizeof(Elf64_Verneed) +
					     i * sizeof(Elf64_Vernaux);

		file.needs[i] = (Elf64_Verneed){
			.vn_version = VER_NEED_CURRENT,
			.vn_cnt = 1,
			.vn_aux = to_versions,
			.vn_next = i + 1 < NEED_COUNT ? sizeof(Elf64_Verneed) : 0,
		};
		file.versions[i] = (Elf64_Vernaux){ .vna_name = NAME_AT };
	}
	return file;
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

static void the_version_of_glibc_is_found(void **state)
{
	const struct file file = honest_file();

	(void)state;
	assert_string_equal(kind_of(&file).glibc, "2.34");
}

static void a_table_that_leads_back_to_its_beginning_is_left(void **state)
{
	struct file file = honest_file();

	(void)state;
	/* Back, if places were counted in 32 bits. */
	file.needs[1].vn_next = -(uint32_t)sizeof(Elf64_Verneed);
	assert_string_equal(kind_of(&file).glibc, "2.34");
}

static void versions_that_lead_back_are_left(void **state)
{
	struct file file = honest_file();

	(void)state;
	file.versions[0].vna_next = sizeof(Elf64_Vernaux);
	file.versions[1].vna_next = -(uint32_t)sizeof(Elf64_Vernaux);
	assert_string_equal(kind_of(&file).glibc, "2.34");
}

static void a_program_with_damaged_sections_only_loses_what_they_tell(void **state)
{
	struct file file = honest_file();
	struct seep_elfkind kind;

	(void)state;
	file.header.e_shnum = 60000;
	kind = kind_of(&file);
	assert_int_equal(kind.machine, EM_X86_64);
	assert_true(kind.is_64bit);
	assert_string_equal(kind.glibc, "");
}

static void strings_beyond_their_table_are_none(void **state)
{
	struct file file = honest_file();

	(void)state;
	for (unsigned i = 0; i < NEED_COUNT; i++)
		file.versions[i].vna_name = sizeof(file.names);
	assert_string_equal(kind_of(&file).glibc, "");
}

static void of_other_machines_the_first_bytes_are_enough(void **state)
{
	struct file file = honest_file();
	struct seep_elfkind kind;

	(void)state;
	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	file.header.e_ident[EI_DATA] = ELFDATA2MSB;
	file.header.e_machine = __builtin_bswap16(EM_PPC);
	kind = kind_of(&file);
	assert_false(kind.is_64bit);
	assert_false(kind.is_little_endian);
	assert_int_equal(kind.machine, EM_PPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_of_glibc_is_found),
		cmocka_unit_test(a_table_that_leads_back_to_its_beginning_is_left),
		cmocka_unit_test(versions_that_lead_back_are_left),
		cmocka_unit_test(a_program_with_damaged_sections_only_loses_what_they_tell),
		cmocka_unit_test(strings_beyond_their_table_are_none),
		cmocka_unit_test(of_other_machines_the_first_bytes_are_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
