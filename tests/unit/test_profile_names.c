/* SPDX-License-Identifier: MIT */
/* Names for frames, inlined calls as entries of their own, and hashes that join runs. */
#include "ledger_build.h"
#include "unit.h"
#include "profile/context_hash.h"
#include "profile/ledger_live.h"
#include "profile/profile.h"
#include "profile/symbolise.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <link.h>
#include <string.h>

static struct seep_symbols *symbols;
/* One context of three entries: the inlined place, an address of no module, one out of range. */
static struct seep_profile *profile;

/* Compiled into outer() at one address; the return address after the call is in both. */
static __attribute__((noinline)) uintptr_t return_address(void)
{
	uintptr_t address = (uintptr_t)__builtin_return_address(0);

	__asm__ volatile("" : "+r"(address));
	return address;
}

static inline __attribute__((always_inline)) uintptr_t inner(void)
{
	uintptr_t address = return_address();

	__asm__ volatile("" : "+r"(address));
	return address;
}

static __attribute__((noinline)) uintptr_t outer(void)
{
	uintptr_t address = inner();

	__asm__ volatile("" : "+r"(address));
	return address;
}

static int find_bias(struct dl_phdr_info *info, size_t bytes, void *ret)
{
	(void)bytes;
	*(uintptr_t *)ret = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

/* Where in its file the program has outer(). */
static uint64_t place_of_outer(void)
{
	uintptr_t bias = 0;

	(void)dl_iterate_phdr(find_bias, &bias);
	return outer() - bias;
}

static int setup(void **state)
{
	struct seep_profile_context *context;

	(void)state;
	profile = seep_profile_new();
	(void)seep_profile_add(profile, SEEP_ARRAY_MODULES);
	profile->modules[0].path = seep_profile_strdup(profile, "/proc/self/exe");
	(void)seep_profile_add_items(profile, SEEP_ARRAY_FRAMES, 3);
	profile->frames[0].module = 1;
	profile->frames[0].address = place_of_outer();
	profile->frames[1].address = 0x1234;
	profile->frames[2].module = 1;
	profile->frames[2].address = 1;
	context = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);
	context->id = 9;
	context->stack_count = 3;
	context->stack = seep_profile_calloc(profile, 3, sizeof(*context->stack));
	for (uint32_t i = 0; i < 3; i++)
		context->stack[i].frame = i;
	context->stack[0].period = 1;
	context->stack[0].repeats = 5;
	return seep_symbols_new(NULL, &symbols, NULL);
}

static int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	seep_symbols_free(symbols);
	return 0;
}

static void add_names(struct seep_profile *p)
{
	assert_int_equal(seep_profile_symbolise(p, symbols, false, NULL, NULL), 0);
}

static const struct seep_profile_frame *frame_at(const struct seep_profile *p, uint32_t i)
{
	return &p->frames[p->contexts[0].stack[i].frame];
}

#define PROFILE_NAMES_TEST(name) TEST_WITH(setup, name, teardown)

PROFILE_NAMES_TEST(inlined_calls_become_entries)
{
	const struct seep_profile_stack_entry *stack;
	uint64_t address = profile->frames[0].address;

	add_names(profile);
	assert_true(profile->symbolised);
	assert_int_equal(profile->contexts[0].stack_count, 4);
	stack = profile->contexts[0].stack;
	assert_string_equal(frame_at(profile, 0)->function, "inner");
	assert_true(frame_at(profile, 0)->inlined);
	assert_string_equal(frame_at(profile, 1)->function, "outer");
	assert_false(frame_at(profile, 1)->inlined);
	assert_int_equal(frame_at(profile, 0)->address, address);
	assert_int_equal(frame_at(profile, 1)->address, address);
	assert_true(frame_at(profile, 0)->line > 0);
	/* The repetition stays with the function that is really on the stack. */
	assert_int_equal(stack[0].period, 0);
	assert_int_equal(stack[1].period, 1);
	assert_int_equal(stack[1].repeats, 5);
	assert_null(frame_at(profile, 2)->function);
	assert_int_equal(frame_at(profile, 2)->address, 0x1234);
	assert_null(frame_at(profile, 3)->function);
}

PROFILE_NAMES_TEST(a_second_time_changes_nothing)
{
	uint64_t hash;

	add_names(profile);
	seep_profile_hash_contexts(profile);
	hash = profile->contexts[0].hash;
	add_names(profile);
	assert_int_equal(profile->contexts[0].stack_count, 4);
	assert_int_not_equal(hash, 0);
	assert_int_equal(profile->contexts[0].hash, hash);
}

PROFILE_NAMES_TEST(the_hash_stays_when_a_lambda_moves)
{
	static const char *const names[] = {
		"main::{lambda}::operator()",
		"main::{lambda:37}::operator()",
		"main::{lambda:1234}::operator()",
		"main::{lambda:x}::operator()",
		"run<main::{lambda(int)#1}>",
		"run<main::{lambda(int)#12}>",
		"main::$_0::operator()",
		"main::$_13::operator()",
		"main::{unnamed_2}",
		"main::{unnamed_3}",
	};
	uint64_t hashes[10];

	for (size_t i = 0; i < 10; i++) {
		profile->frames[0].function = names[i];
		profile->contexts[0].hash = 0;
		seep_profile_hash_contexts(profile);
		hashes[i] = profile->contexts[0].hash;
	}
	assert_int_equal(hashes[1], hashes[0]);
	assert_int_equal(hashes[2], hashes[0]);
	assert_int_not_equal(hashes[3], hashes[0]);
	assert_int_equal(hashes[5], hashes[4]);
	assert_int_equal(hashes[7], hashes[6]);
	assert_int_not_equal(hashes[9], hashes[8]);
}

PROFILE_NAMES_TEST(a_module_that_cannot_be_read_says_why)
{
	profile->modules[0].path = seep_profile_strdup(profile, "/nonexistent/lib.so");
	add_names(profile);
	assert_non_null(profile->modules[0].problem);
	assert_int_equal(profile->contexts[0].stack_count, 3);
}

static uint32_t add_context(struct built_ledger *ledger, uint64_t address, uint8_t kind)
{
	uint32_t outermost = built_node(ledger, 0, 0, 0x1234);
	uint32_t leaf = built_node(ledger, outermost, 1, address);
	uint32_t row = built_row(ledger, built_context(ledger, leaf, kind), 0);

	built_row_at(ledger, row)->allocs = 1;
	return row;
}

PROFILE_NAMES_TEST(names_are_added_to_a_profile_that_is_refreshed)
{
	const uint64_t address = place_of_outer();
	struct seep_profile *p;
	struct built_ledger ledger;
	struct seep_ledger_live *live;
	uint64_t hash;

	built_init(&ledger, &built_small);
	(void)built_module(&ledger, "/proc/self/exe", 0);
	(void)add_context(&ledger, address, 0);
	assert_int_equal(built_open_live(&ledger, &live, NULL), 0);
	p = seep_ledger_live_profile(live);
	add_names(p);
	assert_int_equal(p->contexts[0].stack_count, 3);
	assert_string_equal(frame_at(p, 0)->function, "inner");
	hash = p->contexts[0].hash;
	(void)add_context(&ledger, address, 1);
	(void)add_context(&ledger, 1, 0);
	assert_int_equal(seep_ledger_live_refresh(live, NULL), 0);
	assert_int_equal(p->contexts[1].stack_count, 2);
	add_names(p);
	assert_int_equal(p->context_count, 3);
	assert_int_equal(p->contexts[0].stack_count, 3);
	assert_int_equal(p->contexts[1].stack_count, 3);
	assert_int_equal(p->contexts[2].stack_count, 2);
	assert_int_equal(p->contexts[0].hash, hash);
	assert_int_equal(p->contexts[1].hash, hash);
	seep_ledger_live_close(live);
	built_done(&ledger);
}

PROFILE_NAMES_TEST(leaks_stay_with_their_contexts_through_names_and_refreshes)
{
	const uint64_t address = place_of_outer();
	struct seep_profile *p;
	struct built_ledger ledger;
	struct seep_ledger_live *live;
	struct seep_profile_leak *leak;
	uint64_t without_names;

	built_init(&ledger, &built_small);
	(void)built_module(&ledger, "/proc/self/exe", 0);
	(void)add_context(&ledger, 1, 0);
	(void)add_context(&ledger, address, 0);
	assert_int_equal(built_open_live(&ledger, &live, NULL), 0);
	p = seep_ledger_live_profile(live);
	leak = seep_profile_add(p, SEEP_ARRAY_LEAKS);
	leak->context = 2;
	leak = seep_profile_add(p, SEEP_ARRAY_LEAKS);
	leak->hash = 77; /* of no context that is here */
	seep_profile_hash_contexts(p);
	without_names = p->leaks[0].hash;
	assert_int_equal(without_names, p->contexts[1].hash);
	for (int i = 0; i < 100; i++)
		(void)add_context(&ledger, address, (uint8_t)i);
	assert_int_equal(seep_ledger_live_refresh(live, NULL), 0);
	add_names(p);
	seep_profile_hash_contexts(p);
	assert_int_equal(p->leak_count, 2);
	assert_int_equal(p->leaks[0].context, 2);
	assert_string_equal(p->frames[p->contexts[1].stack[0].frame].function, "inner");
	assert_int_equal(p->leaks[0].hash, p->contexts[1].hash);
	assert_int_not_equal(p->leaks[0].hash, without_names);
	assert_int_equal(p->leaks[1].hash, 77);
	seep_ledger_live_close(live);
	built_done(&ledger);
}

PROFILE_NAMES_TEST(an_empty_profile_is_symbolised)
{
	struct seep_profile *one = seep_profile_new();

	add_names(one);
	assert_true(one->symbolised);
	seep_profile_free(one);
}

/* ---- hashes -------------------------------------------------------------------------------- */

static uint64_t hash_of(struct seep_profile *p)
{
	p->contexts[0].hash = 0;
	seep_profile_hash_contexts(p);
	return p->contexts[0].hash;
}

PROFILE_NAMES_TEST(hashes_ignore_line_address_and_alignment_of_named_frames)
{
	uint64_t hash;

	for (uint32_t i = 0; i < 3; i++)
		profile->frames[i].function = i == 0 ? "f" : "main";
	hash = hash_of(profile);
	profile->frames[0].address += 4711;
	profile->frames[0].line = 12;
	profile->frames[0].file = "x.c";
	profile->modules[0].bias = 1 << 20;
	profile->contexts[0].align_log2 = 6;
	profile->contexts[0].stack[0].repeats = 77;
	assert_true(hash_of(profile) == hash);
	profile->contexts[0].kind = 3;
	assert_true(hash_of(profile) != hash);
	profile->contexts[0].kind = 0;
	profile->frames[0].function = "g";
	assert_true(hash_of(profile) != hash);
}

PROFILE_NAMES_TEST(unnamed_frames_hash_by_build_id_or_file_name)
{
	uint64_t hash;

	profile->modules[0].path = seep_profile_strdup(profile, "/usr/lib/a.so");
	hash = hash_of(profile);
	profile->modules[0].path = seep_profile_strdup(profile, "/opt/lib/a.so");
	assert_true(hash_of(profile) == hash);
	profile->modules[0].path = seep_profile_strdup(profile, "/opt/lib/b.so");
	assert_true(hash_of(profile) != hash);
	profile->modules[0].build_id_bytes = 20;
	hash = hash_of(profile);
	profile->modules[0].path = seep_profile_strdup(profile, "/opt/lib/a.so");
	assert_true(hash_of(profile) == hash);
	profile->frames[2].address++;
	assert_true(hash_of(profile) != hash);
	profile->frames[2].address--;
	profile->frames[1].address++; /* of no module: means nothing in another run */
	assert_true(hash_of(profile) == hash);
}

/* The bytes are documented: this number may change only with a new schema. */
PROFILE_NAMES_TEST(the_hash_is_the_documented_one)
{
	struct seep_profile *one = seep_profile_new();
	struct seep_profile_stack_entry entry = { 0 };
	struct seep_profile_frame frame = { .function = "main" };
	struct seep_profile_context context = { .kind = 4, .stack = &entry, .stack_count = 1 };

	one->frames = &frame;
	one->frame_count = 1;
	one->contexts = &context;
	one->context_count = 1;
	assert_true(hash_of(one) == 0xcfc6f0e7f2e0f4a3ull);
	seep_profile_free(one);
}
