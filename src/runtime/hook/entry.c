/* SPDX-License-Identifier: MIT */
/*
 * What is called in place of a function that begins with a jump to us: before it, the function
 * itself, and after it. Compilers that see caller and callee at once know which registers the callee
 * leaves alone (gcc's -fipa-ra), and keep what they need there. So all that a function may change are
 * put back both times: what its caller finds changed, it has changed itself.
 *
 * An allocator calls itself: calloc by way of malloc, realloc by way of both. What it does inside of
 * what we record is not recorded, but for frees of blocks that are.
 */
#include "runtime/hook/entry.h"

#include "runtime/hook/hook.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/resize.h"
#include "runtime/unwind/modules.h"

/* On the stack, below the frame. */
struct entry_call {
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11;
	uint64_t next; /* what is to be called */
	uint64_t vectors[2 * 16];
	/* Of before(), for after(). */
	struct rt_resize resize;
	void *block;
	uint64_t size;
	uint32_t align_log2;
	enum ledger_kind kind;
	bool passes, is_inside, is_resized;
};

/* As the code below has it. */
_Static_assert(sizeof(struct entry_call) <= 496, "frame");
_Static_assert(offsetof(struct entry_call, next) == 72, "next");
_Static_assert(offsetof(struct entry_call, vectors) == 80, "vectors");

/* Whoever left it by an exception, or a longjmp, is not in it any more: the stack says so. */
bool rt_entry_is_inside(const void *frame)
{
	const struct rt_thread *thread = rt_tls.thread;
	const uintptr_t inner = (uintptr_t)frame;
	const uint32_t stack_bytes = 1 << 20;
	uintptr_t outer;

	if (!thread || !thread->last_row.entered)
		return false;
	outer = inner + (uint32_t)(thread->last_row.entered - (uint32_t)inner);
	return outer - inner - 1 < stack_bytes && rt_walk_is_inside(frame, outer);
}

static void before_free(struct entry_call *call, const void *frame)
{
	const uintptr_t caller = ((const uintptr_t *)frame)[1];
	void *block = call->block;

	if (!block)
		return;
	if (!call->is_inside ||
	    (rt_mine.control && rt_block_at((uintptr_t)block, rt_global.granule_shift).value))
		rt_forget_slow(block, rt_free_by(LEDGER_FREEING_NONE), frame);
	if (RT_UNLIKELY(caller - rt_global.loader_start < rt_global.loader_bytes))
		rt_modules_unloaded(frame);
}

static void before_resize(struct entry_call *call, uint64_t size, const void *frame)
{
	call->size = size;
	call->kind = LEDGER_KIND_REALLOC;
	call->is_resized = call->block && !call->is_inside && rt_mine.control;
	if (!call->is_resized)
		return;
	rt_resize_say(rt_thread_self(), call->block);
	rt_resize_begin(call->block, frame, &call->resize);
	call->resize.flags = LEDGER_CELL_FOREIGN;
}

/* What wraps cannot be had: the function fails. */
static uint64_t product(uint64_t count, uint64_t size)
{
	uint64_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

__attribute__((used)) static void before_entry(struct entry_call *call,
					       const struct ledger_entry *entry, const void *frame)
{
	struct rt_thread *thread;

	call->next = entry->next;
	call->passes = !rt_load_acquire(&rt_entries_led);
	if (call->passes)
		return;
	/* In a forked child it is made now. */
	(void)rt_control();
	call->is_inside = rt_entry_is_inside(frame);
	call->is_resized = false;
	call->block = (void *)call->rdi;
	call->size = call->rdi;
	call->align_log2 = 0;
	call->kind = LEDGER_KIND_MALLOC;
	switch ((enum ledger_entry_form)entry->form) {
	case LEDGER_ENTRY_ALLOC:
		break;
	case LEDGER_ENTRY_ALLOC_MANY:
		call->size = product(call->rdi, call->rsi);
		call->kind = LEDGER_KIND_CALLOC;
		break;
	case LEDGER_ENTRY_ALIGNED:
	case LEDGER_ENTRY_POSIX:
		call->size = entry->form == LEDGER_ENTRY_POSIX ? call->rdx : call->rsi;
		call->align_log2 = rt_log2_of(entry->form == LEDGER_ENTRY_POSIX ? call->rsi
										: call->rdi);
		call->kind = LEDGER_KIND_MEMALIGN;
		break;
	case LEDGER_ENTRY_RESIZE:
		before_resize(call, call->rsi, frame);
		break;
	case LEDGER_ENTRY_RESIZE_MANY:
		before_resize(call, product(call->rsi, call->rdx), frame);
		break;
	case LEDGER_ENTRY_FREE:
		before_free(call, frame);
		break;
	}
	if (call->is_inside)
		return;
	thread = rt_mine.control ? rt_thread_self() : NULL;
	if (!thread)
		return;
	thread->last_row.entered = (uint32_t)(uintptr_t)frame;
	rt_note_unseen(LEDGER_UNSEEN_MODULES_OWN);
}

__attribute__((used)) static void after_entry(struct entry_call *call,
					      const struct ledger_entry *entry, const void *frame)
{
	void *after = (void *)call->rax;

	if (call->passes || call->is_inside)
		return;
	if (rt_tls.thread)
		rt_tls.thread->last_row.entered = 0;
	if (entry->form == LEDGER_ENTRY_FREE)
		return;
	if (entry->form == LEDGER_ENTRY_POSIX)
		after = (int)call->rax == 0 ? *(void **)call->block : NULL;
	if (call->is_resized) {
		rt_resize_end(&call->resize, call->block, after, call->size, frame);
		rt_resize_say(rt_tls.thread, NULL);
	} else {
		(void)rt_record_slow(after, call->size,
				     rt_alloc(call->kind, call->align_log2, LEDGER_CELL_FOREIGN),
				     frame);
	}
}

#define STORE(n, at) "movups %xmm" #n ", " #at "(%rsp)\n"
#define LOAD(n, at) "movups " #at "(%rsp), %xmm" #n "\n"
#define VECTORS(X) \
	X(0, 80)   \
	X(1, 96)   \
	X(2, 112)  \
	X(3, 128)  \
	X(4, 144)  \
	X(5, 160)  \
	X(6, 176)  \
	X(7, 192)  \
	X(8, 208) X(9, 224) X(10, 240) X(11, 256) X(12, 272) X(13, 288) X(14, 304) X(15, 320)
#define SET(name, at) "mov %" #name ", " #at "(%rsp)\n"
#define GET(name, at) "mov " #at "(%rsp), %" #name "\n"
#define REGISTERS(X) \
	X(rax, 0)    \
	X(rcx, 8) X(rdx, 16) X(rsi, 24) X(rdi, 32) X(r8, 40) X(r9, 48) X(r10, 56) X(r11, 64)
#define SAVE REGISTERS(SET) VECTORS(STORE)
#define RESTORE VECTORS(LOAD) REGISTERS(GET)
#define TELL(function) \
	SAVE "mov %rsp, %rdi\nmov -8(%rbp), %rsi\nmov %rbp, %rdx\ncall " #function "\n" RESTORE

/* The stub has pushed rbp, as functions do, and left the entry's address there. */
__asm__(".pushsection .text\n"
	".type rt_entry_code, @function\n"
	"rt_entry_code:\n"
	".cfi_startproc\n"
	".cfi_def_cfa rsp, 16\n"
	".cfi_offset rbp, -16\n"
	"endbr64\n"
	"push %rbp\n"
	"lea 8(%rsp), %rbp\n"
	".cfi_def_cfa rbp, 16\n"
	"sub $504, %rsp\n" TELL(before_entry) "call *72(%rsp)\n" TELL(
		after_entry) "leave\n"
			     ".cfi_def_cfa rsp, 8\n"
			     "ret\n"
			     ".cfi_endproc\n"
			     ".size rt_entry_code, . - rt_entry_code\n"
			     ".popsection\n");

extern const char rt_entry_code[] RT_HIDDEN;

static __attribute__((constructor)) void offer_hook(void)
{
	rt_entries_hook = (uintptr_t)rt_entry_code;
}
