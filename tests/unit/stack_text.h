/* SPDX-License-Identifier: MIT */
/* Call stacks as text, for tests that judge them by their names. */
#ifndef SEEP_TESTS_STACK_TEXT_H
#define SEEP_TESTS_STACK_TEXT_H

#include "profile/profile.h"

#include <string.h>

enum { STACK_TEXT_FRAMES_MAX = 20 };

static inline void add_frame_text(struct seep_profile *p, const char *text, size_t bytes)
{
	const char *at = memrchr(text, '@', bytes);
	struct seep_profile_frame *frame = seep_profile_add(p, SEEP_ARRAY_FRAMES);
	struct seep_profile_module *module = seep_profile_add(p, SEEP_ARRAY_MODULES);

	module->path = seep_profile_strndup(p, at + 1, (size_t)(text + bytes - at - 1));
	frame->module = p->module_count;
	frame->address = p->frame_count;
	if (at > text)
		frame->function = seep_profile_strndup(p, text, (size_t)(at - text));
}

/*
 * A context whose stack is written as "function@module < caller@module"; no function: a place,
 * no text: no stack.
 */
static inline struct seep_profile_context *add_stack_text(struct seep_profile *p, const char *text)
{
	struct seep_profile_context *context = seep_profile_add(p, SEEP_ARRAY_CONTEXTS);

	context->id = p->context_count;
	context->stack = seep_profile_calloc(p, STACK_TEXT_FRAMES_MAX, sizeof(*context->stack));
	while (*text) {
		const char *next = strstr(text, " < ");
		const size_t bytes = next ? (size_t)(next - text) : strlen(text);

		add_frame_text(p, text, bytes);
		context->stack[context->stack_count++].frame = p->frame_count - 1;
		text = next ? next + 3 : text + bytes;
	}
	return context;
}

#endif
