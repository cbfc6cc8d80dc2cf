/* SPDX-License-Identifier: MIT */
/* The part about leaks in reports of something else. */
#ifndef SEEP_REPORT_REPORT_LEAKS_H
#define SEEP_REPORT_REPORT_LEAKS_H

#include "base/text.h"
#include "view/leaks_view.h"

/* A line each; nothing where nothing is lost. */
void seep_report_few_leaks(const struct seep_printer *printer, const struct seep_view *view,
			   const struct seep_leaks_view *leaks);

#endif
