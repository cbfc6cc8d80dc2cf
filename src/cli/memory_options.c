/* SPDX-License-Identifier: MIT */
#include "cli/memory_options.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "ledger/ledger.h"

/* Eight of each are no address, and stand out in a debugger. */
enum { FILL_BYTE = 0xfa, FILL_FREE_BYTE = 0xdd };

enum { LEVEL_5 = 1, LEVEL_10 }; /* of the choices */

/* One that may have a value. */
struct setting {
	const char *option, *key;
	const char *text;
	bool is_implied; /* by another option */
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

	if (!setting->text && !setting->is_implied)
		return 0;
	if (setting->text && *setting->text)
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
	const bool at_5 = values->level >= LEVEL_5, at_10 = values->level >= LEVEL_10;
	const struct setting settings[] = {
		{ "fill", "fill", values->fill, fills || at_5, FILL_BYTE, UINT8_MAX },
		{ "fill-free", "fill_free", values->fill_free, at_5, FILL_FREE_BYTE, UINT8_MAX },
		{ "guard", "guard", values->guard, at_10, LEDGER_GUARD_BYTES,
		  LEDGER_GUARD_MAX_BYTES },
		{ "quarantine", "quarantine", values->quarantine, false, LEDGER_QUARANTINE_BYTES,
		  INT64_MAX },
	};
	int rc = 0;

	if (values->fill && values->no_fill)
		return seep_fail(err, SEEP_EUSAGE, "--fill and --no-fill exclude each other");
	for (size_t i = 0; rc == 0 && i < sizeof(settings) / sizeof(settings[0]); i++)
		rc = add_setting(&settings[i], text, err);
	if (values->no_fill)
		seep_strbuf_addf(text, ":fill=%d", LEDGER_FILL_NONE);
	if (values->check_every)
		seep_strbuf_addf(text, ":check_every=%" PRIu64, values->check_every);
	if (values->guarded_sample)
		seep_strbuf_addf(text, ":guarded_sample=%" PRIu64, values->guarded_sample);
	seep_strbuf_adds(text, values->free_stacks ? ":free_stacks=1" : "");
	seep_strbuf_adds(text, values->abort_on_error ? ":abort_on_error=1" : "");
	return rc;
}
