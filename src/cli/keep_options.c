/* SPDX-License-Identifier: MIT */
#include "cli/keep_options.h"

#include <string.h>

#include "analysis/keep.h"
#include "base/strbuf.h"

enum { SHOWN_BYTES_MAX = 4096 };

bool seep_keep_options_any(const struct seep_keep_option_values *values)
{
	return values->modules.count + values->threads.count + values->scopes.count > 0;
}

int seep_keep_options_check(const struct seep_keep_option_values *values, struct seep_error *err)
{
	for (size_t i = 0; i < values->modules.count; i++) {
		const char *glob = values->modules.items[i];

		if (!glob[strspn(glob, "!")])
			return seep_fail(err, SEEP_EUSAGE, "--module needs the name of a module");
	}
	return 0;
}

static void add_globs(struct seep_strbuf *text, const char *what,
		      const struct seep_option_list *globs)
{
	for (size_t i = 0; i < globs->count; i++) {
		if (i > 0)
			seep_strbuf_adds(text, ", ");
		else
			seep_strbuf_addf(text, "%s%s ", text->length ? "; " : "", what);
		seep_strbuf_adds(text, globs->items[i]);
	}
}

int seep_keep_options_apply(const struct seep_keep_option_values *values,
			    struct seep_profile *profile, const struct seep_sites *sites,
			    char **ret_shown, struct seep_error *err)
{
	const struct seep_keep_globs modules = { values->modules.items, values->modules.count };
	const struct seep_keep_globs threads = { values->threads.items, values->threads.count };
	const struct seep_keep_globs scopes = { values->scopes.items, values->scopes.count };
	SEEP_STRBUF(text, SHOWN_BYTES_MAX);
	int ret;

	*ret_shown = NULL;
	if (!seep_keep_options_any(values))
		return 0;
	ret = seep_keep_check(sites, &modules, &threads, &scopes, err);
	if (ret < 0)
		return ret;
	seep_keep(profile, sites, &modules, &threads, &scopes);
	add_globs(&text, "module", &values->modules);
	add_globs(&text, "thread", &values->threads);
	add_globs(&text, "scope", &values->scopes);
	*ret_shown = seep_strbuf_take(&text);
	return 0;
}
