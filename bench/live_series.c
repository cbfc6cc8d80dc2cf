/* SPDX-License-Identifier: MIT */
/*
 * Reads the live bytes of all call stacks of a process again and again, until it ends, and prints
 * them as series for tests/unit/test_growth_replay.c: one line for each call stack.
 *
 *	live_series LEDGER INTERVAL_MS
 *
 * A line: the names of the functions, then for each reading "MS:BYTES:BLOCKS", since the reading before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "profile/ledger_live.h"
#include "profile/ledger_load.h"
#include "profile/symbolise.h"
#include "symbol/symbol.h"
#include "view/frame_text.h"

enum { READINGS_MAX = 4096, NAMES_BYTES_MAX = 65536 };

struct reading {
	uint64_t at_ns;
	uint32_t count; /* of contexts */
	uint64_t *bytes;
	uint64_t *blocks;
};

static struct reading readings[READINGS_MAX];
static uint32_t reading_count;

static void take(const struct seep_profile *profile)
{
	struct reading *reading = &readings[reading_count++];

	reading->at_ns = seep_monotonic_ns();
	reading->count = profile->context_count;
	reading->bytes = seep_xcalloc(profile->context_count, sizeof(*reading->bytes));
	reading->blocks = seep_xcalloc(profile->context_count, sizeof(*reading->blocks));
	for (uint32_t i = 0; i < profile->context_count; i++) {
		reading->bytes[i] = profile->contexts[i].live_bytes;
		reading->blocks[i] = profile->contexts[i].live_blocks;
	}
}

/* Names of the whole stack, innermost first: "f;g;main", without spaces. */
static char *name_of(const struct seep_profile *profile, uint32_t index)
{
	const struct seep_profile_context *context = &profile->contexts[index];
	struct seep_strbuf names;
	char *at;

	seep_strbuf_init(&names, NAMES_BYTES_MAX);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		char *name = seep_frame_name(profile, &profile->frames[context->stack[i].frame],
					     SEEP_NAME_SHORT);

		seep_strbuf_addf(&names, "%s%s", i ? ";" : "", name);
		free(name);
	}
	for (at = names.text; at && *at; at++)
		if (*at == ' ')
			*at = '_';
	return seep_strbuf_take(&names);
}

/* All contexts whose stacks have the names that the one of context @index has. */
static void print_series(char *const *names, uint32_t index, uint32_t count)
{
	uint64_t bytes_before = 0, blocks_before = 0;

	printf("%s", names[index]);
	for (uint32_t r = 0; r < reading_count; r++) {
		uint64_t bytes = 0, blocks = 0;

		for (uint32_t i = index; i < count && i < readings[r].count; i++) {
			if (strcmp(names[i], names[index]) != 0)
				continue;
			bytes += readings[r].bytes[i];
			blocks += readings[r].blocks[i];
		}
		printf(" %" PRIu64 ":%" PRId64 ":%" PRId64,
		       r ? (readings[r].at_ns - readings[r - 1].at_ns + 500000) / 1000000 : 0,
		       (int64_t)(bytes - bytes_before), (int64_t)(blocks - blocks_before));
		bytes_before = bytes;
		blocks_before = blocks;
	}
	printf("\n");
}

static void print_all(struct seep_profile *profile)
{
	const struct seep_symbols_options options = { 0 };
	struct seep_symbols *symbols;
	char **names = seep_xcalloc(profile->context_count + 1u, sizeof(*names));

	if (seep_symbols_new(&options, &symbols, NULL) == 0)
		(void)!seep_profile_symbolise(profile, symbols, false, NULL, NULL, NULL);
	for (uint32_t i = 0; i < profile->context_count; i++)
		names[i] = name_of(profile, i);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		uint32_t first = 0;

		while (strcmp(names[first], names[i]) != 0)
			first++;
		if (first == i)
			print_series(names, i, profile->context_count);
	}
}

int main(int argc, char **argv)
{
	struct seep_ledger_live *live;
	struct seep_error err = { 0 };
	struct seep_profile *profile;
	uint64_t next_ns = seep_monotonic_ns(), interval_ns;

	if (argc != 3 || seep_ledger_live_open(argv[1], &live, &err) < 0) {
		fprintf(stderr, "usage: live_series LEDGER INTERVAL_MS%s%s\n",
			argc == 3 ? ": " : "", err.text);
		return 2;
	}
	interval_ns = strtoul(argv[2], NULL, 10) * 1000000;
	profile = seep_ledger_live_profile(live);
	while (reading_count < READINGS_MAX) {
		const uint64_t now_ns = seep_monotonic_ns();

		if (next_ns > now_ns)
			(void)usleep((useconds_t)((next_ns - now_ns) / 1000));
		next_ns += interval_ns;
		if (seep_ledger_live_refresh(live, &err) < 0 ||
		    profile->process.ended != SEEP_ENDED_RUNNING)
			break;
		take(profile);
	}
	print_all(profile);
	return 0;
}
