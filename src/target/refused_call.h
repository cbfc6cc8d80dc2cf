/* SPDX-License-Identifier: MIT */
#ifndef SEEP_TARGET_REFUSED_CALL_H
#define SEEP_TARGET_REFUSED_CALL_H

#include <stdbool.h>

/*
 * Does a filter (seccomp) that we run under refuse SYS_ptrace, SYS_process_vm_readv or _writev? It
 * may end who calls, so where there is a filter a child of ours tries it. Threads: any.
 */
bool seep_call_is_refused(long number);

#endif
