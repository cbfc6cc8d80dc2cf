/* SPDX-License-Identifier: MIT */
#include "cli/record_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "ledger/ledger_tier.h"

static void add_modules(struct seep_strbuf *text, const struct seep_option_list *globs)
{
	for (size_t i = 0; i < globs->count; i++) {
		seep_strbuf_adds(text, i ? "," : ":modules=");
		for (const char *c = globs->items[i]; *c; c++) {
			if (*c == ':')
				seep_strbuf_addc(text, '\\');
			seep_strbuf_addc(text, *c);
		}
	}
}

/* 0 is what it takes without being told. */
static void add_number(struct seep_strbuf *text, const char *key, uint64_t value)
{
	if (value)
		seep_strbuf_addf(text, ":%s=%" PRIu64, key, value);
}

int seep_record_options_add(const struct seep_record_option_values *values,
			    struct seep_strbuf *text, struct seep_error *err)
{
	if (values->sample_rate && values->tier == SEEP_TIER_EXACT)
		return seep_fail(err, SEEP_EUSAGE,
				 "--sample-rate is of --tier counts and --tier sampled");
	if (values->sample_rate > UINT64_C(1) << LEDGER_SAMPLE_LOG2_MAX)
		return seep_fail(err, SEEP_EUSAGE, "--sample-rate is at most %s",
				 seep_bytes_text(UINT64_C(1) << LEDGER_SAMPLE_LOG2_MAX).text);
	if (values->size_max && values->size_max < values->size_min)
		return seep_fail(err, SEEP_EUSAGE, "--size-max is below --size-min");
	for (size_t i = 0; i < values->modules.count; i++)
		if (!values->modules.items[i][strspn(values->modules.items[i], "!,")])
			return seep_fail(err, SEEP_EUSAGE, "--module needs the name of a module");
	if (values->mode != SEEP_RECORD_ALL)
		seep_strbuf_adds(text,
				 values->mode == SEEP_RECORD_OFF ? ":mode=off" : ":mode=scoped");
	if (values->tier != SEEP_TIER_EXACT)
		seep_strbuf_addf(text, ":tier=%s",
				 values->tier == SEEP_TIER_COUNTS ? "counts" : "sampled");
	add_number(text, "sample_rate", values->sample_rate);
	add_modules(text, &values->modules);
	add_number(text, "size_min", values->size_min);
	add_number(text, "size_max", values->size_max);
	add_number(text, "ledger_max", values->ledger_max);
	add_number(text, "depth", values->depth);
	if (values->by_thread)
		seep_strbuf_adds(text, ":by_thread=name");
	if (values->no_argv)
		seep_strbuf_adds(text, ":argv=0");
	return 0;
}
