/* SPDX-License-Identifier: MIT */
/* What several text views print. */
#ifndef SEEP_REPORT_REPORT_PARTS_H
#define SEEP_REPORT_REPORT_PARTS_H

#include "analysis/group.h"
#include "base/table.h"
#include "view/growth_view.h"
#include "view/leaks_view.h"
#include "view/stacks_view.h"
#include "view/view.h"

/* A cell with @prefix, what @frame is called, and @suffix; in brief where there is little room. */
void seep_report_add_name(struct seep_table *table, const struct seep_view *view,
			  const struct seep_profile_frame *frame, const char *prefix,
			  const char *suffix, enum seep_style style);

/* Figure, share, name and place; the place goes first where there is little room. */
extern const struct seep_column seep_report_ranked[4];

/* Print @table; whole names and stacks are not cut. */
void seep_report_print_table(const struct seep_printer *printer, const struct seep_view *view,
			     struct seep_table *table, size_t indent);

/* A call stack, a line for each frame. */
void seep_report_print_stack(const struct seep_printer *printer, const struct seep_view *view,
			     const struct seep_stack_lines *lines, size_t indent);

/* Of what belongs to an item of a list, behind its number. */
enum { SEEP_REPORT_INDENT = 5 };

/* The same as number @number of a list, after its figures. */
void seep_report_print_item(const struct seep_printer *printer, const struct seep_view *view,
			    const struct seep_stack_lines *lines, uint32_t number);

/* Two cells: "load_rows ← visit ×17 ← main", and where the first of them stands. */
void seep_report_add_chain(struct seep_table *table, const struct seep_view *view,
			   const struct seep_stack_lines *lines);

/* What is lost, a line each; nothing where nothing is. */
void seep_report_few_leaks(const struct seep_printer *printer, const struct seep_view *view,
			   const struct seep_leaks_view *leaks);

/* The same of what grows. */
void seep_report_few_growing(const struct seep_printer *printer, const struct seep_view *view,
			     const struct seep_growth_view *growth);

/* Threads, largest first; nothing when no context says of which thread it is. */
void seep_report_threads(const struct seep_printer *printer, const struct seep_view *view,
			 const struct seep_groups *groups);

#endif
