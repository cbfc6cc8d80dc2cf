/* SPDX-License-Identifier: MIT */
/*
 * What programs say of their scopes: the functions of seep.h. And longjmp(), which leaves scopes without
 * a word; it is forwarded as it came.
 */
#include "seep/seep.h"

#include "runtime/hook/exported.h"
#include "runtime/life/start.h"
#include "runtime/track/label.h"
#include "runtime/track/scope.h"
#include "runtime/track/scope_handle.h"
#include "runtime/track/thread.h"

#include <string.h>

/* In bookkeeping. NULL: the process is not recorded, or a handler has interrupted bookkeeping. */
RT_INLINE struct rt_thread *begin(const void *frame)
{
	struct rt_thread *thread = rt_mine.control || rt_control() ? rt_thread_self() : NULL;

	if (RT_LIKELY(thread != NULL) && RT_LIKELY(rt_enter(thread, frame) != NULL))
		return thread;
	rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
	return NULL;
}

static uint32_t label_of(const char *text)
{
	const char *named = text && *text ? text : "(no tag)";

	return rt_label(named, strnlen(named, RT_LABEL_BYTES));
}

static uint32_t tag_of(struct seep_tag *tag)
{
	uint32_t label = __atomic_load_n(&tag->number, __ATOMIC_RELAXED);

	if (RT_LIKELY(label - 1 < RT_LABELS_MAX - 1))
		return label;
	label = label_of(tag->text);
	__atomic_store_n(&tag->number, label, __ATOMIC_RELAXED);
	return label;
}

RT_EXPORT void seep_rt_scope_enter(struct seep_tag *tag, const void *scope)
{
	const void *frame = __builtin_frame_address(0);
	struct rt_thread *thread = begin(frame);

	if (!thread)
		return;
	rt_scope_enter(thread, tag_of(tag), scope, frame);
	rt_leave(thread);
}

RT_EXPORT void seep_rt_scope_leave(const void *scope)
{
	struct rt_thread *thread = begin(__builtin_frame_address(0));

	if (!thread)
		return;
	rt_scope_leave(thread, scope);
	rt_leave(thread);
}

RT_EXPORT unsigned long long seep_rt_scope_begin(const char *tag)
{
	struct rt_thread *thread = begin(__builtin_frame_address(0));
	uint64_t handle;

	if (!thread)
		return 0;
	handle = rt_scope_begin(thread, label_of(tag));
	rt_leave(thread);
	return handle;
}

RT_EXPORT int seep_rt_scope_move(enum seep_scope_move move, unsigned long long handle)
{
	struct rt_thread *thread = begin(__builtin_frame_address(0));
	bool done = false;

	if (!thread)
		return -1;
	switch (move) {
	case SEEP_SCOPE_END:
		done = rt_scope_end(thread, handle);
		break;
	case SEEP_SCOPE_SUSPEND:
		done = rt_scope_suspend(thread, handle);
		break;
	case SEEP_SCOPE_RESUME:
		done = rt_scope_resume(thread, handle);
		break;
	}
	rt_leave(thread);
	return done ? 0 : -1;
}

/*
 * glibc keeps the stack pointer in a jmp_buf so: first in exclusive-or with the thread's pointer guard, then
 * turned left by 17 bits.
 */
enum { JUMP_SP = 6, JUMP_TURNED = 17, POINTER_GUARD = 0x30 };

static uintptr_t sp_of(const uintptr_t *buffer)
{
	const uintptr_t turned = buffer[JUMP_SP];
	uintptr_t guard;

	__asm__("movq %%fs:%c1, %0" : "=r"(guard) : "i"(POINTER_GUARD));
	return (turned >> JUMP_TURNED | turned << (64 - JUMP_TURNED)) ^ guard;
}

static void jump(const uintptr_t *buffer, const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;

	rt_next_find();
	if (!thread || !thread->scopes)
		return;
	if (rt_enter(thread, frame)) {
		rt_scope_jump(thread, sp_of(buffer), frame);
		rt_leave(thread);
	} else if (sp_of(buffer) > rt_load(&thread->jumped_to)) {
		rt_store(&thread->jumped_to, sp_of(buffer));
	}
}

#define JUMPS(symbol)                                         \
	JUMP(symbol, "");                                     \
	FROM_ASM void *next_##symbol(const uintptr_t *buffer) \
	{                                                     \
		jump(buffer, __builtin_frame_address(0));     \
		return (void *)(uintptr_t)(rt_next.symbol);   \
	}

JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)
