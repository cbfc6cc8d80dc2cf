/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: an ELF file of any bytes, asked for names and lines. See tests/fuzz/run.
 *
 * The file also stands where separate debug files are looked for, so that a link, a build-id or a
 * dwz file in it leads to itself. An input that begins with "TWO:" and a length is two files: what
 * stands there is then the second, a split unit or a package of them.
 */
#include "fuzz_common.h"

#include "base/work.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <string.h>

enum { LOOKUPS = 24, FRAMES_MAX = 16, CHANGES_MAX = 4, TWO_BYTES = 8 };

/* ---- the mutator --------------------------------------------------------------------------- */

static const Elf64_Shdr *section_at(const uint8_t *data, size_t size, uint64_t which)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)data;
	uint64_t at;

	if (size < sizeof(*header) || header->e_shnum == 0)
		return NULL;
	at = header->e_shoff + which % header->e_shnum * sizeof(Elf64_Shdr);
	if (at % 8 != 0 || at > size || size - at < sizeof(Elf64_Shdr))
		return NULL;
	return (const Elf64_Shdr *)(const void *)(data + at);
}

/* Of the sections, those that are no code: DWARF, symbols, notes, links. */
static void change_section(struct fuzz_random *random, uint8_t *data, size_t size)
{
	const Elf64_Shdr *section = section_at(data, size, fuzz_next(random));
	size_t at;

	if (!section || section->sh_type == SHT_NOBITS || section->sh_flags & SHF_EXECINSTR ||
	    section->sh_offset >= size || section->sh_size == 0 ||
	    section->sh_size > size - section->sh_offset)
		return;
	at = section->sh_offset + fuzz_below(random, section->sh_size);
	if (fuzz_below(random, 3)) {
		data[at] = (uint8_t)fuzz_word(random, data[at], section->sh_size);
	} else if (size - at >= 8) {
		uint64_t word;

		memcpy(&word, data + at, sizeof(word));
		word = fuzz_word(random, word, section->sh_size);
		memcpy(data + at, &word, fuzz_below(random, 2) ? 4 : 8);
	}
}

static void change_section_header(struct fuzz_random *random, uint8_t *data, size_t size)
{
	const Elf64_Shdr *section = section_at(data, size, fuzz_next(random));
	size_t word_at = fuzz_below(random, sizeof(*section) / 4) * 4;
	uint32_t word;
	size_t at;

	if (!section)
		return;
	at = (size_t)((const uint8_t *)section - data) + word_at;
	memcpy(&word, data + at, sizeof(word));
	word = (uint32_t)fuzz_word(random, word, size);
	memcpy(data + at, &word, sizeof(word));
}

/* Of two files, one; cutting it would move the other. */
static void change_one_of_two(struct fuzz_random *random, uint8_t *data, size_t size)
{
	uint32_t first;

	memcpy(&first, data + 4, sizeof(first));
	if (first % 8 != 0 || first > size - TWO_BYTES)
		return;
	if (fuzz_below(random, 2))
		change_section(random, data + TWO_BYTES, first);
	else
		change_section(random, data + TWO_BYTES + first, size - TWO_BYTES - first);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct fuzz_random random = { seed };

	if (size > sizeof(Elf64_Ehdr) + TWO_BYTES && memcmp(data, "TWO:", 4) == 0 &&
	    fuzz_below(&random, 12)) {
		change_one_of_two(&random, data, size);
		return size;
	}

	if (size < sizeof(Elf64_Ehdr) || fuzz_below(&random, 12) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (fuzz_below(&random, 32) == 0)
		return fuzz_below(&random, size);
	for (uint64_t n = 1 + fuzz_below(&random, CHANGES_MAX); n > 0; n--) {
		if (fuzz_below(&random, 6) == 0)
			change_section_header(&random, data, size);
		else
			change_section(&random, data, size);
	}
	return size;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static char directory[64];
static char second_path[80];

static void remove_links(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "rm -rf %s %s %s.dwp", directory, second_path,
		       fuzz_path);
	(void)system(command);
}

/* As tests/fuzz/run builds the seeds: their build-id, their links. */
static void make_links(void)
{
	static const char *const places[] = { "", "/.build-id", "/.build-id/5e", "/.dwz" };
	static const char *const links[] = {
		"/main.so.dwp",	  "/seed.debug", "/.build-id/5e/e95eed.debug",
		"/.dwz/seed.dwz", "/seed.dwo",	 "/seed.dwp",
	};
	char path[160];

	(void)snprintf(directory, sizeof(directory), "/dev/shm/seep_fuzz_debug.%d", (int)getpid());
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", directory, places[i]);
		(void)mkdir(path, 0700);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", directory, links[i]);
		(void)symlink(second_path, path);
	}
	(void)snprintf(path, sizeof(path), "%s.dwp", fuzz_path);
	(void)symlink(second_path, path);
	(void)atexit(remove_links);
}

/* Every text is read to its end. */
static void look(struct seep_symbol_module *module, uint64_t address)
{
	struct seep_symbol_frame frames[FRAMES_MAX];
	size_t count = seep_symbol_lookup(module, address, frames, FRAMES_MAX);
	if (count == 0 || count > FRAMES_MAX)
		abort();
	for (size_t i = 0; i < count; i++) {
		fuzz_length += frames[i].function ? strlen(frames[i].function) : 0;
		fuzz_length += frames[i].linkage_name ? strlen(frames[i].linkage_name) : 0;
		fuzz_length += frames[i].file ? strlen(frames[i].file) : 0;
	}
}

static void look_around(struct seep_symbol_module *module, uint64_t choice)
{
	struct fuzz_random random = { choice };
	const char *volatile problem = seep_symbol_module_problem(module);

	(void)problem;
	for (int i = 0; i < LOOKUPS; i++)
		look(module, 0x1000 + fuzz_below(&random, 0x400));
	look(module, fuzz_next(&random));
}

static void write_second(const uint8_t *data, size_t size)
{
	char first[sizeof(fuzz_path)];

	memcpy(first, fuzz_path, sizeof(first));
	(void)snprintf(fuzz_path, sizeof(fuzz_path), "%s", second_path);
	fuzz_write_file(data, size);
	memcpy(fuzz_path, first, sizeof(first));
}

static void write_files(const uint8_t *data, size_t size)
{
	uint32_t first = 0;

	if (size >= TWO_BYTES && memcmp(data, "TWO:", 4) == 0)
		memcpy(&first, data + 4, sizeof(first));
	if (first > 0 && first <= size - TWO_BYTES)
		fuzz_write_file(data + TWO_BYTES, first);
	else
		fuzz_write_file(data, size);
	if (!*directory) {
		(void)snprintf(second_path, sizeof(second_path), "/dev/shm/seep_fuzz_2.%d",
			       (int)getpid());
		make_links();
	}
	if (first > 0 && first <= size - TWO_BYTES)
		write_second(data + TWO_BYTES + first, size - TWO_BYTES - first);
	else
		write_second(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t build_id[] = { 0x5e, 0xe9, 0x5e, 0xed };
	const char *const dirs[] = { directory };
	const struct seep_symbols_options options = { .debug_dirs = dirs, .debug_dir_count = 1 };
	uint64_t choice = fuzz_hash(data, size);
	struct seep_symbols *symbols = NULL;

	write_files(data, size);
	fuzz_begin();
	seep_work_begin();
	if (seep_symbols_new(&options, &symbols, NULL) != 0)
		abort();
	if (choice % 16 == 0)
		fuzz_fail_calls(choice >> 8);
	look_around(seep_symbols_module(symbols, fuzz_path, NULL, 0), choice);
	if (choice % 4 == 0)
		look_around(
			seep_symbols_module(symbols, "/nowhere/seed", build_id, sizeof(build_id)),
			choice);
	fuzz_let_calls_succeed();
	seep_symbols_free(symbols);
	seep_work_end();
	fuzz_end();
	return 0;
}
