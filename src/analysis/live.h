/* SPDX-License-Identifier: MIT */
/*
 * A tree of running processes, read again and again: what "seep top" shows. Each process has its
 * profile, which is refreshed in place, the figures of the reading before, and what is known of its
 * growth. Choosing lines takes one plain loop over the contexts; names are looked up when there are
 * new frames.
 *
 *	live = seep_live_new(&options);
 *	for (;;) {
 *		seep_live_refresh(live, seep_monotonic_ns());
 *		count = seep_live_top(live, sort, "", LINES, lines);
 *		...
 *	}
 *	seep_live_free(live);
 */
#ifndef SEEP_ANALYSIS_LIVE_H
#define SEEP_ANALYSIS_LIVE_H

#include "analysis/group.h"
#include "analysis/growth.h"
#include "analysis/growth_ages.h"
#include "analysis/keep.h"
#include "analysis/scope_sums.h"
#include "analysis/sites.h"
#include "base/error.h"
#include "profile/ledger_live.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_live;
struct seep_symbols;

enum seep_live_sort {
	SEEP_LIVE_BY_BYTES = 0,
	SEEP_LIVE_BY_CHANGE,
	SEEP_LIVE_BY_ALLOCS, /* per second */
	SEEP_LIVE_BY_GROWTH, /* GROWING first, then STALE */
	SEEP_LIVE_BY_AGE,    /* of the oldest block */
	SEEP_LIVE_BY_BLOCKS,
	SEEP_LIVE_SORTS,
};

/* What people type for each; then NULL. */
extern const char *const seep_live_sort_names[SEEP_LIVE_SORTS + 1];

enum seep_live_state {
	SEEP_LIVE_RUNS,
	SEEP_LIVE_ENDED,
	SEEP_LIVE_LOST, /* its ledger cannot be read any more; the process may well run */
};

struct seep_live_figures {
	uint64_t live_bytes;
	uint64_t allocs;
	uint64_t frees;
};

enum { SEEP_NOBODY = 65534 };

struct seep_live_process {
	uint64_t number; /* from 1, and never that of another one; 0 is none's */
	char *path;	 /* of its ledger */
	struct seep_ledger_live *ledger;
	struct seep_profile *profile; /* the ledger's, or what of it was asked for */
	struct seep_profile part;     /* that */
	struct seep_sites *sites;     /* of all frames, once seep_live_name() was called */
	struct seep_groups *groups;   /* of the contexts that had names then */
	struct seep_growth *growth;
	enum seep_live_state state;
	char *fate;    /* a sentence: how it ended, or why it is not read any more; NULL: it runs */
	bool replaced; /* another file has the ledger's name; this one is read on */
	uint32_t threads; /* now; 0 not known */
	uint32_t user;	  /* that it runs as; until it is known SEEP_NOBODY */
	uint64_t read_ns; /* the last reading */
	uint64_t span_ns; /* between that and the one before; 0: there was none */
	struct seep_live_figures total_before; /* of the reading before; zeroes: it came since */
	struct seep_live_figures *before;      /* by context; zeroes: it came since */
	uint64_t *since;		       /* by context: live bytes that changes count from */
	uint32_t room;
	uint32_t named_contexts;
	uint32_t named_frames;
	struct seep_growth_sum grown;
	uint64_t total_since;
	struct seep_scopes scopes, scopes_before; /* of the last reading, and of the one before */
	uint64_t old_ns; /* so old what is old in scopes is at least; 0: that is not known */
	uint64_t recent[SEEP_GROWTH_RECENT]; /* live bytes of the last readings */
	uint8_t *matches;		     /* by frame: the filter's text is in it */
	uint32_t match_count;
	char *matched; /* that text */
};

struct seep_live_options {
	uint64_t growth_after_ns; /* 0: as its recorder has it, SEEP_GROWTH_AFTER_NS without one */
	struct seep_symbols *symbols;		  /* borrowed */
	const struct seep_profile_within *within; /* borrowed; NULL: all */
	struct seep_keep_globs scopes; /* look only at what was allocated under these; borrowed */
	/* Call seep_live_add() for each ledger that belongs to the tree; those that it has are no
	 * harm. Called before each reading. */
	void (*find)(void *user, struct seep_live *live);
	/* Contexts became GROWING, the worst first: those that are news. May be NULL. */
	void (*grown)(void *user, struct seep_live_process *process,
		      const struct seep_growth_list *list);
	void *user;
};

struct seep_live_sample {
	uint64_t at_ns;
	uint64_t live_bytes;
};

enum { SEEP_LIVE_SAMPLES = 2048, SEEP_LIVE_ENDED_KEPT = 8 };

/* Fields are for reading. */
struct seep_live {
	struct seep_live_options options;
	struct seep_live_process **processes; /* in the order in which they were met */
	uint32_t count;
	uint32_t left_out_count;	/* ended ones that were let go */
	bool left_out_grown;		/* a context of one of those was GROWING */
	uint64_t met;			/* how many there ever were */
	struct seep_live_process *only; /* look at this one; NULL: all that are current */
	char *news;		  /* what happened at the last refresh, a sentence; NULL: nothing */
	struct seep_arena *arena; /* of lines, until the next refresh */
	uint64_t read_ns;	  /* the last refresh */
	uint64_t since_ns;	  /* changes count from here; 0: from reading to reading */
	/* Of all current ones; at most SEEP_LIVE_SAMPLES, each second one is dropped then. */
	struct seep_live_sample *samples;
	uint32_t sample_count;
	uint32_t sample_every; /* readings per sample */
	uint64_t readings;
};

struct seep_live *seep_live_new(const struct seep_live_options *options)
	__attribute__((returns_nonnull));

/* NULL is a no-op. */
void seep_live_free(struct seep_live *live);

/* A process's ledger; one that is there is no error. Errors as of seep_ledger_live_open(). */
SEEP_NODISCARD int seep_live_add(struct seep_live *live, const char *path, struct seep_error *err);

/*
 * Read all processes that run, at @now_ns. Pointers to processes and lines from before are void, as
 * the first of those that ended are let go: keep numbers.
 */
void seep_live_refresh(struct seep_live *live, uint64_t now_ns);

/* Does any process run that can be read? */
bool seep_live_runs(const struct seep_live *live);

/* Is anything GROWING, or was it when its process ended? */
bool seep_live_has_grown(const struct seep_live *live);

/* The process with this number; NULL: it was let go. */
struct seep_live_process *seep_live_find(const struct seep_live *live, uint64_t number);

/* Look at @process alone, NULL: at all that are current. Samples begin anew. */
void seep_live_choose(struct seep_live *live, struct seep_live_process *process);

/*
 * Is it one of those whose figures are summed and listed: it runs or its ledger was lost, or it is
 * the last one of all to have ended; and live->only says nothing else?
 */
bool seep_live_is_current(const struct seep_live *live, const struct seep_live_process *process);

/* The one that stands for all: the chosen one, or the first that is current. NULL: there is none. */
struct seep_live_process *seep_live_first(const struct seep_live *live);

/*
 * Changes count from the last reading on, or, with @again, from one reading to the next. All of a
 * process that comes later is a change.
 */
void seep_live_reset(struct seep_live *live, bool again);

/* Sums of the current ones. */
enum { SEEP_LIVE_SUMS = 9 };
struct seep_live_totals {
	uint32_t processes;
	union {
		struct {
			uint64_t live_bytes;
			uint64_t live_blocks;
			uint64_t peak_bytes; /* of each its own peak */
			uint64_t allocs;
			uint64_t frees;
			uint64_t allocs_per_s;
			uint64_t frees_per_s;
			uint64_t threads;
			uint64_t findings;
		};
		uint64_t sums[SEEP_LIVE_SUMS];
	};
	uint64_t errors[SEEP_FIGURE_COUNT]; /* by figure; 0: it is exact */
	int64_t change_bytes;
	struct seep_growth_sum grown;
};
struct seep_live_totals seep_live_total(const struct seep_live *live);

/* The same of one. */
struct seep_live_totals seep_live_process_total(const struct seep_live *live,
						const struct seep_live_process *process);

/* Of call stacks that read alike. */
struct seep_live_line {
	struct seep_live_process *process;
	uint32_t context;		     /* index of the first of its contexts in the profile */
	struct seep_profile_context sum;     /* all of them, see seep_group_context() */
	bool changed;			     /* once, in the readings that are kept */
	uint64_t recent[SEEP_GROWTH_RECENT]; /* live bytes of those, oldest first */
	int64_t change_bytes;
	uint64_t allocs_per_s;
	uint64_t frees_per_s;
	uint64_t age_ns; /* at most, of the oldest live block; 0: nothing is alive */
	bool judged;
	struct seep_profile_growth growth; /* without evidence */
};

/*
 * The @top first lines of all current processes, whose frames have names then. What has nothing
 * alive and did not change is left out. Returns how many.
 * @filter: text in a function, file or module of the stack; "": all
 */
uint32_t seep_live_top(struct seep_live *live, enum seep_live_sort sort, const char *filter,
		       uint32_t top, struct seep_live_line *ret_lines);

/* The line whose first context is @context. */
struct seep_live_line seep_live_line(const struct seep_live *live,
				     struct seep_live_process *process, uint32_t context);

/* See to it that all frames of @process have names, and that its sites are there. */
void seep_live_name(const struct seep_live *live, struct seep_live_process *process);

/* When @epoch began; of one without a mark, when the process did. */
static inline uint64_t seep_live_epoch_ns(const struct seep_profile *from, uint32_t epoch)
{
	const uint64_t start_ns = seep_epoch_start_ns(from, epoch);

	return start_ns == UINT64_MAX ? from->process.start_ns : start_ns;
}

#endif
