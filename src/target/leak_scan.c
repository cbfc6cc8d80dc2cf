/* SPDX-License-Identifier: MIT */
#include "target/leak_scan.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/work.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_facts.h"
#include "base/maps.h"
#include "target/kept_result.h"
#include "target/present_pages.h"
#include "target/remote_memory.h"
#include "target/roots.h"
#include "target/served_files.h"
#include "target/stop.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_BLOCKS (UINT64_C(1) << 16)	     /* of a result that is copied */
#define KEPT_FIRST_BYTES (UINT64_C(8) << 20) /* of its memory, until its blocks are known */
#define KEPT_MOST_BYTES (UINT64_C(4) << 30)

/* What is needed of a scan as long as there is one. */
struct seep_leak_scan_private {
	struct seep_thread *threads; /* as they were when it was stopped */
	size_t thread_count;
	struct seep_maps maps;
	struct seep_memory *memory;
	struct seep_roots roots;
	struct seep_kernel_held held;
};

/* A scan while it is made. */
struct job {
	pid_t pid;
	const struct ledger_header *header;
	const struct seep_leak_scan_options *options;
	struct seep_leak_scan *scan;
	struct seep_leak_scan_private *private; /* the scan's */
	struct seep_stopped *stopped;		/* NULL: it goes on */
	pid_t copy;				/* 0 none */
	int own_memory;				/* to note what is lost; -1 it is not */
	struct ledger_facts *facts;		/* NULL: it has none */
	struct seep_error *err;
	int rc;
	/* By turns: the process will be changed; now it may be; it is not any more. */
	sem_t will_change, may_change, is_held;
	bool has_asked, in_place; /* it needs no copy */
};

static void keep_threads(struct job *job)
{
	struct seep_stopped *stopped = job->stopped;

	job->private->thread_count = stopped->thread_count;
	job->private->threads = seep_xmemdup(stopped->threads,
					     stopped->thread_count * sizeof(*stopped->threads));
	for (size_t i = 0; i < stopped->thread_count; i++) {
		stopped->threads[i].vectors = NULL; /* which are those of the copy now */
		if (!stopped->threads[i].stopped)
			seep_texts_add(
				&job->scan->caveats,
				"thread %d could not be stopped: what only its registers and "
				"stack point to looks lost",
				stopped->threads[i].tid);
	}
}

static void release(struct job *job)
{
	uint64_t began_ns;

	if (!job->stopped)
		return;
	began_ns = job->stopped->began_ns;
	seep_stop_release(job->stopped);
	job->stopped = NULL;
	job->scan->pause_ns = seep_monotonic_ns() - began_ns;
}

/*
 * Nobody may trace it, or somebody else does. At its end one thread waits for us and says itself
 * where its stack begins; what others do meanwhile nobody knows.
 */
static int take_waiting(struct job *job)
{
	struct seep_leak_scan_private *private = job->private;
	DIR *threads = seep_procfs_threads(job->pid);
	pid_t tid;

	if (!threads)
		return -job->err->code;
	while ((tid = seep_procfs_thread(threads)))
		*SEEP_APPEND(private->threads,
			     private->thread_count) = (struct seep_thread){ .tid = tid };
	seep_procfs_threads_done(threads);
	job->scan->method = SEEP_SCAN_WAITING;
	job->scan->at_ns = seep_monotonic_ns();
	seep_texts_add(&job->scan->caveats, "the process was not stopped, it waited at its end: %s",
		       job->err->text);
	/* Where they cannot be read, why it cannot be traced says more. */
	return seep_maps_read(job->pid, &private->maps, NULL) < 0 ? -job->err->code : 0;
}

/* The one that waits is as good as stopped. */
static void find_waiting(struct job *job)
{
	size_t others = 0;

	for (size_t i = 0; i < job->private->thread_count; i++) {
		struct seep_thread *thread = &job->private->threads[i];

		thread->stopped = job->facts && job->facts->exit_tid == (uint32_t)thread->tid;
		if (thread->stopped)
			thread->registers.rsp = job->facts->exit_stack;
		else
			others++;
	}
	if (others)
		seep_texts_add(
			&job->scan->caveats,
			"%zu threads ran meanwhile: what only their registers point to looks lost",
			others);
}

/* The addresses in a ledger mean nothing in what its process became by exec. */
static int check_program(const struct job *job)
{
	if (seep_maps_of_file(&job->private->maps, job->options->ledger_fd))
		return 0;
	return seep_fail(job->err, SEEP_ENOTFOUND, "the process runs another program by now");
}

/* Who is killed while the process runs our call leaves it in the middle: let signals wait. */
static void ask_to_change(struct job *job)
{
	job->has_asked = true;
	(void)sem_post(&job->will_change);
	while (sem_wait(&job->may_change) != 0)
		;
}

/* No call is made in it then: what the kernel reads for that may be of such a file. */
static bool maps_served_files(const struct job *job)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges served;

	seep_served_find(job->private->maps.tid, &served);
	return served.count;
}

/* Now, while it stands: a copy has no descriptors. */
static void read_held(struct job *job)
{
	struct seep_kernel_held *held = &job->private->held;

	seep_kernel_held_read(job->private->maps.tid, held);
	if (held->is_partial)
		seep_texts_add(&job->scan->caveats,
			       "what epoll keeps for the process could not be read: who knows what "
			       "that points to");
}

/* With what forks leave out. */
static int copy_all(struct job *job, struct seep_error *why)
{
	const struct seep_maps *maps = &job->private->maps;
	int rc = seep_stop_copy(job->stopped, &job->copy, why);

	if (rc == 0)
		rc = seep_stop_complete(maps, job->copy,
					seep_maps_of_file(maps, job->options->ledger_fd), why);
	if (rc < 0) {
		seep_copy_end(job->copy);
		job->copy = 0;
	}
	return rc;
}

/* From here on its memory stands still: that of a copy, or its own for as long as it is stopped. */
static int hold_still(struct job *job)
{
	struct seep_leak_scan *scan = job->scan;
	struct seep_error why = { 0 };
	int rc;

	rc = seep_stop(job->pid, &job->stopped, job->err);
	if (rc == -SEEP_EREFUSED && job->options->moment == SEEP_SCAN_AT_EXIT) {
		rc = take_waiting(job);
		if (rc == 0)
			rc = check_program(job);
		if (rc == 0)
			read_held(job);
		return rc;
	}
	if (rc < 0)
		return rc;
	scan->at_ns = job->stopped->stopped_ns;
	seep_stop_finish_resizes(job->stopped, job->header, job->options->ledger_fd,
				 job->options->moment != SEEP_SCAN_DYING, &scan->caveats);
	keep_threads(job);
	rc = seep_maps_read(job->pid, &job->private->maps, job->err);
	if (rc == 0)
		rc = check_program(job);
	if (rc < 0)
		return rc;
	scan->method = SEEP_SCAN_STOPPED;
	read_held(job);
	if (job->options->notes_lost)
		job->own_memory = seep_lost_memory(&job->private->maps, job->stopped);
	job->in_place = job->options->moment == SEEP_SCAN_AT_EXIT &&
			seep_stop_is_small(job->stopped);
	/* Who dies makes no system call any more, nor does anybody wait for it to go on. */
	if (job->options->moment == SEEP_SCAN_DYING || job->in_place)
		return 0;
	if (maps_served_files(job)) {
		seep_texts_add(
			&job->scan->caveats,
			"the process stood still for the whole scan, and what it maps of files "
			"that a process of another user serves (FUSE) was not looked through");
		return 0;
	}
	ask_to_change(job);
	if (seep_stop_may_copy(job->stopped, &why) && copy_all(job, &why) == 0) {
		scan->method = SEEP_SCAN_COPY_ON_WRITE;
		release(job);
	} else {
		seep_texts_add(&job->scan->caveats,
			       "the process stood still for the whole scan: %s", why.text);
	}
	return 0;
}

static void read_facts(struct job *job)
{
	const uint64_t at = job->header->blocks.facts;
	struct ledger_facts *facts = seep_xcalloc(1, sizeof(*facts));

	if (at && seep_memory_read(job->private->memory, at, facts, sizeof(*facts)) &&
	    facts->bytes == sizeof(*facts)) {
		job->facts = facts;
		return;
	}
	free(facts);
	seep_texts_add(&job->scan->caveats,
		       "what libseep.so notes of itself could not be read: its own memory counts "
		       "as the program's");
}

/* Were there ever allocations that were not recorded? */
static bool is_filtered(const struct job *job)
{
	struct ledger_control control;

	return job->header->origin == LEDGER_ORIGIN_ATTACH ||
	       (pread(job->options->ledger_fd, &control, sizeof(control), LEDGER_PAGE_BYTES) ==
			(ssize_t)sizeof(control) &&
		control.filtered_once);
}

static void find_roots(struct job *job, struct seep_untouched *pages)
{
	struct seep_leak_scan_private *private = job->private;
	const struct seep_roots_from from = {
		.memory = private->memory,
		.maps = &private->maps,
		.threads = private->threads,
		.thread_count = private->thread_count,
		.scan = &job->scan->marked,
		.header = job->header,
		.facts = job->facts,
		.held = &private->held,
		.at_exit = job->options->moment == SEEP_SCAN_AT_EXIT,
		.filtered = is_filtered(job),
		.pages = pages,
	};

	seep_roots_find(&from, &private->roots);
	for (size_t i = 0; i < private->roots.caveats.count; i++)
		seep_texts_add(&job->scan->caveats, "%s", private->roots.caveats.items[i]);
}

/* Then nothing can be read, and nothing was seen that keeps blocks alive. */
static bool has_ended(const struct job *job)
{
	const struct seep_maps *maps = &job->private->maps;
	const uint64_t page_map = job->header->blocks.leaves + LEDGER_LEAVES * sizeof(uint64_t);
	uint8_t byte;

	if (seep_memory_read(job->private->memory, page_map, &byte, 1))
		return false;
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].executable)
			return !seep_memory_read(job->private->memory, maps->items[i].begin, &byte,
						 1);
	return true;
}

static int mark(struct job *job)
{
	struct seep_leak_scan_private *private = job->private;
	struct scan *marked = &job->scan->marked;
	const struct scan_memory memory = seep_memory_for_scan(private->memory);
	SEEP_RELEASED(seep_ranges_done)
	struct seep_ranges vtables = seep_roots_vtables(&private->maps);
	SEEP_RELEASED(seep_untouched_done) struct seep_untouched untouched;
	struct scan_options options = {
		.vtables = vtables.items,
		.vtable_count = vtables.count,
		.untouched = seep_untouched_bytes,
		.untouched_user = &untouched,
		.want_chains = job->options->want_chains,
	};
	int rc;

	seep_memory_bound(private->maps.tid, &options);
	seep_untouched_init(&untouched, job->copy, &private->maps);
	rc = scan_read_blocks(marked, &memory, &options, &job->header->blocks);
	if (rc == 0) {
		seep_memory_keep(private->memory,
				 (options.memory_max_bytes - marked->need_bytes) / 2);
		find_roots(job, &untouched);
		scan_mark(marked, private->roots.items, private->roots.count);
		rc = scan_finish(marked, &job->scan->result);
		job->scan->result.is_blind |= private->held.is_partial;
	}
	if (seep_work_is_interrupted())
		return seep_fail(job->err, SEEP_ESYS, "the leak check was interrupted");
	if (has_ended(job))
		return seep_fail(job->err, SEEP_ENOTFOUND,
				 "%s was killed while it was looked through",
				 job->copy ? "the copy of the process" : "the process");
	if (rc == -SCAN_EBLOCKS)
		return seep_fail(job->err, SEEP_ECORRUPT,
				 "seep's own list of its live blocks is damaged");
	if (rc == -SCAN_EROOM)
		return seep_fail(job->err, SEEP_ESYS,
				 "a scan of its blocks needs %s of memory; it may take %s",
				 seep_bytes_text(marked->need_bytes).text,
				 seep_bytes_text(options.memory_max_bytes).text);
	return rc < 0 ? seep_fail(job->err, SEEP_ESYS, "there is not enough memory to scan it") : 0;
}

static void keep_contents(struct job *job)
{
	struct seep_leak_scan *scan = job->scan;
	const struct scan_result *result = &scan->result;

	scan->content_bytes = job->options->dump_bytes;
	scan->contents = seep_xcalloc(result->block_count, sizeof(*scan->contents));
	for (uint64_t i = 0; i < result->block_count; i++) {
		const struct scan_block *block = scan_result_block(result, i);
		size_t bytes = (size_t)core_smaller(block->size, scan->content_bytes);
		uint8_t *contents = seep_xmalloc(bytes);

		if (seep_memory_read(job->private->memory, block->address, contents, bytes))
			scan->contents[i] = contents;
		else
			free(contents);
	}
}

static int look_through(struct job *job)
{
	int rc = seep_memory_open(job->copy ? job->copy : job->private->maps.tid, KEPT_MOST_BYTES,
				  &job->private->memory, job->err);

	if (rc < 0)
		return rc;
	seep_memory_keep(job->private->memory, KEPT_FIRST_BYTES);
	if (job->copy || job->in_place)
		seep_memory_use_file(job->private->memory);
	read_facts(job);
	if (job->scan->method == SEEP_SCAN_WAITING)
		find_waiting(job);
	rc = mark(job);
	if (rc == 0 && job->own_memory >= 0)
		seep_lost_note(&job->scan->marked, &job->scan->result, job->own_memory);
	if (rc == 0 && job->options->dump_bytes)
		keep_contents(job);
	return rc;
}

static void *do_job(void *argument)
{
	struct job *job = argument;
	uint64_t held_ns;

	job->rc = hold_still(job);
	if (!job->has_asked)
		(void)sem_post(&job->will_change);
	(void)sem_post(&job->is_held);
	held_ns = seep_monotonic_ns();
	if (job->rc == 0)
		job->rc = look_through(job);
	release(job);
	seep_copy_end(job->copy);
	if (job->private->memory)
		seep_memory_forget(job->private->memory);
	if (job->own_memory >= 0)
		(void)close(job->own_memory);
	job->scan->mark_ns = seep_monotonic_ns() - held_ns;
	return NULL;
}

/* In a thread of its own, at whose end the kernel lets go whatever we could not: stop.h. */
static void do_in_thread(struct job *job)
{
	pthread_t thread;
	sigset_t all, held;
	int problem;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS); /* base/shared_map.h */
	(void)pthread_sigmask(SIG_SETMASK, &all, &held);
	problem = pthread_create(&thread, NULL, do_job, job);
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	while (problem == 0 && sem_wait(&job->will_change) != 0)
		;
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)sem_post(&job->may_change);
	while (problem == 0 && sem_wait(&job->is_held) != 0)
		;
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	if (problem == 0)
		(void)pthread_join(thread, NULL);
	else
		job->rc = seep_fail_errno(job->err, problem, "cannot start a thread");
}

int seep_leak_scan(pid_t pid, const struct ledger_header *header,
		   const struct seep_leak_scan_options *options, struct seep_leak_scan **ret_scan,
		   struct seep_error *err)
{
	struct seep_leak_scan *scan = seep_xcalloc(1, sizeof(*scan));
	struct job job = {
		.pid = pid, .header = header, .options = options, .scan = scan, .err = err
	};

	job.own_memory = -1;
	(void)sem_init(&job.will_change, 0, 0);
	(void)sem_init(&job.may_change, 0, 0);
	(void)sem_init(&job.is_held, 0, 0);
	scan->private = job.private = seep_xcalloc(1, sizeof(*scan->private));
	if (options->moment == SEEP_SCAN_DYING)
		(void)do_job(&job);
	else
		do_in_thread(&job);
	free(job.facts);
	if (job.rc < 0) {
		seep_leak_scan_free(scan);
		return job.rc;
	}
	if (scan->marked.strange)
		seep_texts_add(
			&scan->caveats,
			"%llu entries of seep's list of live blocks make no sense and were passed "
			"over",
			(unsigned long long)scan->marked.strange);
	if (scan->marked.overlaps)
		seep_texts_add(
			&scan->caveats,
			"%llu blocks lie over others, whose free() was not seen: one of each two "
			"was left out",
			(unsigned long long)scan->marked.overlaps);
	if (!options->want_chains && scan->marked.block_count <= KEPT_BLOCKS) {
		seep_result_keep(&scan->result);
		seep_memory_close(scan->private->memory);
		scan->private->memory = NULL;
		scan->marked.blocks = NULL;
		scan->marked.private = NULL;
	}
	*ret_scan = scan;
	return 0;
}

void seep_leak_scan_free(struct seep_leak_scan *scan)
{
	struct seep_leak_scan_private *private;

	if (!scan)
		return;
	private = scan->private;
	for (uint64_t i = 0; scan->contents && i < scan->result.block_count; i++)
		free(scan->contents[i]);
	free(scan->contents);
	for (size_t i = 0; i < private->thread_count; i++)
		free(private->threads[i].vectors);
	free(private->threads);
	seep_roots_done(&private->roots);
	seep_maps_done(&private->maps);
	if (private->memory)
		seep_memory_close(private->memory);
	else
		seep_result_free(&scan->result);
	seep_kernel_held_done(&private->held);
	seep_texts_done(&scan->caveats);
	free(private);
	free(scan);
}

const char *seep_scan_method_name(enum seep_scan_method method)
{
	static const char *const names[] = {
		[SEEP_SCAN_COPY_ON_WRITE] = "copy-on-write",
		[SEEP_SCAN_STOPPED] = "stopped",
		[SEEP_SCAN_WAITING] = "waiting",
	};

	return names[method];
}

/* The thread whose root @address is in; 0: of none that is known. */
static pid_t thread_of(const struct seep_leak_scan_private *private, uint64_t address)
{
	for (size_t i = 0; i < private->roots.count; i++) {
		const struct scan_root *root = &private->roots.items[i];

		if (address >= root->begin && address < root->end &&
		    (root->kind == SCAN_ROOT_TLS || root->kind == SCAN_ROOT_REGISTER ||
		     root->kind == SCAN_ROOT_STACK))
			return root->id < private->thread_count ? private->threads[root->id].tid
								: 0;
	}
	return 0;
}

/* .bss has no name of its own: it is the module's whose file is mapped right before it. */
static void find_mapping(const struct seep_leak_scan_private *private, bool is_module,
			 struct seep_leak_place *place)
{
	const struct seep_mapping *mapping = seep_maps_find(&private->maps, place->address);
	const struct seep_mapping *first = private->maps.items;

	while (is_module && mapping && mapping > first && mapping[-1].end == mapping->begin &&
	       (!mapping->name[0] || strcmp(mapping->name, mapping[-1].name) == 0))
		mapping--;
	if (!mapping)
		return;
	place->offset = place->address - mapping->begin;
	place->name = mapping->name[0] ? seep_xstrdup(mapping->name) : NULL;
}

void seep_leak_scan_place(const struct seep_leak_scan *scan, const struct scan_link *link,
			  struct seep_leak_place *ret_place)
{
	static const char *const kinds[SCAN_ROOT_COUNT] = {
		[SCAN_ROOT_GLOBAL] = "module data",
		[SCAN_ROOT_TLS] = "thread-local storage",
		[SCAN_ROOT_REGION] = "registered memory",
		[SCAN_ROOT_MAPPING] = "mapping",
		[SCAN_ROOT_EPOLL] = "epoll",
		[SCAN_ROOT_TIMER] = "timer",
		[SCAN_ROOT_REGISTER] = "register",
		[SCAN_ROOT_STACK] = "stack",
		[SCAN_ROOT_IGNORED] = "ignored block",
	};
	const char *kind = link->root < SCAN_ROOT_COUNT && kinds[link->root] ? kinds[link->root]
									     : "memory";
	const pid_t thread = thread_of(scan->private, link->from);

	*ret_place = (struct seep_leak_place){
		.from = thread ? seep_xasprintf("%s of thread %d", kind, thread)
			       : seep_xstrdup(kind),
		.address = link->from & SEEP_ROOTS_NO_ADDRESS ? 0 : link->from,
	};
	if (link->root == SCAN_ROOT_GLOBAL || link->root == SCAN_ROOT_MAPPING)
		find_mapping(scan->private, link->root == SCAN_ROOT_GLOBAL, ret_place);
}
