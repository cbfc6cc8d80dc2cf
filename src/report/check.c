/* SPDX-License-Identifier: MIT */
/* What all formats of a check say alike. */
#include "report/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/terminal.h"
#include "profile/finding_name.h"
#include "profile/verdict.h"
#include "report/report_parts.h"
#include "view/finding_text.h"

/* How many call stacks are shown, of each leak one; and where their lines begin. */
enum { STACKS_SHOWN = 3, LEAKS_MAX = 1000, INDENT = 4, FRAME_INDENT = 6 };

/* "LOST: 4.0 KB in 10 blocks", "3 allocations", "12 MB ±1 MB in 30 ±3 blocks", or what was found */
static void print_figures(FILE *out, unsigned measure, const struct seep_profile *profile,
			  const struct seep_budget_stack *stack)
{
	const enum seep_measure by = measure == SEEP_BY_PEAK ? SEEP_BY_PEAK : SEEP_BY_LIVE;
	SEEP_FREED char *found = stack->finding ? seep_finding_text(profile, stack->finding) : NULL;

	fprintf(out, "%*s", INDENT, "");
	if (found) {
		fputs(found, out);
		return;
	}
	if (stack->leak)
		fprintf(out, "%s: ", seep_verdict_name(stack->leak->verdict));
	if (measure == SEEP_BY_ALLOCS)
		fputs(seep_counted_text(&stack->counts, SEEP_FIGURE_allocs, "allocation").text,
		      out);
	else if (measure == SEEP_BY_TEMPORARY)
		fputs(seep_counted_text(&stack->counts, SEEP_FIGURE_temporary,
					"temporary allocation")
			      .text,
		      out);
	else if (measure == SEEP_BY_GROWTH)
		fprintf(out, "GROWING: +%s",
			seep_estimate_text(seep_bytes_text(stack->value),
					   seep_budget_stack_error(stack), seep_bytes_text)
				.text);
	else
		fprintf(out, "%s in %s", seep_counts_text(&stack->counts, by).text,
			seep_counted_text(&stack->counts, seep_measure_blocks(by), "block").text);
	if (stack->known_blocks > 0)
		fprintf(out, ", grown from %s in %s", seep_bytes_text(stack->known_bytes).text,
			seep_things_text(stack->known_blocks, "block").text);
}

static uint64_t hash_of(const struct seep_budget_stack *stack)
{
	if (stack->leak)
		return stack->leak->hash;
	if (stack->finding)
		return stack->finding->hash;
	return stack->context ? stack->context->hash : 0;
}

static char *stack_text(struct seep_view *view, unsigned measure,
			const struct seep_budget_stack *stack)
{
	struct seep_printer printer = { 0 };
	char *text = NULL;
	size_t bytes;

	printer.out = open_memstream(&text, &bytes);
	if (!printer.out)
		return seep_xstrdup("");
	print_figures(printer.out, measure, view->profile, stack);
	if (hash_of(stack) != 0)
		fprintf(printer.out, ", hash:%016" PRIx64, hash_of(stack));
	fputc('\n', printer.out);
	seep_report_print_context(&printer, view, FRAME_INDENT, NULL, stack->context);
	if (stack->finding)
		seep_report_print_origin(&printer, view, FRAME_INDENT, stack->finding);
	(void)fclose(printer.out);
	return text;
}

char *seep_check_path_below(const char *root, const char *file)
{
	const size_t bytes = strcmp(root, "/") == 0 ? 0 : strlen(root);
	SEEP_FREED char *path = seep_path_normal(file);

	if (path[0] == '/' && strncmp(path, root, bytes) == 0 && path[bytes] == '/')
		return seep_escape_dup(path + bytes + 1);
	/* Builds that leave the folder out (-ffile-prefix-map) name files so. */
	return path[0] != '/' && !seep_begins_with(path, "../") ? seep_escape_dup(path) : NULL;
}

/* From the function to blame outwards, the first frame in the source. */
static void find_place(struct seep_check_place *place, const char *root,
		       const struct seep_sites *sites, const struct seep_profile_context *context)
{
	struct seep_stack_part part;

	if (!context)
		return;
	part = seep_sites_trim(sites, context->stack, context->stack_count);
	for (uint32_t i = part.first; i < part.end && !place->path; i++) {
		const struct seep_profile_frame *frame =
			&sites->profile->frames[context->stack[i].frame];

		place->path = frame->file ? seep_check_path_below(root, frame->file) : NULL;
		place->line = frame->line;
	}
}

static void add_stacks(const struct seep_check *check, struct seep_check_outcome *outcome,
		       const struct seep_budget_side *side, const struct seep_budget_outcome *found)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE };
	const uint32_t most = outcome->measure >= SEEP_BUDGET_LEAKS ? LEAKS_MAX : STACKS_SHOWN;
	SEEP_RELEASED(seep_view_done) struct seep_view view;

	outcome->stack_count = found->stack_count < most ? found->stack_count : most;
	outcome->left_out = found->stack_count - outcome->stack_count;
	outcome->stacks = seep_xcalloc(outcome->stack_count, sizeof(*outcome->stacks));
	seep_view_init(&view, side->profile, side->sites, &options);
	for (uint32_t i = 0; i < outcome->stack_count; i++) {
		const struct seep_profile_finding *finding = found->stacks[i].finding;
		struct seep_check_stack *stack = &outcome->stacks[i];

		stack->text = stack_text(&view, outcome->measure, &found->stacks[i]);
		stack->hash = hash_of(&found->stacks[i]);
		find_place(&stack->place, check->root, side->sites, found->stacks[i].context);
		if (!finding)
			continue;
		stack->finding = finding->kind < LEDGER_FINDING_COUNT ? finding->kind : 0;
		find_place(&stack->block, check->root, side->sites,
			   seep_profile_context_at(side->profile, finding->block));
	}
}

/* "31.2 MB, 7.2 MB more than the budget" */
static char *outcome_text(const struct seep_budget *budget, const struct seep_budget_outcome *found)
{
	SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

	seep_strbuf_adds(&text, found->result == SEEP_BUDGET_NOT_KNOWN
					? found->why.text
					: seep_budget_text(budget->measure, found->value).text);
	if (found->result != SEEP_BUDGET_NOT_KNOWN && found->error > 0)
		seep_strbuf_addf(&text, " ±%s",
				 seep_budget_text(budget->measure, found->error).text);
	if (found->result == SEEP_BUDGET_BROKEN && found->limit > 0)
		seep_strbuf_addf(
			&text, ", %s more than the budget",
			seep_budget_text(budget->measure, found->value - found->limit).text);
	if (found->result == SEEP_BUDGET_BROKEN && budget->is_relative)
		seep_strbuf_addf(&text, "; the baseline has %s",
				 seep_budget_text(budget->measure, found->base).text);
	if (found->result != SEEP_BUDGET_NOT_KNOWN && found->grown_count > 0)
		seep_strbuf_addf(&text, "; %s grew",
				 seep_things_text(found->grown_count, "known leak").text);
	if (found->result == SEEP_BUDGET_KEPT && (budget->within || budget->tag) &&
	    !found->has_place)
		seep_strbuf_adds(&text, budget->tag ? "; nothing was allocated in such a scope"
						    : "; no call stack passes through it");
	return seep_escape_dup(text.text);
}

void seep_check_add(struct seep_check *check, const char *path, const struct seep_budget_side *side,
		    const struct seep_budget_plan *plan)
{
	const char *exe = seep_budget_program(side->profile);
	const char *program = *exe ? exe : seep_path_base(path);
	const uint32_t pid = side->profile->process.pid;
	/* An imported profile has no process. */
	SEEP_FREED char *name = pid ? seep_xasprintf("%s: %s (pid %" PRIu32 ")", path, program, pid)
				    : seep_xstrdup(path);
	struct seep_check_file *file = SEEP_APPEND(check->files, check->count);

	*file = (struct seep_check_file){
		.path = seep_escape_dup(path),
		.name = seep_escape_dup(name),
		.program = seep_escape_dup(program),
		.outcomes = seep_xcalloc(check->budgets->count, sizeof(*file->outcomes)),
	};
	for (size_t i = 0; i < check->budgets->count; i++) {
		const struct seep_budget *budget = &check->budgets->items[i];
		SEEP_RELEASED(seep_budget_outcome_done)
		struct seep_budget_outcome found = seep_budget_check(budget, side, plan);

		file->outcomes[i] = (struct seep_check_outcome){
			.measure = budget->measure,
			.result = found.result,
			.budget = seep_escape_dup(budget->text),
			.text = outcome_text(budget, &found),
		};
		if (found.result == SEEP_BUDGET_BROKEN)
			add_stacks(check, &file->outcomes[i], side, &found);
		check->results[found.result]++;
	}
}

void seep_check_done(struct seep_check *check)
{
	for (size_t i = 0; i < check->count; i++) {
		struct seep_check_file *file = &check->files[i];

		for (size_t k = 0; k < check->budgets->count; k++) {
			for (uint32_t s = 0; s < file->outcomes[k].stack_count; s++) {
				free(file->outcomes[k].stacks[s].text);
				free(file->outcomes[k].stacks[s].place.path);
				free(file->outcomes[k].stacks[s].block.path);
			}
			free(file->outcomes[k].stacks);
			free(file->outcomes[k].budget);
			free(file->outcomes[k].text);
		}
		free(file->outcomes);
		free(file->program);
		free(file->name);
		free(file->path);
	}
	free(check->files);
}

enum seep_budget_result seep_check_result(const struct seep_check *check)
{
	if (check->results[SEEP_BUDGET_BROKEN] > 0)
		return SEEP_BUDGET_BROKEN;
	return check->results[SEEP_BUDGET_NOT_KNOWN] > 0 && !check->allow_unknown
		       ? SEEP_BUDGET_NOT_KNOWN
		       : SEEP_BUDGET_KEPT;
}

char *seep_check_stacks(const struct seep_check_outcome *outcome)
{
	const uint32_t all = outcome->stack_count + outcome->left_out;
	SEEP_STRBUF(text, SIZE_MAX / 2);

	for (uint32_t i = 0; i < outcome->stack_count && i < STACKS_SHOWN; i++)
		seep_strbuf_adds(&text, outcome->stacks[i].text);
	if (all > STACKS_SHOWN)
		seep_strbuf_addf(&text, "%*sand %s\n", INDENT, "",
				 seep_things_text(all - STACKS_SHOWN, "more call stack").text);
	return seep_strbuf_take(&text);
}

static char *remark_text(const struct seep_check_remark *remark)
{
	const struct seep_check_outcome *outcome = remark->outcome;
	const char *program = remark->file->program;
	SEEP_FREED char *stacks = NULL;

	if (remark->is_counted)
		return seep_xasprintf("%s: %s", program,
				      remark->stack->text + strspn(remark->stack->text, " "));
	stacks = seep_check_stacks(outcome);
	return seep_xasprintf("%s: %s%s: %s\n%s", program,
			      outcome->result == SEEP_BUDGET_BROKEN ? "" : "not known: ",
			      outcome->budget, outcome->text, stacks);
}

void seep_check_each(const struct seep_check *check,
		     void (*say)(void *user, const struct seep_check_remark *remark), void *user)
{
	for (size_t i = 0; i < check->count * check->budgets->count; i++) {
		const struct seep_check_file *file = &check->files[i / check->budgets->count];
		const struct seep_check_outcome *outcome =
			&file->outcomes[i % check->budgets->count];
		const bool is_counted = outcome->stacks && outcome->measure >= SEEP_BUDGET_LEAKS;
		const uint32_t count = is_counted ? outcome->stack_count : 1;

		if (outcome->result == SEEP_BUDGET_KEPT ||
		    (outcome->result == SEEP_BUDGET_NOT_KNOWN && check->allow_unknown))
			continue;
		for (uint32_t k = 0; k < count; k++) {
			struct seep_check_remark remark = { file, outcome, NULL, is_counted, NULL };

			remark.stack = outcome->stacks ? &outcome->stacks[k] : NULL;
			remark.text = remark_text(&remark);
			say(user, &remark);
			free(remark.text);
		}
	}
}

static bool is_special(char byte, const char *special)
{
	if (special)
		return strchr(special, byte) != NULL;
	return !((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		 (byte >= '0' && byte <= '9') || strchr("-._~/", byte));
}

char *seep_check_escape(const char *text, const char *special, enum seep_check_escape as)
{
	SEEP_STRBUF(buf, SIZE_MAX / 2);

	for (; *text; text++)
		if (!is_special(*text, special))
			seep_strbuf_addc(&buf, *text);
		else if (as == SEEP_AS_ENTITY)
			seep_strbuf_addf(&buf, "&#%d;", *text);
		else if (as == SEEP_AS_PERCENT)
			seep_strbuf_addf(&buf, "%%%02X", (unsigned)(unsigned char)*text);
		else
			seep_strbuf_addf(&buf, "\\%c", *text);
	return seep_strbuf_take(&buf);
}
