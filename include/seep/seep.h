/* SPDX-License-Identifier: MIT */
/*
 * What a program can say to seep, which records its heap, and ask of it. Nothing has to be linked:
 * the functions are in libseep.so, which `seep run` loads into the program. Without it, each of
 * them is one branch that does nothing. For C and C++. docs/annotations.md.
 *
 * All may be called by any thread, at any time after the program's start, also by one that is not
 * recorded. None but seep_leaks_report(), seep_leaks_count() and seep_leaks_mark_reported() waits.
 * errno is kept.
 */
#ifndef SEEP_SEEP_H
#define SEEP_SEEP_H

#include <stddef.h>

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

/* In libseep.so. Call the functions further below instead: these may not be there. */
#define SEEP_WEAK __attribute__((weak))
SEEP_WEAK unsigned seep_rt_leaks_off(unsigned off);
SEEP_WEAK void seep_rt_leak_ignore(const void *block);
SEEP_WEAK void seep_rt_root_region_add(const void *begin, size_t bytes);
SEEP_WEAK void seep_rt_root_region_remove(const void *begin, size_t bytes);
SEEP_WEAK long seep_rt_leaks_scan(enum seep_leaks_scan what);
SEEP_WEAK void seep_rt_leaks_set_hook(seep_leaks_hook *hook, void *user);
SEEP_WEAK int seep_rt_mark(const char *name);
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

#ifdef __cplusplus
}
#endif

#endif
