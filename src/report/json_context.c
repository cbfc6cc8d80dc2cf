/* SPDX-License-Identifier: MIT */
/* Contexts in JSON. This is nearly all of a document's bytes. */
#include "report/json_context.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "profile/kind_name.h"

/* repeats of a stack entry that are this many or more */
enum { REPEATS_SATURATED = 65535 };

/* Of frames that are kept as text; the others are written anew each time. */
enum { KEPT_BYTES_MAX = 128 << 20 };

static void write_folded(struct seep_json *json, const struct seep_profile_stack_entry *entry)
{
	if (entry->period == 0) {
		seep_json_null(json, "folded");
		return;
	}
	seep_json_open_object(json, "folded");
	seep_json_int(json, "period", entry->period);
	seep_json_int(json, "repeats", entry->repeats);
	seep_json_bool(json, "or_more", entry->repeats == REPEATS_SATURATED);
	seep_json_close(json);
}

static void write_line(struct seep_json *json, uint32_t line)
{
	if (line == 0)
		seep_json_null(json, "line");
	else
		seep_json_int(json, "line", line);
}

static void write_place(struct seep_json *json, const struct seep_profile *profile,
			const struct seep_profile_frame *frame)
{
	const struct seep_profile_module *module;

	if (frame->module == 0 || frame->module > profile->module_count) {
		seep_json_null(json, "module");
		seep_json_null(json, "build_id");
		seep_json_null(json, "offset");
		seep_json_u64(json, "address", frame->address);
		return;
	}
	module = &profile->modules[frame->module - 1];
	seep_json_text(json, "module", module->path);
	seep_json_hex(json, "build_id", module->build_id, module->build_id_bytes);
	seep_json_u64(json, "offset", frame->address);
	seep_json_u64(json, "address", frame->address + module->bias);
}

struct one_frame {
	const struct seep_profile *profile;
	const struct seep_profile_stack_entry *entry;
};

static void write_frame(struct seep_json *json, const void *user)
{
	const struct one_frame *one = user;
	const struct seep_profile_frame *frame = &one->profile->frames[one->entry->frame];

	seep_json_open_object(json, NULL);
	seep_json_text(json, "function", frame->function);
	seep_json_text(json, "file", frame->file);
	write_line(json, frame->line);
	write_place(json, one->profile, frame);
	seep_json_bool(json, "exact", frame->exact);
	seep_json_bool(json, "inlined", frame->inlined);
	write_folded(json, one->entry);
	seep_json_close(json);
}

void seep_json_frames_init(struct seep_json_frames *frames, const struct seep_profile *profile)
{
	*frames = (struct seep_json_frames){ .profile = profile };
	frames->texts = seep_xcalloc(profile->frame_count, sizeof(*frames->texts));
}

void seep_json_frames_done(struct seep_json_frames *frames)
{
	for (uint32_t i = 0; i < frames->profile->frame_count; i++)
		free(frames->texts[i].text);
	free(frames->texts);
}

/* Without recursion a frame is the same wherever it stands. */
static void write_entry(struct seep_json *json, struct seep_json_frames *frames,
			const struct seep_profile_stack_entry *entry)
{
	const struct one_frame one = { frames->profile, entry };
	struct seep_json_frame_text *text = &frames->texts[entry->frame];

	if (entry->period > 0 || (!text->text && frames->bytes > KEPT_BYTES_MAX)) {
		write_frame(json, &one);
		return;
	}
	if (!text->text) {
		text->text = seep_json_capture(json, write_frame, &one, &text->bytes);
		frames->bytes += text->bytes;
	}
	seep_json_captured(json, NULL, text->text, text->bytes);
}

static void write_frames(struct seep_json *json, struct seep_json_frames *frames,
			 const struct seep_profile_context *context)
{
	seep_json_open_array(json, "frames");
	for (uint32_t i = 0; i < context->stack_count; i++)
		write_entry(json, frames, &context->stack[i]);
	seep_json_close(json);
}

static void write_epochs(struct seep_json *json, const struct seep_profile_context *context)
{
	seep_json_open_array(json, "epochs");
	for (uint32_t i = 0; i < context->epoch_count; i++) {
		seep_json_open_object(json, NULL);
		seep_json_int(json, "epoch", context->epochs[i].epoch);
		seep_json_u64(json, "blocks", context->epochs[i].blocks);
		seep_json_u64(json, "bytes", context->epochs[i].bytes);
		seep_json_close(json);
	}
	seep_json_close(json);
}

/* What is unusual about it. */
static void write_flags(struct seep_json *json, const struct seep_profile_context *context)
{
	const struct {
		bool set;
		const char *name;
	} flags[] = {
		{ context->cut, "cut" },
		{ context->by_frame_pointer, "by-frame-pointer" },
		{ context->no_stack, "no-stack" },
		{ context->other, "other" },
		{ context->in_doubt, "in-doubt" },
	};

	seep_json_open_array(json, "flags");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].set)
			seep_json_text(json, NULL, flags[i].name);
	seep_json_close(json);
}

void seep_json_context(struct seep_json *json, struct seep_json_frames *frames,
		       const struct seep_profile_context *context)
{
	seep_json_open_object(json, NULL);
	seep_json_int(json, "id", context->id);
	seep_json_hash(json, "hash", context->hash);
	seep_json_text(json, "kind", seep_profile_kind_name(context->kind));
	if (context->align_log2 > 0 && context->align_log2 < 64)
		seep_json_u64(json, "align_bytes", UINT64_C(1) << context->align_log2);
	else
		seep_json_null(json, "align_bytes");
	seep_json_text(json, "thread", context->thread);
	seep_json_text(json, "scope", context->scope);
	seep_json_u64(json, "first_ns", context->first_ns);
	seep_json_u64(json, "allocs", context->allocs);
	seep_json_u64(json, "alloc_bytes", context->alloc_bytes);
	seep_json_u64(json, "frees", context->frees);
	seep_json_u64(json, "freed_bytes", context->freed_bytes);
	seep_json_u64(json, "live_blocks", context->live_blocks);
	seep_json_u64(json, "live_bytes", context->live_bytes);
	seep_json_u64(json, "peak_blocks", context->peak_blocks);
	seep_json_u64(json, "peak_bytes", context->peak_bytes);
	seep_json_u64(json, "temporary", context->temporary);
	seep_json_bool(json, "truncated", context->truncated);
	write_flags(json, context);
	write_epochs(json, context);
	seep_json_null(json, "growth");
	write_frames(json, frames, context);
	seep_json_close(json);
}
