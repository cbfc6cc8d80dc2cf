/* SPDX-License-Identifier: MIT */
/*
 * Reads the live bytes of all call stacks of a process again and again, until it ends, and prints
 * them as series for tests/unit/test_growth_replay.c: one line for each call stack.
 *
 *	live_series LEDGER INTERVAL_MS
 *
 * A line: the names of the functions, then for each reading "MS:BYTES:BLOCKS", since the reading
 * before; behind every tenth "@ALLOCS:FREES" and ";START_MS:BLOCKS:BYTES" for each epoch with live
 * blocks, all in whole. Marks are set as the recorder sets them.
 */
#include <fcntl.h>
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
#include "recorder/ledger_control.h"
#include "symbol/symbol.h"
#include "view/frame_text.h"

enum { READINGS_MAX = 4096, NAMES_BYTES_MAX = 65536, EPOCHS_MAX = 8, AGES_EVERY = 10 };

struct figures {
	uint64_t bytes, blocks, allocs, frees;
	struct seep_profile_epoch epochs[EPOCHS_MAX];
};

struct reading {
	uint64_t at_ns;
	uint32_t count; /* of contexts */
	struct figures *of;
};

static struct reading readings[READINGS_MAX];
static uint32_t reading_count;
static uint64_t starts_ns[EPOCHS_MAX]; /* of epochs */

static void take(const struct seep_profile *profile)
{
	struct reading *reading = &readings[reading_count++];

	reading->at_ns = seep_monotonic_ns();
	reading->count = profile->context_count;
	reading->of = seep_xcalloc(profile->context_count, sizeof(*reading->of));
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		struct figures *of = &reading->of[i];

		of->bytes = context->live_bytes;
		of->blocks = context->live_blocks;
		of->allocs = context->allocs;
		of->frees = context->frees;
		for (uint32_t e = 0; e < context->epoch_count; e++)
			if (context->epochs[e].epoch < EPOCHS_MAX)
				of->epochs[context->epochs[e].epoch] = context->epochs[e];
	}
}

/* Names of the whole stack, innermost first: "f;g;main", without spaces. */
static char *name_of(const struct seep_profile *profile, uint32_t index)
{
	const struct seep_profile_context *context = &profile->contexts[index];
	struct seep_strbuf names = seep_strbuf_of(NAMES_BYTES_MAX);
	char *at;

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

static void print_ages(const struct figures *sum)
{
	printf("@%" PRIu64 ":%" PRIu64, sum->allocs, sum->frees);
	for (uint32_t e = 0; e < EPOCHS_MAX; e++)
		if (sum->epochs[e].blocks)
			printf(";%" PRIu64 ":%" PRIu64 ":%" PRIu64,
			       e ? (starts_ns[e] - starts_ns[0]) / 1000000 : 0,
			       sum->epochs[e].blocks, sum->epochs[e].bytes);
}

/* All contexts whose stacks have the names that the one of context @index has. */
static void print_series(char *const *names, uint32_t index, uint32_t count)
{
	struct figures before = { 0 };

	printf("%s", names[index]);
	for (uint32_t r = 0; r < reading_count; r++) {
		struct figures sum = { 0 };

		for (uint32_t i = index; i < count && i < readings[r].count; i++) {
			if (strcmp(names[i], names[index]) != 0)
				continue;
			sum.bytes += readings[r].of[i].bytes;
			sum.blocks += readings[r].of[i].blocks;
			sum.allocs += readings[r].of[i].allocs;
			sum.frees += readings[r].of[i].frees;
			for (uint32_t e = 0; e < EPOCHS_MAX; e++) {
				sum.epochs[e].blocks += readings[r].of[i].epochs[e].blocks;
				sum.epochs[e].bytes += readings[r].of[i].epochs[e].bytes;
			}
		}
		printf(" %" PRIu64 ":%" PRId64 ":%" PRId64,
		       (readings[r].at_ns - (r ? readings[r - 1].at_ns : starts_ns[0]) + 500000) /
			       1000000,
		       (int64_t)(sum.bytes - before.bytes), (int64_t)(sum.blocks - before.blocks));
		if (r % AGES_EVERY == AGES_EVERY - 1)
			print_ages(&sum);
		before = sum;
	}
	printf("\n");
}

static void print_all(struct seep_profile *profile)
{
	const struct seep_symbols_options options = { 0 };
	struct seep_symbols *symbols;
	char **names = seep_xcalloc(profile->context_count + 1u, sizeof(*names));

	if (seep_symbols_new(&options, &symbols, NULL) == 0)
		(void)!seep_profile_symbolise(profile, symbols, false, NULL, NULL);
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

/* At 1 s, 2 s, 4 s ... of age. */
static void mark(struct seep_ledger *ledger, uint64_t now_ns)
{
	static uint64_t age_ns = SEEP_NS_PER_S;
	uint32_t epoch;

	if (now_ns < starts_ns[0] + age_ns)
		return;
	if (seep_ledger_mark(ledger, NULL, now_ns, &epoch, NULL) == 0 && epoch < EPOCHS_MAX)
		starts_ns[epoch] = now_ns;
	age_ns *= 2;
}

int main(int argc, char **argv)
{
	struct seep_ledger_live *live;
	struct seep_ledger ledger;
	struct seep_error err = { 0 };
	struct seep_profile *profile;
	uint64_t next_ns = seep_monotonic_ns(), interval_ns;

	if (argc != 3 || seep_ledger_live_open(argv[1], &live, &err) < 0 ||
	    seep_ledger_open(AT_FDCWD, argv[1], SEEP_LEDGER_WRITE, &ledger, &err) < 0) {
		fprintf(stderr, "usage: live_series LEDGER INTERVAL_MS%s%s\n",
			argc == 3 ? ": " : "", err.text);
		return 2;
	}
	interval_ns = strtoul(argv[2], NULL, 10) * 1000000;
	profile = seep_ledger_live_profile(live);
	starts_ns[0] = profile->process.start_ns;
	while (reading_count < READINGS_MAX) {
		const uint64_t now_ns = seep_monotonic_ns();

		if (next_ns > now_ns)
			(void)usleep((useconds_t)((next_ns - now_ns) / 1000));
		next_ns += interval_ns;
		mark(&ledger, seep_monotonic_ns());
		if (seep_ledger_live_refresh(live, &err) < 0 ||
		    profile->process.ended != SEEP_ENDED_RUNNING)
			break;
		take(profile);
	}
	print_all(profile);
	return 0;
}
