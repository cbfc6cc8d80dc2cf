/* SPDX-License-Identifier: MIT */
/* Text compared with a file of golden/. With SEEP_UPDATE in the environment the file is written. */
#ifndef SEEP_TESTS_GOLDEN_H
#define SEEP_TESTS_GOLDEN_H

#include "base/file.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void expect_golden(const char *name, const char *text)
{
	const char *source = getenv("SEEP_SOURCE");
	struct seep_error err = { 0 };
	char *expected = NULL;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/tests/unit/golden/%s", source ? source : "..", name);
	if (getenv("SEEP_UPDATE")) {
		FILE *golden = fopen(path, "w");

		assert_non_null(golden);
		assert_true(fputs(text, golden) >= 0);
		assert_int_equal(fclose(golden), 0);
		return;
	}
	if (seep_file_read(path, 1 << 20, &expected, NULL, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(text, expected);
	free(expected);
}

#endif
