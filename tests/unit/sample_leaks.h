/* SPDX-License-Identifier: MIT */
/*
 * The sample profile with a leak scan: a leak of each verdict and of one that this seep does not
 * know, with chains, blocks and their contents, suppressions and what was skipped.
 */
#ifndef SEEP_TESTS_SAMPLE_LEAKS_H
#define SEEP_TESTS_SAMPLE_LEAKS_H

#include "profile/verdict.h"
#include "sample_profile.h"

enum {
	SAMPLE_VERDICT_NEWER = SEEP_VERDICT_COUNT + 60,
	SAMPLE_LEAKS = SEEP_VERDICT_COUNT + 3,
};

static struct seep_profile_leak *sample_leak(struct seep_profile *p, uint8_t verdict,
					     uint32_t context, uint64_t blocks, uint64_t bytes,
					     const char *evidence)
{
	struct seep_profile_leak *leak = &p->leaks[p->leak_count++];

	leak->verdict = verdict;
	leak->context = context;
	leak->hash = context ? p->contexts[context - 1].hash : 0;
	leak->blocks = blocks;
	leak->bytes = bytes;
	leak->evidence = seep_profile_strdup(p, evidence);
	return leak;
}

static void sample_chain(struct seep_profile *p, struct seep_profile_leak *leak, const char *rule)
{
	const struct seep_profile_link chain[] = {
		{ seep_profile_strdup(p, "block"),
		  seep_profile_strdup(p, "app::load_rows(std::istream&, int)"), 0x555555599010,
		  16 },
		{ seep_profile_strdup(p, "module data"),
		  seep_profile_strdup(p, "/opt/vendor/libblob.so"), UINT64_MAX - 7, 0x4080 },
		{ seep_profile_strdup(p, "register"), NULL, 0, 0 },
	};

	leak->rule = seep_profile_strdup(p, rule);
	leak->chain_count = 3;
	leak->chain = sample_array(p, chain, 3, sizeof(chain[0]));
}

static void sample_lost(struct seep_profile *p)
{
	uint8_t contents[] = { 0x00, 0xff, 'h', 'i', 0x1b };
	const struct seep_profile_leak_block blocks[] = {
		{ 0x555555560010, 24, sample_array(p, contents, 5, 1), 5 },
		{ 0x555555560050, 0, NULL, 0 },
		{ 0x7fffffffffff0000, 1 << 20, sample_array(p, contents, 1, 1), 1 },
	};
	struct seep_profile_leak *leak;

	leak = sample_leak(p, SEEP_VERDICT_LOST, 3, 100, 700000, "no pointer to them was found");
	leak->with_blocks = 12;
	leak->with_bytes = 5000;
	leak->block_list_count = 3;
	leak->block_list = sample_array(p, blocks, 3, sizeof(blocks[0]));
	leak = sample_leak(p, SEEP_VERDICT_LOST, 6, 1, 300000, NULL);
	leak->flags = SEEP_LEAK_STARTUP | SEEP_LEAK_REPORTED;
	leak->rule = seep_profile_strdup(p, "high-tag");
	leak->block_list_count = 1;
	leak->block_list = sample_array(p, blocks + 1, 1, sizeof(blocks[0]));
	(void)sample_leak(p, SEEP_VERDICT_LOST_CYCLE, 4, 2, 64, "2 blocks point to each other");
	leak = sample_leak(p, SEEP_VERDICT_LOST_WITH, 1, 12, 5000, NULL);
	leak->root = 1;
}

static void sample_scan(struct seep_profile *p)
{
	const struct seep_profile_range skipped[] = {
		{ 0x7f0000000000, 0x7f0040000000, seep_profile_strdup(p, "a device") },
		{ UINT64_MAX - 4095, UINT64_MAX, seep_profile_strdup(p, "it cannot be read") },
	};
	char *caveats[] = { seep_profile_strdup(p, "the registers of 2 threads are not known"),
			    seep_profile_strdup(p, "hostile\033[31m\xff") };
	const struct seep_profile_suppression suppressions[] = {
		{ seep_profile_strdup(p, "leak:app::Index*"), seep_profile_strdup(p, "app.supp"), 1,
		  4, 120000 },
		{ seep_profile_strdup(p, "leak:nothing_of_this_name"),
		  seep_profile_strdup(p, "app.supp"), 0, 0, 0 },
		{ seep_profile_strdup(p, "dl-init"), NULL, 1, 2, 250000 },
	};

	p->scan = (struct seep_profile_scan){
		.done = true,
		.method = seep_profile_strdup(p, "copy-on-write"),
		.at_ns = 17200000000,
		.pause_ns = 310000,
		.mark_ns = 4000000,
		.marked_bytes = 30 << 20,
		.blocks = 4156,
		.skipped = sample_array(p, skipped, 2, sizeof(skipped[0])),
		.skipped_count = 2,
		.caveats = sample_array(p, caveats, 2, sizeof(caveats[0])),
		.caveat_count = 2,
		.suppressions = sample_array(p, suppressions, 3, sizeof(suppressions[0])),
		.suppression_count = 3,
	};
}

/* The whole sample and its leaks. */
static struct seep_profile *sample_profile_with_leaks(void)
{
	struct seep_profile *p = sample_profile();
	struct seep_profile_leak *leak;

	p->leaks = seep_profile_calloc(p, SAMPLE_LEAKS, sizeof(*p->leaks));
	sample_lost(p);
	sample_chain(p,
		     sample_leak(p, SEEP_VERDICT_MAYBE_LOST, 5, 7, 900000,
				 "only a pointer into their middle was found"),
		     "interior");
	sample_chain(p, sample_leak(p, SEEP_VERDICT_MAYBE_LOST, 8, 3, 50000, NULL), "start");
	(void)sample_leak(p, SEEP_VERDICT_FORK_ORPHAN, 0, 9, 999,
			  "a parent process allocated them");
	leak = sample_leak(p, SEEP_VERDICT_RUNTIME, 7, 2, 250000, NULL);
	leak->suppressed_by = seep_profile_strdup(p, "dl-init");
	leak->flags = SEEP_LEAK_STARTUP;
	leak = sample_leak(p, SEEP_VERDICT_SUPPRESSED, 9, 4, 120000, NULL);
	leak->suppressed_by = seep_profile_strdup(p, "leak:app::Index*");
	(void)sample_leak(p, SEEP_VERDICT_IGNORED, 10, 5, 4096, NULL);
	sample_chain(p, sample_leak(p, SEEP_VERDICT_REACHABLE, 2, 10, 400000, NULL), "start");
	(void)sample_leak(p, SAMPLE_VERDICT_NEWER, 2, 1, 8, "a newer seep says this");
	sample_scan(p);
	return p;
}

#endif
