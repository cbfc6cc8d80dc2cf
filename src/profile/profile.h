/* SPDX-License-Identifier: MIT */
/*
 * One profile: all that is known of one process, whatever it was read from (a live ledger, a dead
 * one, a recording). Everything downstream (report, analysis, export) sees only this.
 *
 * A profile owns all that it points to. Strings are UTF-8 or raw bytes as the process had them
 * (paths, argv, names), always terminated; who prints them escapes them. Bytes and nanoseconds.
 * Arrays are plain and may be sorted only by their owner; analysis works on arrays of pointers.
 */
#ifndef SEEP_PROFILE_PROFILE_H
#define SEEP_PROFILE_PROFILE_H

#include "base/error.h"
#include "base/release.h"
#include "ledger/kind.h"
#include "profile/figures.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SEEP_PROFILE_BUILD_ID_BYTES = 32,
	SEEP_PROFILE_HISTOGRAM_BUCKETS = 48,
	SEEP_PROFILE_DURATION_BUCKETS = 40,
};

struct seep_profile_module {
	char *path;
	uint64_t bias; /* run-time address = link-time address + bias */
	bool by_place; /* until names are looked up: of a place in the file instead of an address */
	uint64_t start;
	uint64_t end;
	uint8_t build_id[SEEP_PROFILE_BUILD_ID_BYTES];
	uint32_t build_id_bytes; /* 0 none */
	char *problem; /* why its names are missing, NULL when they are not or were not looked up */
};

/*
 * One name at one address: several when calls were inlined there. Shared between the contexts,
 * one per distinct (module, address, inline level).
 */
struct seep_profile_frame {
	uint32_t module;  /* index + 1; 0 = address is absolute, owner unknown */
	bool exact;	  /* address is not a return address (interrupted by a signal) */
	bool inlined;	  /* this name was inlined into the next outer frame of the same address */
	uint64_t address; /* link-time (pc - bias); a return address unless exact */
	const char *function; /* demangled; NULL = unknown */
	const char *file;     /* NULL = unknown */
	uint32_t line;	      /* 0 = unknown */
};

struct seep_profile_inlined {
	uint32_t first; /* index into profile.frames, innermost first */
	uint32_t count;
};

/* A frame in one call stack. */
struct seep_profile_stack_entry {
	uint32_t frame; /* index into profile.frames */
	uint8_t period; /* > 0: the last <period> physical frames were met again at once... */
	/* ...this many more times in the deepest stack, if not in others (65535 = that or more) */
	uint16_t repeats;
};

struct seep_profile_epoch {
	uint32_t epoch;
	uint64_t blocks; /* allocated in this epoch and still alive */
	uint64_t bytes;
};

enum seep_growth_verdict {
	SEEP_GROWTH_NONE = 0,
	SEEP_GROWTH_GROWING, /* live bytes rise and do not come back; analysis/growth_series.h */
	SEEP_GROWTH_STALE,   /* some blocks live far longer than others of the context do */
	SEEP_GROWTH_COUNT,
};

/* The row of a ledger. */
struct seep_profile_row {
	uint32_t context; /* its index + 1; 0 = nothing was counted */
	uint32_t epoch;
	uint8_t sample; /* each of its blocks stands for 2^sample - 1 of its site, too */
};

/* What was seen of a context in the course of time. */
struct seep_profile_growth {
	uint8_t verdict;    /* enum seep_growth_verdict, or a newer seep's */
	uint8_t confidence; /* 1 low, 2 medium, 3 high */
	uint64_t since_ns;  /* monotonic: when it began, or when the oldest stale block was there */
	uint64_t until_ns;  /* when it was seen last */
	/* Since then, while it is watched; 0: it goes on, or that is not known. */
	uint64_t quiet_ns;
	uint64_t present_bytes_per_hour; /* lately; 0: none, or that is not known */
	bool returned;			 /* it grew until then, and was given back */
	uint64_t bytes;			 /* by which it grew, or that are stale */
	uint64_t blocks;		 /* that are stale; of growth 0 */
	uint64_t freed_late;		 /* blocks that were stale once, and then freed */
	char *evidence;			 /* one sentence */
};

struct seep_profile_context {
	uint32_t id;   /* unique within the profile; never 0 */
	uint64_t hash; /* stable across runs, see docs/json.md; 0 = see profile/context_hash.h */
	uint8_t kind;  /* enum ledger_kind, or a newer seep's */
	uint8_t align_log2;
	bool truncated; /* outer frames are missing: no unwind information, or too many frames */
	bool cut;	/* outermost frames were left out on request (depth=) */
	bool by_frame_pointer; /* a frame has no unwind information; its caller is assumed */
	bool no_stack;	       /* allocated while no walk was possible */
	bool other;	       /* stacks met after the ledger was full, together */
	bool site;	       /* by calls from its one frame whose stacks were not walked */
	bool in_doubt;	       /* read while it changed, or died in the middle of an operation */
	bool damaged;	       /* its stack could not be read to its end: always in doubt */
	bool hidden;	       /* not asked for, of a profile in which contexts keep their places */
	bool expanded;	/* its stack has an entry for each inlined call, where any is known */
	char *thread;	/* by_thread only, else NULL */
	uint32_t scope; /* index + 1 of the innermost that was open; 0: none */
	uint64_t first_ns;
	SEEP_FIGURE_MEMBERS(uint64_t,
			    SEEP_FIGURE_OF_CONTEXT); /* peaks: of the process, not its own */
	uint64_t *errors; /* by figure, see profile/estimate.h; NULL: all are exact */
	struct seep_profile_stack_entry *stack; /* innermost first */
	uint32_t stack_count;
	struct seep_profile_epoch *epochs; /* those with live blocks, ascending */
	uint32_t epoch_count;
	struct seep_profile_growth *growth; /* NULL: nothing was judged */
};

/* What of a scope is summed over threads, listed once. */
/* clang-format off */
#define SEEP_SCOPE_SUMS(SUM) \
	SUM(entries) SUM(exits) SUM(wall_ns) SUM(cpu_ns) \
	SUM(own_frees) SUM(own_freed_bytes) SUM(foreign_frees) SUM(foreign_freed_bytes)
/* clang-format on */

/* A tag under those that were open when it was opened. What its blocks hold, contexts say. */
struct seep_profile_scope {
	char *tag;
	uint32_t parent; /* index + 1, below the own; 0: none was open */
#define SEEP_SCOPE_SUM(name) uint64_t name;
	/* Times without those of entries while the tag was open already further out. */
	SEEP_SCOPE_SUMS(SEEP_SCOPE_SUM)
#undef SEEP_SCOPE_SUM
	uint64_t least_ns; /* + 1; 0: none was left */
	uint64_t most_ns;
	uint64_t
		first_ns; /* monotonic: when it was first entered; 0: never, or that is not known */
	uint64_t last_ns; /* when it was last left */
	uint64_t histogram[SEEP_PROFILE_DURATION_BUCKETS]; /* [i]: of less than 2^i ns */
};

struct seep_profile_mark {
	char *name; /* NULL = automatic */
	uint32_t epoch;
	uint64_t at_ns;
	bool exact;
};

struct seep_profile_sample {
	uint64_t at_ns;
	uint64_t live_bytes;
	uint64_t rss_bytes;
	uint64_t allocs;
	uint64_t frees;
};

/* One step of the chain of pointers that leads to a block, from it outward. */
struct seep_profile_link {
	char *from; /* "register", "stack of thread 12", "module data", "block" ... */
	char *name; /* of the register, module, mapping, or who allocated the block; or NULL */
	uint64_t address; /* of the pointer */
	uint64_t offset;  /* of the pointer, in what it lies in */
};

struct seep_profile_leak_block {
	uint64_t address;
	uint64_t size;
	uint8_t *contents; /* its first bytes, where asked for; else NULL */
	uint32_t content_bytes;
};

/* Flags beside a leak's verdict. */
enum seep_leak_flags {
	SEEP_LEAK_STARTUP = 1 << 0,  /* allocated before main */
	SEEP_LEAK_REPORTED = 1 << 1, /* marked as reported before */
};

/* Blocks of one context, or of copies (profile/context_hash.h), that fared alike in a leak scan. */
struct seep_profile_leak {
	uint8_t verdict; /* enum seep_verdict */
	uint32_t flags;	 /* enum seep_leak_flags */
	uint64_t hash;	 /* its context's; 0 none */
	/* index + 1; beyond context_count: of one that was left out; 0: its stack is not here */
	uint32_t context;
	/*
	 * of LOST-WITH, MAYBE-LOST: index + 1 of the leak that they go with, which goes with no
	 * other itself
	 */
	uint32_t root;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t with_blocks; /* that are lost with them, in the leaks that name this as root */
	uint64_t with_bytes;
	uint64_t blocks_error, bytes_error; /* as those of contexts */
	char *rule;	/* how a pointer points to them: "interior", "low-tag" ...; NULL none */
	char *evidence; /* one sentence; NULL none */
	char *suppressed_by;		 /* the suppression; NULL none */
	struct seep_profile_link *chain; /* of its first block; only where asked for */
	uint32_t chain_count;
	struct seep_profile_leak_block *block_list; /* the first of them, by address */
	uint32_t block_list_count;
};

/* What was done wrong with a block of the heap, by one call stack and of one other. */
struct seep_profile_finding {
	uint8_t kind;	 /* enum ledger_finding_kind, or a newer seep's */
	uint8_t freeing; /* enum ledger_freeing, or a newer seep's */
	uint8_t family;	 /* enum ledger_family of the block, where it is known */
	/* Contexts, as those of leaks: index + 1; 0: not known. */
	uint32_t block; /* where it was allocated */
	uint32_t freed; /* where it was freed before */
	uint32_t here;
	uint64_t hash; /* stable across runs: of kind, function, and the two contexts' hashes */
	uint32_t tid;
	char *thread; /* its name; NULL: none */
	uint64_t at_ns;
	uint64_t pointer; /* that was freed, or the address that was read or written */
	uint64_t block_bytes;
	int64_t offset;	   /* of the pointer, from the block's first byte */
	uint64_t expected; /* of a mismatch: size or alignment of the block */
	uint64_t actual;   /* that were said of it */
	uint64_t count;
	bool doubtful;	     /* as the ledger says it; not in recordings */
	char *suppressed_by; /* the suppression; NULL none */
};

struct seep_profile_range {
	uint64_t from;
	uint64_t to;
	char *reason;
};

/* A suppression that was in force, with what it hit. */
struct seep_profile_suppression {
	char *text; /* as in the file: "leak:foo", or the name of a block */
	char *file; /* NULL: the default list, or the program's own */
	uint64_t leaks;
	uint64_t blocks;
	uint64_t bytes;
};

/* How the process was scanned for what cannot be reached. */
struct seep_profile_scan {
	bool done;
	char *method;  /* "copy-on-write", "stopped", "waiting"; NULL: not done */
	char *why_not; /* one sentence; NULL: done, or nobody asked */
	uint64_t at_ns;
	uint64_t pause_ns;
	uint64_t mark_ns;
	uint64_t marked_bytes;
	uint64_t blocks; /* live ones that were looked at */
	struct seep_profile_range *skipped;
	uint32_t skipped_count;
	char **caveats; /* one sentence each */
	uint32_t caveat_count;
	struct seep_profile_suppression *suppressions;
	uint32_t suppression_count;
};

struct seep_profile_unseen {
	char *code;   /* stable name, e.g. "tables-full" */
	char *detail; /* one sentence */
};

enum seep_profile_ended {
	SEEP_ENDED_UNKNOWN = 0,
	SEEP_ENDED_RUNNING,
	SEEP_ENDED_EXIT,   /* status_code valid when has_status */
	SEEP_ENDED_SIGNAL, /* status_signal valid when has_status */
	SEEP_ENDED_EXEC,
	SEEP_ENDED_KILLED,   /* gone without a word and nobody saw its status */
	SEEP_ENDED_DETACHED, /* it went on, and was not recorded any more */
};

/* How the recording of a process began. */
enum seep_profile_origin {
	SEEP_ORIGIN_UNKNOWN = 0,
	SEEP_ORIGIN_START,
	SEEP_ORIGIN_FORK,
	SEEP_ORIGIN_ATTACH, /* what it had allocated before is not known */
};

struct seep_profile_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid;
	char *exe;
	char *cwd;
	char **argv;	       /* NULL-terminated; NULL = withheld */
	uint32_t argv_count;   /* where it was read: with the NULL */
	char *allocator;       /* "glibc", or the path of the library that provides malloc */
	char *options;	       /* SEEP_OPTIONS as given */
	char *suppressions;    /* of a ledger: of its __lsan_default_suppressions(); NULL none */
	uint32_t mode;	       /* enum ledger_mode */
	uint32_t tiers;	       /* of LEDGER_MODE_TIERS all that were in force */
	uint64_t sample_bytes; /* of these: one in about so many was taken */
	uint64_t estimates_since_ns; /* monotonic: when the first of them was in force */
	enum seep_profile_origin origin;
	uint64_t ran_before_ns; /* it had run for so long when it was attached to; 0 unknown */
	uint64_t start_ns;	/* monotonic; of what is recorded */
	uint64_t start_realtime_ns;
	uint64_t end_ns; /* 0 = running */
	enum seep_profile_ended ended;
	bool has_status;
	bool core_dumped;
	int status_code;
	int status_signal;
	uint32_t *children; /* pids that have a recording of their own */
	uint32_t child_count;
	uint64_t peak_rss_bytes; /* 0 unknown */
};

struct seep_profile_verify {
	bool asked;
	uint64_t walks; /* compared with libgcc's */
	uint64_t landed;
	uint64_t truncated;
	uint64_t differences;
};

struct seep_profile_totals {
	uint64_t allocs, alloc_bytes, frees, freed_bytes;
	uint64_t live_blocks, live_bytes;
	uint64_t usable_bytes; /* of the live blocks */
	uint64_t peak_bytes;   /* sum of the contexts' peak_bytes: one cut */
	/* Monotonic; of the last state: when it was read or ended; 0 = unknown. */
	uint64_t peak_at_ns;
	bool peak_exact;
	uint64_t peak_error_bytes; /* bound */
	uint64_t temporary, temporary_bytes;
	uint64_t threads;
	uint64_t untracked_frees, missed_frees, inherited_frees, inherited_freed_bytes;
	uint64_t dropped, in_doubt, abandoned, unrecorded_children;
	uint64_t own_bytes; /* ledger pages + private memory of the runtime */
	uint64_t walks, walks_landed, walks_truncated;
	uint64_t counted_allocs, counted_alloc_bytes, counted_frees; /* exact; of tier "sampled" */
	uint64_t errors[SEEP_FIGURE_COUNT]; /* of the sums of contexts' figures, as theirs */
	uint64_t histogram[SEEP_PROFILE_HISTOGRAM_BUCKETS]; /* [i]: requests < 2^i bytes */
	struct seep_profile_verify verify;
};

struct seep_profile_forked {
	uint64_t processes, allocs, alloc_bytes, frees, freed_bytes, live_bytes;
	uint64_t inherited_frees, inherited_freed_bytes; /* of what ancestors had allocated */
	uint64_t unrecorded; /* their own children that have no ledger; not in recordings */
};

/* Another process of the same run, or an earlier program of this one, with its own recording. */
struct seep_profile_other {
	uint32_t pid;
	uint32_t ppid;
	char *exe;  /* path */
	char *file; /* name of its recording, in the folder FILE.d of this one */
	uint64_t start_ns;
	uint64_t end_ns; /* monotonic, as the process's; 0 unknown */
	uint64_t allocs, alloc_bytes, frees, freed_bytes, live_bytes, peak_bytes;
};

/* All processes of a run together: this one, the others, and forks without a recording. */
struct seep_profile_run {
	struct seep_profile_forked sums; /* no processes: it was alone, or nobody knows */
	/*
	 * Peaks of those with a recording, of which each has its own time: their sum, and the most
	 * that those sum to that ran at the same time.
	 */
	uint64_t peaks_bytes;
	uint64_t peaks_at_once_bytes;
};

/* Patterns that say which call stacks of a profile were asked for, as they were typed. */
struct seep_profile_within {
	const char *const *within; /* those through any of these; none: all */
	size_t within_count;
	const char *const *without; /* but for those through any of these */
	size_t without_count;
	const char *text; /* all of them, in words */
};

/*
 * The arrays of a profile that can grow: ARRAY(constant, the member that points to the items, the one
 * that counts them, what an item is).
 */
/* clang-format off */
#define SEEP_ARRAYS(ARRAY) \
	ARRAY(MODULES, modules, module_count, struct seep_profile_module) \
	ARRAY(FRAMES, frames, frame_count, struct seep_profile_frame) \
	ARRAY(CONTEXTS, contexts, context_count, struct seep_profile_context) \
	ARRAY(EPOCHS, epochs, epoch_count, struct seep_profile_epoch) \
	ARRAY(ROWS, rows, row_count, struct seep_profile_row) \
	ARRAY(PLACES, places, place_count, uint32_t) \
	ARRAY(MARKS, marks, mark_count, struct seep_profile_mark) \
	ARRAY(SAMPLES, timeline, sample_count, struct seep_profile_sample) \
	ARRAY(UNSEEN, unseen, unseen_count, struct seep_profile_unseen) \
	ARRAY(CHILDREN, process.children, process.child_count, uint32_t) \
	ARRAY(ARGV, process.argv, process.argv_count, char *) \
	ARRAY(OTHERS, others, other_count, struct seep_profile_other) \
	ARRAY(SKIPPED, scan.skipped, scan.skipped_count, struct seep_profile_range) \
	ARRAY(CAVEATS, scan.caveats, scan.caveat_count, char *) \
	ARRAY(SUPPRESSIONS, scan.suppressions, scan.suppression_count, struct seep_profile_suppression) \
	ARRAY(LEAKS, leaks, leak_count, struct seep_profile_leak) \
	ARRAY(LEAK_BLOCKS, leak_blocks, leak_block_count, struct seep_profile_leak_block) \
	ARRAY(LINKS, links, link_count, struct seep_profile_link) \
	ARRAY(FINDINGS, findings, finding_count, struct seep_profile_finding) \
	ARRAY(SCOPES, scopes, scope_count, struct seep_profile_scope)
/* clang-format on */

enum seep_array {
#define SEEP_ARRAY_NUMBER(constant, items, count, type) SEEP_ARRAY_##constant,
	SEEP_ARRAYS(SEEP_ARRAY_NUMBER)
#undef SEEP_ARRAY_NUMBER
		SEEP_ARRAY_COUNT,
};

struct seep_profile {
	struct seep_profile_process process;
	struct seep_profile_totals totals;
	struct seep_profile_forked forked; /* children too small for a recording of their own */
	bool is_summed; /* of a ledger: all of this is in an ancestor's "forked" */
	struct seep_profile_run run;
	struct seep_profile_other *others;
	uint32_t other_count;
	struct seep_profile_module *modules;
	uint32_t module_count;
	struct seep_profile_frame *frames;
	uint32_t frame_count;
	struct seep_profile_context *contexts;
	uint32_t context_count;
	struct seep_profile_epoch *epochs; /* what those of the contexts point into */
	uint32_t epoch_count;
	uint64_t growth_after_ns; /* a context grows when it did for so long; 0: nobody looked */
	uint32_t left_out_count;  /* contexts behind those, not to be shown; analysis/keep.h */
	/* NULL: it is all of the process; else borrowed, and totals are sums; analysis/within.h */
	const struct seep_profile_within *within;
	uint32_t first_row; /* of a ledger: id of the first of these; lower ones are of ancestors */
	struct seep_profile_row *rows;
	uint32_t row_count;
	uint32_t *places; /* of a ledger: by id less 1, that context's index + 1; 0 = not here */
	uint32_t place_count;
	struct seep_profile_mark *marks;
	uint32_t mark_count;
	struct seep_profile_sample *timeline;
	uint32_t sample_count;
	struct seep_profile_unseen *unseen;
	uint32_t unseen_count;
	struct seep_profile_scan scan;
	struct seep_profile_leak *leaks; /* by verdict, then bytes */
	uint32_t leak_count;
	/* Of a recording: what its leaks' lists and chains point into, in their order. */
	struct seep_profile_leak_block *leak_blocks;
	uint32_t leak_block_count;
	struct seep_profile_link *links;
	uint32_t link_count;
	struct seep_profile_finding *findings; /* worst first: by count */
	uint32_t finding_count;
	bool knows_findings; /* false: none were looked for */
	struct seep_profile_scope *scopes;
	uint32_t scope_count;
	bool symbolised;
	/* By frame, of those that names were looked up for: the frames inlined into it. */
	struct seep_profile_inlined *inlined;
	uint32_t named_count;
	struct seep_arena *arena; /* strings, and arrays that seep_profile_add() has not */
	struct {
		void *items;
		size_t capacity;
	} grown[SEEP_ARRAY_COUNT];
};

/* A profile with nothing in it. Never fails. */
struct seep_profile *seep_profile_new(void);

/* Release @profile and all it owns. NULL is a no-op. */
void seep_profile_free(struct seep_profile *profile);
SEEP_FREE_AT(struct seep_profile, seep_profile_free)

/* Memory that lives as long as @profile; zeroed. Never fails: out of memory ends the tool. */
void *seep_profile_calloc(struct seep_profile *profile, size_t count, size_t item_bytes);
char *seep_profile_strdup(struct seep_profile *profile, const char *text);
char *seep_profile_strndup(struct seep_profile *profile, const char *bytes, size_t count);

/* The items of an array, and how many. */
const void *seep_profile_items(const struct seep_profile *profile, enum seep_array array,
			       uint32_t *ret_count);

/*
 * @count more items, zeroed, of which the first is returned. The array may move. One that was set
 * otherwise is not added to.
 */
void *seep_profile_add_items(struct seep_profile *profile, enum seep_array array, uint32_t count)
	__attribute__((returns_nonnull));

/*
 * The index + 1 of the context of the row with this id; 0: an ancestor's, or nothing was
 * counted.
 */
static inline uint32_t seep_profile_row_context(const struct seep_profile *profile, uint32_t row)
{
	return row >= profile->first_row && row - profile->first_row < profile->row_count
		       ? profile->rows[row - profile->first_row].context
		       : 0;
}

/*
 * The index + 1 of the context that a reading of the same ledger has under @id; 0: not here. A
 * ledger may have the same one twice, and readers merge them under either's id.
 */
static inline uint32_t seep_profile_context_of(const struct seep_profile *profile, uint32_t id)
{
	return id > 0 && id <= profile->place_count ? profile->places[id - 1] : 0;
}

/* A context by its index + 1, of those that were left out too; NULL: it is not here. */
static inline const struct seep_profile_context *seep_profile_context_at(
	const struct seep_profile *profile, uint32_t place)
{
	return place > 0 && place <= profile->context_count + profile->left_out_count
		       ? &profile->contexts[place - 1]
		       : NULL;
}

/* Contexts have moved: @places has by index + 1 of each, and of none, what it is now. */
void seep_profile_renumber(struct seep_profile *profile, const uint32_t *places);

/* The path of the module that @frame is in; NULL: not known. */
static inline const char *seep_profile_frame_path(const struct seep_profile *profile,
						  const struct seep_profile_frame *frame)
{
	return frame->module > 0 && frame->module <= profile->module_count
		       ? profile->modules[frame->module - 1].path
		       : NULL;
}

/* One more. */
static inline void *seep_profile_add(struct seep_profile *profile, enum seep_array array)
{
	return seep_profile_add_items(profile, array, 1);
}

/* What @profile says of itself, for another one of the same run; exe and file stay NULL. */
struct seep_profile_other seep_profile_share(const struct seep_profile *profile);

/*
 * Codes of profiles that other tools made: the format says nothing of the process; it knows one
 * moment and neither peak nor temporary allocations; not what was freed; not what is live. What is
 * not known is 0 in the profile.
 */
#define SEEP_UNSEEN_IMPORTED "imported"
#define SEEP_UNSEEN_ONE_MOMENT "one-moment"
#define SEEP_UNSEEN_NO_FREES "no-frees"
#define SEEP_UNSEEN_NO_LIVE "no-live"
#define SEEP_UNSEEN_SAMPLED "sampled" /* of ours, too */

/* Some calls of malloc and its relatives do not come to the hooks: by where they lead, by their name. */
#define SEEP_UNSEEN_ELSEWHERE "bound-elsewhere"
#define SEEP_UNSEEN_PRIVATE "private-allocator"

/* The ledger contradicts itself: its figures are shown, and nothing is concluded from them. */
#define SEEP_UNSEEN_DAMAGED "ledger-damaged"

/* The number that SEEP_OPTIONS gave for @key last, without its unit; @otherwise if none. */
uint64_t seep_profile_option(const struct seep_profile *profile, const char *key,
			     uint64_t otherwise);

/* Was new memory filled with a byte, so that no word in it was left by its last owner? */
bool seep_profile_is_filled(const struct seep_profile *profile);

/* Does profile->unseen have a line with @code? */
bool seep_profile_says(const struct seep_profile *profile, const char *code);

/* Why it was not scanned for leaks, a sentence without a full stop; NULL: it was. */
const char *seep_profile_not_scanned(const struct seep_profile *profile);

/*
 * Is the total of this name (profile/total_fields.h) known? Of what other tools made, some are not;
 * they are 0, also in contexts.
 */
bool seep_profile_knows(const struct seep_profile *profile, const char *total);

/* Are its zeros no figures, since the ledger never had room to begin? profile->unseen says why. */
bool seep_profile_is_void(const struct seep_profile *profile);

/* Put how many children have no ledger, of totals, into profile->unseen. */
void seep_profile_say_unrecorded(struct seep_profile *profile);

/* Append one line to profile->unseen; a code that is there already is not added again. */
void seep_profile_add_unseen(struct seep_profile *profile, const char *code, const char *fmt, ...)
	SEEP_PRINTF(3, 4);

#endif
