/* SPDX-License-Identifier: MIT */
/* What was done under the tags that the program gave to its work. */
#include "report/report.h"

#include <stdlib.h>

#include "analysis/scope_sums.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/report_parts.h"
#include "view/live_view.h"

enum { TAGS_SHOWN = 8, INDENT = 2, INDENT_MAX = 60, DEPTH_MAX = 4096 };

static const struct seep_column scope_columns[] = {
	{ "TAG", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
	{ "HELD", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	{ "OWN", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
	{ "OLD", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 4 },
	{ "ALLOCATED", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
	{ "ENTRIES", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	{ "ACTIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
	{ "MEAN TIME", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
};

struct scopes_table {
	const struct seep_view *view;
	struct seep_scopes sums;
	struct seep_table *table;
	uint64_t old_ns; /* 0: it is not known what is old */
};

static struct scopes_table begin_scopes(const struct seep_view *view)
{
	const struct seep_profile *profile = view->profile;
	const uint64_t seen_ns = profile->process.end_ns || !profile->sample_count
					 ? profile->process.end_ns
					 : profile->timeline[profile->sample_count - 1].at_ns;
	struct scopes_table to = { .view = view };

	seep_scopes_init(&to.sums, profile, seep_scopes_old_epoch(profile, seen_ns, &to.old_ns),
			 view->options->shown != NULL);
	to.table = seep_table_new(scope_columns, sizeof(scope_columns) / sizeof(scope_columns[0]));
	return to;
}

static void end_scopes(struct scopes_table *of, const struct seep_printer *printer,
		       const char *title)
{
	seep_line_print(printer,
			of->old_ns ? "%s; OLD: allocated %s before the end, or earlier" : "%s",
			title, seep_duration_text(of->old_ns).text);
	fputc('\n', printer->out);
	seep_report_print_table(printer, of->view, of->table, 0);
	seep_table_free(of->table);
	seep_scopes_done(&of->sums);
}

/* Of a part of the profile only what that part was allocated under is shown. */
static bool is_shown(const struct seep_view *view, const struct seep_scope_sums *sums)
{
	return !view->options->shown || sums->all.allocs > 0;
}

static void add_scope(const struct scopes_table *to, const char *name,
		      const struct seep_scope_sums *sums, const struct seep_profile_scope *figures)
{
	const uint64_t mean_ns = seep_scope_mean_ns(figures);

	seep_table_add(to->table, name);
	seep_table_add(to->table, seep_figure_text(&sums->all, SEEP_FIGURE_live_bytes).text);
	seep_table_add(to->table, seep_figure_text(&sums->own, SEEP_FIGURE_live_bytes).text);
	seep_table_add(to->table, to->old_ns ? seep_tag_old_text(sums).text : "-");
	seep_table_add(to->table, seep_figure_text(&sums->all, SEEP_FIGURE_alloc_bytes).text);
	seep_table_add(to->table, seep_count_text(figures->entries).text);
	seep_table_add(to->table, seep_count_text(figures->entries - figures->exits).text);
	seep_table_add(to->table, mean_ns ? seep_duration_text(mean_ns).text : "-");
}

void seep_report_tags(const struct seep_printer *printer, const struct seep_view *view)
{
	const uint32_t most = view->options->full ? UINT32_MAX : TAGS_SHOWN;
	struct scopes_table to;
	uint32_t count = 0;

	if (view->profile->scope_count == 0)
		return;
	to = begin_scopes(view);
	for (uint32_t i = 0; i < to.sums.tag_count; i++) {
		const struct seep_scope_tag *tag = &to.sums.tags[i];

		if (is_shown(view, &tag->sums) && count++ < most)
			add_scope(&to, tag->tag, &tag->sums, &tag->figures);
	}
	/* Without sums: what was allocated under several tags is in each of them. */
	if (count > most) {
		SEEP_FREED char *more = seep_xasprintf("(%u more)", count - most);

		seep_table_add(to.table, more);
	}
	end_scopes(&to, printer, "Tags by bytes held, with all that was done under them");
	fputc('\n', printer->out);
}

static int by_parent(const void *left, const void *right, void *of)
{
	const struct scopes_table *table = of;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct seep_profile_scope *scopes = table->view->profile->scopes;
	const int64_t held[] = { table->sums.scopes[a].all.live_bytes,
				 table->sums.scopes[b].all.live_bytes };

	if (scopes[a].parent != scopes[b].parent)
		return scopes[a].parent < scopes[b].parent ? -1 : 1;
	return held[0] != held[1] ? (held[0] < held[1] ? 1 : -1) : (a > b) - (a < b);
}

/*
 * Those in @parent, an index + 1, or in none. @order: children of one together; @first: by parent
 * where they begin. A parent's index is below its children's, so this ends; a file may have any depth.
 */
static void add_children(const struct scopes_table *to, const uint32_t *order,
			 const uint32_t *first, uint32_t parent, int depth)
{
	const struct seep_profile *profile = to->view->profile;

	for (uint32_t at = first[parent]; at < profile->scope_count; at++) {
		const struct seep_profile_scope *scope = &profile->scopes[order[at]];
		SEEP_FREED char *name = seep_xasprintf(
			"%*s%s", depth * INDENT < INDENT_MAX ? depth * INDENT : INDENT_MAX, "",
			scope->tag);

		if (scope->parent != parent || depth > DEPTH_MAX)
			break;
		if (!is_shown(to->view, &to->sums.scopes[order[at]]))
			continue;
		add_scope(to, name, &to->sums.scopes[order[at]], scope);
		add_children(to, order, first, order[at] + 1, depth + 1);
	}
}

static void print_scopes(const struct seep_printer *printer, const struct seep_view *view)
{
	const uint32_t count = view->profile->scope_count;
	SEEP_FREED uint32_t *order = seep_xcalloc(count, sizeof(*order));
	SEEP_FREED uint32_t *first = seep_xcalloc((size_t)count + 1, sizeof(*first));
	struct scopes_table to;

	if (count == 0) {
		seep_line_print(printer, "The program opened no scopes.");
		return;
	}
	to = begin_scopes(view);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_parent, &to);
	for (uint32_t i = 0; i <= count; i++)
		first[i] = count;
	for (uint32_t at = count; at-- > 0;)
		first[view->profile->scopes[order[at]].parent] = at;
	add_children(&to, order, first, 0, 0);
	end_scopes(&to, printer, "Scopes by bytes held, with those in them; OWN: without");
}

void seep_report_scopes(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	seep_report_print_view(printer, sites, options,
			       (struct seep_next_command){ " --tree", "who called whom" },
			       print_scopes);
}
