/* SPDX-License-Identifier: MIT */
/*
 * Files whose contents a process of another user serves (FUSE). To read one, or memory that is
 * mapped of one, waits until that process answers: for ever if it likes, and no signal ends that.
 */
#ifndef SEEP_TARGET_SERVED_FILES_H
#define SEEP_TARGET_SERVED_FILES_H

#include "target/ranges.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Where process @pid has such files mapped. Nowhere if it is this user's own: whose files it maps
 * is for him to know. Release with seep_ranges_done().
 */
void seep_served_find(pid_t pid, struct seep_ranges *ret_ranges);

/* Whether @fd, which may be an O_PATH one, is such a file or folder, as process @pid sees it. */
bool seep_served_is(int fd, pid_t pid);

#endif
