/* SPDX-License-Identifier: MIT */
/*
 * Symbols of this very program, whose lines it knows.
 *
 * Called as "test_symbol_lookup --addresses MODULE [DEBUG_DIR…]" it is what other tests compare
 * with other symbolisers: each line of standard input is an address of the module; the answer is
 * a line "function<TAB>linkage<TAB>file:line" per frame, and an empty line.
 */
#include "symbol/symbol.h"
#include "unit.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES_MAX = 256 };

/* The line of the call is the function's own second line. */
static __attribute__((always_inline)) inline void *inlined_here(void)
{
	void *pc;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc)); /* line_of_inlined */
	return pc;
}

enum { LINE_OF_INLINED = __LINE__ - 4 };

static __attribute__((noinline)) void *outer_function(uint32_t *ret_line)
{
	*ret_line = __LINE__ + 1;
	return inlined_here();
}

static int take_bias(struct dl_phdr_info *info, size_t bytes, void *opaque)
{
	(void)bytes;
	*(uintptr_t *)opaque = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static uint64_t linked_address(const void *pc)
{
	uintptr_t bias = 0;

	(void)dl_iterate_phdr(take_bias, &bias);
	return (uintptr_t)pc - bias;
}

static struct seep_symbols *open_symbols(void)
{
	struct seep_symbols *symbols = NULL;

	assert_int_equal(seep_symbols_new(NULL, &symbols, NULL), 0);
	return symbols;
}

TEST(an_inlined_function_comes_before_the_one_it_is_in)
{
	struct seep_symbols *symbols = open_symbols();
	struct seep_symbol_module *self = seep_symbols_module(symbols, "/proc/self/exe", NULL, 0);
	struct seep_symbol_frame frames[4];
	uint32_t line = 0;
	uint64_t address = linked_address(outer_function(&line)) - 1;

	assert_null(seep_symbol_module_problem(self));
	assert_int_equal(seep_symbol_lookup(self, address, frames, 4), 2);
	assert_string_equal(frames[0].function, "inlined_here");
	assert_int_equal(frames[0].line, LINE_OF_INLINED);
	assert_true(frames[0].inlined);
	assert_string_equal(frames[1].function, "outer_function");
	assert_int_equal(frames[1].line, line);
	assert_false(frames[1].inlined);
	assert_non_null(strstr(frames[1].file, "test_symbol_lookup.c"));
	seep_symbols_free(symbols);
}

TEST(without_room_the_called_function_takes_the_last_place)
{
	struct seep_symbols *symbols = open_symbols();
	struct seep_symbol_module *self = seep_symbols_module(symbols, "/proc/self/exe", NULL, 0);
	struct seep_symbol_frame frame;
	uint32_t line = 0;
	uint64_t address = linked_address(outer_function(&line)) - 1;

	assert_int_equal(seep_symbol_lookup(self, address, &frame, 1), 1);
	assert_string_equal(frame.function, "outer_function");
	seep_symbols_free(symbols);
}

TEST(a_missing_file_answers_unknown_and_says_why)
{
	struct seep_symbols *symbols = open_symbols();
	struct seep_symbol_module *gone = seep_symbols_module(symbols, "/nonexistent/a", NULL, 0);
	struct seep_symbol_frame frame;

	assert_string_equal(seep_symbol_module_problem(gone), "file is gone");
	assert_int_equal(seep_symbol_lookup(gone, 0x1234, &frame, 1), 1);
	assert_null(frame.function);
	assert_null(frame.file);
	assert_int_equal(frame.line, 0);
	seep_symbols_free(symbols);
}

TEST(a_file_of_another_build_id_is_not_used)
{
	static const uint8_t build_id[20] = { 1, 2, 3 };
	struct seep_symbols *symbols = open_symbols();
	struct seep_symbol_module *other = seep_symbols_module(symbols, "/proc/self/exe", build_id,
							       sizeof(build_id));
	struct seep_symbol_frame frame;
	uint32_t line = 0;
	uint64_t address = linked_address(outer_function(&line)) - 1;

	assert_non_null(strstr(seep_symbol_module_problem(other), "build-id differs"));
	assert_int_equal(seep_symbol_lookup(other, address, &frame, 1), 1);
	assert_null(frame.function);
	seep_symbols_free(symbols);
}

TEST(devices_and_other_files_are_refused)
{
	struct seep_symbols *symbols = open_symbols();

	assert_string_equal(
		seep_symbol_module_problem(seep_symbols_module(symbols, "/dev/zero", NULL, 0)),
		"not a regular file");
	assert_string_equal(
		seep_symbol_module_problem(seep_symbols_module(symbols, "/etc/passwd", NULL, 0)),
		"not an ELF file");
	seep_symbols_free(symbols);
}

TEST(one_module_is_opened_once)
{
	static const uint8_t build_id[2] = { 1, 2 };
	struct seep_symbols *symbols = open_symbols();

	assert_ptr_equal(seep_symbols_module(symbols, "/a", NULL, 0),
			 seep_symbols_module(symbols, "/a", NULL, 0));
	assert_ptr_not_equal(seep_symbols_module(symbols, "/a", NULL, 0),
			     seep_symbols_module(symbols, "/a", build_id, 2));
	seep_symbols_free(symbols);
}

static void answer(struct seep_symbol_module *module, uint64_t address)
{
	struct seep_symbol_frame frames[FRAMES_MAX];
	size_t count = seep_symbol_lookup(module, address, frames, FRAMES_MAX);
	size_t i;

	for (i = 0; i < count; i++)
		(void)printf("%s\t%s\t%s:%" PRIu32 "\n",
			     frames[i].function ? frames[i].function : "??",
			     frames[i].linkage_name ? frames[i].linkage_name : "",
			     frames[i].file ? frames[i].file : "??", frames[i].line);
	(void)putchar('\n');
}

static int answer_addresses(int count, char **names)
{
	struct seep_symbols_options options = {
		.debug_dirs = (const char *const *)names + 1,
		.debug_dir_count = (size_t)(count - 1),
	};
	struct seep_symbol_module *module;
	struct seep_symbols *symbols;
	struct seep_error err;
	char line[64];

	if (count < 1 || seep_symbols_new(&options, &symbols, &err) < 0)
		return 2;
	module = seep_symbols_module(symbols, names[0], NULL, 0);
	while (fgets(line, sizeof(line), stdin))
		answer(module, strtoull(line, NULL, 16));
	if (seep_symbol_module_problem(module))
		(void)fprintf(stderr, "%s\n", seep_symbol_module_problem(module));
	seep_symbols_free(symbols);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--addresses") == 0)
		return answer_addresses(argc - 2, argv + 2);
	return unit_run(NULL, NULL);
}
