/* SPDX-License-Identifier: MIT */
/*
 * What decides whether a running process can be attached to, found without touching it: nothing is
 * stopped, and nothing of its memory is written. target/attach_check.h draws the conclusions.
 */
#ifndef SEEP_TARGET_ATTACH_FACTS_H
#define SEEP_TARGET_ATTACH_FACTS_H

#include "core/cgroup.h"
#include "target/facts.h"
#include "target/preflight.h"
#include "target/stop_refusal.h"

#include <stdbool.h>
#include <stdint.h>

enum seep_attach_libc {
	SEEP_ATTACH_NO_LIBC, /* or it cannot be seen which */
	SEEP_ATTACH_GLIBC,
	SEEP_ATTACH_MUSL,
};

struct seep_attach_facts {
	pid_t pid;
	pid_t process; /* that @pid is a thread of */
	char name[64];
	char state;	  /* 'R', 'S', 'Z' ...; 0: there is none */
	bool goes_on;	  /* its first thread has ended, and others have not */
	uint64_t program; /* where its stack begins: elsewhere for the next; 0: not known */
	pid_t memory_of; /* its parent, whose memory it has until it executes a program; 0: its own */

	struct seep_refusal refusal;
	int trace_errno; /* what the kernel says to who wants to trace it; 0: it lets us */

	bool sees_mappings; /* and so all below is known */
	bool opens_files;   /* we may open files by its descriptors, and so write the library's */
	bool is_recorded;   /* it has a ledger, and was not let go */
	bool is_preloaded;  /* libseep.so was loaded from its file, and there is no ledger */
	struct seep_elfkind kind;
	bool kind_is_known;
	enum seep_attach_libc libc;
	bool is_starting; /* its version is not known, and its loader may not have loaded it yet */
	unsigned glibc_minor; /* N of the highest GLIBC_2.N that its libc knows; 0: unknown */
	unsigned needed_glibc_minor; /* the same of what libseep.so needs */
	const char *linked_allocator;
	const char *tool; /* that has put code into it ("valgrind"); NULL none that is known */
	bool tool_is_in_the_way;
	unsigned seccomp; /* of the thread that is restricted most: 0 none, 1 strict, 2 filter */
	bool may_read_filters; /* we may, once it is stopped */
	bool has_shadow_stack;
	bool lacks_vdso;    /* it has unmapped it */
	char confined[256]; /* AppArmor's or SELinux's word for it; "" none */

	struct seep_limits left; /* what may still be taken; of a file: its size */
	struct core_cgroup group;
	uint64_t resident_bytes;
	uint64_t locked_bytes;
	uint32_t uid;	  /* effective, as we see it */
	uint32_t own_uid; /* the same in its user namespace */
	char folder[32];  /* where it can make a ledger, as it sees it; "" nowhere */
	struct seep_room room;
};

/*
 * What holds for @pid now. What cannot be seen is zero, or without limit. Static storage, or @facts
 * themselves: nothing is to be released.
 */
void seep_attach_look(pid_t pid, struct seep_attach_facts *facts);

#endif
