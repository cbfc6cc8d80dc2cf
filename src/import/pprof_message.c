/* SPDX-License-Identifier: MIT */
#include "import/pprof_message.h"

#include "base/arena.h"

#include <base/pprof.pb-c.h>

/* What its messages may take in memory; those of real profiles take 8 times their bytes. */
#define UNPACKED_MIN_BYTES (UINT64_C(64) << 20)

enum { UNPACKED_PER_BYTE = 16, FIELD_MAX = 14, WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct memory {
	struct seep_arena *arena;
	uint64_t left;
	bool spent;
};

static void *take(void *allocator_data, size_t bytes)
{
	struct memory *memory = allocator_data;

	if (bytes > memory->left) {
		memory->spent = true;
		return NULL;
	}
	memory->left -= bytes;
	return seep_arena_alloc(memory->arena, bytes);
}

static void give(void *allocator_data, void *pointer)
{
	(void)allocator_data;
	(void)pointer;
}

int seep_pprof_unpack(const char *data, size_t bytes, struct seep_arena *arena,
		      const Pprof__Profile **ret, struct seep_error *err)
{
	struct memory memory = { arena, UNPACKED_MIN_BYTES + UNPACKED_PER_BYTE * bytes, false };
	ProtobufCAllocator allocator = { take, give, &memory };

	*ret = pprof__profile__unpack(&allocator, bytes, (const uint8_t *)data);
	if (*ret)
		return 0;
	if (memory.spent)
		return seep_fail(err, SEEP_ELIMIT,
				 "its messages take more than %d times its bytes in memory",
				 UNPACKED_PER_BYTE);
	return seep_fail(err, SEEP_ECORRUPT, "it is no complete message of profile.proto");
}

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		const uint8_t byte = *(*at)++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

bool seep_pprof_is_one(const uint8_t *head, size_t bytes)
{
	const uint8_t *at = head, *end = head + bytes;
	unsigned fields = 0;

	while (at < end) {
		const unsigned number = *at >> 3, wire = *at & 7;
		const bool is_number = number >= 7 && number != 11;
		uint64_t value;

		if (number == 0 || number > FIELD_MAX ||
		    (wire != (is_number ? WIRE_VARINT : WIRE_BYTES) &&
		     !(number == 13 && wire == WIRE_BYTES)))
			return false;
		at++;
		if (!varint(&at, end, &value))
			return fields > 0;
		fields += !is_number;
		if (wire == WIRE_BYTES)
			at += value < (uint64_t)(end - at) ? value : (uint64_t)(end - at);
	}
	return fields > 0;
}
