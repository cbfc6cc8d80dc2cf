/* SPDX-License-Identifier: MIT */
/* What "seep top" prints without screens. What cannot be written shows in ferror() of the stream. */
#ifndef SEEP_REPORT_REPORT_LIVE_H
#define SEEP_REPORT_REPORT_LIVE_H

#include "analysis/live.h"
#include "base/text.h"

#include <stdio.h>

/* Sums, processes where there are several, then the lines and what speaks for each verdict. */
void seep_report_live(const struct seep_printer *printer, const struct seep_live *live,
		      const struct seep_live_line *lines, uint32_t count);

/* As docs/json.md says under "seep top --once --json". */
void seep_report_live_json(FILE *out, const struct seep_live *live,
			   const struct seep_live_line *lines, uint32_t count, bool strings);

/* Names of the columns, then a row for each line of each reading, as docs/top.md says. */
void seep_report_live_csv_head(FILE *out);
void seep_report_live_csv(FILE *out, const struct seep_live_line *lines, uint32_t count);

#endif
