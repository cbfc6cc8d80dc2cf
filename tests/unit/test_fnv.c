/* SPDX-License-Identifier: MIT */
/* FNV-1a against the published values, since recordings of all versions are joined by it. */
#include "core/fnv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void hashes_are_the_published_ones(void **state)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} cases[] = {
		{ "", 0xcbf29ce484222325 },
		{ "a", 0xaf63dc4c8601ec8c },
		{ "foobar", 0x85944171f73967e8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(core_fnv_bytes(CORE_FNV_BASIS, cases[i].text, strlen(cases[i].text)) ==
			    cases[i].hash);
}

static void a_hash_goes_on_from_what_was_hashed_before(void **state)
{
	uint64_t hash = core_fnv_bytes(CORE_FNV_BASIS, "foo", 3);

	(void)state;
	hash = core_fnv_byte(hash, 'b');
	assert_true(core_fnv_bytes(hash, "ar", 2) == core_fnv_bytes(CORE_FNV_BASIS, "foobar", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_the_published_ones),
		cmocka_unit_test(a_hash_goes_on_from_what_was_hashed_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
