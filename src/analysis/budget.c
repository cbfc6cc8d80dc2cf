/* SPDX-License-Identifier: MIT */
#include "analysis/budget.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "core/nearest.h"

enum { SHOWN_BYTES = 100 };

#define M(constant, name, is_bytes, counts) [SEEP_BUDGET_##constant] = (name),
const char *const seep_budget_measure_names[] = { SEEP_BUDGET_MEASURES(M) };
#undef M
#define M(constant, name, is_bytes, counts) [SEEP_BUDGET_##constant] = (counts),
const char *const seep_budget_measure_words[] = { SEEP_BUDGET_MEASURES(M) };
#undef M
#define M(constant, name, is_bytes, counts) [SEEP_BUDGET_##constant] = (is_bytes),
static const bool counts_bytes[] = { SEEP_BUDGET_MEASURES(M) };
#undef M

const char *const seep_budget_place_names[] = {
	[SEEP_PLACE_ALL] = NULL,
	[SEEP_PLACE_FUNCTION] = "function",
	[SEEP_PLACE_OWN_FUNCTION] = "own-function",
	[SEEP_PLACE_MODULE] = "module",
	[SEEP_PLACE_OWN_MODULE] = "own-module",
};

struct seep_unit_text seep_budget_text(enum seep_budget_measure measure, uint64_t value)
{
	return counts_bytes[measure] ? seep_bytes_text(value) : seep_digits_text(value);
}

/* Without the blanks around it; @text is cut. */
static char *trim(char *text)
{
	static const char blanks[] = " \t\r";
	size_t bytes;

	text += strspn(text, blanks);
	bytes = strlen(text);
	while (bytes > 0 && strchr(blanks, text[bytes - 1]))
		bytes--;
	text[bytes] = '\0';
	return text;
}

/* The index of @word among @names; @count where it is none, which @err then says. */
static unsigned find(const char *word, const char *const *names, unsigned count, const char *what,
		     struct seep_error *err)
{
	struct core_nearest nearest;
	const char *near;

	core_nearest_init(&nearest, word);
	for (unsigned i = 0; i < count; i++) {
		if (names[i] && strcmp(names[i], word) == 0)
			return i;
		if (names[i])
			core_nearest_offer(&nearest, names[i]);
	}
	near = core_nearest_word(&nearest);
	(void)seep_fail(err, SEEP_EUSAGE, "'%.*s' is no %s of a budget%s%s%s", SHOWN_BYTES, word,
			what, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return count;
}

static int parse_limit(struct seep_budget *budget, const char *limit, struct seep_error *err)
{
	const char *number = limit + (*limit == '+');
	int rc;

	budget->is_relative = *limit == '+';
	budget->is_share = strchr(number, '%') != NULL;
	if (budget->is_share)
		rc = seep_parse_share(number, &budget->limit, err);
	else if (counts_bytes[budget->measure])
		rc = seep_parse_size(number, &budget->limit, err);
	else
		rc = seep_parse_amount(number, &budget->limit, err);
	if (rc == 0 && budget->is_share && !budget->is_relative)
		rc = seep_fail(err, SEEP_EUSAGE, "a share is one of the baseline: write +%s",
			       limit);
	if (rc == 0 && budget->is_below && budget->limit == 0)
		rc = seep_fail(err, SEEP_EUSAGE, "nothing is less than 0: write <=%s", limit);
	return rc;
}

/* "PLACE:GLOB:" before the measure, which begins at @measure. */
static int parse_place(struct seep_budget *budget, char *text, char *measure,
		       struct seep_error *err)
{
	char *glob = strchr(text, ':');
	unsigned place;

	if (measure == text)
		return 0;
	measure[-1] = '\0';
	if (glob)
		*glob = '\0';
	place = find(trim(text), seep_budget_place_names, SEEP_PLACE_COUNT, "place", err);
	if (place == SEEP_PLACE_COUNT)
		return -SEEP_EUSAGE;
	glob = glob && glob < measure - 1 ? trim(glob + 1) : NULL;
	if (!glob || !*glob)
		return seep_fail(err, SEEP_EUSAGE, "%s: lacks a name, as in %s:NAME:live<1MB",
				 seep_budget_place_names[place], seep_budget_place_names[place]);
	budget->place = (enum seep_budget_place)place;
	budget->glob = seep_xstrdup(glob);
	return 0;
}

/* Writes into @text. */
static int parse(struct seep_budget *budget, char *text, struct seep_error *err)
{
	char *limit = strrchr(text, '<');
	char *measure;
	unsigned found;
	int rc;

	if (!limit)
		return seep_fail(err, SEEP_EUSAGE, "write for example peak<24MB or leaks<=0");
	*limit++ = '\0';
	budget->is_below = *limit != '=';
	limit = trim(limit + !budget->is_below);
	measure = strrchr(text, ':');
	measure = measure ? measure + 1 : text;
	rc = parse_place(budget, text, measure, err);
	if (rc < 0)
		return rc;
	found = find(trim(measure), seep_budget_measure_names, SEEP_BUDGET_MEASURE_COUNT, "measure",
		     err);
	if (found == SEEP_BUDGET_MEASURE_COUNT)
		return -SEEP_EUSAGE;
	budget->measure = (enum seep_budget_measure)found;
	return parse_limit(budget, limit, err);
}

static void budget_done(struct seep_budget *budget)
{
	free(budget->text);
	free(budget->glob);
}

int seep_budgets_add(struct seep_budgets *budgets, const char *text, struct seep_error *err)
{
	struct seep_budget budget = { 0 };
	char *copy, *trimmed;
	int rc;

	if (budgets->count == SEEP_BUDGETS_MAX)
		return seep_fail(err, SEEP_ELIMIT, "more than %d budgets", SEEP_BUDGETS_MAX);
	copy = seep_xstrdup(text);
	trimmed = trim(copy);
	budget.text = seep_xstrdup(trimmed);
	rc = parse(&budget, trimmed, err);
	free(copy);
	if (rc < 0) {
		seep_error_prefix(err, "'%.*s'", SHOWN_BYTES, budget.text);
		budget_done(&budget);
		return rc;
	}
	budgets->items = seep_xgrow(budgets->items, &budgets->capacity, budgets->count + 1,
				    sizeof(*budgets->items));
	budgets->items[budgets->count++] = budget;
	return 0;
}

/* Names hold '#', as in "{lambda()#1}", but behind no blank. */
static void cut_comment(char *line)
{
	for (char *at = line; (at = strchr(at, '#')); at++) {
		if (at == line || at[-1] == ' ' || at[-1] == '\t') {
			*at = '\0';
			return;
		}
	}
}

int seep_budgets_read(struct seep_budgets *budgets, const char *path, struct seep_error *err)
{
	unsigned number = 0;
	size_t bytes, length;
	char *data;
	int rc = seep_file_read(path, SEEP_BUDGETS_FILE_BYTES_MAX, &data, &bytes, err);

	if (rc < 0)
		return rc;
	for (char *line = data; rc == 0 && line < data + bytes; line += length + 1) {
		length = strcspn(line, "\n");
		number++;
		if (line + length < data + bytes && line[length] != '\n')
			rc = seep_fail(err, SEEP_EUSAGE, "a zero byte: this is no file of budgets");
		line[length] = '\0';
		cut_comment(line);
		if (rc == 0 && line[strspn(line, " \t\r")])
			rc = seep_budgets_add(budgets, line, err);
	}
	if (rc < 0)
		seep_error_prefix(err, "%s:%u", path, number);
	free(data);
	return rc;
}

void seep_budgets_done(struct seep_budgets *budgets)
{
	for (size_t i = 0; i < budgets->count; i++)
		budget_done(&budgets->items[i]);
	free(budgets->items);
	*budgets = (struct seep_budgets){ 0 };
}
