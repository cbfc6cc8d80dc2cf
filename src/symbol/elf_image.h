/* SPDX-License-Identifier: MIT */
/*
 * The parts of an ELF file that symbols need, copied into memory.
 *
 * Copied and not mapped: a file that shrinks under a mapping (a rebuild in the middle of a report)
 * kills its reader with SIGBUS. Only sections that are used are read, compressed ones are
 * inflated.
 *
 * 64-bit little-endian files only: what seep can record.
 */
#ifndef SEEP_SYMBOL_ELF_IMAGE_H
#define SEEP_SYMBOL_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEP_BUILD_ID_MAX_BYTES = 64 };

struct seep_elf_bytes {
	const uint8_t *data; /* one zero byte follows the last, so that text in it always ends */
	size_t bytes;
};

struct seep_elf {
	int fd;		       /* -1 once loaded, or when read from memory */
	const uint8_t *memory; /* borrowed; NULL when read from fd */
	char *path;	       /* as it was opened; NULL when read from memory */
	uint64_t file_bytes;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t section_count;
	char *names; /* the section name table, ended by a zero; NULL: there is none */
	uint64_t names_bytes;
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0 = none */
	uint64_t code_from;    /* from the first section with code to the end of the last */
	uint64_t code_to;      /* 0: the file does not say */
	struct seep_elf_bytes *contents; /* of sections; NULL until loaded */
};

/**
 * seep_elf_open - read the headers, section names and build-id
 * @ret_elf:     set on success only; released with seep_elf_close()
 * @ret_problem: set on failure only: why, as a static half sentence
 */
bool seep_elf_open(const char *path, struct seep_elf **ret_elf, const char **ret_problem);

/* The same of an open file; @fd stays the caller's. */
bool seep_elf_open_fd(int fd, struct seep_elf **ret_elf, const char **ret_problem);

/* The same over @bytes at @memory, which must outlive it. */
bool seep_elf_open_memory(const void *memory, size_t bytes, struct seep_elf **ret_elf,
			  const char **ret_problem);

/* NULL is a no-op. */
void seep_elf_close(struct seep_elf *elf);

bool seep_elf_has_build_id(const struct seep_elf *elf, const uint8_t *build_id, size_t bytes);

/* There is a section of that name with contents in the file. */
bool seep_elf_has_section(const struct seep_elf *elf, const char *name);
bool seep_elf_has_dwarf(const struct seep_elf *elf);

/* Exactly @bytes at @offset of the file, before loading. False when they are not there. */
bool seep_elf_read_at(const struct seep_elf *elf, uint64_t offset, void *to, uint64_t bytes);

/* "" for a damaged one. */
const char *seep_elf_section_name(const struct seep_elf *elf, const Elf64_Shdr *section);

/* Program header @index of @elf->header, @base bytes into what is read. False: there is none. */
bool seep_elf_segment(const struct seep_elf *elf, uint64_t base, size_t index,
		      Elf64_Phdr *ret_segment);

/* A section of items, and the strings that it names; before loading. Release with _done(). */
struct seep_elf_table {
	uint8_t *data; /* NULL when it is not in the file */
	uint64_t bytes;
	char *strings; /* ended by a zero */
	uint64_t string_bytes;
};

void seep_elf_table_read(const struct seep_elf *elf, const Elf64_Shdr *section,
			 struct seep_elf_table *ret_table);
void seep_elf_table_done(struct seep_elf_table *table);

/* Copy item @index, of @bytes; false when it is not there. */
bool seep_elf_table_item(const struct seep_elf_table *table, size_t index, void *ret_item,
			 size_t bytes);

/* NULL when it is not there. */
const char *seep_elf_table_string(const struct seep_elf_table *table, uint64_t at);

/*
 * The bytes of @section, inflated, and a zero after them; released with free(). NULL when they are
 * not in the file, or are more than @bytes_max.
 */
uint8_t *seep_elf_contents(const struct seep_elf *elf, const Elf64_Shdr *section,
			   uint64_t bytes_max, uint64_t *ret_bytes);

/**
 * seep_elf_load - read and inflate what symbols need
 *
 * A section that cannot be read or inflated is left out, and so is what exceeds 8 GiB. Calling it
 * again does nothing.
 *
 * Returns: false when the file has no sections.
 */
bool seep_elf_load(struct seep_elf *elf);

/* After loading. Empty when there is none. */
struct seep_elf_bytes seep_elf_section(const struct seep_elf *elf, const char *name);
struct seep_elf_bytes seep_elf_section_at(const struct seep_elf *elf, size_t index);

/* @address may lie in code. True for all when the file does not say where its code is. */
bool seep_elf_is_code(const struct seep_elf *elf, uint64_t address);

#endif
