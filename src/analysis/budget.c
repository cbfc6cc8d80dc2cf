/* SPDX-License-Identifier: MIT */
#include "analysis/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "core/nearest.h"

enum { SHOWN_BYTES = 100 };

const char *seep_budget_measure_name(unsigned measure)
{
	return measure == SEEP_BUDGET_LEAKS	 ? "leaks"
	       : measure == SEEP_BUDGET_FINDINGS ? "findings"
						 : seep_measure_names[measure];
}

static bool counts_bytes(unsigned measure)
{
	return measure != SEEP_BY_ALLOCS && measure != SEEP_BY_TEMPORARY &&
	       measure < SEEP_BUDGET_LEAKS;
}

struct seep_things_text seep_budget_text(unsigned measure, uint64_t value)
{
	struct seep_things_text text;

	if (measure >= SEEP_BUDGET_LEAKS)
		return seep_things_text(value, measure == SEEP_BUDGET_LEAKS ? "leak" : "finding");
	(void)snprintf(text.text, sizeof(text.text), "%s",
		       counts_bytes(measure) ? seep_bytes_text(value).text
					     : seep_digits_text(value).text);
	return text;
}

static int parse_measure(struct seep_budget *budget, const char *word, struct seep_error *err)
{
	struct core_nearest nearest;
	const char *near;

	core_nearest_init(&nearest, word);
	/* What was allocated there is held as long as it lives. */
	if (strcmp(word, "held") == 0)
		word = seep_budget_measure_name(SEEP_BY_LIVE);
	for (unsigned i = 0; i < SEEP_BUDGET_MEASURE_COUNT; i++) {
		budget->measure = i;
		if (strcmp(seep_budget_measure_name(i), word) == 0)
			return 0;
		core_nearest_offer(&nearest, seep_budget_measure_name(i));
	}
	near = core_nearest_word(&nearest);
	return seep_fail(err, SEEP_EUSAGE, "'%.*s' is no measure%s%s%s", SHOWN_BYTES, word,
			 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int parse_limit(struct seep_budget *budget, const char *limit, struct seep_error *err)
{
	const char *number = limit + (*limit == '+');

	budget->is_relative = *limit == '+';
	budget->is_share = strchr(number, '%') != NULL;
	if (budget->is_share && !budget->is_relative)
		return seep_fail(err, SEEP_EUSAGE, "a share is one of the baseline: write +%s",
				 limit);
	if (budget->is_share)
		return seep_parse_share(number, &budget->limit, err);
	if (counts_bytes(budget->measure))
		return seep_parse_size(number, &budget->limit, err);
	return seep_parse_amount(number, &budget->limit, err);
}

/* "PLACE:GLOB", which is a pattern. */
static int parse_place(struct seep_budget *budget, const char *text, struct seep_error *err)
{
	SEEP_FREED char *place = seep_xstrndup(text, strcspn(text, ":"));

	if (strcmp(place, "function") != 0 && strcmp(place, "module") != 0)
		return seep_fail(err, SEEP_EUSAGE, "'%.*s' must be function or module", SHOWN_BYTES,
				 place);
	if (!text[strlen(place)] || !text[strlen(place) + 1])
		return seep_fail(err, SEEP_EUSAGE, "write %s:NAME:MEASURE<=LIMIT", place);
	budget->within = seep_xstrdup(text);
	return 0;
}

/* Writes into @text. */
static int parse(struct seep_budget *budget, char *text, struct seep_error *err)
{
	char *limit = strrchr(text, '<');
	char *measure, *selector = NULL;
	int rc = 0;

	if (!limit || limit[1] != '=')
		return seep_fail(err, SEEP_EUSAGE, "write for example peak<=24MB or leaks<=0");
	*limit = '\0';
	if (limit > text && limit[-1] == '}')
		selector = strchr(text, '{');
	if (selector) {
		limit[-1] = *selector++ = '\0';
		char **pattern = seep_begins_with(selector, "within=") ? &budget->within
				 : seep_begins_with(selector, "tag=")  ? &budget->tag
								       : NULL;
		const char *value = strchr(selector, '=');

		if (!pattern || !value[1] || value[1] == '!' || strstr(value, "}{") ||
		    strstr(value, ",tag=") || strstr(value, ",within="))
			return seep_fail(err, SEEP_EUSAGE,
					 "write %s{within=FUNCTION}<=LIMIT or %s{tag=TAG}<=LIMIT",
					 text, text);
		*pattern = seep_xstrdup(value + 1);
		budget->is_part = true;
	}
	measure = selector ? NULL : strrchr(text, ':');
	if (measure) {
		*measure++ = '\0';
		rc = parse_place(budget, text, err);
	}
	if (rc == 0)
		rc = parse_measure(budget, measure ? measure : text, err);
	return rc == 0 ? parse_limit(budget, limit + 2, err) : rc;
}

static void budget_done(struct seep_budget *budget)
{
	free(budget->text);
	free(budget->within);
	free(budget->tag);
}

int seep_budgets_add(struct seep_budgets *budgets, const char *text, struct seep_error *err)
{
	SEEP_FREED char *copy = seep_xstrdup(text);
	struct seep_budget budget = { .text = seep_xstrdup(text) };
	int rc = parse(&budget, copy, err);

	if (rc < 0) {
		seep_error_prefix(err, "'%.*s'", SHOWN_BYTES, budget.text);
		budget_done(&budget);
		return rc;
	}
	*SEEP_APPEND(budgets->items, budgets->count) = budget;
	return 0;
}

void seep_budgets_done(struct seep_budgets *budgets)
{
	for (size_t i = 0; i < budgets->count; i++)
		budget_done(&budgets->items[i]);
	free(budgets->items);
	*budgets = (struct seep_budgets){ 0 };
}
