/* SPDX-License-Identifier: MIT */
#include "cli/page_file.h"

#include "cli/output_file.h"

struct page {
	const struct seep_sites *sites;
	const struct seep_view_options *view;
};

static void write_page(FILE *out, const void *value)
{
	const struct page *page = value;

	seep_page_report(out, page->sites, page->view);
}

int seep_page_write(const char *path, const struct seep_sites *sites,
		    const struct seep_view_options *view, struct seep_error *err)
{
	const struct page page = { sites, view };

	return seep_output_write(path, "a page", write_page, &page, err);
}
