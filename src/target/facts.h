/* SPDX-License-Identifier: MIT */
/*
 * Facts about this machine, a program and a process that decide whether the program is recorded,
 * and how completely. The functions here collect facts; target/reasons.h draws the conclusions and
 * looks at nothing else, so that a test can invent a machine.
 */
#ifndef SEEP_TARGET_FACTS_H
#define SEEP_TARGET_FACTS_H

#include "base/arena.h"
#include "core/cgroup.h"
#include "target/allocators.h"
#include "target/preflight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No limit, or not known. */
#define SEEP_NO_LIMIT UINT64_MAX

/* What has been looked at. */
enum seep_facts_part {
	SEEP_FACTS_MACHINE = 1,
	SEEP_FACTS_PROGRAM = 2,
	SEEP_FACTS_INSIDE = 4, /* of the program's file and its libraries */
	SEEP_FACTS_PROCESS = 8,
	SEEP_FACTS_LIMITS = 16,
	SEEP_FACTS_OUTPUT = 32, /* the present folder, where recordings are written */
};

/* Room in a file system. */
struct seep_room {
	const char *path;
	uint64_t total_bytes; /* 0 = not known */
	uint64_t free_bytes;
};

/* Soft ones. */
struct seep_limits {
	uint64_t address_space_bytes;
	uint64_t file_bytes;
	uint64_t data_bytes;
	uint64_t descriptor_count;
};

struct seep_machine_facts {
	const char *kernel; /* release */
	bool has_proc;
	bool kernel_populates; /* knows MADV_POPULATE_WRITE */
	const char *confined;  /* AppArmor's or SELinux's word for this process; NULL none */

	const char *library;	     /* path; NULL: */
	const char *library_problem; /* why it was not found */
	bool library_noexec;	     /* on a file system from which no code may be mapped */
	const char *ledger_dir;	     /* the folder of ledgers */
	const char *ledgers_problem; /* why it cannot be used; NULL: it can */

	const char *preload; /* what LD_PRELOAD holds; NULL or "" nothing */

	bool was_tried;	   /* a program was started with the library, as "seep run" would */
	bool tried_well;   /* it made a ledger */
	const char *tried; /* the first line that it had to say; NULL none */
};

struct seep_program_facts {
	const char *name;
	const char *problem; /* of seep_preflight(); NULL none. Then nothing below is known */
	bool is_unsupported; /* that is the problem, and not that it cannot be found */
	const char *path;
	const char *loaded; /* the program itself, or the interpreter of a script */
	bool is_script;

	/* SEEP_FACTS_INSIDE: */
	bool was_read; /* else it may be executed but not read, and nothing below is known */
	struct seep_elfkind kind;
	const char *missing_library;
	const char *linked_allocator;  /* of seep_allocator_in() */
	const char *allocator;	       /* that a library provides; NULL none that is known */
	const char *allocator_library; /* its path */
	const struct seep_memory_manager *manager; /* NULL none that is known, or it is off */
};

struct seep_process_facts {
	uint32_t pid;
	bool is_ours; /* set by the caller before looking: it was to be recorded */
	bool exists;
	uint64_t start_ticks;
	const char *name;    /* as the kernel has it */
	const char *exe;     /* NULL when it may not be looked at, or has ended */
	bool is_kernels;     /* a thread of the kernel: there is no program */
	const char *user;    /* name of @uid; NULL none */
	const char *command; /* arguments, each ended by a zero byte */
	size_t command_bytes;
	const char *environment; /* variables, likewise; NULL when it may not be read */
	size_t environment_bytes;
	uint32_t own_pid; /* in its own PID namespace */
	uint32_t uid;	  /* effective */
	uint32_t real_uid;
	bool can_look;		/* it runs, and maps and environment may be read */
	bool has_library;	/* libseep.so is mapped */
	bool asked_for_library; /* its LD_PRELOAD names libseep.so */
	const char *ledger;	/* mapped, by its path as the process has it; NULL none */
	bool is_forked;		/* and that is an ancestor's */
	const char *recorded;	/* state of its ledger, a word of "seep ps"; NULL: there is none */
	unsigned seccomp;	/* 0 none, 1 strict, 2 filter */
	bool other_pid_namespace;
	bool other_root; /* another mount namespace or root directory */
};

struct seep_facts {
	struct seep_arena *arena; /* owns all text */
	unsigned looked;	  /* enum seep_facts_part */
	uint32_t uid;		  /* our own, effective */

	/* Of the process once that was looked at, else of this one, which programs inherit. */
	struct seep_limits limits;
	struct core_cgroup group; /* SEEP_NO_LIMIT: none */
	struct seep_room ledgers;

	struct seep_room output;
	bool output_writable;
	struct seep_machine_facts machine;
	struct seep_program_facts program;
	struct seep_process_facts process;
};

/* Nothing has been looked at yet. Release with _done(). */
void seep_facts_init(struct seep_facts *facts);
void seep_facts_done(struct seep_facts *facts);

/* A copy of @text that lives as long as @facts; NULL stays NULL. */
const char *seep_facts_keep(struct seep_facts *facts, const char *text);

/**
 * seep_facts_look_at_machine - what holds for every program started from here
 * @ledger_dir:     the folder of ledgers, made already where that was possible
 * @ledger_problem: why it cannot be used; NULL: it can
 *
 * Starts this very program once with the library, and removes the ledger that it leaves.
 */
void seep_facts_look_at_machine(struct seep_facts *facts, const char *ledger_dir,
				const char *ledger_problem);

/* The folder in which recordings would be written. */
void seep_facts_look_at_output(struct seep_facts *facts);

/* @name as for seep_preflight(). */
void seep_facts_look_at_program(struct seep_facts *facts, const char *name);

/* The same, and inside. Lets the dynamic loader list its libraries; does not run it. */
void seep_facts_look_inside_program(struct seep_facts *facts, const char *name);

/*
 * A process by its pid; also one that has ended and that nobody has waited for, if it is ours. What
 * only its ledger knows (recorded) is the caller's to fill.
 */
void seep_facts_look_at_process(struct seep_facts *facts, uint32_t pid);

/* Resource limits and control groups only, of @process as /proc names it: "self", or a pid. */
void seep_facts_look_at_limits(struct seep_facts *facts, const char *process);

/* Only what its forks inherit: its user and limits. */
void seep_facts_look_at_inherited(struct seep_facts *facts, uint32_t pid);

/* The file system of @path, kept under the name @shown. All zero when it cannot be asked. */
struct seep_room seep_facts_room(struct seep_facts *facts, const char *path, const char *shown);

/* A library, or the program itself: an allocator, or a runtime that manages memory? */
void seep_facts_note_library(struct seep_facts *facts, const char *path);

#endif
