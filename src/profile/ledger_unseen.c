/* SPDX-License-Identifier: MIT */
/* What a ledger cannot know, each as a stable code and one sentence with its numbers. */
#include "profile/ledger_parts.h"

#include "base/path.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/counted.h"

#include <inttypes.h>
#include <string.h>

enum { MODULES_NAMED = 3, LIST_BYTES_MAX = 512 };

static const struct {
	uint32_t bit;
	const char *code;
	const char *detail;
	const char *nothing; /* instead, where nothing was counted at all */
} bits[] = {
	{ LEDGER_UNSEEN_FULL, "ledger-full", NULL, /* see add_limit() */
	  "the limit of the ledger's size left no room; nothing was counted" },
	{ LEDGER_UNSEEN_NO_SPACE, "no-space", NULL, /* see load_bits() */
	  "the file system had no room for the ledger; nothing was counted" },
	{ LEDGER_UNSEEN_REFUSED, "ledger-refused",
	  "the kernel refused the ledger more pages, as it does under a seccomp filter without "
	  "madvise; stacks first met after that are counted together as other",
	  "the kernel refused memory for the ledger; nothing was counted" },
	{ LEDGER_UNSEEN_NO_MEMORY, "no-memory",
	  "the kernel gave the library no memory when it began, as it does where the program has "
	  "limited its data segment (RLIMIT_DATA); nothing was counted",
	  NULL },
	{ LEDGER_UNSEEN_ALLOCATOR, "other-allocator",
	  "malloc is not glibc's: requests below 16 bytes were rounded up to 16", NULL },
	{ LEDGER_UNSEEN_CACHES_FULL, "caches-full",
	  "some threads found no room in the ledger, or no memory; what they did is counted without "
	  "stacks",
	  NULL },
	{ LEDGER_UNSEEN_MODULES_FULL, "modules-full",
	  "some libraries found no room in the ledger; frames in them have only an address", NULL },
	{ LEDGER_UNSEEN_PAGE_MAP, "page-map",
	  "there was no memory to remember some blocks; their frees were not seen", NULL },
	{ LEDGER_UNSEEN_UNALIGNED, "unaligned",
	  "the allocator gave blocks at addresses that are no multiples of 16, or a pool several within "
	  "32 bytes; they are not counted",
	  NULL },
	{ LEDGER_UNSEEN_FRAME_POINTER, "by-frame-pointer",
	  "some stacks pass through code without unwind information, such as a JIT compiler's; what "
	  "lies beyond it was found by frame pointer, which such code may not keep",
	  NULL },
	{ LEDGER_UNSEEN_THREAD_NAMES, "thread-names",
	  "threads and scopes had more than 4,094 names; those of later names are counted together",
	  NULL },
	{ LEDGER_UNSEEN_SCOPE_TAGS, "scope-tags",
	  "more scopes were met than are told apart; later ones are counted together", NULL },
	{ LEDGER_UNSEEN_ENTRIES, "scope-entries",
	  "some scopes found no room in the ledger, or were too deep; of these, entries and times are "
	  "not counted",
	  NULL },
	{ LEDGER_UNSEEN_OPERATORS, "mismatches-off",
	  "operator new or delete is the program's own: mismatches with malloc and free are not "
	  "judged",
	  NULL },
	{ LEDGER_UNSEEN_GUARDS_ENDED, "guards-ended",
	  "a library was loaded by dlmopen or with RTLD_DEEPBIND, and may free blocks past seep: "
	  "what was allocated from then on has no guards, waits in no quarantine and is no guarded "
	  "sample",
	  NULL },
	{ LEDGER_UNSEEN_GUARDS_UNREAD, "guards-unread",
	  "the program had entered a sandbox, or there was no memory: guards of blocks that were "
	  "alive were not looked at",
	  NULL },
	{ LEDGER_UNSEEN_SAMPLES, "samples-missed",
	  "some allocations that were drawn became no guarded samples: their 128 places were taken "
	  "by live blocks, or a sandbox, a limit or SIGSEGV being ignored stood against it",
	  NULL },
	{ LEDGER_UNSEEN_MODULES_OWN, "entered-allocator",
	  "an allocator inside the program or a library is recorded where its functions begin; what "
	  "a compiler has put into their callers instead of a call is not seen, and blocks that are "
	  "freed so stay live",
	  NULL },
	{ LEDGER_UNSEEN_ARGUMENTS, "arguments-cut",
	  "the last of the program's arguments are not shown: only the first 64 KB are kept",
	  NULL },
};

/* By RLIMIT_FSIZE or RLIMIT_AS; what pages and rounding take is a fiftieth. */
static bool is_made_small(const struct ledger_header *header)
{
	return header->table[LEDGER_TABLE_ROWS].capacity < LEDGER_ROWS_USUAL / 51 * 50 &&
	       header->ledger_max_bytes >= header->file_bytes;
}

/* The table that is full; NULL: none is, the ledger has as much memory as it may take. */
static const char *full_table(const struct ledger_view *view)
{
	static const char *const of[LEDGER_TABLE_COUNT] = {
		[LEDGER_TABLE_SLOTS] = "figures of stacks by thread",
		[LEDGER_TABLE_ROWS] = "figures of stacks",
		[LEDGER_TABLE_CONTEXTS] = "stacks",
		[LEDGER_TABLE_NODES] = "frames",
		[LEDGER_TABLE_STRINGS] = "names",
	};
	const struct ledger_state *state = ledger_view_state(view);
	const char *full = NULL;
	double most = 0.9; /* what takes several at once fails before the end */

	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		const double used = (double)LEDGER_GET(state->table[t].reserved) /
				    (double)(view->header.table[t].capacity + 1);

		if (of[t] && used > most) {
			full = of[t];
			most = used;
		}
	}
	return full;
}

static void add_limit(struct seep_profile *profile, const struct ledger_view *view)
{
	const struct ledger_header *header = &view->header;
	const char *table = full_table(view);
	/* As large as all tables together are made, as long as nobody asks for more. */
	const uint64_t enough = 2 * (table ? header->file_bytes : header->ledger_max_bytes);

	if (is_made_small(header))
		seep_profile_add_unseen(
			profile, "ledger-full",
			"a limit of file size or of address space (\"ulimit -f\", \"ulimit -v\") "
			"left %s to the ledger, which is full; stacks first met after that are "
			"counted together as other",
			seep_bytes_text(header->file_bytes).text);
	else
		seep_profile_add_unseen(
			profile, "ledger-full",
			"the ledger %s%s, at %s of memory; stacks first met after that are counted "
			"together as other; \"seep run --ledger-max %" PRIu64 "M\" gives it "
			"twice the room",
			table ? "had no more room for " : "reached its limit", table ? table : "",
			seep_bytes_text(LEDGER_GET(ledger_view_state(view)->real_bytes)).text,
			((enough - 1) >> 20) + 1);
}

static void load_bits(struct seep_ledger_load *load)
{
	const struct ledger_state *state = ledger_view_state(&load->view);
	const bool is_empty = seep_profile_counted(load->profile).allocs == 0;
	uint32_t unseen = LEDGER_GET(state->unseen);

	if ((unseen & LEDGER_UNSEEN_FULL) && !is_empty)
		add_limit(load->profile, &load->view);
	if ((unseen & LEDGER_UNSEEN_NO_SPACE) && !is_empty)
		seep_profile_add_unseen(
			load->profile, "no-space",
			"the file system of the ledger was full: it had room for %s of the ledger; "
			"stacks first met after that are counted together as other; "
			"SEEP_DIR=FOLDER puts ledgers where there is more room",
			seep_bytes_text(LEDGER_GET(state->real_bytes)).text);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		const char *detail = is_empty && bits[i].nothing ? bits[i].nothing : bits[i].detail;

		if ((unseen & bits[i].bit) && detail)
			seep_profile_add_unseen(load->profile, bits[i].code, "%s", detail);
	}
	if (unseen & LEDGER_UNSEEN_FINDINGS_FULL)
		seep_profile_add_unseen(load->profile, "findings-full",
					"%" PRIu64 " wrong frees or accesses found no place in the "
					"ledger: what they were is not known",
					LEDGER_GET(state->findings_lost));
	/* Before the first mark there is nothing to keep apart. */
	if ((unseen & LEDGER_UNSEEN_ROWS_FULL) && LEDGER_GET(state->unexact_epoch))
		seep_profile_add_unseen(
			load->profile, "rows-full",
			"the ledger had no room to keep epochs apart; marks from epoch %" PRIu32
			" on are not exact",
			LEDGER_GET(state->unexact_epoch));
}

/* The time comes first: who reads of it may ask what it was that has been missed. */
static void load_attached(struct seep_ledger_load *load)
{
	const struct seep_profile_process *process = &load->profile->process;
	const uint64_t frees = load->profile->totals.untracked_frees;
	SEEP_STRBUF(before, 64);

	if (process->ran_before_ns)
		seep_strbuf_addf(&before, " for %s",
				 seep_duration_text(process->ran_before_ns).text);
	seep_profile_add_unseen(
		load->profile, "attached",
		"it had run%s before seep was attached to it: what it allocated then is not "
		"recorded (%s of such blocks since), and no wrong free is told from a right one of "
		"such a block",
		before.text, seep_things_text(frees, "free").text);
}

/* In the words of the options that said so; a tool may have set the filter instead. */
static void load_filters(struct seep_ledger_load *load)
{
	uint32_t mode = LEDGER_GET(ledger_view_control(&load->view)->mode);
	const char *options = load->profile->process.options;
	const bool is_attached = load->profile->process.origin == SEEP_ORIGIN_ATTACH;
	bool outside = false;

	for (uint32_t i = 0; i < load->profile->context_count; i++)
		outside |= !load->profile->contexts[i].scope && load->profile->contexts[i].allocs;
	if (is_attached)
		load_attached(load);
	if ((mode & LEDGER_MODE_MASK) == LEDGER_MODE_SCOPED && !outside)
		seep_profile_add_unseen(load->profile, "scoped",
					"only what was allocated in scopes was recorded");
	else if (!is_attached && LEDGER_GET(ledger_view_control(&load->view)->filtered_once) &&
		 !(mode & (LEDGER_MODE_SIZES | LEDGER_MODE_MODULES)) &&
		 seep_profile_counted(load->profile).allocs)
		seep_profile_add_unseen(load->profile, "mode-changed",
					"for some of the time not all allocations were recorded");
	if (!(mode & (LEDGER_MODE_SIZES | LEDGER_MODE_MODULES)))
		return;
	seep_profile_add_unseen(
		load->profile, "filtered", "only some allocations were recorded, by %s%s%s: %s",
		mode & LEDGER_MODE_SIZES ? "size" : "",
		(mode & LEDGER_MODE_SIZES) && (mode & LEDGER_MODE_MODULES) ? " and " : "",
		mode & LEDGER_MODE_MODULES ? "module" : "", options ? options : "see the options");
}

/* "from 3.2 s on ", or nothing where it was asked for from the start. */
static void add_since(struct seep_strbuf *text, const struct seep_profile_process *process)
{
	const char *tier = process->options ? strstr(process->options, "tier=") : NULL;

	if (process->estimates_since_ns > process->start_ns &&
	    (!tier || seep_begins_with(tier, "tier=exact")))
		seep_strbuf_addf(
			text, "from %s on ",
			seep_duration_text(process->estimates_since_ns - process->start_ns).text);
}

static void load_tiers(struct seep_ledger_load *load)
{
	const struct seep_profile_process *process = &load->profile->process;
	SEEP_STRBUF(since, 64);

	add_since(&since, process);
	if (process->tiers & LEDGER_MODE_SAMPLED)
		seep_profile_add_unseen(load->profile, SEEP_UNSEEN_SAMPLED,
					"%sone sample was taken in about %s allocated: figures are "
					"estimates, off by more than ± in 5 of 100 cases",
					since.text, seep_bytes_text(process->sample_bytes).text);
	if (process->tiers & LEDGER_MODE_COUNTS)
		seep_profile_add_unseen(
			load->profile, "counts",
			"%sonly a sample of stacks was walked: what each caller of "
			"malloc has is exact, its split over stacks an estimate (±)",
			since.text);
}

/* Row 0: whoever counts there had no room, or no state of its own, for a walk. */
static void load_stackless(struct seep_ledger_load *load)
{
	const uint64_t early = LEDGER_GET(ledger_view_state(&load->view)->early);
	const uint64_t allocs = load->rows.count ? load->rows.sums[0].allocs : 0;

	if (early)
		seep_profile_add_unseen(load->profile, "early",
					"%" PRIu64
					" allocations and frees were made before the ledger was "
					"there; the allocations are counted without a stack",
					early);
	if (allocs > early)
		seep_profile_add_unseen(load->profile, "no-stack",
					"up to %" PRIu64
					" allocations are counted without a stack: signal handlers "
					"made them while the library was counting, or their thread "
					"had no room in the ledger",
					allocs);
}

static void load_counts(struct seep_ledger_load *load)
{
	const struct seep_profile_totals *totals = &load->profile->totals;

	if (totals->dropped)
		seep_profile_add_unseen(load->profile, "dropped",
					"%" PRIu64 " allocations are counted as other instead of "
					"under their stack",
					totals->dropped);
	load_stackless(load);
	seep_profile_say_unrecorded(load->profile);
	if (totals->in_doubt && load->live)
		seep_profile_add_unseen(load->profile, "in-doubt",
					"the figures of %" PRIu64
					" call stacks kept changing while they were read",
					totals->in_doubt);
	else if (totals->in_doubt && !seep_profile_says(load->profile, SEEP_UNSEEN_DAMAGED))
		seep_profile_add_unseen(load->profile, "in-doubt",
					"%" PRIu64 " operations or more are counted in part: the "
					"process died, or a signal handler left them by longjmp",
					totals->in_doubt);
}

/* Allocations by module of the outermost frame there is; [0] = unknown. */
static uint64_t count_truncated(const struct seep_profile *profile, uint64_t *by_module)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		uint32_t module = 0;

		if (!context->truncated)
			continue;
		if (context->stack_count)
			module = profile->frames[context->stack[context->stack_count - 1].frame]
					 .module;
		by_module[module] += context->allocs;
		total += context->allocs;
	}
	return total;
}

/* The modules with the most, taken out of @by_module one after the other. */
static void list_modules(const struct seep_profile *profile, uint64_t *by_module,
			 struct seep_strbuf *list)
{
	for (int n = 0; n < MODULES_NAMED; n++) {
		uint32_t best = 0;

		for (uint32_t i = 1; i <= profile->module_count; i++)
			if (by_module[i] > by_module[best])
				best = i;
		if (by_module[best] == 0)
			return;
		seep_strbuf_adds(list, list->length ? ", " : "");
		seep_strbuf_adds(list, best ? profile->modules[best - 1].path
					    : "code outside any module");
		by_module[best] = 0;
	}
}

static void load_truncated(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	SEEP_FREED uint64_t *by_module = seep_xcalloc((size_t)profile->module_count + 1,
						      sizeof(*by_module));
	uint64_t truncated = count_truncated(profile, by_module);
	SEEP_STRBUF(list, LIST_BYTES_MAX);

	list_modules(profile, by_module, &list);
	if (truncated > 0)
		seep_profile_add_unseen(
			profile, "truncated-stacks",
			"%.2f %% of the allocations have stacks that end early, in %s: no unwind "
			"information there, or the stack is too deep",
			100.0 * (double)truncated / (double)profile->totals.allocs, list.text);
}

static void load_cut(struct seep_ledger_load *load)
{
	if (load->view.lost)
		seep_profile_add_unseen(
			load->profile, "ledger-cut",
			"the ledger's end is missing (%" PRIu64 " of %" PRIu64
			" bytes are there): what the missing part held is not counted",
			load->view.bytes, load->view.header.file_bytes);
}

static void load_contradiction(struct seep_ledger_load *load)
{
	const char *what = seep_ledger_contradiction(load);

	if (what)
		seep_profile_add_unseen(load->profile, SEEP_UNSEEN_DAMAGED,
					"the ledger was damaged, perhaps by the program, which "
					"shares its memory: it %s; other figures may be wrong too, "
					"and nothing is concluded from them",
					what);
}

void seep_ledger_load_unseen(struct seep_ledger_load *load)
{
	load_cut(load);
	load_contradiction(load);
	load_tiers(load);
	load_filters(load);
	load_counts(load);
	load_bits(load);
	load_truncated(load);
}
