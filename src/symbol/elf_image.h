/* SPDX-License-Identifier: MIT */
/*
 * The parts of an ELF file that symbols need, copied into memory when they are first asked for.
 *
 * Copied and not mapped: a file that shrinks under a mapping (a rebuild in the middle of a report)
 * kills its reader with SIGBUS. Compressed sections are inflated.
 *
 * 64-bit little-endian files only: what seep can record.
 */
#ifndef SEEP_SYMBOL_ELF_IMAGE_H
#define SEEP_SYMBOL_ELF_IMAGE_H

#include "base/release.h"

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
	int fd;		 /* -1: nothing more is read, or it is read from memory */
	uint8_t *memory; /* NULL when read from fd */
	char *path;	 /* as it was opened; NULL when read from memory */
	uint64_t file_bytes;
	uint64_t held_bytes; /* that it takes on its disk */
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t section_count;
	struct seep_elf_bytes names; /* of sections */
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0 = none */
	uint64_t code_from;    /* from the first section with code to the end of the last */
	uint64_t code_to;      /* 0: the file does not say */
	struct seep_elf_contents *contents;
};

/**
 * seep_elf_open - read the headers, section names and build-id
 * @ret_elf: set on success only; released with seep_elf_close()
 *
 * Returns: NULL, or why it cannot be used, as a static half sentence.
 */
const char *seep_elf_open(const char *path, struct seep_elf **ret_elf);

/* The same of an open file; @fd stays the caller's. */
const char *seep_elf_open_fd(int fd, struct seep_elf **ret_elf);

/* Of the file inside @elf that has the symbol table ("mini debug information"); false: none. */
bool seep_elf_open_mini(const struct seep_elf *elf, struct seep_elf **ret_elf);

/* NULL is a no-op. */
void seep_elf_close(struct seep_elf *elf);
SEEP_FREE_AT(struct seep_elf, seep_elf_close)

bool seep_elf_has_build_id(const struct seep_elf *elf, const uint8_t *build_id, size_t bytes);

/* There is a section of that name with contents in the file. */
bool seep_elf_has_section(const struct seep_elf *elf, const char *name);

/* Exactly @bytes at @offset of the file. False when they are not there. */
bool seep_elf_read_at(const struct seep_elf *elf, uint64_t offset, void *to, uint64_t bytes);

/* Program header @index of @elf->header. False: there is none. */
bool seep_elf_segment(const struct seep_elf *elf, size_t index, Elf64_Phdr *ret_segment);

/*
 * The contents of the first section of that name; empty where it is not in the file, cannot be
 * inflated, or all that was read together exceeds the file or 8 GB. They live as long as @elf.
 */
struct seep_elf_bytes seep_elf_section(const struct seep_elf *elf, const char *name);

/* Close the file: what was not asked for until now is not there. NULL is a no-op. */
void seep_elf_stop_reading(struct seep_elf *elf);

/* A section of items, and the strings that it names. */
struct seep_elf_table {
	struct seep_elf_bytes items;
	struct seep_elf_bytes strings;
};

struct seep_elf_table seep_elf_table(const struct seep_elf *elf, const Elf64_Shdr *section);

/* Copy item @index, of @bytes; false when it is not there. */
bool seep_elf_table_item(const struct seep_elf_table *table, size_t index, void *ret_item,
			 size_t bytes);

/* NULL when it is not there. */
const char *seep_elf_table_string(const struct seep_elf_table *table, uint64_t at);

/* Its symbols, table after table. Begins with elf alone, or with is_dynamic as well. */
struct seep_elf_symbols {
	const struct seep_elf *elf;
	bool is_dynamic;  /* of .dynsym alone, else of .symtab too */
	Elf64_Sym symbol; /* the present one */
	const char *name; /* NULL: it is not there */
	size_t section;	  /* the rest is the cursor's own */
	size_t next;
	struct seep_elf_table table;
};

/* Go on to the next one. False after the last, and when the job is over. */
bool seep_elf_next_symbol(struct seep_elf_symbols *symbols);

/* @address may lie in code. True for all when the file does not say where its code is. */
bool seep_elf_is_code(const struct seep_elf *elf, uint64_t address);

#endif
