/* SPDX-License-Identifier: MIT */
#include "view/finding_text.h"

#include <inttypes.h>

#include "analysis/suppressions.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/finding_name.h"
#include "view/leaks_view.h"

static struct seep_things_text bytes_text(uint64_t bytes)
{
	return seep_things_text(bytes, "byte");
}

/* "8 bytes into", "8 bytes before": its size without its sign. */
static struct seep_things_text away_text(int64_t bytes)
{
	return bytes_text(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
}

/* What @by did, and what it should not have done. */
static void add_free(struct seep_strbuf *text, const struct seep_profile *profile,
		     const struct seep_profile_finding *f, const char *by)
{
	const char *origin = seep_finding_origin_name(profile, f);
	const char *side = f->offset < 0 ? "before" : "into";

	if (f->kind == LEDGER_FINDING_MISMATCHED_FREE && f->offset == 0)
		seep_strbuf_addf(text, "memory from %s was freed by %s", origin, by);
	else if (f->kind == LEDGER_FINDING_MISMATCHED_FREE)
		/* In front of an array whose elements have destructors stands their number. */
		seep_strbuf_addf(text, "%s was given a place %s %s a block from %s: %s was meant",
				 by, away_text(f->offset).text, side, origin,
				 seep_finding_meant_name(f->family));
	else if (f->kind == LEDGER_FINDING_SIZE_MISMATCH)
		seep_strbuf_addf(text, "%s was given %s of a block of %s", by,
				 bytes_text(f->actual).text, seep_digits_text(f->expected).text);
	else if (f->kind == LEDGER_FINDING_ALIGN_MISMATCH)
		seep_strbuf_addf(text, "%s was given alignment %s of a block with %s", by,
				 seep_digits_text(f->actual).text,
				 seep_digits_text(f->expected).text);
	else if (f->kind == LEDGER_FINDING_DOUBLE_FREE)
		seep_strbuf_addf(text, "%s was given a block of %s that was freed before", by,
				 bytes_text(f->block_bytes).text);
	else if (f->kind == LEDGER_FINDING_INTERIOR_FREE)
		seep_strbuf_addf(text, "%s was given a pointer %s %s a block of %s", by,
				 away_text(f->offset).text, side,
				 seep_digits_text(f->block_bytes).text);
	else
		seep_strbuf_addf(text, "%s was given 0x%" PRIx64 ", which is no block", by,
				 f->pointer);
}

/* That memory was written, or used, which should not be. */
static void add_access(struct seep_strbuf *text, const struct seep_profile_finding *f)
{
	/* What traps is either. Where a block waits, only what was written is seen, and not by whom. */
	const bool is_trap = f->kind == LEDGER_FINDING_OUT_OF_BOUNDS ||
			     (f->kind == LEDGER_FINDING_USE_AFTER_FREE && f->here);
	const char *used = is_trap ? "read or written" : "written";
	int64_t distance;

	if (!seep_finding_distance(f, &distance))
		seep_strbuf_addf(text, "memory was %s %s into a block of %s that was freed", used,
				 away_text(f->offset).text, seep_digits_text(f->block_bytes).text);
	else
		/* The first byte behind is at 0, the first in front at -1. */
		seep_strbuf_addf(
			text, "memory was %s %s %s a block of %s", used,
			distance == 0 || distance == -1 ? "right" : away_text(distance).text,
			distance < 0 ? "in front of" : "behind", bytes_text(f->block_bytes).text);
}

static void add_sentence(struct seep_strbuf *text, const struct seep_profile *profile,
			 const struct seep_profile_finding *f)
{
	const char *freeing = seep_finding_freeing_name(f->freeing);
	SEEP_STRBUF(by, SEEP_LINE_BYTES_MAX);

	seep_strbuf_addf(&by, "%s%s", freeing ?: "a free",
			 freeing && ledger_freeing_family(f->freeing) < LEDGER_FAMILY_NEW ? "()"
											  : "");
	if (f->kind < LEDGER_FINDING_REAR_GUARD)
		add_free(text, profile, f, by.text);
	else if (f->kind < LEDGER_FINDING_COUNT)
		add_access(text, f);
	else
		seep_strbuf_adds(text, "a newer seep says what it is");
}

char *seep_finding_text(const struct seep_profile *profile,
			const struct seep_profile_finding *finding)
{
	SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

	seep_strbuf_adds(&text, seep_finding_kind_name(finding->kind));
	if (finding->count > 1)
		seep_strbuf_addf(&text, ", %s", seep_things_text(finding->count, "time").text);
	seep_strbuf_adds(&text, ": ");
	add_sentence(&text, profile, finding);
	return seep_strbuf_take(&text);
}

/* Where that was, or the nearest that is known of it. */
static void add_place(struct seep_strbuf *line, const struct seep_view *view,
		      const struct seep_profile_finding *f)
{
	const uint32_t place = f->here ? f->here : f->freed ? f->freed : f->block;
	SEEP_FREED char *site = NULL;

	if (!place)
		return;
	site = seep_site_text(view->sites, seep_profile_context_at(view->profile, place));
	seep_strbuf_addf(line, "%s %s",
			 f->here    ? ", in"
			 : f->freed ? "; freed in"
				    : "; allocated in",
			 site);
}

/* "2 mismatched-free, 1 double-free" */
static void add_kinds(struct seep_strbuf *line, const struct seep_profile *profile)
{
	uint32_t by_kind[LEDGER_FINDING_COUNT] = { 0 };
	const char *between = "";

	for (uint32_t i = 0; i < profile->finding_count; i++) {
		const struct seep_profile_finding *f = &profile->findings[i];

		by_kind[f->kind < LEDGER_FINDING_COUNT ? f->kind : 0] += f->suppressed_by == NULL;
	}
	for (uint8_t kind = 0; kind < LEDGER_FINDING_COUNT; kind++) {
		if (!by_kind[kind])
			continue;
		seep_strbuf_addf(line, "%s%" PRIu32 " %s", between, by_kind[kind],
				 seep_finding_kind_name(kind));
		between = ", ";
	}
}

char *seep_findings_answer(const struct seep_view *view)
{
	const struct seep_profile *profile = view->profile;
	const uint32_t count = seep_findings_count(profile);
	const struct seep_profile_finding *worst = profile->findings;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (count == 0)
		return NULL;
	while (worst->suppressed_by)
		worst++;
	seep_strbuf_addf(&line, "%s: ", seep_things_text(count, "heap error").text);
	if (count > 1) {
		add_kinds(&line, profile);
		seep_strbuf_adds(&line, "; the worst: ");
	}
	add_sentence(&line, profile, worst);
	add_place(&line, view, worst);
	return seep_strbuf_take(&line);
}
