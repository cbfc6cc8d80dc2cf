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

	for (size_t i = 0; i < check->count; i++)
		for (size_t k = 0; k < check->budgets->count; k++) {
			const enum seep_budget_result one =
				seep_check_result(check, &check->files[i].outcomes[k]);

			if (one == SEEP_BUDGET_BROKEN)
				return one;
			if (one == SEEP_BUDGET_NOT_KNOWN)
				all = one;
		}
	return all;
}

char *seep_check_sentence(const struct seep_budget_outcome *outcome)
{
	const enum seep_budget_measure what = outcome->budget->measure;
	const struct seep_unit_text value = seep_budget_text(what, outcome->value);
	const struct seep_unit_text more = seep_budget_text(what, outcome->value - outcome->limit);

	if (outcome->reason)
		return seep_xstrdup(outcome->reason);
	if (outcome->result == SEEP_BUDGET_KEPT)
		return seep_xstrdup(value.text);
	if (what == SEEP_BUDGET_LEAKS)
		return seep_xasprintf("%s%s", seep_things_text(outcome->value, "leak").text,
				      outcome->limit ? ", more than the budget" : "");
	if (outcome->value == outcome->limit)
		return seep_xasprintf("%s, which is not less", value.text);
	if (outcome->budget->is_relative)
		return seep_xasprintf("%s, %s more than the budget; the baseline has %s",
				      value.text, more.text,
				      seep_budget_text(what, outcome->base).text);
	return outcome->limit ? seep_xasprintf("%s, %s more than the budget", value.text, more.text)
			      : seep_xstrdup(value.text);
}

char *seep_check_stack_figures(const struct seep_budget_outcome *outcome,
			       const struct seep_budget_stack *stack)
{
	const enum seep_budget_measure what = outcome->budget->measure;
	const struct seep_profile_leak *leak = stack->leak;

	if (leak)
		return seep_xasprintf("%s: %s in %s", seep_verdict_name(leak->verdict),
				      seep_bytes_text(stack->value).text,
				      seep_things_text(stack->blocks, "block").text);
	if (what == SEEP_BUDGET_ALLOCS || what == SEEP_BUDGET_TEMPORARY)
		return seep_xasprintf("%s%s", what == SEEP_BUDGET_ALLOCS ? "" : "temporary: ",
				      seep_things_text(stack->value, "allocation").text);
	if (what == SEEP_BUDGET_BLOCKS)
		return seep_xstrdup(seep_things_text(stack->value, "block").text);
	return seep_xasprintf("%s%s in %s", what == SEEP_BUDGET_GROWTH ? "GROWING: +" : "",
			      seep_bytes_text(stack->value).text,
			      seep_things_text(stack->blocks, what == SEEP_BUDGET_ALLOCATED
								      ? "allocation"
								      : "block")
				      .text);
}

const struct seep_profile_context *seep_check_context(const struct seep_checked_file *file,
						      const struct seep_budget_stack *stack)
{
	return stack->context ? &file->side.profile->contexts[stack->context - 1] : NULL;
}

void seep_check_each(const struct seep_check *check, seep_check_remark remark, void *user)
{
	for (size_t i = 0; i < check->count; i++)
		for (size_t k = 0; k < check->budgets->count; k++) {
			const struct seep_checked_file *file = &check->files[i];
			const struct seep_budget_outcome *outcome = &file->outcomes[k];
			const bool each = outcome->budget->measure == SEEP_BUDGET_LEAKS;

			if (seep_check_result(check, outcome) == SEEP_BUDGET_KEPT)
				continue;
			if (outcome->stack_count == 0)
				remark(user, check, file, outcome, NULL);
			for (uint32_t n = 0; n < outcome->stack_count && (each || n == 0); n++)
				remark(user, check, file, outcome, &outcome->stacks[n]);
		}
}

/* "LOST: 4.0 KB in 10 blocks, from app::load_rows" */
static char *leak_text(const struct seep_checked_file *file,
		       const struct seep_budget_outcome *outcome,
		       const struct seep_budget_stack *stack)
{
	const struct seep_profile_context *context = seep_check_context(file, stack);
	char *figures = seep_check_stack_figures(outcome, stack);
	uint32_t first, end;
	char *name, *text;

	if (!context || context->stack_count == 0)
		return figures;
	seep_sites_trim(file->side.sites, context->stack, context->stack_count, &first, &end);
	name = seep_frame_name(file->side.profile,
			       &file->side.profile->frames[context->stack[first].frame],
			       SEEP_NAME_SHORT);
	text = seep_xasprintf("%s from %s", figures, name);
	free(name);
	free(figures);
	return text;
}

char *seep_check_remark_text(const struct seep_checked_file *file,
			     const struct seep_budget_outcome *outcome,
			     const struct seep_budget_stack *stack)
{
	const char *program = *file->name ? file->name : file->path;
	const bool is_leak = stack && outcome->budget->measure == SEEP_BUDGET_LEAKS;
	char *what = is_leak ? leak_text(file, outcome, stack) : seep_check_sentence(outcome);
	char *text = seep_xasprintf("%s: %s%s%s%s", program, outcome->reason ? "not known: " : "",
				    is_leak ? "" : outcome->budget->text, is_leak ? "" : ": ",
				    what);

	free(what);
	return text;
}

struct seep_source_place seep_check_place(const struct seep_check *check,
					  const struct seep_checked_file *file,
					  const struct seep_budget_stack *stack)
{
	return stack ? seep_source_place_of(&check->root, file->side.sites,
					    seep_check_context(file, stack))
		     : (struct seep_source_place){ 0 };
}
