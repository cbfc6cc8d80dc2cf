/* SPDX-License-Identifier: MIT */
#include "profile/context_hash.h"

#include "base/xalloc.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#define FNV_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

enum { MARK_NO_STACK = 1, MARK_OTHER = 2, MARK_TRUNCATED = 4, MARK_CUT = 8 };

static uint64_t fnv_byte(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * FNV_PRIME;
}

static uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = fnv_byte(hash, at[i]);
	return hash;
}

static uint64_t fnv_number(uint64_t hash, uint64_t number)
{
	for (int shift = 0; shift < 64; shift += 8)
		hash = fnv_byte(hash, (uint8_t)(number >> shift));
	return hash;
}

static uint64_t fnv_string(uint64_t hash, const char *text)
{
	return fnv_byte(fnv_bytes(hash, text, strlen(text)), 0);
}

static const char *last_component(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return "";
	return slash ? slash + 1 : path;
}

static uint64_t hash_frame(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame)
{
	const struct seep_profile_module *module = NULL;

	if (frame->function)
		return fnv_string(fnv_byte(FNV_BASIS, 'F'), frame->function);
	if (frame->module > 0 && frame->module <= profile->module_count)
		module = &profile->modules[frame->module - 1];
	if (!module)
		return fnv_byte(FNV_BASIS, 'A');
	if (module->build_id_bytes > 0)
		return fnv_number(fnv_bytes(fnv_byte(FNV_BASIS, 'B'), module->build_id,
					    module->build_id_bytes),
				  frame->address);
	return fnv_number(fnv_string(fnv_byte(FNV_BASIS, 'P'), last_component(module->path)),
			  frame->address);
}

static uint64_t hash_context(const struct seep_profile_context *context, const uint64_t *frames)
{
	uint64_t hash = fnv_byte(FNV_BASIS, context->kind);
	int marks = 0;

	marks |= context->no_stack ? MARK_NO_STACK : 0;
	marks |= context->other ? MARK_OTHER : 0;
	marks |= context->truncated ? MARK_TRUNCATED : 0;
	marks |= context->cut ? MARK_CUT : 0;
	hash = fnv_byte(hash, (uint8_t)marks);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		hash = fnv_byte(hash, context->stack[i].period);
		hash = fnv_number(hash, frames[context->stack[i].frame]);
	}
	return hash;
}

void seep_profile_hash_contexts(struct seep_profile *profile)
{
	uint64_t *frames = seep_xcalloc((size_t)profile->frame_count + 1, sizeof(*frames));

	for (uint32_t i = 0; i < profile->frame_count; i++)
		frames[i] = hash_frame(profile, &profile->frames[i]);
	for (uint32_t i = 0; i < profile->context_count; i++)
		profile->contexts[i].hash = hash_context(&profile->contexts[i], frames);
	free(frames);
}
