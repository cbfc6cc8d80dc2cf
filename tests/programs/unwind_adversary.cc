/* SPDX-License-Identifier: MIT */
// build: -O2 -ldl -lpthread
/*
 * unwind_adversary [iterations [seed [threads]]]
 *
 * A correct program that allocates from every shape of call stack that is legal and makes life
 * hard for a walker that remembers: the same slots and return addresses come back with other
 * words further out, on stacks that were unmapped, copied, abandoned or left by an exception.
 * Tricks are drawn at random and nest. The output depends on the arguments only: a checksum over
 * what was allocated and found intact, and the program's own allocations (`iterations` counts all
 * threads together; what the C and C++ libraries allocate for themselves is not in the truth).
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

#include "unwind_adversary.h"

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE inline __attribute__((always_inline))
/* After a call: keeps it from becoming a tail call, so that the frame stays. */
#define KEEP_FRAME() asm volatile("" ::: "memory")

enum {
	POOL = 384,	/* live blocks of a thread, at most */
	NEST = 4,	/* tricks inside tricks */
	COROUTINES = 8, /* half by swapcontext, half by adv_switch */
	STACK_BYTES = 256 * 1024,
	SHARED = 3, /* coroutines that take turns on one stack, copied in and out */
	SHARED_BYTES = 192 * 1024,
	CHAIN = 12,
};

enum kind { MALLOC, CALLOC, REALLOC, MEMALIGN, NEW, NEW_ARRAY, NEW_ALIGNED, KINDS };

struct block {
	unsigned char *at;
	uint32_t size;
	uint8_t kind;
	uint8_t fill;
};

struct truth {
	uint64_t allocs, bytes, frees;
};

struct adv;

struct coroutine {
	struct adv *owner;
	char *stack;
	void *sp, *back_sp;	  /* adv_switch */
	ucontext_t context, back; /* swapcontext */
	char *image;		  /* shared stack: the used part while another one runs */
	size_t image_bytes;
	int by_context, alive, running, rounds;
};

/* One thread's world. Nothing of it is shared. */
struct adv {
	uint64_t random, checksum, limit;
	struct truth truth;
	int nest, on_alternate, on_side, on_shared, on_main_stack, simple, is_main;
	struct block pool[POOL];
	struct coroutine coroutines[COROUTINES], shared[SHARED];
	struct coroutine *current; /* the coroutine that runs, for yield() */
	char *shared_stack, *side_stack, *alternate_stack;
	struct adv *child;
	uint8_t chain[CHAIN];
	int chain_at;
	void (*chain_end)(struct adv *);
	jmp_buf jump;
};

static thread_local struct adv *self;

static void die(const char *what)
{
	perror(what);
	_exit(3);
}

static uint64_t draw64(struct adv *a)
{
	uint64_t x = a->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	a->random = x;
	return x * 0x2545f4914f6cdd1dull;
}

static uint32_t draw(struct adv *a, uint32_t below)
{
	return (uint32_t)((draw64(a) >> 32) * below >> 32);
}

static void note(struct adv *a, uint64_t value)
{
	a->checksum = (a->checksum ^ value) * 0x100000001b3ull;
	a->checksum ^= a->checksum >> 29;
}

static void *map(size_t bytes)
{
	void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static NOINLINE void drop(struct adv *a, struct block *b)
{
	uint64_t first = b->at[0], last = b->at[b->size - 1];

	if (first != b->fill || last != b->fill) {
		fprintf(stderr, "block of %u bytes was overwritten\n", b->size);
		_exit(4);
	}
	note(a, first << 32 | b->size);
	switch (b->kind) {
	case NEW:
		::operator delete(b->at);
		break;
	case NEW_ARRAY:
		::operator delete[](b->at);
		break;
	case NEW_ALIGNED:
		::operator delete(b->at, std::align_val_t(64));
		break;
	default:
		free(b->at);
	}
	b->at = nullptr;
	a->truth.frees++;
}

static NOINLINE void keep(struct adv *a, struct block *b, void *at, uint32_t size, int kind)
{
	if (!at)
		die("allocation");
	b->at = (unsigned char *)at;
	b->size = size;
	b->kind = (uint8_t)kind;
	b->fill = (uint8_t)(size ^ (unsigned)kind ^ 0x5a);
	b->at[0] = b->at[size - 1] = b->fill;
	a->truth.allocs++;
	a->truth.bytes += size;
}

static uint32_t draw_size(struct adv *a)
{
	uint32_t shape = draw(a, 256);

	if (shape == 0)
		return 1 + draw(a, 300000);
	return shape < 200 ? 1 + draw(a, 200) : 1 + draw(a, 4000);
}

/* Inlined, so that the allocation functions are called by the odd frame itself. */
static INLINE void churn(struct adv *a)
{
	struct block *b = &a->pool[draw(a, POOL)];
	uint32_t size = draw_size(a);
	int kind = (int)draw(a, KINDS);
	void *at;

	if (kind == REALLOC && b->at && b->kind <= MEMALIGN) {
		/* A realloc is an allocation and the free of the old block. */
		void *moved = realloc(b->at, size);

		a->truth.frees++;
		keep(a, b, moved, size, REALLOC);
		return;
	}
	if (b->at)
		drop(a, b);
	switch (kind) {
	case CALLOC:
		at = calloc(1, size);
		break;
	case MEMALIGN:
		at = aligned_alloc(128, size);
		break;
	case NEW:
		at = ::operator new(size);
		break;
	case NEW_ARRAY:
		at = ::operator new[](size);
		break;
	case NEW_ALIGNED:
		at = ::operator new(size, std::align_val_t(64));
		break;
	default:
		at = malloc(size);
	}
	keep(a, b, at, size, kind);
}

static NOINLINE void churn_here(struct adv *a)
{
	churn(a);
	KEEP_FRAME();
}

static void churn_some(struct adv *a)
{
	for (uint32_t i = draw(a, 4); i > 0; i--)
		churn_here(a);
}

/* ---- nesting ------------------------------------------------------------------------------ */

static NOINLINE void trick(struct adv *a);

/* What happens at the inner end of a trick: some blocks, perhaps another trick. */
static NOINLINE void inner(struct adv *a)
{
	churn_some(a);
	if (a->nest < NEST && a->truth.allocs < a->limit && draw(a, 3) != 0)
		trick(a);
	churn(a);
	KEEP_FRAME();
}

static void inner_of(void *arg)
{
	inner((struct adv *)arg);
	KEEP_FRAME();
}

static void churn_of(void *arg)
{
	churn((struct adv *)arg);
	KEEP_FRAME();
}

/* ---- frames of equal size ----------------------------------------------------------------- */

/* Links of a chain have frames of the same size, so two chains that differ in the middle have
 * the same slots, the same innermost return addresses, and other words further out. */
static void chain_step(struct adv *a);

template <int N> static NOINLINE void even_link(struct adv *a)
{
	asm volatile("" ::"i"(N));
	chain_step(a);
	KEEP_FRAME();
}

/* The same with a base pointer that the frames further out need. */
template <int N> static NOINLINE void based_link(struct adv *a)
{
	char *room = (char *)alloca(32 + (N & 1) * 32);

	asm volatile("" ::"r"(room), "i"(N) : "memory");
	chain_step(a);
	KEEP_FRAME();
}

typedef void (*link_fn)(struct adv *);

static const link_fn links[] = { even_link<0>,	even_link<1>,  even_link<2>,  even_link<3>,
				 based_link<0>, based_link<2>, based_link<1>, based_link<3> };

static NOINLINE void chain_step(struct adv *a)
{
	if (a->chain_at == CHAIN) {
		a->chain_end(a);
		KEEP_FRAME();
		return;
	}
	links[a->chain[a->chain_at++]](a);
	KEEP_FRAME();
}

/* Most links stay what they were in the previous chain, so the inner part is remembered. */
static void chain(struct adv *a, void (*end)(struct adv *))
{
	uint32_t changes = 1 + draw(a, 3);

	for (uint32_t i = 0; i < changes; i++)
		a->chain[draw(a, CHAIN)] = (uint8_t)draw(a, 8);
	a->chain_at = 0;
	a->chain_end = end;
	chain_step(a);
	KEEP_FRAME();
}

static void trick_chain(struct adv *a)
{
	for (uint32_t i = 1 + draw(a, 6); i > 0; i--)
		chain(a, churn_here);
	chain(a, inner);
}

/* ---- recursion ---------------------------------------------------------------------------- */

static void recurse(struct adv *a, int depth);

template <int N> static NOINLINE void recurse_with(struct adv *a, int depth)
{
	volatile char frame[N];

	frame[0] = (char)depth;
	if (draw(a, 4) == 0)
		churn(a);
	recurse(a, depth - 1);
	if (draw(a, 8) == 0)
		churn(a);
	KEEP_FRAME();
	(void)frame[0];
}

static NOINLINE void recurse(struct adv *a, int depth)
{
	if (depth <= 0) {
		inner(a);
		KEEP_FRAME();
		return;
	}
	switch (draw(a, 5)) {
	case 0:
		recurse_with<16>(a, depth);
		break;
	case 1:
		recurse_with<48>(a, depth);
		break;
	case 2:
		recurse_with<144>(a, depth);
		break;
	case 3:
		recurse(a, depth - 1);
		break;
	default:
		recurse_with<24>(a, depth);
	}
	KEEP_FRAME();
}

static void trick_recurse(struct adv *a)
{
	recurse(a, 1 + (int)draw(a, 40));
}

/* Far deeper than any walk that is kept as a whole is likely to be. */
static void trick_deep(struct adv *a)
{
	if (!a->on_main_stack || a->simple) {
		inner(a);
		return;
	}
	adv_descend(churn_of, a, 1000 + draw(a, 4000));
	if (a->is_main && draw(a, 16) == 0)
		adv_descend(churn_of, a, 60000 + draw(a, 20000));
}

/* ---- frames of moving size ---------------------------------------------------------------- */

static NOINLINE void trick_alloca(struct adv *a)
{
	char *room = (char *)alloca(16 + draw(a, 900));

	asm volatile("" ::"r"(room) : "memory");
	inner(a);
	room = (char *)alloca(16 + draw(a, 100));
	asm volatile("" ::"r"(room) : "memory");
	churn(a);
	KEEP_FRAME();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla"
static NOINLINE void trick_vla(struct adv *a)
{
	uint32_t rounds = 1 + draw(a, 3);

	for (uint32_t i = 0; i < rounds; i++) {
		volatile char room[1 + draw(a, 400)];

		room[0] = (char)i;
		inner(a);
		(void)room[0];
	}
	KEEP_FRAME();
}
#pragma GCC diagnostic pop

static NOINLINE void trick_realigned(struct adv *a)
{
	alignas(64) volatile char room[64];

	room[0] = 1;
	inner(a);
	churn(a);
	(void)room[0];
	KEEP_FRAME();
}

/* Arguments on the stack and a realigned frame: the CFA comes from a saved argument pointer. */
static NOINLINE uint64_t realigned_arguments(struct adv *a, uint64_t b, uint64_t c, uint64_t d,
					     uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	alignas(128) volatile char room[256];
	char *more = (char *)alloca(16 + (b & 0xff));

	asm volatile("" ::"r"(more) : "memory");
	room[0] = 2;
	inner(a);
	(void)room[0];
	return b + c + d + e + f + g + h;
}

static void trick_realigned_arguments(struct adv *a)
{
	note(a, realigned_arguments(a, draw(a, 1000), 2, 3, 4, 5, 6, draw(a, 1000)));
}

__attribute__((force_align_arg_pointer)) static NOINLINE void trick_stackrealign(struct adv *a)
{
	alignas(32) volatile char room[96];

	room[0] = 3;
	churn(a);
	inner(a);
	(void)room[0];
	KEEP_FRAME();
}

/* ---- tail calls and rbp as a general register ----------------------------------------------- */

static NOINLINE uint64_t tail_end(struct adv *a, uint64_t n)
{
	churn(a);
	inner(a);
	return n * 3;
}

static NOINLINE uint64_t tail_middle(struct adv *a, uint64_t n)
{
	churn(a);
	return n & 1 ? tail_end(a, n >> 1) : tail_end(a, n + 7);
}

static NOINLINE uint64_t tail_start(struct adv *a, uint64_t n)
{
	if (n & 4)
		churn(a);
	return tail_middle(a, n ^ 5);
}

static void trick_tail(struct adv *a)
{
	note(a, tail_start(a, draw(a, 64)));
}

/* Enough live values that the compiler uses rbp for one of them. */
static NOINLINE void trick_registers(struct adv *a)
{
	uint64_t p = draw64(a), q = draw64(a), r = draw64(a), s = draw64(a), t = draw64(a);

	for (uint32_t i = 1 + draw(a, 3); i > 0; i--) {
		inner(a);
		p += q ^ i;
		q += r << 1;
		r ^= s + p;
		s += t;
		t = t << 7 | t >> 57;
	}
	note(a, p + q + r + s + t);
}

static void trick_clobber_rbp(struct adv *a)
{
	static const unsigned long shapes[] = { 0, 1, 0xdeadbeef00000000, 0x5555, ~0ul, 8 };
	unsigned long garbage = shapes[draw(a, 6)];

	if (draw(a, 2)) /* looks like a frame pointer, and is not one */
		garbage = (unsigned long)__builtin_frame_address(0) + 8 * draw(a, 64);
	adv_clobber_rbp(draw(a, 2) ? inner_of : churn_of, a, garbage);
}

static void trick_cfa_in_memory(struct adv *a)
{
	adv_cfa_in_memory(churn_of, a);
}

/* ---- stacks that are left sideways -------------------------------------------------------- */

static NOINLINE void jump_down(struct adv *a, jmp_buf *to, int depth)
{
	volatile char room[24];

	room[0] = (char)depth;
	if (draw(a, 3) == 0)
		churn(a);
	if (depth == 0) {
		inner(a);
		longjmp(*to, 1);
	}
	if (depth > 0)
		jump_down(a, to, depth - 1);
	KEEP_FRAME();
	(void)room[0];
}

static NOINLINE void trick_longjmp(struct adv *a)
{
	jmp_buf here;
	int nest = a->nest;

	if (setjmp(here) == 0)
		jump_down(a, &here, 1 + (int)draw(a, 20));
	self->nest = nest;
	churn(self);
	KEEP_FRAME();
}

/* Allocates while the exception travels. */
struct travelling {
	struct adv *a;

	~travelling()
	{
		churn(a);
	}
};

struct problem {
	uint64_t number;
	char weight[72];
};

static NOINLINE void throw_down(struct adv *a, int depth)
{
	travelling here{ a };

	if (depth == 0) {
		inner(a);
		throw problem{ draw(a, 1000), {} };
	}
	if (draw(a, 8) == 0) {
		try {
			throw_down(a, depth - 1);
		} catch (const problem &) {
			inner(a);
			throw;
		}
	}
	throw_down(a, depth - 1);
	KEEP_FRAME();
}

static NOINLINE void trick_throw(struct adv *a)
{
	int nest = a->nest;

	try {
		throw_down(a, 1 + (int)draw(a, 12));
	} catch (const problem &p) {
		a->nest = nest;
		note(a, p.number);
		inner(a);
	}
	churn(a);
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;

	if (((l ^ r) & 7) == 0)
		churn(self);
	return l < r ? -1 : l > r;
}

static void trick_qsort(struct adv *a)
{
	uint32_t numbers[24], key;

	for (uint32_t &n : numbers)
		n = draw(a, 4096);
	qsort(numbers, 2 + draw(a, 22), sizeof(numbers[0]), compare_numbers);
	note(a, numbers[0]);
	key = numbers[1];
	qsort(numbers, 24, sizeof(numbers[0]), compare_numbers);
	if (!bsearch(&key, numbers, 24, sizeof(key), compare_numbers))
		die("bsearch");
	inner(a);
}

/* ---- signals ------------------------------------------------------------------------------ */

static void on_signal(int signal, siginfo_t *, void *context)
{
	struct adv *a = self;

	churn(a);
	inner(a);
	if (signal == SIGILL)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
	KEEP_FRAME();
}

static void on_signal_leave(int, siginfo_t *, void *)
{
	struct adv *a = self;

	churn(a);
	siglongjmp(a->jump, 1);
}

static void install_handlers(void)
{
	struct sigaction action = {};

	action.sa_sigaction = on_signal;
	action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGUSR2, &action, nullptr);
	sigaction(SIGILL, &action, nullptr);
	action.sa_sigaction = on_signal_leave;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGTRAP, &action, nullptr);
}

/* The kernel takes the alternate stack from its top unless SP is on it already: a second handler
 * raised from a coroutine would run over the first, so there is one at a time. */
static int may_take_alternate(struct adv *a)
{
	return !a->on_alternate && !a->simple;
}

static NOINLINE void trick_alternate(struct adv *a)
{
	int on_main_stack = a->on_main_stack;

	if (!may_take_alternate(a)) {
		raise(SIGUSR2);
		KEEP_FRAME();
		return;
	}
	a->on_alternate = 1;
	a->on_main_stack = 0;
	raise(SIGUSR1);
	a->on_main_stack = on_main_stack;
	a->on_alternate = 0;
	churn(a);
}

static void trick_signal(struct adv *a)
{
	raise(SIGUSR2);
	churn(a);
}

static void trick_fault(struct adv *a)
{
	switch (draw(a, 3)) {
	case 0:
		adv_fault_first();
		break;
	case 1:
		adv_fault_prologue();
		break;
	default:
		adv_fault_leaf();
	}
	churn(a);
}

static NOINLINE void trick_signal_leave(struct adv *a)
{
	if (!may_take_alternate(a)) {
		inner(a);
		return;
	}
	if (sigsetjmp(a->jump, 1) == 0) {
		volatile char room[40];

		room[0] = 1;
		raise(SIGTRAP);
		(void)room[0];
	}
	churn(self);
}

/* ---- stacks of our own -------------------------------------------------------------------- */

static void yield(struct adv *a)
{
	struct coroutine *c = a->current;

	if (c->by_context)
		swapcontext(&c->context, &c->back);
	else
		adv_switch(&c->sp, c->back_sp);
}

static NOINLINE void churn_and_yield(struct adv *a)
{
	churn(a);
	yield(a);
	churn(a);
}

static void coroutine_body(struct coroutine *c)
{
	struct adv *a = c->owner;

	while (c->rounds-- > 0) {
		switch (draw(a, 3)) {
		case 0:
			chain(a, churn_and_yield);
			break;
		case 1:
			inner(a);
			yield(a);
			break;
		default:
			churn_and_yield(a);
		}
	}
	c->alive = 0;
	yield(a);
}

static void coroutine_start(void *arg)
{
	coroutine_body((struct coroutine *)arg);
	KEEP_FRAME();
}

/* makecontext() passes ints. */
static void context_start(uint32_t low, uint32_t high)
{
	coroutine_body((struct coroutine *)((uint64_t)high << 32 | low));
	KEEP_FRAME();
}

/* What adv_switch pops, with the first frame below it. */
static void *first_frame(char *top, struct coroutine *c, int zero_ends)
{
	uintptr_t *sp = (uintptr_t *)top;

	*--sp = 0;
	*--sp = 0;
	if (zero_ends)
		*--sp = 0; /* where the return address of the first frame would be */
	*--sp = (uintptr_t)(zero_ends ? adv_entry_zero : adv_entry_undefined);
	*--sp = 0;			    /* rbp */
	*--sp = (uintptr_t)c;		    /* rbx */
	*--sp = (uintptr_t)coroutine_start; /* r12 */
	*--sp = 0;
	*--sp = 0;
	*--sp = 0;
	return sp;
}

static void coroutine_make(struct adv *a, struct coroutine *c)
{
	c->owner = a;
	c->rounds = 1 + (int)draw(a, 12);
	c->alive = 1;
	if (!c->by_context) {
		c->sp = first_frame(c->stack + STACK_BYTES, c, (int)draw(a, 2));
		return;
	}
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->context.uc_link = nullptr;
	makecontext(&c->context, (void (*)())context_start, 2, (uint32_t)(uintptr_t)c,
		    (uint32_t)((uintptr_t)c >> 32));
}

/* The old stack goes; the new one has the same address where nothing else took it meanwhile. */
static void coroutine_remap(struct adv *a, struct coroutine *c)
{
	void *at;

	if (munmap(c->stack, STACK_BYTES))
		die("munmap");
	churn_some(a);
	at = mmap(c->stack, STACK_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	c->stack = at == MAP_FAILED ? (char *)map(STACK_BYTES) : (char *)at;
}

static NOINLINE void resume(struct adv *a, struct coroutine *c)
{
	struct coroutine *outer = a->current;
	int on_main_stack = a->on_main_stack;

	a->current = c;
	a->on_main_stack = 0;
	c->running = 1;
	if (c->by_context)
		swapcontext(&c->back, &c->context);
	else
		adv_switch(&c->back_sp, c->sp);
	c->running = 0;
	a->on_main_stack = on_main_stack;
	a->current = outer;
}

static NOINLINE void trick_coroutine(struct adv *a)
{
	struct coroutine *c = &a->coroutines[draw(a, COROUTINES)];

	if (c->running || a->simple) {
		inner(a);
		return;
	}
	if (!c->alive) {
		if (draw(a, 2))
			coroutine_remap(a, c);
		coroutine_make(a, c);
	}
	for (uint32_t i = 1 + draw(a, 3); i > 0 && c->alive; i--) {
		resume(a, c);
		churn(a);
	}
}

/* Several coroutines on one stack: each is copied out when it yields and back when it resumes,
 * so the very same slots change their words between two allocations. */
static NOINLINE void trick_shared_stack(struct adv *a)
{
	struct coroutine *c = &a->shared[draw(a, SHARED)];
	char *top = a->shared_stack + SHARED_BYTES;

	if (a->on_shared || a->simple) {
		inner(a);
		return;
	}
	a->on_shared = 1;
	if (!c->alive) {
		c->owner = a;
		c->by_context = 0;
		c->rounds = 1 + (int)draw(a, 8);
		c->alive = 1;
		c->sp = first_frame(top, c, (int)draw(a, 2));
	} else {
		memcpy(top - c->image_bytes, c->image, c->image_bytes);
	}
	resume(a, c);
	c->image_bytes = (size_t)(top - (char *)c->sp);
	memcpy(c->image, c->sp, c->image_bytes);
	a->on_shared = 0;
	churn(a);
}

static NOINLINE void trick_other_stack(struct adv *a)
{
	int on_main_stack = a->on_main_stack;

	if (a->on_side || a->simple) {
		inner(a);
		return;
	}
	a->on_side = 1;
	a->on_main_stack = 0;
	/* The top moves, so the same frame is found at several places of this stack. */
	adv_on_stack(inner_of, a, a->side_stack + STACK_BYTES - 64 * draw(a, 4));
	a->on_main_stack = on_main_stack;
	a->on_side = 0;
	churn(a);
}

/* ---- modules and threads ------------------------------------------------------------------ */

static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;
static char module_path[2][4096];

static void trick_reload(struct adv *a)
{
	static const uint32_t constructed[2] = { 64, 128 };
	uint32_t which = draw(a, 2);
	typedef void (*call_fn)(void (*)(void *), void *);
	call_fn call;
	void *module;

	pthread_mutex_lock(&module_lock);
	module = dlopen(module_path[which], RTLD_NOW);
	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(3);
	}
	call = (call_fn)dlsym(module, "module_call");
	call(churn_of, a);
	call(churn_of, a);
	dlclose(module);
	pthread_mutex_unlock(&module_lock);
	/* The module's constructor and destructor. */
	a->truth.allocs++;
	a->truth.bytes += constructed[which];
	a->truth.frees++;
	churn(a);
}

static NOINLINE void exit_thread(struct adv *a, int depth)
{
	travelling here{ a };

	if (depth == 0)
		pthread_exit(nullptr);
	churn(a);
	if (depth > 0)
		exit_thread(a, depth - 1);
	KEEP_FRAME();
}

static void *child_main(void *arg)
{
	struct adv *a = (struct adv *)arg;

	self = a;
	for (uint32_t i = 1 + draw(a, 8); i > 0; i--)
		trick(a);
	if (draw(a, 2))
		exit_thread(a, (int)draw(a, 6));
	return nullptr;
}

/* A short thread; the C library gives the next one the same stack. */
static void trick_thread(struct adv *a)
{
	pthread_t thread;

	if (a->simple || draw(a, 4) != 0) {
		inner(a);
		return;
	}
	a->child->random = draw64(a) | 1;
	a->child->nest = 0;
	a->child->limit = a->child->truth.allocs + 200;
	if (pthread_create(&thread, nullptr, child_main, a->child))
		die("pthread_create");
	pthread_join(thread, nullptr);
	churn(a);
}

/* ---- drawing ------------------------------------------------------------------------------ */

static const struct {
	void (*run)(struct adv *);
	uint32_t weight;
} tricks[] = {
	{ trick_chain, 40 },
	{ trick_recurse, 30 },
	{ trick_deep, 1 },
	{ trick_alloca, 25 },
	{ trick_vla, 20 },
	{ trick_realigned, 20 },
	{ trick_realigned_arguments, 20 },
	{ trick_stackrealign, 20 },
	{ trick_tail, 25 },
	{ trick_registers, 30 },
	{ trick_clobber_rbp, 25 },
	{ trick_cfa_in_memory, 4 },
	{ trick_longjmp, 30 },
	{ trick_throw, 15 },
	{ trick_qsort, 15 },
	{ trick_alternate, 20 },
	{ trick_signal, 20 },
	{ trick_fault, 20 },
	{ trick_signal_leave, 15 },
	{ trick_coroutine, 60 },
	{ trick_shared_stack, 40 },
	{ trick_other_stack, 20 },
	{ trick_reload, 6 },
	{ trick_thread, 6 },
};

static NOINLINE void trick(struct adv *a)
{
	static uint32_t total;
	uint32_t sum = 0, at;

	if (!__atomic_load_n(&total, __ATOMIC_RELAXED)) {
		for (const auto &t : tricks)
			sum += t.weight;
		__atomic_store_n(&total, sum, __ATOMIC_RELAXED);
	}
	at = draw(a, __atomic_load_n(&total, __ATOMIC_RELAXED));
	a->nest++;
	for (const auto &t : tricks) {
		if (at < t.weight) {
			t.run(a);
			KEEP_FRAME();
			break;
		}
		at -= t.weight;
	}
	a->nest--;
}

/* ---- the run ------------------------------------------------------------------------------ */

static struct adv *adv_new(uint64_t seed, uint64_t limit)
{
	struct adv *a = (struct adv *)map(sizeof(*a));

	a->random = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		draw64(a);
	a->limit = limit;
	return a;
}

static void adv_stacks(struct adv *a)
{
	char *row = (char *)map((size_t)COROUTINES * STACK_BYTES);
	stack_t alternate = {};

	for (int i = 0; i < COROUTINES; i++) {
		a->coroutines[i].stack = row + (size_t)i * STACK_BYTES;
		a->coroutines[i].by_context = i & 1;
	}
	for (struct coroutine &c : a->shared)
		c.image = (char *)map(SHARED_BYTES);
	a->shared_stack = (char *)map(SHARED_BYTES);
	a->side_stack = (char *)map(STACK_BYTES);
	a->alternate_stack = (char *)map(STACK_BYTES);
	alternate.ss_sp = a->alternate_stack;
	alternate.ss_size = STACK_BYTES;
	if (sigaltstack(&alternate, nullptr))
		die("sigaltstack");
	a->child = adv_new(1, 0);
	a->child->simple = 1;
}

static void adv_add(struct adv *a, const struct adv *b)
{
	a->truth.allocs += b->truth.allocs;
	a->truth.bytes += b->truth.bytes;
	a->truth.frees += b->truth.frees;
	a->checksum ^= b->checksum;
}

static void adv_drop_all(struct adv *a)
{
	for (struct block &b : a->pool)
		if (b.at)
			drop(a, &b);
}

static void *adv_main(void *arg)
{
	struct adv *a = (struct adv *)arg;

	self = a;
	adv_stacks(a);
	a->on_main_stack = 1;
	while (a->truth.allocs + a->child->truth.allocs < a->limit)
		trick(a);
	adv_drop_all(a);
	adv_drop_all(a->child);
	adv_add(a, a->child);
	return nullptr;
}

static void find_modules(void)
{
	char exe[4000];
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (length < 0)
		die("/proc/self/exe");
	exe[length] = 0;
	slash = strrchr(exe, '/');
	*slash = 0;
	for (int i = 0; i < 2; i++)
		snprintf(module_path[i], sizeof(module_path[i]), "%s/lib_reload_%c.so", exe,
			 'a' + i);
}

int main(int argc, char **argv)
{
	uint64_t iterations = argc > 1 ? strtoull(argv[1], nullptr, 0) : 200000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], nullptr, 0) : 1;
	uint64_t threads = argc > 3 ? strtoull(argv[3], nullptr, 0) : 1;
	enum { MAX_THREADS = 64 };
	pthread_t thread[MAX_THREADS];
	struct adv *worlds[MAX_THREADS];

	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	find_modules();
	install_handlers();
	for (uint64_t i = 0; i < threads; i++)
		worlds[i] = adv_new(seed * 1000 + i, iterations / threads);
	for (uint64_t i = 1; i < threads; i++)
		if (pthread_create(&thread[i], nullptr, adv_main, worlds[i]))
			die("pthread_create");
	worlds[0]->is_main = 1;
	adv_main(worlds[0]);
	for (uint64_t i = 1; i < threads; i++) {
		pthread_join(thread[i], nullptr);
		adv_add(worlds[0], worlds[i]);
	}
	printf("checksum %016llx\n", (unsigned long long)worlds[0]->checksum);
	printf("truth total allocs=%llu bytes=%llu frees=%llu\n",
	       (unsigned long long)worlds[0]->truth.allocs,
	       (unsigned long long)worlds[0]->truth.bytes,
	       (unsigned long long)worlds[0]->truth.frees);
	return 0;
}
