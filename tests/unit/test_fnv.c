/* SPDX-License-Identifier: MIT */
/* FNV-1a against the published values, since recordings of all versions are joined by it. */
#include "core/fnv.h"
#include "unit.h"

#include <string.h>

TEST(hashes_are_the_published_ones)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} cases[] = {
		{ "", 0xcbf29ce484222325 },
		{ "a", 0xaf63dc4c8601ec8c },
		{ "foobar", 0x85944171f73967e8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(core_fnv_bytes(CORE_FNV_BASIS, cases[i].text, strlen(cases[i].text)) ==
			    cases[i].hash);
}

TEST(a_hash_goes_on_from_what_was_hashed_before)
{
	uint64_t hash = core_fnv_bytes(CORE_FNV_BASIS, "foo", 3);

	hash = core_fnv_byte(hash, 'b');
	assert_true(core_fnv_bytes(hash, "ar", 2) == core_fnv_bytes(CORE_FNV_BASIS, "foobar", 6));
}
