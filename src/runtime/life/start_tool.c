/* SPDX-License-Identifier: MIT */
/*
 * All that both processes do until exec, they do in our memory and with our thread's registers for
 * thread-local storage: system calls, and nothing else.
 */
#include "runtime/life/start_tool.h"

#include "runtime/life/make.h"
#include "runtime/next/next.h"
#include "runtime/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATH_BYTES = 4096, STACK_BYTES = 16 << 10, CHECK_US = 1000000 };

/* The status of a process that found no tool: none of the loader's or the tool's. */
enum { NOT_FOUND = 119 };

/* From the folder of libseep.so: in a build, and where it is installed. */
static const char *const places[] = { "seep", "../../bin/seep", "../../../bin/seep" };
enum { PLACES = sizeof(places) / sizeof(places[0]) };

/* Mapped when it is needed first, and for good: who was thought dead may still write there. */
struct room {
	_Alignas(16) uint8_t parent_stack[STACK_BYTES];
	_Alignas(16) uint8_t tool_stack[STACK_BYTES];
	char folder[PATH_BYTES]; /* of libseep.so */
	char tool[PLACES][PATH_BYTES];
	char ledger[PATH_BYTES];
	_Atomic uint32_t runs; /* futex: 0 when the parent has ended */
	int status;	       /* of the tool, as wait4() says */
	bool is_refused;       /* it was found, and the kernel did not start it */
};

static struct room *room;

/* Of libseep.so; NULL: not known. */
static const char *own_path;

void rt_tool_find(void)
{
	static RT_LARGE char path[PATH_BYTES];
	const struct link_map *own = rt_own_map();

	if (own && own->l_name && *own->l_name)
		own_path = rt_absolute_path(own->l_name, path, sizeof(path));
}

/* Too long: "". */
static void join(char *path, const char *folder, const char *name)
{
	if (!rt_text(path, PATH_BYTES, folder, "/", name))
		path[0] = '\0';
}

/* Without a path of our own nothing is run. */
static void find_paths(void)
{
	if (own_path && rt_text(room->folder, PATH_BYTES, own_path)) {
		*strrchr(room->folder, '/') = '\0';
		for (unsigned i = 0; i < PLACES; i++)
			join(room->tool[i], room->folder, places[i]);
	}
	join(room->ledger, rt_ledger_dir, rt_ledger_name);
}

/* A process with our memory runs @run, on a stack of its own. Its end tells nobody. */
static long start_process(unsigned long flags, void (*run)(void), uint8_t *stack)
{
	register _Atomic uint32_t *cleared __asm__("r10") = &room->runs;
	register void (*to_run)(void) __asm__("r12") = run;
	long ret;

	__asm__ volatile("syscall\n"
			 "test %%rax, %%rax\n"
			 "jnz 1f\n"
			 "xor %%ebp, %%ebp\n"
			 "call *%[run]\n"
			 "hlt\n"
			 "1:\n"
			 : "=a"(ret)
			 : "a"(SYS_clone), "D"(CLONE_VM | CLONE_UNTRACED | flags),
			   "S"(stack + STACK_BYTES), "d"(0), "r"(cleared), [run] "r"(to_run)
			 : "rcx", "r11", "memory");
	return ret;
}

static void be_tool(void)
{
	static char *const environment[] = { NULL };

	(void)rt_syscall3(SYS_close_range, 3, UINT32_MAX, 0);
	for (unsigned i = 0; i < PLACES; i++) {
		const char *const arguments[] = { room->tool[i], "leaks", "--answer", room->ledger,
						  NULL };

		long failed = rt_syscall3(SYS_execve, (long)room->tool[i], (long)arguments,
					  (long)environment);

		room->is_refused |= failed != -ENOENT && failed != -ENOTDIR;
	}
	(void)rt_syscall3(SYS_exit_group, NOT_FOUND, 0, 0);
}

/*
 * Stays until the tool has ended: else that would be the child of whoever takes orphans, us
 * perhaps.
 */
static void be_parent(void)
{
	long tool = start_process(CLONE_VFORK, be_tool, room->tool_stack);

	/* The end of the program's pipes is to be seen meanwhile. */
	(void)rt_syscall3(SYS_close_range, 0, UINT32_MAX, 0);
	while (tool > 0 &&
	       rt_syscall6(SYS_wait4, tool, (long)&room->status, __WALL, 0, 0, 0) == -EINTR)
		;
	(void)rt_syscall3(SYS_exit_group, 0, 0, 0);
}

/*
 * After unshare() the first child is the init of a new namespace, which is the program's to
 * make.
 */
static bool may_have_child(void)
{
	struct stat own, childrens;

	return rt_syscall6(SYS_newfstatat, AT_FDCWD, (long)"/proc/thread-self/ns/pid", (long)&own,
			   0, 0, 0) == 0 &&
	       rt_syscall6(SYS_newfstatat, AT_FDCWD, (long)"/proc/thread-self/ns/pid_for_children",
			   (long)&childrens, 0, 0, 0) == 0 &&
	       own.st_ino == childrens.st_ino;
}

const char *rt_tool_run(void)
{
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	long parent;

	if (!may_have_child())
		return "there is no /proc, or its children get another PID namespace";
	if (!room)
		room = rt_mmap_sparse(sizeof(*room));
	if (!room)
		return "there is no memory for it";
	find_paths();
	room->status = -1;
	room->is_refused = false;
	rt_store(&room->runs, 1);
	/* Yama: whoever descends from us may trace us. */
	(void)rt_syscall3(SYS_prctl, PR_SET_PTRACER, rt_header.pid, 0);
	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all),
			  0, 0);
	parent = start_process(CLONE_CHILD_CLEARTID, be_parent, room->parent_stack);
	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
	while (parent > 0 && rt_load_acquire(&room->runs))
		(void)rt_futex_wait(&room->runs, 1, CHECK_US);
	while (parent > 0 && rt_syscall6(SYS_wait4, parent, 0, __WALL, 0, 0, 0) == -EINTR)
		;
	(void)rt_syscall3(SYS_prctl, PR_SET_PTRACER, 0, 0);
	if (parent < 0 || room->status == -1 ||
	    (room->status == NOT_FOUND << 8 && room->is_refused))
		return "the program seep cannot be started";
	if (room->status == NOT_FOUND << 8)
		return "the program seep is neither beside libseep.so nor in ../../bin or ../../../bin";
	return "seep was started for it and could not answer";
}
