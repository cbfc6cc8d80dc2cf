/* SPDX-License-Identifier: MIT */
/* One ledger made by hand and the profile loaded from it: what the tests of loading start from. */
#ifndef SEEP_TESTS_PROFILE_CASE_H
#define SEEP_TESTS_PROFILE_CASE_H

#include "ledger_build.h"
#include "unit.h"

#include "profile/ledger_load.h"

#define CASE_UNUSED __attribute__((unused))

static struct built_ledger ledger;
static struct seep_profile *profile;
static CASE_UNUSED uint32_t simple; /* a context of three frames, once it was added */
static CASE_UNUSED uint32_t simple_row;

static CASE_UNUSED int setup(void **state)
{
	(void)state;
	built_init(&ledger, &built_small);
	profile = NULL;
	return 0;
}

static CASE_UNUSED int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	built_done(&ledger);
	return 0;
}

static CASE_UNUSED void load(void)
{
	struct seep_error err = { 0 };

	seep_profile_free(profile);
	profile = NULL;
	if (seep_profile_load_ledger_memory(ledger.map, ledger.bytes, false, &profile, &err) != 0)
		fail_msg("%s", err.text);
}

static CASE_UNUSED const struct seep_profile_context *context_of(uint32_t index)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].id == index + 1)
			return &profile->contexts[i];
	fail_msg("context %u is not there", index);
	return NULL;
}

static CASE_UNUSED const char *unseen(const char *code)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, code) == 0)
			return profile->unseen[i].detail;
	return NULL;
}

static CASE_UNUSED void add_simple(void)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 7);
	uint32_t root = built_node(&ledger, 0, module, 0x1000);
	uint32_t middle = built_node(&ledger, root, module, 0x2000);
	uint32_t leaf = built_node(&ledger, middle, module, 0x3000);

	simple = built_context(&ledger, leaf, LEDGER_KIND_NEW);
	simple_row = built_row(&ledger, simple, 0);
}

static CASE_UNUSED int setup_simple(void **state)
{
	(void)setup(state);
	add_simple();
	return 0;
}

static CASE_UNUSED void set_row(uint32_t id, uint64_t allocs, uint64_t bytes, uint64_t frees,
				uint64_t freed)
{
	struct ledger_row *row = built_row_at(&ledger, id);

	row->allocs = allocs;
	row->alloc_bytes = bytes;
	row->frees = frees;
	row->freed_bytes = freed;
}

static CASE_UNUSED struct ledger_slot *set_slot(uint32_t cache, uint32_t i, uint32_t id,
						uint64_t allocs, uint64_t bytes, uint64_t frees,
						uint64_t freed)
{
	struct ledger_slot *slot = built_slot(&ledger, cache, i);

	slot->row = id;
	slot->allocs = allocs;
	slot->alloc_bytes = bytes;
	slot->frees = frees;
	slot->freed_bytes = freed;
	return slot;
}

#define PROFILE_TEST(name) TEST_WITH(setup, name, teardown)
#define SIMPLE_TEST(name) TEST_WITH(setup_simple, name, teardown)

#endif
