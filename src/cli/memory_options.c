/* SPDX-License-Identifier: MIT */
#include "cli/memory_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "ledger/ledger.h"

/* Eight of each are no address, and stand out in a debugger. */
enum { FILL_BYTE = 0xfa, FILL_FREE_BYTE = 0xdd };

/* One that may have a value. */
struct setting {
	const char *option, *key;
	const char *text;
	uint64_t level; /* from this one on it is asked for; 0: by no level */
	uint64_t usual;
	uint64_t most;
};

static int read_byte(const char *text, uint64_t *ret_byte, struct seep_error *err)
{
	char *end;

	*ret_byte = strtoul(text, &end, 0);
	if (*end || text[0] < '0' || text[0] > '9' || *ret_byte >= LEDGER_FILL_NONE)
		return seep_fail(err, SEEP_EUSAGE, "'%.100s' must be a byte, 0 to 255 or 0xff",
				 text);
	return 0;
}

static int read_size(const char *text, uint64_t most, uint64_t *ret_bytes, struct seep_error *err)
{
	int rc = seep_parse_size(text, ret_bytes, err);

	if (rc == 0 && *ret_bytes > most)
		rc = seep_fail(err, SEEP_EUSAGE, "'%.100s' is too much; the maximum is %s", text,
			       seep_bytes_text(most).text);
	return rc;
}

static int add_setting(const struct setting *setting, struct seep_strbuf *text,
		       struct seep_error *err)
{
	uint64_t value = setting->usual;
	int rc = 0;

	if (*setting->text)
		rc = setting->most < LEDGER_FILL_NONE
			     ? read_byte(setting->text, &value, err)
			     : read_size(setting->text, setting->most, &value, err);
	if (rc < 0)
		seep_error_prefix(err, "--%s", setting->option);
	seep_strbuf_addf(text, ":%s=%" PRIu64, setting->key, value);
	return rc;
}

int seep_memory_options_add(const struct seep_memory_option_values *values, bool fills,
			    struct seep_strbuf *text, struct seep_error *err)
{
	const struct setting settings[] = {
		{ "fill", "fill", values->fill, 5, FILL_BYTE, UINT8_MAX },
		{ "fill-free", "fill_free", values->fill_free, 5, FILL_FREE_BYTE, UINT8_MAX },
		{ "guard", "guard", values->guard, 10, LEDGER_GUARD_BYTES, LEDGER_GUARD_MAX_BYTES },
		{ "quarantine", "quarantine", values->quarantine, 0, LEDGER_QUARANTINE_BYTES,
		  INT64_MAX },
	};

	if (values->fill && values->no_fill)
		return seep_fail(err, SEEP_EUSAGE, "--fill and --no-fill exclude each other");
	if (values->level > 1 && values->level != 5 && values->level != 10)
		return seep_fail(err, SEEP_EUSAGE, "--level is 1, 5 or 10, not %" PRIu64,
				 values->level);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct setting setting = settings[i];
		int rc;

		if (!setting.text &&
		    ((setting.level && values->level >= setting.level) || (i == 0 && fills)))
			setting.text = "";
		rc = setting.text ? add_setting(&setting, text, err) : 0;
		if (rc < 0)
			return rc;
	}
	if (values->no_fill)
		seep_strbuf_addf(text, ":fill=%d", LEDGER_FILL_NONE);
	if (values->check_every)
		seep_strbuf_addf(text, ":check_every=%" PRIu64, values->check_every);
	if (values->guarded_sample)
		seep_strbuf_addf(text, ":guarded_sample=%" PRIu64, values->guarded_sample);
	seep_strbuf_adds(text, values->free_stacks ? ":free_stacks=1" : "");
	seep_strbuf_adds(text, values->abort_on_error ? ":abort_on_error=1" : "");
	return 0;
}
