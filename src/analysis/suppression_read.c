/* SPDX-License-Identifier: MIT */
#include "analysis/suppression_read.h"

#include "analysis/suppression_match.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "profile/verdict.h"
#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 8 << 10, HASH_DIGITS = 16 };

#define ALL_VERDICTS ((1u << SEEP_VERDICT_COUNT) - 1)

/* valgrind's words for what leads to a block. */
static const struct {
	const char *name;
	unsigned verdicts;
} kinds[] = {
	{ "definite",
	  1 << SEEP_VERDICT_LOST | 1 << SEEP_VERDICT_LOST_CYCLE | 1 << SEEP_VERDICT_FORK_ORPHAN },
	{ "indirect", 1 << SEEP_VERDICT_LOST_WITH },
	{ "possible", 1 << SEEP_VERDICT_MAYBE_LOST | 1 << SEEP_VERDICT_STACK_ONLY },
	{ "reachable", 1 << SEEP_VERDICT_REACHABLE | 1 << SEEP_VERDICT_RUNTIME },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct reader {
	struct seep_arena *arena;
	const char *name;
	const char *at;
	const char *end;
	unsigned line; /* of the text in @now */
	char *now;     /* without white space around it */
	struct seep_suppression_rules found;
	struct seep_suppression_line *lines; /* of the present block */
	size_t line_capacity;
	struct seep_error *err;
};

static int complain(const struct reader *r, const char *what)
{
	char text[200];
	size_t bytes = r->now ? strlen(r->now) : 0;

	snprintf(text, sizeof(text), "%.*s%s", (int)(bytes > 80 ? 80 : bytes), r->now ? r->now : "",
		 bytes > 80 ? "..." : "");
	return seep_fail(r->err, SEEP_ECORRUPT, "%s, line %u: %s%s%s%s", r->name, r->line, what,
			 bytes ? ": \"" : "", text, bytes ? "\"" : "");
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

	r->found.items = seep_xgrow(r->found.items, &r->found.capacity, r->found.count + 1,
				    sizeof(*rule));
	rule = &r->found.items[r->found.count++];
	*rule = (struct seep_suppression_rule){
		.text = text,
		.file = seep_arena_strndup(r->arena, r->name, strlen(r->name)),
		.verdicts = ALL_VERDICTS,
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
	struct seep_strbuf text;

	pattern += at_begin;
	bytes -= (size_t)at_begin + at_end;
	if (strspn(pattern, "*") >= bytes)
		return complain(r, "would match every leak");
	rule = add_rule(r, r->now);
	rule->syntax = SEEP_RULE_LEAK;
	seep_strbuf_init(&text, LINE_MAX_BYTES + 2);
	seep_strbuf_addf(&text, "%s%.*s%s", at_begin ? "" : "*", (int)bytes, pattern,
			 at_end ? "" : "*");
	rule->pattern = to_glob(r, text.text, false);
	seep_strbuf_done(&text);
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
static int read_kinds(struct reader *r, unsigned *ret_verdicts)
{
	const char *at = r->now + strlen("match-leak-kinds:");

	*ret_verdicts = 0;
	while (*at) {
		const char *word = at + strspn(at, " \t,");
		const size_t bytes = strcspn(word, " \t,");
		unsigned verdicts = 0;

		if (bytes == 3 && memcmp(word, "all", 3) == 0)
			verdicts = ALL_VERDICTS;
		for (size_t i = 0; i < KINDS; i++)
			if (strlen(kinds[i].name) == bytes &&
			    memcmp(word, kinds[i].name, bytes) == 0)
				verdicts = kinds[i].verdicts;
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

	if (strncmp(r->now, "fun:", 4) == 0)
		line.what = SEEP_LINE_FUN;
	else if (strncmp(r->now, "obj:", 4) == 0)
		line.what = SEEP_LINE_OBJ;
	else if (strncmp(r->now, "src:", 4) == 0)
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

static bool is_allocation(struct core_glob pattern)
{
	unsigned kind = 0;

	while (kind < LEDGER_KIND_COUNT && !seep_suppression_is_allocation(pattern, kind))
		kind++;
	return kind < LEDGER_KIND_COUNT;
}

/* Wildcards say nothing, nor does an allocation function: each leak has one. */
static bool says_something(const struct seep_suppression_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct core_glob pattern = lines[i].pattern;

		if (lines[i].what == SEEP_LINE_ANY || strspn(pattern.text, "*?") == pattern.bytes ||
		    (i == 0 && lines[i].what == SEEP_LINE_FUN && is_allocation(pattern)))
			continue;
		return true;
	}
	return false;
}

/* "Memcheck,Helgrind:Leak" is for us, "Memcheck:Cond" is not. */
static bool is_leak_block(const char *line)
{
	const char *colon = strchr(line, ':');
	const char *at = line;

	if (!colon || strcmp(colon + 1, "Leak") != 0)
		return false;
	while (at < colon) {
		const size_t bytes = strcspn(at, ",:");

		if (bytes == 8 && memcmp(at, "Memcheck", bytes) == 0)
			return true;
		at += bytes + 1;
	}
	return false;
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

static int skip_block(struct reader *r, unsigned first)
{
	int got;

	do
		got = block_line(r, first);
	while (got > 0);
	return got;
}

static int read_block(struct reader *r)
{
	const unsigned first = r->line;
	struct seep_suppression_rule *rule;
	unsigned verdicts = ALL_VERDICTS;
	size_t count = 0;
	char *name;
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
	if (!is_leak_block(r->now))
		return skip_block(r, first);
	while ((got = block_line(r, first)) > 0) {
		if (count == 0 && strncmp(r->now, "match-leak-kinds:", 17) == 0)
			got = read_kinds(r, &verdicts);
		else
			got = read_frame(r, count++);
		if (got < 0)
			return got;
	}
	if (got < 0)
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
	if (strncmp(r->now, "leak:", 5) == 0)
		return read_leak(r);
	if (strncmp(r->now, "hash:", 5) == 0)
		return read_hash(r);
	return complain(r, "not understood; suppressions are leak:PATTERN, hash:16 DIGITS, and "
			   "valgrind's blocks in lines \"{\" and \"}\"");
}

int seep_suppression_read(struct seep_suppression_rules *rules, struct seep_arena *arena,
			  const char *text, size_t bytes, const char *name, struct seep_error *err)
{
	struct reader r = {
		.arena = arena, .name = name, .at = text, .end = text + bytes, .err = err
	};
	int got;

	while ((got = next_line(&r)) > 0 && (got = read_rule(&r)) == 0)
		;
	if (got == 0 && r.found.count > 0) {
		rules->items = seep_xgrow(rules->items, &rules->capacity,
					  rules->count + r.found.count, sizeof(*rules->items));
		memcpy(rules->items + rules->count, r.found.items,
		       r.found.count * sizeof(*rules->items));
		rules->count += r.found.count;
	}
	free(r.found.items);
	free(r.lines);
	return got;
}

const char *seep_suppression_kind(unsigned verdict)
{
	for (size_t i = 0; i < KINDS; i++)
		if (verdict < SEEP_VERDICT_COUNT && kinds[i].verdicts & 1u << verdict)
			return kinds[i].name;
	return NULL;
}
