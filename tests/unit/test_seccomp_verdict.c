/* SPDX-License-Identifier: MIT */
/* Filters on system calls: what is said of them, and what the kernel does under them. */
#include "../programs/seccomp_filter.h"
#include "random_below.h"
#include "unit.h"

#include "target/seccomp_verdict.h"

#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NO_SUCH_CALL = 1000, /* the kernel says ENOSYS of it, whatever its arguments */
	CODE_MAX = 64,
	STACK_MAX = 3,
	FOUND_NOTHING = 200,
};

/* Words of struct seccomp_data, by where they begin. */
#define WORD_NR offsetof(struct seccomp_data, nr)
#define WORD_ARCH offsetof(struct seccomp_data, arch)
#define WORD_ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define WORD_ARG_HIGH(n) (WORD_ARG(n) + 4)

#define LOAD(word) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, word)
#define IF(compare, with, then, otherwise) \
	BPF_JUMP(BPF_JMP | compare | BPF_K, with, then, otherwise)
#define ANSWER(with) BPF_STMT(BPF_RET | BPF_K, with)
#define FAIL_BY(number) (SECCOMP_RET_ERRNO | (number))

struct filter {
	struct sock_filter code[CODE_MAX];
	unsigned short count;
};

struct stack {
	struct filter filters[STACK_MAX]; /* in the order in which they are set */
	size_t count;
};

/* What the kernel makes of a call under @stack: the errno, 0, or -1 where it sends SIGSYS. */
static int kernel_does(const struct stack *stack, const struct seep_seccomp_call *call)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		const uint64_t *args = call->arguments;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			_exit(FOUND_NOTHING);
		(void)prctl(PR_SET_DUMPABLE, 0);
		(void)signal(SIGSYS, SIG_DFL); /* which cmocka handles */
		for (size_t i = 0; i < stack->count; i++) {
			struct sock_fprog program = {
				stack->filters[i].count,
				(struct sock_filter *)(uintptr_t)stack->filters[i].code
			};

			if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
				_exit(FOUND_NOTHING);
		}
		_exit(syscall((long)call->number, args[0], args[1], args[2], args[3], args[4],
			      args[5]) < 0
			      ? errno
			      : 0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGSYS);
		return -1;
	}
	assert_int_not_equal(WEXITSTATUS(status), FOUND_NOTHING);
	return WEXITSTATUS(status);
}

static struct seep_seccomp_verdict we_say(struct stack *stack, const struct seep_seccomp_call *call)
{
	struct seep_seccomp_program programs[STACK_MAX];
	const struct seep_seccomp filters = { programs, stack->count };

	for (size_t i = 0; i < stack->count; i++)
		programs[i] = (struct seep_seccomp_program){ stack->filters[i].code,
							     stack->filters[i].count };
	return seep_seccomp_judge(&filters, call);
}

/* As kernel_does(), of a call that the kernel does not know. */
static int outcome(uint32_t answer)
{
	switch (seep_seccomp_outcome_of(answer)) {
	case SEEP_SECCOMP_KILLS:
		return -1;
	case SEEP_SECCOMP_FAILS:
		return answer & SECCOMP_RET_DATA;
	default:
		return ENOSYS;
	}
}

/* ---- one after the other ------------------------------------------------------------------- */

static const struct {
	const char *name;
	struct filter filter;
	struct seep_seccomp_call call;
	uint32_t strictest, mildest;
} cases[] = {
	{ "a call by its number",
	  { { LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL, 0, 1), ANSWER(FAIL_BY(7)),
	      ANSWER(SECCOMP_RET_ALLOW) },
	    4 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  FAIL_BY(7),
	  FAIL_BY(7) },
	{ "another number",
	  { { LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL + 1, 0, 1), ANSWER(FAIL_BY(7)),
	      ANSWER(SECCOMP_RET_ALLOW) },
	    4 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ALLOW },
	{ "a foreign architecture is killed",
	  { { LOAD(WORD_ARCH), IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
	      ANSWER(SECCOMP_RET_KILL_PROCESS), ANSWER(SECCOMP_RET_ALLOW) },
	    4 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ALLOW },
	{ "an argument that is not known goes both ways",
	  { { LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL, 0, 3), LOAD(WORD_ARG(2)),
	      IF(BPF_JSET, 4, 0, 1), ANSWER(SECCOMP_RET_TRAP), ANSWER(SECCOMP_RET_ALLOW) },
	    6 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  SECCOMP_RET_TRAP,
	  SECCOMP_RET_ALLOW },
	{ "an argument that is known does not",
	  { { LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL, 0, 3), LOAD(WORD_ARG(2)),
	      IF(BPF_JSET, 4, 0, 1), ANSWER(SECCOMP_RET_TRAP), ANSWER(SECCOMP_RET_ALLOW) },
	    6 },
	  { NO_SUCH_CALL, 1 << 2, { 0, 0, 3 } },
	  SECCOMP_RET_ALLOW,
	  SECCOMP_RET_ALLOW },
	{ "of one that is known the high half is, too",
	  { { LOAD(WORD_ARG_HIGH(1)), IF(BPF_JEQ, 5, 0, 1), ANSWER(FAIL_BY(9)),
	      ANSWER(SECCOMP_RET_KILL_THREAD) },
	    4 },
	  { NO_SUCH_CALL, 1 << 1, { 0, UINT64_C(5) << 32 } },
	  FAIL_BY(9),
	  FAIL_BY(9) },
	{ "what both ways agree on is known behind them",
	  { { BPF_STMT(BPF_LD | BPF_IMM, FAIL_BY(3)), BPF_STMT(BPF_ST, 2), LOAD(WORD_ARG(0)),
	      IF(BPF_JGT, 10, 0, 1), BPF_STMT(BPF_LDX | BPF_IMM, 1), BPF_STMT(BPF_LD | BPF_MEM, 2),
	      BPF_STMT(BPF_RET | BPF_A, 0) },
	    7 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  FAIL_BY(3),
	  FAIL_BY(3) },
	{ "an answer that is not known may be any",
	  { { LOAD(WORD_ARG(0)), BPF_STMT(BPF_RET | BPF_A, 0) }, 2 },
	  { NO_SUCH_CALL, 0, { 0x7fff0000 } },
	  SECCOMP_RET_KILL_PROCESS,
	  SECCOMP_RET_ALLOW },
	{ "a division by what may be zero",
	  { { BPF_STMT(BPF_LD | BPF_IMM, 8), LOAD(WORD_ARG(0)), BPF_STMT(BPF_MISC | BPF_TAX, 0),
	      BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ANSWER(SECCOMP_RET_ALLOW) },
	    5 },
	  { NO_SUCH_CALL, 0, { 0 } },
	  SECCOMP_RET_KILL_THREAD,
	  SECCOMP_RET_ALLOW },
};

TEST(each_filter_is_judged_and_the_kernel_does_nothing_else)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stack stack = { { cases[i].filter }, 1 };
		const struct seep_seccomp_verdict said = we_say(&stack, &cases[i].call);

		if (said.strictest != cases[i].strictest || said.mildest != cases[i].mildest)
			fail_msg("%s: %x to %x", cases[i].name, said.strictest, said.mildest);
		/* Whose exit_group() has to pass. */
		if (said.strictest != said.mildest || cases[i].filter.count < 4)
			continue;
		if (cases[i].filter.code[0].k == WORD_NR)
			assert_int_equal(kernel_does(&stack, &cases[i].call),
					 outcome(said.strictest));
	}
}

TEST(without_filters_all_passes)
{
	const struct seep_seccomp none = { 0 };
	const struct seep_seccomp_call call = { .number = SYS_mmap };

	assert_int_equal(seep_seccomp_judge(&none, &call).strictest, SECCOMP_RET_ALLOW);
}

TEST(of_several_filters_the_strictest_counts_and_of_equals_the_newest)
{
	static const struct {
		uint32_t answers[STACK_MAX], all;
	} stacks[] = {
		{ { SECCOMP_RET_ALLOW, FAIL_BY(5), SECCOMP_RET_ALLOW }, FAIL_BY(5) },
		{ { FAIL_BY(5), SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW }, SECCOMP_RET_TRAP },
		{ { FAIL_BY(5), FAIL_BY(6), FAIL_BY(8) }, FAIL_BY(8) },
		{ { SECCOMP_RET_KILL_THREAD, FAIL_BY(6), SECCOMP_RET_KILL_PROCESS },
		  SECCOMP_RET_KILL_PROCESS },
		{ { SECCOMP_RET_LOG, SECCOMP_RET_ALLOW, SECCOMP_RET_LOG }, SECCOMP_RET_LOG },
	};
	const struct seep_seccomp_call call = { .number = NO_SUCH_CALL };

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		struct stack stack = { .count = STACK_MAX };

		for (size_t k = 0; k < STACK_MAX; k++)
			stack.filters[k] = (struct filter){
				{ LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL, 0, 1),
				  ANSWER(stacks[i].answers[k]), ANSWER(SECCOMP_RET_ALLOW) },
				4
			};
		assert_int_equal(we_say(&stack, &call).strictest, stacks[i].all);
		assert_int_equal(kernel_does(&stack, &call), outcome(stacks[i].all));
	}
}

TEST(outcomes_are_told_apart)
{
	assert_int_equal(seep_seccomp_outcome_of(SECCOMP_RET_LOG), SEEP_SECCOMP_PASSES);
	assert_int_equal(seep_seccomp_outcome_of(SECCOMP_RET_USER_NOTIF), SEEP_SECCOMP_ASKS);
	assert_int_equal(seep_seccomp_outcome_of(SECCOMP_RET_TRACE | 3), SEEP_SECCOMP_ASKS);
	assert_int_equal(seep_seccomp_outcome_of(FAIL_BY(1)), SEEP_SECCOMP_FAILS);
	assert_int_equal(seep_seccomp_outcome_of(SECCOMP_RET_TRAP | 1), SEEP_SECCOMP_KILLS);
	assert_int_equal(seep_seccomp_outcome_of(0x00010000), SEEP_SECCOMP_KILLS);
}

/* ---- at random ----------------------------------------------------------------------------- */

static uint32_t below(uint32_t end)
{
	return (uint32_t)random_below(end);
}

/* Small numbers, so that comparisons come out either way. */
static uint32_t some_number(void)
{
	static const uint32_t few[] = { 0, 1, 2, 3, 7, 0x80000000, UINT32_MAX };

	return few[below(sizeof(few) / sizeof(*few))];
}

static struct sock_filter some_answer(void)
{
	static const uint32_t few[] = { SECCOMP_RET_ALLOW, FAIL_BY(1), FAIL_BY(20),
					SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP };

	return (struct sock_filter)ANSWER(few[below(sizeof(few) / sizeof(*few))]);
}

static struct sock_filter some_calculation(void)
{
	static const uint16_t operations[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					       BPF_OR,	BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	const uint16_t operation = operations[below(sizeof(operations) / sizeof(*operations))];
	const bool by_x = operation != BPF_NEG && below(2);
	const uint32_t with = operation == BPF_LSH || operation == BPF_RSH ? below(32)
									   : some_number();

	return (struct sock_filter)BPF_STMT((uint16_t)(BPF_ALU | operation | (by_x ? BPF_X : 0)),
					    operation == BPF_DIV && !with ? 3 : with);
}

/* @left: instructions behind it. */
static struct sock_filter some_jump(uint32_t left)
{
	static const uint16_t compares[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };

	if (below(8) == 0)
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, below(left));
	return (struct sock_filter)BPF_JUMP(
		(uint16_t)(BPF_JMP | compares[below(4)] | (below(2) ? BPF_X : 0)), some_number(),
		(uint8_t)below(left), (uint8_t)below(left));
}

static struct sock_filter some_move(void)
{
	switch (below(8)) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0);
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TXA, 0);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, some_number());
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, some_number());
	case 4:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0);
	case 5:
		return (struct sock_filter)BPF_STMT(below(2) ? BPF_ST : BPF_STX, below(4));
	case 6:
		return (struct sock_filter)BPF_STMT(
			(uint16_t)((below(2) ? BPF_LD : BPF_LDX) | BPF_MEM), below(4));
	default:
		return (struct sock_filter)LOAD(below(2) ? WORD_ARG(below(6))
							 : WORD_ARG_HIGH(below(6)));
	}
}

/* All calls but NO_SUCH_CALL pass; words of memory are set before anything reads them. */
static struct filter some_filter(void)
{
	const unsigned short body = (unsigned short)(8 + below(24));
	struct filter filter = { { LOAD(WORD_NR), IF(BPF_JEQ, NO_SUCH_CALL, 1, 0),
				   ANSWER(SECCOMP_RET_ALLOW), BPF_STMT(BPF_ST, 0),
				   BPF_STMT(BPF_ST, 1), BPF_STMT(BPF_ST, 2), BPF_STMT(BPF_ST, 3) },
				 7 };

	for (unsigned short i = 0; i < body; i++) {
		const uint32_t left = body - i;

		filter.code[filter.count++] = below(6) == 0   ? some_answer()
					      : below(3) == 0 ? some_jump(left)
					      : below(2)      ? some_calculation()
							      : some_move();
	}
	filter.code[filter.count++] = some_answer();
	return filter;
}

TEST(random_filters_are_judged_as_the_kernel_runs_them)
{
	for (int i = 0; i < 3000; i++) {
		struct stack stack = { .count = 1 + below(STACK_MAX) };
		struct seep_seccomp_call call = { .number = NO_SUCH_CALL, .known = 0x3f };
		struct seep_seccomp_verdict said;
		int real;

		for (size_t k = 0; k < stack.count; k++)
			stack.filters[k] = some_filter();
		for (int k = 0; k < 6; k++)
			call.arguments[k] = (uint64_t)some_number() << 32 | some_number();
		said = we_say(&stack, &call);
		assert_int_equal(said.strictest, said.mildest);
		real = kernel_does(&stack, &call);
		if (real != outcome(said.strictest))
			fail_msg("filter %d: the kernel does %d, we say %x", i, real,
				 said.strictest);
		/* What is known less of is said less of, and never anything wrong. */
		call.known = below(0x40);
		said = we_say(&stack, &call);
		if (seep_seccomp_outcome_of(said.strictest) ==
		    seep_seccomp_outcome_of(said.mildest))
			assert_int_equal(real < 0, outcome(said.strictest) < 0);
		assert_true(real >= 0 || outcome(said.strictest) < 0);
		assert_true(real != ENOSYS || outcome(said.mildest) == ENOSYS);
	}
}

/* ---- read from a thread -------------------------------------------------------------------- */

/* A child that stops itself, traced, under @count filters of set_filter(). */
static pid_t stopped_under(int count)
{
	const int calls[] = { SYS_memfd_create, SYS_mount };
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		for (int i = 0; i < count; i++)
			if (set_filter(calls, 2, FAIL_BY(40 + i), SECCOMP_RET_ALLOW) != 0)
				_exit(1);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

TEST(the_filters_of_a_stopped_thread_are_read)
{
	for (int count = 0; count < 3; count++) {
		const struct seep_seccomp_call call = { .number = SYS_memfd_create },
					       other = { .number = SYS_close };
		const pid_t pid = stopped_under(count);
		struct seep_seccomp filters;
		struct seep_error err = { 0 };

		if (seep_seccomp_read(pid, &filters, &err) < 0) {
			(void)kill(pid, SIGKILL);
			assert_int_equal(waitpid(pid, NULL, 0), pid);
			skip(); /* no CAP_SYS_ADMIN, or we are under a filter */
		}
		assert_int_equal(filters.count, count);
		assert_int_equal(seep_seccomp_judge(&filters, &call).strictest,
				 count ? FAIL_BY(39 + count) : SECCOMP_RET_ALLOW);
		assert_int_equal(seep_seccomp_judge(&filters, &other).strictest, SECCOMP_RET_ALLOW);
		seep_seccomp_done(&filters);
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}
