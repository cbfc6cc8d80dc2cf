/* SPDX-License-Identifier: MIT */
#include "profile/context_hash.h"

#include "base/xalloc.h"
#include "core/fnv.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_NO_STACK = 1, MARK_OTHER = 2, MARK_TRUNCATED = 4, MARK_CUT = 8 };
enum { LANES = 4 };

static uint64_t fnv_number(uint64_t hash, uint64_t number)
{
	for (int shift = 0; shift < 64; shift += 8)
		hash = core_fnv_byte(hash, (uint8_t)(number >> shift));
	return hash;
}

static uint64_t fnv_string(uint64_t hash, const char *text)
{
	return core_fnv_byte(core_fnv_bytes(hash, text, strlen(text)), 0);
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
		return fnv_string(core_fnv_byte(CORE_FNV_BASIS, 'F'), frame->function);
	if (frame->module > 0 && frame->module <= profile->module_count)
		module = &profile->modules[frame->module - 1];
	if (!module)
		return core_fnv_byte(CORE_FNV_BASIS, 'A');
	if (module->build_id_bytes > 0)
		return fnv_number(core_fnv_bytes(core_fnv_byte(CORE_FNV_BASIS, 'B'),
						 module->build_id, module->build_id_bytes),
				  frame->address);
	return fnv_number(
		fnv_string(core_fnv_byte(CORE_FNV_BASIS, 'P'), last_component(module->path)),
		frame->address);
}

/* Before its frames. */
static uint64_t hash_start(const struct seep_profile_context *context)
{
	int marks = 0;

	marks |= context->no_stack ? MARK_NO_STACK : 0;
	marks |= context->other ? MARK_OTHER : 0;
	marks |= context->truncated ? MARK_TRUNCATED : 0;
	marks |= context->cut ? MARK_CUT : 0;
	return core_fnv_byte(core_fnv_byte(CORE_FNV_BASIS, context->kind), (uint8_t)marks);
}

static uint64_t hash_entry(uint64_t hash, const struct seep_profile_stack_entry *entry,
			   const uint64_t *frames)
{
	return fnv_number(core_fnv_byte(hash, entry->period), frames[entry->frame]);
}

/*
 * Each byte waits for the multiplication of the one before it, so several contexts are hashed side
 * by side as far as the shortest of them goes.
 */
static void hash_together(struct seep_profile_context *const *contexts, uint32_t count,
			  const uint64_t *frames)
{
	uint32_t shared = UINT32_MAX;
	uint64_t hashes[LANES];

	for (uint32_t k = 0; k < count; k++) {
		hashes[k] = hash_start(contexts[k]);
		if (contexts[k]->stack_count < shared)
			shared = contexts[k]->stack_count;
	}
	if (count < LANES)
		shared = 0;
	for (uint32_t i = 0; i < shared; i++)
		for (uint32_t k = 0; k < LANES; k++)
			hashes[k] = hash_entry(hashes[k], &contexts[k]->stack[i], frames);
	for (uint32_t k = 0; k < count; k++) {
		for (uint32_t i = shared; i < contexts[k]->stack_count; i++)
			hashes[k] = hash_entry(hashes[k], &contexts[k]->stack[i], frames);
		contexts[k]->hash = hashes[k];
	}
}

void seep_profile_hash_contexts(struct seep_profile *profile)
{
	uint64_t *frames = seep_xcalloc((size_t)profile->frame_count + 1, sizeof(*frames));
	struct seep_profile_context *together[LANES];
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *context = &profile->contexts[i];

		if (context->hash != 0)
			continue;
		for (uint32_t k = 0; k < context->stack_count; k++) {
			uint32_t frame = context->stack[k].frame;

			if (frames[frame] == 0)
				frames[frame] = hash_frame(profile, &profile->frames[frame]);
		}
		together[count++] = context;
		if (count == LANES)
			hash_together(together, count, frames);
		count %= LANES;
	}
	hash_together(together, count, frames);
	free(frames);
}
