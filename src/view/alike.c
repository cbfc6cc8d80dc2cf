/* SPDX-License-Identifier: MIT */
/* Of what may tell rows apart that read alike, what does so best is said; then of those left. */
#include "view/alike.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "base/idtable.h"
#include "base/search.h"
#include "base/text.h"
#include "base/texts.h"
#include "profile/kind_name.h"
#include "view/frame_text.h"

enum { FUNCTIONS = 3, ROUNDS = 8 };
/* What may tell rows apart; of several that do so as well the first. */
enum way {
	VIA, /* the next frame further in */
	CALLER,
	LAST_CALLER = 64,
	THREAD,
	INNER, /* the innermost frames */
	OFFSET = INNER + 24,
	KIND,
	WAYS,
};

char *seep_row_type(const struct seep_sites *sites, const struct seep_profile_context *context)
{
	const struct seep_stack_part part = seep_sites_trim(sites, context->stack,
							    context->stack_count);
	SEEP_FREED char *via = NULL;

	if (part.first == 0)
		return seep_xstrdup("");
	via = seep_frame_name(sites->profile,
			      &sites->profile->frames[context->stack[part.first - 1].frame],
			      SEEP_NAME_BRIEF);
	for (const char *at = via; (at = strchr(at, '<')) != NULL;) {
		const size_t bytes = strcspn(++at, "<>,&*{[( ");

		if (bytes > 1 && at[bytes] != '{' && !seep_function_is_library(at) &&
		    !seep_function_is_compiled_in(at) &&
		    (isupper((unsigned char)*at) || memmem(at, bytes, "::", 2) != NULL))
			return seep_xasprintf(", of %.*s", (int)bytes, at);
	}
	return seep_xstrdup("");
}

struct seep_row seep_row_of(const struct seep_sites *sites,
			    const struct seep_profile_context *context,
			    const struct seep_profile_stack_entry *stack, uint32_t count)
{
	const struct seep_profile *profile = sites->profile;
	const struct seep_stack_part part = seep_sites_trim(sites, stack, count);
	const char *none = context == NULL  ? "(another process)"
			   : context->other ? "(ledger full)"
					    : "(no stack)";
	SEEP_FREED char *type = context ? seep_row_type(sites, context) : seep_xstrdup("");
	SEEP_STRBUF(callers, SEEP_LINE_BYTES_MAX);
	struct seep_row row = { .sites = sites, .context = context };

	for (uint32_t at = part.first, left = FUNCTIONS; at < part.end && left > 0; at++) {
		const struct seep_profile_frame *frame = &profile->frames[stack[at].frame];
		SEEP_FREED char *name = NULL, *repeats = NULL;

		if (seep_sites_passes(sites, stack, part, at))
			continue;
		left--;
		name = seep_frame_name(profile, frame, SEEP_NAME_BRIEF);
		repeats = seep_frame_repeats(&stack[at]);
		if (row.name) {
			seep_strbuf_addf(&callers, " ← %s%s", name, repeats);
			continue;
		}
		row.name = seep_xasprintf("%s%s%s", name, type, repeats);
		row.place = seep_frame_place(profile, frame, true);
	}
	row.name = row.name ? row.name : seep_xstrdup(none);
	row.place = row.place ? row.place : seep_xstrdup("");
	row.callers = seep_strbuf_take(&callers);
	return row;
}

/* The entry of its stack; NULL: there is none. */
static const struct seep_profile_stack_entry *entry_of(const struct seep_row *row, unsigned way)
{
	const struct seep_profile_stack_entry *stack = row->context->stack;
	const struct seep_stack_part part = seep_sites_trim(row->sites, stack,
							    row->context->stack_count);
	uint32_t at = part.first;

	if (way == VIA || (way >= INNER && way < OFFSET)) {
		at = way == VIA ? at - 1 : way - INNER;
		return at < part.first ? &stack[at] : NULL;
	}
	for (unsigned left = way == OFFSET ? 0 : way; left > 0 && at < part.end;)
		left -= ++at < part.end && !seep_sites_passes(row->sites, stack, part, at);
	return at < part.end ? &stack[at] : NULL;
}

/* A number for what it is there; 0: nothing. */
static uint64_t id_of(const struct seep_row *row, unsigned way)
{
	const struct seep_profile_stack_entry *entry;
	const struct seep_site *site;

	if (!row->context)
		return 0;
	if (way == THREAD)
		return row->context->thread ? seep_hash_text(1, row->context->thread) : 0;
	if (way == KIND)
		return row->context->kind + UINT64_C(1);
	entry = entry_of(row, way);
	if (!entry)
		return 0;
	if (way == OFFSET)
		return row->many ? 0 : row->sites->profile->frames[entry->frame].address + 1;
	site = &row->sites->of_frame[entry->frame];
	return (way == VIA ? site->function : site->line) + UINT64_C(1);
}

static char *detail_of(const struct seep_row *row, unsigned way)
{
	const struct seep_profile *profile = row->sites->profile;
	const struct seep_profile_frame *frame;
	SEEP_FREED char *name = NULL;
	const char *word;

	if (way == THREAD)
		return seep_xasprintf("thread %s", row->context->thread);
	if (way == KIND)
		return seep_xasprintf("by %s", seep_profile_kind_name(row->context->kind));
	frame = &profile->frames[entry_of(row, way)->frame];
	if (way == OFFSET)
		return seep_xasprintf("at 0x%" PRIx64, frame->address);
	word = way >= CALLER && way <= LAST_CALLER ? "from" : "via";
	/* There is little room, and its module is the row's most often. */
	if (frame->function == NULL)
		return seep_xasprintf("%s 0x%" PRIx64, word, frame->address);
	name = seep_frame_name(profile, frame, SEEP_NAME_BRIEF);
	return frame->line && way != VIA ? seep_xasprintf("%s %s:%" PRIu32, word, name, frame->line)
					 : seep_xasprintf("%s %s", word, name);
}

/* Of @count rows that read alike, their indexes the lower halves of @set. False: nothing does. */
static bool tell(struct seep_row *rows, const uint64_t *set, size_t count, bool threads)
{
	SEEP_FREED uint64_t *ids = seep_xcalloc(count, sizeof(*ids));
	size_t most = 1;
	unsigned best = 0;

	for (unsigned way = 0; way < WAYS && most < count; way++) {
		size_t differ = 1;

		for (size_t i = 0; i < count; i++)
			ids[i] = way != THREAD || threads ? id_of(&rows[(uint32_t)set[i]], way) : 0;
		seep_search_sort(ids, count, sizeof(*ids));
		for (size_t i = 1; i < count; i++)
			differ += ids[i] != ids[i - 1];
		best = differ > most ? way : best;
		most = differ > most ? differ : most;
	}
	for (size_t i = 0; i < count && most > 1; i++) {
		struct seep_row *row = &rows[(uint32_t)set[i]];
		SEEP_FREED char *name = row->name, *detail = NULL;

		detail = id_of(row, best) ? detail_of(row, best) : NULL;
		row->name = seep_xasprintf("%s%s%s", name, detail ? ", " : "",
					   detail ? detail : "");
		row->told |= detail != NULL;
	}
	return most > 1;
}

/* All of them: what is told of one may be what another one reads as. False: nothing was. */
static bool tell_round(struct seep_row *rows, size_t count, bool threads)
{
	/* By row: the number of what it reads as, and its own. */
	SEEP_FREED uint64_t *order = seep_xcalloc(count, sizeof(*order));
	struct seep_texts keys = { 0 };
	bool told = false;

	for (size_t i = 0; i < count; i++) {
		const char *callers = rows[i].callers ? rows[i].callers : "";
		SEEP_FREED char *key = seep_xasprintf("%s%s\n%s", rows[i].name, callers,
						      rows[i].place);

		order[i] = (uint64_t)seep_texts_number(&keys, key) << 32 | i;
	}
	seep_texts_done(&keys);
	seep_search_sort(order, count, sizeof(*order));
	for (size_t first = 0, end = 1; first < count; first = end++) {
		while (end < count && order[end] >> 32 == order[first] >> 32)
			end++;
		if (end > first + 1)
			told |= tell(rows, &order[first], end - first, threads);
	}
	return told;
}

void seep_rows_tell_apart(struct seep_row *rows, size_t count, bool threads)
{
	for (int round = 0; round < ROUNDS && tell_round(rows, count, threads); round++)
		;
}

void seep_rows_free(struct seep_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(rows[i].name);
		free(rows[i].callers);
		free(rows[i].place);
	}
	free(rows);
}
