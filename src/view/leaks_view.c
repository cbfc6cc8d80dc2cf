/* SPDX-License-Identifier: MIT */
#include "view/leaks_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/scope_sums.h"
#include "base/idtable.h"
#include "base/search.h"
#include "base/terminal.h"
#include "base/units.h"
#include "profile/context_hash.h"
#include "profile/kind_name.h"
#include "view/alike.h"
#include "view/frame_text.h"

enum { WITH_SHOWN = 3, NAME_COLUMNS_MAX = 60, PLACE_COLUMNS_MAX = 30 };

/* Of a call, all copies together. */
struct calls {
	uint64_t allocs;
	uint64_t frees;
};

struct builder {
	struct seep_view *view;
	struct seep_idtable copies; /* by seep_profile_copies_hash(): index of the next */
	struct calls *calls;
	size_t call_count;
	/* By leak: the first and the next one that go with it, largest first; index + 1, 0 none. */
	uint32_t *first_with;
	uint32_t *next_with;
};

void seep_leaks_sum(const struct seep_profile *profile,
		    struct seep_verdict_sum ret_sums[SEEP_VERDICT_COUNT])
{
	for (unsigned i = 0; i < SEEP_VERDICT_COUNT; i++)
		ret_sums[i] = (struct seep_verdict_sum){ 0 };
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];

		if (leak->verdict >= SEEP_VERDICT_COUNT)
			continue;
		ret_sums[leak->verdict].leaks++;
		ret_sums[leak->verdict].blocks += leak->blocks;
		ret_sums[leak->verdict].bytes += leak->bytes;
	}
}

static void add_amount(struct seep_strbuf *line, const struct seep_verdict_sum *sum,
		       const char *before, const char *after)
{
	struct seep_counts counts = { 0 };

	counts.live_blocks = (int64_t)sum->blocks;
	counts.live_bytes = (int64_t)sum->bytes;
	seep_counts_set_errors(&counts, sum->blocks_error, sum->bytes_error);
	if (sum->blocks > 0)
		seep_strbuf_addf(line, "%s%s in %s%s", before,
				 seep_figure_text(&counts, SEEP_FIGURE_live_bytes).text,
				 seep_counted_text(&counts, SEEP_FIGURE_live_blocks, "block").text,
				 after);
}

/* Nothing is lost for certain where not all could be read that may hold pointers. */
static bool is_blind(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (profile->leaks[i].rule && strcmp(profile->leaks[i].rule, "unread") == 0)
			return true;
	return false;
}

char *seep_leaks_answer(const struct seep_profile *profile)
{
	const char *why_not = seep_profile_not_scanned(profile);
	struct seep_verdict_sum sums[SEEP_VERDICT_COUNT], lost;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (why_not)
		return seep_xasprintf("Not scanned for leaks: %s", why_not);
	if (profile->scan.blocks == 0 && profile->totals.errors[SEEP_FIGURE_live_blocks] > 0)
		return seep_xasprintf(
			"What is lost is not known: 0 ±%s are left",
			seep_things_text(profile->totals.errors[SEEP_FIGURE_live_blocks], "block")
				.text);
	if (profile->scan.blocks == 0)
		return seep_xstrdup("Nothing is lost: no blocks are left");
	seep_leaks_sum(profile, sums);
	lost = sums[SEEP_VERDICT_LOST];
	lost.leaks += sums[SEEP_VERDICT_LOST_CYCLE].leaks;
	lost.blocks += sums[SEEP_VERDICT_LOST_CYCLE].blocks;
	lost.bytes += sums[SEEP_VERDICT_LOST_CYCLE].bytes;
	if (lost.blocks + sums[SEEP_VERDICT_LOST_WITH].blocks == 0)
		seep_strbuf_addf(&line, "Nothing is lost%s of %s",
				 sums[SEEP_VERDICT_MAYBE_LOST].blocks ? " for certain" : "",
				 seep_things_text(profile->scan.blocks, "live block").text);
	else
		seep_strbuf_addf(&line, "%s: ", seep_things_text(lost.leaks, "leak").text);
	add_amount(&line, &lost, "", " lost");
	add_amount(&line, &sums[SEEP_VERDICT_LOST_WITH], lost.blocks ? ", and " : "",
		   lost.blocks == 1 ? " with it"
		   : lost.blocks    ? " with them"
				    : " lost");
	add_amount(&line, &sums[SEEP_VERDICT_MAYBE_LOST], "; ", " may be lost");
	add_amount(&line, &sums[SEEP_VERDICT_SUPPRESSED], "; ", " suppressed");
	if (profile->process.origin == SEEP_ORIGIN_FORK &&
	    profile->scan.blocks > profile->totals.live_blocks)
		seep_strbuf_adds(&line, "; blocks from before its fork are among them");
	if (profile->scan.skipped_count)
		seep_strbuf_adds(&line, "; some memory could not be read");
	else if (is_blind(profile))
		seep_strbuf_adds(&line, "; what the kernel keeps for it could not be read");
	return seep_strbuf_take(&line);
}

char *seep_leaks_advice(const struct seep_profile *profile)
{
	SEEP_FREED bool *lost = seep_xcalloc(profile->context_count + 1, sizeof(*lost));
	SEEP_FREED char *why = NULL;
	uint64_t lost_bytes = 0, maybe_bytes = 0, both = 0;

	if (!profile->scan.done || seep_profile_is_filled(profile) ||
	    seep_profile_says(profile, SEEP_UNSEEN_IMPORTED))
		return NULL;
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];

		if (!seep_verdict_is_leak(leak->verdict))
			continue;
		lost_bytes += leak->bytes;
		if (leak->context > 0 && leak->context <= profile->context_count)
			lost[leak->context] = true;
	}
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];

		if (leak->verdict != SEEP_VERDICT_MAYBE_LOST)
			continue;
		maybe_bytes += leak->bytes;
		if (leak->context <= profile->context_count && lost[leak->context]) {
			lost[leak->context] = false;
			both++;
		}
	}
	if (both == 0 && maybe_bytes <= lost_bytes)
		return NULL;
	why = both ? seep_xasprintf("%s both LOST and MAYBE-LOST blocks",
				    both == 1 ? "A call stack has" : "Some call stacks have")
		   : seep_xstrdup("More is MAYBE-LOST than LOST");
	return seep_xasprintf("%s: old pointers in memory that was handed out again may hide "
			      "leaks. \"seep run --fill\" overwrites them. What is LOST is so in "
			      "any case.",
			      why);
}

static struct calls *calls_of(struct builder *b, const struct seep_profile_context *context)
{
	const uint64_t hash = seep_profile_copies_hash(b->view->profile, context);
	size_t at = SEEP_IDTABLE_START;
	const uint32_t id = seep_idtable_find(&b->copies, hash, &at);

	if (id != SEEP_IDTABLE_NONE)
		return &b->calls[id];
	seep_idtable_add(&b->copies, hash, (uint32_t)b->call_count);
	*SEEP_APPEND(b->calls, b->call_count) = (struct calls){ 0 };
	return &b->calls[b->call_count - 1];
}

/* Of the call stacks of @leaks alone: to look at how all read takes long. */
static void count_calls(struct builder *b, const struct seep_profile_leak *const *leaks,
			uint32_t count)
{
	const struct seep_profile *profile = b->view->profile;
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable wanted = { 0 };

	for (uint32_t i = 0; i < count; i++)
		if (leaks[i]->hash)
			seep_idtable_add(&wanted, leaks[i]->hash, i);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		size_t at = SEEP_IDTABLE_START;
		struct calls *calls;

		if (seep_idtable_find(&wanted, context->hash, &at) == SEEP_IDTABLE_NONE)
			continue;
		calls = calls_of(b, context);
		calls->allocs += context->allocs;
		calls->frees += context->frees;
	}
}

static char *figures_of(struct builder *b, const struct seep_profile_leak *leak)
{
	const struct seep_view *view = b->view;
	const struct seep_profile_context *context = seep_profile_context_at(view->profile,
									     leak->context);
	const struct seep_verdict_sum own = { .blocks = leak->blocks,
					      .bytes = leak->bytes,
					      .blocks_error = leak->blocks_error,
					      .bytes_error = leak->bytes_error };
	const struct seep_verdict_sum with = { .blocks = leak->with_blocks,
					       .bytes = leak->with_bytes };
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	seep_strbuf_addf(&line, "%s: ", seep_verdict_name(leak->verdict));
	add_amount(&line, &own, "", "");
	add_amount(&line, &with, ", and ", leak->blocks == 1 ? " with it" : " with them");
	if (context) {
		const struct calls *calls = calls_of(b, context);

		if (calls->frees == 0 && calls->allocs > 1)
			seep_strbuf_adds(&line, "; none ever freed");
		else if (calls->frees > 0)
			seep_strbuf_addf(&line, "; %s of %s freed",
					 seep_digits_text(calls->frees).text,
					 seep_digits_text(calls->allocs).text);
		seep_strbuf_addf(&line, ", %s", seep_profile_kind_name(context->kind));
		if (context->thread)
			seep_strbuf_addf(&line, ", thread %s", context->thread);
		if (context->scope) {
			SEEP_FREED char *path = seep_scope_path(view->profile, context->scope);

			seep_strbuf_addf(&line, ", scope %s", path);
		}
	}
	return seep_escape_dup(line.text);
}

char *seep_site_text(const struct seep_sites *sites, const struct seep_profile_context *context)
{
	const struct seep_profile_frame *frame = context ? seep_sites_blamed(sites, context) : NULL;
	SEEP_STRBUF(site, SEEP_LINE_BYTES_MAX);
	SEEP_FREED char *name = NULL, *place = NULL, *type = NULL;

	if (!frame)
		return seep_xstrdup("an unknown place");
	name = seep_frame_name(sites->profile, frame, SEEP_NAME_BRIEF);
	place = seep_frame_place(sites->profile, frame, true);
	type = seep_row_type(sites, context);
	/* Words that cannot be folded. */
	seep_text_fit(&site, name, NAME_COLUMNS_MAX, false);
	seep_strbuf_adds(&site, type);
	if (*place) {
		seep_strbuf_adds(&site, " (");
		seep_text_fit(&site, place, PLACE_COLUMNS_MAX, true);
		seep_strbuf_adds(&site, ")");
	}
	return seep_strbuf_take(&site);
}

static void add_with(struct builder *b, struct seep_leak_view *item, uint32_t index)
{
	const struct seep_profile_leak *leaks = b->view->profile->leaks;
	struct seep_verdict_sum rest = { 0 };
	uint32_t at = b->first_with[index];
	unsigned count = 0;

	for (uint32_t i = at; i > 0; i = b->next_with[i - 1])
		count++;
	/* One more line says no more than the line that it stands for. */
	if (!b->view->options->full && count > WITH_SHOWN + 1)
		count = WITH_SHOWN;
	for (; count > 0; count--, at = b->next_with[at - 1]) {
		SEEP_FREED char *site = seep_site_text(
			b->view->sites,
			seep_profile_context_at(b->view->profile, leaks[at - 1].context));

		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "with %s: %s in %s from %s",
				     item->leak->blocks == 1 ? "it" : "them",
				     seep_bytes_text(leaks[at - 1].bytes).text,
				     seep_things_text(leaks[at - 1].blocks, "block").text, site);
	}
	for (; at > 0; at = b->next_with[at - 1])
		rest = (struct seep_verdict_sum){ .leaks = rest.leaks + 1,
						  .blocks = rest.blocks + leaks[at - 1].blocks,
						  .bytes = rest.bytes + leaks[at - 1].bytes };
	if (rest.leaks > 0)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "and %s in %s from %s",
				     seep_bytes_text(rest.bytes).text,
				     seep_things_text(rest.blocks, "block").text,
				     seep_things_text(rest.leaks, "more call stack").text);
}

static void add_reason(struct seep_leak_view *item)
{
	const struct seep_profile_leak *leak = item->leak;

	if (leak->evidence)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "%s%s%s%s", leak->evidence,
				     leak->rule ? " (rule " : "", leak->rule ? leak->rule : "",
				     leak->rule ? ")" : "");
	else if (leak->rule)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "rule %s", leak->rule);
	if (leak->suppressed_by)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "suppressed by %s",
				     leak->suppressed_by);
}

/* "block app::read_file + 0x10 (0x5581...)": where one pointer lies. */
static void add_link(struct seep_strbuf *line, const struct seep_profile_link *link)
{
	seep_strbuf_adds(line, link->from ? link->from : "?");
	if (link->name)
		seep_strbuf_addf(line, " %s", link->name);
	if (link->offset > 0)
		seep_strbuf_addf(line, SEEP_NO_BREAK "+" SEEP_NO_BREAK "0x%" PRIx64, link->offset);
	if (link->address > 0)
		seep_strbuf_addf(line, " (0x%" PRIx64 ")", link->address);
}

static void add_chain(struct seep_leak_view *item)
{
	const struct seep_profile_leak *leak = item->leak;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (leak->chain_count == 0) {
		if (leak->verdict == SEEP_VERDICT_MAYBE_LOST ||
		    leak->verdict == SEEP_VERDICT_LOST_CYCLE ||
		    leak->verdict == SEEP_VERDICT_REACHABLE)
			(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN,
					     "what points to it was not kept; --why of the scan "
					     "keeps it");
		return;
	}
	for (uint32_t i = 0; i < leak->chain_count; i++) {
		seep_strbuf_clear(&line);
		seep_strbuf_adds(&line, i == 0 ? "pointed to from " : "that from ");
		add_link(&line, &leak->chain[i]);
		if (leak->verdict == SEEP_VERDICT_LOST_CYCLE && i + 1 == leak->chain_count)
			seep_strbuf_adds(&line, ": the block itself");
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "%s", line.text);
	}
}

/* What identifies it: for suppressions, and for a debugger. */
static void add_identity(const struct seep_view *view, struct seep_leak_view *item)
{
	const struct seep_profile_leak *leak = item->leak;
	const uint32_t wanted = view->options->leak_blocks;
	const uint32_t shown = leak->block_list_count < wanted ? leak->block_list_count : wanted;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (leak->hash != 0)
		seep_strbuf_addf(&line, "hash:%016" PRIx64, leak->hash);
	if (leak->flags & SEEP_LEAK_STARTUP)
		seep_strbuf_adds(&line,
				 line.length ? ", allocated before main" : "allocated before main");
	if (leak->flags & SEEP_LEAK_REPORTED)
		seep_strbuf_adds(&line, line.length ? ", reported before" : "reported before");
	if (line.length > 0)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_DIM, "%s", line.text);
	seep_strbuf_clear(&line);
	for (uint32_t i = 0; i < shown; i++)
		seep_strbuf_addf(&line, "%s0x%" PRIx64, i == 0 ? "at " : ", ",
				 leak->block_list[i].address);
	if (shown > 0 && shown < leak->blocks)
		seep_strbuf_addf(&line, " and %s more",
				 seep_digits_text(leak->blocks - shown).text);
	if (shown > 0)
		(void)seep_lines_add(&item->notes, SEEP_STYLE_PLAIN, "%s", line.text);
}

static void add_stack(struct builder *b, struct seep_leak_view *item)
{
	const struct seep_profile_context *context = seep_profile_context_at(b->view->profile,
									     item->leak->context);

	if (context)
		seep_stack_lines_fold(&item->stack, b->view, context);
	else
		*SEEP_APPEND(item->stack.items, item->stack.count) = (struct seep_stack_line){
			.note = seep_xstrdup(
				"allocated by another process, whose stacks are not here"),
		};
}

static void build_leak(struct builder *b, struct seep_leak_view *item, uint32_t index)
{
	item->leak = &b->view->profile->leaks[index];
	add_stack(b, item);
	item->stack.figures = figures_of(b, item->leak);
	add_with(b, item, index);
	add_reason(item);
	if (b->view->options->why)
		add_chain(item);
	add_identity(b->view, item);
}

static bool is_wanted(const struct seep_view *view, unsigned verdict)
{
	const uint32_t kinds = view->options->leak_kinds;

	if (verdict >= SEEP_VERDICT_COUNT)
		return false;
	return kinds ? kinds >> verdict & 1 : seep_verdict_is_leak(verdict);
}

/* Is its context among those that were chosen? */
static bool is_kept(const struct seep_view *view, const struct seep_profile_leak *leak)
{
	return leak->context <= view->profile->context_count &&
	       (leak->context > 0 || !view->options->shown);
}

/* Is it asked for by name, or by the address of one of its blocks? */
static bool is_asked(const struct seep_view *view, const struct seep_profile_leak *leak)
{
	const uint64_t address = view->options->why_address;

	if (address == 0)
		return is_wanted(view, leak->verdict);
	for (uint32_t i = 0; i < leak->block_list_count; i++)
		if (address - leak->block_list[i].address < leak->block_list[i].size ||
		    address == leak->block_list[i].address)
			return true;
	return false;
}

/* It stands with what it goes with. */
static bool is_elsewhere(const struct seep_view *view, const struct seep_profile_leak *leak)
{
	const struct seep_profile *profile = view->profile;

	return leak->root > 0 && leak->root <= profile->leak_count &&
	       is_wanted(view, profile->leaks[leak->root - 1].verdict) &&
	       is_kept(view, &profile->leaks[leak->root - 1]);
}

/* What is lost comes first, by all that goes with it; then verdict by verdict. */
static int compare(const void *left, const void *right)
{
	const struct seep_profile_leak *const *a = left, *const *b = right;
	const unsigned a_class = seep_verdict_is_leak((*a)->verdict) ? 0 : (*a)->verdict;
	const unsigned b_class = seep_verdict_is_leak((*b)->verdict) ? 0 : (*b)->verdict;

	return seep_search_order(a_class, b_class)
		       ?: seep_search_order((*b)->bytes + (*b)->with_bytes,
					    (*a)->bytes + (*a)->with_bytes)
		       ?: seep_search_order((*a)->hash, (*b)->hash) ?: (*a > *b) - (*a < *b);
}

/* The wanted ones in order; release with free(). */
static const struct seep_profile_leak **choose(const struct seep_view *view, uint32_t *ret_count)
{
	const struct seep_profile *profile = view->profile;
	const struct seep_profile_leak **chosen = seep_xcalloc(profile->leak_count,
							       sizeof(*chosen));
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];

		if (is_asked(view, leak) && is_kept(view, leak) &&
		    (view->options->why_address || !is_elsewhere(view, leak)))
			chosen[count++] = leak;
	}
	qsort(chosen, count, sizeof(const struct seep_profile_leak *), compare);
	*ret_count = count;
	return chosen;
}

/* Leaks come by size, so each list does, too. */
static void gather_with(struct builder *b)
{
	const struct seep_profile *profile = b->view->profile;

	b->first_with = seep_xcalloc(profile->leak_count, sizeof(*b->first_with));
	b->next_with = seep_xcalloc(profile->leak_count, sizeof(*b->next_with));
	for (uint32_t i = profile->leak_count; i > 0; i--) {
		const uint32_t root = profile->leaks[i - 1].root;

		if (root == 0 || root > profile->leak_count || root == i)
			continue;
		b->next_with[i - 1] = b->first_with[root - 1];
		b->first_with[root - 1] = i;
	}
}

void seep_leaks_view_init(struct seep_leaks_view *leaks, struct seep_view *view, uint32_t top)
{
	struct builder b = { .view = view };
	SEEP_FREED const struct seep_profile_leak **chosen = NULL;

	*leaks = (struct seep_leaks_view){ 0 };
	chosen = choose(view, &leaks->all);
	leaks->count = top > 0 && top < leaks->all ? top : leaks->all;
	leaks->items = seep_xcalloc(leaks->count, sizeof(*leaks->items));
	gather_with(&b);
	count_calls(&b, chosen, leaks->count);
	for (uint32_t i = 0; i < leaks->count; i++)
		build_leak(&b, &leaks->items[i], (uint32_t)(chosen[i] - view->profile->leaks));
	free(b.first_with);
	free(b.next_with);
	free(b.calls);
	seep_idtable_done(&b.copies);
}

void seep_leaks_view_done(struct seep_leaks_view *leaks)
{
	for (uint32_t i = 0; i < leaks->count; i++) {
		seep_stack_lines_done(&leaks->items[i].stack);
		seep_lines_done(&leaks->items[i].notes);
	}
	free(leaks->items);
}
