/* SPDX-License-Identifier: MIT */
#include "analysis/suppression_match.h"

#include "analysis/function_name.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

/* What valgrind puts between a program and its malloc. */
static const char valgrind_object[] = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

/* Those of core/allocation.def that allocate, the most usual one first. */
static const char *const by_kind[LEDGER_KIND_COUNT][6] = {
	[LEDGER_KIND_MALLOC] = { "malloc" },
	[LEDGER_KIND_CALLOC] = { "calloc" },
	[LEDGER_KIND_REALLOC] = { "realloc", "reallocarray" },
	[LEDGER_KIND_MEMALIGN] = { "memalign", "posix_memalign", "aligned_alloc", "valloc",
				   "pvalloc" },
	[LEDGER_KIND_NEW] = { "_Znwm", "_ZnwmRKSt9nothrow_t", "operator new(unsigned long)" },
	[LEDGER_KIND_NEW_ARRAY] = { "_Znam", "_ZnamRKSt9nothrow_t",
				    "operator new[](unsigned long)" },
	[LEDGER_KIND_NEW_ALIGNED] = { "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
				      "operator new(unsigned long, std::align_val_t)" },
	[LEDGER_KIND_NEW_ARRAY_ALIGNED] = { "_ZnamSt11align_val_t",
					    "_ZnamSt11align_val_tRKSt9nothrow_t",
					    "operator new[](unsigned long, std::align_val_t)" },
};

static bool fits(struct core_glob pattern, const char *text)
{
	return core_glob_match(pattern, text, strlen(text));
}

bool seep_suppression_is_allocation(struct core_glob pattern, unsigned kind)
{
	for (unsigned i = 0; i < LEDGER_KIND_COUNT; i++)
		for (const char *const *name = by_kind[i]; *name; name++)
			if ((kind == i || kind == LEDGER_KIND_COUNT) && fits(pattern, *name))
				return true;
	return false;
}

const char *seep_suppression_allocation(unsigned kind)
{
	return by_kind[kind < LEDGER_KIND_COUNT ? kind : LEDGER_KIND_MALLOC][0];
}

static bool fits_function(struct core_glob pattern, const char *function)
{
	const struct seep_name_part name = seep_function_name(function);

	return fits(pattern, function) || core_glob_match(pattern, name.text, name.bytes);
}

bool seep_suppression_fits_frame(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_frame *frame)
{
	const char *module = seep_profile_frame_path(profile, frame);

	/* LeakSanitizer's name for code of which nothing is known. */
	return fits(rule->pattern, module ? module : "<unknown module>") ||
	       (frame->function && fits_function(rule->pattern, frame->function)) ||
	       (frame->file && fits(rule->pattern, frame->file));
}

/* "src:load.c", "src:load.c:12", with the path or without. */
static bool fits_source(struct core_glob pattern, const struct seep_profile_frame *frame)
{
	char place[4096];

	if (!frame->file)
		return false;
	snprintf(place, sizeof(place), "%s:%u", frame->file, frame->line);
	return fits(pattern, frame->file) || fits(pattern, seep_path_base(frame->file)) ||
	       fits(pattern, place) || fits(pattern, seep_path_base(place));
}

/* valgrind calls what it does not know "???". */
static bool fits_line(const struct seep_suppression_line *line, const struct seep_profile *profile,
		      const struct seep_profile_frame *frame)
{
	const char *module = seep_profile_frame_path(profile, frame);

	if (line->what == SEEP_LINE_OBJ)
		return fits(line->pattern, module ? module : "???");
	if (line->what == SEEP_LINE_SRC)
		return fits_source(line->pattern, frame);
	if (!frame->function)
		return fits(line->pattern, "???");
	return fits_function(line->pattern, frame->function) ||
	       (line->demangled && strcmp(line->demangled, frame->function) == 0);
}

/* @at: 0 is the allocation function, 1 the stack's innermost frame. */
static bool fits_at(const struct seep_suppression_line *line, const struct seep_profile *profile,
		    const struct seep_profile_context *context, size_t at)
{
	if (at > 0)
		return fits_line(line, profile, &profile->frames[context->stack[at - 1].frame]);
	if (line->what == SEEP_LINE_OBJ)
		return fits(line->pattern, valgrind_object);
	return line->what == SEEP_LINE_FUN &&
	       seep_suppression_is_allocation(line->pattern, context->kind);
}

/* As a glob, with "..." for its '*'; frames further out than the last line may be any. */
static bool fits_from(const struct seep_suppression_rule *rule, const struct seep_profile *profile,
		      const struct seep_profile_context *context, size_t at)
{
	size_t line = 0, any = SIZE_MAX, retry = 0;

	while (line < rule->line_count) {
		if (rule->lines[line].what == SEEP_LINE_ANY) {
			any = ++line;
			retry = at;
		} else if (at > context->stack_count) {
			return false;
		} else if (fits_at(&rule->lines[line], profile, context, at)) {
			line++;
			at++;
		} else if (any != SIZE_MAX) {
			line = any;
			at = ++retry;
		} else {
			return false;
		}
	}
	return true;
}

bool seep_suppression_fits_stack(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_context *context)
{
	return fits_from(rule, profile, context, 0) || fits_from(rule, profile, context, 1);
}
