/* SPDX-License-Identifier: MIT */
#include "analysis/suppression_rule.h"

#include "analysis/function_name.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/finding_name.h"
#include "profile/verdict.h"
#include "symbol/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- does it match? --------------------------------------------------------------------------- */

/* What valgrind puts between a program and its malloc. */
static const char valgrind_object[] = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

/* Those of core/allocation.def that allocate, or free, the most usual one first; and a NULL. */
static const char *const by_kind[LEDGER_KIND_COUNT][13] = {
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
	[LEDGER_KIND_FREE] = { "free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm",
			       "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
			       "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t",
			       "operator delete(void*)", "operator delete[](void*)" },
	[LEDGER_KIND_POOL] = { "seep_pool_alloc" },
};

static bool fits(struct core_glob pattern, const char *text)
{
	return core_glob_match(pattern, text, strlen(text));
}

/* Does @pattern match a function of this @kind; LEDGER_KIND_COUNT: of any? */
static bool is_allocation(struct core_glob pattern, unsigned kind)
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

static bool fits_name(struct core_glob pattern, const char *demangled, const char *function)
{
	const struct seep_name_part name = seep_function_name(function);

	return fits(pattern, function) || core_glob_match(pattern, name.text, name.bytes) ||
	       (demangled && strncmp(demangled, function, strlen(demangled)) == 0 &&
		strchr("<", function[strlen(demangled)])); /* Rust's, with its arguments */
}

/* As it is; lambdas also without their lines and numbers, which are other ones in the next build. */
static bool fits_function(struct core_glob pattern, const char *demangled, const char *function)
{
	SEEP_FREED char *plain = NULL;
	char *out;

	if (fits_name(pattern, demangled, function))
		return true;
	if (!strchr(function, ':'))
		return false;
	out = plain = seep_xstrdup(function);
	for (const char *at = function; *at;) {
		const size_t line = seep_name_lambda_bytes(function, at);

		at += line;
		if (!line)
			*out++ = *at++;
	}
	*out = '\0';
	return out < plain + strlen(function) && fits_name(pattern, demangled, plain);
}

bool seep_suppression_fits_frame(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_frame *frame)
{
	const char *module = seep_profile_frame_path(profile, frame);

	/* LeakSanitizer's name for code of which nothing is known. */
	return fits(rule->pattern, module ? module : "<unknown module>") ||
	       (frame->function && fits_function(rule->pattern, NULL, frame->function)) ||
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
	return fits_function(line->pattern, line->demangled, frame->function);
}

/* @at: 0 is the allocation function, 1 the stack's innermost frame. */
static bool fits_at(const struct seep_suppression_line *line, const struct seep_profile *profile,
		    const struct seep_profile_context *context, size_t at)
{
	if (at > 0)
		return fits_line(line, profile, &profile->frames[context->stack[at - 1].frame]);
	if (line->what == SEEP_LINE_OBJ)
		return fits(line->pattern, valgrind_object);
	return line->what == SEEP_LINE_FUN && is_allocation(line->pattern, context->kind);
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

static bool has_frame(const struct seep_suppression_rule *rule, const struct seep_profile *profile,
		      const struct seep_profile_context *context)
{
	for (uint32_t i = 0; context && i < context->stack_count; i++)
		if (seep_suppression_fits_frame(rule, profile,
						&profile->frames[context->stack[i].frame]))
			return true;
	return false;
}

bool seep_suppression_fits_finding(const struct seep_suppression_rule *rule,
				   const struct seep_profile *profile,
				   const struct seep_profile_finding *finding)
{
	const unsigned kind = finding->kind < LEDGER_FINDING_COUNT ? finding->kind : 0;
	const struct seep_profile_context *here = seep_profile_context_at(profile, finding->here);

	if (!(rule->findings & 1u << kind))
		return false;
	if (rule->syntax == SEEP_RULE_HASH)
		return rule->hash == finding->hash;
	if (rule->syntax == SEEP_RULE_STACK)
		return here && seep_suppression_fits_stack(rule, profile, here);
	return has_frame(rule, profile, here) ||
	       has_frame(rule, profile, seep_profile_context_at(profile, finding->block));
}

/* ---- from text ------------------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 8 << 10, HASH_DIGITS = 16 };

struct reader {
	struct seep_arena *arena;
	const char *name;
	const char *at;
	const char *end;
	unsigned line; /* of the text in @now */
	char *now;     /* without white space around it */
	struct seep_suppression_rules *rules;
	struct seep_suppression_line *lines; /* of the present block */
	size_t line_count;
	struct seep_error *err;
};

static int complain(const struct reader *r, const char *what)
{
	const char *now = r->now ? r->now : "";

	return seep_fail(r->err, SEEP_ECORRUPT, "%s, line %u: %s%s%.80s%s%s", r->name, r->line,
			 what, *now ? ": \"" : "", now, strlen(now) > 80 ? "..." : "",
			 *now ? "\"" : "");
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next line with something on it but a comment: 1, or 0 at the end, or an error. */
static int next_line(struct reader *r)
{
	while (r->at < r->end) {
		const char *begin = r->at;
		const char *newline = memchr(begin, '\n', (size_t)(r->end - begin));
		const char *end = newline ? newline : r->end;

		r->at = newline ? newline + 1 : r->end;
		r->line++;
		r->now = NULL;
		if (end - begin > LINE_MAX_BYTES)
			return complain(r, "longer than 8 KB");
		if (memchr(begin, '\0', (size_t)(end - begin)))
			return complain(r, "a zero byte: this is no text");
		while (begin < end && is_space(*begin))
			begin++;
		while (begin < end && is_space(end[-1]))
			end--;
		if (begin == end || *begin == '#')
			continue;
		r->now = seep_arena_strndup(r->arena, begin, (size_t)(end - begin));
		return 1;
	}
	return 0;
}

static struct seep_suppression_rule *add_rule(struct reader *r, unsigned syntax, const char *text)
{
	struct seep_suppression_rule *rule = SEEP_APPEND(r->rules->items, r->rules->count);

	*rule = (struct seep_suppression_rule){
		.syntax = syntax,
		.text = text,
		.file = seep_arena_strndup(r->arena, r->name, strlen(r->name)),
		.verdicts = SEEP_VERDICTS_ALL,
	};
	return rule;
}

/* What is no wildcard here but is one in a glob becomes a class of its own. */
static struct core_glob to_glob(struct reader *r, const char *text, bool question)
{
	SEEP_STRBUF(glob, 4 * LINE_MAX_BYTES);
	struct core_glob result;

	for (; *text; text++)
		if (*text == '[' || (*text == '?' && !question))
			seep_strbuf_addf(&glob, "[%c]", *text);
		else
			seep_strbuf_addc(&glob, *text);
	result.text = seep_arena_strndup(r->arena, glob.text, glob.length);
	result.bytes = glob.length;
	return result;
}

/* LeakSanitizer looks for the pattern anywhere, unless '^' or '$' says where. */
static int read_pattern(struct reader *r, uint32_t verdicts, uint32_t findings)
{
	const char *pattern = strchr(r->now, ':') + 1;
	struct seep_suppression_rule *rule;
	size_t bytes = strlen(pattern);
	const bool at_begin = *pattern == '^';
	const bool at_end = bytes > (size_t)at_begin && pattern[bytes - 1] == '$';
	SEEP_FREED char *text = NULL;

	pattern += at_begin;
	bytes -= (size_t)at_begin + at_end;
	if (strspn(pattern, "*") >= bytes)
		return complain(r, "would match everything");
	text = seep_xasprintf("%s%.*s%s", at_begin ? "" : "*", (int)bytes, pattern,
			      at_end ? "" : "*");
	rule = add_rule(r, SEEP_RULE_PATTERN, r->now);
	rule->verdicts = verdicts;
	rule->findings = findings;
	rule->pattern = to_glob(r, text, false);
	return 0;
}

static int read_hash(struct reader *r)
{
	const char *digits = r->now + strlen("hash:");
	struct seep_suppression_rule *rule;

	if (strlen(digits) != HASH_DIGITS ||
	    strspn(digits, "0123456789abcdefABCDEF") != HASH_DIGITS)
		return complain(r, "a hash has 16 hexadecimal digits");
	rule = add_rule(r, SEEP_RULE_HASH, r->now);
	rule->findings = UINT32_MAX;
	rule->hash = strtoull(digits, NULL, 16);
	return 0;
}

/* "match-leak-kinds: definite,indirect" */
static int read_kinds(struct reader *r, uint32_t *ret_verdicts)
{
	const char *at = r->now + strlen("match-leak-kinds:");

	*ret_verdicts = 0;
	while (*at) {
		const char *word = at + strspn(at, " \t,");
		const size_t bytes = strcspn(word, " \t,");
		const uint32_t verdicts = seep_verdicts_called(word, bytes);

		if (bytes > 0 && verdicts == 0 && !(bytes == 4 && memcmp(word, "none", 4) == 0))
			return complain(r, "kinds are definite, indirect, possible, reachable, "
					   "all and none");
		*ret_verdicts |= verdicts;
		at = word + bytes;
	}
	return 0;
}

/* One line of a block. */
static int read_frame(struct reader *r)
{
	static const char *const words[] = {
		[SEEP_LINE_FUN] = "fun:", [SEEP_LINE_OBJ] = "obj:", [SEEP_LINE_SRC] = "src:"
	};
	struct seep_suppression_line line = { .what = SEEP_LINE_FUN };
	const char *pattern = r->now + 4;

	while (line.what < SEEP_LINE_ANY && !seep_begins_with(r->now, words[line.what]))
		line.what++;
	if (line.what == SEEP_LINE_ANY && strcmp(r->now, "...") != 0)
		return complain(r, "a line of a block is fun:NAME, obj:PATH, src:FILE or \"...\"");
	if (line.what != SEEP_LINE_ANY && !*pattern)
		return complain(r, "nothing behind the colon");
	if (line.what != SEEP_LINE_ANY)
		line.pattern = to_glob(r, pattern, true);
	if (line.what == SEEP_LINE_FUN && !strpbrk(pattern, "*?"))
		line.demangled = seep_demangle(r->arena, pattern);
	*SEEP_APPEND(r->lines, r->line_count) = line;
	return 0;
}

/* Wildcards say nothing, nor does an allocation function, or one that frees: each has one. */
static bool says_something(const struct seep_suppression_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct core_glob pattern = lines[i].pattern;

		if (lines[i].what == SEEP_LINE_ANY || strspn(pattern.text, "*?") == pattern.bytes ||
		    (i == 0 && lines[i].what == SEEP_LINE_FUN &&
		     is_allocation(pattern, LEDGER_KIND_COUNT)))
			continue;
		return true;
	}
	return false;
}

/* What a block is for: "Memcheck,Helgrind:Leak" is for us, "Memcheck:Cond" is not. */
static bool is_our_block(const char *line, uint32_t *ret_verdicts, uint32_t *ret_findings)
{
	const uint32_t frees = (2u << LEDGER_FINDING_INTERIOR_FREE) - 2;
	const char *colon = strchr(line, ':'), *tool = strstr(line, "Memcheck");

	*ret_verdicts = strcmp(colon, ":Leak") == 0 ? SEEP_VERDICTS_ALL : 0;
	/* valgrind has one for each size of an access, Addr1 to Addr32. */
	*ret_findings = strcmp(colon, ":Free") == 0	   ? frees
			: seep_begins_with(colon, ":Addr") ? ~(frees | 1)
							   : 0;
	return (*ret_verdicts || *ret_findings) && tool && tool < colon &&
	       (tool == line || tool[-1] == ',') && strchr(",:", tool[strlen("Memcheck")]);
}

/* The next line of a block that begins in line @first: 1, or 0 at its '}', or an error. */
static int block_line(struct reader *r, unsigned first)
{
	const int got = next_line(r);

	if (got < 0)
		return got;
	if (got == 0) {
		r->line = first;
		r->now = NULL;
		return complain(r, "a block that is not closed by a line \"}\"");
	}
	return strcmp(r->now, "}") != 0;
}

static int read_block(struct reader *r)
{
	const unsigned first = r->line;
	struct seep_suppression_rule *rule;
	uint32_t verdicts, findings;
	char *name;
	bool is_ours;
	int got = block_line(r, first);

	if (got == 0)
		return complain(r, "a block without a name");
	name = r->now;
	if (got > 0)
		got = block_line(r, first);
	if (got < 0)
		return got;
	if (got == 0 || !strchr(r->now, ':'))
		return complain(r, "a block's second line is TOOL:KIND, as in Memcheck:Leak");
	is_ours = is_our_block(r->now, &verdicts, &findings);
	r->line_count = 0;
	while ((got = block_line(r, first)) > 0) {
		if (!is_ours)
			continue;
		if (r->line_count == 0 && verdicts && seep_begins_with(r->now, "match-leak-kinds:"))
			got = read_kinds(r, &verdicts);
		else
			got = read_frame(r);
		if (got < 0)
			return got;
	}
	if (got < 0 || !is_ours)
		return got;
	if (!says_something(r->lines, r->line_count)) {
		r->line = first;
		r->now = name;
		return complain(r, "a block of wildcards alone would match everything");
	}
	rule = add_rule(r, SEEP_RULE_STACK, name);
	rule->verdicts = verdicts;
	rule->findings = findings;
	rule->line_count = r->line_count;
	rule->lines = seep_arena_calloc(r->arena, rule->line_count, sizeof(*rule->lines));
	memcpy(rule->lines, r->lines, rule->line_count * sizeof(*rule->lines));
	return 0;
}

/* What "misuse:" and "double-free:" speak of; 0: the line begins with no such word. */
static uint32_t findings_called(const char *line)
{
	if (seep_begins_with(line, "misuse:"))
		return UINT32_MAX;
	for (uint8_t kind = LEDGER_FINDING_NONE + 1; kind < LEDGER_FINDING_COUNT; kind++) {
		const char *name = seep_finding_kind_name(kind);

		if (seep_begins_with(line, name) && line[strlen(name)] == ':')
			return 1u << kind;
	}
	return 0;
}

static int read_rule(struct reader *r)
{
	const uint32_t findings = findings_called(r->now);

	if (strcmp(r->now, "{") == 0)
		return read_block(r);
	if (seep_begins_with(r->now, "leak:"))
		return read_pattern(r, SEEP_VERDICTS_ALL, 0);
	if (findings)
		return read_pattern(r, 0, findings);
	if (seep_begins_with(r->now, "hash:"))
		return read_hash(r);
	return complain(r,
			"not understood; suppressions are leak:PATTERN, misuse:PATTERN, a kind of "
			"misuse as double-free:PATTERN, hash:16 DIGITS, and valgrind's blocks "
			"in lines \"{\" and \"}\"");
}

int seep_suppression_read(struct seep_suppression_rules *rules, struct seep_arena *arena,
			  const char *text, size_t bytes, const char *name, struct seep_error *err)
{
	struct reader r = { .arena = arena,
			    .name = name,
			    .at = text,
			    .end = text + bytes,
			    .rules = rules,
			    .err = err };
	const size_t before = rules->count;
	int got;

	while ((got = next_line(&r)) > 0 && (got = read_rule(&r)) == 0)
		;
	if (got < 0)
		rules->count = before;
	free(r.lines);
	return got;
}
