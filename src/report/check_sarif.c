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

static void write_stack(struct seep_json *json, const struct seep_check_remark *remark,
			const struct seep_profile_context *context)
{
	const struct seep_profile *profile = remark->file->side.profile;

	seep_json_open_array(json, "stacks");
	seep_json_open_object(json, NULL);
	seep_json_open_array(json, "frames");
	for (uint32_t i = 0; i < context->stack_count && i < FRAMES_MAX; i++) {
		struct seep_source_place place = seep_source_place(
			&remark->check->root, profile, &profile->frames[context->stack[i].frame]);

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
static void write_fingerprint(struct writer *writer, const struct seep_check_remark *remark)
{
	const struct seep_budget *budget = remark->outcome->budget;
	const bool is_leak = remark->stack && budget->measure == SEEP_BUDGET_LEAKS;
	const uint64_t hash = is_leak ? remark->stack->hash
				      : seep_hash_text(seep_hash_text(0, remark->file->name),
						       budget->text);
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

static void write_result(void *user, const struct seep_check_remark *remark)
{
	struct writer *writer = user;
	struct seep_json *json = writer->json;
	const struct seep_profile_context *context = seep_check_context(remark);
	const bool is_broken = remark->outcome->result == SEEP_BUDGET_BROKEN;
	struct seep_source_place place = seep_check_place(remark);
	char *line = seep_check_line(remark);

	seep_json_open_object(json, NULL);
	seep_json_text(json, "ruleId", seep_budget_measure_names[remark->outcome->budget->measure]);
	seep_json_int(json, "ruleIndex", remark->outcome->budget->measure);
	/* "Open" is the standard's word for what could not be decided. */
	seep_json_text(json, "kind", is_broken ? "fail" : "open");
	seep_json_text(json, "level", is_broken ? "error" : "none");
	write_message(json, "message", line);
	/* Code scanning wants a place of every result. */
	if (!place.path)
		place.path = seep_xstrdup(remark->file->path);
	seep_json_open_array(json, "locations");
	seep_json_open_object(json, NULL);
	write_place(json, &place);
	seep_json_close(json);
	seep_json_close(json);
	write_fingerprint(writer, remark);
	if (context && context->stack_count > 0)
		write_stack(json, remark, context);
	seep_json_close(json);
	free(line);
	seep_source_place_done(&place);
}

static void write_rules(struct seep_json *json)
{
	seep_json_open_array(json, "rules");
	for (int i = 0; i < SEEP_BUDGET_MEASURE_COUNT; i++) {
		char *words = seep_xasprintf("A budget is broken: %s",
					     seep_budget_measure_words[i]);
		char *help = seep_xasprintf(
			"%s. The call stacks are those with most of it. \"seep %s FILE\" says more of "
			"the recording.%s",
			words, i == SEEP_BUDGET_LEAKS || i == SEEP_BUDGET_LOST ? "leaks" : "report",
			i == SEEP_BUDGET_LEAKS ? " A suppression hash:HASH accepts a leak." : "");

		seep_json_open_object(json, NULL);
		seep_json_text(json, "id", seep_budget_measure_names[i]);
		write_message(json, "shortDescription", words);
		write_message(json, "help", help);
		seep_json_close(json);
		free(help);
		free(words);
	}
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
	seep_json_open_object(json, NULL);
	seep_json_open_object(json, "tool");
	seep_json_open_object(json, "driver");
	seep_json_text(json, "name", "seep");
	seep_json_text(json, "version", SEEP_VERSION);
	write_rules(json);
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_object(json, "originalUriBaseIds");
	seep_json_open_object(json, "%SRCROOT%");
	write_uri(json, check->root.paths[1], check->root.paths[1][1] ? "/" : "");
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_array(json, "results");
	seep_check_each(check, write_result, &writer);
	/* That closes what is open, too. */
	seep_json_finish(json);
	seep_idtable_done(&writer.seen);
}
