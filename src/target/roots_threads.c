/* SPDX-License-Identifier: MIT */
#include "target/roots_parts.h"

#include "base/procfs.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>

enum {
	RED_ZONE_BYTES = 128,
	WORDS_PER_THREAD = 24,		/* registers, and a pointer or two to a stack */
	CONTROL_WORDS = PAGE_BYTES / 8, /* struct pthread is 2,304 bytes long */
	LINK_MAX_BYTES = 1024,		/* where in it the link of glibc's lists is, at most */
	CONTROLS_MAX = 4096,		/* glibc keeps a few of threads that have ended */
	VECTOR_MAX = 65536,
};

#define STACK_MAX_BYTES (UINT64_C(1) << 40)
#define GUARDED_MAX_BYTES (UINT64_C(64) << 20)
#define STATIC_TLS_MAX_BYTES (UINT64_C(16) << 20)
#define LIBC_DATA_MAX_BYTES (UINT64_C(4) << 20)

/* The first words of glibc's struct pthread; x86-64's ABI has the first two. */
enum { CONTROL_SELF = 0, CONTROL_VECTOR = 1, CONTROL_PTHREAD = 2, CONTROL_KNOWN_WORDS = 3 };

/* A struct pthread, which thread pointers point to, and what goes with it. */
struct control {
	uint64_t address;
	uint64_t stack_begin, stack_end; /* 0, 0: not known */
	uint64_t tls_begin, tls_end;
	uint64_t vector, vector_count; /* the thread's, of thread-local storage */
	int32_t tid;		       /* as the process counts them; 0 or -1: it has ended */
	bool on_stack;		       /* a thread's stack pointer is in its stack */
	uint32_t thread;	       /* index of the one that is stopped; UINT32_MAX: none */
};

struct threads {
	struct seep_roots_work *work;
	struct control *controls; /* by address */
	size_t count;
	size_t stack_word; /* index in struct pthread of (begin, bytes) of its stack; 0: not known */
	struct seep_ranges not_stack; /* the heap and thread-local storage */
	struct seep_ranges stacks;    /* of controls */
	struct seep_ranges pointers;  /* where stack pointers point */
};

static bool is_control(const struct seep_roots_work *work, uint64_t address)
{
	uint64_t words[CONTROL_KNOWN_WORDS];

	return address % 16 == 0 && seep_memory_read(work->memory, address, words, sizeof(words)) &&
	       words[CONTROL_SELF] == address && words[CONTROL_PTHREAD] == address;
}

static struct control *control_of(const struct threads *threads, const struct seep_thread *thread)
{
	if (thread->registers.fs_base)
		return seep_search_item(threads->controls, threads->count,
					sizeof(*threads->controls), thread->registers.fs_base);
	/* Its registers are not known: its end waits, and could not be stopped. */
	for (size_t i = 0; i < threads->count; i++)
		if (threads->controls[i].tid == thread->tid)
			return &threads->controls[i];
	return NULL;
}

static void add_control(struct threads *threads, uint64_t address, int32_t tid)
{
	*SEEP_APPEND(threads->controls, threads->count) =
		(struct control){ .address = address, .tid = tid, .thread = UINT32_MAX };
}

/*
 * The links of all of glibc's lists of threads, of those in use and of those kept, are at the same
 * place of struct pthread, and behind them is the thread's id; 0 or -1: it has ended. Returns where
 * the struct begins that has a link here; 0: none does.
 */
static uint64_t control_of_link(const struct seep_roots_work *work, uint64_t link)
{
	const struct seep_mapping *mapping = seep_maps_find(work->from->maps, link);
	const uint64_t before = mapping ? core_smaller(link - mapping->begin, LINK_MAX_BYTES - 8)
					: 0;
	uint64_t words[LINK_MAX_BYTES / 8];

	if (!seep_memory_read(work->memory, link - before, words, before))
		return 0;
	for (uint64_t back = CONTROL_KNOWN_WORDS * 8; back <= before; back += 8)
		if (words[(before - back) / 8] == link - back && is_control(work, link - back))
			return link - back;
	return 0;
}

struct link {
	uint64_t next;
	uint64_t previous;
	int32_t tid;
};

static void follow_list(struct threads *threads, uint64_t head, uint64_t first)
{
	const uint64_t control = control_of_link(threads->work, first);
	const uint64_t offset = first - control;
	const size_t most = 2 * threads->work->from->thread_count + CONTROLS_MAX;
	uint64_t previous = head;

	for (uint64_t at = first; control && at != head && threads->count < most;) {
		struct link link;

		if (!seep_memory_read(threads->work->memory, at, &link, sizeof(link)) ||
		    link.previous != previous || !is_control(threads->work, at - offset))
			return;
		add_control(threads, at - offset, link.tid);
		previous = at;
		at = link.next;
	}
}

/* Most of what the C library's data points to are its functions and its texts. */
static bool may_be_link(const struct seep_roots_work *work, uint64_t address)
{
	const struct seep_mapping *mapping = seep_maps_find(work->from->maps, address);

	return mapping && mapping->writable;
}

/* Any two words in the C library's data may be the head of such a list. */
static void find_lists(struct threads *threads, uint64_t begin, uint64_t end)
{
	const struct seep_roots_work *work = threads->work;
	const size_t count = (size_t)(end - begin) / 8;
	SEEP_FREED uint64_t *words = seep_xcalloc(count + 1, sizeof(*words));

	if (seep_memory_read(work->memory, begin, words, count * sizeof(*words)))
		for (size_t i = 0; i + 2 <= count; i++) {
			const uint64_t head = begin + i * 8, next = words[i];

			if (next == head || next % 8 != 0 || words[i + 1] % 8 != 0 || next == 0 ||
			    words[i + 1] == 0 || (next >= begin && next < end) ||
			    !may_be_link(work, next) || !may_be_link(work, words[i + 1]) ||
			    seep_roots_word(work, next + 8) != head)
				continue;
			follow_list(threads, head, next);
		}
}

static void find_controls(struct threads *threads)
{
	const struct seep_roots_from *from = threads->work->from;
	size_t count = 0;

	for (size_t i = 0; i < threads->work->libc.count; i++) {
		const struct scan_range *data = &threads->work->libc.items[i];

		if (data->end - data->begin < LIBC_DATA_MAX_BYTES)
			find_lists(threads, (data->begin + 7) & ~UINT64_C(7), data->end);
	}
	for (size_t i = 0; i < from->thread_count; i++)
		if (from->threads[i].stopped &&
		    is_control(threads->work, from->threads[i].registers.fs_base))
			add_control(threads, from->threads[i].registers.fs_base,
				    from->threads[i].tid);
	seep_search_sort(threads->controls, threads->count, sizeof(*threads->controls));
	for (size_t i = 0; i < threads->count; i++) {
		struct control *last = count ? &threads->controls[count - 1] : NULL;

		/* Of a thread that is in its last instructions glibc may say that it has ended. */
		if (!last || last->address != threads->controls[i].address)
			threads->controls[count++] = threads->controls[i];
		else if (last->tid <= 0)
			last->tid = threads->controls[i].tid;
	}
	threads->count = count;
}

/* Are these where the stack begins in which @control is, and its length? */
static bool is_stack(const struct threads *threads, const struct control *control, uint64_t begin,
		     uint64_t bytes)
{
	const struct seep_mapping *mapping;

	if (begin < PAGE_BYTES || begin >= control->address || bytes >= STACK_MAX_BYTES ||
	    begin + bytes <= control->address)
		return false;
	mapping = seep_maps_find(threads->work->from->maps, control->address);
	return mapping && begin + bytes <= mapping->end;
}

/* At the same place of struct pthread in all threads: where it makes sense most often. */
static void find_stack_word(struct threads *threads)
{
	uint32_t votes[CONTROL_WORDS] = { 0 };
	size_t best = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct control *control = &threads->controls[i];
		uint64_t words[CONTROL_WORDS] = { 0 };

		for (size_t half = 0; half < 2; half++)
			if (!seep_memory_read(threads->work->memory,
					      control->address + half * PAGE_BYTES / 2,
					      &words[half * CONTROL_WORDS / 2], PAGE_BYTES / 2))
				break;
		for (size_t k = CONTROL_KNOWN_WORDS; k + 1 < CONTROL_WORDS; k++)
			if (is_stack(threads, control, words[k], words[k + 1]))
				votes[k] += (words[k] | words[k + 1]) % PAGE_BYTES == 0 ? 2 : 1;
	}
	for (size_t k = 0; k < CONTROL_WORDS; k++)
		if (votes[k] > votes[best])
			best = k;
	threads->stack_word = best;
}

static void find_stack(const struct threads *threads, struct control *control)
{
	const struct seep_maps *maps = threads->work->from->maps;
	uint64_t words[2];

	if (threads->stack_word &&
	    seep_memory_read(threads->work->memory, control->address + threads->stack_word * 8,
			     words, sizeof(words)) &&
	    is_stack(threads, control, words[0], words[1])) {
		control->stack_begin = words[0];
		control->stack_end = words[0] + words[1];
		return;
	}
	/* The first thread's control block is not on its stack. */
	for (size_t i = maps->count; i-- > 0 && control->tid > 0;)
		if (strcmp(maps->items[i].name, "[stack]") == 0) {
			control->stack_begin = maps->items[i].begin;
			control->stack_end = maps->items[i].end;
			return;
		}
}

/*
 * The vector has for each module where its variables are: of modules that were there at the start
 * in one run right below the control block. In front of it is its length.
 */
static void find_tls(const struct threads *threads, struct control *control)
{
	const struct seep_maps *maps = threads->work->from->maps;
	const struct seep_mapping *mapping = seep_maps_find(maps, control->address);
	const bool is_on_stack = control->stack_begin <= control->address &&
				 control->address < control->stack_end;
	const uint64_t lowest = is_on_stack ? control->stack_begin : mapping ? mapping->begin : 0;
	SEEP_FREED uint64_t(*entries)[2] = NULL;
	uint64_t count;

	control->vector = seep_roots_word(threads->work, control->address + CONTROL_VECTOR * 8);
	control->vector_count = seep_roots_word(threads->work, control->vector - 16);
	control->tls_begin = control->address;
	count = core_smaller(control->vector_count, VECTOR_MAX);
	entries = seep_xcalloc(count, sizeof(*entries));
	if (!seep_memory_read(threads->work->memory, control->vector + 16, entries,
			      count * sizeof(*entries)))
		count = 0;
	for (uint64_t i = 0; i < count; i++)
		if (entries[i][0] < control->tls_begin && entries[i][0] >= lowest &&
		    control->address - entries[i][0] <= STATIC_TLS_MAX_BYTES)
			control->tls_begin = entries[i][0] & ~(uint64_t)7;
	control->tls_end = control->address + PAGE_BYTES;
	if (is_on_stack)
		control->tls_end = control->stack_end;
	else if (mapping && control->tls_end > mapping->end)
		control->tls_end = mapping->end;
}

static void add_word(struct seep_roots_work *work, uint64_t word, enum scan_root_kind kind,
		     uint32_t id)
{
	uint64_t *at = &work->roots->words[work->word_count];

	*at = word;
	seep_roots_add_words(work, at, 1, kind, SCAN_RULE_STACK_POINTER, id);
}

static void add_tls(struct threads *threads, const struct control *control)
{
	const uint64_t vector_at = control->address + CONTROL_VECTOR * 8;
	struct seep_roots_work *work = threads->work;
	const uint32_t id = control->thread;

	seep_roots_add(work, vector_at, vector_at + sizeof(control->vector), SCAN_ROOT_TLS, id)
		->rule = SCAN_RULE_THREAD_VECTOR;
	if (control->tid <= 0)
		return;
	/* In a block: it is kept as a whole. */
	if (seep_roots_in_block(work->from->scan, control->address))
		add_word(work, control->address, SCAN_ROOT_TLS, id);
	seep_roots_add_but(work, control->tls_begin, control->tls_end, &work->heap, SCAN_ROOT_TLS,
			   id);
	/* The first thread's vector is not on the heap. */
	if (control->vector_count <= VECTOR_MAX)
		seep_roots_add_but(work, control->vector - 16,
				   control->vector + (control->vector_count + 1) * 16, &work->heap,
				   SCAN_ROOT_TLS, id);
	seep_ranges_add(&work->cut, control->tls_begin, control->tls_end);
}

static bool is_exiting(const struct threads *threads, const struct seep_thread *thread)
{
	const struct seep_roots_from *from = threads->work->from;
	const struct control *control = control_of(threads, thread);

	if (!from->at_exit || !from->facts || from->facts->exit_tid == 0)
		return false;
	/* Another PID namespace gives it another number. */
	return (uint32_t)thread->tid == from->facts->exit_tid ||
	       (control && thread->registers.rsp >= control->stack_begin &&
		thread->registers.rsp <= from->facts->exit_stack &&
		from->facts->exit_stack < control->stack_end);
}

static void add_registers(struct threads *threads, const struct seep_thread *thread, uint32_t id)
{
	const struct user_regs_struct *r = &thread->registers;
	const uint64_t general[] = { r->rax, r->rbx, r->rcx, r->rdx,	r->rsi, r->rdi,
				     r->rbp, r->r8,  r->r9,  r->r10,	r->r11, r->r12,
				     r->r13, r->r14, r->r15, r->gs_base };
	struct seep_roots_work *work = threads->work;
	uint64_t *words = &work->roots->words[work->word_count];
	size_t count = sizeof(general) / sizeof(general[0]);

	if (is_exiting(threads, thread)) {
		for (count = 0; count < LEDGER_EXIT_REGISTERS; count++)
			words[count] = work->from->facts->exit_registers[count];
	} else {
		memcpy(words, general, sizeof(general));
		if (thread->vectors) {
			memcpy(&words[count], thread->vectors,
			       thread->vector_count * sizeof(*words));
			count += thread->vector_count;
		}
	}
	seep_roots_add_words(work, words, count, SCAN_ROOT_REGISTER, SCAN_RULE_NONE, id);
}

/* What a stack still holds, from @pointer to @end. */
static void add_stack(struct threads *threads, uint64_t pointer, uint64_t end, uint32_t id)
{
	struct seep_roots_work *work = threads->work;

	/* One in a block is kept as a whole: where in it the dead part ends, nobody can tell. */
	if (seep_roots_in_block(work->from->scan, pointer))
		add_word(work, pointer, SCAN_ROOT_STACK, id);
	seep_roots_add_but(work, pointer, end, &threads->not_stack, SCAN_ROOT_STACK, id);
}

/*
 * Does a stack alone lie between a guard and here? The kernel joins it with mappings above, so
 * the guard may be that of a thread's stack below. One of the library's says nothing.
 */
static bool has_guard(const struct threads *threads, const struct seep_mapping *mapping,
		      uint64_t pointer)
{
	uint64_t begin = mapping->begin, end;

	return mapping > threads->work->from->maps->items && mapping[-1].end == begin &&
	       !mapping[-1].readable && !mapping[-1].writable &&
	       !seep_ranges_have(&threads->work->heap, begin - 1) &&
	       pointer - begin <= GUARDED_MAX_BYTES &&
	       seep_ranges_gap(&threads->stacks, &begin, mapping->end, &end) &&
	       begin == mapping->begin && end == mapping->end;
}

/* A stack that glibc does not know: of a signal handler, a coroutine, a bare clone(). */
static void add_foreign_stack(struct threads *threads, uint64_t pointer, uint64_t live, uint32_t id)
{
	struct seep_roots_work *work = threads->work;
	const struct seep_mapping *mapping = seep_maps_find(work->from->maps, pointer);

	if (!mapping || !mapping->writable)
		return;
	if (seep_ranges_have(&work->heap, pointer)) {
		add_stack(threads, pointer, pointer, id);
		return;
	}
	/* Without a guard below, what is below may be anything; all of it remains a root. */
	if (!has_guard(threads, mapping, pointer) || seep_ranges_have(&work->globals, pointer))
		return;
	add_stack(threads, live, mapping->end, id);
	seep_ranges_add(&work->cut, mapping->begin, mapping->end);
}

static void add_thread(struct threads *threads, const struct seep_thread *thread, uint32_t id)
{
	struct seep_roots_work *work = threads->work;
	struct control *control = control_of(threads, thread);
	const bool is_at_exit = is_exiting(threads, thread);
	const uint64_t pointer = is_at_exit ? work->from->facts->exit_stack : thread->registers.rsp;
	uint64_t live = pointer;

	if (control)
		control->thread = id;
	add_registers(threads, thread, id);
	/* A function that calls none may keep what it has below the stack pointer. */
	if (!is_at_exit && (int64_t)thread->registers.orig_rax < 0 && pointer > RED_ZONE_BYTES)
		live -= RED_ZONE_BYTES;
	seep_ranges_add(&threads->pointers, pointer, pointer + 1);
	if (control && pointer >= control->stack_begin && pointer < control->stack_end) {
		if (live < control->stack_begin)
			live = control->stack_begin;
		add_stack(threads, live, control->stack_end, id);
		seep_ranges_add(&work->cut, control->stack_begin, control->stack_end);
		control->on_stack = true;
	} else {
		add_foreign_stack(threads, pointer, live, id);
	}
}

static void cut_dead_stacks(struct threads *threads)
{
	seep_ranges_settle(&threads->pointers);
	for (size_t i = 0; i < threads->count; i++) {
		const struct control *control = &threads->controls[i];
		const size_t at = seep_ranges_from(&threads->pointers, control->stack_begin);

		if (control->tid <= 0 && (at == threads->pointers.count ||
					  threads->pointers.items[at].begin >= control->stack_end))
			seep_ranges_add(&threads->work->cut, control->stack_begin,
					control->stack_end);
	}
}

/* The first thread has ended before the others, or a thread other than it called fork(). */
static void cut_first_stack(struct threads *threads)
{
	const struct seep_roots_from *from = threads->work->from;
	const struct seep_mapping *mapping;
	struct seep_procfs_stat stat;

	for (size_t i = 0; i < from->thread_count; i++) {
		const struct seep_thread *thread = &from->threads[i];
		const struct control *control = control_of(threads, thread);

		if (thread->gone)
			continue;
		mapping = thread->stopped && control && control->stack_end
				  ? seep_maps_find(from->maps, control->stack_begin)
				  : NULL;
		if (!mapping || strcmp(mapping->name, "[stack]") == 0)
			return;
	}
	/* Arguments and environment are above, and remain. */
	if (!seep_procfs_stat((uint32_t)from->maps->tid, &stat))
		return;
	mapping = seep_maps_find(from->maps, stat.stack_begin);
	if (mapping && strcmp(mapping->name, "[stack]") == 0)
		seep_ranges_add(&threads->work->cut, mapping->begin, stat.stack_begin);
}

static void find_bounds(struct threads *threads)
{
	find_controls(threads);
	find_stack_word(threads);
	seep_ranges_add_all(&threads->not_stack, &threads->work->heap);
	for (size_t i = 0; i < threads->count; i++) {
		struct control *control = &threads->controls[i];

		find_stack(threads, control);
		find_tls(threads, control);
		seep_ranges_add(&threads->stacks, control->stack_begin, control->stack_end);
		if (control->tid > 0)
			seep_ranges_add(&threads->not_stack, control->tls_begin, control->tls_end);
	}
	seep_ranges_settle(&threads->not_stack);
	seep_ranges_settle(&threads->stacks);
}

static void make_room_for_words(const struct threads *threads)
{
	const struct seep_roots_from *from = threads->work->from;
	size_t count = threads->count + 1;

	for (size_t i = 0; i < from->thread_count; i++)
		count += WORDS_PER_THREAD +
			 (from->threads[i].vectors ? from->threads[i].vector_count : 0);
	threads->work->roots->words = seep_xcalloc(count, sizeof(uint64_t));
}

void seep_roots_find_threads(struct seep_roots_work *work)
{
	const struct seep_roots_from *from = work->from;
	struct threads threads = { .work = work };

	find_bounds(&threads);
	make_room_for_words(&threads);
	for (uint32_t i = 0; i < from->thread_count; i++)
		if (from->threads[i].stopped)
			add_thread(&threads, &from->threads[i], i);
	for (size_t i = 0; i < threads.count; i++) {
		const struct control *control = &threads.controls[i];

		/* While the thread runs elsewhere, where its own stack ends cannot be told. */
		if (control->thread != UINT32_MAX && !control->on_stack) {
			add_stack(&threads, control->stack_begin, control->stack_end,
				  control->thread);
			seep_ranges_add(&work->cut, control->stack_begin, control->stack_end);
		}
		add_tls(&threads, control);
	}
	cut_dead_stacks(&threads);
	cut_first_stack(&threads);
	seep_ranges_done(&threads.not_stack);
	seep_ranges_done(&threads.stacks);
	seep_ranges_done(&threads.pointers);
	free(threads.controls);
}
