/* SPDX-License-Identifier: MIT */
#include "view/view.h"

const char *seep_measure_words(const struct seep_profile *profile, enum seep_measure measure)
{
	static const char *const live[] = {
		[SEEP_ENDED_UNKNOWN] = "bytes live when last seen",
		[SEEP_ENDED_RUNNING] = "bytes live now",
		[SEEP_ENDED_EXIT] = "bytes live at exit",
		[SEEP_ENDED_SIGNAL] = "bytes live when it died",
		[SEEP_ENDED_EXEC] = "bytes live at exec",
		[SEEP_ENDED_KILLED] = "bytes live when it died",
		[SEEP_ENDED_DETACHED] = "bytes live when it was detached from",
	};
	static const char *const others[SEEP_MEASURE_COUNT] = {
		[SEEP_BY_PEAK] = "bytes live at the peak",
		[SEEP_BY_ALLOCS] = "allocations",
		[SEEP_BY_TEMPORARY] = "temporary allocations",
	};

	return measure == SEEP_BY_LIVE ? live[profile->process.ended] : others[measure];
}

enum seep_measure seep_view_measure(const struct seep_profile *profile, int by)
{
	const struct seep_profile_totals *totals = &profile->totals;

	if (by >= 0 && by < SEEP_MEASURE_COUNT)
		return (enum seep_measure)by;
	if (totals->peak_bytes == 0 && totals->live_bytes == 0)
		return SEEP_BY_ALLOCS;
	/* A program that cleaned up after itself: what is left is not what anyone looks for. */
	return totals->live_bytes < totals->peak_bytes / 100 ? SEEP_BY_PEAK : SEEP_BY_LIVE;
}

void seep_view_init(struct seep_view *view, const struct seep_profile *profile,
		    const struct seep_sites *sites, const struct seep_view_options *options)
{
	*view = (struct seep_view){
		.profile = profile,
		.sites = sites,
		.options = options,
		.measure = seep_view_measure(profile, options->by),
	};
	view->folder = (struct seep_folder){ .sites = sites, .by = SEEP_FOLD_BY_LINE };
	for (uint32_t i = 0; i < profile->context_count + profile->left_out_count; i++) {
		const int64_t value = seep_context_value(&profile->contexts[i], view->measure);

		seep_counts_sum(&view->total, value);
		if (i < profile->context_count && !profile->contexts[i].hidden)
			seep_counts_sum(&view->shown, value);
	}
}

void seep_view_done(struct seep_view *view)
{
	seep_folder_done(&view->folder);
	seep_lines_done(&view->head);
	seep_lines_done(&view->foot);
}

char *seep_view_nothing(const struct seep_view *view)
{
	const char *words = seep_measure_words(view->profile, view->measure);

	if (seep_profile_is_void(view->profile))
		return seep_xasprintf("Nothing was counted: %s",
				      seep_profile_says(view->profile, "no-memory")
					      ? "the library got no memory"
					      : "the ledger got no room");
	if (!seep_measure_is_known(view->profile, view->measure))
		return seep_xasprintf("The %s are not known", words);
	if (seep_profile_says(view->profile, "sampled"))
		return seep_xasprintf("No sample of the %s was taken%s", words,
				      view->options->shown ? " among what is shown" : "");
	if (view->shown != 0)
		return seep_xasprintf("No call stack of the %s is known", words);
	return seep_xasprintf("There are no %s%s", words,
			      view->options->shown ? " among what is shown" : "");
}

struct seep_unit_text seep_view_share(const struct seep_view *view, int64_t value)
{
	return seep_percent_text((uint64_t)value, (uint64_t)view->total);
}
