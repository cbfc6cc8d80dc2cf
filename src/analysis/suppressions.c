/* SPDX-License-Identifier: MIT */
#include "analysis/suppressions.h"

#include "analysis/runtime_blocks.h"
#include "analysis/suppression_match.h"
#include "analysis/suppression_read.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILE_MAX_BYTES = 16 << 20,
	GENERATED_LINES = 24, /* as many as valgrind reads */
	GENERATED_NAME_BYTES = 4096,
	GENERATED_MAX_BYTES = 1 << 20,
};

/* Of a frame: not compared with the rules yet; else the first that fits it + 2, or NO_RULE. */
enum { NOT_ASKED = 0, NO_RULE = 1 };

struct hits {
	uint64_t leaks, blocks, bytes;
};

/* Rules are numbered: those of the default list, then those that were given. */
struct seep_suppressions {
	struct seep_arena *arena;
	struct seep_suppression_rules given;
	struct hits *hits;
	size_t hit_capacity;
	const struct seep_profile *profile;
	uint32_t *of_frame; /* by frame of the profile: rules "leak:" look at nothing else */
};

static size_t rule_count(const struct seep_suppressions *suppressions)
{
	return seep_runtime_rules() + suppressions->given.count;
}

/* Room for the hits of all rules, the new ones' zero. */
static void make_hits(struct seep_suppressions *suppressions, size_t before)
{
	suppressions->hits = seep_xgrow(suppressions->hits, &suppressions->hit_capacity,
					rule_count(suppressions), sizeof(*suppressions->hits));
	memset(suppressions->hits + before, 0,
	       (rule_count(suppressions) - before) * sizeof(*suppressions->hits));
}

struct seep_suppressions *seep_suppressions_new(void)
{
	struct seep_suppressions *suppressions = seep_xcalloc(1, sizeof(*suppressions));

	suppressions->arena = seep_arena_new();
	make_hits(suppressions, 0);
	return suppressions;
}

void seep_suppressions_free(struct seep_suppressions *suppressions)
{
	if (!suppressions)
		return;
	seep_arena_free(suppressions->arena);
	free(suppressions->given.items);
	free(suppressions->hits);
	free(suppressions->of_frame);
	free(suppressions);
}

int seep_suppressions_add(struct seep_suppressions *suppressions, const char *text, size_t bytes,
			  const char *name, struct seep_error *err)
{
	const size_t before = rule_count(suppressions);
	int r;

	if (bytes > FILE_MAX_BYTES)
		return seep_fail(err, SEEP_ELIMIT, "%s is over 16 MB", name);
	r = seep_suppression_read(&suppressions->given, suppressions->arena, text, bytes, name,
				  err);
	if (r == 0)
		make_hits(suppressions, before);
	return r;
}

int seep_suppressions_read(struct seep_suppressions *suppressions, const char *path,
			   struct seep_error *err)
{
	char *text;
	size_t bytes;
	int r = seep_file_read(path, FILE_MAX_BYTES, &text, &bytes, err);

	if (r < 0)
		return r;
	r = seep_suppressions_add(suppressions, text, bytes, path, err);
	free(text);
	return r;
}

void seep_suppressions_begin(struct seep_suppressions *suppressions,
			     const struct seep_profile *profile)
{
	free(suppressions->of_frame);
	suppressions->of_frame = seep_xcalloc(profile->frame_count,
					      sizeof(*suppressions->of_frame));
	suppressions->profile = profile;
	memset(suppressions->hits, 0, rule_count(suppressions) * sizeof(*suppressions->hits));
}

/* The first rule "leak:" that fits a frame, SIZE_MAX: none. */
static size_t rule_of_frame(struct seep_suppressions *suppressions, uint32_t frame)
{
	const struct seep_suppression_rules *given = &suppressions->given;
	uint32_t *known = &suppressions->of_frame[frame];

	if (*known == NOT_ASKED) {
		*known = NO_RULE;
		for (size_t i = 0; i < given->count && *known == NO_RULE; i++)
			if (given->items[i].syntax == SEEP_RULE_LEAK &&
			    seep_suppression_fits_frame(&given->items[i], suppressions->profile,
							&suppressions->profile->frames[frame]))
				*known = (uint32_t)i + 2;
	}
	return *known == NO_RULE ? SIZE_MAX : *known - 2;
}

/* The first rule that was given and fits, SIZE_MAX: none. */
static size_t find_given(struct seep_suppressions *suppressions,
			 const struct seep_profile_context *context, unsigned verdict)
{
	size_t first = SIZE_MAX;

	/* To LeakSanitizer what is reachable is no leak. */
	for (uint32_t i = 0; verdict != SEEP_VERDICT_REACHABLE && i < context->stack_count; i++) {
		const size_t rule = rule_of_frame(suppressions, context->stack[i].frame);

		first = rule < first ? rule : first;
	}
	for (size_t i = 0; i < suppressions->given.count && i < first; i++) {
		const struct seep_suppression_rule *rule = &suppressions->given.items[i];

		if (!(rule->verdicts & 1u << verdict))
			continue;
		if (rule->syntax == SEEP_RULE_HASH
			    ? rule->hash == context->hash
			    : rule->syntax == SEEP_RULE_STACK &&
				      seep_suppression_fits_stack(rule, suppressions->profile,
								  context))
			return i;
	}
	return first;
}

enum seep_suppression_effect seep_suppressions_match(struct seep_suppressions *suppressions,
						     const struct seep_profile_context *context,
						     unsigned verdict, size_t *ret_rule)
{
	size_t rule = find_given(suppressions, context, verdict);

	if (rule != SIZE_MAX) {
		*ret_rule = seep_runtime_rules() + rule;
		return SEEP_IS_SUPPRESSED;
	}
	rule = seep_runtime_rule_find(suppressions->profile, context, verdict);
	if (rule == SIZE_MAX)
		return SEEP_NOT_SUPPRESSED;
	*ret_rule = rule;
	return SEEP_IS_RUNTIME;
}

void seep_suppressions_hit(struct seep_suppressions *suppressions, size_t rule, uint64_t leaks,
			   uint64_t blocks, uint64_t bytes)
{
	suppressions->hits[rule].leaks += leaks;
	suppressions->hits[rule].blocks += blocks;
	suppressions->hits[rule].bytes += bytes;
}

const char *seep_suppressions_text(const struct seep_suppressions *suppressions, size_t rule)
{
	if (rule < seep_runtime_rules())
		return seep_runtime_rule_name(rule);
	return suppressions->given.items[rule - seep_runtime_rules()].text;
}

void seep_suppressions_tell(const struct seep_suppressions *suppressions,
			    struct seep_profile *profile)
{
	const size_t all = rule_count(suppressions), defaults = seep_runtime_rules();
	struct seep_profile_scan *scan = &profile->scan;

	scan->suppressions = seep_profile_calloc(profile, all, sizeof(*scan->suppressions));
	scan->suppression_count = 0;
	for (size_t i = 0; i < all; i++) {
		/* Those that were given come first. */
		const size_t rule = (i + defaults) % all;
		const struct hits *hits = &suppressions->hits[rule];
		const char *file = NULL;

		if (rule < defaults && hits->leaks == 0)
			continue;
		if (rule >= defaults)
			file = suppressions->given.items[rule - defaults].file;
		scan->suppressions[scan->suppression_count++] = (struct seep_profile_suppression){
			.text = seep_profile_strdup(profile,
						    seep_suppressions_text(suppressions, rule)),
			.file = seep_profile_strdup(profile, file),
			.leaks = hits->leaks,
			.blocks = hits->blocks,
			.bytes = hits->bytes,
		};
	}
}

/*
 * A name may hold anything, and be of any length: a wildcard matches what would end the line. Returns
 * whether it says more than a wildcard does.
 */
static bool add_name(struct seep_strbuf *block, const char *what, const char *name)
{
	const size_t length = strlen(name);
	const size_t bytes = core_smaller(length, GENERATED_NAME_BYTES);

	seep_strbuf_addf(block, "   %s:", what);
	for (size_t i = 0; i < bytes; i++) {
		const bool is_odd = (unsigned char)name[i] < ' ' ||
				    (name[i] == ' ' && i + 1 == bytes);

		seep_strbuf_addc(block, is_odd ? '?' : name[i]);
	}
	seep_strbuf_adds(block, bytes < length ? "*\n" : "\n");
	return strspn(name, "*?") < bytes;
}

static bool add_frame(struct seep_strbuf *block, const struct seep_profile *profile,
		      const struct seep_profile_frame *frame)
{
	const char *name = frame->function ? frame->function : "";
	const char *path = NULL;
	char *any;
	bool says;

	if (frame->module > 0 && frame->module <= profile->module_count)
		path = profile->modules[frame->module - 1].path;
	if (!*name)
		return add_name(block, "obj", path && *path ? path : "*");
	/* The C library's have several names: strdup, __strdup. */
	if (*name != '_' || !path || !strstr(path, "/libc"))
		return add_name(block, "fun", name);
	any = seep_xasprintf("*%s", name + strspn(name, "_"));
	says = add_name(block, "fun", any);
	free(any);
	return says;
}

char *seep_suppressions_generate(const struct seep_profile *profile,
				 const struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context = NULL;
	const char *kind = seep_suppression_kind(leak->verdict);
	struct seep_strbuf block;
	unsigned lines = 1;
	bool says = false;

	if (leak->context > 0 && leak->context <= profile->context_count)
		context = &profile->contexts[leak->context - 1];
	seep_strbuf_init(&block, GENERATED_MAX_BYTES);
	seep_strbuf_addf(&block, "{\n   seep-%016" PRIx64 "\n   Memcheck:Leak\n", leak->hash);
	if (kind)
		seep_strbuf_addf(&block, "   match-leak-kinds: %s\n", kind);
	(void)add_name(&block, "fun", seep_suppression_allocation(context ? context->kind : 0));
	for (uint32_t i = 0; context && i < context->stack_count && lines < GENERATED_LINES; i++) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];
		const struct seep_profile_frame *frame = &profile->frames[entry->frame];

		says |= add_frame(&block, profile, frame);
		lines++;
		/* What calls main() has other names where the C library's are not there. */
		if (frame->function && strcmp(frame->function, "main") == 0)
			break;
		/* Recursion is folded here, and not in valgrind's stacks. */
		if (entry->period > 0 && lines++ < GENERATED_LINES)
			seep_strbuf_adds(&block, "   ...\n");
	}
	seep_strbuf_adds(&block, "}\n");
	if (says)
		return seep_strbuf_take(&block);
	seep_strbuf_done(&block);
	return leak->hash ? seep_xasprintf("hash:%016" PRIx64 "\n", leak->hash)
			  : seep_xstrdup("# a leak without a call stack\n");
}
