/* SPDX-License-Identifier: MIT */
#include "target/limits.h"

#include "base/file.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "ledger/ledger.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMITS_MAX_BYTES = 64 * 1024 };

/* "Max address space         unlimited            unlimited            bytes": the first. */
static uint64_t limit_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		return SEEP_NO_LIMIT;
	at += strlen(name);
	while (*at == ' ') {
		at++;
	}
	return isdigit((unsigned char)*at) ? strtoull(at, NULL, 10) : SEEP_NO_LIMIT;
}

struct seep_limits seep_limits_of(uint32_t pid)
{
	char path[64] = "/proc/self/limits";
	char *read = NULL;
	const char *text;
	struct seep_limits limits;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%u/limits", pid);
	text = seep_file_read(path, LIMITS_MAX_BYTES, &read, NULL, NULL) < 0 ? "" : read;
	limits = (struct seep_limits){
		.address_space_bytes = limit_of(text, "Max address space"),
		.file_bytes = limit_of(text, "Max file size"),
		.descriptors = limit_of(text, "Max open files"),
		.data_bytes = limit_of(text, "Max data size"),
	};
	free(read);
	return limits;
}

char *seep_limits_why(const struct seep_limits *limits, const char **ret_command)
{
	const struct {
		uint64_t limit_bytes, least_bytes;
		const char *what, *command;
	} needs[] = {
		{ limits->address_space_bytes, LEDGER_ADDRESS_SPACE_MIN_BYTES,
		  "address space (RLIMIT_AS)", "ulimit -v" },
		{ limits->file_bytes, LEDGER_FILE_MIN_BYTES, "file size (RLIMIT_FSIZE)",
		  "ulimit -f" },
		{ limits->data_bytes, LEDGER_DATA_MIN_BYTES, "data segment (RLIMIT_DATA)",
		  "ulimit -d" },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		if (needs[i].limit_bytes >= needs[i].least_bytes)
			continue;
		if (ret_command)
			*ret_command = needs[i].command;
		return seep_xasprintf("its %s is limited to %s, recording needs %s", needs[i].what,
				      seep_bytes_text(needs[i].limit_bytes).text,
				      seep_bytes_text(needs[i].least_bytes).text);
	}
	return NULL;
}
