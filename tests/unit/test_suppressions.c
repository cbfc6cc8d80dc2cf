/* SPDX-License-Identifier: MIT */
/* Suppressions: what is read, what is refused, what matches which stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/suppressions.h"
#include "base/xalloc.h"
#include "ledger/finding.h"
#include "profile/context_hash.h"
#include "profile/verdict.h"
#include "sample_profile.h"
#include "stack_text.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct seep_profile *profile_of(uint8_t kind, const char *stack)
{
	struct seep_profile *p = seep_profile_new();

	add_stack_text(p, stack)->kind = kind;
	seep_profile_hash_contexts(p);
	return p;
}

static enum seep_suppression_effect effect_of(const char *rules, const struct seep_profile *profile,
					      uint32_t context, unsigned verdict)
{
	struct seep_suppressions *s = seep_suppressions_new();
	struct seep_error err = { 0 };
	enum seep_suppression_effect effect;
	size_t rule;

	if (seep_suppressions_add(s, rules, strlen(rules), "rules", &err) < 0)
		fail_msg("%s: %s", rules, err.text);
	seep_suppressions_begin(s, profile);
	effect = seep_suppressions_match(s, &profile->contexts[context], verdict, &rule);
	seep_suppressions_free(s);
	return effect;
}

/* The sample's first context: new, by push_back, by load_rows in load.cc, line 120. */
TEST(a_rule_matches_what_it_says)
{
	static const struct {
		const char *rule;
		bool matches;
	} cases[] = {
		{ "leak:load_rows", true },
		{ "leak:load_rows(std::istream&", true },
		{ "leak:^app::load_rows$", true },
		{ "leak:^load_rows", false },
		{ "leak:load_row$", false },
		{ "leak:app::*rows", true },
		{ "leak:rows*app::", false },
		{ "leak:load.cc", true },
		{ "leak:^/home/kim/*.cc$", true },
		{ "leak:/build/server", true },
		{ "leak:^server", false },
		{ "leak:libstdc++.so.6", true },
		{ "leak:libother.so", false },
		{ "leak:load?rows", false },
		{ "# leak:load_rows\n\n  \t# leak:main", false },
		{ "  leak:load_rows  \r\n", true },
		{ "{\na\nMemcheck:Leak\nfun:_Znwm\n...\nfun:app::load_rows\n}", true },
		{ "{\na\nMemcheck:Leak\nfun:operator new*\n...\nfun:app::load_rows*\n}", true },
		{ "{\na\nMemcheck:Leak\nfun:_Zn*\n...\nfun:_ZN3app9load_rowsERSii\n}", true },
		/* A mangled name with wildcards is compared with nothing that is known. */
		{ "{\na\nMemcheck:Leak\nfun:_Zn*\n...\nfun:_ZN3app9load_rows*\n}", false },
		{ "{\na\nMemcheck:Leak\nfun:_Znam\n...\nfun:app::load_rows\n}", false },
		{ "{\na\nMemcheck:Leak\nfun:malloc\n...\nfun:app::load_rows\n}", false },
		{ "{\na\nMemcheck:Leak\n...\nfun:app::load_rows\n...\nfun:main\n}", true },
		{ "{\na\nMemcheck:Leak\n...\nfun:main\n...\nfun:app::load_rows\n}", false },
		{ "{\na\nMemcheck:Leak\n...\nfun:app::load_rows\nfun:main\n}", false },
		{ "{\na\nMemcheck:Leak\n...\nfun:app::load_rows\nfun:*\nfun:main\n}", true },
		{ "{\na\nMemcheck:Leak\nfun:app::load_rows\n}", false },
		{ "{\na\nMemcheck:Leak\nobj:*vgpreload_memcheck*\n...\nfun:main\n}", true },
		{ "{\na\nMemcheck:Leak\nobj:*/libstdc++.so*\nfun:std::*\n}", true },
		{ "{\na\nMemcheck:Leak\n...\nsrc:load.cc:120\n}", true },
		{ "{\na\nMemcheck:Leak\n...\nsrc:load.cc:12\n}", false },
		{ "{\na\nMemcheck:Leak\n...\nsrc:*/server/src/load.cc\n}", true },
		{ "{\na\nMemcheck:Leak\n...\nfun:_start\nfun:*\n}", false },
		{ "{\na\nMemcheck:Cond\n...\nfun:main\n}", false },
		{ "{\na\nHelgrind,Memcheck:Leak\n...\nfun:main\n}", true },
		{ "hash:1111111111111111", true },
		{ "hash:1111111111111112", false },
	};
	struct seep_profile *profile = sample_profile();

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if ((effect_of(cases[i].rule, profile, 0, SEEP_VERDICT_LOST) ==
		     SEEP_IS_SUPPRESSED) != cases[i].matches)
			fail_msg("%s: should %smatch", cases[i].rule,
				 cases[i].matches ? "" : "not ");
	seep_profile_free(profile);
}

TEST(a_rule_matches_a_lambda_that_moved)
{
	static const struct {
		const char *function;
		const char *rule;
		bool matches;
	} cases[] = {
		{ "main::{lambda:37}::operator()", "fun:main::{lambda}::operator()", true },
		{ "main::{lambda:37}::operator()", "fun:main::{lambda:37}::operator()", true },
		{ "main::{lambda:37}::operator()", "fun:main::{lambda:38}::operator()", false },
		{ "main::{lambda:37}::operator()", "fun:main::{lambda}", false },
		{ "app::f::{{closure:2}}", "fun:app::f::{{closure}}", true },
		{ "app::f::{{closure:2}}",
		  "fun:_ZN3app1f28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_profile *profile = sample_profile();
		char rule[256];

		profile->frames[S_LOAD_120].function = cases[i].function;
		(void)snprintf(rule, sizeof(rule), "{\na\nMemcheck:Leak\n...\n%s\n...\n}",
			       cases[i].rule);
		if ((effect_of(rule, profile, 0, SEEP_VERDICT_LOST) == SEEP_IS_SUPPRESSED) !=
		    cases[i].matches)
			fail_msg("%s: should %smatch", cases[i].rule,
				 cases[i].matches ? "" : "not ");
		seep_profile_free(profile);
	}
}

/* "{ a Memcheck:Leak fun:SYMBOL fun:f }" fits blocks of just one kind, if SYMBOL allocates. */
TEST(each_allocation_function_is_of_one_kind)
{
	static const char *const symbols[] = {
#define CORE_MALLOC(symbol, ...) #symbol,
#define CORE_OPERATOR(symbol, ...) #symbol,
#include "core/allocation.def"
	};

	for (size_t i = 0; i < COUNT_OF(symbols); i++) {
		const bool frees = strncmp(symbols[i], "free", 4) == 0 ||
				   strncmp(symbols[i], "_Zd", 3) == 0;
		char *rule = seep_xasprintf("{\na\nMemcheck:Leak\nfun:%s\nfun:f\n}", symbols[i]);
		unsigned kinds = 0;

		for (uint8_t kind = 0; kind < LEDGER_KIND_FREE; kind++) {
			struct seep_profile *p = profile_of(kind, "f@/program");

			kinds += effect_of(rule, p, 0, SEEP_VERDICT_LOST) == SEEP_IS_SUPPRESSED;
			seep_profile_free(p);
		}
		if (kinds != !frees)
			fail_msg("%s: %u kinds", symbols[i], kinds);
		free(rule);
	}
}

TEST(a_rule_speaks_of_its_kinds_of_leak_only)
{
	static const struct {
		const char *kinds; /* NULL: a rule "leak:" */
		const char *verdicts;
	} cases[] = {
		{ "definite", "LOST LOST-CYCLE" },
		{ "indirect", "LOST-WITH" },
		{ "possible", "MAYBE-LOST" },
		{ "reachable", "REACHABLE" },
		{ "definite, possible", "LOST LOST-CYCLE MAYBE-LOST" },
		{ "none", "" },
		{ NULL, "LOST LOST-CYCLE LOST-WITH MAYBE-LOST FORK-ORPHAN RUNTIME "
			"SUPPRESSED IGNORED" },
	};
	struct seep_profile *profile = sample_profile();

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *rule = cases[i].kinds
				     ? seep_xasprintf("{\na\nMemcheck:Leak\nmatch-leak-kinds: "
						      "%s\n...\nfun:main\n}",
						      cases[i].kinds)
				     : seep_xstrdup("leak:^main$");
		char told[200] = "";

		for (unsigned v = 0; v < SEEP_VERDICT_COUNT; v++)
			if (effect_of(rule, profile, 0, v) == SEEP_IS_SUPPRESSED)
				snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s",
					 *told ? " " : "", seep_verdict_name(v));
		assert_string_equal(told, cases[i].verdicts);
		free(rule);
	}
	seep_profile_free(profile);
}

/* By app::close(), of a block from app::load_rows(). */
static void add_finding(struct seep_profile *profile, uint8_t kind)
{
	struct seep_profile_finding *finding = seep_profile_add(profile, SEEP_ARRAY_FINDINGS);

	add_stack_text(profile, "app::load_rows@/a < main@/a");
	add_stack_text(profile, "app::close@/build/libdb.so < main@/a")->kind = LEDGER_KIND_FREE;
	*finding = (struct seep_profile_finding){
		.kind = kind, .block = 1, .here = profile->context_count, .hash = 0xf00d, .count = 3
	};
}

TEST(a_rule_matches_findings_of_its_kinds)
{
	static const struct {
		const char *rule;
		uint8_t kind;
		bool matches;
	} cases[] = {
		{ "misuse:app::close", LEDGER_FINDING_DOUBLE_FREE, true },
		{ "misuse:app::close", LEDGER_FINDING_COUNT + 7, true },
		{ "misuse:^libdb.so$", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "misuse:libdb.so$", LEDGER_FINDING_DOUBLE_FREE, true },
		{ "misuse:load_rows", LEDGER_FINDING_REAR_GUARD, true }, /* of the block */
		{ "misuse:nowhere", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "double-free:app::close", LEDGER_FINDING_DOUBLE_FREE, true },
		{ "double-free:app::close", LEDGER_FINDING_UNKNOWN_FREE, false },
		{ "double-free:app::close", LEDGER_FINDING_COUNT + 7, false },
		{ "out-of-bounds:app::close", LEDGER_FINDING_OUT_OF_BOUNDS, true },
		{ "leak:app::close", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "hash:000000000000f00d", LEDGER_FINDING_DOUBLE_FREE, true },
		{ "hash:1111111111111111", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "{\na\nMemcheck:Free\nfun:free\nfun:app::close\n}", LEDGER_FINDING_DOUBLE_FREE,
		  true },
		{ "{\na\nMemcheck:Free\nfun:_ZdlPv\nfun:app::close\nfun:main\n}",
		  LEDGER_FINDING_MISMATCHED_FREE, true },
		{ "{\na\nMemcheck:Free\nfun:app::close\n}", LEDGER_FINDING_INTERIOR_FREE, true },
		{ "{\na\nMemcheck:Free\nfun:malloc\nfun:app::close\n}", LEDGER_FINDING_DOUBLE_FREE,
		  false },
		{ "{\na\nMemcheck:Free\n...\nfun:app::load_rows\n}", LEDGER_FINDING_DOUBLE_FREE,
		  false },
		{ "{\na\nMemcheck:Free\nfun:app::close\n}", LEDGER_FINDING_REAR_GUARD, false },
		{ "{\na\nMemcheck:Addr8\nfun:app::close\n}", LEDGER_FINDING_USE_AFTER_FREE, true },
		{ "{\na\nMemcheck:Addr8\nfun:app::close\n}", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "{\na\nMemcheck:Leak\nfun:app::close\n}", LEDGER_FINDING_DOUBLE_FREE, false },
		{ "{\na\nHelgrind:Free\nfun:app::close\n}", LEDGER_FINDING_DOUBLE_FREE, false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_suppressions *s = seep_suppressions_new();
		struct seep_profile *profile = seep_profile_new();
		const char *rule = cases[i].rule;
		const struct seep_profile_finding *finding;

		add_finding(profile, cases[i].kind);
		assert_int_equal(seep_suppressions_add(s, rule, strlen(rule), "rules", NULL), 0);
		seep_suppressions_begin(s, profile);
		seep_suppressions_find(s, profile);
		seep_suppressions_tell(s, profile);
		finding = &profile->findings[0];
		if ((finding->suppressed_by != NULL) != cases[i].matches)
			fail_msg("%s: should %smatch", rule, cases[i].matches ? "" : "not ");
		assert_int_equal(seep_findings_count(profile), !cases[i].matches);
		if (cases[i].matches) {
			assert_string_equal(finding->suppressed_by,
					    profile->scan.suppressions[0].text);
			assert_int_equal(profile->scan.suppressions[0].leaks, 1);
			assert_int_equal(profile->scan.suppressions[0].blocks, 3);
		}
		seep_profile_free(profile);
		seep_suppressions_free(s);
	}
}

TEST(a_rule_for_findings_suppresses_no_leak)
{
	struct seep_profile *profile = sample_profile();

	assert_int_equal(effect_of("misuse:main\nmismatched-free:main\n{\na\nMemcheck:Free\n...\n"
				   "fun:main\n}\n{\na\nMemcheck:Addr4\n...\nfun:main\n}",
				   profile, 0, SEEP_VERDICT_LOST),
			 SEEP_NOT_SUPPRESSED);
	seep_profile_free(profile);
}

TEST(what_cannot_be_read_is_refused_with_its_line)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *says;
	} cases[] = {
		{ "leak:good\nrace:foo", 2, "leak:PATTERN" },
		{ "leak:good\n\n# x\nfoo", 4, "leak:PATTERN" },
		{ "leak:", 1, "everything" },
		{ "leak:*", 1, "everything" },
		{ "leak:^$", 1, "everything" },
		{ "leak:^**$", 1, "everything" },
		{ "misuse:*", 1, "everything" },
		{ "double-free:", 1, "everything" },
		{ "double-frees:a", 1, "misuse:PATTERN" },
		{ "{\na\nMemcheck:Free\nfun:free\n...\n}", 1, "wildcards alone" },
		{ "{\na\nMemcheck:Free\nmatch-leak-kinds: all\nfun:x\n}", 4, "fun:NAME" },
		{ "hash:12", 1, "16 hexadecimal" },
		{ "hash:0123456789abcdeg", 1, "16 hexadecimal" },
		{ "hash:0123456789abcdef0", 1, "16 hexadecimal" },
		{ "leak:good\n{\na\nMemcheck:Leak\nfun:x\n", 2, "not closed" },
		{ "leak:good\n{\na\nMemcheck:Cond\nfun:x\n", 2, "not closed" },
		{ "{\n}", 2, "without a name" },
		{ "{\na\n}", 3, "TOOL:KIND" },
		{ "{\na\nfoo\n}", 3, "TOOL:KIND" },
		{ "{\na\nMemcheck:Leak\n}", 1, "wildcards alone" },
		{ "{\na\nMemcheck:Leak\n...\n}", 1, "wildcards alone" },
		{ "\n{\na\nMemcheck:Leak\nfun:*\nobj:*\nfun:??*\n}", 2, "wildcards alone" },
		{ "{\na\nMemcheck:Leak\nfun:malloc\n...\n}", 1, "wildcards alone" },
		{ "{\na\nMemcheck:Leak\nfun:*alloc\nobj:*\n}", 1, "wildcards alone" },
		{ "{\na\nMemcheck:Leak\nfun:\n}", 4, "behind the colon" },
		{ "{\na\nMemcheck:Leak\nfoo:x\n}", 4, "fun:NAME" },
		{ "{\na\nMemcheck:Leak\nmatch-leak-kinds: some\nfun:x\n}", 4, "definite" },
	};
	struct seep_suppressions *s = seep_suppressions_new();
	struct seep_profile *profile = seep_profile_new();
	struct seep_error err;
	char *text;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char line[40];

		snprintf(line, sizeof(line), "the file, line %u: ", cases[i].line);
		assert_int_equal(seep_suppressions_add(s, cases[i].text, strlen(cases[i].text),
						       "the file", &err),
				 -SEEP_ECORRUPT);
		if (!strstr(err.text, line) || !strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	assert_int_equal(seep_suppressions_add(s, "leak:a\nleak:\0b\n", 15, "x", &err),
			 -SEEP_ECORRUPT);
	assert_string_equal(err.text, "x, line 2: a zero byte: this is no text");
	text = seep_xcalloc(1, 9000);
	memset(text, 'a', 8999);
	memcpy(text, "leak:", 5);
	assert_int_equal(seep_suppressions_add(s, text, 8999, "x", &err), -SEEP_ECORRUPT);
	assert_string_equal(err.text, "x, line 1: longer than 8 KB");
	text[8192] = '\n';
	assert_int_equal(seep_suppressions_add(s, text, 8193, "x", &err), 0);
	free(text);
	assert_int_equal(seep_suppressions_read(s, "/nowhere/at/all", &err), -SEEP_ENOTFOUND);
	/* Of what was refused nothing stayed. */
	seep_suppressions_tell(s, profile);
	assert_int_equal(profile->scan.suppression_count, 1);
	seep_profile_free(profile);
	seep_suppressions_free(s);
}

/* Stacks as recorded here under glibc 2.36 and libstdc++ 12, with and without debug symbols. */
TEST(only_what_the_runtime_keeps_is_its_own)
{
	static const struct {
		uint8_t kind;
		unsigned verdict;
		bool runtime;
		const char *stack;
	} cases[] = {
		{ 0, SEEP_VERDICT_REACHABLE, true,
		  "_IO_file_doallocate@/lib/libc.so.6 < _IO_puts@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST_WITH, false,
		  "_IO_file_doallocate@/lib/libc.so.6 < __getdelim@/lib/libc.so.6 < main@/a" },
		{ 1, SEEP_VERDICT_LOST, true,
		  "@/lib64/ld-linux-x86-64.so.2 < _dl_allocate_tls@/lib64/ld-linux-x86-64.so.2 < "
		  "pthread_create@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, true,
		  "@/lib/libc.so.6 < @/lib/libc.so.6 < setlocale@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "__newlocale@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, true,
		  "@/lib/libc.so.6 < __newlocale@/lib/libc.so.6 < main@/a" },
		/* Lost with a descriptor of iconv_open() they are the program's. */
		{ 0, SEEP_VERDICT_LOST_WITH, false,
		  "__gconv_lookup_cache@/lib/libc.so.6 < iconv_open@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_REACHABLE, true, "getpwnam@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_REACHABLE, true,
		  "@/lib/libc.so.6 < __nss_passwd_lookup2@/lib/libc.so.6 < "
		  "getpwnam_r@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_REACHABLE, true,
		  "@/lib/libstdc++.so.6 < @/lib/ld-linux-x86-64.so.2 < "
		  "@/lib/ld-linux-x86-64.so.2" },
		{ 0, SEEP_VERDICT_REACHABLE, true,
		  "@/lib/libstdc++.so.6 < call_init@/lib/ld-2.31.so < _dl_init@/lib/ld-2.31.so" },
		{ 0, SEEP_VERDICT_REACHABLE, true,
		  "_GLOBAL__sub_I_eh_alloc.cc@/a < __libc_start_main@/lib/libc.so.6" },
		{ 5, SEEP_VERDICT_REACHABLE, true,
		  "std::basic_filebuf<wchar_t, std::char_traits<wchar_t> >::_M_allocate_internal_buffer()@/lib/libstdc++.so.6 < "
		  "std::ios_base::sync_with_stdio(bool)@/lib/libstdc++.so.6 < main@/a" },
		/* What the program asked for is the program's. */
		{ 0, SEEP_VERDICT_LOST, false, "__strdup@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "__asprintf@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "__getdelim@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "__fopen_internal@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false,
		  "__alloc_dir@/lib/libc.so.6 < opendir_tail@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "getaddrinfo@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false,
		  "__strdup@/lib/libc.so.6 < start_thread@/lib/libc.so.6 < clone3@/lib/libc.so.6" },
		{ 4, SEEP_VERDICT_LOST, false,
		  "std::string::_Rep::_S_create(unsigned long)@/lib/libstdc++.so.6 < main@/a" },
		/*
		 * A constructor below dlopen(), a callback below qsort(), a function of the same
		 * name.
		 */
		{ 0, SEEP_VERDICT_LOST, false,
		  "construct@/plugin.so < call_init@/lib/ld-linux-x86-64.so.2 < "
		  "dlopen@/lib/libc.so.6 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "setlocale@/a < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false,
		  "__strdup@/lib/libc.so.6 < compare@/a < setlocale@/lib/libc.so.6" },
		/* musl's loader is its C library. */
		{ 0, SEEP_VERDICT_LOST, false, "strdup@/lib/ld-musl-x86_64.so.1 < main@/a" },
		{ 0, SEEP_VERDICT_LOST, false, "" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_profile *p = profile_of(cases[i].kind, cases[i].stack);

		if ((effect_of("", p, 0, cases[i].verdict) == SEEP_IS_RUNTIME) != cases[i].runtime)
			fail_msg("%zu: %s: should be the %s's", i, cases[i].stack,
				 cases[i].runtime ? "runtime" : "program");
		seep_profile_free(p);
	}
}

TEST(hits_are_counted_and_unused_rules_listed)
{
	static const char rules[] = "leak:nowhere\nleak:load_rows\nleak:main\n";
	struct seep_profile *profile = sample_profile();
	struct seep_suppressions *s = seep_suppressions_new();
	const struct seep_profile_suppression *listed;
	struct seep_profile_leak first = { .blocks = 10, .bytes = 1000 };
	struct seep_profile_leak second = { .blocks = 1, .bytes = 24 };
	size_t rule;

	assert_int_equal(seep_suppressions_add(s, rules, strlen(rules), "a.supp", NULL), 0);
	seep_suppressions_begin(s, profile);
	assert_int_equal(
		seep_suppressions_match(s, &profile->contexts[0], SEEP_VERDICT_LOST, &rule),
		SEEP_IS_SUPPRESSED);
	seep_suppressions_hit(s, rule, profile, &first);
	assert_string_equal(first.suppressed_by, "leak:load_rows");
	seep_suppressions_hit(s, rule, profile, &second);
	seep_suppressions_hit(s, 0, profile, &second);
	seep_suppressions_tell(s, profile);
	listed = profile->scan.suppressions;
	assert_int_equal(profile->scan.suppression_count, 4);
	assert_string_equal(listed[0].text, "leak:nowhere");
	assert_string_equal(listed[0].file, "a.supp");
	assert_int_equal(listed[0].leaks, 0);
	assert_string_equal(listed[1].text, "leak:load_rows");
	assert_int_equal(listed[1].leaks, 2);
	assert_int_equal(listed[1].blocks, 11);
	assert_int_equal(listed[1].bytes, 1024);
	assert_int_equal(listed[2].leaks, 0);
	assert_null(listed[3].file);
	seep_suppressions_free(s);
	seep_profile_free(profile);
}

/* Each context's own, and no other's but one with the same innermost frames. */
TEST(a_generated_rule_matches_its_leak_and_no_other)
{
	struct seep_profile *profile = sample_profile();

	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_leak leak = { .verdict = SEEP_VERDICT_LOST,
						  .hash = profile->contexts[i].hash,
						  .context = i + 1 };
		char *rule = seep_suppressions_generate(profile, &leak);

		for (uint32_t k = 0; k < profile->context_count; k++) {
			/* The first three differ in a line, which no generated rule names. */
			const bool same = i == k || (i < 3 && k < 3);
			const enum seep_suppression_effect effect = effect_of(rule, profile, k,
									      SEEP_VERDICT_LOST);

			if ((effect == SEEP_IS_SUPPRESSED) != same)
				fail_msg("context %u, %s", k, rule);
		}
		if (profile->contexts[i].stack_count > 0)
			assert_int_equal(effect_of(rule, profile, i, SEEP_VERDICT_LOST_WITH),
					 SEEP_NOT_SUPPRESSED);
		free(rule);
	}
	seep_profile_free(profile);
}

/*
 * valgrind may know another name of a function of the C library, and no name of what calls main().
 */
TEST(a_generated_rule_bears_other_names_of_the_same)
{
	struct seep_profile *p = profile_of(LEDGER_KIND_MALLOC,
					    "__strdup@/lib/libc.so.6 < dup@/a < main@/a < "
					    "__libc_start_call_main@/lib/libc.so.6");
	struct seep_profile *other = profile_of(LEDGER_KIND_MALLOC,
						"strdup@/lib/libc.so.6 < dup@/a < main@/a < "
						"@/lib/libc.so.6");
	char *rule = seep_suppressions_generate(p, &(struct seep_profile_leak){ .context = 1 });

	assert_string_equal(rule, "{\n   seep-0000000000000000\n   Memcheck:Leak\n"
				  "   match-leak-kinds: definite\n   fun:malloc\n   fun:*strdup\n"
				  "   fun:dup\n   fun:main\n}\n");
	assert_int_equal(effect_of(rule, p, 0, SEEP_VERDICT_LOST), SEEP_IS_SUPPRESSED);
	assert_int_equal(effect_of(rule, other, 0, SEEP_VERDICT_LOST), SEEP_IS_SUPPRESSED);
	free(rule);
	seep_profile_free(p);
	seep_profile_free(other);
}

TEST(valgrind_reads_what_is_generated)
{
	struct seep_profile *profile = sample_profile();
	char path[] = "/tmp/seep-suppressions-XXXXXX";
	const int fd = mkstemp(path);
	char *command = seep_xasprintf("valgrind -q --suppressions=%s /bin/true", path);
	int status;

	if (system("command -v valgrind >/dev/null") != 0)
		skip();
	assert_true(fd >= 0);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_leak leak = { .verdict = i % SEEP_VERDICT_COUNT,
						  .context = i + 1 };
		char *rule = seep_suppressions_generate(profile, &leak);

		if (profile->contexts[i].stack_count > 0)
			assert_int_equal(write(fd, rule, strlen(rule)), strlen(rule));
		free(rule);
	}
	close(fd);
	status = system(command);
	unlink(path);
	free(command);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	seep_profile_free(profile);
}

TEST(a_leak_without_a_stack_is_generated_as_its_hash)
{
	struct seep_profile *profile = sample_profile();
	struct seep_profile_leak leak = { .hash = 0xabc };
	char *rule = seep_suppressions_generate(profile, &leak);

	assert_string_equal(rule, "hash:0000000000000abc\n");
	free(rule);
	leak.hash = 0;
	rule = seep_suppressions_generate(profile, &leak);
	assert_int_equal(rule[0], '#');
	free(rule);
	seep_profile_free(profile);
}
