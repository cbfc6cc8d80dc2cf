/* SPDX-License-Identifier: MIT */
#include "profile/ledger_name.h"

#include "base/xalloc.h"
#include "ledger/ledger.h"

#include <ctype.h>
#include <string.h>

/* The number before @end, after a dot. Moves *end to that dot. */
static bool number_before(const char *text, const char **end, uint64_t max, uint64_t *ret_number)
{
	const char *start = *end;
	uint64_t number = 0;

	while (start > text && isdigit((unsigned char)start[-1]))
		start--;
	if (start == *end || *end - start > 20 || start == text || start[-1] != '.')
		return false;
	for (const char *at = start; at < *end; at++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return false;
	if (number > max)
		return false;
	*end = start - 1;
	*ret_number = number;
	return true;
}

bool seep_ledger_name_parse(const char *file_name, struct seep_ledger_name *ret_name)
{
	size_t bytes = strlen(file_name), suffix = strlen(LEDGER_SUFFIX);
	const size_t less = strlen(SEEP_LEDGER_UNNAMED);
	bool is_unnamed = bytes > less &&
			  strcmp(file_name + bytes - less, SEEP_LEDGER_UNNAMED) == 0;
	uint64_t instance, start, pid;
	const char *end;

	bytes -= is_unnamed ? less : 0;
	if (bytes <= suffix || strncmp(file_name + bytes - suffix, LEDGER_SUFFIX, suffix) != 0)
		return false;
	end = file_name + bytes - suffix;
	/* From the right: the program's own name may hold dots and digits. */
	if (!number_before(file_name, &end, UINT32_MAX, &instance) ||
	    !number_before(file_name, &end, UINT64_MAX, &start) ||
	    !number_before(file_name, &end, UINT32_MAX, &pid))
		return false;
	*ret_name = (struct seep_ledger_name){
		.pid = (uint32_t)pid,
		.start_ticks = start,
		.exe_bytes = (uint32_t)(end - file_name),
		.is_unnamed = is_unnamed,
	};
	return true;
}

char *seep_ledger_sums_name(const char *file_name)
{
	static const char *const suffixes[] = { SEEP_LEDGER_UNNAMED, LEDGER_SUFFIX };
	size_t bytes = strlen(file_name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const size_t less = strlen(suffixes[i]);

		if (bytes > less && strncmp(file_name + bytes - less, suffixes[i], less) == 0)
			bytes -= less;
	}
	return seep_xasprintf("%.*s" LEDGER_SUMS_SUFFIX, (int)bytes, file_name);
}
