/* SPDX-License-Identifier: MIT */
/*
 * May a stopped thread be led astray into the loader, which allocates and takes locks? Not from inside
 * of what would be entered again: the allocator, the loader, forks, ends, joins and setuid() of the
 * C library, and libseep.so. Its stack is unwound by the unwind tables of its modules.
 */
#ifndef SEEP_TARGET_SAFE_POINT_H
#define SEEP_TARGET_SAFE_POINT_H

#include "base/error.h"
#include "target/live_modules.h"

#include <stdbool.h>
#include <sys/user.h>

struct seep_safe_points;

enum seep_safety {
	SEEP_SAFE,
	SEEP_UNSAFE,	/* in one of these; at another moment it may be safe */
	SEEP_NOT_KNOWN, /* something has to be read first, while the thread runs: then ask again */
};

/* @modules: borrowed; the C library is among them. Never NULL. */
struct seep_safe_points *seep_safe_points_new(struct seep_live_modules *modules)
	__attribute__((returns_nonnull));
void seep_safe_points_free(struct seep_safe_points *points);

/*
 * @ret_why:  of UNSAFE, borrowed: where it is
 * @ret_slot: of UNSAFE: where on its stack it says to where the outermost such function returns; 0: that
 *            is not known
 */
enum seep_safety seep_safe_point_look(struct seep_safe_points *points,
				      const struct user_regs_struct *registers,
				      const char **ret_why, uint64_t *ret_slot);

/*
 * After NOT_KNOWN: read what was missing. False: modules came or went, and must be read anew.
 */
bool seep_safe_points_read(struct seep_safe_points *points);

#endif
