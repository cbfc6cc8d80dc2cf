/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct seep_error *err, enum seep_code code, const char *fmt, va_list args)
{
	err->code = (int)code;
	(void)vsnprintf(err->text, sizeof(err->text), fmt, args);
}

int seep_fail(struct seep_error *err, enum seep_code code, const char *fmt, ...)
{
	if (err) {
		va_list args;

		va_start(args, fmt);
		fill(err, code, fmt, args);
		va_end(args);
	}
	return -(int)code;
}

int seep_fail_errno(struct seep_error *err, int errno_value, const char *fmt, ...)
{
	if (err) {
		const char *reason;
		va_list args;
		size_t used;

		va_start(args, fmt);
		fill(err, SEEP_ESYS, fmt, args);
		va_end(args);
		used = strlen(err->text);
		reason = strerror(errno_value);
		/* Of a path that fills the sentence the end gives way: the reason is worth more. */
		if (used + strlen(reason) + sizeof("…: ") > sizeof(err->text)) {
			used = sizeof(err->text) - strlen(reason) - sizeof("…: ");
			(void)strcpy(err->text + used, "…");
			used += strlen("…");
		}
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", reason);
	}
	return -(int)SEEP_ESYS;
}

void seep_error_prefix(struct seep_error *err, const char *fmt, ...)
{
	char old[SEEP_ERROR_TEXT_BYTES];
	va_list args;
	size_t used;

	if (!err)
		return;
	memcpy(old, err->text, sizeof(old));
	va_start(args, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
}
