/* SPDX-License-Identifier: MIT */
/* Finding the perf map of a process: /tmp/perf-PID.map as the process sees it. */
#ifndef SEEP_RECORDER_PERF_MAP_FILE_H
#define SEEP_RECORDER_PERF_MAP_FILE_H

#include <stdint.h>

/**
 * seep_perf_map_file_open - open the perf map that a process has written
 * @pid:   as it knows itself
 * @uid:   who it was when it started
 * @here:  its pid as seen from here while it lives: its own root directory is looked into, and the
 *         file may also belong to who it is now; 0: our root directory is
 *
 * Anybody may make files in /tmp: only a regular file of that user counts, and no link.
 *
 * Returns: a descriptor of the caller's, or -1: there is none.
 */
int seep_perf_map_file_open(uint32_t pid, uint32_t uid, uint32_t here);

#endif
