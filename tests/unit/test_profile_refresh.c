/* SPDX-License-Identifier: MIT */
/*
 * A profile that is refreshed while its ledger grows and changes, beside one that is read afresh
 * each time: they say the same. What was published in another order than it is numbered, not yet,
 * or twice, is among it. With a number of contexts as its argument the program measures instead.
 */
#include "ledger_sim.h"
#include "unit.h"
#include "profile/ledger_live.h"
#include "profile/ledger_load.h"
#include "profile/profile_check.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300, THREADS = 3, STEPS = 40, HELD_BACK_MAX = 8, KNOWN_MAX = 4000 };

static const struct built_sizes sizes = {
	.caches = 8,
	.slots = 4096,
	.rows = KNOWN_MAX,
	.contexts = KNOWN_MAX,
	.nodes = KNOWN_MAX,
	.modules = 1000,
	.strings = 1 << 17,
	.marks = 1000,
};

static struct built_ledger ledger;
static struct sim_thread threads[THREADS];
static unsigned seed;
static uint32_t rows[KNOWN_MAX];
static uint64_t alive[KNOWN_MAX]; /* blocks of 16 bytes */
static uint32_t row_count;
static uint32_t epoch;
static uint32_t held_back[HELD_BACK_MAX]; /* contexts without their flags */
static uint32_t held_back_count;
static bool is_sampled;

static uint32_t below(uint32_t count)
{
	return (uint32_t)rand_r(&seed) % count;
}

static uint64_t used(enum ledger_table_type table)
{
	return ledger.state->table[table].reserved;
}

/* ---- changes ------------------------------------------------------------------------------- */

/* One that is published, as it is before any node names it; 0 = none. */
static uint16_t pick_module(void)
{
	uint32_t module = below((uint32_t)used(LEDGER_TABLE_MODULES) + 1);

	return module && ledger.modules[module - 1].ready ? (uint16_t)module : 0;
}

/* As two threads add it that meet it at the same time. */
static uint32_t add_node_again(uint32_t node, unsigned levels)
{
	const struct ledger_node *old = &ledger.nodes[node];
	uint32_t parent = old->parent_ready - 1;

	if (node == 0 || levels == 0)
		return node;
	parent = add_node_again(parent, levels - 1);
	return built_node(&ledger, parent, old->module, old->address);
}

static uint32_t any_context(void)
{
	return LEDGER_CONTEXT_FIRST +
	       below((uint32_t)used(LEDGER_TABLE_CONTEXTS) - LEDGER_CONTEXT_FIRST);
}

static uint32_t add_context_again(uint32_t context)
{
	const struct ledger_context *old = &ledger.contexts[context];
	uint32_t again = built_context(&ledger, add_node_again(old->leaf, below(4)), old->kind);

	if (old->thread.bytes)
		ledger.contexts[again].thread = built_string(&ledger, "worker", 6);
	ledger.contexts[again].sample = old->sample;
	ledger.contexts[again].flags = old->flags;
	return again;
}

static uint32_t add_new_context(void)
{
	uint32_t parent = below((uint32_t)used(LEDGER_TABLE_NODES));
	uint32_t leaf = built_node(&ledger, parent, pick_module(), 0x1000 + below(200));
	uint32_t context = built_context(&ledger, leaf, (uint8_t)below(LEDGER_KIND_FREE));

	if (below(4) == 0)
		ledger.contexts[context].thread = built_string(&ledger, "worker", 6);
	return context;
}

/* Of a stack that is there, with another probability, or the rest of its site. */
static uint32_t add_sampled_context(void)
{
	const struct ledger_context *old = &ledger.contexts[any_context()];
	const struct ledger_node *node = &ledger.nodes[old->leaf];
	const bool is_site = below(3) == 0;
	const uint32_t leaf = is_site ? built_node(&ledger, 0, node->module, node->address)
				      : old->leaf;
	const uint32_t context = built_context(&ledger, leaf, old->kind);

	ledger.contexts[context].thread = old->thread;
	ledger.contexts[context].sample = is_site ? 0 : (uint8_t)below(5);
	ledger.contexts[context].flags |= is_site	  ? LEDGER_CONTEXT_SITE
					  : below(4) == 0 ? LEDGER_CONTEXT_WEIGHTED
							  : 0;
	return context;
}

static void add_context(void)
{
	const bool is_new = used(LEDGER_TABLE_CONTEXTS) == LEDGER_CONTEXT_FIRST || below(4) > 0;
	uint32_t context = is_new ? add_new_context() : add_context_again(any_context());

	if (is_sampled && below(2) == 0)
		context = add_sampled_context();
	if (below(4) == 0 && !is_sampled && held_back_count < HELD_BACK_MAX) {
		ledger.contexts[context].flags = 0;
		held_back[held_back_count++] = context;
	}
	rows[row_count++] = built_row(&ledger, context, epoch);
}

/* The same context again, in this epoch. */
static void add_row(void)
{
	rows[row_count++] = built_row(&ledger, any_context(), epoch);
}

static void add_mark(void)
{
	epoch++;
	built_mark(&ledger, below(2) ? "named" : "", epoch, 1000 + epoch);
	if (below(3) == 0)
		ledger.marks[used(LEDGER_TABLE_MARKS) - 1].ready = 0;
}

static void add_module(void)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/lib/%u.so", below(1000));
	(void)built_module(&ledger, path, (uint8_t)below(3));
	if (below(3) == 0)
		ledger.modules[used(LEDGER_TABLE_MODULES) - 1] =
			ledger.modules[below((uint32_t)used(LEDGER_TABLE_MODULES))];
	if (below(3) == 0)
		ledger.modules[used(LEDGER_TABLE_MODULES) - 1].ready = 0;
}

static void publish_what_was_held_back(void)
{
	if (held_back_count > 0)
		ledger.contexts[held_back[--held_back_count]].flags = LEDGER_CONTEXT_READY;
	for (uint64_t i = 0; i < used(LEDGER_TABLE_MODULES); i++)
		ledger.modules[i].ready |= below(4) == 0;
	for (uint64_t i = 0; i < used(LEDGER_TABLE_MARKS); i++)
		ledger.marks[i].ready |= below(4) == 0;
}

static void allocate_and_free(void)
{
	struct sim_thread *thread = &threads[below(THREADS)];
	uint32_t row = below(row_count);

	if (alive[row] > 0 && below(3) == 0) {
		sim_free(thread, rows[row], 16);
		alive[row]--;
	} else {
		sim_alloc(thread, rows[row], 16);
		alive[row]++;
	}
}

static void change_state(void)
{
	ledger.state->dropped += below(2);
	ledger.state->unseen |= 1u << below(16);
	ledger.state->threads_started += below(2);
	/* Those of an exec, which is taken back when it fails. */
	ledger.state->ended = below(3) ? LEDGER_ENDED_RUNNING : LEDGER_ENDED_EXEC;
}

static void change(void)
{
	switch (below(20)) {
	case 0:
		add_mark();
		break;
	case 1:
		add_module();
		break;
	case 2:
		publish_what_was_held_back();
		break;
	case 3:
		change_state();
		break;
	case 4:
		add_row();
		break;
	case 5:
	case 6:
		add_context();
		break;
	default:
		allocate_and_free();
	}
}

/* ---- comparison ---------------------------------------------------------------------------- */

static void assert_same_text(const char *a, const char *b)
{
	if (!a || !b)
		assert_true(a == b);
	else
		assert_string_equal(a, b);
}

static void assert_same_stack(const struct seep_profile *a, const struct seep_profile_context *x,
			      const struct seep_profile *b, const struct seep_profile_context *y)
{
	assert_int_equal(x->stack_count, y->stack_count);
	for (uint32_t i = 0; i < x->stack_count; i++) {
		const struct seep_profile_frame *left = &a->frames[x->stack[i].frame];
		const struct seep_profile_frame *right = &b->frames[y->stack[i].frame];

		assert_same_text(seep_profile_frame_path(a, left),
				 seep_profile_frame_path(b, right));
		assert_int_equal(left->address, right->address);
		assert_int_equal(left->exact, right->exact);
		assert_int_equal(x->stack[i].period, y->stack[i].period);
	}
}

static void assert_same_context(const struct seep_profile *a, const struct seep_profile *b,
				const struct seep_profile_context *x,
				const struct seep_profile_context *y)
{
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->truncated, y->truncated);
	assert_int_equal(x->no_stack, y->no_stack);
	assert_int_equal(x->in_doubt, y->in_doubt);
	assert_same_text(x->thread, y->thread);
	assert_int_equal(x->first_ns, y->first_ns);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++) {
		assert_int_equal(x->figures[i], y->figures[i]);
		assert_int_equal(x->errors ? x->errors[i] : 0, y->errors ? y->errors[i] : 0);
	}
	assert_int_equal(x->epoch_count, y->epoch_count);
	for (uint32_t i = 0; i < x->epoch_count; i++) {
		assert_int_equal(x->epochs[i].epoch, y->epochs[i].epoch);
		assert_int_equal(x->epochs[i].blocks, y->epochs[i].blocks);
		assert_int_equal(x->epochs[i].bytes, y->epochs[i].bytes);
	}
	assert_same_stack(a, x, b, y);
}

static void assert_same_lists(const struct seep_profile *a, const struct seep_profile *b)
{
	assert_int_equal(a->module_count, b->module_count);
	for (uint32_t i = 0; i < a->module_count; i++) {
		uint32_t same = 0;

		for (uint32_t j = 0; j < b->module_count; j++)
			same += strcmp(a->modules[i].path, b->modules[j].path) == 0 &&
				a->modules[i].bias == b->modules[j].bias &&
				a->modules[i].build_id_bytes == b->modules[j].build_id_bytes;
		assert_int_equal(same, 1);
	}
	assert_int_equal(a->mark_count, b->mark_count);
	for (uint32_t i = 0; i < a->mark_count; i++) {
		assert_int_equal(a->marks[i].epoch, b->marks[i].epoch);
		assert_same_text(a->marks[i].name, b->marks[i].name);
		assert_int_equal(a->marks[i].exact, b->marks[i].exact);
	}
	assert_int_equal(a->unseen_count, b->unseen_count);
	for (uint32_t i = 0; i < a->unseen_count; i++) {
		assert_string_equal(a->unseen[i].code, b->unseen[i].code);
		assert_string_equal(a->unseen[i].detail, b->unseen[i].detail);
	}
	assert_int_equal(a->row_count, b->row_count);
	for (uint32_t i = 0; i < a->row_count; i++) {
		const uint32_t row = a->first_row + i;
		const uint32_t left = seep_profile_row_context(a, row);
		const uint32_t right = seep_profile_row_context(b, row);

		assert_int_equal(left ? seep_profile_context_of(b, a->contexts[left - 1].id) : 0,
				 right);
		assert_int_equal(a->rows[i].epoch, b->rows[i].epoch);
	}
}

static void assert_same(const struct seep_profile *a, struct seep_profile *b)
{
	uint32_t used_count = 0;

	for (uint32_t i = 0; i < a->context_count; i++) {
		const struct seep_profile_context *context = &a->contexts[i];
		const uint32_t place = seep_profile_context_of(b, context->id);

		if (context->allocs == 0 && !place) /* it stood in for one that was held back */
			continue;
		assert_int_not_equal(place, 0);
		assert_same_context(a, b, context, &b->contexts[place - 1]);
		used_count++;
	}
	assert_int_equal(used_count, b->context_count);
	assert_same_lists(a, b);
	assert_int_equal(a->process.ended, b->process.ended);
	b->totals.peak_at_ns = a->totals.peak_at_ns; /* perhaps now */
	assert_memory_equal(&a->totals, &b->totals, sizeof(a->totals));
}

/* ---- tests --------------------------------------------------------------------------------- */

static void start(void)
{
	built_init(&ledger, &sizes);
	for (int i = 0; i < THREADS; i++)
		sim_thread_init(&threads[i], &ledger, 4);
	memset(alive, 0, sizeof(alive));
	row_count = epoch = held_back_count = 0;
	add_context();
}

static struct seep_ledger_live *open_live(const struct built_ledger *of)
{
	struct seep_ledger_live *live = NULL;
	struct seep_error err = { 0 };

	if (built_open_live(of, &live, &err) != 0)
		fail_msg("%s", err.text);
	return live;
}

static void refresh_and_compare(void **state)
{
	struct seep_ledger_live *live;
	struct seep_error err = { 0 };

	seed = 7;
	is_sampled = *state != NULL;
	start();
	if (is_sampled)
		ledger.state->tiers = LEDGER_MODE_TIERS;
	live = open_live(&ledger);
	for (int round = 0; round < ROUNDS; round++) {
		struct seep_profile *fresh = NULL;

		for (int i = 0; i < STEPS; i++)
			change();
		assert_int_equal(seep_ledger_live_refresh(live, &err), 0);
		if (seep_profile_load_ledger_memory(ledger.map, ledger.bytes, true, &fresh, &err))
			fail_msg("%s", err.text);
		assert_same(seep_ledger_live_profile(live), fresh);
		if (is_sampled && seep_profile_check(fresh, &err) < 0)
			fail_msg("%s", err.text);
		seep_profile_free(fresh);
	}
	print_message("%u contexts, %u frames\n", seep_ledger_live_profile(live)->context_count,
		      seep_ledger_live_profile(live)->frame_count);
	seep_ledger_live_close(live);
	built_done(&ledger);
	is_sampled = false;
}
TEST_OF(refreshing_says_what_reading_afresh_says, refresh_and_compare, NULL);
TEST_OF(so_it_does_where_figures_are_estimates, refresh_and_compare, 1);

TEST(what_was_there_keeps_its_place_and_its_stack)
{
	struct seep_ledger_live *live;
	const struct seep_profile_stack_entry *stack;
	uint32_t second;

	seed = 1;
	start();
	/* The second context is used first. */
	second = built_row(&ledger, built_context(&ledger, built_node(&ledger, 0, 0, 5), 0), 0);
	sim_alloc(&threads[0], second, 16);
	live = open_live(&ledger);
	assert_int_equal(seep_ledger_live_profile(live)->context_count, 1);
	stack = seep_ledger_live_profile(live)->contexts[0].stack;
	sim_alloc(&threads[0], rows[0], 16);
	assert_int_equal(seep_ledger_live_refresh(live, NULL), 0);
	assert_int_equal(seep_ledger_live_profile(live)->context_count, 2);
	assert_int_equal(seep_ledger_live_profile(live)->contexts[0].id, LEDGER_CONTEXT_FIRST + 2);
	assert_int_equal(seep_ledger_live_profile(live)->contexts[1].id, LEDGER_CONTEXT_FIRST + 1);
	assert_true(seep_ledger_live_profile(live)->contexts[0].stack == stack);
	/* What appears again changes no id, in a later reading of all either. */
	sim_alloc(&threads[0], built_row(&ledger, add_context_again(LEDGER_CONTEXT_FIRST), 0), 16);
	assert_int_equal(seep_ledger_live_refresh(live, NULL), 0);
	assert_int_equal(seep_ledger_live_profile(live)->context_count, 2);
	assert_int_equal(seep_ledger_live_profile(live)->contexts[1].id, LEDGER_CONTEXT_FIRST + 1);
	assert_int_equal(seep_ledger_live_profile(live)->contexts[1].allocs, 2);
	seep_ledger_live_close(live);
	built_done(&ledger);
}

TEST(what_is_no_ledger_is_refused)
{
	struct seep_ledger_live *live = NULL;

	assert_int_equal(seep_ledger_live_open("/nonexistent", &live, NULL), -SEEP_ENOTFOUND);
	start();
	ledger.header->magic[0] = 'x';
	assert_int_equal(built_open_live(&ledger, &live, NULL), -SEEP_ECORRUPT);
	built_done(&ledger);
}

TEST(a_file_that_cannot_be_opened_closes_nothing_else)
{
	struct seep_ledger_live *live = NULL;

	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	assert_int_equal(seep_ledger_live_open("/nonexistent", &live, NULL), -SEEP_ENOTFOUND);
	assert_null(live);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

/* ---- a measurement ------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* @count contexts of 24 frames, each changing between two refreshes; every tenth run adds one. */
static int measure(uint32_t count)
{
	const struct built_sizes many = { 4,  1 << 16, count + 100, count + 100, count * 4 + 1000,
					  16, 1 << 16, 16 };
	struct seep_ledger_live *live;
	uint32_t trunk = 0;
	uint64_t begun;

	built_init(&ledger, &many);
	sim_thread_init(&threads[0], &ledger, 14);
	for (int i = 0; i < 20; i++)
		trunk = built_node(&ledger, trunk, 0, 0x100 + (uint64_t)i);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t leaf = trunk;

		for (uint64_t k = 0; k < 4; k++)
			leaf = built_node(&ledger, leaf, 0, 0x10000 + k * 0x10000 + i % 5000);
		sim_alloc(&threads[0], built_row(&ledger, built_context(&ledger, leaf, 0), 0), 100);
	}
	begun = cpu_ns();
	live = open_live(&ledger);
	printf("first reading of %u contexts: %.1f ms\n", count, (double)(cpu_ns() - begun) / 1e6);
	for (int round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < count; i++)
			sim_alloc(&threads[0], ledger.header->first_row + LEDGER_CONTEXT_FIRST + i,
				  16);
		if (round % 10 == 9)
			sim_alloc(&threads[0],
				  built_row(&ledger, built_context(&ledger, trunk, 0), 0), 100);
		begun = cpu_ns();
		if (seep_ledger_live_refresh(live, NULL) < 0)
			return 1;
		printf("refresh %d: %.1f ms, %.0f ns a context\n", round,
		       (double)(cpu_ns() - begun) / 1e6, (double)(cpu_ns() - begun) / count);
	}
	seep_ledger_live_close(live);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return measure((uint32_t)strtoul(argv[1], NULL, 10));
	return unit_run(NULL, NULL);
}
