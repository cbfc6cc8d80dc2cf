/* SPDX-License-Identifier: MIT */
#include "view/finding_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"
#include "profile/finding_name.h"

enum { COOKIE_BYTES_MAX = 16 };

static struct seep_things_text bytes_of(uint64_t bytes)
{
	return seep_things_text(bytes, "byte");
}

/* The size of @offset without its sign. */
static uint64_t amount_of(int64_t offset)
{
	return offset < 0 ? -(uint64_t)offset : (uint64_t)offset;
}

/* "free()", "delete[]". */
static void add_function(struct seep_strbuf *text, uint8_t freeing)
{
	const char *name = seep_finding_freeing_name(freeing);

	seep_strbuf_adds(text, name ? name : "a free");
	if (name && ledger_freeing_family(freeing) < LEDGER_FAMILY_NEW)
		seep_strbuf_adds(text, "()");
}

/*
 * In front of an array whose elements have destructors stands their number: the array's pointer is
 * then not that of its block, and delete frees the one as delete[] the other.
 */
static void add_cookie(struct seep_strbuf *text, const struct seep_profile *profile,
		       const struct seep_profile_finding *f)
{
	seep_strbuf_addf(text, " freed a place %s %s a block from %s: %s was meant",
			 bytes_of(amount_of(f->offset)).text, f->offset < 0 ? "before" : "into",
			 seep_finding_origin_name(profile, f), seep_finding_meant_name(f->family));
}

static void add_mismatch(struct seep_strbuf *text, const struct seep_profile *profile,
			 const struct seep_profile_finding *f)
{
	if (f->offset) {
		add_function(text, f->freeing);
		add_cookie(text, profile, f);
		return;
	}
	seep_strbuf_addf(text, "memory from %s was freed by ",
			 seep_finding_origin_name(profile, f));
	add_function(text, f->freeing);
}

static void add_distance(struct seep_strbuf *text, const struct seep_profile_finding *f)
{
	int64_t distance = 0;

	(void)seep_finding_distance(f, &distance);
	seep_strbuf_adds(text, f->kind == LEDGER_FINDING_OUT_OF_BOUNDS
				       ? "memory was read or written "
				       : "memory was written ");
	/* In front, the first byte is at -1. */
	if (distance == 0 || distance == -1)
		seep_strbuf_adds(text, "right ");
	else
		seep_strbuf_addf(text, "%s ", bytes_of(amount_of(distance)).text);
	seep_strbuf_addf(text, "%s a block of %s", distance < 0 ? "in front of" : "behind",
			 bytes_of(f->block_bytes).text);
}

/* What a function was given that it should not free. */
static void add_given(struct seep_strbuf *text, const struct seep_profile_finding *f)
{
	add_function(text, f->freeing);
	seep_strbuf_adds(text, " was given ");
	switch (f->kind) {
	case LEDGER_FINDING_SIZE_MISMATCH:
		seep_strbuf_addf(text, "%s of a block of %s", bytes_of(f->actual).text,
				 seep_digits_text(f->expected).text);
		break;
	case LEDGER_FINDING_ALIGN_MISMATCH:
		seep_strbuf_addf(text, "an alignment of %s, of a block of %s",
				 seep_digits_text(f->actual).text,
				 seep_digits_text(f->expected).text);
		break;
	case LEDGER_FINDING_DOUBLE_FREE:
		seep_strbuf_addf(text, "a block of %s that was freed before",
				 bytes_of(f->block_bytes).text);
		break;
	case LEDGER_FINDING_INTERIOR_FREE:
		seep_strbuf_addf(
			text, "a pointer %s %s a block of %s", bytes_of(amount_of(f->offset)).text,
			f->offset < 0 ? "before" : "into", seep_digits_text(f->block_bytes).text);
		break;
	default:
		seep_strbuf_addf(text, "0x%" PRIx64 ", which is no block", f->pointer);
	}
}

char *seep_finding_text(const struct seep_profile *profile, const struct seep_profile_finding *f)
{
	SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

	seep_strbuf_adds(&text, seep_finding_kind_name(f->kind));
	if (f->count > 1)
		seep_strbuf_addf(&text, ", %s", seep_things_text(f->count, "time").text);
	seep_strbuf_adds(&text, ": ");
	switch (f->kind) {
	case LEDGER_FINDING_MISMATCHED_FREE:
		add_mismatch(&text, profile, f);
		break;
	case LEDGER_FINDING_REAR_GUARD:
	case LEDGER_FINDING_FRONT_GUARD:
	case LEDGER_FINDING_OUT_OF_BOUNDS:
		add_distance(&text, f);
		break;
	case LEDGER_FINDING_USE_AFTER_FREE:
		seep_strbuf_addf(
			&text, "byte %s of a block of %s was read or written after its free",
			seep_digits_text(amount_of(f->offset)).text, bytes_of(f->block_bytes).text);
		break;
	default:
		if (f->kind < LEDGER_FINDING_COUNT)
			add_given(&text, f);
		else
			seep_strbuf_adds(&text, "a newer seep knows what it is");
	}
	return seep_strbuf_take(&text);
}
