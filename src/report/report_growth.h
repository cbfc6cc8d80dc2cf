/* SPDX-License-Identifier: MIT */
/* The part about growth in reports of something else. */
#ifndef SEEP_REPORT_REPORT_GROWTH_H
#define SEEP_REPORT_REPORT_GROWTH_H

#include "base/text.h"
#include "view/growth_view.h"

/* A line each; nothing where nothing grows. */
void seep_report_few_growing(const struct seep_printer *printer, const struct seep_view *view,
			     const struct seep_growth_view *growth);

#endif
