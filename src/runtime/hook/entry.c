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
	bool is_inside, is_resized, begun;
};

/* As the code below has it. */
_Static_assert(sizeof(struct entry_call) <= 496, "frame");
_Static_assert(offsetof(struct entry_call, next) == 72, "next");
_Static_assert(offsetof(struct entry_call, vectors) == 80, "vectors");

#define ENTERED_AT 16 /* below the frame: struct entry_call lies further below */

static const struct ledger_entry_page *taken[LEDGER_ENTRY_MODULES_MAX];

/* Whoever left it by an exception, or a longjmp, is not in it any more, and another uses its stack. */
bool rt_entry_is_inside(const void *frame)
{
	const uintptr_t outer = rt_tls.entered, inner = (uintptr_t)frame;
	const uintptr_t stack_bytes = 1 << 20;

	return outer > inner && outer - inner < stack_bytes &&
	       *(const uintptr_t *)(outer - ENTERED_AT) == outer;
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
	call->is_resized = call->block != NULL;
	if (!call->is_resized || call->is_inside)
		return;
	call->begun = rt_resize_enter(call->block, frame, &call->resize);
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
	const bool is_inside = rt_tls.entered && rt_entry_is_inside(frame);

	call->next = entry->next;
	call->is_inside = is_inside;
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
	if (is_inside)
		return;
	*(uintptr_t *)((uintptr_t)frame - ENTERED_AT) = (uintptr_t)frame;
	rt_tls.entered = (uintptr_t)frame;
}

__attribute__((used)) static void after_entry(struct entry_call *call,
					      const struct ledger_entry *entry, const void *frame)
{
	void *after = (void *)call->rax;

	if (call->is_inside)
		return;
	rt_tls.entered = 0;
	*(uintptr_t *)((uintptr_t)frame - ENTERED_AT) = 0;
	if (entry->form == LEDGER_ENTRY_FREE)
		return;
	if (entry->form == LEDGER_ENTRY_POSIX)
		after = (int)call->rax == 0 ? *(void **)call->block : NULL;
	if (call->is_resized)
		rt_resize_leave(call->begun, &call->resize, call->block, after, call->size, frame);
	else
		(void)rt_record_slow(after, call->size,
				     rt_alloc(call->kind, call->align_log2, LEDGER_CELL_FOREIGN),
				     frame);
}

#define VECTOR(move, n, at) move("%xmm" #n, #at "(%rsp)")
#define STORE(what, where) "movups " what ", " where "\n"
#define LOAD(what, where) "movups " where ", " what "\n"
#define VECTORS(move)                                                                             \
	VECTOR(move, 0, 80)                                                                       \
	VECTOR(move, 1, 96)                                                                       \
	VECTOR(move, 2, 112) VECTOR(move, 3, 128) VECTOR(move, 4, 144) VECTOR(move, 5, 160)       \
		VECTOR(move, 6, 176) VECTOR(move, 7, 192) VECTOR(move, 8, 208)                    \
			VECTOR(move, 9, 224) VECTOR(move, 10, 240) VECTOR(move, 11, 256)          \
				VECTOR(move, 12, 272) VECTOR(move, 13, 288) VECTOR(move, 14, 304) \
					VECTOR(move, 15, 320)
#define SET(what, where) "mov " what ", " where "\n"
#define GET(what, where) "mov " where ", " what "\n"
#define REGISTERS(move)                                                                   \
	move("%rax", "(%rsp)") move("%rcx", "8(%rsp)") move("%rdx", "16(%rsp)")           \
		move("%rsi", "24(%rsp)") move("%rdi", "32(%rsp)") move("%r8", "40(%rsp)") \
			move("%r9", "48(%rsp)") move("%r10", "56(%rsp)") move("%r11", "64(%rsp)")
#define TELL(function)                         \
	REGISTERS(SET)                         \
	VECTORS(STORE)                         \
	"mov %rsp, %rdi\nmov -8(%rbp), %rsi\n" \
	"mov %rbp, %rdx\ncall " #function "\n" VECTORS(LOAD) REGISTERS(GET)

/* The stub has pushed rbp, as functions do, and left the entry's address there. */
__asm__(".pushsection .text\n"
	".globl seep_rt_entry\n"
	".type seep_rt_entry, @function\n"
	"seep_rt_entry:\n"
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
			     ".size seep_rt_entry, . - seep_rt_entry\n"
			     ".popsection\n");

bool rt_entries_are_asked(const uint64_t *addresses)
{
	return addresses && addresses[0];
}

/* What our own hooks call, such as operator new's, leads past the jump: they record it. */
static void lead_past(const struct ledger_entry *entry)
{
#define CORE_MALLOC(symbol, type, parameters)                       \
	if (entry && (uintptr_t)rt_found.symbol == entry->function) \
		rt_next.symbol = (type(*) parameters)(uintptr_t)entry->next;
#include "core/allocation.def"
}

static const struct ledger_entry *entry_of(uintptr_t address)
{
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX && taken[i]; i++)
		for (size_t j = 0; j < taken[i]->count && j < LEDGER_ENTRIES_MAX; j++)
			if (taken[i]->items[j].function == address)
				return &taken[i]->items[j];
	return NULL;
}

bool rt_entry_is(uintptr_t address)
{
	return entry_of(address) != NULL;
}

static void restore_next(void)
{
#define CORE_MALLOC(symbol, ...)                     \
	if (rt_entry_is((uintptr_t)rt_found.symbol)) \
		rt_next.symbol = rt_found.symbol;
#include "core/allocation.def"
}

bool rt_entries_take(const uint64_t *addresses)
{
	restore_next();
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++)
		taken[i] = NULL;
	/* Something of ours is in between, or cells are too large for blocks of others. */
	if (!rt_entries_are_asked(addresses) || rt_next.malloc != rt_found.malloc ||
	    rt_global.granule_shift != LEDGER_GRANULE_SHIFT_OTHER)
		return false;
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++)
		taken[i] = (const struct ledger_entry_page *)addresses[i];
#define CORE_MALLOC(symbol, ...) lead_past(entry_of((uintptr_t)rt_found.symbol));
#include "core/allocation.def"
	return true;
}
