/* SPDX-License-Identifier: MIT */
/*
 * Profiles built by hand for the tests of analysis and report: a small C++ server with containers,
 * recursion, a thread, unnamed code and hostile names.
 */
#ifndef SEEP_TESTS_SAMPLE_PROFILE_H
#define SEEP_TESTS_SAMPLE_PROFILE_H

#include <stdarg.h>
#include <string.h>

#include "profile/profile.h"

enum { SAMPLE_LEAVES = 16, SAMPLE_END = -1 };

/* Frames of the sample, by index. */
enum sample_frame {
	S_NEW,	     /* operator new */
	S_ALLOCATE,  /* std::allocator */
	S_PUSH_BACK, /* std::vector<Row>::push_back */
	S_LOAD_120,
	S_LOAD_131,  /* another line of load_rows */
	S_LOAD_120B, /* the same line at another address */
	S_READ_FILE,
	S_MAIN,
	S_LIBC_START,
	S_START,
	S_XMALLOC,
	S_VISIT,
	S_DESCEND,
	S_WORKER,
	S_START_THREAD,
	S_CLONE,
	S_UNNAMED,
	S_JIT,
	S_HOSTILE,
	S_TEMPLATE,
	S_FRAME_COUNT,
};

static const struct seep_profile_frame sample_frames[S_FRAME_COUNT] = {
	[S_NEW] = { 2, false, false, 0xa1b2c, "operator new(unsigned long)", NULL, 0 },
	[S_ALLOCATE] = { 1, false, true, 0x2301,
			 "std::__new_allocator<app::Row>::allocate(unsigned long, void const*)",
			 "/usr/include/c++/12/bits/new_allocator.h", 137 },
	[S_PUSH_BACK] = { 1, false, false, 0x2301,
			  "void std::vector<app::Row, std::allocator<app::Row> >::push_back<app::Row const&>(app::Row const&)",
			  "/usr/include/c++/12/bits/stl_vector.h", 1287 },
	[S_LOAD_120] = { 1, false, false, 0x2410, "app::load_rows(std::istream&, int)",
			 "/home/kim/server/src/load.cc", 120 },
	[S_LOAD_131] = { 1, false, false, 0x2450, "app::load_rows(std::istream&, int)",
			 "/home/kim/server/src/load.cc", 131 },
	[S_LOAD_120B] = { 1, false, false, 0x2470, "app::load_rows(std::istream&, int)",
			  "/home/kim/server/src/load.cc", 120 },
	[S_READ_FILE] = { 1, false, false, 0x2500, "app::read_file(char const*)",
			  "/home/kim/server/src/load.cc", 44 },
	[S_MAIN] = { 1, false, false, 0x2600, "main", "/home/kim/server/src/main.cc", 33 },
	[S_LIBC_START] = { 3, false, false, 0x271c9, "__libc_start_call_main", NULL, 0 },
	[S_START] = { 1, false, false, 0x2200, "_start", NULL, 0 },
	[S_XMALLOC] = { 1, false, false, 0x2700, "xmalloc", "/home/kim/server/src/util.c", 9 },
	[S_VISIT] = { 1, false, false, 0x2800, "visit", "/home/kim/server/src/tree.c", 71 },
	[S_DESCEND] = { 1, false, false, 0x2840, "descend", "/home/kim/server/src/tree.c", 90 },
	[S_WORKER] = { 1, false, false, 0x2900, "app::(anonymous namespace)::worker(void*)",
		       "/home/kim/server/src/pool.cc", 18 },
	[S_START_THREAD] = { 3, false, false, 0x89144, "start_thread", NULL, 0 },
	[S_CLONE] = { 3, false, false, 0x1097dc, "clone3", NULL, 0 },
	[S_UNNAMED] = { 4, false, false, 0x4d2, NULL, NULL, 0 },
	[S_JIT] = { 0, false, false, 0x7f00deadbeef, NULL, NULL, 0 },
	[S_HOSTILE] = { 4, false, false, 0x666, "evil\033[31m\xff name\\x41", "/tmp/a\nb.c", 1 },
	[S_TEMPLATE] = { 1, false, false, 0x2a00,
			 "std::map<std::string, int> app::Index<std::basic_string<char, std::char_traits<char>, std::allocator<char> >, app::Compare<int>, 4ul>::build(int)",
			 "/home/kim/server/include/index.h", 210 },
};

static void *sample_array(struct seep_profile *p, const void *items, size_t count, size_t bytes)
{
	void *copy = seep_profile_calloc(p, count + 1, bytes);

	memcpy(copy, items, count * bytes);
	return copy;
}

/* One context; frames innermost first, SAMPLE_END last. */
static struct seep_profile_context *sample_context(struct seep_profile *p, uint8_t kind,
						   uint64_t live_blocks, uint64_t live_bytes, ...)
{
	struct seep_profile_context *context = &p->contexts[p->context_count++];
	struct seep_profile_stack_entry stack[64] = { 0 };
	va_list args;
	int frame;

	context->id = p->context_count;
	context->kind = kind;
	context->hash = 0x1111111111111111u * context->id;
	va_start(args, live_bytes);
	while ((frame = va_arg(args, int)) != SAMPLE_END)
		stack[context->stack_count++].frame = (uint32_t)frame;
	va_end(args);
	context->stack = sample_array(p, stack, context->stack_count, sizeof(stack[0]));
	context->live_blocks = live_blocks;
	context->live_bytes = live_bytes;
	context->peak_bytes = 3 * live_bytes;
	context->frees = 2 * live_blocks + 5;
	context->freed_bytes = 2 * live_bytes + 500;
	context->allocs = context->frees + live_blocks;
	context->peak_blocks = live_blocks + (live_blocks < 3 ? 1 : 10);
	context->alloc_bytes = context->freed_bytes + live_bytes;
	context->temporary = live_blocks / 2;
	context->first_ns = 5000000000 + context->id;
	return context;
}

static void sample_modules(struct seep_profile *p)
{
	const struct seep_profile_module modules[] = {
		{ .path = seep_profile_strdup(p, "/home/kim/server/build/server"),
		  .bias = 0x555555554000,
		  .build_id = { 0xde, 0xad, 0xbe, 0xef },
		  .build_id_bytes = 4 },
		{ .path = seep_profile_strdup(p, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"),
		  .bias = 0x7ffff7c00000 },
		{ .path = seep_profile_strdup(p, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		  .bias = 0x7ffff7800000 },
		{ .path = seep_profile_strdup(p, "/opt/vendor/libblob.so"),
		  .bias = 0x7ffff7000000 },
	};

	p->module_count = 4;
	p->modules = sample_array(p, modules, 4, sizeof(modules[0]));
}

static void sample_process(struct seep_profile *p)
{
	struct seep_profile_process *process = &p->process;
	char *argv[] = { seep_profile_strdup(p, "./build/server"), seep_profile_strdup(p, "--name"),
			 seep_profile_strdup(p, "two words"), NULL };

	process->pid = 4242;
	process->ppid = 4200;
	process->uid = 1000;
	process->exe = seep_profile_strdup(p, "/home/kim/server/build/server");
	process->cwd = seep_profile_strdup(p, "/home/kim/server");
	process->argv = sample_array(p, argv, 4, sizeof(argv[0]));
	process->allocator = seep_profile_strdup(p, "glibc");
	process->origin = SEEP_ORIGIN_START;
	process->start_ns = 5000000000;
	process->start_realtime_ns = 1750000000000000000;
	process->end_ns = 17300000000;
	process->ended = SEEP_ENDED_EXIT;
	process->has_status = true;
	process->peak_rss_bytes = 61 << 20;
}

static void sample_stacks(struct seep_profile *p)
{
	struct seep_profile_context *c;

	p->contexts = seep_profile_calloc(p, SAMPLE_LEAVES, sizeof(*p->contexts));
	sample_context(p, 4, 1024, 4 << 20, S_NEW, S_ALLOCATE, S_PUSH_BACK, S_LOAD_120, S_READ_FILE,
		       S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	sample_context(p, 4, 10, 400000, S_NEW, S_ALLOCATE, S_PUSH_BACK, S_LOAD_120B, S_READ_FILE,
		       S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	sample_context(p, 4, 100, 700000, S_NEW, S_ALLOCATE, S_PUSH_BACK, S_LOAD_131, S_READ_FILE,
		       S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	c = sample_context(p, 0, 3000, 2 << 20, S_XMALLOC, S_VISIT, S_VISIT, S_DESCEND, S_MAIN,
			   S_LIBC_START, S_START, SAMPLE_END);
	c->stack[2].period = 1;
	c->stack[2].repeats = 16;
	c = sample_context(p, 1, 7, 900000, S_VISIT, S_DESCEND, S_MAIN, S_LIBC_START, S_START,
			   SAMPLE_END);
	c->stack[1].period = 2;
	c->stack[1].repeats = 65535;
	sample_context(p, 0, 1, 300000, S_WORKER, S_START_THREAD, S_CLONE, SAMPLE_END);
	c = sample_context(p, 2, 2, 250000, S_UNNAMED, S_JIT, SAMPLE_END);
	c->truncated = true;
	c = sample_context(p, 0, 3, 50000, S_HOSTILE, S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	c->thread = seep_profile_strdup(p, "io\033thread");
	c = sample_context(p, 5, 4, 120000, S_NEW, S_TEMPLATE, S_READ_FILE, S_VISIT, S_DESCEND,
			   S_WORKER, S_LOAD_131, S_READ_FILE, S_VISIT, S_DESCEND, S_READ_FILE,
			   S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	c->epoch_count = 2;
	c->epochs = seep_profile_calloc(p, 2, sizeof(*c->epochs));
	c->epochs[0] = (struct seep_profile_epoch){ 0, 1, 20000 };
	c->epochs[1] = (struct seep_profile_epoch){ 3, 3, 100000 };
	c = sample_context(p, 0, 5, 4096, SAMPLE_END);
	c->no_stack = true;
	c = sample_context(p, 0, 0, 0, S_READ_FILE, S_MAIN, S_LIBC_START, S_START, SAMPLE_END);
	c->temporary = 4;
}

static void sample_totals(struct seep_profile *p)
{
	struct seep_profile_totals *t = &p->totals;

	for (uint32_t i = 0; i < p->context_count; i++) {
		const struct seep_profile_context *c = &p->contexts[i];

		t->allocs += c->allocs;
		t->alloc_bytes += c->alloc_bytes;
		t->frees += c->frees;
		t->freed_bytes += c->freed_bytes;
		t->live_blocks += c->live_blocks;
		t->live_bytes += c->live_bytes;
		t->peak_bytes += c->peak_bytes;
		t->temporary += c->temporary;
	}
	t->usable_bytes = t->live_bytes + 70000;
	t->peak_at_ns = 7300000000;
	t->peak_exact = false;
	t->peak_error_bytes = 64 << 10;
	t->threads = 3;
	t->own_bytes = 3 << 20;
	t->histogram[6] = 900;
	t->histogram[13] = 17;
}

/* The whole sample. */
static struct seep_profile *sample_profile(void)
{
	struct seep_profile *p = seep_profile_new();
	const struct seep_profile_mark marks[] = {
		{ seep_profile_strdup(p, "warm"), 3, 6000000000, true },
		{ NULL, 4, 7000000000, false },
	};
	const struct seep_profile_sample timeline[] = {
		{ 5000000000, 0, 4096, 0, 0 },
		{ 17300000000, UINT64_MAX, 64 << 20, 12345, 12000 },
	};

	sample_modules(p);
	sample_process(p);
	p->frame_count = S_FRAME_COUNT;
	p->frames = sample_array(p, sample_frames, S_FRAME_COUNT, sizeof(sample_frames[0]));
	sample_stacks(p);
	sample_totals(p);
	p->mark_count = 2;
	p->marks = sample_array(p, marks, 2, sizeof(marks[0]));
	p->sample_count = 2;
	p->timeline = sample_array(p, timeline, 2, sizeof(timeline[0]));
	p->forked = (struct seep_profile_forked){ 2, 310, 40000, 300, 39000, 1000, 7, 70, 0 };
	p->symbolised = true;
	seep_profile_add_unseen(p, "filtered",
				"only some allocations were recorded, by size: size_min=64");
	return p;
}

#endif
