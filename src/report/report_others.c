/* SPDX-License-Identifier: MIT */
/*
 * The other processes of a run: those with recordings of their own, largest first, and what all
 * come to together.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/search.h"
#include "base/table.h"
#include "base/units.h"
#include "base/xalloc.h"

enum { LISTED_MAX = 8 };

static int by_peak(const void *left, const void *right)
{
	const struct seep_profile_other *a = left, *b = right;

	return seep_search_order(b->peak_bytes, a->peak_bytes)
		       ?: seep_search_order(a->start_ns, b->start_ns);
}

static void print_table(const struct seep_printer *printer, const struct seep_profile_other *rows,
			size_t count)
{
	static const struct seep_column columns[] = {
		{ "PID", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 4 },
		{ "PROGRAM", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "PEAK", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
		{ "ALLOCS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		/* The name of the file says the same as two other columns. */
		{ "RECORDING", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 1 },
	};
	SEEP_TABLE(table, columns);

	for (size_t i = 0; i < count; i++) {
		SEEP_FREED char *pid = seep_xasprintf("%u", rows[i].pid);

		seep_table_add(table, pid);
		seep_table_add(table, rows[i].exe ? seep_path_base(rows[i].exe) : NULL);
		seep_table_add(table, seep_bytes_text(rows[i].peak_bytes).text);
		seep_table_add(table, seep_bytes_text(rows[i].live_bytes).text);
		seep_table_add(table, seep_count_text(rows[i].allocs).text);
		seep_table_add(table, rows[i].file);
	}
	seep_table_print(table, printer, 0);
}

/* @is_apart: what @profile does not include has not been printed. */
static void print_together(const struct seep_printer *printer, const struct seep_profile *profile,
			   bool is_apart)
{
	const struct seep_profile_run *run = &profile->run;
	const uint64_t told = (uint64_t)profile->other_count + 1;
	const uint64_t small = run->sums.processes > told ? run->sums.processes - told : 0;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	seep_strbuf_addf(&line, "All %s processes together",
			 seep_digits_text(run->sums.processes).text);
	if (small > 0)
		seep_strbuf_addf(&line, " (%s of them forks without a recording)",
				 seep_digits_text(small).text);
	seep_strbuf_addf(&line, ": %s allocations of %s, ", seep_count_text(run->sums.allocs).text,
			 seep_bytes_text(run->sums.alloc_bytes).text);
	seep_strbuf_addf(&line, "%s freed, %s live when they ended. ",
			 seep_bytes_text(run->sums.freed_bytes).text,
			 seep_bytes_text(run->sums.live_bytes).text);
	seep_strbuf_addf(&line,
			 "The peaks of processes that ran at the same time add up to at most %s.",
			 seep_bytes_text(run->peaks_at_once_bytes).text);
	for (uint32_t i = 0; is_apart && i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, "run-incomplete") == 0)
			seep_strbuf_addf(&line, " Incomplete: %s.", profile->unseen[i].detail);
	seep_line_print(printer, "%s", line.text);
}

/* All processes but the one that @above is about, largest first. Release with free(). */
static struct seep_profile_other *make_rows(const struct seep_profile *profile,
					    const struct seep_profile *above, char *file)
{
	struct seep_profile_other own = seep_profile_share(profile);
	struct seep_profile_other *rows = seep_xcalloc(profile->other_count + 1u, sizeof(*rows));
	size_t count = 0;

	own.exe = profile->process.exe;
	own.file = file;
	for (uint32_t i = 0; i <= profile->other_count; i++) {
		rows[count] = i < profile->other_count ? profile->others[i] : own;
		/* One pid may have run several programs. */
		count += rows[count].pid != above->process.pid ||
			 rows[count].start_ns != above->process.start_ns;
	}
	qsort(rows, count, sizeof(*rows), by_peak);
	/* FILE is in the list, however small. */
	if (above != profile && count > LISTED_MAX && by_peak(&own, &rows[LISTED_MAX - 1]) > 0)
		rows[LISTED_MAX - 1] = own;
	return rows;
}

void seep_report_others(const struct seep_printer *printer, const struct seep_profile *profile,
			const struct seep_profile *above, const char *path)
{
	const size_t count = profile->other_count;
	const size_t shown = count <= LISTED_MAX ? count : LISTED_MAX;
	SEEP_FREED struct seep_profile_other *rows = NULL;
	SEEP_FREED char *file = NULL;

	if (count == 0)
		return;
	file = path ? seep_xasprintf("../%s", seep_path_base(path)) : NULL;
	rows = make_rows(profile, above, file);
	seep_line_print(printer, "The %sother %zu process%s of this run, by peak%s%s%s:",
			shown < count ? "largest of the " : "", count, count == 1 ? "" : "es",
			path ? "; recordings in " : "", path ? path : "", path ? ".d" : "");
	print_table(printer, rows, shown);
	print_together(printer, profile, above != profile);
}

void seep_report_larger(const struct seep_printer *printer, const struct seep_profile *profile,
			const char *path)
{
	const struct seep_profile_other *largest = NULL;

	for (uint32_t i = 0; i < profile->other_count; i++)
		if (!largest || by_peak(&profile->others[i], largest) < 0)
			largest = &profile->others[i];
	if (!largest || !path || largest->peak_bytes <= profile->totals.peak_bytes)
		return;
	seep_line_print(
		printer, "%s (pid %u) had a larger peak in this run, %s: seep report %s.d/%s",
		largest->exe ? seep_path_base(largest->exe) : "another process", largest->pid,
		seep_bytes_text(largest->peak_bytes).text, path, largest->file);
	fputc('\n', printer->out);
}
