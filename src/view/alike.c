/* SPDX-License-Identifier: MIT */
/* Step by step: what is still alike after one step goes to the next. */
#include "view/alike.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "base/texts.h"
#include "profile/kind_name.h"
#include "view/frame_text.h"

enum { VIA, CALLER, LAST_CALLER = 8, LAST_VIA = 16, THREAD, OFFSET, INNERMOST = 26, KIND, STEPS };

/* Of rows that read alike. */
struct likes {
	uint32_t count;
	const char *detail; /* of the first */
	bool differ;
};

static char *caller_of(const struct seep_row *row, struct seep_stack_part part, unsigned callers)
{
	const struct seep_profile *profile = row->sites->profile;
	const struct seep_profile_stack_entry *stack = row->context->stack;
	const struct seep_profile_frame *frame;
	SEEP_FREED char *name = NULL;
	uint32_t at = part.first;

	while (callers > 0 && ++at < part.end)
		callers -= !seep_sites_passes(row->sites, stack, part, at);
	if (at >= part.end)
		return seep_xstrdup("");
	frame = &profile->frames[stack[at].frame];
	name = seep_frame_name(profile, frame, SEEP_NAME_BRIEF);
	return frame->line ? seep_xasprintf(", from %s:%" PRIu32, name, frame->line)
			   : seep_xasprintf(", from %s", name);
}

static char *detail_of(const struct seep_row *row, unsigned step)
{
	const struct seep_profile_context *context = row->context;
	const struct seep_profile *profile = row->sites->profile;
	SEEP_FREED char *name = NULL;
	struct seep_stack_part part;
	unsigned inner;

	if (context == NULL || context->stack_count == 0)
		return seep_xstrdup("");
	part = seep_sites_trim(row->sites, context->stack, context->stack_count);
	if (step >= CALLER && step <= LAST_CALLER)
		return caller_of(row, part, step);
	if (step == THREAD && context->thread != NULL)
		return seep_xasprintf(", thread %s", context->thread);
	if (step >= OFFSET && step <= INNERMOST && part.first + OFFSET >= step)
		return seep_xasprintf(
			", at 0x%" PRIx64,
			profile->frames[context->stack[part.first + OFFSET - step].frame].address);
	if (step == KIND)
		return seep_xasprintf(", by %s", seep_profile_kind_name(context->kind));
	inner = step == VIA ? 1 : step - LAST_CALLER + 1;
	if (step > LAST_VIA || part.first < inner)
		return seep_xstrdup("");
	name = seep_frame_name(profile, &profile->frames[context->stack[part.first - inner].frame],
			       SEEP_NAME_BRIEF);
	return seep_xasprintf(", via %s", name);
}

char *seep_row_type(const struct seep_row *row)
{
	SEEP_FREED char *via = detail_of(row, VIA);

	for (const char *at = via; (at = strchr(at, '<')) != NULL;) {
		const size_t bytes = strcspn(++at, "<>,&*{[( ");

		if (bytes > 1 && at[bytes] != '{' && !seep_function_is_library(at) &&
		    !seep_function_is_compiled_in(at) &&
		    (isupper((unsigned char)*at) || memmem(at, bytes, "::", 2) != NULL))
			return seep_xasprintf(", of %.*s", (int)bytes, at);
	}
	return seep_xstrdup("");
}

/* False: no two rows read alike. */
static bool take_step(struct seep_row *rows, size_t count, unsigned step)
{
	SEEP_FREED uint32_t *of = seep_xcalloc(count, sizeof(*of));
	SEEP_FREED struct likes *likes = seep_xcalloc(count, sizeof(*likes));
	SEEP_FREED char **details = seep_xcalloc(count, sizeof(*details));
	struct seep_texts keys = { 0 };
	bool alike = false;

	for (size_t i = 0; i < count; i++) {
		SEEP_FREED char *key = seep_xasprintf("%s\n%s", rows[i].name, rows[i].place);

		of[i] = seep_texts_number(&keys, key);
		alike |= ++likes[of[i]].count > 1;
	}
	seep_texts_done(&keys);
	for (size_t i = 0; i < count && alike; i++) {
		struct likes *like = &likes[of[i]];

		if (like->count == 1)
			continue;
		details[i] = detail_of(&rows[i], step);
		like->detail = like->detail ? like->detail : details[i];
		like->differ |= strcmp(like->detail, details[i]) != 0;
	}
	for (size_t i = 0; i < count && alike; i++)
		if (details[i] != NULL && likes[of[i]].differ) {
			SEEP_FREED char *name = rows[i].name;

			rows[i].name = seep_xasprintf("%s%s", name, details[i]);
		}
	for (size_t i = 0; i < count; i++)
		free(details[i]);
	return alike;
}

void seep_rows_tell_apart(struct seep_row *rows, size_t count)
{
	for (unsigned step = 0; step < STEPS && take_step(rows, count, step); step++)
		;
}

void seep_rows_free(struct seep_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(rows[i].name);
		free(rows[i].place);
	}
	free(rows);
}
