/* SPDX-License-Identifier: MIT */
#include "analysis/suppression_read.h"

#include "analysis/suppression_match.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "profile/verdict.h"
#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	size_t line_capacity;
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

static struct seep_suppression_rule *add_rule(struct reader *r, const char *text)
{
	struct seep_suppression_rule *rule;

	r->rules->items = seep_xgrow(r->rules->items, &r->rules->capacity, r->rules->count + 1,
				     sizeof(*rule));
	rule = &r->rules->items[r->rules->count++];
	*rule = (struct seep_suppression_rule){
		.text = text,
		.file = seep_arena_strndup(r->arena, r->name, strlen(r->name)),
		.verdicts = SEEP_VERDICTS_ALL,
	};
	return rule;
}

/* What is no wildcard here but is one in a glob becomes a class of its own. */
static struct core_glob to_glob(struct reader *r, const char *text, bool question)
{
	struct seep_strbuf glob;
	struct core_glob result;

	seep_strbuf_init(&glob, 4 * LINE_MAX_BYTES);
	for (; *text; text++)
		if (*text == '[' || (*text == '?' && !question))
			seep_strbuf_addf(&glob, "[%c]", *text);
		else
			seep_strbuf_addc(&glob, *text);
	result.text = seep_arena_strndup(r->arena, glob.text, glob.length);
	result.bytes = glob.length;
	seep_strbuf_done(&glob);
	return result;
}

/* LeakSanitizer looks for the pattern anywhere, unless '^' or '$' says where. */
static int read_leak(struct reader *r)
{
	struct seep_suppression_rule *rule;
	const char *pattern = r->now + strlen("leak:");
	size_t bytes = strlen(pattern);
	const bool at_begin = *pattern == '^';
	const bool at_end = bytes > (size_t)at_begin && pattern[bytes - 1] == '$';
	char *text;

	pattern += at_begin;
	bytes -= (size_t)at_begin + at_end;
	if (strspn(pattern, "*") >= bytes)
		return complain(r, "would match every leak");
	rule = add_rule(r, r->now);
	rule->syntax = SEEP_RULE_LEAK;
	text = seep_xasprintf("%s%.*s%s", at_begin ? "" : "*", (int)bytes, pattern,
			      at_end ? "" : "*");
	rule->pattern = to_glob(r, text, false);
	free(text);
	return 0;
}

static int read_hash(struct reader *r)
{
	const char *digits = r->now + strlen("hash:");
	struct seep_suppression_rule *rule;

	if (strlen(digits) != HASH_DIGITS ||
	    strspn(digits, "0123456789abcdefABCDEF") != HASH_DIGITS)
		return complain(r, "a hash has 16 hexadecimal digits");
	rule = add_rule(r, r->now);
	rule->syntax = SEEP_RULE_HASH;
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

/* One line of a block; @count: how many came before. */
static int read_frame(struct reader *r, size_t count)
{
	struct seep_suppression_line line = { .what = SEEP_LINE_ANY };
	const char *pattern = r->now + 4;

	if (seep_begins_with(r->now, "fun:"))
		line.what = SEEP_LINE_FUN;
	else if (seep_begins_with(r->now, "obj:"))
		line.what = SEEP_LINE_OBJ;
	else if (seep_begins_with(r->now, "src:"))
		line.what = SEEP_LINE_SRC;
	else if (strcmp(r->now, "...") != 0)
		return complain(r, "a line of a block is fun:NAME, obj:PATH, src:FILE or \"...\"");
	if (line.what != SEEP_LINE_ANY && !*pattern)
		return complain(r, "nothing behind the colon");
	if (line.what != SEEP_LINE_ANY)
		line.pattern = to_glob(r, pattern, true);
	if (line.what == SEEP_LINE_FUN && !strpbrk(pattern, "*?"))
		line.demangled = seep_demangle(r->arena, pattern);
	r->lines = seep_xgrow(r->lines, &r->line_capacity, count + 1, sizeof(line));
	r->lines[count] = line;
	return 0;
}

/* Wildcards say nothing, nor does an allocation function: each leak has one. */
static bool says_something(const struct seep_suppression_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct core_glob pattern = lines[i].pattern;

		if (lines[i].what == SEEP_LINE_ANY || strspn(pattern.text, "*?") == pattern.bytes ||
		    (i == 0 && lines[i].what == SEEP_LINE_FUN &&
		     seep_suppression_is_allocation(pattern, LEDGER_KIND_COUNT)))
			continue;
		return true;
	}
	return false;
}

/* "Memcheck,Helgrind:Leak" is for us, "Memcheck:Cond" is not. */
static bool is_leak_block(const char *line)
{
	const char *colon = strchr(line, ':'), *tool = strstr(line, "Memcheck");

	return colon && strcmp(colon, ":Leak") == 0 && tool && tool < colon &&
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
	uint32_t verdicts = SEEP_VERDICTS_ALL;
	size_t count = 0;
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
	is_ours = is_leak_block(r->now);
	while ((got = block_line(r, first)) > 0) {
		if (!is_ours)
			continue;
		if (count == 0 && seep_begins_with(r->now, "match-leak-kinds:"))
			got = read_kinds(r, &verdicts);
		else
			got = read_frame(r, count++);
		if (got < 0)
			return got;
	}
	if (got < 0 || !is_ours)
		return got;
	if (!says_something(r->lines, count)) {
		r->line = first;
		r->now = name;
		return complain(r, "a block of wildcards alone would match every leak");
	}
	rule = add_rule(r, name);
	rule->syntax = SEEP_RULE_STACK;
	rule->verdicts = verdicts;
	rule->lines = seep_arena_calloc(r->arena, count, sizeof(*rule->lines));
	memcpy(rule->lines, r->lines, count * sizeof(*rule->lines));
	rule->line_count = count;
	return 0;
}

static int read_rule(struct reader *r)
{
	if (strcmp(r->now, "{") == 0)
		return read_block(r);
	if (seep_begins_with(r->now, "leak:"))
		return read_leak(r);
	if (seep_begins_with(r->now, "hash:"))
		return read_hash(r);
	return complain(r, "not understood; suppressions are leak:PATTERN, hash:16 DIGITS, and "
			   "valgrind's blocks in lines \"{\" and \"}\"");
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
