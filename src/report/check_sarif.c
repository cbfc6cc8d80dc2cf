/* SPDX-License-Identifier: MIT */
/*
 * The result of a check as SARIF 2.1.0 (OASIS), for code scanning. Its messages have links in square
 * brackets and its places are URIs: both are escaped.
 */
#include "report/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/idtable.h"
#include "base/json_writer.h"
#include "base/xalloc.h"
#include "profile/profile.h"

enum { URI_BYTES_MAX = 65536, TEXT_BYTES_MAX = 65536, FRAMES_MAX = 100 };

static const char *const helps[SEEP_BUDGET_MEASURE_COUNT] = {
	[SEEP_BUDGET_PEAK] =
		"The call stacks are those with most live bytes at the peak of the process.",
	[SEEP_BUDGET_LIVE] = "The call stacks are those with most live bytes at the end.",
	[SEEP_BUDGET_BLOCKS] = "The call stacks are those with most live blocks at the end.",
	[SEEP_BUDGET_LOST] =
		"No pointer leads to these blocks at the end, so nothing can free them.",
	[SEEP_BUDGET_LEAKS] =
		"No pointer leads to the blocks of a leak at the end, so nothing can free them. \"seep "
		"leaks FILE --why\" says more of each; a suppression hash:HASH accepts one.",
	[SEEP_BUDGET_GROWTH] =
		"The live bytes of these call stacks rose and did not come back while the program "
		"ran, whether or not they were freed at its end.",
	[SEEP_BUDGET_ALLOCS] = "The call stacks are those with most allocations.",
	[SEEP_BUDGET_ALLOCATED] = "The call stacks are those that allocated most bytes.",
	[SEEP_BUDGET_TEMPORARY] =
		"A temporary allocation is freed by its thread before the next one; a buffer that is "
		"kept avoids them.",
};

struct writer {
	struct seep_json *json;
	struct seep_idtable seen; /* fingerprints, each as often as it was written */
};

static void write_message(struct seep_json *json, const char *key, const char *text)
{
	struct seep_strbuf escaped;

	seep_strbuf_init(&escaped, TEXT_BYTES_MAX);
	for (; *text; text++) {
		if (strchr("[]\\", *text))
			seep_strbuf_addc(&escaped, '\\');
		seep_strbuf_addc(&escaped, *text);
	}
	seep_json_open_object(json, key);
	seep_json_text(json, "text", escaped.text);
	seep_json_close(json);
	seep_strbuf_done(&escaped);
}

static void write_plain(struct seep_json *json, const char *key, const char *text)
{
	seep_json_open_object(json, key);
	seep_json_text(json, "text", text);
	seep_json_close(json);
}

static void write_uri(struct seep_json *json, const char *path, const char *end)
{
	struct seep_strbuf uri;

	seep_strbuf_init(&uri, URI_BYTES_MAX);
	if (path[0] == '/')
		seep_strbuf_adds(&uri, "file://");
	for (; *path; path++)
		if ((*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
		    (*path >= '0' && *path <= '9') || strchr("-._~/", *path))
			seep_strbuf_addc(&uri, *path);
		else
			seep_strbuf_addf(&uri, "%%%02X", (unsigned)(unsigned char)*path);
	seep_strbuf_adds(&uri, end);
	seep_json_text(json, "uri", uri.text);
	seep_strbuf_done(&uri);
}

/* Members of a location. */
static void write_place(struct seep_json *json, const struct seep_source_place *place)
{
	if (place->path) {
		seep_json_open_object(json, "physicalLocation");
		seep_json_open_object(json, "artifactLocation");
		write_uri(json, place->path, "");
		if (place->is_inside)
			seep_json_text(json, "uriBaseId", "%SRCROOT%");
		seep_json_close(json);
		if (place->line) {
			seep_json_open_object(json, "region");
			seep_json_int(json, "startLine", place->line);
			seep_json_close(json);
		}
		seep_json_close(json);
	}
	if (place->frame && place->frame->function) {
		seep_json_open_array(json, "logicalLocations");
		seep_json_open_object(json, NULL);
		seep_json_text(json, "fullyQualifiedName", place->frame->function);
		seep_json_text(json, "kind", "function");
		seep_json_close(json);
		seep_json_close(json);
	}
}

static void write_stack(struct seep_json *json, const struct seep_check *check,
			const struct seep_profile *profile,
			const struct seep_profile_context *context)
{
	seep_json_open_array(json, "stacks");
	seep_json_open_object(json, NULL);
	seep_json_open_array(json, "frames");
	for (uint32_t i = 0; i < context->stack_count && i < FRAMES_MAX; i++) {
		struct seep_source_place place = seep_source_place(
			&check->root, profile, &profile->frames[context->stack[i].frame]);

		seep_json_open_object(json, NULL);
		seep_json_open_object(json, "location");
		write_place(json, &place);
		seep_json_close(json);
		seep_json_close(json);
		seep_source_place_done(&place);
	}
	seep_json_close(json);
	seep_json_close(json);
	seep_json_close(json);
}

/* What is the same in the next run: the call stack of a leak, else program and budget. */
static void write_fingerprint(struct writer *writer, const struct seep_checked_file *file,
			      const struct seep_budget_outcome *outcome,
			      const struct seep_budget_stack *stack)
{
	const bool is_leak = stack && stack->leak && outcome->budget->measure == SEEP_BUDGET_LEAKS;
	const uint64_t hash = is_leak ? stack->hash
				      : seep_hash_text(seep_hash_text(0, file->name),
						       outcome->budget->text);
	size_t at = SEEP_IDTABLE_START;
	unsigned number = 1;
	char *text;

	while (seep_idtable_find(&writer->seen, hash, &at) != SEEP_IDTABLE_NONE)
		number++;
	seep_idtable_add(&writer->seen, hash, number);
	text = seep_xasprintf("%016" PRIx64 ":%u", hash, number);
	seep_json_open_object(writer->json, "partialFingerprints");
	seep_json_text(writer->json, is_leak ? "stackHash/v1" : "budget/v1", text);
	seep_json_close(writer->json);
	free(text);
}

static void write_result(void *user, const struct seep_check *check,
			 const struct seep_checked_file *file,
			 const struct seep_budget_outcome *outcome,
			 const struct seep_budget_stack *stack)
{
	struct writer *writer = user;
	struct seep_json *json = writer->json;
	const struct seep_profile_context *context = stack ? seep_check_context(file, stack) : NULL;
	struct seep_source_place place;
	char *text;

	if (outcome->result != SEEP_BUDGET_BROKEN)
		return;
	place = seep_check_place(check, file, stack);
	text = seep_check_remark_text(file, outcome, stack);
	seep_json_open_object(json, NULL);
	seep_json_text(json, "ruleId", seep_budget_measure_names[outcome->budget->measure]);
	seep_json_int(json, "ruleIndex", outcome->budget->measure);
	seep_json_text(json, "level", "error");
	write_message(json, "message", text);
	/* Code scanning wants a place of every result. */
	if (!place.path)
		place.path = seep_xstrdup(file->path);
	seep_json_open_array(json, "locations");
	seep_json_open_object(json, NULL);
	write_place(json, &place);
	seep_json_close(json);
	seep_json_close(json);
	write_fingerprint(writer, file, outcome, stack);
	if (context && context->stack_count > 0)
		write_stack(json, check, file->side.profile, context);
	seep_json_close(json);
	free(text);
	seep_source_place_done(&place);
}

static void write_notification(void *user, const struct seep_check *check,
			       const struct seep_checked_file *file,
			       const struct seep_budget_outcome *outcome,
			       const struct seep_budget_stack *stack)
{
	struct seep_json *json = ((struct writer *)user)->json;
	char *text;

	(void)check;
	if (outcome->result == SEEP_BUDGET_BROKEN)
		return;
	text = seep_check_remark_text(file, outcome, stack);
	seep_json_open_object(json, NULL);
	seep_json_text(json, "level", "error");
	write_message(json, "message", text);
	seep_json_close(json);
	free(text);
}

static void write_tool(struct seep_json *json)
{
	seep_json_open_object(json, "tool");
	seep_json_open_object(json, "driver");
	seep_json_text(json, "name", "seep");
	seep_json_text(json, "version", SEEP_VERSION);
	seep_json_open_array(json, "rules");
	for (int i = 0; i < SEEP_BUDGET_MEASURE_COUNT; i++) {
		char *words = seep_xasprintf("A budget is broken: %s",
					     seep_budget_measure_words[i]);

		seep_json_open_object(json, NULL);
		seep_json_text(json, "id", seep_budget_measure_names[i]);
		write_plain(json, "shortDescription", words);
		write_plain(json, "help", helps[i]);
		seep_json_close(json);
		free(words);
	}
	seep_json_close(json);
	seep_json_close(json);
	seep_json_close(json);
}

static void write_run(struct writer *writer, const struct seep_check *check)
{
	struct seep_json *json = writer->json;

	seep_json_open_object(json, NULL);
	write_tool(json);
	seep_json_open_object(json, "originalUriBaseIds");
	seep_json_open_object(json, "%SRCROOT%");
	write_uri(json, check->root.paths[1], check->root.paths[1][1] ? "/" : "");
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_array(json, "invocations");
	seep_json_open_object(json, NULL);
	seep_json_bool(json, "executionSuccessful", seep_check_all(check) != SEEP_BUDGET_NOT_KNOWN);
	seep_json_open_array(json, "toolExecutionNotifications");
	seep_check_each(check, write_notification, writer);
	seep_json_close(json);
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_array(json, "results");
	seep_check_each(check, write_result, writer);
	seep_json_close(json);
	seep_json_close(json);
}

void seep_check_sarif(FILE *out, const struct seep_check *check)
{
	struct writer writer = { .json = seep_json_new(out, false) };
	struct seep_json *json = writer.json;

	seep_idtable_init(&writer.seen, 64);
	seep_json_open_object(json, NULL);
	seep_json_text(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	seep_json_text(json, "version", "2.1.0");
	seep_json_open_array(json, "runs");
	write_run(&writer, check);
	seep_json_close(json);
	seep_json_finish(json);
	seep_idtable_done(&writer.seen);
}
