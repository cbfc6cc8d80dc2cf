/* SPDX-License-Identifier: MIT */
// build: -O2 -g -std=c++17 -pthread
/*
 * Scopes in every way that they can be entered and left, on many threads, and what is true of each,
 * counted beside: in a file that is mapped shared, so that it is there after a SIGKILL.
 *
 *	scope_truth FILE THREADS STEPS SEED
 *
 * Scopes are numbered by parent and tag, as docs/scopes.md says: a tag that is open moves to the end.
 */
#include "seep/seep.h"

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{
enum { TAGS = 1000, SCOPES = 16000, BLOCKS = 64, SHARED = 256, DEPTH = 12, PARKED = 32 };

struct scope {
	uint32_t parent, tag; /* numbers from 1 on; 0: none */
	std::atomic<uint64_t> entries, exits, allocs, bytes, own_frees, own_bytes, foreign_frees,
		foreign_bytes, freed, freed_bytes;
};

struct truth {
	std::atomic<uint32_t> count;
	std::atomic<uint32_t> done;
	scope scopes[SCOPES]; /* [0]: none */
};

truth *all;
std::mutex lock;
uint32_t table[1 << 16];

/* @tag is not open in @parent. */
uint32_t child(uint32_t parent, uint32_t tag)
{
	uint32_t at = (parent * 2654435761u ^ tag * 40503u) & 0xffff;
	std::lock_guard<std::mutex> held(lock);

	for (;; at = (at + 1) & 0xffff) {
		scope *found = &all->scopes[table[at]];

		if (table[at] && found->parent == parent && found->tag == tag)
			return table[at];
		if (table[at])
			continue;
		if (all->count == SCOPES)
			abort();
		found = &all->scopes[all->count];
		found->parent = parent;
		found->tag = tag;
		return table[at] = all->count++;
	}
}

uint32_t without(uint32_t at, uint32_t tag)
{
	if (!at)
		return 0;
	uint32_t rest = without(all->scopes[at].parent, tag);
	return all->scopes[at].tag == tag ? rest : child(rest, all->scopes[at].tag);
}

bool is_open(uint32_t at, uint32_t tag)
{
	while (at && all->scopes[at].tag != tag)
		at = all->scopes[at].parent;
	return at != 0;
}

uint32_t entered(uint32_t at, uint32_t tag)
{
	if (all->scopes[at].tag == tag)
		return at;
	return child(is_open(at, tag) ? without(at, tag) : at, tag);
}

struct block {
	void *memory;
	uint32_t size, at;
};

struct thread {
	uint64_t random;
	uint32_t at; /* the innermost scope */
	int steps;
	block blocks[BLOCKS];
	jmp_buf back;
};

block shared[SHARED];
struct parked {
	seep_scope handle;
	uint32_t at;
} parking[PARKED];

uint32_t draw(thread &t, uint32_t below)
{
	t.random = t.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(t.random >> 33) % below;
}

void count_alloc(thread &t, uint32_t size)
{
	all->scopes[t.at].allocs++;
	all->scopes[t.at].bytes += size;
}

void count_free(thread &t, uint32_t at, uint32_t size)
{
	scope &here = all->scopes[t.at], &of = all->scopes[at];
	bool own = at && here.tag == of.tag;

	(own ? here.own_frees : here.foreign_frees)++;
	(own ? here.own_bytes : here.foreign_bytes) += size;
	of.freed++;
	of.freed_bytes += size;
}

void counted_free(thread &t, block &b)
{
	if (!b.memory)
		return;
	free(b.memory);
	b.memory = nullptr;
	count_free(t, b.at, b.size);
}

/* What is thrown lies on the heap, behind 128 bytes of the C++ library's. */
struct thrown {
	uint64_t at;
};
enum { THROWN_BYTES = 128 + sizeof(thrown) };

__attribute__((noinline)) void *one_place(size_t size)
{
	return malloc(size);
}

void counted_alloc(thread &t, block &b)
{
	counted_free(t, b);
	b.size = 1 + draw(t, draw(t, 50) ? 300 : 9000);
	b.at = t.at;
	b.memory = draw(t, 2) ? one_place(b.size) : malloc(b.size);
	count_alloc(t, b.size);
}

void counted_realloc(thread &t, block &b)
{
	uint32_t size = 1 + draw(t, 500);

	if (!b.memory)
		return;
	b.memory = realloc(b.memory, size);
	count_free(t, b.at, b.size);
	b.size = size;
	b.at = t.at;
	count_alloc(t, size);
}

/* Counted before and after: entries never lag behind exits. */
struct model {
	thread &t;
	uint32_t before;

	model(thread &in, uint32_t tag) : t(in), before(in.at)
	{
		t.at = entered(t.at, tag);
		all->scopes[t.at].entries++;
	}
	~model()
	{
		all->scopes[t.at].exits++;
		t.at = before;
	}
};

const char *name_of(uint32_t tag, char (&text)[32])
{
	snprintf(text, sizeof(text), "tag=%u", tag);
	return text;
}

void work(thread &t, int depth);

void in_macro(thread &t, int depth, uint32_t tag)
{
	char text[32];
	model m(t, tag);
	SEEP_SCOPE_NAMED(name_of(tag, text));

	work(t, depth);
}

void in_object(thread &t, int depth, uint32_t tag)
{
	char text[32];
	model m(t, tag);
	seep::scope scope(name_of(tag, text));

	work(t, depth);
	if (draw(t, 4) == 0) {
		count_alloc(t, THROWN_BYTES);
		throw thrown{ t.at };
	}
}

/* Its scope is left by longjmp: what is true is told to the model by who jumped. */
__attribute__((noinline)) void in_jump(thread &t, uint32_t tag)
{
	char text[32];
	SEEP_SCOPE_NAMED(name_of(tag, text));

	t.at = entered(t.at, tag);
	all->scopes[t.at].entries++;
	counted_alloc(t, t.blocks[draw(t, BLOCKS)]);
	longjmp(t.back, 1);
}

__attribute__((noinline)) void jumped_out_of(thread &t, uint32_t tag)
{
	volatile uint32_t before = t.at;

	if (!setjmp(t.back))
		in_jump(t, tag);
	all->scopes[t.at].exits++;
	t.at = before;
}

void in_handle(thread &t, int depth, uint32_t tag)
{
	char text[32];
	const uint32_t before = t.at;
	parked p = {};

	{
		std::lock_guard<std::mutex> held(lock);
		parked &place = parking[draw(t, PARKED)];

		if (place.handle && draw(t, 2)) {
			p = place;
			place = {};
		}
	}
	if (p.handle) {
		if (seep_scope_resume(p.handle) != 0)
			abort();
		t.at = p.at;
	} else {
		p.at = t.at = entered(t.at, tag);
		all->scopes[t.at].entries++;
		p.handle = seep_scope_begin(name_of(tag, text));
	}
	try {
		work(t, depth);
	} catch (thrown &what) {
		count_free(t, (uint32_t)what.at, THROWN_BYTES);
	}
	if (draw(t, 2)) {
		if (p.handle && seep_scope_suspend(p.handle) != 0)
			abort();
		t.at = before;
		std::lock_guard<std::mutex> held(lock);
		parked &place = parking[draw(t, PARKED)];

		if (!place.handle) {
			place = p;
			return;
		}
		/* None is free: it is ended while it is suspended. */
	}
	all->scopes[p.at].exits++;
	if (p.handle && seep_scope_end(p.handle) != 0)
		abort();
	t.at = before;
}

void exchange(thread &t)
{
	block &mine = t.blocks[draw(t, BLOCKS)];
	std::lock_guard<std::mutex> held(lock);
	block &other = shared[draw(t, SHARED)];
	block between = mine;

	mine = other;
	other = between;
}

/* Below most tags there are few, or there would be more scopes than are told apart. */
uint32_t draw_tag(thread &t)
{
	uint32_t root = t.at;

	while (all->scopes[root].parent)
		root = all->scopes[root].parent;
	if (!root)
		return draw(t, 2) ? 1 + draw(t, 5) : 1 + draw(t, TAGS);
	return 1 + draw(t, all->scopes[root].tag > 5 ? 2 : 5);
}

void step(thread &t, int depth)
{
	uint32_t tag = draw_tag(t);

	switch (draw(t, depth < DEPTH ? 12 : 7)) {
	case 0:
	case 1:
	case 2:
		counted_alloc(t, t.blocks[draw(t, BLOCKS)]);
		break;
	case 3:
	case 4:
		counted_free(t, t.blocks[draw(t, BLOCKS)]);
		break;
	case 5:
		counted_realloc(t, t.blocks[draw(t, BLOCKS)]);
		break;
	case 6:
		exchange(t);
		break;
	case 7:
	case 8:
		in_macro(t, depth + 1,
			 depth % 3		 ? tag
			 : all->scopes[t.at].tag ? all->scopes[t.at].tag
						 : tag);
		break;
	case 9:
		in_object(t, depth + 1, tag);
		break;
	case 10:
		jumped_out_of(t, tag);
		break;
	case 11:
		in_handle(t, depth + 1, tag);
		break;
	}
}

/* A third of what is thrown further in ends here. */
void work(thread &t, int depth)
{
	for (uint32_t i = draw(t, 12); i-- > 0 && t.steps-- > 0;) {
		try {
			step(t, depth);
		} catch (thrown &what) {
			if (depth && draw(t, 3))
				throw;
			count_free(t, (uint32_t)what.at, THROWN_BYTES);
		}
	}
}

void *run(void *of)
{
	thread &t = *(thread *)of;

	while (t.steps > 0)
		work(t, 0);
	return nullptr;
}
} // namespace

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 8;
	int fd = argc > 4 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	static thread state[64];
	static pthread_t ids[64];

	if (fd < 0 || threads > 64 || ftruncate(fd, sizeof(truth)) != 0)
		return 2;
	all = (truth *)mmap(nullptr, sizeof(truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	all->count = 1;
	for (int i = 0; i < threads; i++) {
		state[i].random = strtoull(argv[4], nullptr, 10) * 1000003 + (uint64_t)i;
		state[i].steps = atoi(argv[3]);
		pthread_create(&ids[i], nullptr, run, &state[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], nullptr);
	all->done = 1;
	return 0;
}
