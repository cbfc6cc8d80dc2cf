/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a process, read from outside. A pid alone names nothing for long: a process
 * is identified by pid and start time together.
 */
#ifndef SEEP_BASE_PROCFS_H
#define SEEP_BASE_PROCFS_H

#include "base/error.h"
#include "base/release.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_procfs_stat {
	char state; /* 'R', 'S', 'Z', ... */
	uint32_t ppid;
	uint32_t threads;
	char name[64];	      /* of its program, cut by the kernel */
	uint64_t stack_begin; /* of its first thread: arguments are above; 0 unknown */
	uint64_t start_ticks; /* since boot, in units of sysconf(_SC_CLK_TCK) */
};

struct seep_procfs_status {
	uint32_t real_uid;
	uint32_t uid;	  /* effective */
	uint32_t own_pid; /* as it sees itself, in its own PID namespace; 0 unknown */
	unsigned seccomp; /* 0 none, 1 strict, 2 filter */
	bool has_memory;  /* one that is ending has none any more, and zeros here: */
	uint64_t rss_bytes;
	uint64_t swap_bytes;
	uint64_t peak_rss_bytes;
	uint64_t anon_rss_bytes; /* of the first, what no file is behind */
	uint64_t locked_bytes;	 /* by mlock() */
	uint64_t pinned_bytes;
};

/* "/proc/@pid/@file". */
struct seep_procfs_path {
	char text[64];
};
struct seep_procfs_path seep_procfs_path(pid_t pid, const char *file);

/* A name, for us, of what our descriptor @fd leads to, wherever that is. */
struct seep_procfs_path seep_procfs_fd(int fd);

/*
 * @path as who has @root as "/" sees it: links lead nowhere else. Returns a descriptor, or -1 with errno.
 * @resolve: further flags of openat2(2)
 */
SEEP_NODISCARD int seep_procfs_open_below(int root, const char *path, int flags, uint64_t resolve);

/*
 * The contents of /proc/@pid/@file, ended by a zero byte; NULL when it cannot be read. Release with
 * free().
 * @ret_bytes: may be NULL; 0 with NULL
 */
char *seep_procfs_read(uint32_t pid, const char *file, size_t *ret_bytes);

/* What follows @key, as "\nUid:", in a file that was read; "" if nothing does, or @text is NULL. */
const char *seep_procfs_line(const char *text, const char *key);

/* Numbers of the children that its first thread has, or was given; NULL and free() as above. */
char *seep_procfs_children(uint32_t pid);

/* False where they cannot be read: most often because there is no such process. */
SEEP_NODISCARD bool seep_procfs_stat(uint32_t pid, struct seep_procfs_stat *ret_stat);
SEEP_NODISCARD bool seep_procfs_status(uint32_t pid, struct seep_procfs_status *ret_status);

/* Its user is ours, and nobody's rights are borrowed. */
bool seep_procfs_is_ours(uint32_t pid);

/*
 * Its threads' ids, of which each call gives one; 0: there are no more. One that begins or ends
 * meanwhile may be left out. NULL with errno: they cannot be listed; then there are none.
 */
DIR *seep_procfs_threads(pid_t pid);
pid_t seep_procfs_thread(DIR *threads);
void seep_procfs_threads_done(DIR *threads);
SEEP_FREE_AT(DIR, seep_procfs_threads_done)

/*
 * The same of processes that are @own_pid in their own PID namespace, by their numbers here.
 * @processes: opendir("/proc")
 */
uint32_t seep_procfs_process(DIR *processes, uint32_t own_pid);

/* Our number in /proc, which may be of a PID namespace above ours; 0: there is no /proc. */
uint32_t seep_procfs_self(void);

/* Its program's path, for free(); NULL with errno: ENOENT of a kernel thread and at its end. */
char *seep_procfs_exe(uint32_t pid);

/*
 * Whether process @pid, which has begun at @seen_ticks as /proc tells us, is the one that saw itself
 * begin at @start_ticks (0: not known). In its time namespace the clock may be set otherwise.
 */
bool seep_procfs_began(uint32_t pid, uint64_t seen_ticks, uint64_t start_ticks);

/*
 * Whether this very process still runs. A zombie does not: its memory is gone. One with threads
 * left does: its first thread has ended before the others. So does one that is there and cannot be
 * looked at now, for want of descriptors, in the middle of its end, or because /proc hides it: who
 * asks again will know.
 * @start_ticks as above.
 */
bool seep_procfs_alive(uint32_t pid, uint64_t start_ticks);

/*
 * What a security module confines it by, "" if nothing does. AppArmor: "profile (enforce)". SELinux:
 * "user:role:type:level"; type "unconfined_t" is free.
 */
struct seep_procfs_confinement {
	char text[4096];
};
struct seep_procfs_confinement seep_procfs_confinement(pid_t pid);

/* The 16 bytes of the kernel's boot id; all zero when it cannot be read. */
void seep_procfs_boot_id(uint8_t ret_id[16]);

/* Inode of the PID namespace of @pid, 0: of this process. Returns 0 when it cannot be told. */
uint64_t seep_procfs_pid_namespace(uint32_t pid);

#endif
