/* SPDX-License-Identifier: MIT */
#include "runtime/life/start.h"

#include "runtime/guard/guard.h"
#include "runtime/guard/sample.h"
#include "runtime/life/exit.h"
#include "runtime/life/fork.h"
#include "runtime/life/make.h"
#include "runtime/life/phase.h"
#include "runtime/life/rt_options.h"
#include "runtime/life/rt_scan_request.h"
#include "runtime/life/start_tool.h"
#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/break.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/misuse.h"
#include "runtime/track/module_filter.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/scope.h"
#include "runtime/track/thread_names.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum { DIR_MAX = 4096 };

/*
 * The page that a fork wipes: fresh anonymous memory in the place of rt_mine, which may share its
 * last file-backed page.
 */
static bool map_mine(void)
{
	long ret = rt_syscall6(SYS_mmap, (long)&rt_mine, sizeof(rt_mine), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return ret == (long)&rt_mine &&
	       rt_syscall3(SYS_madvise, (long)&rt_mine, sizeof(rt_mine), MADV_WIPEONFORK) == 0;
}

bool rt_start_contexts(void)
{
	if (!rt_contexts_start())
		return false;
	if (!rt_global.glibc)
		rt_note_unseen(LEDGER_UNSEEN_ALLOCATOR);
	if (rt_operators_foreign)
		rt_note_unseen(LEDGER_UNSEEN_OPERATORS);
	rt_names_start(rt_options.by_thread != 0);
	return true;
}

/*
 * A program may write its title over its environment, and change its working directory: forked
 * children need a copy.
 */
static const char *keep_dir(const char *given)
{
	static RT_LARGE char kept[DIR_MAX];
	const char *path = given ? rt_absolute_path(given, kept, sizeof(kept)) : NULL;

	if (!path || path == kept)
		return path;
	if (strlen(path) >= sizeof(kept))
		return NULL;
	return memcpy(kept, path, strlen(path) + 1);
}

bool rt_start(const void *argument)
{
	struct rt_start first = *(const struct rt_start *)argument;
	const void *random = (const void *)getauxval(AT_RANDOM);

	/* Only loaded, and then called: what would be recorded does not come to the hooks. */
	if (!rt_next.malloc || !(first.attaches || rt_next_is_behind()))
		return false;
	if (!rt_options_read(first.options) || !map_mine())
		return false;
	if (!rt_facts.bytes)
		rt_facts_start();
	rt_tool_find();
	rt_module_filter_start(rt_options.modules);
	/* 16 random bytes that the kernel gives to every program. Mixed: libc's secrets are of them. */
	if (random)
		memcpy(&rt_global.seed, random, sizeof(rt_global.seed));
	rt_global.seed = core_hash_step(rt_global.seed, 0x73656570);
	rt_vdso_clock = (rt_clock *)(uintptr_t)rt_find_in_vdso("__vdso_clock_gettime");
	rt_global.glibc = rt_next_is_glibc();
	rt_global.verify_every = (uint32_t)rt_options.verify;
	rt_global.no_quick = rt_options.verify || rt_options_guards() || first.stop ||
			     first.has_entries;
	/* The page map of an earlier life is used again. */
	if (!rt_leaves)
		rt_global.granule_shift = rt_global.glibc && !rt_operators_foreign &&
							  !first.has_entries
						  ? LEDGER_GRANULE_SHIFT_GLIBC
						  : LEDGER_GRANULE_SHIFT_OTHER;
	if (rt_global.granule_shift == LEDGER_GRANULE_SHIFT_GLIBC && !rt_global.no_quick)
		rt_store(&rt_global.quick, RT_QUICK_GLIBC);
	else if (rt_load(&rt_global.quick) == RT_QUICK_GLIBC)
		rt_store(&rt_global.quick, RT_QUICK_NONE);
	if (!rt_pagemap_start())
		return false;
	rt_store(&rt_mine.first_row, 1);
	first.dir = keep_dir(first.dir);
	if (!rt_ledger_make(&first)) {
		/* Of a process that runs somebody may be looking at it. */
		if (!first.attaches)
			rt_pagemap_stop();
		return false;
	}
	rt_modules_start();
	/* Those of a ledger that was left keep their numbers. */
	rt_scopes_forked();
	if (!rt_threads_start() || !rt_start_contexts())
		return false;
	__atomic_store_n(&rt_mine.control, rt_global.control, __ATOMIC_RELEASE);
	rt_fork_started();
	rt_early_settle();
	rt_break_start(first.stop);
	rt_finding_aborts = rt_options.abort_on_error;
	if (rt_options_guards() || rt_options.fill < LEDGER_FILL_NONE ||
	    rt_options.fill_free < LEDGER_FILL_NONE)
		rt_guard_start(&(struct rt_guard_how){
			rt_options_guards(), rt_options.guard, rt_options.quarantine,
			rt_options.check_every, (unsigned)rt_options.fill,
			(unsigned)rt_options.fill_free });
	if (rt_options.guarded_sample)
		rt_sample_start(rt_options.guarded_sample);
	return true;
}

static const char *variable(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/*
 * With the environment where the kernel put it: libc's is not there yet when the first allocation
 * comes. The loader exports where: argc, the arguments and the environment one after the other.
 */
static struct ledger_control *start_preloaded(void)
{
	char *const *arguments = (char *const *)rt_stack_main_end() + 1;
	char *const *environment = arguments + *((const long *)arguments - 1) + 1;
	const char *session = variable(environment, "SEEP_SESSION");
	struct rt_start how = {
		.options = variable(environment, "SEEP_OPTIONS"),
		.dir = variable(environment, "SEEP_DIR"),
		.stop = variable(environment, "SEEP_BREAK"),
		.arguments = arguments,
	};

	if (session)
		(void)rt_options_number(session, &how.session);
	rt_next_find();
	rt_phase_pass(RT_NOT_YET, rt_start, &how);
	return rt_mine.control;
}

struct ledger_control *rt_control_cold(void)
{
	const enum rt_phase phase = rt_phase_now();

	if (phase == RT_NOT_YET)
		return start_preloaded();
	if (phase == RT_OFF)
		return NULL;
	if (phase == RT_ON)
		rt_fork_notice();
	rt_phase_pass(RT_ON, rt_fork_begin, NULL);
	return rt_mine.control;
}

bool rt_is_early(void)
{
	/* In this order: whoever reads RT_ON sees the ledger. */
	return (rt_phase_is_others() && rt_load(&rt_mine.first_row)) || rt_mine.control;
}

/* Programs that allocate nothing before main start here. One that loads us later is not recorded. */
static __attribute__((constructor)) void construct(void)
{
	if (!rt_next_is_behind() || !rt_control())
		return;
	rt_exit_start();
	if (rt_options.start_wait)
		rt_recorder_meet();
	rt_fork_register();
}
