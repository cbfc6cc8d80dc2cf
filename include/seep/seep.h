/* SPDX-License-Identifier: MIT */
/*
 * What a program can say to seep, which records its heap, and ask of it. Nothing has to be linked:
 * the functions are in libseep.so, which `seep run` loads into the program. Without it, each of
 * them is one branch that does nothing. For C and C++. docs/annotations.md.
 *
 * All may be called by any thread, at any time after the program's start, also by one that is not
 * recorded. None but seep_leaks_report(), seep_leaks_count() and seep_leaks_mark_reported() waits;
 * seep_dump_text() may, for who reads. errno is kept.
 */
#ifndef SEEP_SEEP_H
#define SEEP_SEEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block that nothing points to any more. */
struct seep_leak {
	const void *address;
	size_t bytes; /* as requested */
};

/*
 * Called once for each leak. It may allocate and free, but not the block. Do not scan again in it.
 */
typedef void seep_leaks_hook(const struct seep_leak *leak, void *user);

enum seep_leaks_scan { SEEP_LEAKS_COUNT, SEEP_LEAKS_REPORT, SEEP_LEAKS_MARK_REPORTED };

/*
 * What is alive of one context: blocks of one kind that were allocated by one call stack, in one scope
 * and, with `seep run --by-thread`, by threads of one name. Repeats of a recursion are left out of
 * stacks. Of what an ancestor allocated before fork() nothing else is known: it is one context.
 */
struct seep_context {
	size_t blocks;
	size_t bytes;		   /* as requested */
	const void *const *frames; /* return addresses, innermost first */
	unsigned frame_count;	   /* 256 at most; 0: not known */
	int is_inherited;	   /* allocated before fork() */
	const char *kind;	   /* the function: "malloc", "new[]" ...; "": not known */
	const char *thread;	   /* "": not told apart */
	const char *scope;	   /* tags, outermost first: "request/parse"; "": none was open */
};

/*
 * Called once for each context; all that it is given is good until it returns. It may allocate and free.
 * Not 0: no more. It should not be left by an exception or longjmp(), which leaves memory behind.
 */
typedef int seep_contexts_hook(const struct seep_context *context, void *user);

/* A tag where it is written: its number is known from the first time on. */
struct seep_tag {
	const char *text;
	unsigned number; /* libseep.so's; 0: not known yet */
};

/* 0: none, which may be ended, suspended and resumed all the same. */
typedef unsigned long long seep_scope;

enum seep_scope_move { SEEP_SCOPE_END, SEEP_SCOPE_SUSPEND, SEEP_SCOPE_RESUME };

/* In libseep.so. Call the functions further below instead: these may not be there. */
#define SEEP_WEAK __attribute__((weak))
SEEP_WEAK unsigned seep_rt_leaks_off(unsigned off);
SEEP_WEAK unsigned seep_rt_recording_off(unsigned off);
SEEP_WEAK void seep_rt_leak_ignore(const void *block);
SEEP_WEAK void seep_rt_root_region_add(const void *begin, size_t bytes);
SEEP_WEAK void seep_rt_root_region_remove(const void *begin, size_t bytes);
SEEP_WEAK long seep_rt_leaks_scan(enum seep_leaks_scan what);
SEEP_WEAK void seep_rt_leaks_set_hook(seep_leaks_hook *hook, void *user);
SEEP_WEAK void seep_rt_pool_add(const void *begin, size_t bytes);
SEEP_WEAK void seep_rt_pool_remove(const void *begin, size_t bytes);
SEEP_WEAK void seep_rt_pool_alloc(const void *block, size_t bytes);
SEEP_WEAK void seep_rt_pool_free(const void *block);
SEEP_WEAK long seep_rt_contexts_each(seep_contexts_hook *hook, void *user);
SEEP_WEAK int seep_rt_dump_text(int fd);
SEEP_WEAK int seep_rt_mark(const char *name);
SEEP_WEAK void seep_rt_scope_enter(struct seep_tag *tag, const void *scope);
SEEP_WEAK void seep_rt_scope_leave(const void *scope);
SEEP_WEAK unsigned long long seep_rt_scope_begin(const char *tag);
SEEP_WEAK int seep_rt_scope_move(enum seep_scope_move move, unsigned long long scope);

/**
 * get_malloc_leak_info - what is alive now, by call stack and size, as Android's C library has it
 * @info: an array of entries, for free_malloc_leak_info() only; NULL: nothing is recorded or alive, or
 *	there is no memory
 * @overall_size: bytes of the array
 * @info_size: bytes of an entry: size_t size, size_t blocks, uintptr_t return_addresses[backtrace_size],
 *	innermost first, zeros where a stack is shorter. Bit 31 of a size is set in a forked process, for
 *	what it allocated itself; what it inherited has no stack.
 * @total_memory: bytes of all blocks, as requested
 * @backtrace_size: frames of the deepest stack, 256 at most
 *
 * What existing programs call; see first whether it is there. Larger sizes come first, and inherited
 * ones before others. If one of the arguments is NULL, nothing is done.
 */
SEEP_WEAK void get_malloc_leak_info(uint8_t **info, size_t *overall_size, size_t *info_size,
				    size_t *total_memory, size_t *backtrace_size);
/* NULL, and what is no such array (any more), is nothing. Not in two threads at once with the same one. */
SEEP_WEAK void free_malloc_leak_info(uint8_t *info);
#undef SEEP_WEAK

/*
 * The address of one of them; NULL: it is not there. Of code that is not position-independent the
 * linker would make every weak address 0 for good, whatever is loaded, but for those in the table
 * of addresses that the loader fills in.
 */
#if defined(__x86_64__) && !defined(__PIC__)
#define SEEP_FIND(function)                                                             \
	(__extension__({                                                                \
		__typeof__(&function) seep_found;                                       \
		__asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" \
			: "=r"(seep_found));                                            \
		seep_found;                                                             \
	}))
#else
#define SEEP_FIND(function) (&function)
#endif

/**
 * seep_leaks_disable - do not report what this thread allocates from now on
 *
 * Nor what only such blocks lead to. A block keeps this through realloc().
 *
 * Returns: the state before, for seep_leaks_restore(). 0: it was enabled.
 */
static inline unsigned seep_leaks_disable(void)
{
	__typeof__(&seep_rt_leaks_off) function = SEEP_FIND(seep_rt_leaks_off);

	return function ? function(1) : 0;
}

/**
 * seep_leaks_enable - report again what this thread allocates, however often it was disabled
 *
 * Returns: the state before, for seep_leaks_restore().
 */
static inline unsigned seep_leaks_enable(void)
{
	__typeof__(&seep_rt_leaks_off) function = SEEP_FIND(seep_rt_leaks_off);

	return function ? function(0) : 0;
}

/* @before: what seep_leaks_disable() or seep_leaks_enable() returned in this thread. */
static inline void seep_leaks_restore(unsigned before)
{
	__typeof__(&seep_rt_leaks_off) function = SEEP_FIND(seep_rt_leaks_off);

	if (function)
		(void)function(before);
}

/**
 * seep_recording_disable - do not record what this thread allocates from now on
 *
 * As if a filter left it out. A recorded block that it frees is counted as freed all the same; one
 * that it gives to realloc() is, and what comes out is not recorded. Once this was called, no free is
 * called a double one any more.
 *
 * Returns: the state before, for seep_recording_restore(). 0: it was enabled.
 */
static inline unsigned seep_recording_disable(void)
{
	__typeof__(&seep_rt_recording_off) function = SEEP_FIND(seep_rt_recording_off);

	return function ? function(1) : 0;
}

/**
 * seep_recording_enable - record again what this thread allocates, however often it was disabled
 *
 * Returns: the state before, for seep_recording_restore().
 */
static inline unsigned seep_recording_enable(void)
{
	__typeof__(&seep_rt_recording_off) function = SEEP_FIND(seep_rt_recording_off);

	return function ? function(0) : 0;
}

/* @before: what seep_recording_disable() or seep_recording_enable() returned in this thread. */
static inline void seep_recording_restore(unsigned before)
{
	__typeof__(&seep_rt_recording_off) function = SEEP_FIND(seep_rt_recording_off);

	if (function)
		(void)function(before);
}

/*
 * Do not report the live block that @block points into, nor what only it leads to. NULL is nothing.
 */
static inline void seep_leak_ignore(const void *block)
{
	__typeof__(&seep_rt_leak_ignore) function = SEEP_FIND(seep_rt_leak_ignore);

	if (function)
		function(block);
}

/*
 * Pointers in [@begin, @begin + @bytes) keep blocks alive, wherever that is. Added twice, it has to
 * be removed twice; the same @begin and @bytes remove it, anything else is nothing. 1,024 at a
 * time.
 */
static inline void seep_root_region_add(const void *begin, size_t bytes)
{
	__typeof__(&seep_rt_root_region_add) function = SEEP_FIND(seep_rt_root_region_add);

	if (function)
		function(begin, bytes);
}

static inline void seep_root_region_remove(const void *begin, size_t bytes)
{
	__typeof__(&seep_rt_root_region_remove) function = SEEP_FIND(seep_rt_root_region_remove);

	if (function)
		function(begin, bytes);
}

/**
 * seep_leaks_report - look for leaks now, and have them reported
 *
 * The recorder, or seep itself where there is none, reports them with their call stacks. The hook
 * is called for each, 4,096 at most, in this thread and before this returns. What is marked as
 * reported is left out.
 *
 * Returns: the number of lost blocks; -1 if nobody has looked: there is no library, or else a line
 * on standard error says why.
 */
static inline long seep_leaks_report(void)
{
	__typeof__(&seep_rt_leaks_scan) function = SEEP_FIND(seep_rt_leaks_scan);

	return function ? function(SEEP_LEAKS_REPORT) : -1;
}

/* @hook: NULL for none; @user is passed to it. Not while another thread reports. */
static inline void seep_leaks_set_hook(seep_leaks_hook *hook, void *user)
{
	__typeof__(&seep_rt_leaks_set_hook) function = SEEP_FIND(seep_rt_leaks_set_hook);

	if (function)
		function(hook, user);
}

/* As seep_leaks_report(), but nothing is reported, and nothing said. */
static inline long seep_leaks_count(void)
{
	__typeof__(&seep_rt_leaks_scan) function = SEEP_FIND(seep_rt_leaks_scan);

	return function ? function(SEEP_LEAKS_COUNT) : -1;
}

/* What is lost now is not reported or counted any more. Returns how many blocks, or -1 as above. */
static inline long seep_leaks_mark_reported(void)
{
	__typeof__(&seep_rt_leaks_scan) function = SEEP_FIND(seep_rt_leaks_scan);

	return function ? function(SEEP_LEAKS_MARK_REPORTED) : -1;
}

/**
 * seep_pool_add - the program gives out parts of [@begin, @begin + @bytes) as blocks of its own
 *
 * If @begin lies in a live block, that one ends there from now on: it counts what comes before, which
 * may be 0 bytes, and the blocks of the pool count theirs. The rest is nobody's, and pointers in it
 * keep nothing alive. Elsewhere, in a mapping of the program's, they do, and nothing is to be added. In
 * a block that is not recorded nothing is done.
 */
static inline void seep_pool_add(const void *begin, size_t bytes)
{
	__typeof__(&seep_rt_pool_add) function = SEEP_FIND(seep_rt_pool_add);

	if (function)
		function(begin, bytes);
}

/* All blocks of the pool there are freed at once. Before its memory is freed or used for other things. */
static inline void seep_pool_remove(const void *begin, size_t bytes)
{
	__typeof__(&seep_rt_pool_remove) function = SEEP_FIND(seep_rt_pool_remove);

	if (function)
		function(begin, bytes);
}

/**
 * seep_pool_alloc - @bytes at @block, in a pool, are given out
 * @block: NULL is nothing
 *
 * It counts like an allocation by the caller, of kind "pool". What is at no multiple of 16 is not
 * recorded, and of blocks that begin within the same 32 bytes (16 under other allocators than
 * glibc's) only the first one is: the output says so (`unaligned`). With --guard, --quarantine and the
 * like nothing is: there the pool's own blocks stay whole.
 */
static inline void seep_pool_alloc(const void *block, size_t bytes)
{
	__typeof__(&seep_rt_pool_alloc) function = SEEP_FIND(seep_rt_pool_alloc);

	if (function)
		function(block, bytes);
}

/* @block is given back to its pool; NULL, and what is no live block of a pool, is nothing. */
static inline void seep_pool_free(const void *block)
{
	__typeof__(&seep_rt_pool_free) function = SEEP_FIND(seep_rt_pool_free);

	if (function)
		function(block);
}

/**
 * seep_contexts_each - what is alive now, by context, the one with most bytes first
 * @hook: called in this thread, before this returns; @user is passed to it
 *
 * Of the process itself, without the recorder. It takes as long as looking at all live blocks does, and
 * some 100 bytes for each context meanwhile. What other threads do at this moment is in it or not; two
 * threads that met a new call stack at once may have made two contexts of it. Also in signal handlers.
 *
 * Returns: how often @hook was called; -1: nothing is recorded, or there is no memory.
 */
static inline long seep_contexts_each(seep_contexts_hook *hook, void *user)
{
	__typeof__(&seep_rt_contexts_each) function = SEEP_FIND(seep_rt_contexts_each);

	return function ? function(hook, user) : -1;
}

/**
 * seep_dump_text - write what is alive now as text, with the process's mappings
 * @fd: where to; it may block
 *
 * In the format of Android's malloc_debug, "Android Native Heap Dump v1.2", which its
 * native_heapdump_viewer.py reads. Also in signal handlers.
 *
 * Returns: 0; -1: nothing is recorded, there is no memory, or not all was written.
 */
static inline int seep_dump_text(int fd)
{
	__typeof__(&seep_rt_dump_text) function = SEEP_FIND(seep_rt_dump_text);

	return function ? function(fd) : -1;
}

/**
 * seep_mark - begin a new epoch: name this moment, to ask later what was allocated since
 * @name: 1 to 47 bytes, without '@' and control characters, not "now"
 *
 * "seep diff FILE@NAME" shows it. May be called from a signal handler too.
 *
 * Returns: 0; -1: there is no library, or the mark was not recorded (its name, or no more room).
 */
static inline int seep_mark(const char *name)
{
	__typeof__(&seep_rt_mark) function = SEEP_FIND(seep_rt_mark);

	return function ? function(name) : -1;
}

/* For the macros and the class below. @scope: on the stack of the calling thread, or with it. */
static inline char seep_scope_enter(struct seep_tag *tag, const void *scope)
{
	__typeof__(&seep_rt_scope_enter) function = SEEP_FIND(seep_rt_scope_enter);

	if (function)
		function(tag, scope);
	return function ? 1 : 0;
}

static inline void seep_scope_leave(const void *scope)
{
	__typeof__(&seep_rt_scope_leave) function = SEEP_FIND(seep_rt_scope_leave);

	if (function)
		function(scope);
}

static inline void seep_scope_leave_variable(const char *scope)
{
	if (*scope)
		seep_scope_leave(scope);
}

#define SEEP_JOIN_(a, b) a##b
#define SEEP_JOIN(a, b) SEEP_JOIN_(a, b)
#define SEEP_SCOPE_(text, storage, tag, scope)                                      \
	storage struct seep_tag tag = { (text), 0 };                                \
	__attribute__((cleanup(seep_scope_leave_variable), unused)) char scope = 0; \
	scope = seep_scope_enter(&tag, &scope)
#define SEEP_SCOPE_NUMBERED(text, storage, number) \
	SEEP_SCOPE_(text, storage, SEEP_JOIN(seep_tag_, number), SEEP_JOIN(seep_scope_, number))

/**
 * SEEP_SCOPE - count what this thread does from here to the end of the block under a tag
 * @tag: a string literal, of which 63 bytes count
 *
 * Stands where a declaration may. Scopes nest; the block may be left in any way, also by an exception or longjmp().
 * What it costs, and what is counted: docs/scopes.md.
 */
#define SEEP_SCOPE(tag) SEEP_SCOPE_NUMBERED(tag, static, __COUNTER__)
/* The same under a tag that is made at run time, "tenant=42". 4,094 are told apart, with threads' names. */
#define SEEP_SCOPE_NAMED(tag) SEEP_SCOPE_NUMBERED(tag, , __COUNTER__)
/* The same under the name of the function. */
#define SEEP_FUNCTION_SCOPE() SEEP_SCOPE_NUMBERED(__func__, static, __COUNTER__)

/**
 * seep_scope_begin - open a scope that ends when it is told to: a request, a task, a coroutine
 * @tag: as for SEEP_SCOPE_NAMED()
 *
 * It is the innermost of this thread until it is ended or suspended. It may be suspended in one thread
 * and resumed, or ended, in another; 16,384 at a time.
 *
 * Returns: the scope; 0 if there is no library, or there are too many.
 */
static inline seep_scope seep_scope_begin(const char *tag)
{
	__typeof__(&seep_rt_scope_begin) function = SEEP_FIND(seep_rt_scope_begin);

	return function ? function(tag) : 0;
}

static inline int seep_scope_do(enum seep_scope_move move, seep_scope scope)
{
	__typeof__(&seep_rt_scope_move) function = SEEP_FIND(seep_rt_scope_move);

	return function && scope ? function(move, scope) : -1;
}

/*
 * End it: in the thread where it is open, or, while it is suspended itself, in any. 0; -1: it is in neither,
 * or was suspended with another, which has to be resumed first.
 */
static inline int seep_scope_end(seep_scope scope)
{
	return seep_scope_do(SEEP_SCOPE_END, scope);
}

/*
 * Take @scope, and what was opened in it since, off this thread: what follows is counted as before it
 * was opened. Scopes of the macros stay, unless they stand on another stack, a coroutine's. The time
 * until it is resumed is not counted. 0; -1: it is not open in this thread.
 */
static inline int seep_scope_suspend(seep_scope scope)
{
	return seep_scope_do(SEEP_SCOPE_SUSPEND, scope);
}

/* Go on with @scope in this thread. 0; -1: it is not suspended. */
static inline int seep_scope_resume(seep_scope scope)
{
	return seep_scope_do(SEEP_SCOPE_RESUME, scope);
}

#ifdef __cplusplus
}

namespace seep
{
/*
 * A scope as long as the object lives; it need not be on the stack, but has to end in its thread. Objects
 * end in the reverse order: where one on the stack ends before another that began later, that one's scope may
 * end with it. Each is counted once all the same.
 */
class scope
{
	seep_tag tag;

      public:
	explicit scope(const char *text) : tag{ text, 0 }
	{
		seep_scope_enter(&tag, this);
	}
	~scope()
	{
		seep_scope_leave(this);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;
};
} // namespace seep
#endif

#endif
