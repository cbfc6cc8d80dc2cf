/* SPDX-License-Identifier: MIT */
/* The page of a profile in a file: "seep report --html" and "seep open". */
#ifndef SEEP_CLI_PAGE_FILE_H
#define SEEP_CLI_PAGE_FILE_H

#include "base/error.h"
#include "report/page.h"

/* Returns as seep_output_write(). */
SEEP_NODISCARD int seep_page_write(const char *path, const struct seep_sites *sites,
				   const struct seep_view_options *view, struct seep_error *err);

#endif
