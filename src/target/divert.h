/* SPDX-License-Identifier: MIT */
/*
 * Leads one thread of another process through system calls and calls of functions, and back to where
 * it stood. The thread finds back by itself: code of ours in its process, in the unused end of a page
 * of code, saves what calls may change, makes the calls and restores it all. So it does not matter when
 * we are killed; a thread is either not led yet, or comes back without us.
 *
 * Not noticed by the process: registers of all kinds, errno and blocked signals are as before, and a
 * system call that was interrupted is made again. Signals that come meanwhile wait.
 */
#ifndef SEEP_TARGET_DIVERT_H
#define SEEP_TARGET_DIVERT_H

#include "base/error.h"
#include "target/live_modules.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

/* SHORT: at most so many steps, where there is no room for more. */
enum { SEEP_DIVERSION_STEPS_MAX = 8, SEEP_DIVERSION_SHORT = 2, SEEP_DIVERSION_TEXT_BYTES = 16 };

/* Of @what: the address is in a shared object, whose handle the step before gave. Results must be written. */
#define SEEP_STEP_IN_OBJECT (UINT64_C(1) << 63)
/* Of an argument: the address of the diversion's text. */
#define SEEP_STEP_TEXT UINT64_MAX

/* A system call's number, or a function's address, which is larger; up to four arguments for that. */
struct seep_step {
	uint64_t what;
	uint64_t arguments[6];
	/* So many steps behind it are left out if its result is not 0; below 0, if it is. */
	int64_t leaves_out;
};

struct seep_diversion {
	struct seep_step steps[SEEP_DIVERSION_STEPS_MAX];
	unsigned count;
	char text[SEEP_DIVERSION_TEXT_BYTES];
	/* Results are written once a step gives this; UINT64_MAX: from the first on. */
	uint64_t first_result;
	/* A word that is 1 when the thread is done; behind it the results. 0: nothing is. */
	uint64_t done_at;
	uint64_t stack;	  /* where one for the calls ends; 0: nothing is called */
	uint64_t vectors; /* _VECTORS_BYTES of zeros at a multiple of 64; 0: nothing is called */
	uint64_t errno_location; /* the C library's function; 0: nothing is called */
	uint64_t room; /* _ROOM_BYTES of the process's memory; 0: _SHORT steps, and no _catch() */
};

/* One step more, of two arguments. */
void seep_diversion_add(struct seep_diversion *diversion, uint64_t what, uint64_t first,
			uint64_t second, int64_t leaves_out);

enum { SEEP_DIVERSION_VECTORS_BYTES = 16 << 10, SEEP_DIVERSION_ROOM_BYTES = 1024 };
/* Of its own stack that a thread must have left. */
enum { SEEP_DIVERSION_STACK_BYTES = 272 };

/*
 * Put our code into @modules' process, a thread of which is traced and stopped, unless it is there.
 * Returns: 0; -SEEP_EREFUSED: there is no room for it, or it cannot be written.
 */
SEEP_NODISCARD int seep_diversion_prepare(const struct seep_live_modules *modules, pid_t tid,
					  uint64_t *ret_code, struct seep_error *err);

/* Where it is already; 0: nowhere. */
uint64_t seep_diversion_find(const struct seep_live_modules *modules);

/* It is still there: the process does not run another program by now. */
bool seep_diversion_is_there(struct seep_memory *memory, uint64_t code);

/* Beside the code, for who comes next, should we be killed. */
struct seep_diversion_note {
	/* In the order in which they are written. */
	uint64_t slot;	  /* of one that is caught; 0 */
	uint64_t tid;	  /* who is led, as the process numbers it; 0: nobody yet */
	uint64_t scratch; /* what we have in the process; 0: nothing */
};

/*
 * Set by way of a stopped thread, before another one is led: the last one must have left the code. False: it
 * cannot be written, or read.
 */
bool seep_diversion_set_note(pid_t tid, uint64_t code, const struct seep_diversion_note *note);
bool seep_diversion_note(struct seep_memory *memory, uint64_t code,
			 struct seep_diversion_note *ret_note);

/* @pc is in it. */
bool seep_diversion_holds(uint64_t code, uint64_t pc);

/* So is what a handler will return to, whose stack @words are; @room: as in the diversion that it was. */
bool seep_diversion_is_in(uint64_t code, uint64_t room, const uint64_t *words, size_t count);

/*
 * Lead a stopped thread astray, once it goes on: seep_tracee_go(PTRACE_DETACH). @registers: its own, as
 * they were read. False: nothing was changed; it stands on a stack without room, has ended, or waits with
 * signals of its own on a kernel that does not say which it had.
 */
bool seep_diversion_lead(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			 const struct user_regs_struct *registers);

/*
 * Lead a stopped thread astray when a function of it returns: the word at @slot, on its stack, where
 * it is to return to. False: nothing was changed. One thread at a time can wait to be led so.
 */
bool seep_diversion_catch(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			  uint64_t slot);

/* Not any more, while it is stopped at @pc. False: it has returned, and is led. */
bool seep_diversion_let_pass(const struct seep_diversion *diversion, pid_t tid, uint64_t code,
			     uint64_t slot, uint64_t pc);

#endif
