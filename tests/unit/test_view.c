/* SPDX-License-Identifier: MIT */
/*
 * What a reader is shown, before it is printed: where stacks start and end, wrappers of malloc,
 * which frames stay, notes and remedies.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "analysis/keep.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "view/alike.h"
#include "view/frame_text.h"
#include "view/stacks_view.h"
#include "view/tree_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { FRAMES_MAX = 128, CONTEXTS_MAX = 64, END = -1 };
enum { APP = 1, LIBC, LIBSTDCXX, INSTALLED, LOADER };

static struct seep_profile *profile;
static struct seep_sites *sites;
static struct seep_view view;
static struct seep_view_options options;

static int setup(void **state)
{
	static const char *const paths[] = {
		"/home/kim/app/app",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libui.so.1",
		"/lib64/ld-linux-x86-64.so.2",
	};

	(void)state;
	profile = seep_profile_new();
	profile->module_count = sizeof(paths) / sizeof(paths[0]);
	profile->modules = seep_profile_calloc(profile, profile->module_count,
					       sizeof(*profile->modules));
	for (uint32_t i = 0; i < profile->module_count; i++)
		profile->modules[i].path = seep_profile_strdup(profile, paths[i]);
	profile->modules[INSTALLED - 1].problem = seep_profile_strdup(profile,
								      "no debug information");
	profile->frames = seep_profile_calloc(profile, FRAMES_MAX, sizeof(*profile->frames));
	profile->contexts = seep_profile_calloc(profile, CONTEXTS_MAX, sizeof(*profile->contexts));
	profile->process.exe = seep_profile_strdup(profile, "/home/kim/app/app");
	options = (struct seep_view_options){ .by = SEEP_BY_LIVE };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	seep_view_done(&view);
	seep_sites_free(sites);
	seep_profile_free(profile);
	view = (struct seep_view){ 0 };
	sites = NULL;
	return 0;
}

/* A frame; without a @name one of an address of its own. */
static int frame(uint32_t module, const char *name)
{
	struct seep_profile_frame *f = &profile->frames[profile->frame_count];

	f->module = module;
	f->address = 0x1000 + profile->frame_count;
	f->function = name;
	return (int)profile->frame_count++;
}

/* Live blocks of one size by a stack, innermost first, END last. */
static struct seep_profile_context *stack(uint64_t blocks, uint64_t size, ...)
{
	struct seep_profile_context *c = &profile->contexts[profile->context_count++];
	va_list args;
	int next;

	c->id = profile->context_count;
	c->hash = c->id;
	c->allocs = c->live_blocks = c->peak_blocks = blocks;
	c->alloc_bytes = c->live_bytes = c->peak_bytes = blocks * size;
	c->stack = seep_profile_calloc(profile, FRAMES_MAX, sizeof(*c->stack));
	va_start(args, size);
	while ((next = va_arg(args, int)) != END)
		c->stack[c->stack_count++].frame = (uint32_t)next;
	va_end(args);
	return c;
}

static void look(void)
{
	sites = seep_sites_new(profile);
	seep_view_init(&view, profile, sites, &options);
}

static const char *blamed(uint32_t context)
{
	const struct seep_profile_context *c = &profile->contexts[context];
	const char *name = seep_sites_blamed(sites, c)->function;

	return name ? name : "?";
}

/* All text of @lines, a line feed behind each. */
static char *text_of(const struct seep_lines *lines)
{
	struct seep_strbuf text;

	text = seep_strbuf_of(1 << 20);
	for (size_t i = 0; i < lines->count; i++)
		seep_strbuf_addf(&text, "%s\n", lines->items[i].text);
	return seep_strbuf_take(&text);
}

static void assert_says(const struct seep_lines *lines, const char *wanted, bool is_there)
{
	char *text = text_of(lines);

	if ((strstr(text, wanted) != NULL) != is_there)
		fail_msg("\"%s\" is %sthere:\n%s", wanted, is_there ? "not " : "", text);
	free(text);
}

/* ---- who is to blame ------------------------------------------------------------------------- */

#define VIEW_TEST(name) TEST_WITH(setup, name, teardown)

VIEW_TEST(a_wrapper_is_told_by_its_callers_and_their_sizes)
{
	const int my_alloc = frame(APP, "my_alloc");
	const int make_node = frame(APP, "make_node");
	const int a = frame(APP, "a"), b = frame(APP, "b"), c = frame(APP, "c");
	const int main = frame(APP, "main");

	stack(1, 100, my_alloc, a, main, END);
	stack(1, 20, my_alloc, b, main, END);
	stack(9, 3, my_alloc, c, main, END);
	/* One kind of thing, however many make it. */
	stack(1, 16, make_node, a, main, END);
	stack(1, 16, make_node, b, main, END);
	stack(1, 16, make_node, c, main, END);
	look();
	assert_true(sites->of_frame[my_alloc].allocator);
	assert_false(sites->of_frame[make_node].plumbing);
	assert_string_equal(blamed(0), "a");
	assert_string_equal(blamed(3), "make_node");
	seep_view_add_lead(&view, true);
	assert_says(&view.head, "Start at a (app): ", true);
}

VIEW_TEST(a_wrapper_needs_no_name)
{
	const int wrapper = frame(APP, NULL);
	const int main = frame(APP, NULL);

	for (int i = 1; i <= 3; i++)
		stack(1, 10 * (uint64_t)i, wrapper, frame(APP, NULL), main, END);
	look();
	assert_true(sites->of_frame[wrapper].allocator);
}

VIEW_TEST(what_allocates_for_two_callers_or_for_itself_is_no_wrapper)
{
	const int make = frame(APP, "make");
	const int load = frame(APP, "load");
	const int helper = frame(APP, "helper");
	const int main = frame(APP, "main");

	stack(1, 10, make, frame(APP, "a"), main, END);
	stack(1, 20, make, frame(APP, "b"), main, END);
	/* It allocates by others too: there is more in it than passing on. */
	for (int i = 1; i <= 5; i++) {
		stack(1, 7 * (uint64_t)i, load, frame(APP, "x"), main, END);
		stack(1, 7, helper, load, frame(APP, "y"), main, END);
	}
	look();
	assert_false(sites->of_frame[make].plumbing);
	assert_false(sites->of_frame[load].plumbing);
}

VIEW_TEST(a_wrapper_by_name_gives_way_to_few_callers)
{
	const int co_alloc = frame(APP, "co_alloc"), newlen = frame(APP, "_sdsnewlen");
	const int node = frame(APP, "_make_node"), grow_alloc = frame(APP, "grow_alloc");
	const int main = frame(APP, "main");

	for (int i = 0; i < 8; i++)
		stack(1, 5, frame(APP, "other"), main, END);
	stack(1, 100, co_alloc, frame(APP, "session"), main, END);
	stack(1, 20, newlen, frame(APP, "set_name"), main, END);
	stack(1, 30, newlen, frame(APP, "set_value"), main, END);
	/* One kind of thing; and one that does more. */
	stack(1, 16, node, frame(APP, "insert"), main, END);
	stack(1, 16, node, frame(APP, "append"), main, END);
	stack(1, 16, grow_alloc, frame(APP, "push"), main, END);
	stack(1, 32, frame(APP, "copy"), grow_alloc, frame(APP, "push"), main, END);
	look();
	assert_string_equal(blamed(8), "session");
	assert_string_equal(blamed(9), "set_name");
	assert_string_equal(blamed(11), "_make_node");
	assert_string_equal(blamed(13), "grow_alloc");
}

VIEW_TEST(an_allocator_on_top_of_wrappers_is_one_too)
{
	const int xmalloc = frame(APP, "xmalloc");
	const int pool_page = frame(APP, "pool_page");
	const int pool_alloc = frame(APP, "pool_alloc");

	for (int i = 1; i <= 20; i++)
		stack(1, 8 * (uint64_t)i, xmalloc, pool_page, pool_alloc, frame(APP, "user"),
		      frame(APP, NULL), END);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		profile->frames[i].line = i; /* twenty functions of one name in twenty files */
	for (uint32_t i = 0; i < profile->context_count; i++)
		profile->frames[profile->contexts[i].stack[3].frame].file =
			seep_profile_strdup(profile, (char[]){ (char)('a' + i), 0 });
	look();
	assert_true(sites->of_frame[pool_alloc].allocator);
	assert_string_equal(blamed(0), "user");
}

VIEW_TEST(a_library_has_not_the_blame_for_what_the_program_asked_of_it)
{
	const int hidden = frame(INSTALLED, NULL);
	const int open = frame(INSTALLED, "ui_open");
	const int own = frame(APP, "show");
	const int own_hidden = frame(APP, NULL);
	const int loop = frame(INSTALLED, "ui_loop");
	const int main = frame(APP, "main");
	const int boost = frame(APP, "boost::container::grow(int)");
	const int far = frame(INSTALLED, "interpret");
	const int call = frame(APP, "boost::asio::detail::binder1<main::{lambda(int)#1}, int>"
				    "::operator()()");
	struct seep_profile_context *c;

	stack(1, 1, hidden, open, own, main, END);
	stack(1, 1, hidden, own, END);
	/* The system's code does not take the blame from the program's own. */
	stack(1, 1, own_hidden, loop, END);
	/* What runs a loop asked for nothing in it. */
	stack(1, 1, own, loop, main, END);
	stack(1, 1, hidden, open, loop, main, END);
	stack(1, 1, boost, own, END);
	stack(1, 1, call, loop, main, END);
	stack(1, 1, open, own_hidden, own, END);
	c = stack(1, 1, END);
	for (int i = 0; i < 20; i++)
		c->stack[c->stack_count++].frame = (uint32_t)far;
	c->stack[c->stack_count++].frame = (uint32_t)own;
	look();
	assert_string_equal(blamed(0), "show");
	assert_string_equal(blamed(1), "show");
	assert_string_equal(blamed(2), "?");
	assert_string_equal(blamed(3), "show");
	assert_string_equal(blamed(4), "ui_open");
	assert_string_equal(blamed(5), "show");
	assert_int_equal(seep_sites_trim(sites, profile->contexts[6].stack, 3).first, 0);
	assert_string_equal(blamed(7), "ui_open");
	assert_string_equal(blamed(8), "interpret");
}

VIEW_TEST(nobody_starts_at_what_a_library_keeps_for_itself)
{
	stack(1, 71 << 10, frame(LIBSTDCXX, NULL), END);
	stack(1, 10, frame(APP, "work"), END);
	look();
	seep_view_add_lead(&view, true);
	assert_says(&view.head, "Start at work (app): ", true);
}

VIEW_TEST(what_libstdcxx_keeps_for_exceptions_is_told)
{
	const int pool = frame(LIBSTDCXX, NULL), other = frame(LIBSTDCXX, NULL);
	const int loader = frame(LOADER, "call_init");
	char *names[2];

	stack(1, 71 << 10, pool, loader, END);
	stack(1, 10, other, frame(APP, "work"), END);
	stack(1, 10, pool, END);
	names[0] = seep_frame_name(profile, &profile->frames[pool], SEEP_NAME_BRIEF);
	names[1] = seep_frame_name(profile, &profile->frames[other], SEEP_NAME_BRIEF);
	assert_string_equal(names[0], "C++ emergency pool");
	assert_string_equal(names[1], "libstdc++.so.6 + 0x1001");
	free(names[0]);
	free(names[1]);
}

VIEW_TEST(the_place_to_start_at_fits_any_terminal)
{
	const int work = frame(APP, "work");

	profile->frames[work].file =
		"/builds/a/folder/that/is/as/deep/as/those/of/packages/src/work.c";
	stack(1, 10, work, END);
	look();
	seep_view_add_lead(&view, true);
	assert_says(&view.head, "packages/src/work.c): 100.0%", true);
	assert_says(&view.head, "/builds", false);
}

VIEW_TEST(what_starts_a_program_is_left_out_without_names_too)
{
	const int work = frame(APP, "work"), main = frame(APP, "main");
	const int start_call = frame(LIBC, NULL), start = frame(APP, NULL);
	const int start_main = frame(LIBC, "__libc_start_main@@GLIBC_2.34");
	const int thread = frame(LIBC, NULL), clone = frame(LIBC, NULL);
	const int runner = frame(LIBSTDCXX, "execute_native_thread_routine");
	const int invoke = frame(APP, "std::__invoke_impl<void, void (*)()>");
	const struct {
		int frames[8];
		uint32_t end;
	} cases[] = {
		{ { work, main, start_call, start_main, start, END }, 2 },
		{ { work, thread, clone, END }, 1 },
		{ { work, invoke, runner, thread, clone, END }, 1 },
		{ { work, main, END }, 2 },
		{ { invoke, runner, thread, clone, END }, 2 }, /* there is nothing else */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int *f = cases[i].frames;

		stack(1, 1, f[0], f[1], f[2], f[3], f[4], f[5], END);
	}
	look();
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *c = &profile->contexts[i];
		const uint32_t end = seep_sites_trim(sites, c->stack, c->stack_count).end;

		if (end != cases[i].end)
			fail_msg("case %u ends at %u", i, end);
	}
}

/* ---- which frames stay ----------------------------------------------------------------------- */

VIEW_TEST(own_code_is_never_among_what_is_left_out)
{
	struct seep_profile_context *c = stack(1, 1, frame(APP, "leaf"), END);
	struct seep_stacks_view stacks;
	unsigned shown = 0;

	for (int i = 0; i < 30; i++)
		c->stack[c->stack_count++].frame = (uint32_t)frame(0, NULL); /* JIT */
	c->stack[15].frame = (uint32_t)frame(APP, "on_click");
	c->stack[c->stack_count++].frame = (uint32_t)frame(APP, "main");
	look();
	seep_stacks_view_init(&stacks, &view, 1);
	for (uint32_t i = 0; i < stacks.items[0].stack.count; i++) {
		const struct seep_stack_line *line = &stacks.items[0].stack.items[i];

		shown += line->entry && profile->frames[line->entry->frame].module == APP;
	}
	assert_int_equal(shown, 3);
	assert_int_equal(stacks.items[0].stack.count, 6 + 1 + 1 + 1 + 2);
	assert_string_equal(stacks.items[0].stack.items[6].note, "… 9 frames");
	assert_string_equal(stacks.items[0].stack.items[8].note, "… 14 frames");
	assert_string_equal(stacks.items[0].stack.figures,
			    "1 B (100.0%) in 1 block, not freed, malloc");
	seep_stacks_view_done(&stacks);
}

VIEW_TEST(library_code_between_two_callers_is_one_line)
{
	const int job = frame(APP, "main::{lambda:37}::operator()");
	const int impl = frame(APP, "std::__invoke_impl<void, void (*)()>");
	const int invoke = frame(APP, "std::_Function_handler<void (), void (*)()>::_M_invoke()");
	const int call = frame(APP, "std::function<void ()>::operator()() const");
	const int sort = frame(LIBC, "qsort");
	const int work = frame(APP, "Pool::work()"), run = frame(APP, "run");
	struct seep_tree_view rows;
	struct seep_stacks_view stacks;
	const struct seep_stack_lines *lines;

	stack(1, 10, job, impl, invoke, call, work, sort, run, call, END);
	look();
	seep_stacks_view_init(&stacks, &view, 1);
	lines = &stacks.items[0].stack;
	assert_int_equal(lines->count, 6);
	assert_int_equal(lines->items[0].entry->frame, job);
	assert_string_equal(lines->items[1].note,
			    "via std::function<void ()>::operator() + 2 more frames");
	assert_int_equal(lines->items[2].entry->frame, work);
	assert_string_equal(lines->items[3].note, "via qsort");
	assert_int_equal(lines->items[4].entry->frame, run);
	assert_string_equal(lines->items[5].note, "… 1 frame");
	seep_stacks_view_done(&stacks);
	seep_tree_view_init(&rows, &view);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.tree->nodes[rows.rows[0].node].entry.frame, run);
	assert_int_equal(rows.tree->nodes[rows.rows[2].node].entry.frame, job);
	seep_tree_view_done(&rows);
	options.full = true;
	seep_view_done(&view);
	seep_view_init(&view, profile, sites, &options);
	seep_stacks_view_init(&stacks, &view, 1);
	assert_int_equal(stacks.items[0].stack.count, 8);
	seep_stacks_view_done(&stacks);
}

VIEW_TEST(stacks_that_differ_where_they_are_not_shown_say_it)
{
	const int main = frame(APP, "main"), sort = frame(LIBC, "qsort");
	struct seep_stacks_view stacks;

	stack(1, 10, frame(LIBC, "inner"), sort, frame(APP, "job"), main, END);
	stack(1, 10, frame(LIBC, "other"), sort, frame(APP, "job"), main, END);
	stack(1, 10, frame(APP, "alone"), main, END);
	look();
	seep_stacks_view_init(&stacks, &view, 3);
	for (int i = 0; i < 3; i++) {
		const struct seep_stack_view *item = &stacks.items[i];
		static const char *const told[] = { ", via inner", ", via other", "malloc" };

		assert_non_null(strstr(item->stack.figures, told[item->group->context]));
	}
	seep_stacks_view_done(&stacks);
}

VIEW_TEST(stacks_whose_figures_differ_are_told_apart_by_these)
{
	const int main = frame(APP, "main"), other = frame(APP, "main");
	struct seep_stacks_view stacks;

	profile->frames[main].address = 0x1234;
	profile->frames[other].address = 0x5678;
	stack(1, 10, main, END);
	stack(1, 10, other, END); /* of one group with the first */
	stack(1, 10, main, END)->kind = LEDGER_KIND_CALLOC;
	stack(1, 10, main, END)->thread = seep_profile_strdup(profile, "io");
	options.by_thread = true;
	look();
	seep_stacks_view_init(&stacks, &view, 4);
	assert_int_equal(stacks.count, 3);
	for (uint32_t i = 0; i < stacks.count; i++) {
		const char *figures = stacks.items[i].stack.figures;

		assert_null(strstr(figures, "at 0x"));
		assert_null(strstr(figures, "thread io, thread io"));
	}
	seep_stacks_view_done(&stacks);
}

VIEW_TEST(library_code_alone_stays_whole)
{
	struct seep_stacks_view stacks;

	stack(1, 10, frame(LIBC, "a"), frame(LIBC, "b"), frame(LIBC, "c"), END);
	look();
	seep_stacks_view_init(&stacks, &view, 1);
	assert_int_equal(stacks.items[0].stack.count, 3);
	seep_stacks_view_done(&stacks);
}

VIEW_TEST(the_tree_is_rows_from_the_top)
{
	const int main = frame(APP, "main"), parse = frame(APP, "parse");
	struct seep_tree_view rows;

	stack(3, 10, frame(APP, "node"), parse, main, END);
	stack(2, 10, frame(APP, "token"), parse, main, END);
	look();
	seep_tree_view_init(&rows, &view);
	assert_int_equal(rows.count, 4);
	assert_string_equal(rows.rows[1].prefix, "→ ");
	assert_false(rows.rows[1].figures);
	assert_string_equal(rows.rows[2].prefix, "├─ ");
	assert_string_equal(rows.rows[3].prefix, "└─ ");
	assert_int_equal(rows.tree->nodes[rows.rows[2].node].value, 30);
	seep_tree_view_done(&rows);
}

/* ---- rows that read alike -------------------------------------------------------------------- */

VIEW_TEST(rows_that_read_alike_get_what_tells_them_apart)
{
	static const char *const wanted[] = {
		"step, via std::make_shared<Conn>", /* the type */
		"step, via std::make_shared<Invoice>",
		"work, from main:12", /* the caller, or the first that differs */
		"work, from main:14",
		"load, from get",
		"load, from put",
		"job, thread io", /* the thread */
		"job, thread cpu",
		"main, at 0x1234", /* the place */
		"main, at 0x5678",
		"alone",
		"ask, via ui_read", /* what the library does, where it is asked for the same */
		"ask, via ui_open",
	};
	enum { ROWS = sizeof(wanted) / sizeof(wanted[0]) };
	const int step = frame(APP, "step"), work = frame(APP, "work"), load = frame(APP, "load");
	const int job = frame(APP, "job"), both = frame(APP, "both"), alone = frame(APP, "alone");
	const int main[] = { frame(APP, "main"), frame(APP, "main") };
	struct seep_row *rows = seep_xcalloc(ROWS, sizeof(*rows));

	stack(1, 1, frame(APP, "std::make_shared<Conn>()"), step, END);
	stack(1, 1, frame(APP, "std::make_shared<Invoice>()"), step, END);
	profile->frames[main[0]].line = 12;
	profile->frames[main[1]].line = 14;
	stack(1, 1, work, main[0], END);
	stack(1, 1, work, main[1], END);
	stack(1, 1, load, both, frame(LIBC, "qsort"), frame(APP, "get"), END);
	stack(1, 1, load, both, frame(LIBC, "qsort"), frame(APP, "put"), END);
	stack(1, 1, job, END)->thread = seep_profile_strdup(profile, "io");
	stack(1, 1, job, END)->thread = seep_profile_strdup(profile, "cpu");
	profile->frames[main[0]].address = 0x1234;
	profile->frames[main[1]].address = 0x5678;
	stack(1, 1, main[0], END);
	stack(1, 1, main[1], END);
	stack(1, 1, alone, END);
	for (int i = 0; i < 2; i++)
		stack(1, 1, frame(INSTALLED, i ? "ui_open" : "ui_read"), frame(INSTALLED, "ui"),
		      frame(APP, "ask"), END);
	look();
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct seep_row){ .sites = sites,
					     .context = &profile->contexts[i],
					     .name = seep_xstrdup(blamed(i)),
					     .place = seep_xstrdup("app") };
	seep_rows_tell_apart(rows, ROWS, true);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_string_equal(rows[i].name, wanted[i]);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const types[] = { ", of Conn", ", of Invoice", "" };
		char *type = seep_row_type(sites, rows[i].context);

		assert_string_equal(type, types[i]);
		free(type);
	}
	/* Of another place, or of no stack: as they are. */
	free(rows[10].name);
	free(rows[9].place);
	rows[10].name = seep_xstrdup(rows[9].name);
	rows[9].place = seep_xstrdup("lib");
	rows[8].context = rows[7].context = NULL;
	seep_rows_tell_apart(rows, ROWS, true);
	assert_string_equal(rows[10].name, "main, at 0x5678");
	seep_rows_tell_apart(rows, 0, true);
	/* Threads that are told elsewhere. */
	free(rows[6].name);
	rows[6].name = seep_xstrdup("job");
	free(rows[7].name);
	rows[7].name = seep_xstrdup("job");
	rows[7].context = &profile->contexts[7];
	seep_rows_tell_apart(rows, ROWS, false);
	assert_string_equal(rows[6].name, "job");
	assert_string_equal(rows[7].name, "job");
	seep_rows_free(rows, ROWS);
}

/* ---- sentences ------------------------------------------------------------------------------- */

VIEW_TEST(a_peak_without_an_error_needs_no_remark)
{
	profile->totals.peak_bytes = 466 << 10;
	profile->totals.untracked_frees = 1;
	look();
	seep_view_add_head(&view, "", false, false);
	assert_says(&view.head, "peak 466 KB; ", true);
	seep_view_add_unseen(&view, 0);
	assert_says(&view.foot, "Not seen: 1 free of blocks whose allocation was not seen\n", true);
}

static void packages(const char *const *paths, size_t count, char **ret_names)
{
	for (size_t i = 0; i < count; i++)
		ret_names[i] = strstr(paths[i], "libui") ? seep_xstrdup("libui1") : NULL;
}

VIEW_TEST(missing_names_come_with_their_remedy)
{
	stack(1, 1, frame(INSTALLED, NULL), END);
	options.packages_of = packages;
	look();
	seep_view_add_unseen(&view, 0);
	assert_says(&view.foot, "No names for code in libui.so.1 (no debug information)\n", true);
	assert_says(&view.foot, "To get them, install libui1-dbgsym, or use --debuginfod", true);
	assert_says(&view.foot, "build with -g", false);
}

VIEW_TEST(what_is_the_programs_own_is_built_with_names)
{
	stack(1, 1, frame(APP, NULL), END);
	options.packages_of = packages;
	look();
	seep_view_add_unseen(&view, 0);
	assert_says(&view.foot, "To get them, build with -g, or use --debuginfod or", true);
}

VIEW_TEST(what_is_damaged_is_not_to_be_built_with_names)
{
	stack(1, 1, frame(APP, NULL), END);
	profile->modules[APP - 1].problem = seep_profile_strdup(profile, "damaged ELF file");
	look();
	seep_view_add_unseen(&view, 0);
	assert_says(&view.foot, "To get them, use --debuginfod or --symbols=DIR\n", true);
}

VIEW_TEST(a_glob_that_names_nothing_is_said_to)
{
	static const char *const near[] = { "libui.so.2" }, *const none[] = { "!nothing" };
	static const char *const good[] = { "lib*", "app" }, *const thread[] = { "io" };
	const struct seep_keep_globs all = { NULL, 0 };
	struct seep_error err = { 0 };

	stack(1, 1, frame(INSTALLED, "f"), frame(APP, "main"), END);
	stack(1, 1, frame(APP, "g"), END);
	look();
	assert_int_equal(
		seep_keep_check(sites, &(struct seep_keep_globs){ good, 2 }, &all, &all, &err), 0);
	assert_int_equal(
		seep_keep_check(sites, &(struct seep_keep_globs){ near, 1 }, &all, &all, &err),
		-SEEP_EUSAGE);
	assert_string_equal(err.text, "no module of any stack matches \"libui.so.2\"; did you mean "
				      "libui.so.1? The most frequent are app, libui.so.1");
	assert_int_equal(
		seep_keep_check(sites, &(struct seep_keep_globs){ none, 1 }, &all, &all, &err),
		-SEEP_EUSAGE);
	assert_string_equal(
		err.text, "no module of any stack matches \"nothing\"; the most frequent are app, "
			  "libui.so.1");
	assert_int_equal(
		seep_keep_check(sites, &all, &(struct seep_keep_globs){ thread, 1 }, &all, &err),
		-SEEP_EUSAGE);
	assert_non_null(strstr(err.text, "--by-thread"));
	profile->contexts[0].thread = seep_profile_strdup(profile, "io");
	assert_int_equal(
		seep_keep_check(sites, &all, &(struct seep_keep_globs){ thread, 1 }, &all, &err),
		0);
}

/* ---- differences ----------------------------------------------------------------------------- */

VIEW_TEST(counts_may_fall_and_do_not_overflow)
{
	struct seep_counts sum = { .live_bytes = -5, .allocs = INT64_MAX - 1, .frees = INT64_MIN };
	const struct seep_counts more = { .live_bytes = 3, .allocs = 2, .frees = -1 };
	const struct seep_profile_context huge = { .live_bytes = UINT64_MAX, .allocs = 7 };

	seep_counts_add(&sum, &more);
	assert_int_equal(sum.live_bytes, -2);
	assert_int_equal(sum.allocs, INT64_MAX);
	assert_int_equal(sum.frees, INT64_MIN);
	assert_int_equal(seep_counts_of(&huge).live_bytes, INT64_MAX);
	assert_int_equal(seep_counts_of(&huge).allocs, 7);
	assert_string_equal(seep_measure_text(-1536, SEEP_BY_LIVE).text, "-1.5 KB");
	assert_string_equal(seep_measure_text(1536, SEEP_BY_LIVE).text, "1.5 KB");
	assert_string_equal(seep_measure_text(-12345, SEEP_BY_ALLOCS).text, "-12.3 k");
}
