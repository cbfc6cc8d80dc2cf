/* SPDX-License-Identifier: MIT */
#include "target/leak_scan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "core/cgroup.h"
#include "ledger/ledger_facts.h"
#include "base/maps.h"
#include "target/present_pages.h"
#include "target/remote_memory.h"
#include "target/roots.h"
#include "target/stop.h"

#include <pthread.h>
#include <signal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RESIZE_TRIES = 20, /* to let a thread leave realloc(), */
	CACHES_AT_ONCE = 64,
};

#define RESIZE_PAUSE_NS 50000ull /* each for so long */
#define KEPT_LEAST_BYTES (UINT64_C(64) << 20)
#define KEPT_MOST_BYTES (UINT64_C(4) << 30)
#define PAGE_MAP_MAX_BYTES (UINT64_C(256) << 30)

struct seep_leak_scan_private {
	struct seep_stopped *stopped; /* NULL: it goes on */
	struct seep_thread *threads;  /* as they were when it was stopped */
	size_t thread_count;
	pid_t copy; /* 0 none */
	struct seep_maps maps;
	struct seep_memory *memory;
	struct ledger_facts *facts; /* NULL: it has none */
	struct seep_roots roots;
	struct scan scan;
	uint64_t began_ns;
};

/*
 * In realloc() a block of the thread's is in the page map neither where it was nor where it will
 * be.
 */
static void finish_resize(struct seep_leak_scan *scan, const struct seep_leak_scan_options *options,
			  uint64_t offset, struct ledger_cache cache)
{
	struct seep_stopped *stopped = scan->private->stopped;
	unsigned tries = options->moment == SEEP_SCAN_DYING ? 0 : RESIZE_TRIES;
	size_t i = 0;

	while (i < stopped->thread_count && stopped->threads[i].tid != (pid_t)cache.owner_tid)
		i++;
	if (i == stopped->thread_count)
		return;
	while (stopped->threads[i].stopped && tries && cache.resizing) {
		seep_stop_let(stopped, &stopped->threads[i], RESIZE_PAUSE_NS);
		tries--;
		if (pread(options->ledger_fd, &cache, sizeof(cache), (off_t)offset) <
		    (ssize_t)sizeof(cache))
			break;
	}
	if (!tries)
		seep_texts_take(&scan->caveats,
				seep_xasprintf("thread %d was in realloc() and did not leave "
					       "it: what its block points to may look lost",
					       stopped->threads[i].tid));
}

static void finish_resizes(struct seep_leak_scan *scan, const struct ledger_header *header,
			   const struct seep_leak_scan_options *options)
{
	const struct ledger_table *table = &header->table[LEDGER_TABLE_CACHES];
	struct ledger_cache *caches = seep_xcalloc(CACHES_AT_ONCE, sizeof(*caches));
	ssize_t count = CACHES_AT_ONCE;

	for (uint64_t first = 0; count == CACHES_AT_ONCE && first < table->capacity;
	     first += CACHES_AT_ONCE) {
		const uint64_t offset = table->offset + first * sizeof(*caches);

		count = pread(options->ledger_fd, caches, CACHES_AT_ONCE * sizeof(*caches),
			      (off_t)offset) /
			(ssize_t)sizeof(*caches);
		for (ssize_t i = 0; i < count; i++)
			if (caches[i].ready && caches[i].resizing)
				finish_resize(scan, options, offset + (uint64_t)i * sizeof(*caches),
					      caches[i]);
		if (count > 0 && !caches[count - 1].ready)
			break;
	}
	free(caches);
}

static void keep_threads(struct seep_leak_scan_private *private)
{
	const struct seep_stopped *stopped = private->stopped;

	private->thread_count = stopped->thread_count;
	private->threads = seep_xmemdup(stopped->threads,
					stopped->thread_count * sizeof(*stopped->threads));
	for (size_t i = 0; i < private->thread_count; i++) {
		struct seep_thread *thread = &private->threads[i];

		if (thread->vectors)
			thread->vectors = seep_xmemdup(
				thread->vectors, thread->vector_count * sizeof(*thread->vectors));
	}
}

static void note_unanswered(struct seep_leak_scan *scan)
{
	const struct seep_stopped *stopped = scan->private->stopped;

	for (size_t i = 0; i < stopped->thread_count; i++)
		if (!stopped->threads[i].stopped)
			seep_texts_take(
				&scan->caveats,
				seep_xasprintf("thread %d could not be stopped: what only its "
					       "registers and stack point to looks lost",
					       stopped->threads[i].tid));
}

static void release(struct seep_leak_scan *scan)
{
	struct seep_leak_scan_private *private = scan->private;

	if (!private->stopped)
		return;
	seep_stop_release(private->stopped);
	private->stopped = NULL;
	scan->pause_ns = seep_monotonic_ns() - private->began_ns;
}

/*
 * Nobody may trace it, or somebody else does. At its end one thread waits for us and says itself
 * where its stack begins; what others do meanwhile nobody knows.
 */
static int take_waiting(struct seep_leak_scan *scan, pid_t pid, struct seep_error *why)
{
	struct seep_leak_scan_private *private = scan->private;
	DIR *threads = seep_procfs_threads(pid);
	pid_t tid;

	if (!threads)
		return -why->code;
	while ((tid = seep_procfs_thread(threads)))
		*SEEP_APPEND(private->threads,
			     private->thread_count) = (struct seep_thread){ .tid = tid };
	seep_procfs_threads_done(threads);
	scan->method = SEEP_SCAN_WAITING;
	scan->at_ns = seep_monotonic_ns();
	seep_texts_take(
		&scan->caveats,
		seep_xasprintf("the process was not stopped, it waited at its end: %s", why->text));
	/* Where they cannot be read, why it cannot be traced says more. */
	return seep_maps_read(pid, &private->maps, NULL) < 0 ? -why->code : 0;
}

/* The one that waits is as good as stopped. */
static void find_waiting(struct seep_leak_scan *scan)
{
	struct seep_leak_scan_private *private = scan->private;
	size_t others = 0;

	for (size_t i = 0; i < private->thread_count; i++) {
		struct seep_thread *thread = &private->threads[i];

		thread->stopped = private->facts &&
				  private->facts->exit_tid == (uint32_t)thread->tid;
		if (thread->stopped)
			thread->registers.rsp = private->facts->exit_stack;
		else
			others++;
	}
	if (others)
		seep_texts_take(
			&scan->caveats,
			seep_xasprintf("%zu threads ran meanwhile: what only their registers point "
				       "to looks lost",
				       others));
}

/*
 * The addresses in a ledger mean nothing in what its process became by exec. By name: overlay file
 * systems have two numbers for one file.
 */
static int check_program(const struct seep_leak_scan_private *private, int ledger_fd,
			 struct seep_error *err)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", ledger_fd);
	length = ledger_fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	for (size_t i = 0; i < private->maps.count; i++)
		if (strcmp(seep_path_base(private->maps.items[i].name), seep_path_base(path)) == 0)
			return 0;
	return seep_fail(err, SEEP_ENOTFOUND, "the process runs another program by now");
}

/* From here on its memory stands still: that of a copy, or its own for as long as it is stopped. */
static int hold_still(struct seep_leak_scan *scan, pid_t pid, const struct ledger_header *header,
		      const struct seep_leak_scan_options *options, struct seep_error *err)
{
	struct seep_leak_scan_private *private = scan->private;
	struct seep_error why = { 0 };
	int rc;

	private->began_ns = seep_monotonic_ns();
	rc = seep_stop(pid, &private->stopped, err);
	if (rc == -SEEP_EREFUSED && options->moment == SEEP_SCAN_AT_EXIT) {
		rc = take_waiting(scan, pid, err);
		return rc < 0 ? rc : check_program(private, options->ledger_fd, err);
	}
	if (rc < 0)
		return rc;
	scan->at_ns = private->stopped->stopped_ns;
	finish_resizes(scan, header, options);
	note_unanswered(scan);
	keep_threads(private);
	rc = seep_maps_read(pid, &private->maps, err);
	if (rc == 0)
		rc = check_program(private, options->ledger_fd, err);
	if (rc < 0)
		return rc;
	scan->method = SEEP_SCAN_STOPPED;
	/* It makes no system call any more, nor does anybody wait for it to go on. */
	if (options->moment == SEEP_SCAN_DYING)
		return 0;
	if (seep_stop_may_copy(private->stopped, &why) &&
	    seep_stop_copy(private->stopped, &private->copy, &why) == 0) {
		scan->method = SEEP_SCAN_COPY_ON_WRITE;
		release(scan);
	} else {
		seep_texts_take(
			&scan->caveats,
			seep_xasprintf("the process stood still for the whole scan: %s", why.text));
	}
	return 0;
}

/* A quarter of what can be had: of the machine's memory, and of what a container leaves us. */
static uint64_t kept_bytes(void)
{
	struct core_cgroup_buffers buffers;
	struct core_cgroup group;
	char text[1024] = "";
	const char *available;
	uint64_t bytes = 0;

	(void)seep_file_read_start("/proc/meminfo", text, sizeof(text));
	available = strstr(text, "MemAvailable:");
	if (available)
		bytes = strtoull(available + strlen("MemAvailable:"), NULL, 10) * 1024 / 4;
	if (core_cgroup_memory(seep_file_read_start, "", "self", &buffers, &group))
		bytes = core_smaller(bytes, group.room_bytes / 4);
	return core_larger(KEPT_LEAST_BYTES, core_smaller(bytes, KEPT_MOST_BYTES));
}

static void read_facts(struct seep_leak_scan *scan, const struct ledger_header *header)
{
	struct seep_leak_scan_private *private = scan->private;
	struct ledger_facts *facts = seep_xcalloc(1, sizeof(*facts));

	if (header->blocks.facts &&
	    seep_memory_read(private->memory, header->blocks.facts, facts, sizeof(*facts)) &&
	    facts->bytes == sizeof(*facts)) {
		private->facts = facts;
		return;
	}
	free(facts);
	seep_texts_take(&scan->caveats,
			seep_xstrdup("what libseep.so notes of itself could not be read: its own "
				     "memory counts as the program's"));
}

static int fail_scan(int code, struct seep_error *err)
{
	if (code == -SCAN_EBLOCKS)
		return seep_fail(err, SEEP_ECORRUPT,
				 "seep's own list of its live blocks is damaged");
	return seep_fail(err, SEEP_ESYS, "there is not enough memory to scan it");
}

/* Were there ever allocations that were not recorded? */
static bool is_filtered(int ledger_fd)
{
	struct ledger_control control;

	return pread(ledger_fd, &control, sizeof(control), LEDGER_PAGE_BYTES) ==
		       (ssize_t)sizeof(control) &&
	       control.filtered_once;
}

static void find_roots(struct seep_leak_scan *scan, const struct ledger_header *header,
		       const struct seep_leak_scan_options *options)
{
	struct seep_leak_scan_private *private = scan->private;
	const struct seep_roots_from from = {
		.memory = private->memory,
		.maps = &private->maps,
		.threads = private->threads,
		.thread_count = private->thread_count,
		.scan = &private->scan,
		.header = header,
		.facts = private->facts,
		.at_exit = options->moment == SEEP_SCAN_AT_EXIT,
		.filtered = is_filtered(options->ledger_fd),
		.image = private->copy,
	};

	seep_roots_find(&from, &private->roots);
	for (size_t i = 0; i < private->roots.caveats.count; i++)
		seep_texts_take(&scan->caveats, seep_xstrdup(private->roots.caveats.items[i]));
}

/* Then nothing can be read, and nothing was seen that keeps blocks alive. */
static bool has_ended(const struct seep_leak_scan_private *private,
		      const struct ledger_header *header)
{
	const uint64_t page_map = header->blocks.leaves + LEDGER_LEAVES * sizeof(uint64_t);
	uint8_t byte;

	if (seep_memory_read(private->memory, page_map, &byte, 1))
		return false;
	for (size_t i = 0; i < private->maps.count; i++)
		if (private->maps.items[i].executable)
			return !seep_memory_read(private->memory, private->maps.items[i].begin,
						 &byte, 1);
	return true;
}

static int mark(struct seep_leak_scan *scan, pid_t pid, const struct ledger_header *header,
		const struct seep_leak_scan_options *options, struct seep_error *err)
{
	struct seep_leak_scan_private *private = scan->private;
	const struct scan_memory memory = seep_memory_for_scan(private->memory);
	struct seep_ranges vtables = seep_roots_vtables(&private->maps);
	struct seep_untouched untouched;
	const struct scan_options marking = {
		.vtables = vtables.items,
		.vtable_count = vtables.count,
		.untouched = seep_untouched_bytes,
		.untouched_user = &untouched,
		.blocks_max_bytes = PAGE_MAP_MAX_BYTES,
		.want_chains = options->want_chains,
	};
	int rc;

	seep_untouched_init(&untouched, private->copy ? private->copy : pid, &private->maps);
	rc = scan_read_blocks(&private->scan, &memory, &marking, &header->blocks);
	if (rc == 0) {
		find_roots(scan, header, options);
		scan_mark(&private->scan, private->roots.items, private->roots.count);
		rc = scan_finish(&private->scan, &scan->result);
	}
	seep_untouched_done(&untouched);
	seep_ranges_done(&vtables);
	if (has_ended(private, header))
		return seep_fail(err, SEEP_ENOTFOUND, "%s was killed while it was looked through",
				 private->copy ? "the copy of the process" : "the process");
	return rc < 0 ? fail_scan(rc, err) : 0;
}

static void tell_of_marking(struct seep_leak_scan *scan)
{
	const struct scan *marked = &scan->private->scan;

	scan->marked_bytes = marked->marked_bytes;
	scan->block_count = marked->block_count;
	scan->skipped_count = marked->skipped_count;
	memcpy(scan->skipped, marked->skipped, sizeof(scan->skipped));
	if (marked->strange)
		seep_texts_take(&scan->caveats,
				seep_xasprintf("%llu entries of seep's list of live blocks make no "
					       "sense and were passed over",
					       (unsigned long long)marked->strange));
	if (marked->overlaps)
		seep_texts_take(&scan->caveats,
				seep_xasprintf("%llu blocks lie over others, whose free() was not "
					       "seen: one of each two was left out",
					       (unsigned long long)marked->overlaps));
}

static void keep_contents(struct seep_leak_scan *scan, uint32_t most_bytes)
{
	const struct scan_result *result = &scan->result;

	scan->content_bytes = most_bytes;
	scan->contents = seep_xcalloc(result->block_count, sizeof(*scan->contents));
	for (uint64_t i = 0; i < result->block_count; i++) {
		const struct scan_block *block = &result->blocks[i];
		size_t bytes = block->size < most_bytes ? (size_t)block->size : most_bytes;
		uint8_t *contents = seep_xcalloc(1, bytes ? bytes : 1);

		if (seep_memory_read(scan->private->memory, block->address, contents, bytes))
			scan->contents[i] = contents;
		else
			free(contents);
	}
}

static int scan_here(pid_t pid, const struct ledger_header *header,
		     const struct seep_leak_scan_options *options, struct seep_leak_scan **ret_scan,
		     struct seep_error *err)
{
	struct seep_leak_scan *scan = seep_xcalloc(1, sizeof(*scan));
	struct seep_leak_scan_private *private = seep_xcalloc(1, sizeof(*private));
	uint64_t held_ns;
	int rc;

	scan->private = private;
	rc = hold_still(scan, pid, header, options, err);
	held_ns = seep_monotonic_ns();
	if (rc == 0)
		rc = seep_memory_open(private->copy ? private->copy : private->maps.tid,
				      kept_bytes(), &private->memory, err);
	if (rc == 0) {
		if (private->copy)
			seep_memory_use_file(private->memory);
		read_facts(scan, header);
		if (scan->method == SEEP_SCAN_WAITING)
			find_waiting(scan);
		rc = mark(scan, pid, header, options, err);
	}
	if (rc == 0 && options->dump_bytes)
		keep_contents(scan, options->dump_bytes);
	release(scan);
	seep_copy_end(private->copy);
	private->copy = 0;
	if (private->memory)
		seep_memory_forget(private->memory);
	scan->mark_ns = seep_monotonic_ns() - held_ns;
	if (rc < 0) {
		seep_leak_scan_free(scan);
		return rc;
	}
	tell_of_marking(scan);
	*ret_scan = scan;
	return 0;
}

struct job {
	pid_t pid;
	const struct ledger_header *header;
	const struct seep_leak_scan_options *options;
	struct seep_leak_scan **ret_scan;
	struct seep_error *err;
	int rc;
};

static void *do_job(void *argument)
{
	struct job *job = argument;

	job->rc = scan_here(job->pid, job->header, job->options, job->ret_scan, job->err);
	return NULL;
}

/* In a thread of its own, at whose end the kernel lets go whatever we could not: stop.h. */
int seep_leak_scan(pid_t pid, const struct ledger_header *header,
		   const struct seep_leak_scan_options *options, struct seep_leak_scan **ret_scan,
		   struct seep_error *err)
{
	struct job job = { pid, header, options, ret_scan, err, 0 };
	pthread_t thread;
	sigset_t all, held;
	int problem;

	if (options->moment == SEEP_SCAN_DYING)
		return scan_here(pid, header, options, ret_scan, err);
	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS); /* base/shared_map.h */
	(void)pthread_sigmask(SIG_SETMASK, &all, &held);
	problem = pthread_create(&thread, NULL, do_job, &job);
	if (problem == 0)
		(void)pthread_join(thread, NULL);
	/* Not before: who is killed while the process runs our call leaves it in the middle. */
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	return problem == 0 ? job.rc : seep_fail_errno(err, problem, "cannot start a thread");
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
	free(private->facts);
	seep_roots_done(&private->roots);
	seep_maps_done(&private->maps);
	seep_memory_close(private->memory);
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

const struct scan *seep_leak_scan_marked(const struct seep_leak_scan *scan)
{
	return &scan->private->scan;
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
		[SCAN_ROOT_GLOBAL] = "module data",	  [SCAN_ROOT_TLS] = "thread-local storage",
		[SCAN_ROOT_REGION] = "registered memory", [SCAN_ROOT_MAPPING] = "mapping",
		[SCAN_ROOT_REGISTER] = "register",	  [SCAN_ROOT_STACK] = "stack",
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
