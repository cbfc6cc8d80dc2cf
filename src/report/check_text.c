/* SPDX-License-Identifier: MIT */
#include "report/check.h"

static void print_file(FILE *out, const struct seep_check *check,
		       const struct seep_check_file *file)
{
	static const char *const words[SEEP_BUDGET_RESULT_COUNT] = { "kept", "BROKEN",
								     "NOT KNOWN" };

	fprintf(out, "%s\n", file->name);
	for (size_t i = 0; i < check->budgets->count; i++) {
		SEEP_FREED char *stacks = seep_check_stacks(&file->outcomes[i]);

		fprintf(out, "  %-9s  %s: %s\n%s", words[file->outcomes[i].result],
			file->outcomes[i].budget, file->outcomes[i].text, stacks);
	}
}

void seep_check_text(FILE *out, const struct seep_check *check)
{
	for (size_t i = 0; i < check->count; i++)
		print_file(out, check, &check->files[i]);
	fprintf(out, "%s: %zu broken, %zu not known%s, %zu kept\n",
		seep_check_result(check) == SEEP_BUDGET_KEPT ? "Passed" : "Failed",
		check->results[SEEP_BUDGET_BROKEN], check->results[SEEP_BUDGET_NOT_KNOWN],
		check->results[SEEP_BUDGET_NOT_KNOWN] > 0 && check->allow_unknown ? " (allowed)"
										  : "",
		check->results[SEEP_BUDGET_KEPT]);
}
