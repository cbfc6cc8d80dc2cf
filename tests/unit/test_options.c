/* SPDX-License-Identifier: MIT */
/* The option parser: every type, every spelling, every refusal. */
#include <string.h>

#include "cli/command.h"
#include "unit.h"

static struct values {
	bool tree;
	bool no_follow;
	const char *output;
	const char *json;
	uint64_t depth;
	uint64_t size_bytes;
	uint64_t every_ns;
	int mode;
	struct seep_option_list keep;
} asked;

static const char *const modes[] = { "all", "some", "off", NULL };

static const struct seep_option options[] = {
	SEEP_OPTION("tree", 't', FLAG, NULL, asked.tree, "Tree"),
	SEEP_OPTION("no-follow", 0, FLAG, NULL, asked.no_follow, "Do not follow"),
	SEEP_OPTION("output", 'o', TEXT, "FILE", asked.output, "Output"),
	SEEP_OPTION("json", 0, OPTIONAL, "FORM", asked.json, "JSON"),
	SEEP_OPTION("depth", 'n', COUNT, "N", asked.depth, "Depth", .min = 2, .max = 100),
	SEEP_OPTION("size", 0, SIZE, "SIZE", asked.size_bytes, "Size", .min = 4096),
	SEEP_OPTION("every", 0, DURATION, "T", asked.every_ns, "Every", .min = 1000000),
	SEEP_OPTION("mode", 0, CHOICE, "all|some|off", asked.mode, "Mode", .choices = modes),
	SEEP_OPTION("keep", 'k', LIST, "NAME", asked.keep, "Keep"),
};

static const struct seep_option_table anywhere = {
	SEEP_OPTIONS(options),
	.max_operands = 2,
};

static const struct seep_option_table before_program = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.operand_ends_options = true,
};

/* One parse: what went in and what came out. */
struct parse {
	char *argv[16];
	char **operands;
	int count;
	int ret;
	struct values values;
	struct seep_error err;
};

static struct parse parse(const struct seep_option_table *table, const char *const *words)
{
	static struct parse result;
	char **argv = result.argv;

	memset(&result, 0, sizeof(result));
	result.argv[0] = (char *)(uintptr_t) "command";
	for (result.count = 1; words[result.count - 1]; result.count++)
		result.argv[result.count] = (char *)(uintptr_t)words[result.count - 1];
	memset(&asked, 0, sizeof(asked));
	result.ret = seep_options_parse(table, &result.count, &argv, &result.err);
	result.values = asked;
	result.operands = argv;
	return result;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(each_type_fills_its_field)
{
	struct parse p = parse(&anywhere, WORDS("--tree", "--no-follow", "--output", "out",
						"--depth=7", "--size", "64K", "--every=10s",
						"--mode", "some", "-k", "a", "--keep=b"));

	assert_int_equal(p.ret, 0);
	assert_true(p.values.tree);
	assert_true(p.values.no_follow);
	assert_string_equal(p.values.output, "out");
	assert_int_equal(p.values.depth, 7);
	assert_int_equal(p.values.size_bytes, 65536);
	assert_int_equal(p.values.every_ns, 10000000000);
	assert_int_equal(p.values.mode, 1);
	assert_int_equal(p.values.keep.count, 2);
	assert_string_equal(p.values.keep.items[1], "b");
	assert_null(p.values.json);
	assert_int_equal(p.count, 0);
}

TEST(optional_value_needs_the_equals_sign)
{
	struct parse p = parse(&anywhere, WORDS("--json", "file"));

	assert_string_equal(p.values.json, "");
	assert_int_equal(p.count, 1);
	p = parse(&anywhere, WORDS("--json=strings"));
	assert_string_equal(p.values.json, "strings");
}

TEST(short_options_bundle_and_take_values)
{
	struct parse p = parse(&anywhere, WORDS("-tn5", "-oout"));

	assert_int_equal(p.ret, 0);
	assert_true(p.values.tree);
	assert_int_equal(p.values.depth, 5);
	assert_string_equal(p.values.output, "out");
	p = parse(&anywhere, WORDS("-to", "out"));
	assert_string_equal(p.values.output, "out");
}

TEST(operands_may_stand_between_options)
{
	struct parse p = parse(&anywhere, WORDS("one", "--tree", "two", "-o", "x"));

	assert_int_equal(p.ret, 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.operands[0], "one");
	assert_string_equal(p.operands[1], "two");
	assert_true(p.values.tree);
	assert_string_equal(p.values.output, "x");
}

TEST(two_dashes_end_the_options)
{
	struct parse p = parse(&anywhere, WORDS("one", "--", "--tree"));

	assert_int_equal(p.count, 2);
	assert_string_equal(p.operands[0], "one");
	assert_string_equal(p.operands[1], "--tree");
	assert_false(p.values.tree);
	p = parse(&anywhere, WORDS("-", "--tree"));
	assert_string_equal(p.operands[0], "-");
}

TEST(options_after_a_program_are_the_programs)
{
	struct parse p = parse(&before_program,
			       WORDS("--tree", "./prog", "--tree", "--help", "-x"));

	assert_int_equal(p.ret, 0);
	assert_int_equal(p.count, 4);
	assert_string_equal(p.operands[0], "./prog");
	assert_string_equal(p.operands[3], "-x");
	p = parse(&before_program, WORDS("--", "--odd-program"));
	assert_int_equal(p.count, 1);
	assert_string_equal(p.operands[0], "--odd-program");
}

TEST(help_is_not_an_error)
{
	assert_int_equal(parse(&anywhere, WORDS("--help")).ret, SEEP_OPTIONS_HELP);
	assert_int_equal(parse(&anywhere, WORDS("-h")).ret, SEEP_OPTIONS_HELP);
}

TEST(wrong_usage_says_what_and_names_the_nearest)
{
	static const struct {
		const char *words[4];
		const char *said;
	} cases[] = {
		{ { "--otput=x" }, "--output" },
		{ { "--zzzzzzz" }, "unknown option --zzzzzzz" },
		{ { "-x" }, "unknown option -x" },
		{ { "-ä" }, "unknown option -ä" },
		{ { "--output" }, "--output FILE" },
		{ { "-o" }, "--output FILE" },
		{ { "--tree=yes" }, "takes no value" },
		{ { "--depth", "x" }, "--depth" },
		{ { "--depth", "101" }, "100" },
		{ { "--depth", "1" }, "--depth: '1' is too small; the minimum is 2" },
		{ { "--size", "10Q" }, "not a size" },
		{ { "--size", "99E" }, "--size: '99E' is too large" },
		{ { "--size", "4095" }, "--size: '4095' is too small; the minimum is 4 KB" },
		{ { "--every", "0" }, "--every: '0' is too small; the minimum is 1 ms" },
		{ { "--every", "soon" }, "not a duration" },
		{ { "--mode", "sone" }, "must be one of all, some, off" },
		{ { "one", "two", "three" }, "'three' is one argument too many" },
		{ { "one", "" }, "argument 2 is empty" },
		{ { "--tre" }, "did you mean --tree" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parse p = parse(&anywhere, cases[i].words);

		assert_int_equal(p.ret, -SEEP_EUSAGE);
		if (!strstr(p.err.text, cases[i].said))
			fail_msg("'%s' does not say '%s'", p.err.text, cases[i].said);
	}
}

TEST(missing_operand_is_wrong_usage)
{
	assert_int_equal(parse(&before_program, WORDS("--tree")).ret, -SEEP_EUSAGE);
}

TEST(endless_list_is_refused)
{
	static char *argv[3 * SEEP_OPTION_LIST_MAX];
	struct seep_error err = { 0 };
	char **at = argv;
	int argc = 0;

	memset(&asked, 0, sizeof(asked));
	argv[argc++] = (char *)(uintptr_t) "command";
	for (int i = 0; i <= SEEP_OPTION_LIST_MAX; i++)
		argv[argc++] = (char *)(uintptr_t) "-kx";
	assert_int_equal(seep_options_parse(&anywhere, &argc, &at, &err), -SEEP_EUSAGE);
}

/* What help and completion assume of every table. */
TEST(every_commands_table_is_well_formed)
{
	for (size_t i = 0; i < seep_command_count; i++) {
		const struct seep_option_table *table = seep_commands[i].options;

		assert_ptr_equal(seep_command_find(seep_commands[i].name), &seep_commands[i]);
		assert_true(*seep_commands[i].args);
		assert_non_null(table->details);
		assert_true(table->min_operands <= table->max_operands);
		assert_true(table->max_operands > 0);
		for (size_t j = 0; j < table->count; j++) {
			const struct seep_option *option = &table->options[j];

			assert_non_null(option->summary);
			assert_true(strlen(option->name) > 1);
			if (option->type != SEEP_OPTION_OPTIONAL)
				assert_int_equal(option->choices != NULL,
						 option->type == SEEP_OPTION_CHOICE);
			if (seep_option_takes_value(option) || option->type == SEEP_OPTION_OPTIONAL)
				assert_non_null(option->placeholder);
			for (size_t k = 0; k < j; k++) {
				assert_string_not_equal(table->options[k].name, option->name);
				if (option->short_name)
					assert_int_not_equal(table->options[k].short_name,
							     option->short_name);
			}
		}
	}
}
