/* SPDX-License-Identifier: MIT */
/* What programs ask of the blocks that are alive now: by call stack. */
#include "seep/seep.h"

#include "runtime/hook/exported.h"
#include "runtime/life/start.h"
#include "runtime/sys/sys.h"
#include "runtime/track/label.h"
#include "runtime/track/live_contexts.h"
#include "runtime/track/scope.h"

#include <string.h>

/* What is told of one context: too much for a stack that may be tiny. */
struct told {
	uintptr_t frames[RT_LIVE_FRAMES_MAX];
	char thread[RT_LABEL_BYTES + 1];
	char scope[1024];
};

static const char *kind_of(const struct ledger_context *context)
{
#define NAME(constant, name, family, aligned) name,
	static const char *const names[] = { LEDGER_KINDS(NAME) };

	const uint8_t kind = __atomic_load_n(&context->kind, __ATOMIC_RELAXED);

	/* "No stack" is of all kinds. */
	return context->leaf && kind < LEDGER_KIND_COUNT ? names[kind] : "";
}

static bool has_more_bytes(const struct rt_live *a, const struct rt_live *b)
{
	return a->bytes != b->bytes ? a->bytes > b->bytes : a->context < b->context;
}

static void describe(const struct rt_live *live, struct told *told, struct seep_context *ret)
{
	const struct ledger_context *context = rt_live_context(live);

	*ret = (struct seep_context){
		.blocks = live->blocks,
		.bytes = live->bytes,
		.frames = (const void *const *)told->frames,
		.frame_count = rt_live_frames(live, told->frames, RT_LIVE_FRAMES_MAX),
		.is_inherited = live->context == RT_LIVE_INHERITED,
		.kind = "",
		.thread = told->thread,
		.scope = "",
	};
	told->thread[0] = '\0';
	if (context) {
		const char *text;
		size_t bytes = rt_label_say(rt_label_find(context->thread), &text);

		memcpy(told->thread, text, bytes);
		told->thread[bytes] = '\0';
		ret->scope = rt_scope_say(__atomic_load_n(&context->scope, __ATOMIC_RELAXED),
					  told->scope, sizeof(told->scope));
		ret->kind = kind_of(context);
	}
}

RT_EXPORT long seep_rt_contexts_each(seep_contexts_hook *hook, void *user)
{
	const uint32_t first_row = rt_control() ? rt_load(&rt_mine.first_row) : 0;
	struct told *told = first_row && hook ? rt_scratch_take(sizeof(*told)) : NULL;
	struct rt_lives lives = { 0 };
	struct seep_context context;
	long count = 0;

	if (told)
		rt_lives_take(&lives, false, has_more_bytes);
	/* A child that is forked in the hook has another ledger. */
	for (bool go_on = lives.items;
	     go_on && (uint64_t)count < lives.count && rt_load(&rt_mine.first_row) == first_row;
	     count++) {
		describe(&lives.items[count], told, &context);
		go_on = hook(&context, user) == 0;
	}
	if (!lives.items)
		count = -1;
	rt_lives_give(&lives);
	rt_scratch_give(told);
	return count;
}
