/* SPDX-License-Identifier: MIT */
#include "target/divert.h"

#include "target/tracee.h"

#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <ucontext.h>

enum {
	RED_ZONE_BYTES = 128,
	CALL_BYTES = 2, /* of the instruction that makes a system call */
	SIGSETXID = 33, /* the C library's own */
	FLAG_TRAP = 1 << 8,
	FLAG_DIRECTION = 1 << 10,
	FLAG_ALIGNMENT = 1 << 18,
};

/*
 * What the code below does, and knows the offsets of. The code only reads it, so it may lie where the process
 * cannot write; one that is caught writes to its own, which lies in the room. The registers are copied to the
 * thread's stack when all is done, from where the thread goes on alone.
 */
struct block {
	uint64_t count;
	uint64_t stack;
	uint64_t vectors;
	uint64_t errno_location;
	uint64_t first_result;
	uint64_t done_at;
	uint64_t saved_at; /* where registers, flags and rip are, as below */
	uint64_t back_at;  /* and are to be: the last instruction steps over the red zone above */
	uint64_t signals, held_signals; /* to be held, and that were held before */
	uint64_t registers[15];		/* r15 to r8, rbp, rdi, rsi, rdx, rcx, rbx, rax */
	uint64_t flags;
	uint64_t rip;
	char text[SEEP_DIVERSION_TEXT_BYTES];
	struct seep_step steps[SEEP_DIVERSION_STEPS_MAX];
};

enum {
	/* Of a block whose steps are few. */
	SHORT_BLOCK_BYTES = offsetof(struct block, steps) +
			    SEEP_DIVERSION_SHORT * sizeof(struct seep_step),
	SAVED_BYTES = offsetof(struct block, text) - offsetof(struct block, registers),
};

/* Behind the code. Only we write to it. */
struct words {
	uint64_t returns_to; /* of who is caught, and its block */
	uint64_t block;
	struct seep_diversion_note note;
};

_Static_assert(offsetof(struct block, registers) == 80 && SAVED_BYTES == 136 &&
		       offsetof(struct block, steps) == 232 && sizeof(struct seep_step) == 64 &&
		       offsetof(struct seep_step, leaves_out) == 56 &&
		       offsetof(struct words, block) == 8,
	       "what the code below knows");

_Static_assert(SYS_rt_sigprocmask == 14 && SIG_BLOCK == 0 && SIG_SETMASK == 2, "the same");
_Static_assert(sizeof(struct block) <= SEEP_DIVERSION_ROOM_BYTES &&
		       RED_ZONE_BYTES + SAVED_BYTES + sizeof(uint64_t) ==
			       SEEP_DIVERSION_STACK_BYTES,
	       "it is given as much");

/*
 * rbx: the block. Calls keep what a callee keeps: rbp where results go, 0 nowhere; r12 the step, r13 how
 * many are left, r14 and r15 errno and where it is. Signals are held meanwhile, of one that is caught by the
 * code itself: their handlers would stand on another stack, or leave it all undone by a jump. That it is done
 * is said when nothing but the thread's own stack is used any more.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl seep_diversion_code, seep_diversion_caught, seep_diversion_words\n"
	"seep_diversion_code:\n"
	"mov 16(%rbx), %rcx\n"
	"test %rcx, %rcx\n"
	"jz 2f\n"
	"mov $-1, %eax\n"
	"mov $-1, %edx\n"
	"xsave64 (%rcx)\n"
	"2: mov 8(%rbx), %rcx\n"
	"test %rcx, %rcx\n"
	"jz 3f\n"
	"mov %rcx, %rsp\n"
	"3: xor %r15d, %r15d\n"
	"mov 24(%rbx), %rax\n"
	"test %rax, %rax\n"
	"jz 4f\n"
	"call *%rax\n"
	"mov %rax, %r15\n"
	"mov (%r15), %r14d\n"
	/* Results are written from the start, or once one is what it must be. */
	"4: mov 40(%rbx), %rbp\n"
	"cmpq $-1, 32(%rbx)\n"
	"je 5f\n"
	"xor %ebp, %ebp\n"
	"5: lea 232(%rbx), %r12\n"
	"mov (%rbx), %r13\n"
	/* A step. */
	"6: mov (%r12), %rax\n"
	"btr $63, %rax\n"
	"jnc 7f\n"
	"mov (%rbx), %rcx\n"
	"sub %r13, %rcx\n"
	"mov (%rbp, %rcx, 8), %rdx\n"
	"add (%rdx), %rax\n"
	"7: mov 8(%r12), %rdi\n"
	"mov 16(%r12), %rsi\n"
	"mov 24(%r12), %rdx\n"
	"mov 32(%r12), %r10\n"
	"mov 40(%r12), %r8\n"
	"mov 48(%r12), %r9\n"
	"cmp $4096, %rax\n"
	"jae 8f\n"
	"syscall\n"
	"jmp 9f\n"
	"8: mov %r10, %rcx\n"
	"call *%rax\n"
	"9: cmp 32(%rbx), %rax\n"
	"jne 10f\n"
	"mov 40(%rbx), %rbp\n"
	"10: test %rbp, %rbp\n"
	"jz 11f\n"
	"mov (%rbx), %rcx\n"
	"sub %r13, %rcx\n"
	"mov %rax, 8(%rbp, %rcx, 8)\n"
	/* How many are left out. */
	"11: mov 56(%r12), %rcx\n"
	"test %rcx, %rcx\n"
	"jz 14f\n"
	"js 12f\n"
	"test %rax, %rax\n"
	"jz 14f\n"
	"jmp 13f\n"
	"12: neg %rcx\n"
	"test %rax, %rax\n"
	"jnz 14f\n"
	"13: sub %rcx, %r13\n"
	"shl $6, %rcx\n"
	"add %rcx, %r12\n"
	"14: add $64, %r12\n"
	"dec %r13\n"
	"jnz 6b\n"
	/* And back. */
	"test %r15, %r15\n"
	"jz 15f\n"
	"mov %r14d, (%r15)\n"
	"15: mov 16(%rbx), %rcx\n"
	"test %rcx, %rcx\n"
	"jz 16f\n"
	"mov $-1, %eax\n"
	"mov $-1, %edx\n"
	"xrstor64 (%rcx)\n"
	/* To the stack first: what lies below may be a handler's. */
	"16: mov 56(%rbx), %rsp\n"
	"mov %rsp, %rdi\n"
	"mov 48(%rbx), %rsi\n"
	"mov $17, %ecx\n"
	"rep movsq\n"
	"push 72(%rbx)\n"
	"test %rbp, %rbp\n"
	"jz 17f\n"
	"movq $1, (%rbp)\n"
	/* A handler that runs now may leave by a jump. */
	"17: mov $14, %eax\n"
	"mov $2, %edi\n"
	"mov %rsp, %rsi\n"
	"xor %edx, %edx\n"
	"mov $8, %r10d\n"
	"syscall\n"
	"pop %r15\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %r11\n"
	"pop %r10\n"
	"pop %r9\n"
	"pop %r8\n"
	"pop %rbp\n"
	"pop %rdi\n"
	"pop %rsi\n"
	"pop %rdx\n"
	"pop %rcx\n"
	"pop %rbx\n"
	"pop %rax\n"
	"popfq\n"
	"ret $128\n"
	/* In the place of where it was to return to: as if it had been led from there. */
	"seep_diversion_caught:\n"
	"lea -128(%rsp), %rsp\n"
	"push seep_diversion_words(%rip)\n"
	"pushfq\n"
	"push %rax\n"
	"push %rbx\n"
	"push %rcx\n"
	"push %rdx\n"
	"push %rsi\n"
	"push %rdi\n"
	"push %rbp\n"
	"push %r8\n"
	"push %r9\n"
	"push %r10\n"
	"push %r11\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"cld\n"
	"mov 8+seep_diversion_words(%rip), %rbx\n"
	"mov %rsp, 48(%rbx)\n"
	"mov %rsp, 56(%rbx)\n"
	"mov $14, %eax\n"
	"xor %edi, %edi\n"
	"lea 64(%rbx), %rsi\n"
	"lea 72(%rbx), %rdx\n"
	"mov $8, %r10d\n"
	"syscall\n"
	"jmp seep_diversion_code\n"
	".balign 8\n"
	"seep_diversion_words:\n"
	".popsection\n");
extern const uint8_t seep_diversion_code[], seep_diversion_caught[], seep_diversion_words[];

/* Behind them nothing is code. */
static size_t code_bytes(void)
{
	return (size_t)(seep_diversion_words - seep_diversion_code);
}

/* With the words, and a block. */
static size_t room_bytes(void)
{
	return code_bytes() + sizeof(struct words) + SHORT_BLOCK_BYTES;
}

/* What is at @address is our code, or nothing. */
static bool is_room(struct seep_memory *memory, uint64_t address, bool *ret_is_there)
{
	static const uint8_t nothing[1024];
	uint8_t there[sizeof(nothing)];

	if (room_bytes() > sizeof(there) || !seep_memory_read(memory, address, there, room_bytes()))
		return false;
	*ret_is_there = memcmp(there, seep_diversion_code, code_bytes()) == 0;
	return *ret_is_there || memcmp(there, nothing, room_bytes()) == 0;
}

/* What is there is zeros, or our code: *@ret_is_there. False: neither. */
static bool look_for_room(const struct seep_live_modules *modules, size_t i, uint64_t *ret_code,
			  bool *ret_is_there)
{
	const struct seep_live_module *module = &modules->items[i];
	const uint64_t code = (module->code_end + 15) & -UINT64_C(16);
	const struct seep_mapping *mapping;

	/* Of the program, the C library or the loader: these are never unloaded. */
	if (!(module->is_program || module->is_libc || module->is_loader) || !module->code_end ||
	    code + room_bytes() + sizeof(long) > module->page_end)
		return false;
	mapping = seep_maps_find(&modules->maps, code);
	*ret_code = code;
	return mapping && mapping->executable && mapping->readable && !mapping->shared &&
	       is_room(modules->memory, code, ret_is_there);
}

uint64_t seep_diversion_find(const struct seep_live_modules *modules)
{
	uint64_t code;
	bool is_there = false;

	for (size_t i = 0; i < modules->count; i++)
		if (look_for_room(modules, i, &code, &is_there) && is_there)
			return code;
	return 0;
}

bool seep_diversion_is_there(struct seep_memory *memory, uint64_t code)
{
	bool is_there = false;

	return is_room(memory, code, &is_there) && is_there;
}

/* By the processor, and switched on by the kernel; the same for all processes. */
static bool has_xsave(void)
{
	unsigned a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
}

int seep_diversion_prepare(const struct seep_live_modules *modules, pid_t tid, uint64_t *ret_code,
			   struct seep_error *err)
{
	if (!has_xsave())
		return seep_fail(err, SEEP_EREFUSED, "this processor has no XSAVE");
	for (size_t i = 0; i < modules->count; i++) {
		bool is_there = false;

		if (look_for_room(modules, i, ret_code, &is_there) &&
		    (is_there ||
		     seep_tracee_poke(tid, *ret_code, seep_diversion_code, code_bytes())))
			return 0;
	}
	*ret_code = 0;
	return seep_fail(err, SEEP_EREFUSED,
			 "no page of its code has %zu unused bytes, or they cannot be written",
			 room_bytes());
}

/* As the kernel would, were the thread let go where it stands. */
static void restart_call(struct user_regs_struct *registers)
{
	if ((int64_t)registers->orig_rax < 0)
		return;
	switch (-(int64_t)registers->rax) {
	case SEEP_ERESTARTSYS:
	case SEEP_ERESTARTNOINTR:
	case SEEP_ERESTARTNOHAND:
		registers->rax = registers->orig_rax;
		registers->rip -= CALL_BYTES;
		break;
	case SEEP_ERESTART_RESTARTBLOCK:
		registers->rax = SYS_restart_syscall;
		registers->rip -= CALL_BYTES;
		break;
	default:
		break;
	}
}

void seep_diversion_add(struct seep_diversion *diversion, uint64_t what, uint64_t first,
			uint64_t second, int64_t leaves_out)
{
	diversion->steps[diversion->count++] = (struct seep_step){
		.what = what,
		.arguments = { first, second },
		.leaves_out = leaves_out,
	};
}

/* @at: where it will lie */
static void fill(struct block *block, uint64_t at, const struct seep_diversion *diversion,
		 const struct user_regs_struct *r)
{
	const uint64_t registers[] = { r->r15, r->r14, r->r13, r->r12, r->r11, r->r10, r->r9, r->r8,
				       r->rbp, r->rdi, r->rsi, r->rdx, r->rcx, r->rbx, r->rax };

	/* Faults; and who sets the user of all threads waits until each has taken SIGSETXID, the last. */
	static const uint8_t taken[] = {
		SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGSETXID
	};

	*block = (struct block){
		.count = diversion->count,
		.stack = diversion->stack,
		.vectors = diversion->vectors,
		.errno_location = diversion->errno_location,
		.first_result = diversion->first_result,
		.done_at = diversion->done_at,
		.saved_at = at + offsetof(struct block, registers),
		.back_at = r->rsp - RED_ZONE_BYTES - SAVED_BYTES,
		.signals = UINT64_MAX,
		.flags = r->eflags,
		.rip = r->rip,
	};
	/* Short ones are done before anybody has to wait for them. */
	for (size_t i = 0; i < sizeof(taken) - !diversion->room; i++)
		block->signals &= ~(UINT64_C(1) << (taken[i] - 1));
	memcpy(block->registers, registers, sizeof(registers));
	memcpy(block->text, diversion->text, sizeof(block->text));
	memcpy(block->steps, diversion->steps, diversion->count * sizeof(block->steps[0]));
	for (unsigned i = 0; i < diversion->count; i++)
		for (unsigned k = 0; k < 6; k++)
			if (block->steps[i].arguments[k] == SEEP_STEP_TEXT)
				block->steps[i].arguments[k] = at + offsetof(struct block, text);
}

/*
 * sigsuspend() and its like wait with signals of their own. Which were held before the kernel says since
 * Linux 5.1.
 */
static bool knows_signals(const struct user_regs_struct *registers)
{
	struct utsname kernel;
	unsigned major, minor;

	switch (registers->orig_rax) {
	case SYS_rt_sigsuspend:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
		return uname(&kernel) == 0 &&
		       sscanf(kernel.release, "%u.%u", &major, &minor) == 2 &&
		       (major > 5 || (major == 5 && minor >= 1));
	default:
		return true;
	}
}

static uint64_t words_at(uint64_t code)
{
	return code + code_bytes();
}

static bool write_block(const struct seep_diversion *diversion, pid_t tid, uint64_t at,
			const struct block *block)
{
	return diversion->room ? seep_tracee_write(tid, at, block, sizeof(*block))
			       : seep_tracee_poke(tid, at, block, SHORT_BLOCK_BYTES);
}

bool seep_diversion_lead(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			 const struct user_regs_struct *registers)
{
	struct user_regs_struct back = *registers, astray = *registers;
	const uint64_t at = diversion->room ? diversion->room
					    : words_at(code) + sizeof(struct words);
	struct block block;
	const size_t size = sizeof(block.signals);

	restart_call(&back);
	fill(&block, at, diversion, &back);
	if (!knows_signals(registers) ||
	    ptrace(PTRACE_GETSIGMASK, tid, (void *)size, &block.held_signals) < 0 ||
	    !write_block(diversion, tid, at, &block))
		return false;
	astray.rip = code;
	astray.rbx = at;
	astray.orig_rax = UINT64_MAX;
	astray.eflags &= ~(unsigned long long)(FLAG_TRAP | FLAG_DIRECTION | FLAG_ALIGNMENT);
	if (ptrace(PTRACE_SETREGS, tid, NULL, &astray) < 0)
		return false;
	/*
	 * No handler runs before our code does, and may leave it by a jump. What comes from now on ends a call
	 * like sigsuspend() when it is made again.
	 */
	(void)ptrace(PTRACE_SETSIGMASK, tid, (void *)size, &block.signals);
	return true;
}

static bool poke(pid_t tid, uint64_t at, uint64_t word)
{
	return seep_tracee_poke(tid, at, &word, sizeof(word));
}

static uint64_t caught_at(uint64_t code)
{
	return code + (uint64_t)(seep_diversion_caught - seep_diversion_code);
}

bool seep_diversion_catch(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			  uint64_t slot)
{
	const struct user_regs_struct unknown = { 0 };
	struct block block;
	uint64_t back;

	if (!seep_tracee_peek(tid, slot, &back, sizeof(back)) || back == caught_at(code))
		return false;
	fill(&block, diversion->room, diversion, &unknown);
	block.saved_at = 0; /* until it has returned */
	return seep_tracee_write(tid, diversion->room, &block, sizeof(block)) &&
	       poke(tid, words_at(code) + offsetof(struct words, returns_to), back) &&
	       poke(tid, words_at(code) + offsetof(struct words, block), diversion->room) &&
	       poke(tid, slot, caught_at(code));
}

bool seep_diversion_let_pass(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			     uint64_t slot, uint64_t pc)
{
	const uint64_t saved_at = diversion->room + offsetof(struct block, saved_at);
	uint64_t back, word;

	if (!seep_tracee_peek(tid, words_at(code) + offsetof(struct words, returns_to), &back,
			      sizeof(back)) ||
	    seep_diversion_holds(code, pc) ||
	    !seep_tracee_peek(tid, saved_at, &word, sizeof(word)) || word)
		return false;
	/* A handler may have left the function by a jump, and something else lies there. */
	return !seep_tracee_peek(tid, slot, &word, sizeof(word)) || word != caught_at(code) ||
	       poke(tid, slot, back);
}

bool seep_diversion_set_note(pid_t tid, uint64_t code, const struct seep_diversion_note *note)
{
	return seep_tracee_poke(tid, words_at(code) + offsetof(struct words, note), note,
				sizeof(*note));
}

bool seep_diversion_note(struct seep_memory *memory, uint64_t code,
			 struct seep_diversion_note *ret_note)
{
	return seep_memory_read(memory, words_at(code) + offsetof(struct words, note), ret_note,
				sizeof(*ret_note));
}

bool seep_diversion_holds(uint64_t code, uint64_t pc)
{
	return pc - code < code_bytes();
}

/* The kernel has put a struct sigcontext there. */
bool seep_diversion_is_in(uint64_t code, uint64_t room, const uint64_t *words, size_t count)
{
	enum { RBX = REG_RBX, RIP = REG_RIP, SEGMENTS = REG_CSGSFS, USER_CODE = 0x33 };
	const uint64_t block = words_at(code) + sizeof(struct words);

	for (size_t i = RIP; i + (SEGMENTS - RIP) < count; i++) {
		const uint64_t *general = words + i - RIP;

		if (seep_diversion_holds(code, general[RIP]) &&
		    (general[RBX] == block || (room && general[RBX] == room)) &&
		    (general[SEGMENTS] & 0xffff) == USER_CODE)
			return true;
	}
	return false;
}
