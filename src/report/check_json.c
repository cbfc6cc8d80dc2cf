/* SPDX-License-Identifier: MIT */
/* The result of a check as JSON, in the order of docs/json.md. */
#include "report/check.h"

#include "base/xalloc.h"
#include "profile/verdict.h"
#include "report/json_parts.h"

static void write_budget(struct seep_json *json, const struct seep_budget *budget)
{
	seep_json_open_object(json, NULL);
	seep_json_text(json, "budget", budget->text);
	seep_json_text(json, "measure", seep_budget_measure_names[budget->measure]);
	seep_json_text(json, "place", seep_budget_place_names[budget->place]);
	seep_json_text(json, "name", budget->glob);
	seep_json_close(json);
}

static void write_stack(struct seep_json *json, const struct seep_check_remark *remark,
			const struct seep_json_shown *shown)
{
	const struct seep_budget_stack *stack = remark->stack;
	struct seep_source_place place = seep_check_place(remark);

	seep_json_open_object(json, NULL);
	seep_json_text(json, "verdict",
		       stack->leak ? seep_verdict_name(stack->leak->verdict) : NULL);
	seep_json_hash(json, "hash", stack->hash);
	seep_json_u64(json, "value", stack->value);
	seep_json_u64(json, "blocks", stack->blocks);
	seep_json_text(json, "path", place.path);
	seep_json_bool(json, "below_root", place.is_inside);
	if (place.line)
		seep_json_int(json, "line", place.line);
	else
		seep_json_null(json, "line");
	seep_json_stack(json, shown, seep_check_context(remark));
	seep_json_close(json);
	seep_source_place_done(&place);
}

static void write_outcome(struct seep_json *json, const struct seep_check *check,
			  const struct seep_checked_file *file, const struct seep_json_shown *shown,
			  const struct seep_budget_outcome *outcome)
{
	seep_json_open_object(json, NULL);
	seep_json_text(json, "budget", outcome->budget->text);
	seep_json_text(json, "result", seep_budget_result_names[outcome->result]);
	seep_json_bool(json, "passes", seep_check_result(check, outcome) == SEEP_BUDGET_KEPT);
	seep_json_u64(json, "value", outcome->value);
	seep_json_u64(json, "unsure", outcome->unsure);
	seep_json_u64(json, "limit", outcome->limit);
	if (outcome->budget->is_relative)
		seep_json_u64(json, "base", outcome->base);
	else
		seep_json_null(json, "base");
	seep_json_text(json, "code", outcome->code);
	seep_json_text(json, "reason", outcome->reason);
	seep_json_open_array(json, "stacks");
	for (uint32_t i = 0; i < outcome->stack_count; i++)
		write_stack(
			json,
			&(struct seep_check_remark){ check, file, outcome, &outcome->stacks[i] },
			shown);
	seep_json_close(json);
	seep_json_int(json, "left_out", outcome->left_out);
	seep_json_close(json);
}

/* The call stacks of what is broken. */
static void choose(const struct seep_checked_file *file, size_t budget_count,
		   struct seep_json_shown *shown)
{
	uint32_t *contexts = NULL, count = 0;
	size_t capacity = 0;

	*shown = (struct seep_json_shown){ 0 };
	if (!file->side.profile)
		return;
	for (size_t i = 0; i < budget_count; i++)
		for (uint32_t k = 0; k < file->outcomes[i].stack_count; k++) {
			if (!file->outcomes[i].stacks[k].context)
				continue;
			contexts = seep_xgrow(contexts, &capacity, count + 1u, sizeof(*contexts));
			contexts[count++] = file->outcomes[i].stacks[k].context - 1;
		}
	seep_json_shown_take(shown, file->side.profile, contexts, count);
}

static void write_file(struct seep_json *json, const struct seep_check *check,
		       const struct seep_checked_file *file)
{
	struct seep_json_shown shown;

	choose(file, check->budgets->count, &shown);
	seep_json_open_object(json, NULL);
	seep_json_text(json, "file", file->path);
	seep_json_text(json, "program", file->pid ? file->name : NULL);
	seep_json_known(json, "pid", file->pid);
	seep_json_open_array(json, "modules");
	if (shown.profile)
		seep_json_modules(json, shown.profile);
	seep_json_close(json);
	seep_json_open_array(json, "frames");
	seep_json_frames(json, &shown);
	seep_json_close(json);
	seep_json_open_array(json, "outcomes");
	for (size_t i = 0; i < check->budgets->count; i++)
		write_outcome(json, check, file, &shown, &file->outcomes[i]);
	seep_json_close(json);
	seep_json_close(json);
	seep_json_shown_done(&shown);
}

void seep_check_json(FILE *out, const struct seep_check *check, bool strings)
{
	struct seep_json *json = seep_json_new(out, strings);

	seep_json_open_document(json, NULL);
	seep_json_text(json, "result", seep_budget_result_names[seep_check_all(check)]);
	seep_json_open_array(json, "budgets");
	for (size_t i = 0; i < check->budgets->count; i++)
		write_budget(json, &check->budgets->items[i]);
	seep_json_close(json);
	seep_json_open_array(json, "recordings");
	for (size_t i = 0; i < check->count; i++)
		write_file(json, check, &check->files[i]);
	seep_json_close(json);
	seep_json_finish(json);
}
