/* SPDX-License-Identifier: MIT */
/*
 * SARIF 2.1.0 (OASIS), for code scanning. Its messages have links in square brackets and its places
 * are URIs: both are escaped.
 */
#include "report/check.h"

#include "base/json_writer.h"
#include "profile/finding_name.h"

static void write_message(struct seep_json *json, const char *key, const char *text)
{
	SEEP_FREED char *escaped = seep_check_escape(text, "[]\\", SEEP_AS_BACKSLASH);

	seep_json_open_object(json, key);
	seep_json_escaped(json, "text", escaped);
	seep_json_close(json);
}

static void write_uri(struct seep_json *json, const char *path, const char *end)
{
	SEEP_FREED char *escaped = seep_check_escape(path, NULL, SEEP_AS_PERCENT);
	SEEP_FREED char *uri = seep_xasprintf("%s%s%s", path[0] == '/' ? "file://" : "", escaped,
					      end);

	seep_json_text(json, "uri", uri);
}

/* Member @key with one place; @place without a path: the recording. */
static void write_place(struct seep_json *json, const char *key,
			const struct seep_check_remark *remark,
			const struct seep_check_place *place, const char *message)
{
	const bool has_source = place && place->path;

	seep_json_open_array(json, key);
	seep_json_open_object(json, NULL);
	seep_json_open_object(json, "physicalLocation");
	seep_json_open_object(json, "artifactLocation");
	write_uri(json, has_source ? place->path : remark->file->path, "");
	if (has_source)
		seep_json_text(json, "uriBaseId", "%SRCROOT%");
	seep_json_close(json);
	if (has_source && place->line > 0) {
		seep_json_open_object(json, "region");
		seep_json_int(json, "startLine", place->line);
		seep_json_close(json);
	}
	seep_json_close(json);
	if (message)
		write_message(json, "message", message);
	seep_json_close(json);
	seep_json_close(json);
}

/* A rule for each measure, then one for each kind of finding. */
enum { RULE_COUNT = SEEP_BUDGET_MEASURE_COUNT + LEDGER_FINDING_COUNT - 1 };

static const char *rule_name(unsigned rule)
{
	return rule < SEEP_BUDGET_MEASURE_COUNT
		       ? seep_budget_measure_name(rule)
		       : seep_finding_kind_name((uint8_t)(rule - SEEP_BUDGET_MEASURE_COUNT + 1));
}

static void write_result(void *user, const struct seep_check_remark *remark)
{
	const struct seep_check_outcome *outcome = remark->outcome;
	const bool is_broken = outcome->result == SEEP_BUDGET_BROKEN;
	const struct seep_check_stack *stack = remark->stack;
	const unsigned rule = stack && stack->finding
				      ? SEEP_BUDGET_MEASURE_COUNT + stack->finding - 1u
				      : outcome->measure;
	struct seep_json *json = user;

	seep_json_open_object(json, NULL);
	seep_json_text(json, "ruleId", rule_name(rule));
	seep_json_int(json, "ruleIndex", rule);
	/* "Open" is the standard's word for what could not be decided. */
	seep_json_text(json, "kind", is_broken ? "fail" : "open");
	seep_json_text(json, "level", is_broken ? "error" : "none");
	write_message(json, "message", remark->text);
	/* Code scanning wants a place of every result. */
	write_place(json, "locations", remark, stack ? &stack->place : NULL, NULL);
	if (stack && stack->block.path)
		write_place(json, "relatedLocations", remark, &stack->block, "allocated here");
	/* What is the same in the next run. */
	seep_json_open_object(json, "partialFingerprints");
	if (remark->is_counted)
		seep_json_hash(json, "stackHash/v1", stack->hash);
	else
		seep_json_escaped(json, "budget/v1", outcome->budget);
	seep_json_close(json);
	seep_json_close(json);
}

static void write_rules(struct seep_json *json)
{
	for (unsigned i = 0; seep_json_each_object(json, "rules", i, RULE_COUNT); i++) {
		SEEP_FREED char *words = seep_xasprintf(i < SEEP_BUDGET_MEASURE_COUNT
								? "A budget of %s is broken"
								: "Wrong use of the heap: %s",
							rule_name(i));

		seep_json_text(json, "id", rule_name(i));
		write_message(json, "shortDescription", words);
		write_message(
			json, "help",
			"The call stacks are those with most of it. \"seep report FILE\" and "
			"\"seep leaks FILE\" say more; a suppression hash:HASH accepts a leak or finding.");
	}
}

void seep_check_sarif(FILE *out, const struct seep_check *check)
{
	struct seep_json *json = seep_json_new(out, false);

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
	write_uri(json, check->root, check->root[1] ? "/" : "");
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_array(json, "results");
	seep_check_each(check, write_result, json);
	/* That closes what is open, too. */
	seep_json_finish(json);
}
