/* SPDX-License-Identifier: MIT */
#include "profile/context_hash.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "core/fnv.h"
#include "core/stack_hash.h"
#include "profile/findings.h"
#include "profile/profile.h"

#include <string.h>

enum { MARK_NO_STACK = 1, MARK_OTHER = 2, MARK_TRUNCATED = 4, MARK_CUT = 8, MARK_SITE = 16 };

size_t seep_name_lambda_bytes(const char *name, const char *at)
{
	const size_t digits = *at ? strspn(at + 1, "0123456789") : 0;

	/* {lambda(int)#2} of gcc, {closure#0} of Rust, $_3 of clang. */
	if (digits > 0 &&
	    ((*at == '#' && at[1 + digits] == '}') || (*at == '_' && at > name && at[-1] == '$')))
		return 1 + digits;
	if (*at != ':' || digits == 0 || at - name < 8 ||
	    (memcmp(at - 7, "{lambda", 7) != 0 && memcmp(at - 8, "{closure", 8) != 0))
		return 0;
	return 1 + digits;
}

static uint64_t fnv_function(uint64_t hash, const char *name)
{
	for (const char *at = name; *at != '\0';) {
		const size_t line = seep_name_lambda_bytes(name, at);

		if (line == 0)
			hash = core_fnv_byte(hash, (uint8_t)*at);
		at += line > 0 ? line : 1;
	}
	return core_fnv_byte(hash, 0);
}

static uint64_t hash_frame(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame)
{
	const struct seep_profile_module *module;
	const char *path;

	if (frame->function)
		return fnv_function(core_fnv_byte(CORE_FNV_BASIS, 'F'), frame->function);
	if (frame->module == 0 || frame->module > profile->module_count)
		return core_fnv_byte(CORE_FNV_BASIS, 'A');
	module = &profile->modules[frame->module - 1];
	if (module->build_id_bytes > 0)
		return core_fnv_number(core_fnv_bytes(core_fnv_byte(CORE_FNV_BASIS, 'B'),
						      module->build_id, module->build_id_bytes),
				       frame->address);
	path = module->path ? seep_path_base(module->path) : "";
	return core_fnv_number(
		core_fnv_bytes(core_fnv_byte(CORE_FNV_BASIS, 'P'), path, strlen(path) + 1),
		frame->address);
}

/* @frames: the hash of each frame, 0 = not made yet. */
static uint64_t hash_context(const struct seep_profile *profile,
			     const struct seep_profile_context *context, uint64_t *frames)
{
	uint64_t hash = core_fnv_byte(CORE_FNV_BASIS, context->kind);
	const int marks = context->no_stack * MARK_NO_STACK | context->other * MARK_OTHER |
			  context->truncated * MARK_TRUNCATED | context->cut * MARK_CUT |
			  context->site * MARK_SITE;

	hash = core_fnv_byte(hash, (uint8_t)marks);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const uint32_t frame = context->stack[i].frame;

		if (frames[frame] == 0)
			frames[frame] = hash_frame(profile, &profile->frames[frame]);
		hash = core_fnv_number(core_fnv_byte(hash, context->stack[i].period),
				       frames[frame]);
	}
	return hash;
}

void seep_profile_hash_contexts(struct seep_profile *profile)
{
	SEEP_FREED uint64_t *frames = seep_xcalloc(profile->frame_count, sizeof(*frames));

	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].hash == 0)
			profile->contexts[i].hash = hash_context(profile, &profile->contexts[i],
								 frames);
	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (profile->leaks[i].context)
			profile->leaks[i].hash =
				profile->contexts[profile->leaks[i].context - 1].hash;
	seep_findings_merge(profile);
}

uint64_t seep_profile_lines_hash(const struct seep_profile *profile,
				 const struct seep_profile_context *context)
{
	uint64_t hash = context->hash;

	for (uint32_t i = 0; i < context->stack_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[context->stack[i].frame];
		const char *file = frame->file ?: "";

		hash = core_fnv_number(hash, frame->line ?: frame->address);
		hash = core_fnv_number(core_fnv_bytes(hash, file, strlen(file)), frame->module);
	}
	return hash;
}

uint64_t seep_profile_copies_hash(const struct seep_profile *profile,
				  const struct seep_profile_context *context)
{
	const char *thread = context->thread ?: "";
	uint64_t hash = seep_profile_lines_hash(profile, context);

	hash = core_fnv_bytes(hash, thread, strlen(thread) + !!context->thread);
	return core_fnv_number(hash, (uint64_t)context->scope << 8 | context->align_log2);
}

uint64_t seep_profile_stack_hash(const struct seep_profile *profile,
				 const struct seep_profile_context *context)
{
	uint64_t hash = core_stack_hash_begin(context->kind);

	for (uint32_t i = context->stack_count; i > 0; i--) {
		const struct seep_profile_frame *frame =
			&profile->frames[context->stack[i - 1].frame];
		const char *path = seep_profile_frame_path(profile, frame);
		const char *name = path ? seep_path_base(path) : "";

		if (!frame->inlined)
			hash = core_stack_hash_frame(hash, name, strlen(name), frame->address);
	}
	return hash;
}

uint64_t seep_profile_stack_allocs(const struct seep_profile *profile, uint64_t stack_hash)
{
	uint64_t allocs = 0;

	for (uint32_t i = 0; i < profile->context_count; i++)
		if (seep_profile_stack_hash(profile, &profile->contexts[i]) == stack_hash)
			allocs += profile->contexts[i].allocs;
	return allocs;
}
