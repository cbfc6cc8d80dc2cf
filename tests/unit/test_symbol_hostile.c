/* SPDX-License-Identifier: MIT */
/*
 * Damaged files: this very program with bytes changed, cut and moved at random. Whatever is in the
 * file, a look comes back with a frame, and strings that it returned can be read.
 *
 * SEEP_ROUNDS makes it longer, SEEP_SUBJECT damages another file.
 */
#include "symbol/symbol.h"
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES_MAX = 32, ADDRESSES_PER_ROUND = 64, SECTIONS_MAX = 64 };

struct section {
	uint64_t offset;
	uint64_t bytes;
};

struct subject {
	uint8_t *image;
	size_t bytes;
	struct section debug[SECTIONS_MAX]; /* what symbols are read from */
	size_t debug_count;
	struct section text;
	uint64_t seed;
};

static uint64_t next_random(struct subject *subject)
{
	uint64_t x = subject->seed;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return subject->seed = x;
}

static uint64_t below(struct subject *subject, uint64_t limit)
{
	return next_random(subject) % limit;
}

static void find_sections(struct subject *subject)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)subject->image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(subject->image + header->e_shoff);
	const char *names = (const char *)subject->image + sections[header->e_shstrndx].sh_offset;
	size_t i;

	for (i = 1; i < header->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;
		struct section found = { .offset = sections[i].sh_offset,
					 .bytes = sections[i].sh_size };

		if (strcmp(name, ".text") == 0)
			subject->text = (struct section){ sections[i].sh_addr, found.bytes };
		if ((strncmp(name, ".debug_", 7) == 0 || strcmp(name, ".symtab") == 0 ||
		     strcmp(name, ".strtab") == 0) &&
		    found.bytes && subject->debug_count < SECTIONS_MAX - 1)
			subject->debug[subject->debug_count++] = found;
	}
	subject->debug[subject->debug_count++] = (struct section){
		.offset = header->e_shoff,
		.bytes = header->e_shnum * sizeof(*sections),
	};
}

static int read_self(void **state)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	const char *path = getenv("SEEP_SUBJECT");
	int fd = open(path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	subject->bytes = (size_t)st.st_size;
	subject->image = malloc(subject->bytes);
	assert_int_equal(read(fd, subject->image, subject->bytes), st.st_size);
	close(fd);
	subject->seed = 0x9e3779b97f4a7c15;
	find_sections(subject);
	*state = subject;
	return 0;
}

static int release_self(void **state)
{
	struct subject *subject = *state;

	free(subject->image);
	free(subject);
	return 0;
}

/* A few bytes of one section, in the manners that fuzzers find most with. */
static void damage(struct subject *subject, uint8_t *image)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff };
	/* The headers come last: seldom, because little is left to look at without them. */
	size_t among = subject->debug_count - (below(subject, 16) != 0);
	const struct section *section = &subject->debug[below(subject, among)];
	uint64_t at = section->offset + below(subject, section->bytes);
	uint64_t left = section->offset + section->bytes - at;
	uint64_t i;

	switch (below(subject, 4)) {
	case 0:
		image[at] ^= (uint8_t)(1u << below(subject, 8));
		break;
	case 1:
		image[at] = telling[below(subject, sizeof(telling))];
		break;
	case 2:
		for (i = 0; i < left && i < 8; i++)
			image[at + i] = 0xff;
		break;
	default:
		/* Bytes from elsewhere in the same section: the most plausible damage. */
		left = left < 64 ? left : 64;
		memmove(image + at,
			image + section->offset + below(subject, section->bytes - left + 1), left);
		break;
	}
}

static int write_image(const uint8_t *image, size_t bytes)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, bytes), (ssize_t)bytes);
	return fd;
}

static size_t touch(const char *text)
{
	return text ? strlen(text) : 0;
}

/* True when there was DWARF to look at. */
static bool look_around(struct subject *subject, const uint8_t *image, size_t bytes)
{
	int fd = write_image(image, bytes);
	struct seep_symbol_frame frames[FRAMES_MAX];
	struct seep_symbol_module *module;
	struct seep_symbols *symbols;
	size_t touched = 0;
	bool had_dwarf;
	char path[64];
	size_t i;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(seep_symbols_new(NULL, &symbols, NULL), 0);
	module = seep_symbols_module(symbols, path, NULL, 0);
	had_dwarf = seep_symbol_module_problem(module) == NULL;
	for (i = 0; i < ADDRESSES_PER_ROUND; i++) {
		uint64_t address = subject->text.offset + below(subject, subject->text.bytes);
		size_t count = seep_symbol_lookup(module, address, frames, FRAMES_MAX);

		assert_in_range(count, 1, FRAMES_MAX);
		while (count-- > 0)
			touched += touch(frames[count].function) + touch(frames[count].file) +
				   touch(frames[count].linkage_name);
	}
	assert_true(touched < SIZE_MAX);
	seep_symbols_free(symbols);
	close(fd);
	return had_dwarf;
}

static unsigned long rounds(unsigned long usual)
{
	const char *asked = getenv("SEEP_ROUNDS");

	return asked ? strtoul(asked, NULL, 10) : usual;
}

TEST(changed_bytes_are_survived)
{
	struct subject *subject = *state;
	uint8_t *image = malloc(subject->bytes);
	unsigned long total = rounds(150);
	unsigned long with_dwarf = 0;
	unsigned long left;

	for (left = total; left > 0; left--) {
		uint64_t changes = 1 + below(subject, 20);

		memcpy(image, subject->image, subject->bytes);
		while (changes-- > 0)
			damage(subject, image);
		with_dwarf += look_around(subject, image, subject->bytes);
	}
	free(image);
	/* Else the damage would only test the first check of the headers. */
	assert_in_range(with_dwarf, total / 4, total);
}

TEST(a_file_cut_anywhere_is_survived)
{
	struct subject *subject = *state;
	unsigned long left;

	(void)look_around(subject, subject->image, 0);
	(void)look_around(subject, subject->image, 63);
	(void)look_around(subject, subject->image, 64);
	for (left = rounds(20); left > 0; left--)
		(void)look_around(subject, subject->image, below(subject, subject->bytes));
}

int main(void)
{
	return unit_run(read_self, release_self);
}
