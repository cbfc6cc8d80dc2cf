/* SPDX-License-Identifier: MIT */
#include "cli/memory_options.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "ledger/ledger.h"

/* Eight of it are no address, and stand out in a debugger. */
enum { FILL_BYTE = 0xfa, FILL_FREE_BYTE = 0xdd };

static int read_byte(const char *option, const char *text, uint64_t *byte, struct seep_error *err)
{
	char *end;

	if (!text || !*text)
		return 0;
	*byte = strtoul(text, &end, 0);
	if (*end || text[0] < '0' || text[0] > '9' || *byte >= LEDGER_FILL_NONE)
		return seep_fail(err, SEEP_EUSAGE,
				 "--%s: '%.100s' must be a byte, 0 to 255 or 0xff", option, text);
	return 0;
}

static int read_size(const char *option, const char *text, uint64_t most, uint64_t *bytes,
		     struct seep_error *err)
{
	int rc = text && *text ? seep_parse_size(text, bytes, err) : 0;

	if (rc == 0 && *bytes > most)
		rc = seep_fail(err, SEEP_EUSAGE, "%s at most", seep_bytes_text(most).text);
	if (rc < 0)
		seep_error_prefix(err, "--%s", option);
	return rc;
}

/* Where --level asks for it and nobody says how: in the usual way. */
static const char *by_level(const char *text, bool is_asked)
{
	return text ? text : is_asked ? "" : NULL;
}

static void add_number(struct seep_strbuf *text, const char *key, bool is_asked, uint64_t value)
{
	if (is_asked)
		seep_strbuf_addf(text, ":%s=%" PRIu64, key, value);
}

int seep_memory_options_add(const struct seep_memory_option_values *values, bool fill_wanted,
			    struct seep_strbuf *text, struct seep_error *err)
{
	const char *fill = by_level(values->fill, values->level >= 5);
	const char *fill_free = by_level(values->fill_free, values->level >= 5);
	const char *guard = by_level(values->guard, values->level == 10);
	uint64_t fresh = FILL_BYTE, freed = FILL_FREE_BYTE;
	uint64_t guard_bytes = LEDGER_GUARD_BYTES, waiting_bytes = LEDGER_QUARANTINE_BYTES;
	int rc;

	if (values->fill && values->no_fill)
		return seep_fail(err, SEEP_EUSAGE, "--fill and --no-fill exclude each other");
	if (values->level && values->level != 1 && values->level != 5 && values->level != 10)
		return seep_fail(err, SEEP_EUSAGE, "--level is 1, 5 or 10, not %" PRIu64,
				 values->level);
	rc = read_byte("fill", fill, &fresh, err);
	if (rc == 0)
		rc = read_byte("fill-free", fill_free, &freed, err);
	if (rc == 0)
		rc = read_size("guard", guard, LEDGER_GUARD_MAX_BYTES, &guard_bytes, err);
	if (rc == 0)
		rc = read_size("quarantine", values->quarantine, INT64_MAX, &waiting_bytes, err);
	add_number(text, "fill", values->no_fill || fill || fill_wanted,
		   values->no_fill ? LEDGER_FILL_NONE : fresh);
	add_number(text, "fill_free", fill_free != NULL, freed);
	add_number(text, "guard", guard != NULL, guard_bytes);
	add_number(text, "quarantine", values->quarantine != NULL, waiting_bytes);
	add_number(text, "free_stacks", values->free_stacks, 1);
	add_number(text, "check_every", values->check_every > 0, values->check_every);
	add_number(text, "guarded_sample", values->guarded_sample > 0, values->guarded_sample);
	add_number(text, "abort_on_error", values->abort_on_error, 1);
	return rc;
}
