/* SPDX-License-Identifier: MIT */
/* addresses MODULE: for each address on standard input the functions and lines there, as seep finds
 * them, and an empty line. What llvm-symbolizer does, for the comparison of time and memory. */
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES_MAX = 64 };

static const char *text(const char *string)
{
	return string ? string : "??";
}

static void answer(struct seep_symbol_module *module, uint64_t address)
{
	struct seep_symbol_frame frames[FRAMES_MAX];
	size_t count = seep_symbol_lookup(module, address, frames, FRAMES_MAX);

	for (size_t i = 0; i < count; i++)
		(void)printf("%s\n%s:%" PRIu32 "\n", text(frames[i].function), text(frames[i].file),
			     frames[i].line);
	(void)putchar('\n');
}

int main(int argc, char **argv)
{
	struct seep_symbol_module *module;
	struct seep_symbols *symbols;
	struct seep_error err;
	char line[64];

	if (argc != 2 || seep_symbols_new(NULL, &symbols, &err) < 0)
		return 2;
	module = seep_symbols_module(symbols, argv[1], NULL, 0);
	if (seep_symbol_module_problem(module))
		return 3;
	while (fgets(line, sizeof(line), stdin))
		answer(module, strtoull(line, NULL, 16));
	seep_symbols_free(symbols);
	return 0;
}
