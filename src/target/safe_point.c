/* SPDX-License-Identifier: MIT */
#include "target/safe_point.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	FRAMES_MAX = 4096,
	STACK_BYTES = 16 << 10, /* that are read at once */
	/* x86-64 Linux: of saved registers in the ucontext that a signal-return frame points at. */
	UCONTEXT_RBP = 120,
	UCONTEXT_RSP = 160,
	UCONTEXT_RIP = 168,
};

/* Code of the C library and libseep.so where nobody may be led from. */
struct region {
	uint64_t begin, end;
	const char *name;
	bool waits_free; /* who waits for a futex in it holds nothing */
};

struct seep_safe_points {
	struct seep_live_modules *modules;
	struct region *regions;
	size_t region_count;
	bool program_allocates;
	struct seep_live_module *wanted; /* its tables; NULL: modules have changed */
};

/* What holds locks that the loader takes, or is not to be entered again. */
static const char *const entered[] = {
	"dlopen",
	"dlmopen",
	"dlclose",
	"dlsym",
	"dlvsym",
	"dladdr",
	"dladdr1",
	"dlinfo",
	"dl_iterate_phdr",
	"fork",
	"_Fork",
	"__libc_fork",
	"vfork",
	"posix_spawn",
	"posix_spawnp",
	"system",
	"popen",
	"exit",
	"quick_exit",
	"abort",
	"on_exit",
	"__cxa_atexit",
	"__cxa_finalize",
	"__cxa_at_quick_exit",
	"__register_atfork",
	"__cxa_thread_atexit_impl",
	"pthread_create",
	"pthread_exit",
	"pthread_cancel",
	"pthread_getattr_np",
	"setuid",
	"seteuid",
	"setreuid",
	"setresuid",
	"setgid",
	"setegid",
	"setregid",
	"setresgid",
	"setgroups",
	"__libc_freeres",
	"__assert_fail",
};

/*
 * What gives a thread's stack back while it holds the lock of all stacks, which the loader takes for a library
 * with thread-local storage. Some go on into functions without a name: struct run.
 */
static const char *const joining[] = {
	"pthread_join",	  "pthread_tryjoin_np", "pthread_timedjoin_np", "pthread_clockjoin_np",
	"pthread_detach", "thrd_join",		"thrd_detach",
};

/* One object file of the C library; functions without a name of their own lie between these. */
static const char *const allocating[] = {
	"malloc",
	"free",
	"calloc",
	"realloc",
	"memalign",
	"valloc",
	"pvalloc",
	"posix_memalign",
	"aligned_alloc",
	"malloc_trim",
	"malloc_usable_size",
	"malloc_info",
	"malloc_stats",
	"mallinfo",
	"mallinfo2",
	"mallopt",
	"reallocarray",
};

/* Hooks of libseep.so through which a second process may return to the same caller. */
static const char *const return_twice[] = { "vfork", "_Fork", "clone", "syscall" };

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

#define IS_AMONG(name, names) is_among((name), (names), sizeof(names) / sizeof((names)[0]))

/* From the end of the function before @symbol, of another kind, to the next one's start. */
static struct region around(const struct seep_live_module *libc, const Elf64_Sym *symbol)
{
	struct region region = { libc->start - libc->bias, libc->end - libc->bias, "malloc",
				 false };

	for (size_t i = 0; i < libc->symbol_count; i++) {
		const Elf64_Sym *other = &libc->symbols[i];
		const uint64_t end = other->st_value + other->st_size;

		if (other->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(other->st_info) != STT_FUNC ||
		    IS_AMONG(seep_live_symbol_name(libc, other), allocating) ||
		    other->st_value == symbol->st_value)
			continue;
		if (end <= symbol->st_value)
			region.begin = core_larger(region.begin, end);
		else if (other->st_value > symbol->st_value)
			region.end = core_smaller(region.end, other->st_value);
	}
	return region;
}

/* Of the C library, or of libseep.so. */
static void find_regions(struct seep_safe_points *points, struct seep_live_module *module)
{
	seep_live_symbols(points->modules, module);
	for (size_t i = 0; i < module->symbol_count; i++) {
		const Elf64_Sym *symbol = &module->symbols[i];
		const char *name = seep_live_symbol_name(module, symbol);
		struct region region = { symbol->st_value, symbol->st_value + symbol->st_size, name,
					 module->is_libc && IS_AMONG(name, joining) };

		if (symbol->st_shndx == SHN_UNDEF)
			continue;
		if (module->is_libc && IS_AMONG(name, allocating))
			region = around(module, symbol);
		else if (module->is_libc ? !region.waits_free && !IS_AMONG(name, entered)
					 : !IS_AMONG(name, return_twice))
			continue;
		region.begin += module->bias;
		region.end += module->bias;
		*SEEP_APPEND(points->regions, points->region_count) = region;
	}
}

/* The program itself, or libraries: several where one stands in front of another. */
static void find_allocators(struct seep_safe_points *points)
{
	for (size_t i = 0; i < points->modules->count; i++) {
		struct seep_live_module *module = &points->modules->items[i];

		if (module->is_libc || module->is_loader || module->is_ours ||
		    !seep_live_symbol(points->modules, module, "malloc"))
			continue;
		module->is_allocator = true;
		points->program_allocates |= module->is_program;
	}
}

struct seep_safe_points *seep_safe_points_new(struct seep_live_modules *modules)
{
	struct seep_safe_points *points = seep_xcalloc(1, sizeof(*points));

	points->modules = modules;
	for (size_t i = 0; i < modules->count; i++)
		if (modules->items[i].is_libc || modules->items[i].is_ours)
			find_regions(points, &modules->items[i]);
	find_allocators(points);
	return points;
}

void seep_safe_points_free(struct seep_safe_points *points)
{
	if (points)
		free(points->regions);
	free(points);
}

/* A thread's stack, from where it stands. */
struct stack {
	struct seep_memory *memory;
	uint64_t at;
	uint64_t words[STACK_BYTES / sizeof(uint64_t)];
	size_t bytes; /* that could be read */
};

static void read_stack(struct stack *stack, uint64_t at)
{
	stack->at = at;
	for (stack->bytes = STACK_BYTES; stack->bytes >= sizeof(uint64_t); stack->bytes /= 2)
		if (seep_memory_read(stack->memory, at, stack->words, stack->bytes))
			return;
	stack->bytes = 0;
}

static bool word_at(const struct stack *stack, uint64_t address, uint64_t *ret_word)
{
	const uint64_t offset = address - stack->at;

	if (address & 7)
		return false;
	if (offset < stack->bytes) {
		*ret_word = stack->words[offset / sizeof(uint64_t)];
		return true;
	}
	return seep_memory_read(stack->memory, address, ret_word, sizeof(*ret_word));
}

struct frame {
	uint64_t pc, sp, fp;
	bool exact; /* @pc is about to run; else the call before it runs */
};

/* The frame further out. False: there is none, or it cannot be told. */
static bool step(const struct stack *stack, const struct cfi_rule *rule, struct frame *frame)
{
	const uint64_t sp = frame->sp, fp = frame->fp;
	uint64_t cfa = 0, context;

	frame->exact = rule->kind == CFI_SIGNAL;
	switch (rule->kind) {
	case CFI_SP:
		cfa = sp + (uint64_t)(int64_t)rule->cfa_offset;
		break;
	case CFI_FP:
		cfa = fp + (uint64_t)(int64_t)rule->cfa_offset;
		break;
	case CFI_DRAP:
		if (!word_at(stack, fp + (uint64_t)(int64_t)rule->cfa_offset, &cfa) ||
		    !word_at(stack, fp + (uint64_t)(int64_t)rule->fp_offset, &frame->fp))
			return false;
		break;
	case CFI_SP_MEMORY:
		if (!word_at(stack, sp + (uint64_t)(int64_t)rule->cfa_offset, &cfa))
			return false;
		cfa += 8;
		break;
	case CFI_SIGNAL:
		context = sp;
		return word_at(stack, context + UCONTEXT_RBP, &frame->fp) &&
		       word_at(stack, context + UCONTEXT_RSP, &frame->sp) &&
		       word_at(stack, context + UCONTEXT_RIP, &frame->pc);
	default:
		return false;
	}
	if (rule->kind != CFI_DRAP && rule->fp_offset &&
	    !word_at(stack, cfa + (uint64_t)(int64_t)rule->fp_offset, &frame->fp))
		return false;
	frame->sp = cfa;
	return word_at(stack, cfa - 8, &frame->pc);
}

/*
 * The system call that it is in, or -1. One that the kernel takes up again has another number there: what it
 * was says the instruction before the call, "mov $NUMBER, %eax".
 */
static long call_of(const struct seep_safe_points *points, const struct user_regs_struct *registers)
{
	enum { MOV_EAX = 0xb8, BYTES = 7 };
	uint8_t code[BYTES];
	uint32_t number;

	if (registers->orig_rax != SYS_restart_syscall)
		return (long)registers->orig_rax;
	if (!seep_memory_read(points->modules->memory, registers->rip - BYTES, code, BYTES) ||
	    code[0] != MOV_EAX)
		return -1;
	memcpy(&number, code + 1, sizeof(number));
	return number;
}

/* It sleeps until something happens: nobody calls such in the middle of an allocator. */
static bool waits(long call)
{
	switch (call) {
	case SYS_read:
	case SYS_readv:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_wait4:
	case SYS_waitid:
		return true;
	default:
		return false;
	}
}

/* Where nobody may be led from; NULL: it may be. */
static const char *name_of(const struct seep_safe_points *points,
			   const struct seep_live_module *module, uint64_t pc, bool waits_free)
{
	if (module->is_loader)
		return "the dynamic loader";
	if (module->is_allocator && !module->is_program)
		return "the program's allocator";
	for (size_t i = 0; i < points->region_count; i++) {
		const struct region *region = &points->regions[i];

		if (pc >= region->begin && pc < region->end)
			return region->waits_free && waits_free ? NULL : region->name;
	}
	return module->is_ours ? "libseep.so" : NULL;
}

/* Frames of the C library that have called each other. */
struct run {
	unsigned frames;
	uint64_t outermost;
	const struct seep_live_module *libc;
	bool was_left; /* there were others */
	/*
	 * One was of a function that has no name, called by nobody that has one: such may hold the lock of
	 * all stacks, as one at a thread's begin or end. One that has called nothing yet does not, unless it
	 * is a handler: for that of SIGSETXID the holder of this lock waits.
	 */
	bool is_unnamed;
};

static void take_frame(struct run *run, const struct seep_live_module *module, uint64_t pc,
		       bool is_interrupted)
{
	if (module->is_libc && !is_interrupted) {
		run->libc = module;
		run->outermost = pc;
		run->frames++;
		return;
	}
	run->was_left |= !module->is_libc;
	run->is_unnamed |= run->frames > (is_interrupted ? 0 : 1) &&
			   !seep_live_symbol_at(run->libc, run->outermost);
	run->frames = 0;
}

/*
 * Frames that cannot be unwound, of code that is made at run time, may lie anywhere: then it is known
 * only of who waits.
 */
static enum seep_safety of_unknown(long call, const char **ret_why, uint64_t *ret_slot)
{
	*ret_slot = 0;
	if (*ret_why)
		return SEEP_UNSAFE;
	*ret_why = "code that cannot be unwound";
	return waits(call) ? SEEP_SAFE : SEEP_UNSAFE;
}

/*
 * A function of the allocator, or one that loads and unloads: it returns once, to who called it. The loader
 * also stands in for a function that is called for the first time; then its caller is not the C library.
 */
static bool may_return_to_us(const struct seep_safe_points *points,
			     const struct seep_live_module *module, const char *name,
			     const struct frame *outer)
{
	const struct seep_live_module *caller = seep_live_module_at(points->modules, outer->pc - 1);

	if (outer->exact)
		return false;
	if (module->is_loader)
		return caller && caller->is_libc;
	if (module->is_ours)
		return !IS_AMONG(name, return_twice);
	return !module->is_libc || strcmp(name, "malloc") == 0 || strcmp(name, "dlopen") == 0 ||
	       strcmp(name, "dlmopen") == 0 || strcmp(name, "dlclose") == 0;
}

enum seep_safety seep_safe_point_look(struct seep_safe_points *points,
				      const struct user_regs_struct *registers,
				      const char **ret_why, uint64_t *ret_slot)
{
	const long call = call_of(points, registers);
	struct frame frame = { registers->rip, registers->rsp, registers->rbp, true };
	struct stack stack = { .memory = points->modules->memory };
	bool is_end = false, waits_free = call == SYS_futex || waits(call);
	struct run run = { 0 };

	*ret_why = NULL;
	*ret_slot = 0;
	if (points->program_allocates && !waits(call)) {
		*ret_why = "the program, which is its own allocator";
		return SEEP_UNSAFE;
	}
	read_stack(&stack, frame.sp);
	for (unsigned i = 0; i < FRAMES_MAX && !is_end; i++) {
		const uint64_t pc = frame.pc - !frame.exact;
		struct seep_live_module *module = seep_live_module_at(points->modules, pc);
		const char *name = module ? name_of(points, module, pc, waits_free) : NULL;
		struct cfi_rule rule;

		points->wanted = module;
		if (module && !module->has_tables)
			return SEEP_NOT_KNOWN;
		*ret_why = *ret_why ? *ret_why : name;
		if (!module || seep_live_rule(module, frame.pc, frame.exact, &rule) != CFI_FOUND)
			return of_unknown(call, ret_why, ret_slot);
		take_frame(&run, module, pc, rule.kind == CFI_SIGNAL);
		/* What a handler waits for says nothing of what it has interrupted. */
		waits_free &= rule.kind != CFI_SIGNAL;
		if (rule.kind == CFI_STOP)
			break;
		if (!step(&stack, &rule, &frame))
			return of_unknown(call, ret_why, ret_slot);
		if (name)
			*ret_slot = may_return_to_us(points, module, name, &frame)
					    ? frame.sp - sizeof(uint64_t)
					    : 0;
		is_end = frame.pc == 0;
	}
	if ((run.is_unnamed || !run.was_left) && !waits_free && !*ret_why)
		*ret_why = "a function of the C library without a name";
	return *ret_why ? SEEP_UNSAFE : SEEP_SAFE;
}

bool seep_safe_points_read(struct seep_safe_points *points)
{
	if (points->wanted)
		seep_live_tables(points->modules, points->wanted);
	return points->wanted != NULL;
}
