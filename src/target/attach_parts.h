/* SPDX-License-Identifier: MIT */
/*
 * What the parts of attaching share: which modules the process has (attach_modules.c), how a thread of it
 * is led astray (attach_lead.c), what is mapped and opened for that (attach_scratch.c), and what it is led
 * through (attach.c).
 */
#ifndef SEEP_TARGET_ATTACH_PARTS_H
#define SEEP_TARGET_ATTACH_PARTS_H

#include "ledger/ledger_attach.h"
#include "target/attach.h"
#include "target/divert.h"
#include "target/entries.h"
#include "target/live_modules.h"
#include "target/safe_point.h"

#include <stddef.h>

enum { ATTACH_HELD_MAX = 64, ATTACH_LOCK_BYTES = 40 };

struct attach {
	pid_t pid;
	int lock; /* /proc/PID, which one of us at a time may hold */
	bool leaves;
	const struct seep_attach_plan *plan;
	uint64_t began_ns, deadline_ns;
	uint64_t program; /* as seep_attach_facts has it */
	struct seep_live_modules modules;
	struct seep_safe_points *points;
	struct seep_live_module *libc;
	struct seep_live_module *ours; /* NULL: not loaded */
	uint64_t load_lock; /* the loader's, a mutex, and the one behind it; 0: not found */
	uint32_t id_offset; /* of a thread's id, in its control block; 0: not found */
	uint64_t code;	    /* of diversions, once it is there */
	uint64_t noted;	    /* beside it: the scratch, as long as one may be there */
	uint64_t scratch;   /* address in the process; 0: not mapped */
	int fd;		    /* in the process, of the library; -1 none */
	const char *why;    /* no thread can be led astray: where one was */
	pid_t held[ATTACH_HELD_MAX]; /* threads that have not stopped yet, and are to be let go */
	unsigned held_count;
	bool lost;		      /* a thread was led, and has not come back */
	bool catches;		      /* one that is in such a place is led when it leaves it */
	pid_t holder;		      /* of the loader's lock, as far as is known; 0 */
	struct seep_entries entries;  /* of allocators inside modules */
	bool gives_up;		      /* these: it is recorded without */
	const char *linked_allocator; /* what the program has linked in that may be entered; NULL */
	struct seep_attach_result *result;
};

enum {
	ATTACH_RESULTS = SEEP_DIVERSION_STEPS_MAX + 1,
	ATTACH_PATH_BYTES = 64,
	ATTACH_STACK_BYTES = 256 << 10,
};

/* What is mapped into the process for the time of the call. */
struct attach_scratch {
	struct ledger_attach how;
	uint64_t mapped[ATTACH_RESULTS], called[ATTACH_RESULTS]; /* as seep_diversion.done_at */
	char path[ATTACH_PATH_BYTES];
	_Alignas(64) uint8_t room[SEEP_DIVERSION_ROOM_BYTES];
	_Alignas(64) uint8_t vectors[SEEP_DIVERSION_VECTORS_BYTES];
	struct ledger_entry_page pages[LEDGER_ENTRY_MODULES_MAX];
	_Alignas(4096) uint8_t stack[ATTACH_STACK_BYTES];
};

#define SCRATCH_AT(a, member) ((a)->scratch + offsetof(struct attach_scratch, member))

SEEP_NODISCARD int attach_read_modules(struct attach *a, struct seep_error *err);
void attach_forget_modules(struct attach *a);

/* Of a dynamic symbol that @module defines; 0: none. */
uint64_t attach_address_of(struct attach *a, struct seep_live_module *module, const char *name);

/* As seep_attach_facts has it; and whether it executes another one than @program was. */
uint64_t attach_program(pid_t pid);
bool attach_has_executed(pid_t pid, uint64_t program);

/* Its thread that it numbers so itself; 0: there is none. */
pid_t attach_thread(const struct attach *a, uint64_t number);

/*
 * Has the thread come back that was led last, by whomever? One that was to be caught, and is not yet, is caught
 * no more: then it has.
 */
bool attach_is_over(struct attach *a, const struct seep_diversion_note *left);

/*
 * Lead any thread through @diversion, and wait until it has come back. @calls: into the C library; then
 * from a safe point only.
 * Returns: 0, -SEEP_EREFUSED (none until a->deadline_ns), -SEEP_ENOTFOUND, -SEEP_ESYS
 */
SEEP_NODISCARD int attach_lead(struct attach *a, const struct seep_diversion *diversion, bool calls,
			       struct seep_error *err);

/* Once the last one of us that was killed in the middle has nothing left there. */
SEEP_NODISCARD int attach_settle(struct attach *a, struct seep_error *err);

/*
 * Map the scratch and, if @loads, make a file in memory for the library. The right to execute it is
 * not asked for: code is mapped without, and where vm.memfd_noexec is 2 asking is refused.
 */
SEEP_NODISCARD int attach_prepare(struct attach *a, bool loads, struct seep_error *err);

/* Take both away, if the process lives. It may take a little longer than the rest. */
void attach_clean_up(struct attach *a);

/*
 * Of allocators inside modules, attach_entries.c, in this order: which there are, if they are asked for;
 * where pages of code for them are to be, for the library, with their contents @at; once that records,
 * jumps to it.
 */
void attach_find_entries(struct attach *a);
SEEP_NODISCARD bool attach_tell_entries(const struct attach *a, uint64_t at,
					struct ledger_attach *how);
/* What there is to say of it, as a sentence; NULL: nothing. Release with free(). */
char *attach_lead_entries(struct attach *a, uint64_t led_at);
/* After the library has left. Returns how many jumps were still there, or -SEEP_EREFUSED. */
SEEP_NODISCARD int attach_restore_entries(struct attach *a, struct seep_error *err);

#endif
