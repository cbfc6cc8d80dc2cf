/* SPDX-License-Identifier: MIT */
#include "export/export_names.h"

#include <stdlib.h>

#include "base/terminal.h"
#include "view/frame_text.h"
#include "view/tree_view.h"

void seep_export_names_init(struct seep_export_names *names, const struct seep_profile *profile)
{
	names->profile = profile;
	names->of_frame = seep_xcalloc(profile->frame_count, sizeof(*names->of_frame));
}

void seep_export_names_done(struct seep_export_names *names)
{
	for (uint32_t i = 0; i < names->profile->frame_count; i++)
		free(names->of_frame[i]);
	free(names->of_frame);
}

char *seep_export_raw_name(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame)
{
	if (frame->function == NULL)
		return seep_frame_name(profile, frame, SEEP_NAME_SHORT);
	return seep_xstrdup(*frame->function ? frame->function : "(unnamed)");
}

const char *seep_export_name(struct seep_export_names *names, uint32_t frame)
{
	char **name = &names->of_frame[frame];

	if (*name == NULL) {
		char *raw = seep_export_raw_name(names->profile, &names->profile->frames[frame]);

		*name = seep_escape_dup(raw);
		free(raw);
	}
	return *name;
}

const char *seep_export_no_stack(const struct seep_profile_context *context)
{
	if (context->stack_count > 0)
		return NULL;
	return seep_tree_special_words(context->other ? SEEP_TREE_OTHER : SEEP_TREE_NO_STACK);
}

uint32_t seep_export_address(const struct seep_profile *profile,
			     const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint32_t entries = 1;

	while (entries < count && profile->frames[stack[entries - 1].frame].inlined)
		entries++;
	return entries;
}

void seep_export_put(FILE *out, const char *text, char twice)
{
	for (; *text; text++) {
		if (*text == twice)
			(void)putc_unlocked(*text, out);
		(void)putc_unlocked(*text == ';' ? ':' : *text, out);
	}
}

uint64_t seep_export_pc(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	const uint64_t bias = frame->module > 0 && frame->module <= profile->module_count
				      ? profile->modules[frame->module - 1].bias
				      : 0;

	return frame->address + bias - (frame->exact ? 0 : 1);
}
