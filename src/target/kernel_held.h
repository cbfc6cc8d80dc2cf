/* SPDX-License-Identifier: MIT */
/*
 * Words that the kernel keeps for a process and hands back to it, pointers very often: the data of
 * epoll (/proc/PID/fdinfo/N) and the values of timers (/proc/PID/timers).
 */
#ifndef SEEP_TARGET_KERNEL_HELD_H
#define SEEP_TARGET_KERNEL_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_kernel_held {
	uint64_t *epoll, *timers;
	size_t epoll_count, timer_count;
	bool is_partial; /* there is more, or may be */
};

/*
 * Of process @pid, which should stand still. Who holds a lock of epoll's may be another process
 * that never gives it back: then this ends within seconds, and says so. Release with
 * seep_kernel_held_done().
 */
void seep_kernel_held_read(pid_t pid, struct seep_kernel_held *ret_held);
void seep_kernel_held_done(struct seep_kernel_held *held);

#endif
