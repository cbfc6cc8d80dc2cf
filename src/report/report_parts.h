/* SPDX-License-Identifier: MIT */
/* What several text views print. */
#ifndef SEEP_REPORT_REPORT_PARTS_H
#define SEEP_REPORT_REPORT_PARTS_H

#include "base/table.h"
#include "view/stacks_view.h"
#include "view/view_foot.h"

/* Head, what @print writes unless there is nothing, and foot. */
void seep_report_print_view(const struct seep_printer *printer, const struct seep_sites *sites,
			    const struct seep_view_options *options, struct seep_next_command next,
			    void (*print)(const struct seep_printer *, const struct seep_view *));

/* A cell with @prefix, what @frame is called, and @suffix; in brief where there is little room. */
void seep_report_add_name(struct seep_table *table, const struct seep_view *view,
			  const struct seep_profile_frame *frame, const char *prefix,
			  const char *suffix, enum seep_style style);

/* Figure, share, name and place; the place goes first where there is little room. */
extern const struct seep_column seep_report_ranked[4];

/* Print @table; whole names and stacks are not cut. */
void seep_report_print_table(const struct seep_printer *printer, const struct seep_view *view,
			     struct seep_table *table, size_t indent);

/* Of what belongs to an item of a list, behind its number. */
enum { SEEP_REPORT_INDENT = 5 };

/* A call stack, a line for each frame, as number @number of a list, after its figures. */
void seep_report_print_item(const struct seep_printer *printer, const struct seep_view *view,
			    const struct seep_stack_lines *lines, uint32_t number);

/* The stack of @context under @title, which may be NULL. @context NULL: it is not here, nor is the title. */
void seep_report_print_context(const struct seep_printer *printer, struct seep_view *view,
			       size_t indent, const char *title,
			       const struct seep_profile_context *context);

/* Where the block of @finding was freed before, and where it was allocated. */
void seep_report_print_origin(const struct seep_printer *printer, struct seep_view *view,
			      size_t indent, const struct seep_profile_finding *finding);

/* Heap errors that are not suppressed, worst first, each with its call stacks; nothing: none. */
void seep_report_print_findings(const struct seep_printer *printer, struct seep_view *view);

#endif
