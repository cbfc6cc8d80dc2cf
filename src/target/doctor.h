/* SPDX-License-Identifier: MIT */
/*
 * Why recording would fail here, or show little, and what to change.
 *
 * Looking and judging are apart: seep_doctor_look_*() fill one struct of facts, each check is a pure
 * function of it. So a test makes up the machine that it wants judged.
 */
#ifndef SEEP_TARGET_DOCTOR_H
#define SEEP_TARGET_DOCTOR_H

#include "base/arena.h"
#include "base/error.h"
#include "core/cgroup.h"
#include "target/elfkind.h"
#include "target/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEP_DOCTOR_TEXT_BYTES = 1024, SEEP_DOCTOR_LIBRARIES_MAX = 512 };

/* What a check is about. */
enum seep_doctor_subject {
	SEEP_DOCTOR_MACHINE = 1,
	SEEP_DOCTOR_PROGRAM = 2,
	SEEP_DOCTOR_PROCESS = 4,
};

enum seep_doctor_result { SEEP_DOCTOR_OK, SEEP_DOCTOR_NOTE, SEEP_DOCTOR_PROBLEM };

/* Room in a file system. */
struct seep_doctor_room {
	const char *path;
	uint64_t total_bytes; /* 0 = not known */
	uint64_t free_bytes;
	bool in_memory; /* tmpfs */
};

struct seep_doctor_machine {
	const char *kernel; /* release */
	bool has_proc;
	bool kernel_populates; /* knows MADV_POPULATE_WRITE */
	const char *container; /* "docker", ...; NULL when nothing says so */
	const char *confined;  /* AppArmor's or SELinux's word for this process; NULL none */
	bool selinux_enforces;

	const char *library;	     /* path; NULL: */
	const char *library_problem; /* why it was not found */
	bool library_noexec;	     /* on a file system from which no code may be mapped */
	const char *glibc_needed;    /* by it: "2.34" */
	const char *glibc_here;

	struct seep_doctor_room ledgers;
	const char *ledgers_problem; /* of the folder; NULL none */
	struct seep_doctor_room output;
	bool output_writable;
	struct seep_limits limits;
	struct core_cgroup group; /* SEEP_NO_LIMIT: none */

	const char *preload;	     /* what LD_PRELOAD holds; NULL or "" nothing */
	const char *preload_missing; /* a path of it where no file is */

	bool was_tried;	   /* a program was started with the library, as "seep run" would */
	bool tried_well;   /* it made a ledger */
	const char *tried; /* the first line that it had to say; NULL none */

	bool has_debug_folder; /* /usr/lib/debug */
	const char *debuginfod_urls;
};

struct seep_doctor_program {
	const char *name;
	const char *problem; /* of seep_preflight(); NULL none. Then nothing below is known */
	const char *path;
	const char *loaded; /* the program itself, or the interpreter of a script */
	bool is_script;
	bool was_read; /* else it may be executed but not read, and this is unknown: */
	struct seep_elfkind kind;
	const char *libraries[SEEP_DOCTOR_LIBRARIES_MAX]; /* paths, as the loader finds them */
	size_t library_count;
	const char *missing_library;
	bool has_lines; /* DWARF, in it or in a separate file */
	bool has_names; /* a symbol table, in it or there */
	bool has_build_id;
	const char *package; /* of the distribution; NULL none or unknown */
};

struct seep_doctor_process {
	uint32_t pid;
	bool exists;
	const char *exe;     /* NULL when it may not be looked at */
	bool is_kernels;     /* a thread of the kernel: there is no program */
	const char *user;    /* name of @uid; NULL none */
	const char *command; /* arguments, each ended by a zero byte */
	size_t command_bytes;
	uint32_t uid; /* effective */
	uint32_t real_uid;
	bool can_look;		/* maps and environment may be read */
	bool has_library;	/* libseep.so is mapped */
	bool asked_for_library; /* its LD_PRELOAD names libseep.so */
	const char *allocator;	/* a mapped library of another malloc; NULL none */
	const char *recorded;	/* state of its ledger, a word of "seep ps"; NULL: there is none */
	uint64_t live_bytes;	/* of that ledger */
	unsigned seccomp;	/* 0 none, 1 strict, 2 filter */
	bool other_pid_namespace;
	bool other_root;	     /* another mount namespace or root directory */
	struct seep_doctor_room shm; /* as it sees it */
	struct seep_limits limits;
	struct core_cgroup group; /* SEEP_NO_LIMIT: none */
	uint64_t rss_bytes;
	uint64_t anonymous_bytes; /* of these: what can be heap */
	uint64_t locked_bytes;	  /* by mlock */
};

struct seep_doctor_facts {
	struct seep_arena *arena; /* owns all text */
	unsigned subjects;	  /* of enum seep_doctor_subject, what has been looked at */
	uint32_t uid;		  /* our own, effective */
	struct seep_doctor_machine machine;
	struct seep_doctor_program program;
	struct seep_doctor_process process;
};

struct seep_doctor_finding {
	enum seep_doctor_result result;
	char sentence[SEEP_DOCTOR_TEXT_BYTES]; /* "" = does not apply */
	char advice[SEEP_DOCTOR_TEXT_BYTES];   /* "" = nothing to do */
};

struct seep_doctor_check {
	const char *code;  /* stable */
	const char *about; /* what is checked, a few words */
	enum seep_doctor_subject subject;
	void (*judge)(const struct seep_doctor_facts *facts, struct seep_doctor_finding *finding);
};

/* All checks, in the order in which they are best read. */
extern const struct seep_doctor_check seep_doctor_checks[];
extern const size_t seep_doctor_check_count;

/* Fill @ret_finding; @check's subject must be among facts->subjects. */
void seep_doctor_judge(const struct seep_doctor_check *check, const struct seep_doctor_facts *facts,
		       struct seep_doctor_finding *ret_finding);

/* Nothing has been looked at yet. Release with _done(). */
void seep_doctor_facts_init(struct seep_doctor_facts *facts);
void seep_doctor_facts_done(struct seep_doctor_facts *facts);

/* A copy of @text that lives as long as @facts; NULL stays NULL. */
const char *seep_doctor_keep(struct seep_doctor_facts *facts, const char *text);

/**
 * seep_doctor_look_at_machine - what holds for every program started from here
 * @ledger_dir:     the folder of ledgers, made already where that was possible
 * @ledger_problem: why it cannot be used; NULL: it can
 *
 * Starts this very program once with the library, and removes the ledger that it leaves.
 */
void seep_doctor_look_at_machine(struct seep_doctor_facts *facts, const char *ledger_dir,
				 const char *ledger_problem);

/* @name as for seep_preflight(). Lets the dynamic loader list its libraries; does not run it. */
void seep_doctor_look_at_program(struct seep_doctor_facts *facts, const char *name);

/* A process by its pid. What only its ledger knows (recorded, live_bytes) is the caller's to fill. */
void seep_doctor_look_at_process(struct seep_doctor_facts *facts, uint32_t pid);

#endif
