/* SPDX-License-Identifier: MIT */
/* What all outputs of a check say alike. */
#include "report/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "profile/verdict.h"
#include "view/frame_text.h"

/* Is @code one of @list, "a,b,c"? */
static bool is_listed(const char *list, const char *code)
{
	const size_t bytes = strlen(code);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, code, bytes) == 0 && (!at[bytes] || at[bytes] == ','))
			return true;
	}
	return false;
}

enum seep_budget_result seep_check_result(const struct seep_check *check,
					  const struct seep_budget_outcome *outcome)
{
	if (outcome->result != SEEP_BUDGET_NOT_KNOWN)
		return outcome->result;
	if (outcome->is_excused || (check->allowed && strcmp(outcome->code, "unreadable") != 0 &&
				    (!*check->allowed || is_listed(check->allowed, outcome->code))))
		return SEEP_BUDGET_KEPT;
	return SEEP_BUDGET_NOT_KNOWN;
}

enum seep_budget_result seep_check_all(const struct seep_check *check)
{
	enum seep_budget_result all = SEEP_BUDGET_KEPT;

	for (size_t i = 0; i < check->count * check->budgets->count; i++) {
		const enum seep_budget_result one =
			seep_check_result(check, &check->files[i / check->budgets->count]
							  .outcomes[i % check->budgets->count]);

		if (one == SEEP_BUDGET_BROKEN || all == SEEP_BUDGET_KEPT)
			all = one;
	}
	return all;
}

char *seep_check_sentence(const struct seep_budget_outcome *outcome)
{
	const enum seep_budget_measure what = outcome->budget->measure;
	const struct seep_unit_text value = seep_budget_text(what, outcome->value);

	if (outcome->reason)
		return seep_xstrdup(outcome->reason);
	if (what == SEEP_BUDGET_LEAKS && outcome->limit == 0)
		return seep_xstrdup(seep_things_text(outcome->value, "leak").text);
	if (outcome->result == SEEP_BUDGET_KEPT || outcome->limit == 0)
		return seep_xstrdup(value.text);
	if (outcome->value == outcome->limit)
		return seep_xasprintf("%s, which is not less", value.text);
	return seep_xasprintf(
		"%s, %s more than the budget%s%s", value.text,
		seep_budget_text(what, outcome->value - outcome->limit).text,
		outcome->budget->is_relative ? "; the baseline has " : "",
		outcome->budget->is_relative ? seep_budget_text(what, outcome->base).text : "");
}

char *seep_check_figures(const struct seep_check_remark *remark)
{
	const struct seep_budget_stack *stack = remark->stack;
	const struct seep_unit_text bytes = seep_bytes_text(stack->value);

	if (stack->leak)
		return seep_xasprintf("%s: %s in %s", seep_verdict_name(stack->leak->verdict),
				      bytes.text, seep_things_text(stack->blocks, "block").text);
	switch (remark->outcome->budget->measure) {
	case SEEP_BUDGET_ALLOCS:
		return seep_xstrdup(seep_things_text(stack->value, "allocation").text);
	case SEEP_BUDGET_TEMPORARY:
		return seep_xstrdup(seep_things_text(stack->value, "temporary allocation").text);
	case SEEP_BUDGET_ALLOCATED:
		return seep_xasprintf("%s in %s", bytes.text,
				      seep_things_text(stack->blocks, "allocation").text);
	case SEEP_BUDGET_BLOCKS:
		return seep_xstrdup(seep_things_text(stack->value, "block").text);
	case SEEP_BUDGET_GROWTH:
		return seep_xasprintf("GROWING: +%s", bytes.text);
	default:
		return seep_xasprintf("%s in %s", bytes.text,
				      seep_things_text(stack->blocks, "block").text);
	}
}

const struct seep_profile_context *seep_check_context(const struct seep_check_remark *remark)
{
	return remark->stack && remark->stack->context
		       ? &remark->file->side.profile->contexts[remark->stack->context - 1]
		       : NULL;
}

void seep_check_each(const struct seep_check *check,
		     void (*say)(void *user, const struct seep_check_remark *remark), void *user)
{
	for (size_t i = 0; i < check->count * check->budgets->count; i++) {
		const struct seep_checked_file *file = &check->files[i / check->budgets->count];
		const struct seep_budget_outcome *outcome =
			&file->outcomes[i % check->budgets->count];
		struct seep_check_remark remark = { check, file, outcome, outcome->stacks };
		uint32_t count = outcome->budget->measure == SEEP_BUDGET_LEAKS
					 ? outcome->stack_count
					 : 1;

		if (seep_check_result(check, outcome) == SEEP_BUDGET_KEPT)
			continue;
		do
			say(user, &remark);
		while (remark.stack++ && --count > 0);
	}
}

/* "LOST: 4.0 KB in 10 blocks from app::load_rows" */
static char *leak_line(const struct seep_check_remark *remark)
{
	const struct seep_profile_context *context = seep_check_context(remark);
	const struct seep_budget_side *side = &remark->file->side;
	char *figures = seep_check_figures(remark);
	uint32_t first, end;
	char *name, *line;

	if (!context || context->stack_count == 0)
		return figures;
	seep_sites_trim(side->sites, context->stack, context->stack_count, &first, &end);
	name = seep_frame_name(side->profile, &side->profile->frames[context->stack[first].frame],
			       SEEP_NAME_SHORT);
	line = seep_xasprintf("%s from %s", figures, name);
	free(name);
	free(figures);
	return line;
}

char *seep_check_line(const struct seep_check_remark *remark)
{
	const struct seep_budget_outcome *outcome = remark->outcome;
	const char *program = *remark->file->name ? remark->file->name : remark->file->path;
	const bool is_leak = remark->stack && outcome->budget->measure == SEEP_BUDGET_LEAKS;
	char *what = is_leak ? leak_line(remark) : seep_check_sentence(outcome);
	char *line = seep_xasprintf("%s: %s%s%s%s", program, outcome->reason ? "not known: " : "",
				    is_leak ? "" : outcome->budget->text, is_leak ? "" : ": ",
				    what);

	free(what);
	return line;
}

struct seep_source_place seep_check_place(const struct seep_check_remark *remark)
{
	return remark->stack ? seep_source_place_of(&remark->check->root, remark->file->side.sites,
						    seep_check_context(remark))
			     : (struct seep_source_place){ 0 };
}
