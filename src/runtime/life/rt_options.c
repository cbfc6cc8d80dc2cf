/* SPDX-License-Identifier: MIT */
#include "runtime/life/rt_options.h"

#include "core/nearest.h"
#include "ledger/ledger_tier.h"
#include "runtime/sys/sys.h"

#include <string.h>

enum { KEY_BYTES = 48, TEXT_MAX = 4096 };

struct option {
	const char *key;
	size_t offset;
	uint64_t max; /* of a number; 0: any */
	const char *meaning;
	const char *const *words; /* one of these instead of a number; its index is the value */
	char *text;		  /* TEXT_MAX bytes to keep any text in; the value points there */
};

struct rt_options rt_options;

static RT_LARGE char modules[TEXT_MAX];

static const char *const modes[] = { "all", "scoped", "off", NULL };
static const char *const tiers[] = { "exact", "counts", "sampled", NULL };
static const char *const thread_keys[] = { "off", "name", NULL };

#define CORE_RUNTIME_OPTION(name, text, ...)           \
	{ .key = #name,                                \
	  .offset = offsetof(struct rt_options, name), \
	  .meaning = (text),                           \
	  ##__VA_ARGS__ },

static const struct option options[] = {
#include "core/runtime_option.def"
};

enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };

/* The nearest key, should one be near. */
static void say_unknown(const char *key)
{
	struct core_nearest nearest;

	core_nearest_init(&nearest, key);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		core_nearest_offer(&nearest, options[i].key);
	if (core_nearest_word(&nearest))
		rt_say("seep: SEEP_OPTIONS: unknown key ", key, "; did you mean ",
		       core_nearest_word(&nearest));
	else
		rt_say("seep: SEEP_OPTIONS: unknown key ", key, "; SEEP_OPTIONS=help=1 lists all");
}

bool rt_options_number(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	if (*text == 'k' || *text == 'K')
		shift = 10;
	else if (*text == 'm' || *text == 'M')
		shift = 20;
	else if (*text == 'g' || *text == 'G')
		shift = 30;
	if (shift)
		text++;
	if (*text || value << shift >> shift != value)
		return false;
	*ret_value = value << shift;
	return true;
}

static bool parse_value(const struct option *option, const char *text, uint64_t *ret_value)
{
	if (!option->words)
		return rt_options_number(text, ret_value) &&
		       (!option->max || *ret_value <= option->max);
	for (size_t i = 0; option->words[i]; i++)
		if (strcmp(text, option->words[i]) == 0) {
			*ret_value = i;
			return true;
		}
	return false;
}

/* Copy up to the next separator; "\:" stands for ':'. Returns where it stopped. */
static const char *take(const char *from, char stop, char *into, size_t max)
{
	size_t used = 0;

	while (*from && *from != ':' && *from != stop) {
		if (from[0] == '\\' && from[1] == ':')
			from++;
		if (used < max - 1)
			into[used++] = *from;
		from++;
	}
	into[used] = '\0';
	return from;
}

/* Nothing: as if the option had not been given. */
static void set_text(const struct option *option, const char *value)
{
	const char *kept = *value ? option->text : NULL;

	memcpy(option->text, value, strlen(value) + 1);
	memcpy((char *)&rt_options + option->offset, &kept, sizeof(kept));
}

static bool set_one(const char *key, const char *value)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		uint64_t number;

		if (strcmp(key, options[i].key) != 0)
			continue;
		if (options[i].text) {
			set_text(&options[i], value);
			return true;
		}
		if (!parse_value(&options[i], value, &number)) {
			rt_say("seep: SEEP_OPTIONS: bad value for ", key, ": ",
			       *value ? value : "(nothing)");
			return false;
		}
		memcpy((char *)&rt_options + options[i].offset, &number, sizeof(number));
		return true;
	}
	say_unknown(key);
	return false;
}

static bool parse(const char *text)
{
	static RT_LARGE char value[TEXT_MAX]; /* as long as all of them: never cut */

	while (*text) {
		char key[KEY_BYTES];
		bool assigned;

		value[0] = '\0';
		text = take(text, '=', key, sizeof(key));
		assigned = *text == '=';
		if (assigned)
			text = take(text + 1, '\0', value, sizeof(value));
		if (*text == ':')
			text++;
		if ((*key || assigned) && !set_one(key, value))
			return false;
	}
	return true;
}

bool rt_options_read(const char *text)
{
	static RT_LARGE char kept[TEXT_MAX];

	rt_options = (struct rt_options){
		.size_max = UINT64_MAX,
		.sample_rate = UINT64_C(1) << LEDGER_SAMPLE_LOG2,
		.exit_wait_ms = LEDGER_EXIT_WAIT_MS,
		.forks = LEDGER_FORK_ALLOCS,
		.argv = 1,
		.fill = LEDGER_FILL_NONE,
		.fill_free = LEDGER_FILL_NONE,
		.quarantine = UINT64_MAX,
	};
	if (text && strlen(text) >= sizeof(kept)) {
		rt_say("seep: SEEP_OPTIONS has more than 4,095 bytes");
		return false;
	}
	if (text) {
		memcpy(kept, text, strlen(text) + 1);
		rt_options.text = kept;
		if (!parse(kept))
			return false;
	}
	if (rt_options.size_max == 0)
		rt_options.size_max = UINT64_MAX;
	if (rt_options.ledger_max)
		rt_options.ledger_max = core_larger(rt_options.ledger_max, LEDGER_MAX_LEAST_BYTES);
	/* One of these brings the others, where nobody says otherwise. */
	if (rt_options.check_every && !rt_options.guard)
		rt_options.guard = LEDGER_GUARD_BYTES;
	if (rt_options.quarantine == UINT64_MAX)
		rt_options.quarantine = rt_options.guard || rt_options.free_stacks
						? LEDGER_QUARANTINE_BYTES
						: 0;
	if (!rt_options.help)
		return true;
	rt_say("seep: SEEP_OPTIONS=key=value:key=value, with these keys:");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		rt_say("seep:   ", options[i].key, "=", options[i].meaning);
	return false;
}
