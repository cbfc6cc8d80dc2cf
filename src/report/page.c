/* SPDX-License-Identifier: MIT */
/*
 * The page. What it looks like and does is written in web/ and built into assets/report.html; what C
 * puts into that is described in docs/internals/page.md.
 */
#include "report/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/rank.h"
#include "base/encode.h"
#include "base/path.h"
#include "base/text.h"
#include "base/texts.h"
#include "base/xalloc.h"
#include "report/json_diff.h"
#include "report/report_json.h"
#include "view/alike.h"
#include "view/frame_text.h"
#include "view/growth_view.h"
#include "view/leaks_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

/* assets/report.html, and where it ends. */
extern const char seep_page_start[], seep_page_end[];

__asm__(".pushsection .rodata\n"
	"seep_page_start: .incbin \"" SEEP_PAGE_FILE "\"\n"
	"seep_page_end: .byte 0\n"
	".popsection\n");

static const char placeholder[] = "@@SEEP_DATA@@";

enum { ROWS_TOLD = 4000 };

/* The functions of the frames of one page, which may be of two profiles. */
struct functions {
	struct seep_texts names; /* whole name and module, by number */
	struct seep_texts brief;
};

/* What a profile's frames become, by its frames' indexes. */
struct side {
	const struct seep_sites *sites;
	const struct seep_json_shown *shown;
};

static uint32_t function_number(struct functions *functions, const struct seep_profile *profile,
				const struct seep_profile_frame *frame)
{
	const char *path = seep_profile_frame_path(profile, frame);
	SEEP_FREED char *whole = seep_frame_name(profile, frame, SEEP_NAME_WHOLE);
	SEEP_FREED char *name = seep_xasprintf("%s\n%s", whole, path ? seep_path_base(path) : "");
	const uint32_t id = seep_texts_number(&functions->names, name);

	if (id == functions->brief.count)
		seep_texts_take(&functions->brief,
				seep_frame_name(profile, frame, SEEP_NAME_BRIEF));
	return id;
}

/* A number for each function of the sites is looked up once. */
static void write_side_functions(struct seep_json *json, struct functions *functions,
				 const struct side *side)
{
	const struct seep_profile *profile = side->shown->profile;
	/* by function of the sites: its number + 1 */
	SEEP_FREED uint32_t *numbers = seep_xcalloc(side->sites->function_count, sizeof(uint32_t));

	for (uint32_t i = 0; i < side->shown->frame_count; i++) {
		const uint32_t frame = side->shown->frames[i];
		uint32_t *number = &numbers[side->sites->of_frame[frame].function];

		if (*number == 0)
			*number = function_number(functions, profile, &profile->frames[frame]) + 1;
		seep_json_int(json, NULL, *number - INT64_C(1));
	}
}

static void write_functions(struct seep_json *json, const struct side *sides, size_t count)
{
	struct functions functions = { 0 };

	seep_json_open_array(json, "function");
	for (size_t i = 0; i < count; i++)
		write_side_functions(json, &functions, &sides[i]);
	seep_json_close(json);
	for (size_t i = 0; seep_json_each(json, "functions", i, functions.brief.count); i++)
		seep_json_text(json, NULL, functions.brief.items[i]);
	seep_texts_done(&functions.names);
	seep_texts_done(&functions.brief);
}

static char origin_of(const struct seep_site *site)
{
	return site->startup	 ? 'p'
	       : site->allocator ? 'a'
	       : site->system	 ? 's'
	       : site->own	 ? 'o'
	       : site->library	 ? 'l'
				 : 'i';
}

/* When seep_sites_passes() is true of it; 3 more where nothing passes that it has the blame for. */
static char passes_of(const struct seep_site *site)
{
	const int when = site->library ? 2 : site->installed;

	return (char)('0' + when + (site->plumbing && !site->shim ? 3 : 0));
}

static void write_sites(struct seep_json *json, const struct side *sides, size_t count,
			const char *key, char (*letter_of)(const struct seep_site *))
{
	SEEP_STRBUF(letters, SIZE_MAX / 2);

	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < sides[i].shown->frame_count; j++)
			seep_strbuf_addc(
				&letters,
				letter_of(&sides[i].sites->of_frame[sides[i].shown->frames[j]]));
	seep_json_text(json, key, letters.text);
}

static void write_origins(struct seep_json *json, const struct side *sides, size_t count)
{
	write_sites(json, sides, count, "origin", origin_of);
	write_sites(json, sides, count, "passes", passes_of);
}

/* By context, of the largest that would read alike: the function, and what tells it apart. */
static void write_apart(struct seep_json *json, const struct seep_sites *sites,
			const struct seep_json_shown *shown, enum seep_measure measure)
{
	const struct seep_profile *profile = sites->profile;
	SEEP_FREED uint32_t *order = seep_xcalloc(ROWS_TOLD, sizeof(*order));
	const uint32_t count = seep_rank_contexts(profile, measure, ROWS_TOLD, order);
	struct seep_row *rows = seep_xcalloc(count, sizeof(*rows));

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_profile_context *context = &profile->contexts[order[i]];
		const uint32_t depth = context->stack_count;
		SEEP_FREED struct seep_profile_stack_entry *stack =
			seep_xmemdup(context->stack, depth * sizeof(*stack));

		/* Rows of the page do not say how often a call was repeated. */
		for (uint32_t at = 0; at < depth; at++)
			stack[at].repeats = 0;
		rows[i] = seep_row_of(sites, context, stack, depth);
	}
	seep_rows_tell_apart(rows, count, false);
	seep_json_open_object(json, "apart");
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t place = shown->context_places[order[i]];
		char key[16];

		(void)snprintf(key, sizeof(key), "%u", place - 1);
		if (rows[i].told && place)
			seep_json_text(json, key, rows[i].name);
	}
	seep_json_close(json);
	seep_rows_free(rows, count);
}

/* How many frames are left out at the inner end, and at the outer one. */
static void write_trim(struct seep_json *json, const struct seep_sites *sites,
		       const struct seep_profile_context *context)
{
	struct seep_stack_part part = { 0 };

	if (context)
		part = seep_sites_trim(sites, context->stack, context->stack_count);
	seep_json_int(json, NULL, part.first);
	seep_json_int(json, NULL, context ? context->stack_count - part.end : 0);
}

static void write_lines(struct seep_json *json, const char *key, const struct seep_lines *lines)
{
	for (size_t i = 0; seep_json_each(json, key, i, lines->count); i++)
		seep_json_text(json, NULL, lines->items[i].text);
}

/* The words around a report, as the terminal has them. */
static void write_words(struct seep_json *json, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	SEEP_FREED char *growth = seep_growth_answer(&(struct seep_growth_view){ 0 },
						     sites->profile);
	SEEP_FREED char *advice = seep_leaks_advice(sites->profile);
	SEEP_RELEASED(seep_view_done) struct seep_view view;

	seep_view_init(&view, sites->profile, sites, options);
	seep_view_add_head(&view, "", true, true);
	seep_view_add_unseen(&view, 0);
	seep_view_add_scan(&view);
	seep_view_add_own(&view);
	seep_json_text(json, "no_growth", growth);
	seep_json_text(json, "advice", advice);
	write_lines(json, "head", &view.head);
	write_lines(json, "foot", &view.foot);
}

/* The data of a page, which is compressed as it is written. */
struct page {
	struct seep_json *json;
	FILE *gzip, *memory; /* from the one into the other */
	char *packed;
	size_t packed_bytes;
};

static void page_begin(struct page *page, const char *kind)
{
	*page = (struct page){ 0 };
	page->memory = open_memstream(&page->packed, &page->packed_bytes);
	page->gzip = seep_gzip_open(page->memory, SEEP_GZIP_PAGE);
	page->json = seep_json_new(page->gzip, false);
	seep_json_open_object(page->json, NULL);
	seep_json_open_object(page->json, "view");
	seep_json_text(page->json, "kind", kind);
}

/* Puts the data in its place. */
static void page_end(struct page *page, FILE *out)
{
	const char *at = strstr(seep_page_start, placeholder);

	assert(at != NULL);
	seep_json_finish(page->json);
	(void)fclose(page->gzip);
	(void)fclose(page->memory);
	(void)fwrite(seep_page_start, 1, (size_t)(at - seep_page_start), out);
	seep_base64_write(out, page->packed, page->packed_bytes);
	at += strlen(placeholder);
	(void)fwrite(at, 1, (size_t)(seep_page_end - at), out);
	free(page->packed);
}

void seep_page_report(FILE *out, struct seep_profile *profile, const struct seep_sites *sites,
		      const struct seep_view_options *options)
{
	SEEP_RELEASED(seep_json_shown_done) struct seep_json_shown shown;
	const struct side side = { sites, &shown };
	struct page page;

	seep_groups_merge(profile, sites);
	seep_json_shown_init(&shown, profile, options);
	seep_json_shown_sort(&shown);
	page_begin(&page, "report");
	seep_json_text(page.json, "file", options->path);
	write_words(page.json, sites, options);
	write_apart(page.json, sites, &shown, seep_view_measure(profile, options->by));
	for (uint32_t i = 0; seep_json_each(page.json, "trim", i, shown.context_count); i++)
		write_trim(page.json, sites, &profile->contexts[shown.contexts[i]]);
	for (uint32_t i = 0; seep_json_each(page.json, "finding_trim", i, profile->finding_count);
	     i++)
		write_trim(page.json, sites,
			   seep_profile_context_at(profile, profile->findings[i].here));
	write_functions(page.json, &side, 1);
	write_origins(page.json, &side, 1);
	seep_json_close(page.json);
	seep_json_profile(page.json, "document", &shown, sites, options);
	page_end(&page, out);
}

static void write_row_trims(struct seep_json *json, const char *key,
			    const struct seep_diff_view *view, const struct seep_diff *diff,
			    const struct side sides[2])
{
	const uint32_t count = diff ? seep_json_diff_rows(view, diff) : 0;

	for (uint32_t i = 0; seep_json_each(json, key, i, count); i++) {
		const uint32_t *contexts = diff->rows[i].context;
		const int at = contexts[1] ? 1 : 0;

		write_trim(json, sides[at].sites, &diff->profiles[at]->contexts[contexts[at] - 1]);
	}
}

static void write_diff_view(struct seep_json *json, const struct seep_diff_view *view,
			    const struct side sides[2])
{
	for (size_t at = 0; seep_json_each(json, "file", at, 2); at++)
		seep_json_text(json, NULL, view->names[at]);
	write_row_trims(json, "trim", view, view->diff, sides);
	write_row_trims(json, "leak_trim", view, view->diff->leaks, sides);
	write_functions(json, sides, 2);
	write_origins(json, sides, 2);
}

void seep_page_diff(FILE *out, const struct seep_diff_view *view)
{
	struct seep_json_shown shown[2];
	struct side sides[2];
	struct seep_sites *sites[2];
	struct page page;

	seep_json_diff_shown_init(shown, view);
	for (int at = 0; at < 2; at++) {
		sites[at] = seep_sites_new(shown[at].profile);
		sides[at] = (struct side){ sites[at], &shown[at] };
	}
	page_begin(&page, "diff");
	write_diff_view(page.json, view, sides);
	seep_json_close(page.json);
	seep_json_diff(page.json, "document", view, shown);
	page_end(&page, out);
	for (int at = 0; at < 2; at++) {
		seep_sites_free(sites[at]);
		seep_json_shown_done(&shown[at]);
	}
}
