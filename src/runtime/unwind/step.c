/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/step.h"

/* x86-64 Linux: offsets of saved registers in the ucontext that a signal-return frame points at. */
enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

/* Beyond this it is another stack. */
enum { FRAME_BYTES_MAX = 1 << 20 };

/* What an entry point may have below the stack's first word. */
enum { ENTRY_BYTES_MAX = 48 };

/* Signal frames and stack switches on one walk: more mean that it goes in circles. */
enum { MOVES_MAX = 64 };

/* So near its end there is nothing but the main stack: the kernel leaves 128 MB for it. */
enum { MAIN_STACK_BYTES = 16 << 20 };

static void move(struct rt_state *s)
{
	s->forget = true;
	s->moved = true;
	s->moves++;
}

static void end(struct rt_state *s, bool truncated)
{
	s->ended = true;
	s->truncated = truncated;
}

/* Truncated because of what memory held or did not: not to be remembered. */
static void end_unsure(struct rt_state *s)
{
	s->forget = true;
	end(s, true);
}

/* From a frame in use up to its end the main stack is there: a sandbox may kill who asks. */
static bool is_in_main_stack(const struct rt_state *s, uintptr_t address)
{
	const uintptr_t left = rt_stack_main_end() - s->sp;

	return left <= MAIN_STACK_BYTES && address - s->sp < left;
}

/*
 * A CFA further out than most or than was looked at, or not further out at all: is the memory there?
 * A wrong rule, or a return address that is none, could lead anywhere. Beyond what a frame can be it
 * is another stack. False ends the walk.
 */
static bool take_leap(struct rt_state *s, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	if (cfa & 7 || s->moves == MOVES_MAX ||
	    (!is_in_main_stack(s, cfa - 8) && !rt_is_readable(cfa - 8)) ||
	    (reads_fp && !is_in_main_stack(s, fp_at) && !rt_is_readable(fp_at)))
		return false;
	if (cfa - s->sp - 1 >= FRAME_BYTES_MAX)
		move(s);
	if (!s->away)
		s->limit = ((cfa - 8) | 4095) + 1;
	return true;
}

/* Take the frame that returns at @cfa - 8. */
static void take(struct rt_state *s, uintptr_t cfa)
{
	s->ra_at = cfa - 8;
	s->ra = rt_word_at(cfa - 8);
	s->sp = cfa;
	if (s->ra == 0)
		end(s, false);
}

static bool is_near(const struct rt_state *s, uintptr_t cfa)
{
	return rt_step_is_plausible(s->sp, cfa) && cfa <= s->limit;
}

static void step_to(struct rt_state *s, uintptr_t cfa, rt_rule rule)
{
	uintptr_t fp_at = cfa + rt_rule_fp_offset(rule);
	bool reads_fp = rule & RT_RULE_SAVES_FP;

	if (!is_near(s, cfa) && !take_leap(s, cfa, fp_at, reads_fp)) {
		end_unsure(s);
		return;
	}
	take(s, cfa);
	if (reads_fp)
		s->fp = rt_word_at(fp_at);
}

/* May the word at @at be read? Within a frame's reach of @sp it is the stack; else ask. */
static bool is_word(const struct rt_state *s, uintptr_t sp, uintptr_t at)
{
	if (at & 7)
		return false;
	return (at - (sp - 8) <= RT_FRAME_BYTES_PLAUSIBLE && at < s->limit) || rt_is_readable(at);
}

/* The CFA, less @plus, stands in memory at @cfa_at: a word that must be looked at again too. */
static bool step_by_memory(struct rt_state *s, uintptr_t cfa_at, uintptr_t plus)
{
	uintptr_t cfa;

	if (!is_word(s, s->sp, cfa_at)) {
		end_unsure(s);
		return false;
	}
	cfa = rt_word_at(cfa_at) + plus;
	if (!is_near(s, cfa) && !take_leap(s, cfa, cfa, false)) {
		end_unsure(s);
		return false;
	}
	take(s, cfa);
	return true;
}

static void read_fp(struct rt_state *s, uintptr_t sp, uintptr_t at)
{
	if (is_word(s, sp, at))
		s->fp = rt_word_at(at);
	else
		end_unsure(s);
}

static void step_signal(struct rt_state *s)
{
	uintptr_t ucontext = s->sp;

	move(s);
	s->exact = true;
	s->ra_at = ucontext + UCONTEXT_RIP;
	s->ra = rt_word_at(s->ra_at);
	s->fp = rt_word_at(ucontext + UCONTEXT_RBP);
	s->sp = rt_word_at(ucontext + UCONTEXT_RSP);
	if (s->moves > MOVES_MAX)
		end(s, true);
}

/*
 * Where the main stack ends is the entry of the program, or the loader's, of which not all have
 * unwind information. It aligns the stack and pushes two words at most. A goroutine's function
 * returns to runtime.goexit, four words before the end.
 */
bool rt_step_is_outermost(const struct rt_state *s)
{
	return rt_stack_main_end() - s->sp <= ENTRY_BYTES_MAX ||
	       (s->away && s->limit - s->sp <= ENTRY_BYTES_MAX);
}

/*
 * Which stack does fp point into? One whose bounds are known: the present one, or that of the
 * goroutine which calls C, or the thread's own again where C has called Go.
 */
static bool find_stack(struct rt_state *s, struct rt_stack *stack)
{
	const uintptr_t bytes = 2 * sizeof(uintptr_t);
	uintptr_t end;

	if (s->away) {
		if (s->fp >= s->sp && s->fp <= s->limit - bytes)
			return true;
		s->away = false;
		s->limit = stack->end;
		s->moved = true;
		return s->fp - s->root < FRAME_BYTES_MAX &&
		       rt_stack_holds(stack, s->root, s->fp, bytes);
	}
	if (s->fp - s->sp < FRAME_BYTES_MAX && rt_stack_holds(stack, s->sp, s->fp, bytes)) {
		s->limit = stack->end;
		return true;
	}
	end = rt_stack_before_cgo(stack, s->sp, &s->fp);
	if (!end)
		return false;
	if (!s->root)
		s->root = s->ra_at;
	s->away = s->moved = true;
	s->limit = end;
	return true;
}

/*
 * Code without unwind information, called from where it can be seen: a frame pointer that points
 * into a stack whose bounds are known is believed.
 */
static void step_by_frame_pointer(struct rt_state *s, struct rt_stack *stack)
{
	uintptr_t words[2];

	if (rt_step_is_outermost(s)) {
		end(s, false);
		return;
	}
	if (!stack || s->fp & 7 || s->moves == MOVES_MAX || !find_stack(s, stack)) {
		end_unsure(s);
		return;
	}
	if (s->away) {
		words[0] = rt_word_at(s->fp);
		words[1] = rt_word_at(s->fp + 8);
	} else if (rt_read_memory(s->fp, words, sizeof(words))) {
		rt_note_unseen(LEDGER_UNSEEN_FRAME_POINTER);
	} else {
		/* The bounds once looked at may have been changed by mprotect() since. */
		end_unsure(s);
		return;
	}
	s->moves += s->moved;
	s->sp = s->fp + sizeof(words);
	s->ra_at = s->sp - 8;
	s->ra = words[1];
	s->fp = words[0];
	if (s->ra == 0)
		end(s, false);
}

void rt_step(struct rt_state *s, rt_rule rule, struct rt_stack *stack)
{
	uintptr_t cfa_offset = rt_rule_cfa_offset(rule);
	uintptr_t fp_offset = rt_rule_fp_offset(rule);
	uintptr_t sp = s->sp, fp = s->fp;

	s->exact = s->moved = false;
	switch (rt_rule_kind(rule)) {
	case CFI_SP:
		step_to(s, sp + cfa_offset, rule);
		break;
	case CFI_FP:
		step_to(s, fp + cfa_offset, rule);
		break;
	case CFI_DRAP:
		if (step_by_memory(s, fp + cfa_offset, 0))
			read_fp(s, sp, fp + fp_offset);
		break;
	case CFI_SP_MEMORY:
		if (step_by_memory(s, sp + cfa_offset, 8) && rule & RT_RULE_SAVES_FP)
			read_fp(s, sp, s->sp + fp_offset);
		break;
	case CFI_SIGNAL:
		step_signal(s);
		break;
	case CFI_STOP:
		end(s, false);
		break;
	case RT_RULE_FOLLOWS_FP:
		step_by_frame_pointer(s, stack);
		break;
	default:
		end(s, !rt_step_is_outermost(s));
	}
}
