/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the shared file mapping in which libseep.so counts for one process and
 * from which the tool reads it, during the run and after any kind of death. This header is the
 * whole interface between the two; docs/internals/ledger.md describes the same bytes in prose.
 *
 * The file is sparse. It begins with four pages (header, control, state, sums) and then holds one
 * region per table; each region is an array of items of one size. Items are appended: the runtime
 * reserves an index in ledger_state.table[t].reserved, fills the item, and publishes it by a
 * release store to the item's own ready field. A reader therefore meets items that are reserved
 * but still zero, and must skip them. Nothing is ever moved or removed.
 *
 * All integers are little-endian. Times are CLOCK_MONOTONIC nanoseconds unless the name says
 * realtime. Offsets are from the start of the file. Readers treat every byte as hostile.
 */
#ifndef SEEP_LEDGER_LEDGER_H
#define SEEP_LEDGER_LEDGER_H

#include "ledger/finding.h"
#include "ledger/kind.h"

#include <stdatomic.h>
#include <stdint.h>

#define LEDGER_MAGIC "SEEPLDG\0"
#define LEDGER_VERSION 8
#define LEDGER_SUFFIX ".ledger"
/* In its place: the file that has the ledger's page of sums, once there may be children. */
#define LEDGER_SUMS_SUFFIX ".sums"
/* Where the folder seep-UID of ledgers is if nobody says: in the first of these that will do. */
#define LEDGER_ROOTS "/dev/shm", "/run/user/" /* UID */, "/var/tmp", "/tmp"

enum {
	LEDGER_ROOT_COUNT = 4,
	LEDGER_ROOT_OF_USER = 1, /* the one that the user's number goes with */
	LEDGER_PAGE_BYTES = 4096,
	LEDGER_FIXED_BYTES = 4 * LEDGER_PAGE_BYTES, /* in front of the tables */
	LEDGER_ROW_ID_BITS = 25,
	LEDGER_ROW_ID_END = 1 << LEDGER_ROW_ID_BITS,
	LEDGER_ROWS_USUAL = 1 << 21, /* that a file has room for, unless a limit makes it small */
	LEDGER_HISTOGRAM_BUCKETS = 48,
	LEDGER_BUILD_ID_BYTES = 32,
	LEDGER_NAME_BYTES = 256,
	LEDGER_MARK_NAME_BYTES = 48,
	LEDGER_SLOTS_MAX = 4096,
};

/* Address space that must be left under RLIMIT_AS: with less a program is not recorded. */
#define LEDGER_ADDRESS_SPACE_MIN_BYTES (UINT64_C(160) << 20)

/*
 * Under RLIMIT_DATA, which counts private memory whether real or not: with less the library has
 * no room for its page map (no ledger) or for its call stacks (nothing is counted).
 */
#define LEDGER_DATA_MIN_BYTES (UINT64_C(64) << 20)

/* A forked child is small with fewer allocations than this, unless forks= says otherwise, */
#define LEDGER_FORK_ALLOCS 1000
/* if it has asked for fewer bytes, and lived for less time. */
#define LEDGER_FORK_BYTES (UINT64_C(1) << 20)
#define LEDGER_FORK_NS UINT64_C(500000000)

/*
 * A folder in memory of this size, of 20 bytes for each file, is crowded: without a recorder, which
 * takes them away, forked children are counted in their parents' sums from then on, however large.
 */
enum { LEDGER_CROWDED_BYTES = 64 << 10 };

/* By what stat() says of the folder: no blocks are a tmpfs's or a btrfs's, whose links are 1. */
#define ledger_is_crowded(stat) \
	((stat)->st_blocks == 0 && (stat)->st_nlink > 1 && (stat)->st_size > LEDGER_CROWDED_BYTES)

/* A process waits so long at its end for its recorder, unless exit_wait_ms= says otherwise. */
#define LEDGER_EXIT_WAIT_MS 10000

/* Of "fill" in SEEP_OPTIONS, whose bytes are less: new memory stays as it is. */
#define LEDGER_FILL_NONE 256
/* Of "guard": what is before a block with a mapping of its own lies in one page, or in the one before. */
#define LEDGER_GUARD_MAX_BYTES 2048
/* Where nobody says: of "guard", of "quarantine". */
#define LEDGER_GUARD_BYTES 16
#define LEDGER_QUARANTINE_BYTES (UINT64_C(16) << 20)

/* The recorder may give itself so long, for a leak scan, and no longer. */
#define LEDGER_SCAN_WAIT_MS 600000

/* A session's number is random, but for so many bits, the lowest: its recorder's pid. */
#define LEDGER_SESSION_PID_BITS 22

/* Sparse size of a file, which RLIMIT_FSIZE bounds: below it a program is not recorded. */
#define LEDGER_FILE_MIN_BYTES (UINT64_C(512) << 10)

/* The least ledger_max: four pages, and of each table what it takes first, with long arguments. */
#define LEDGER_MAX_LEAST_BYTES (UINT64_C(256) << 10)

/* The tables, in file order. Numbers are part of the format. */
enum ledger_table_type {
	LEDGER_TABLE_CACHES = 0, /* struct ledger_cache: one per thread that ever lived at once */
	LEDGER_TABLE_SLOTS,    /* struct ledger_slot: handed to caches in runs of a power of two */
	LEDGER_TABLE_ROWS,     /* struct ledger_row */
	LEDGER_TABLE_CONTEXTS, /* struct ledger_context */
	LEDGER_TABLE_NODES,    /* struct ledger_node */
	LEDGER_TABLE_MODULES,  /* struct ledger_module */
	LEDGER_TABLE_STRINGS,  /* bytes, no terminators */
	LEDGER_TABLE_MARKS,    /* struct ledger_mark */
	LEDGER_TABLE_LOST,     /* struct ledger_lost: the answer to a request */
	LEDGER_TABLE_FINDINGS, /* struct ledger_finding */
	LEDGER_TABLE_SCOPES,   /* struct ledger_scope */
	LEDGER_TABLE_ENTRIES,  /* struct ledger_entries: one per scope and thread */
	LEDGER_TABLE_COUNT,
	LEDGER_TABLE_LIMIT = 16, /* places in the header, for later tables */
};

struct ledger_table {
	uint32_t item_bytes;
	uint32_t spare;
	uint64_t offset;   /* a multiple of LEDGER_PAGE_BYTES */
	uint64_t capacity; /* items */
};

/* A run of bytes in the string table; bytes = 0 means none. Not terminated, any bytes. */
struct ledger_string {
	uint32_t offset;
	uint32_t bytes;
};

/* Where a process notes its live blocks: addresses in its own memory. See ledger_blocks.h. */
struct ledger_blocks {
	uint64_t leaves; /* of LEDGER_LEAVES addresses of leaves, 0 where there is none */
	uint64_t facts;	 /* struct ledger_facts; see ledger_facts.h */
	uint64_t spare64;
	uint32_t granule_shift; /* log2 of the address space per small cell */
	uint32_t spare;
};

/* Page 0. Written once, before the file gets its final name; constant afterwards. */
struct ledger_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct ledger_header) */
	uint64_t file_bytes;   /* the sparse size */
	uint8_t boot_id[16];
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0 unknown */
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid;
	uint32_t
		sample_log2; /* R of docs/internals/tiers.md: log2 of bytes, LEDGER_SAMPLE_LOG2_MAX at most */
	uint64_t start_ticks; /* field 22 of /proc/<pid>/stat; 0: not known */
	uint64_t created_ns;  /* monotonic */
	uint64_t created_realtime_ns;
	uint64_t session;	   /* of the recorder that started the program, 0 none */
	uint64_t ledger_max_bytes; /* real bytes after which no table grows */
	uint32_t first_row; /* id of row index 0; ids below it are inherited from ancestors */
	uint32_t allocator; /* enum ledger_allocator */
	uint32_t depth_max; /* frames stored per context, 0 = no limit */
	uint32_t origin;    /* enum ledger_origin */
	struct ledger_table table[LEDGER_TABLE_LIMIT];
	char parent[LEDGER_NAME_BYTES]; /* file name of the fork parent's ledger, "" none */
	struct ledger_string exe;	/* path */
	struct ledger_string argv;	/* arguments, each ended by a zero byte; empty: withheld */
	struct ledger_string cwd;
	struct ledger_string options; /* SEEP_OPTIONS as given */
	struct ledger_string allocator_path;
	struct ledger_blocks blocks;
};

enum ledger_origin {
	LEDGER_ORIGIN_START = 0,
	LEDGER_ORIGIN_FORK = 1,
	LEDGER_ORIGIN_ATTACH = 2, /* what the process allocated before is not known */
};

enum ledger_allocator { LEDGER_ALLOCATOR_OTHER = 0, LEDGER_ALLOCATOR_GLIBC = 1 };

enum ledger_mode {
	LEDGER_MODE_ALL = 0,
	LEDGER_MODE_SCOPED = 1, /* what is allocated in scopes */
	LEDGER_MODE_OFF = 2,
	LEDGER_MODE_MASK = 0xff,
	/* Set beside the mode while a size filter is in force: a word of 0 records everything. */
	LEDGER_MODE_SIZES = 1 << 8,
	LEDGER_MODE_MODULES = 1 << 9, /* the same for a filter by the caller's module */
	/* The tier, one of these or none: then it is exact. */
	LEDGER_MODE_COUNTS = 1 << 10,
	LEDGER_MODE_SAMPLED = 1 << 11,
	LEDGER_MODE_TIERS = LEDGER_MODE_COUNTS | LEDGER_MODE_SAMPLED,
};

enum ledger_filtered {
	LEDGER_FILTERED_SOME = 1, /* something was not recorded */
	/* Nothing was looked at, for some time: what a freed block's cell says may be of an earlier one. */
	LEDGER_FILTERED_ALL = 2,
};

/* What the recorder says of one context that grows, or whose blocks are stale. */
struct ledger_growth {
	uint32_t context; /* its index + 1 */
	uint8_t verdict;  /* 1 growing, 2 stale, 0 neither any more */
	uint8_t confidence;
	uint8_t returned;
	uint8_t spare;
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t quiet_ns;
	uint64_t bytes;
	uint64_t blocks;
	uint64_t freed_late;
	uint64_t present_bytes_per_hour;
};

enum { LEDGER_GROWTH_MAX = 58 };

/*
 * Page 1. Tools write it at any time. The runtime sets it up, and then writes peak_turn, caches,
 * filtered_once, exit_ack, and epoch for marks of the program's own.
 */
struct ledger_control {
	/* One cache line: all that the hot path reads. */
	_Atomic uint32_t mode;		 /* enum ledger_mode, with the bits of filters */
	_Atomic uint32_t epoch;		 /* advanced by one for every mark, named or not */
	_Atomic uint64_t size_min_bytes; /* requests below are not recorded; 0 = no filter */
	_Atomic uint64_t size_max_bytes; /* requests above are not recorded; ~0 = no filter */
	_Atomic uint32_t caches;	 /* caches ever handed out (n), never lowered */
	_Atomic uint32_t filtered_once;	 /* enum ledger_filtered, sticky */
	_Atomic uint64_t peak_turn;	 /* E of docs/internals/ledger.md, "peak" */
	uint64_t line_spare[2];

	_Alignas(64) _Atomic uint32_t recorder_pid; /* in the target's PID namespace; 0 none */
	_Atomic uint32_t exit_wait_ms;		    /* LEDGER_EXIT_WAIT_MS unless somebody chose */
	_Atomic uint64_t recorder_start_ticks;
	_Atomic uint32_t exit_ack;	/* futex: enum ledger_exit_ack */
	_Atomic uint32_t recorder_done; /* a recording of this ledger is complete */
	_Atomic uint32_t tier_changes;	/* advanced with the epoch, before the mode, for each */

	/* The answer to state.scan_request. */
	_Alignas(64) _Atomic uint32_t scan_ready; /* 1: the recorder answers requests */
	_Atomic uint32_t scan_answer; /* futex: which request was answered last, after the rest */
	_Atomic uint32_t scan_failed; /* 1: nothing is known, for whatever reason */
	_Atomic uint32_t scan_listed; /* entries of LEDGER_TABLE_LOST that were written */
	_Atomic uint64_t scan_leaks;  /* blocks that are lost, and were not marked as reported */
	_Atomic uint64_t scan_leak_bytes;

	/* What the recorder sees of growth, for who lists processes. */
	_Alignas(64) _Atomic uint64_t growing_bytes_per_hour; /* of all that are GROWING */
	_Atomic uint32_t growing_contexts;
	_Atomic uint32_t growth_known; /* 1: it was watched for long enough to tell */
	/* For who watches: of growth_count contexts the worst, as many as there is room for. */
	_Atomic uint64_t growth_at_ns;	  /* of this look; 0: none; 1: it is being written */
	_Atomic uint64_t growth_after_ns; /* a context grows when it did for so long */
	_Atomic uint64_t growth_count;
	struct ledger_growth growth[LEDGER_GROWTH_MAX];
};

/* What the recorder says to a process that has come to its end. */
enum ledger_exit_ack {
	LEDGER_EXIT_NONE = 0,
	LEDGER_EXIT_GO_ON = 1,
	LEDGER_EXIT_SEEN = 2, /* by the recorder, which is not done yet */
};

/* What a process asks for. */
enum ledger_scan_kind {
	LEDGER_SCAN_COUNT = 1,	/* count and list what is lost */
	LEDGER_SCAN_REPORT = 2, /* say it as well, to whoever reads the recorder's reports */
};

enum ledger_ended {
	LEDGER_ENDED_RUNNING = 0, /* or died by a signal: nobody could write */
	LEDGER_ENDED_EXIT = 1,	  /* exit(), return from main, quick_exit, _exit */
	LEDGER_ENDED_EXEC = 2,
	LEDGER_ENDED_ABORT = 3,
	LEDGER_ENDED_DETACH = 4, /* the process goes on, and is not recorded any more */
};

/* Bits of ledger_state.unseen: what this ledger cannot know. Names are in docs/json.md. */
enum ledger_unseen {
	LEDGER_UNSEEN_FULL = 1 << 0,	    /* tables full: new stacks went to "other" */
	LEDGER_UNSEEN_ROWS_FULL = 1 << 1,   /* marks after unexact_epoch are not exact */
	LEDGER_UNSEEN_NO_SPACE = 1 << 2,    /* file system full */
	LEDGER_UNSEEN_ALLOCATOR = 1 << 3,   /* not glibc's: requests below 16 became 16 */
	LEDGER_UNSEEN_CACHES_FULL = 1 << 7, /* threads counted without stacks */
	LEDGER_UNSEEN_MODULES_FULL = 1 << 8,
	LEDGER_UNSEEN_PAGE_MAP = 1 << 9,       /* no memory for the page map: frees untracked */
	LEDGER_UNSEEN_FRAME_POINTER = 1 << 11, /* some stacks go on by frame pointer alone */
	LEDGER_UNSEEN_THREAD_NAMES = 1 << 12,  /* by_thread: more names than are told apart */
	LEDGER_UNSEEN_UNALIGNED =
		1 << 13, /* blocks not at multiples of 16, or with no cell: not counted */
	LEDGER_UNSEEN_REFUSED = 1 << 14,       /* the kernel refused pages, room or not */
	LEDGER_UNSEEN_NO_MEMORY = 1 << 15,     /* no private memory at the start: nothing counted */
	LEDGER_UNSEEN_ARGUMENTS = 1 << 16,     /* the last of them were too long to be kept */
	LEDGER_UNSEEN_FINDINGS_FULL = 1 << 17, /* some findings have no place: findings_lost */
	LEDGER_UNSEEN_OPERATORS = 1 << 18,     /* not the C++ library's: no mismatch is judged */
	LEDGER_UNSEEN_GUARDS_ENDED = 1 << 19,  /* what frees past the hooks was loaded */
	LEDGER_UNSEEN_GUARDS_UNREAD = 1 << 20, /* nobody could look at those of live blocks */
	LEDGER_UNSEEN_SAMPLES = 1 << 21,       /* some that were to be guarded samples are none */
	LEDGER_UNSEEN_SCOPE_TAGS = 1 << 22,    /* more tags than are told apart, or paths of them */
	LEDGER_UNSEEN_ENTRIES = 1 << 23,       /* of some scopes entries and times are not known */
	LEDGER_UNSEEN_MODULES_OWN =
		1 << 24, /* allocators inside modules: what is inlined is missing */
};

/*
 * Page 3. Sums over forked children that were small: each adds its own at its end, and leaves no
 * ledger. All that a process shares with its children, and therefore mapped from a file of its own:
 * from a mapping of one page of a file the whole file can be reached, whatever one's rights. By atomic
 * adds; nobody who counts reads it.
 */
struct ledger_sums {
	_Atomic uint64_t processes;
	_Atomic uint64_t allocs;
	_Atomic uint64_t alloc_bytes;
	_Atomic uint64_t frees; /* of what they allocated themselves */
	_Atomic uint64_t freed_bytes;
	_Atomic uint64_t inherited_frees; /* of what their ancestors had allocated */
	_Atomic uint64_t inherited_freed_bytes;
	_Atomic uint64_t unrecorded; /* children that have no ledger, for whatever reason */
	_Atomic uint32_t adding; /* children that are about to add, or see that these are closed */
	_Atomic uint32_t closed; /* 1: read for the last time; by the recorder */
};

struct ledger_table_state {
	_Atomic uint64_t reserved; /* items handed out; may exceed capacity when full */
	_Atomic uint64_t ready;	   /* items whose pages are real; only those may be touched */
};

/* Page 2. Written by the runtime; the table of marks and real_bytes also by who adds a mark. */
struct ledger_state {
	struct ledger_table_state table[LEDGER_TABLE_LIMIT];
	_Atomic uint64_t real_bytes; /* pages made real, in bytes */

	_Atomic uint32_t attention; /* futex: advanced whenever the recorder should look */
	_Atomic uint32_t ended;	    /* enum ledger_ended */
	_Atomic uint64_t ended_ns;
	_Atomic uint32_t exit_status; /* valid with ENDED_EXIT if exit_status_known */
	_Atomic uint32_t exit_status_known;
	_Atomic uint32_t unseen;	/* enum ledger_unseen */
	_Atomic uint32_t unexact_epoch; /* first mark that is not exact, 0 none */
	_Atomic uint32_t confined;	/* 1: in a sandbox, so it wakes nobody at its end */
	_Atomic uint32_t tiers;		/* of LEDGER_MODE_TIERS all that were in force */

	/* Rare events, by atomic adds. */
	_Atomic uint64_t threads_started;
	_Atomic uint64_t dropped; /* allocations counted under "other" */
	_Atomic uint64_t early;	  /* allocations and frees counted before the ledger was there */
	_Atomic uint64_t summed;  /* 1: a small child, at its end added to an ancestor's sums */
	_Atomic uint64_t private_bytes; /* memory of the runtime outside the ledger, mapped */
	_Atomic uint64_t verify_walks;
	_Atomic uint64_t verify_landed;
	_Atomic uint64_t verify_truncated;
	_Atomic uint64_t verify_differences;
	_Atomic uint64_t findings_lost; /* that are in no item of their table */

	/* Peak: see docs/internals/ledger.md. live_bytes is without caches' sum and first. */
	_Alignas(64) _Atomic int64_t live_bytes; /* G */
	_Alignas(64) _Atomic int64_t peak_bytes; /* M */
	_Atomic uint64_t peak_at_ns;		 /* 0 = before the first stamp */
	_Atomic int64_t peak_stamp_bytes;	 /* M when peak_at_ns was taken */
	_Atomic uint64_t direct_usable_bytes;	 /* what the blocks of direct_frees held */
	_Atomic uint64_t tiers_since_ns; /* when the first of tiers was in force; 0: none was */

	/* A thread asks for a leak scan and waits for the answer; one at a time. */
	_Alignas(64) _Atomic uint32_t scan_request; /* advanced by one for each, after the rest */
	_Atomic uint32_t scan_kind;		    /* enum ledger_scan_kind */
	/* A struct ledger_string as one word: what the program says is not to be reported. */
	_Atomic uint64_t suppressions;
};

/* A block that is lost, in the process's memory. Written by whoever answers a request. */
struct ledger_lost {
	uint64_t address;
	uint64_t bytes;
};

/* One line per row and thread: differences not yet added to the row. row = 0: empty. */
struct ledger_slot {
	_Atomic uint32_t row; /* row id */
	_Atomic uint32_t temporaries;
	_Atomic uint64_t allocs;
	_Atomic uint64_t alloc_bytes;
	_Atomic uint64_t frees;
	_Atomic uint64_t freed_bytes;
	_Atomic uint64_t turn;
	_Atomic int64_t at_bytes; /* live bytes when turn began */
	_Atomic int64_t at_blocks;
};

struct ledger_row_values {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t temporaries;
	uint64_t turn;
	int64_t at_blocks;
	int64_t at_bytes;
};

/*
 * Row = (context, epoch). Its totals are these values plus those of every slot with its id. Of row
 * 0, "no stack", which never stands in a slot, allocs and alloc_bytes are changed by atomic adds
 * too.
 */
struct ledger_row {
	_Atomic uint32_t context_ready; /* context index + 1; 0 = not published */
	_Atomic uint32_t epoch;
	_Atomic uint64_t sequence; /* LEDGER_SEQ_*; odd while a flush is going on */
	_Atomic uint64_t allocs;
	_Atomic uint64_t alloc_bytes;
	_Atomic uint64_t frees;
	_Atomic uint64_t freed_bytes;
	_Atomic uint64_t temporaries;
	_Atomic uint64_t turn;
	_Atomic int64_t at_blocks;
	_Atomic int64_t at_bytes;
	/* Frees that were counted directly: by atomic adds only, whatever the sequence says. */
	_Atomic uint64_t direct_frees;
	_Atomic uint64_t direct_freed_bytes;
};

/* sequence = count << 21 | cache index << 1 | odd; the index means something while odd. */
#define LEDGER_SEQ_ODD 1ull
#define LEDGER_SEQ_CACHE_SHIFT 1
#define LEDGER_SEQ_COUNT_SHIFT 21
#define LEDGER_SEQ_CACHE(seq) ((uint32_t)((seq) >> LEDGER_SEQ_CACHE_SHIFT) & ((1u << 20) - 1u))

/*
 * What a flush is about to do, written before it begins: while active is 1, storing values into
 * the row, emptying the slot and making the sequence even completes the flush, however often it
 * is repeated.
 */
struct ledger_redo {
	_Atomic uint32_t active;
	_Atomic uint32_t row;  /* row id */
	_Atomic uint64_t slot; /* index in the slots table */
	uint64_t spare;
	_Atomic uint64_t turn_after; /* the emptied slot's turn */
	struct ledger_row_values values;
};

/* A thread's own counters. Written by its owner only; adopted when the owner is gone. */
struct ledger_cache {
	_Atomic uint32_t ready;	    /* 1 once usable */
	_Atomic uint32_t owner_tid; /* kernel thread id; the process may have ended meanwhile */
	uint64_t line_spare;
	/* slot index << 8 | log2(count): where the slots are. One word, so that it never tears. */
	_Atomic uint64_t slots;
	_Atomic int64_t sum;   /* live bytes not yet in state.live_bytes */
	_Atomic int64_t first; /* cache 0 only: live bytes while it was the only cache */
	_Atomic uint64_t temporary_bytes;
	_Atomic uint64_t usable_alloc_bytes;
	_Atomic uint64_t usable_freed_bytes;
	_Atomic uint64_t abandoned;	  /* hooks left by longjmp */
	_Atomic uint64_t untracked_frees; /* frees of pointers with no live cell */
	_Atomic uint64_t missed_frees;	  /* blocks closed because their address came again */
	_Atomic uint64_t inherited_frees;
	_Atomic uint64_t inherited_freed_bytes;
	_Atomic uint64_t walks_full;	  /* that met no remembered walk */
	_Atomic uint64_t walks_truncated; /* that did not reach the outermost frame */
	/*
	 * Block that its owner is in realloc() with, 0 none: it is neither at its old nor at its
	 * new address in the page map. One that was left by longjmp() remains until the next.
	 */
	_Atomic uint64_t resizing;
	/* In tier "sampled": what was not taken. Not in rows; bytes of what was freed are not known. */
	_Atomic uint64_t passed_allocs;
	_Atomic uint64_t passed_alloc_bytes;
	_Atomic uint64_t passed_frees;
	_Atomic uint64_t passed_kept; /* bytes by which they have yet to change the live total */
	struct ledger_redo redo;
	_Atomic uint64_t histogram[LEDGER_HISTOGRAM_BUCKETS]; /* [i]: requests < 2^i bytes */
};

/*
 * What was done wrong with a block. The same by the same two call stacks is one, with the first one's figures. Of
 * one that was not published yet when the process was killed, nothing is there.
 */
struct ledger_finding {
	_Atomic uint32_t ready; /* 1 once filled */
	uint8_t kind;		/* enum ledger_finding_kind */
	uint8_t freeing;	/* enum ledger_freeing: what was called */
	uint8_t family;		/* enum ledger_family, of the block */
	/*
	 * 1: right, if some module allocates past the hooks. Of a mismatch, and of a double free
	 * whose memory looks as if it had been given out since.
	 */
	uint8_t doubtful;
	/* Ids, 0: not known. Of the last two the context's kind is LEDGER_KIND_FREE. */
	uint32_t block_row; /* where the block was allocated */
	uint32_t freed_row; /* where it was freed before */
	uint32_t here_row;  /* where the program is now */
	uint32_t tid;
	uint64_t at_ns;
	uint64_t pointer; /* that was freed, or the address that was read or written */
	uint64_t block_bytes;
	int64_t offset;	   /* of the pointer, from the block's first byte */
	uint64_t expected; /* of a mismatch: size or alignment of the block */
	uint64_t actual;   /* that were said of it */
	_Atomic uint64_t count;
	char thread[16]; /* its name, zero-padded */
};

/* The two contexts that exist in every ledger; row index 0 and 1 belong to them. */
enum {
	LEDGER_CONTEXT_NO_STACK = 0, /* counted directly, or early */
	LEDGER_CONTEXT_OTHER = 1,    /* stacks met after the tables were full */
	LEDGER_CONTEXT_FIRST = 2,
};

enum ledger_context_flags {
	LEDGER_CONTEXT_READY = 1 << 0,
	LEDGER_CONTEXT_TRUNCATED = 1 << 1,     /* no unwind rule for the outermost frame */
	LEDGER_CONTEXT_CUT = 1 << 2,	       /* depth= left outer frames out */
	LEDGER_CONTEXT_FRAME_POINTER = 1 << 3, /* a frame was found so, without a rule */
	/* Tier "counts": what a call of malloc did whose stacks were not walked. One frame. */
	LEDGER_CONTEXT_SITE = 1 << 4,
	/* Tier "sampled": each operation in its rows stands for 2^sample. */
	LEDGER_CONTEXT_WEIGHTED = 1 << 5,
};

struct ledger_context {
	_Atomic uint32_t flags; /* enum ledger_context_flags; 0 = not published */
	uint32_t leaf;		/* node index; 0 = no frames */
	uint8_t kind;		/* enum ledger_kind */
	uint8_t align_log2;	/* aligned kinds, else 0 */
	/*
	 * d: what is counted here was taken with probability 2^-d; 0: all of it was. Without
	 * CONTEXT_WEIGHTED the others are in the context of its site.
	 */
	uint8_t sample;
	uint8_t spare;
	uint32_t scope;		     /* index + 1 of the innermost that was open; 0 = none */
	struct ledger_string thread; /* by_thread only */
	uint64_t first_ns;	     /* when first seen */
};

enum ledger_node_flags {
	LEDGER_NODE_READY = 1 << 0,
	LEDGER_NODE_EXACT = 1 << 1, /* where a signal interrupted, not a return address */
};

/*
 * A frame under its caller. Index 0 is the root: no frame. period p > 0: this frame and the p - 1
 * above it were met again at once, and stand here once. folded: how many frames are not there
 * because of that from the outermost to this one, in the deepest stack that was met (saturating).
 */
struct ledger_node {
	_Atomic uint32_t parent_ready; /* parent index + 1, at most the own; 0 = not published */
	uint16_t module; /* module index + 1; 0 = address is absolute, owner unknown */
	uint8_t flags;
	uint8_t period;
	uint64_t address : 48; /* link-time address (pc - bias) */
	uint64_t folded : 16;
};

struct ledger_module {
	_Atomic uint32_t ready;
	uint32_t generation; /* when it was first seen */
	uint64_t bias;	     /* run-time address = link-time address + bias */
	uint64_t start;	     /* run-time extent */
	uint64_t end;
	struct ledger_string path; /* absolute where it could be made so */
	uint32_t build_id_bytes;   /* 0 = none */
	uint32_t spare;
	uint8_t build_id[LEDGER_BUILD_ID_BYTES];
};

/* Written by whoever advances the epoch, after the advance. */
struct ledger_mark {
	_Atomic uint32_t ready;
	uint32_t epoch; /* the epoch that begins here */
	uint64_t at_ns;
	char name[LEDGER_MARK_NAME_BYTES]; /* zero-padded; "" = automatic */
};

_Static_assert(sizeof(struct ledger_header) <= LEDGER_PAGE_BYTES, "header page");
_Static_assert(sizeof(struct ledger_growth) == 64, "growth layout");
_Static_assert(sizeof(struct ledger_control) <= LEDGER_PAGE_BYTES, "control page");
_Static_assert(sizeof(struct ledger_state) <= LEDGER_PAGE_BYTES, "state page");
_Static_assert(sizeof(struct ledger_sums) == 72, "sums layout");
_Static_assert(sizeof(struct ledger_slot) == 64, "slot layout");
_Static_assert(sizeof(struct ledger_row) == 96, "row layout");
_Static_assert(sizeof(struct ledger_context) == 32, "context layout");
_Static_assert(sizeof(struct ledger_node) == 16, "node layout");
_Static_assert(sizeof(struct ledger_module) == 80, "module layout");
_Static_assert(sizeof(struct ledger_mark) == 64, "mark layout");
_Static_assert(sizeof(struct ledger_cache) == 640, "cache layout");
_Static_assert(sizeof(struct ledger_finding) == 96, "finding layout");

#endif
