/* SPDX-License-Identifier: MIT */
#include "recorder/recorder_result.h"

#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void seep_recorder_add_problem(struct seep_recorder_result *result, const struct seep_error *err)
{
	result->problems = seep_xgrow(result->problems, &result->problem_capacity,
				      result->problem_count + 1, sizeof(*result->problems));
	result->problems[result->problem_count++] = seep_xstrdup(err->text);
}

void seep_recorder_add_note(struct seep_recorder_result *result, const char *fmt, ...)
{
	struct seep_error text = { 0 };
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text.text, sizeof(text.text), fmt, args);
	va_end(args);
	result->notes = seep_xgrow(result->notes, &result->note_capacity, result->note_count + 1,
				   sizeof(*result->notes));
	result->notes[result->note_count++] = seep_xstrdup(text.text);
}

struct seep_recorder_file *seep_recorder_list_add(struct seep_recorder_list *list, char *path,
						  const char *exe, uint32_t pid)
{
	list->items = seep_xgrow(list->items, &list->capacity, list->count + 1,
				 sizeof(*list->items));
	list->items[list->count++] = (struct seep_recorder_file){
		.path = path,
		.exe = seep_xstrdup(exe),
		.pid = pid,
	};
	return &list->items[list->count - 1];
}

static void list_done(struct seep_recorder_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].exe);
	}
	free(list->items);
}

void seep_recorder_result_done(struct seep_recorder_result *result)
{
	seep_profile_free(result->profile);
	list_done(&result->children);
	list_done(&result->left);
	for (size_t i = 0; i < result->problem_count; i++) {
		free(result->problems[i]);
	}
	free(result->problems);
	for (size_t i = 0; i < result->note_count; i++) {
		free(result->notes[i]);
	}
	free(result->notes);
	*result = (struct seep_recorder_result){ 0 };
}
