/* SPDX-License-Identifier: MIT */
/* From the blocks of a leak scan to leaks, with graphs made by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdicts.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "profile/verdict.h"
#include "stack_text.h"
#include "unit.h"

enum { FIRST_ROW = 100, INHERITED = 7, BEGIN = 0x10000, STEP = 0x1000 };

/* A process whose context @i is of row FIRST_ROW + @i, and called by main() from function f<i>. */
static struct graph {
	struct seep_profile *profile;
	struct scan_result result;
	struct seep_suppressions *suppressions;
	uint64_t edge_count;
	size_t from_capacity, edge_capacity, first_capacity, all_capacity, unreached_capacity;
} g;

static uint32_t add_frame(struct seep_profile *p, uint32_t module, const char *function)
{
	struct seep_profile_frame *frame = seep_profile_add(p, SEEP_ARRAY_FRAMES);

	frame->module = module;
	frame->function = seep_profile_strdup(p, function);
	return p->frame_count - 1;
}

static uint32_t add_module(struct seep_profile *p, const char *path)
{
	struct seep_profile_module *module = seep_profile_add(p, SEEP_ARRAY_MODULES);

	module->path = seep_profile_strdup(p, path);
	return p->module_count;
}

/* Frames innermost first, UINT32_MAX last. */
static void add_context(struct seep_profile *p, const uint32_t *frames)
{
	struct seep_profile_context *context = seep_profile_add(p, SEEP_ARRAY_CONTEXTS);
	uint32_t *row = seep_profile_add(p, SEEP_ARRAY_ROWS);

	*row = context->id = p->context_count;
	context->stack = seep_profile_calloc(p, 8, sizeof(*context->stack));
	while (frames[context->stack_count] != UINT32_MAX) {
		context->stack[context->stack_count].frame = frames[context->stack_count];
		context->stack_count++;
	}
}

/* With @contexts of them. */
static void start(unsigned contexts)
{
	struct seep_profile *p = seep_profile_new();
	uint32_t program, libc, last[3];

	g = (struct graph){ .profile = p, .suppressions = seep_suppressions_new() };
	p->first_row = FIRST_ROW;
	program = add_module(p, "/bin/program");
	libc = add_module(p, "/lib/libc.so.6");
	last[0] = add_frame(p, program, "main");
	last[1] = add_frame(p, libc, "__libc_start_call_main");
	last[2] = add_frame(p, libc, "__libc_start_main_impl");
	for (unsigned i = 0; i < contexts; i++) {
		char *name = seep_xasprintf("f%u", i);

		add_context(p, (uint32_t[]){ add_frame(p, program, name), last[0], last[1], last[2],
					     UINT32_MAX });
		free(name);
	}
	g.result.first_edge = seep_xgrow(NULL, &g.first_capacity, 1, sizeof(*g.result.first_edge));
	g.result.first_edge[0] = 0;
}

static int tear_down(void **state)
{
	(void)state;
	seep_profile_free(g.profile);
	seep_suppressions_free(g.suppressions);
	free(g.result.all);
	free(g.result.unreached);
	free(g.result.from);
	free(g.result.first_edge);
	free(g.result.edges);
	g = (struct graph){ 0 };
	return 0;
}

static struct scan_block *add_block(const struct scan_block *block)
{
	struct scan_result *r = &g.result;

	r->all = seep_xgrow(r->all, &g.all_capacity, r->all_count + 1, sizeof(*r->all));
	r->from = seep_xgrow(r->from, &g.from_capacity, r->all_count + 1, sizeof(*r->from));
	r->all[r->all_count] = *block;
	r->from[r->all_count] = 0;
	return &r->all[r->all_count++];
}

#define VERDICT_TEST(name) TEST_WITH(NULL, name, tear_down)

/* A block of @size bytes, of context @context (or an ancestor's row), behind the others. */
static struct scan_block *block(uint32_t row, uint64_t size, unsigned state)
{
	struct scan_result *r = &g.result;
	struct scan_block *added =
		add_block(&(struct scan_block){ .address = BEGIN + r->block_count * STEP,
						.size = size,
						.row = row == INHERITED ? row : FIRST_ROW + row,
						.state = (uint8_t)state });

	r->unreached = seep_xgrow(r->unreached, &g.unreached_capacity, r->block_count + 1,
				  sizeof(*r->unreached));
	r->first_edge = seep_xgrow(r->first_edge, &g.first_capacity, r->block_count + 2,
				   sizeof(*r->first_edge));
	r->unreached[r->block_count++] = (uint32_t)(r->all_count - 1);
	r->first_edge[r->block_count] = (uint32_t)g.edge_count;
	return added;
}

/* From the block that was added last. */
static void edge(uint32_t to)
{
	struct scan_result *r = &g.result;

	r->edges = seep_xgrow(r->edges, &g.edge_capacity, g.edge_count + 1, sizeof(*r->edges));
	r->edges[g.edge_count++] = to;
	r->first_edge[r->block_count] = (uint32_t)g.edge_count;
}

/* The block that was added last, by a pointer at @from. */
static void pointed_at(enum scan_rule rule, enum scan_root_kind root, uint64_t from)
{
	struct scan_block *last = scan_result_block(&g.result, g.result.block_count - 1);

	last->rule = (uint8_t)rule;
	last->root = (uint8_t)root;
	g.result.from[g.result.all_count - 1] = from;
}

/* @count reachable blocks of @bytes together. */
static void reachable(uint32_t row, unsigned root, uint64_t count, uint64_t bytes)
{
	for (; count > 0; count--, bytes--)
		(void)add_block(&(struct scan_block){ .row = FIRST_ROW + row,
						      .size = count == 1 ? bytes : 1,
						      .state = SCAN_REACHABLE,
						      .rule = SCAN_RULE_START,
						      .root = (uint8_t)root });
}

static void rules(const char *text)
{
	struct seep_error err = { 0 };

	if (seep_suppressions_add(g.suppressions, text, strlen(text), "rules", &err) < 0)
		fail_msg("%s", err.text);
}

static void judge(void)
{
	const struct seep_verdict_options options = { .block_list_max = 2 };

	seep_verdicts_judge(g.profile, &g.result, g.suppressions, &options);
}

/* "LOST f0 1 64 +4 256" a line: verdict, function, blocks, bytes, and with them. */
static void assert_leaks(const char *expected)
{
	const struct seep_profile *p = g.profile;
	char told[4096] = "";

	for (uint32_t i = 0; i < p->leak_count; i++) {
		const struct seep_profile_leak *leak = &p->leaks[i];
		size_t used = strlen(told);
		const char *name = "-";

		if (leak->context > 0)
			name = p->frames[p->contexts[leak->context - 1].stack[0].frame].function;
		used += (size_t)snprintf(told + used, sizeof(told) - used, "%s %s %d %d",
					 seep_verdict_name(leak->verdict), name, (int)leak->blocks,
					 (int)leak->bytes);
		if (leak->with_blocks)
			used += (size_t)snprintf(told + used, sizeof(told) - used, " +%d %d",
						 (int)leak->with_blocks, (int)leak->with_bytes);
		if (leak->root)
			used += (size_t)snprintf(told + used, sizeof(told) - used, " of %d",
						 (int)leak->root);
		if (leak->suppressed_by)
			used += (size_t)snprintf(told + used, sizeof(told) - used, " by %s",
						 leak->suppressed_by);
		snprintf(told + used, sizeof(told) - used, "\n");
	}
	assert_string_equal(told, expected);
}

VERDICT_TEST(a_list_is_lost_with_its_head)
{
	start(2);
	for (unsigned i = 0; i < 5; i++) {
		block(i == 0 ? 0 : 1, 64, SCAN_LOST);
		if (i < 4)
			edge(i + 1);
	}
	judge();
	assert_leaks("LOST f0 1 64 +4 256\nLOST-WITH f1 4 256 of 1\n");
	assert_int_equal(g.profile->leaks[0].hash, g.profile->contexts[0].hash);
	assert_int_equal(g.profile->leaks[1].block_list_count, 2);
	assert_int_equal(g.profile->leaks[1].block_list[0].address, BEGIN + STEP);
	assert_int_equal(g.profile->leaks[1].block_list[1].address, BEGIN + 2 * STEP);
}

VERDICT_TEST(blocks_that_go_with_two_roots_contexts_are_two_leaks)
{
	start(3);
	block(0, 10, SCAN_LOST);
	edge(2);
	block(1, 20, SCAN_LOST);
	edge(3);
	block(2, 1, SCAN_LOST);
	block(2, 2, SCAN_LOST);
	judge();
	assert_leaks("LOST f1 1 20 +1 2\nLOST f0 1 10 +1 1\n"
		     "LOST-WITH f2 1 2 of 1\nLOST-WITH f2 1 1 of 2\n");
}

VERDICT_TEST(a_circle_has_one_root)
{
	start(2);
	block(0, 64, SCAN_LOST);
	edge(1);
	block(1, 32, SCAN_LOST);
	edge(0);
	judge();
	assert_leaks("LOST-CYCLE f0 1 64 +1 32\nLOST-WITH f1 1 32 of 1\n");
}

/* Two roots share f2; what a suppressed one leads to is suppressed, whoever else leads there. */
VERDICT_TEST(a_suppressed_root_takes_along_what_it_leads_to)
{
	start(5);
	rules("leak:^f0$\nleak:^f4$\nleak:^f9$");
	block(0, 10, SCAN_LOST);
	edge(2);
	edge(4);
	block(1, 20, SCAN_LOST);
	edge(2);
	block(2, 30, SCAN_LOST);
	edge(3);
	block(3, 40, SCAN_LOST);
	block(3, 5, SCAN_MAYBE)->rule = SCAN_RULE_INTERIOR;
	block(4, 6, SCAN_MAYBE)->rule = SCAN_RULE_INTERIOR;
	judge();
	assert_leaks("LOST f1 1 20\nSUPPRESSED f3 2 45 by leak:^f0$\n"
		     "SUPPRESSED f2 1 30 by leak:^f0$\nSUPPRESSED f0 1 10 by leak:^f0$\n"
		     "SUPPRESSED f4 1 6 by leak:^f4$\n");
	assert_int_equal(g.profile->scan.suppressions[0].leaks, 3);
	assert_int_equal(g.profile->scan.suppressions[0].blocks, 4);
	assert_int_equal(g.profile->scan.suppressions[0].bytes, 85);
	assert_int_equal(g.profile->scan.suppressions[2].leaks, 0);
}

VERDICT_TEST(a_rule_leaves_what_goes_with_others_or_is_ignored)
{
	static const struct {
		uint32_t first, second; /* contexts; the first is lost */
		unsigned others;	/* their state */
		const char *rules, *leaks;
	} cases[] = {
		{ 1, 0, SCAN_LOST,
		  "{\nroots\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:malloc\nfun:f0\n}",
		  "LOST f1 1 10 +1 20\nLOST-WITH f0 1 20 of 1\nSUPPRESSED f0 1 30 by roots\n" },
		{ 0, 1, SCAN_IGNORED, "leak:f0",
		  "SUPPRESSED f0 1 10 by leak:f0\nIGNORED f0 1 30\nIGNORED f1 1 20\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start(2);
		rules(cases[i].rules);
		block(cases[i].first, 10, SCAN_LOST);
		edge(1);
		block(cases[i].second, 20, cases[i].others);
		block(0, 30, cases[i].others);
		judge();
		assert_leaks(cases[i].leaks);
		tear_down(NULL);
	}
}

/* A dead thread's vector of variables leads to what they held, which is the program's loss. */
VERDICT_TEST(a_lost_block_of_the_runtime_hides_no_others)
{
	struct seep_profile *p;

	start(1);
	p = g.profile;
	add_context(p, (uint32_t[]){ add_frame(p, add_module(p, "/lib/ld-linux-x86-64.so.2"),
					       "allocate_dtv"),
				     0, UINT32_MAX });
	block(1, 288, SCAN_LOST);
	edge(1);
	block(0, 24, SCAN_LOST);
	judge();
	assert_leaks("LOST f0 1 24\nRUNTIME allocate_dtv 1 288 by blocks of the loader\n");
}

VERDICT_TEST(a_child_is_blamed_for_what_it_allocated_itself_only)
{
	start(1);
	block(INHERITED, 100, SCAN_LOST);
	edge(1);
	edge(2);
	block(0, 5757, SCAN_LOST);
	edge(3);
	block(INHERITED, 200, SCAN_LOST);
	block(INHERITED, 300, SCAN_LOST);
	block(INHERITED, 50, SCAN_LOST)->row--; /* of another context of the parent */
	block(INHERITED, 7, SCAN_MAYBE)->rule = SCAN_RULE_INTERIOR;
	judge();
	assert_leaks("LOST f0 1 5757\nMAYBE-LOST - 1 7\nFORK-ORPHAN - 4 650\n");
	assert_int_equal(g.profile->leaks[2].hash, 0);
}

VERDICT_TEST(reachable_blocks_are_counted_by_rule_and_root)
{
	struct seep_profile *p;

	start(2);
	p = g.profile;
	rules("leak:f0\n{\nall f1\nMemcheck:Leak\nfun:malloc\nfun:f1\n}");
	add_context(p, (uint32_t[]){ add_frame(p, 2, "setlocale"), 0, UINT32_MAX });
	reachable(0, SCAN_ROOT_GLOBAL, 2, 200);
	reachable(0, SCAN_ROOT_STACK, 2, 20);
	reachable(0, SCAN_ROOT_GLOBAL, 1, 100);
	g.result.all[0].state = SCAN_LOST;
	reachable(0, SCAN_ROOT_GLOBAL, 1, 1);
	reachable(1, SCAN_ROOT_GLOBAL, 1, 1);
	reachable(2, SCAN_ROOT_GLOBAL, 4, 4);
	judge();
	assert_leaks("RUNTIME setlocale 4 4 by setlocale\nSUPPRESSED f1 1 1 by all f1\n"
		     "REACHABLE f0 3 300\nREACHABLE f0 2 20\n");
	assert_string_equal(
		p->leaks[2].evidence,
		"a pointer to its start; the chain of pointers begins in the data of a module");
	assert_string_equal(p->leaks[2].rule, "start");
}

VERDICT_TEST(what_memory_that_nobody_read_may_point_to_is_not_lost_for_certain)
{
	start(3);
	block(0, 500, SCAN_LOST);
	block(1, 600, SCAN_LOST);
	pointed_at(SCAN_RULE_HIGH_TAG, SCAN_ROOT_NONE, 0x7ff0);
	block(2, 64, SCAN_MAYBE);
	pointed_at(SCAN_RULE_INTERIOR, SCAN_ROOT_GLOBAL, 0x404040);
	block(INHERITED, 32, SCAN_LOST);
	g.result.is_blind = true;
	judge();
	assert_leaks("MAYBE-LOST f1 1 600\nMAYBE-LOST f0 1 500\nMAYBE-LOST f2 1 64\n"
		     "FORK-ORPHAN - 1 32\n");
	assert_string_equal(g.profile->leaks[0].rule, "unread");
	assert_string_equal(g.profile->leaks[0].evidence,
			    "no pointer to it was found, but not all that may hold one could "
			    "be read");
	assert_string_equal(g.profile->leaks[2].rule, "interior");
	assert_int_equal(g.result.from[1], 0);
}

VERDICT_TEST(evidence_says_where_the_pointer_is)
{
	start(5);
	block(0, 500, SCAN_LOST);
	block(0, 600, SCAN_LOST);
	pointed_at(SCAN_RULE_HIGH_TAG, SCAN_ROOT_NONE, 0x7ff0);
	block(1, 64, SCAN_MAYBE);
	pointed_at(SCAN_RULE_INTERIOR, SCAN_ROOT_GLOBAL, 0x404040);
	block(2, 32, SCAN_MAYBE);
	pointed_at(SCAN_RULE_START, SCAN_ROOT_GLOBAL, BEGIN + 2 * STEP + 8);
	block(3, 16, SCAN_MAYBE);
	/* A word on a stack points into that block. */
	pointed_at(SCAN_RULE_START, SCAN_ROOT_STACK, SCAN_FROM_ROOT | (BEGIN + 2 * STEP + 16));
	block(4, 8, SCAN_LOST)->marks = LEDGER_CELL_REPORTED;
	block(0, 4, SCAN_MAYBE);
	/* Registers lie where no memory is. */
	pointed_at(SCAN_RULE_LOW_TAG, SCAN_ROOT_REGISTER, UINT64_C(1) << 62);
	judge();
	assert_leaks("LOST f0 2 1100\nLOST f4 1 8\nMAYBE-LOST f1 1 64 +1 32\n"
		     "MAYBE-LOST f2 1 32 of 3\nMAYBE-LOST f3 1 16\nMAYBE-LOST f0 1 4\n");
	assert_string_equal(g.profile->leaks[0].rule, "high-tag");
	assert_string_equal(g.profile->leaks[0].evidence,
			    "a pointer to its start with other upper bits is at 0x7ff0; tagged "
			    "pointers are not followed");
	assert_int_equal(g.profile->leaks[0].flags, 0);
	assert_int_equal(g.profile->leaks[1].flags, SEEP_LEAK_REPORTED);
	assert_null(g.profile->leaks[1].rule);
	assert_null(g.profile->leaks[1].evidence);
	assert_string_equal(g.profile->leaks[2].rule, "interior");
	assert_string_equal(g.profile->leaks[2].evidence,
			    "a pointer into its middle is at 0x404040, in the data of a module");
	assert_string_equal(g.profile->leaks[3].evidence,
			    "a pointer to its start is at 0x12008, 8 bytes into a block that is "
			    "itself not surely held");
	assert_string_equal(
		g.profile->leaks[5].evidence,
		"a pointer to its start with low bits set is in a register of a thread");
}

VERDICT_TEST(what_may_be_lost_goes_with_the_block_that_it_was_reached_through)
{
	start(4);
	block(1, 10, SCAN_MAYBE); /* the last of a chain of three */
	pointed_at(SCAN_RULE_START, SCAN_ROOT_GLOBAL, BEGIN + 2 * STEP);
	block(1, 20, SCAN_MAYBE);
	pointed_at(SCAN_RULE_START, SCAN_ROOT_GLOBAL, BEGIN + 3 * STEP);
	block(2, 30, SCAN_MAYBE);
	pointed_at(SCAN_RULE_START, SCAN_ROOT_GLOBAL, BEGIN + 3 * STEP + 8);
	block(0, 40, SCAN_MAYBE);
	pointed_at(SCAN_RULE_INTERIOR, SCAN_ROOT_GLOBAL, 0x404040);
	block(3, 50, SCAN_MAYBE);
	pointed_at(SCAN_RULE_INTERIOR, SCAN_ROOT_GLOBAL, 0x404048);
	block(1, 60, SCAN_MAYBE);
	pointed_at(SCAN_RULE_INTERIOR, SCAN_ROOT_GLOBAL, BEGIN + 4 * STEP);
	block(2, 70, SCAN_MAYBE);
	/* Behind that block, in none. */
	pointed_at(SCAN_RULE_START, SCAN_ROOT_GLOBAL, BEGIN + 4 * STEP + 50);
	judge();
	assert_leaks("MAYBE-LOST f3 1 50 +1 60\nMAYBE-LOST f0 1 40 +3 60\nMAYBE-LOST f2 1 70\n"
		     "MAYBE-LOST f1 1 60 of 1\nMAYBE-LOST f1 2 30 of 2\nMAYBE-LOST f2 1 30 of 2\n");
}

VERDICT_TEST(what_comes_before_main_is_told)
{
	static const struct {
		bool startup;
		const char *stack;
	} cases[] = {
		{ true, "ctor@/p < call_init@/libc.so.6 < __libc_start_main_impl@/libc.so.6 < "
			"_start@/p" },
		{ true, "ctor@/p < __libc_start_main@/libc.so.6 < _start@/p" },
		{ true,
		  "ctor@/p < __libc_csu_init@/p < __libc_start_main@/libc-2.31.so < _start@/p" },
		{ true, "ctor@/lib.so < @/ld-linux-x86-64.so.2 < @/ld-linux-x86-64.so.2" },
		{ false,
		  "f@/p < main@/p < @/libc.so.6 < __libc_start_main@/libc.so.6 < _start@/p" },
		{ false, "main@/p < __libc_start_main@/libc-2.31.so < _start@/p" },
		{ false, "@/p < __libc_start_main@/libc-2.31.so < _start@/p" },
		{ false, "ctor@/lib.so < @/ld-linux-x86-64.so.2 < dlopen@/libc.so.6 < main@/p" },
		{ false, "dtor@/p < @/libc.so.6 < exit@/libc.so.6 < __libc_start_main@/libc.so.6 < "
			 "_start@/p" },
		{ false, "f@/p < start_thread@/libc.so.6 < clone3@/libc.so.6" },
		{ false, "coroutine@/p" },
		{ false, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile_row *row;

		start(0);
		row = seep_profile_add(g.profile, SEEP_ARRAY_ROWS);
		row->context = add_stack_text(g.profile, cases[i].stack)->id;
		block(0, 8, SCAN_LOST);
		judge();
		if (g.profile->leaks[0].flags != (cases[i].startup ? SEEP_LEAK_STARTUP : 0))
			fail_msg("case %zu", i);
		(void)tear_down(NULL);
	}
}

VERDICT_TEST(contents_go_with_their_blocks)
{
	uint8_t bytes[4] = { 1, 2, 3, 4 };
	uint8_t *contents[] = { NULL, bytes };
	const struct seep_verdict_options options = { 9, contents, 4 };

	start(1);
	block(0, 10, SCAN_LOST);
	block(0, 3, SCAN_LOST);
	seep_verdicts_judge(g.profile, &g.result, g.suppressions, &options);
	assert_int_equal(g.profile->leaks[0].block_list_count, 2);
	assert_null(g.profile->leaks[0].block_list[0].contents);
	assert_int_equal(g.profile->leaks[0].block_list[1].content_bytes, 3);
	assert_memory_equal(g.profile->leaks[0].block_list[1].contents, bytes, 3);
}

/*
 * More leaks than LeakSanitizer counts, by hundreds of thousands of blocks, in a time that is
 * linear in them; and each block in one leak.
 */
VERDICT_TEST(no_number_of_leaks_is_too_many)
{
	const char *wanted = getenv("VERDICT_BLOCKS");
	const unsigned contexts = 6000, blocks = wanted ? (unsigned)atoi(wanted) : 120000;
	uint64_t bytes = 0, told_blocks = 0, told_bytes = 0, begin;

	start(contexts);
	rules("leak:^f17$\nleak:nowhere");
	for (unsigned i = 0; i < blocks; i++) {
		block(i % contexts, 16 + i % 100, i % 3 ? SCAN_LOST : SCAN_MAYBE)->rule =
			i % 3 ? 0 : SCAN_RULE_INTERIOR;
		bytes += 16 + i % 100;
		if (i % 5 == 0 && i + 1 < blocks)
			edge(i + 1);
	}
	reachable(1, SCAN_ROOT_GLOBAL, 77, 7700);
	begin = seep_monotonic_ns();
	judge();
	if (wanted)
		print_message("%u blocks: %u leaks, %llu ms\n", blocks, g.profile->leak_count,
			      (unsigned long long)(seep_monotonic_ns() - begin) / 1000000);
	assert_true(g.profile->leak_count > contexts);
	for (uint32_t i = 0; i < g.profile->leak_count; i++) {
		told_blocks += g.profile->leaks[i].blocks;
		told_bytes += g.profile->leaks[i].bytes;
	}
	assert_int_equal(told_blocks, blocks + 77);
	assert_int_equal(told_bytes, bytes + 7700);
}
