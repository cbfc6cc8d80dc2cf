/* SPDX-License-Identifier: MIT */
#include "cli/keep_options.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/keep.h"
#include "analysis/within.h"
#include "base/strbuf.h"
#include "base/units.h"

enum { SHOWN_BYTES_MAX = 4096 };

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

const struct seep_profile_within *seep_within_options_read(struct seep_within_option_values *values)
{
	SEEP_STRBUF(text, SHOWN_BYTES_MAX);

	add_globs(&text, "within", &values->within);
	add_globs(&text, "without", &values->without);
	free((char *)values->asked.text);
	values->asked = (struct seep_profile_within){
		.within = values->within.items,
		.within_count = values->within.count,
		.without = values->without.items,
		.without_count = values->without.count,
		.text = seep_strbuf_take(&text),
	};
	return values->within.count + values->without.count > 0 ? &values->asked : NULL;
}

int seep_within_options_apply(struct seep_within_option_values *values,
			      struct seep_profile *profile, bool is_last, struct seep_error *err)
{
	const struct seep_profile_within *within = seep_within_options_read(values);
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;
	struct seep_counts unsure;

	if (!within)
		return 0;
	sites = seep_sites_new(profile);
	unsure = seep_within(profile, sites, within, values->used);
	seep_profile_add_unseen(profile, "within",
				"entries, times and frees within functions: they need an "
				"annotation in the source");
	if (unsure.allocs > 0)
		seep_profile_add_unseen(
			profile, "within-unsure",
			"%s, %s of which live, by call stacks that may belong to it: "
			"they are not whole, or some code has no name",
			seep_things_text((uint64_t)unsure.allocs, "allocation").text,
			seep_bytes_text((uint64_t)unsure.live_bytes).text);
	for (size_t i = 0; is_last && i < within->within_count; i++)
		if (!values->used[i])
			return seep_within_fail(profile, within->within[i], err);
	for (size_t i = 0; is_last && i < within->without_count; i++)
		if (!values->used[within->within_count + i])
			return seep_within_fail(profile, within->without[i], err);
	return 0;
}

int seep_keep_options_apply(struct seep_keep_option_values *values, struct seep_profile *profile,
			    char **ret_shown, struct seep_error *err)
{
	const struct seep_keep_globs modules = { values->modules.items, values->modules.count };
	const struct seep_keep_globs threads = { values->threads.items, values->threads.count };
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;
	const struct seep_keep_globs scopes = { values->scopes.items, values->scopes.count };
	SEEP_STRBUF(text, SHOWN_BYTES_MAX);
	int ret = seep_within_options_apply(&values->within, profile, true, err);

	*ret_shown = NULL;
	if (ret < 0 || modules.count + threads.count + scopes.count == 0)
		return ret;
	sites = seep_sites_new(profile);
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
