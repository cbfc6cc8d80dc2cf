/* SPDX-License-Identifier: MIT */
#include "analysis/suppressions.h"

#include "analysis/runtime_blocks.h"
#include "analysis/suppression_rule.h"
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

struct seep_suppressions {
	struct seep_arena *arena;
	struct seep_suppression_rules rules; /* those of the default list first */
	const struct seep_profile *profile;
	uint32_t *of_frame; /* by frame of the profile: rules "leak:" look at nothing else */
};

struct seep_suppressions *seep_suppressions_new(void)
{
	struct seep_suppressions *suppressions = seep_xcalloc(1, sizeof(*suppressions));
	struct seep_suppression_rules *rules = &suppressions->rules;

	suppressions->arena = seep_arena_new();
	for (size_t i = 0; i < seep_runtime_rules(); i++)
		*SEEP_APPEND(rules->items, rules->count) = (struct seep_suppression_rule){
			.syntax = SEEP_RULE_RUNTIME, .text = seep_runtime_rule_name(i)
		};
	return suppressions;
}

void seep_suppressions_free(struct seep_suppressions *suppressions)
{
	if (!suppressions)
		return;
	seep_arena_free(suppressions->arena);
	free(suppressions->rules.items);
	free(suppressions->of_frame);
	free(suppressions);
}

int seep_suppressions_add(struct seep_suppressions *suppressions, const char *text, size_t bytes,
			  const char *name, struct seep_error *err)
{
	if (bytes > FILE_MAX_BYTES)
		return seep_fail(err, SEEP_ELIMIT, "%s is over 16 MB", name);
	return seep_suppression_read(&suppressions->rules, suppressions->arena, text, bytes, name,
				     err);
}

int seep_suppressions_read(struct seep_suppressions *suppressions, const char *path,
			   struct seep_error *err)
{
	SEEP_FREED char *text = NULL;
	size_t bytes;
	int r = seep_file_read(path, FILE_MAX_BYTES, &text, &bytes, err);

	return r < 0 ? r : seep_suppressions_add(suppressions, text, bytes, path, err);
}

void seep_suppressions_begin(struct seep_suppressions *suppressions,
			     const struct seep_profile *profile)
{
	free(suppressions->of_frame);
	suppressions->of_frame = seep_xcalloc(profile->frame_count,
					      sizeof(*suppressions->of_frame));
	suppressions->profile = profile;
	for (size_t i = 0; i < suppressions->rules.count; i++) {
		struct seep_suppression_rule *rule = &suppressions->rules.items[i];

		rule->leaks = rule->blocks = rule->bytes = 0;
	}
}

/* The first rule "leak:" that fits a frame, SIZE_MAX: none. */
static size_t rule_of_frame(struct seep_suppressions *suppressions, uint32_t frame)
{
	const struct seep_suppression_rules *rules = &suppressions->rules;
	uint32_t *known = &suppressions->of_frame[frame];

	if (*known == NOT_ASKED) {
		*known = NO_RULE;
		for (size_t i = 0; i < rules->count && *known == NO_RULE; i++)
			if (rules->items[i].syntax == SEEP_RULE_PATTERN &&
			    rules->items[i].verdicts &&
			    seep_suppression_fits_frame(&rules->items[i], suppressions->profile,
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
	for (size_t i = 0; i < suppressions->rules.count && i < first; i++) {
		const struct seep_suppression_rule *rule = &suppressions->rules.items[i];

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
	*ret_rule = find_given(suppressions, context, verdict);
	if (*ret_rule != SIZE_MAX)
		return SEEP_IS_SUPPRESSED;
	*ret_rule = seep_runtime_rule_find(suppressions->profile, context, verdict);
	return *ret_rule == SIZE_MAX ? SEEP_NOT_SUPPRESSED : SEEP_IS_RUNTIME;
}

void seep_suppressions_hit(struct seep_suppressions *suppressions, size_t rule,
			   struct seep_profile *profile, struct seep_profile_leak *leak)
{
	struct seep_suppression_rule *hit = &suppressions->rules.items[rule];

	leak->suppressed_by = seep_profile_strdup(profile, hit->text);
	hit->leaks++;
	hit->blocks += leak->blocks;
	hit->bytes += leak->bytes;
}

static void suppress_finding(struct seep_suppressions *suppressions, struct seep_profile *profile,
			     struct seep_profile_finding *finding)
{
	for (size_t i = 0; i < suppressions->rules.count; i++) {
		struct seep_suppression_rule *rule = &suppressions->rules.items[i];

		if (!seep_suppression_fits_finding(rule, profile, finding))
			continue;
		finding->suppressed_by = seep_profile_strdup(profile, rule->text);
		rule->leaks++;
		rule->blocks += finding->count;
		return;
	}
}

void seep_suppressions_find(struct seep_suppressions *suppressions, struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->finding_count; i++)
		suppress_finding(suppressions, profile, &profile->findings[i]);
}

uint32_t seep_findings_count(const struct seep_profile *profile)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->finding_count; i++)
		count += !profile->findings[i].suppressed_by;
	return count;
}

static bool is_told(const struct seep_profile_scan *scan, const char *text)
{
	for (uint32_t i = 0; i < scan->suppression_count; i++)
		if (strcmp(scan->suppressions[i].text, text) == 0)
			return true;
	return false;
}

void seep_suppressions_tell(const struct seep_suppressions *suppressions,
			    struct seep_profile *profile)
{
	const size_t all = suppressions->rules.count, defaults = seep_runtime_rules();
	struct seep_profile_scan *scan = &profile->scan;
	const struct seep_profile_scan before = *scan;

	scan->suppressions = seep_profile_calloc(profile, all + before.suppression_count,
						 sizeof(*scan->suppressions));
	scan->suppression_count = 0;
	for (size_t i = 0; i < all; i++) {
		/* Those that were given come first. */
		const struct seep_suppression_rule *rule =
			&suppressions->rules.items[(i + defaults) % all];

		if (rule->syntax == SEEP_RULE_RUNTIME && rule->leaks == 0)
			continue;
		scan->suppressions[scan->suppression_count++] = (struct seep_profile_suppression){
			.text = seep_profile_strdup(profile, rule->text),
			.file = seep_profile_strdup(profile, rule->file),
			.leaks = rule->leaks,
			.blocks = rule->blocks,
			.bytes = rule->bytes,
		};
	}
	for (uint32_t i = 0; i < before.suppression_count; i++)
		if (before.suppressions[i].text && !is_told(scan, before.suppressions[i].text))
			scan->suppressions[scan->suppression_count++] = before.suppressions[i];
}

/*
 * A name may hold anything, and be of any length: a wildcard matches what would end the line.
 * Returns whether it says more than a wildcard does.
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
	const char *path = seep_profile_frame_path(profile, frame);
	SEEP_FREED char *any = NULL;

	if (!*name)
		return add_name(block, "obj", path && *path ? path : "*");
	/* The C library's have several names: strdup, __strdup. */
	if (*name != '_' || !path || !strstr(path, "/libc"))
		return add_name(block, "fun", name);
	any = seep_xasprintf("*%s", name + strspn(name, "_"));
	return add_name(block, "fun", any);
}

char *seep_suppressions_generate(const struct seep_profile *profile,
				 const struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context = seep_profile_context_at(profile,
									     leak->context);
	SEEP_STRBUF(block, GENERATED_MAX_BYTES);
	unsigned lines = 1;
	bool says = false;

	seep_strbuf_addf(&block,
			 "{\n   seep-%016" PRIx64 "\n   Memcheck:Leak\n   match-leak-kinds: %s\n",
			 leak->hash, seep_verdict_kind(leak->verdict));
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
	return leak->hash ? seep_xasprintf("hash:%016" PRIx64 "\n", leak->hash)
			  : seep_xstrdup("# a leak without a call stack\n");
}
