/* SPDX-License-Identifier: MIT */
#include "target/remote_memory.h"

#include "base/procfs.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/served_files.h"
#include "target/stop_refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	CHUNK_SHIFT = 16,
	CHUNK_BYTES = 1 << CHUNK_SHIFT,
	CHUNK_PAGES = CHUNK_BYTES / PAGE_BYTES,
	PASSING_SLOTS = 4, /* 256 KB stay in the processor's cache */
	PASSING_BYTES = PASSING_SLOTS << CHUNK_SHIFT,
	SLOTS_MIN = 4 * PASSING_SLOTS,
	SMALL_BYTES = 8 << 20, /* of each piece that we take, in small pages */
	SHARED_BYTES = 4 << 20,
};

#define NO_SLOT 0
#define LEAF_SHIFT 10 /* of chunks in a leaf: 64 MB of address space */
#define LEAVES (UINT64_C(1) << (LEDGER_ADDRESS_BITS - CHUNK_SHIFT - LEAF_SHIFT))

/* A chunk of address space. */
struct entry {
	uint32_t slot;	/* that keeps it, or NO_SLOT */
	uint16_t pages; /* bit by bit: it could be read */
	bool is_fresh;	/* used since the hand of the clock came by */
};

struct seep_memory {
	pid_t pid;
	int fd;	      /* of /proc/PID/mem; -1: it is not open */
	bool by_file; /* and is all that is used: process_vm_readv() is refused, or slower */
	struct seep_ranges forced; /* is read from it in any case */
	/*
	 * Slot i keeps its bytes at data + i * CHUNK_BYTES. The first ones are never used: 0 is
	 * NO_SLOT, and what is read once passes through their memory.
	 */
	uint8_t *data;
	struct entry **slots; /* whose it is */
	uint32_t slot_count;  /* there is memory for */
	uint32_t slot_limit;  /* that may be used, no more than these */
	uint32_t slots_used;  /* those below */
	uint32_t hand;
	struct entry **leaves;
	uint64_t passing_at; /* address of what passes */
	uint64_t passing_bytes;
	struct seep_ranges served; /* is not read: to do so may wait for ever */
	struct iovec *taken;	   /* data and the rest of our memory for it */
	size_t taken_count;
	uint8_t *shared; /* what is left of the piece that is given away in parts */
	uint64_t shared_bytes;
};

static void *take(struct seep_memory *memory, uint64_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	/*
	 * To touch much of it page by page would cost as much as reading the other process. Little is
	 * touched where a process is small, and there may be a thousand of those at once.
	 */
	(void)madvise(start, core_smaller(bytes, SMALL_BYTES), MADV_NOHUGEPAGE);
	if (bytes > SMALL_BYTES)
		(void)madvise((uint8_t *)start + SMALL_BYTES, bytes - SMALL_BYTES, MADV_HUGEPAGE);
	*SEEP_APPEND(memory->taken, memory->taken_count) = (struct iovec){ start, bytes };
	return start;
}

/* What is small shares a piece: to give one back interrupts all processors that run us. */
static void *allocate(void *user, uint64_t bytes)
{
	const uint64_t room = (bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
	struct seep_memory *memory = user;
	uint8_t *start;

	if (bytes > SHARED_BYTES / 8)
		return take(memory, bytes);
	if (room > memory->shared_bytes) {
		memory->shared = take(memory, SHARED_BYTES);
		memory->shared_bytes = memory->shared ? SHARED_BYTES : 0;
	}
	if (room > memory->shared_bytes)
		return NULL;
	start = memory->shared;
	memory->shared += room;
	memory->shared_bytes -= room;
	return start;
}

static void open_file(struct seep_memory *memory)
{
	if (memory->fd < 0)
		memory->fd = open(seep_procfs_path(memory->pid, "mem").text, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_by_call(const struct seep_memory *memory, uint64_t address, void *to,
			    size_t bytes)
{
	const struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv(memory->pid, &here, 1, &there, 1, 0);
}

/* The piece from @at on and below *@end that is forced, or is not: it ends at *@end. */
static bool is_forced(const struct seep_memory *memory, uint64_t at, uint64_t *end)
{
	uint64_t begin = at, gap_end = *end;
	const bool has_gap = seep_ranges_gap(&memory->forced, &begin, *end, &gap_end);

	if (has_gap)
		*end = begin > at ? begin : gap_end;
	return !has_gap || begin > at;
}

/* How much could be read before a page that cannot; 0 or -1 none. */
static ssize_t read_into(const struct seep_memory *memory, uint64_t address, void *to, size_t bytes)
{
	uint64_t begin = address, end = address + bytes;
	ssize_t got = 0, more;

	if (memory->served.count) {
		if (!seep_ranges_gap(&memory->served, &begin, end, &end) || begin != address)
			return 0;
		bytes = end - begin;
	}
	if (memory->by_file)
		return pread(memory->fd, to, bytes, (off_t)address);
	if (memory->forced.count == 0)
		return read_by_call(memory, address, to, bytes);
	for (begin = address; begin < address + bytes; begin = end) {
		uint8_t *here = (uint8_t *)to + (begin - address);

		end = address + bytes;
		more = is_forced(memory, begin, &end)
			       ? pread(memory->fd, here, end - begin, (off_t)begin)
			       : read_by_call(memory, begin, here, end - begin);
		got += more > 0 ? more : 0;
		if (more < (ssize_t)(end - begin))
			break;
	}
	return got;
}

static uint8_t *data_of(const struct seep_memory *memory, uint32_t slot)
{
	return memory->data + ((size_t)slot << CHUNK_SHIFT);
}

/* Page by page if it must be. */
static void fill(struct seep_memory *memory, struct entry *entry, uint64_t address)
{
	size_t at = 0;

	entry->pages = 0;
	while (at < CHUNK_BYTES) {
		const ssize_t got = read_into(memory, address + at,
					      data_of(memory, entry->slot) + at, CHUNK_BYTES - at);
		const size_t pages = got > 0 ? (size_t)got / PAGE_BYTES : 0;

		entry->pages |= (uint16_t)(((UINT32_C(1) << pages) - 1) << (at / PAGE_BYTES));
		at += (pages + 1) * PAGE_BYTES;
	}
}

/* The clock: who was used since the hand came by last is passed over once. */
static uint32_t free_slot(struct seep_memory *memory)
{
	if (memory->slots_used < memory->slot_limit)
		return memory->slots_used++;
	for (;;) {
		const uint32_t slot = memory->hand;
		struct entry *entry = memory->slots[slot];

		memory->hand = slot + 1 < memory->slots_used ? slot + 1 : PASSING_SLOTS;
		if (!entry->is_fresh) {
			entry->slot = NO_SLOT;
			return slot;
		}
		entry->is_fresh = false;
	}
}

/* What is kept of a chunk, which is below LEAVES << LEAF_SHIFT. NULL: no memory. */
static struct entry *find(struct seep_memory *memory, uint64_t chunk)
{
	struct entry **leaf = &memory->leaves[chunk >> LEAF_SHIFT], *entry;

	if (!*leaf)
		*leaf = allocate(memory, sizeof(**leaf) << LEAF_SHIFT);
	if (!*leaf)
		return NULL;
	entry = &(*leaf)[chunk & ((1 << LEAF_SHIFT) - 1)];
	if (entry->slot == NO_SLOT) {
		entry->slot = free_slot(memory);
		memory->slots[entry->slot] = entry;
		fill(memory, entry, chunk << CHUNK_SHIFT);
	}
	return entry;
}

/*
 * Who wants much at once does so once: to keep it would cost more than to read it. Less at first,
 * since the rest is read anew if another one's is wanted before.
 */
static bool pass(struct seep_memory *memory, uint64_t address, uint64_t bytes)
{
	const bool goes_on = address - memory->passing_at <= memory->passing_bytes;
	ssize_t got;

	bytes = core_smaller(bytes, goes_on ? PASSING_BYTES : PASSING_BYTES / 2);
	got = read_into(memory, address, memory->data, bytes);
	memory->passing_at = address;
	memory->passing_bytes = got > 0 ? (uint64_t)got : 0;
	return got > 0;
}

/* What is left of it for who wants much may be less than a word. */
static bool passes(const struct seep_memory *memory, uint64_t address, uint64_t bytes)
{
	const uint64_t at = address - memory->passing_at;

	return at < memory->passing_bytes &&
	       memory->passing_bytes - at >= core_smaller(bytes, sizeof(uint64_t));
}

static const void *view(void *user, uint64_t address, uint64_t bytes, uint64_t *ret_bytes)
{
	struct seep_memory *memory = user;
	const unsigned offset = (unsigned)(address & (CHUNK_BYTES - 1));
	unsigned page = offset / PAGE_BYTES;
	struct entry *entry = NULL;
	bool readable;

	/* Nothing is there any more, so that whoever looks through it soon comes to an end. */
	if (seep_work_is_interrupted()) {
		*ret_bytes = bytes;
		return NULL;
	}
	if (passes(memory, address, bytes) ||
	    (bytes >= CHUNK_BYTES && pass(memory, address, bytes))) {
		const uint64_t at = address - memory->passing_at;

		*ret_bytes = core_smaller(bytes, memory->passing_bytes - at);
		return memory->data + at;
	}
	if (!(address >> LEDGER_ADDRESS_BITS))
		entry = find(memory, address >> CHUNK_SHIFT);
	if (!entry) {
		*ret_bytes = core_smaller(bytes, CHUNK_BYTES - offset);
		return NULL;
	}
	entry->is_fresh = true;
	readable = entry->pages >> page & 1;
	while (page < CHUNK_PAGES && (entry->pages >> page & 1) == readable)
		page++;
	*ret_bytes = core_smaller(bytes, (uint64_t)page * PAGE_BYTES - offset);
	return readable ? data_of(memory, entry->slot) + offset : NULL;
}

/* The first 128 bytes of it, if they are kept. */
static void fetch(void *user, uint64_t address)
{
	const struct seep_memory *memory = user;
	const uint64_t chunk = address >> CHUNK_SHIFT;
	const struct entry *leaf = address >> LEDGER_ADDRESS_BITS
					   ? NULL
					   : memory->leaves[chunk >> LEAF_SHIFT];
	const uint8_t *data;

	if (!leaf)
		return;
	data = data_of(memory, leaf[chunk & ((1 << LEAF_SHIFT) - 1)].slot) +
	       (address & (CHUNK_BYTES - 1));
	__builtin_prefetch(data);
	__builtin_prefetch(data + 64);
}

void seep_memory_use_file(struct seep_memory *memory)
{
	open_file(memory);
	memory->by_file = memory->fd >= 0;
}

void seep_memory_force(struct seep_memory *memory, uint64_t begin, uint64_t end)
{
	open_file(memory);
	if (memory->fd >= 0)
		seep_ranges_add(&memory->forced, begin, end);
}

/* By an address where nobody's memory is: what is allowed fails with EFAULT. */
static int choose_way(struct seep_memory *memory, struct seep_error *err)
{
	const struct seep_procfs_path path = seep_procfs_path(memory->pid, "mem");
	int first = EPERM;
	char byte;

	if (!seep_call_is_refused(SYS_process_vm_readv)) {
		if (read_by_call(memory, 0, &byte, 1) >= 0 || errno == EFAULT)
			return 0;
		first = errno;
	}
	if (first != ESRCH)
		seep_memory_use_file(memory);
	if (memory->fd >= 0)
		return 0;
	if (first == ESRCH || errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "process %d is not there, or has no memory",
				 memory->pid);
	if (errno == EACCES || errno == EPERM)
		return seep_fail(err, SEEP_EREFUSED,
				 "the memory of process %d cannot be read: process_vm_readv: %s; "
				 "%s: %s",
				 memory->pid, strerror(first), path.text, strerror(errno));
	return seep_fail_errno(err, errno, "cannot open %s", path.text);
}

static int make_cache(struct seep_memory *memory, uint64_t kept_bytes, struct seep_error *err)
{
	uint64_t count = core_larger(kept_bytes >> CHUNK_SHIFT, SLOTS_MIN);

	count = core_smaller(count, UINT32_MAX);
	/* Reserved only: what is not read takes nothing. */
	while (!(memory->data = allocate(memory, count << CHUNK_SHIFT))) {
		count /= 2;
		if (count < SLOTS_MIN)
			return seep_fail_errno(err, errno, "cannot reserve memory to read into");
	}
	memory->slot_count = memory->slot_limit = (uint32_t)count;
	memory->slots = allocate(memory, count * sizeof(struct entry *));
	memory->leaves = allocate(memory, LEAVES * sizeof(struct entry *));
	if (memory->leaves) /* a few of them are used, far apart */
		(void)madvise(memory->leaves, LEAVES * sizeof(struct entry *), MADV_NOHUGEPAGE);
	if (!memory->slots || !memory->leaves)
		return seep_fail_errno(err, errno, "cannot reserve memory to read into");
	return 0;
}

int seep_memory_open(pid_t pid, uint64_t kept_bytes, struct seep_memory **ret_memory,
		     struct seep_error *err)
{
	struct seep_memory *memory = seep_xcalloc(1, sizeof(*memory));
	int rc;

	memory->pid = pid;
	memory->fd = -1;
	memory->slots_used = memory->hand = PASSING_SLOTS;
	rc = choose_way(memory, err);
	if (rc == 0)
		seep_served_find(pid, &memory->served);
	if (rc == 0 && kept_bytes)
		rc = make_cache(memory, kept_bytes, err);
	if (rc < 0) {
		seep_memory_close(memory);
		return rc;
	}
	*ret_memory = memory;
	return 0;
}

void seep_memory_keep(struct seep_memory *memory, uint64_t kept_bytes)
{
	const uint64_t slots = core_larger(kept_bytes >> CHUNK_SHIFT, SLOTS_MIN);

	memory->slot_limit = (uint32_t)core_larger(core_smaller(slots, memory->slot_count),
						   memory->slots_used);
}

void seep_memory_forget(struct seep_memory *memory)
{
	(void)madvise(memory->data, (size_t)memory->slot_count << CHUNK_SHIFT, MADV_DONTNEED);
	for (uint32_t slot = PASSING_SLOTS; slot < memory->slots_used; slot++)
		memory->slots[slot]->slot = NO_SLOT;
	memory->passing_bytes = 0;
	memory->slots_used = memory->hand = PASSING_SLOTS;
	/* Few may be allowed, and a recording is still to be written. */
	if (memory->fd >= 0)
		(void)close(memory->fd);
	memory->fd = -1;
	memory->by_file = false;
	memory->forced.count = 0;
}

void seep_memory_close(struct seep_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->taken_count; i++)
		(void)munmap(memory->taken[i].iov_base, memory->taken[i].iov_len);
	if (memory->fd >= 0)
		(void)close(memory->fd);
	seep_ranges_done(&memory->served);
	seep_ranges_done(&memory->forced);
	free(memory->taken);
	free(memory);
}

struct scan_memory seep_memory_for_scan(struct seep_memory *memory)
{
	return (struct scan_memory){
		.view = view, .fetch = fetch, .allocate = allocate, .user = memory
	};
}

void seep_memory_bound(pid_t pid, struct scan_options *options)
{
	/* A lost block of 16 bytes takes 24 of the process, and 79 of us. */
	enum { LEAST_MAP_BYTES = 64 << 20, LEAST_BYTES = 512 << 20, TIMES = 3 };
	const uint64_t room = seep_memory_room();
	struct seep_procfs_status status;
	uint64_t held = LEAST_BYTES; /* of one whose first thread has ended nothing is said */

	if (seep_procfs_status((uint32_t)pid, &status) && status.has_memory)
		held = status.rss_bytes + status.swap_bytes;
	options->blocks_max_bytes = LEAST_MAP_BYTES + held * 2;
	options->memory_max_bytes = core_smaller(LEAST_BYTES + held * TIMES, room - room / 8);
}

bool seep_memory_read(struct seep_memory *memory, uint64_t address, void *to, size_t bytes)
{
	return bytes == 0 || (!seep_work_is_interrupted() &&
			      read_into(memory, address, to, bytes) == (ssize_t)bytes);
}

size_t seep_memory_segments(struct seep_memory *memory, uint64_t start,
			    Elf64_Phdr ret_segments[SEEP_MODULE_SEGMENTS_MAX], uint64_t *ret_bias)
{
	Elf64_Ehdr header;

	*ret_bias = 0;
	if (!seep_memory_read(memory, start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(*ret_segments) ||
	    header.e_phnum > SEEP_MODULE_SEGMENTS_MAX ||
	    !seep_memory_read(memory, start + header.e_phoff, ret_segments,
			      header.e_phnum * sizeof(*ret_segments)))
		return 0;
	/* By the first that is loaded, with which the module begins. */
	for (size_t i = header.e_phnum; i-- > 0;)
		if (ret_segments[i].p_type == PT_LOAD)
			*ret_bias = start - (ret_segments[i].p_vaddr & -(uint64_t)PAGE_BYTES);
	return header.e_phnum;
}
