/* SPDX-License-Identifier: MIT */
#include "target/seccomp_verdict.h"

#include "base/procfs.h"
#include "base/xalloc.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>

enum {
	FILTERS_MAX = 4096, /* the kernel's bound is on all their instructions together */
	DATA_WORDS = sizeof(struct seccomp_data) / sizeof(uint32_t),
	FIRST_ARGUMENT_WORD = offsetof(struct seccomp_data, args) / sizeof(uint32_t),
};

struct word {
	uint32_t value;
	bool is_known;
};

/* Of the machine in front of one instruction: what all ways that lead there agree on. */
struct state {
	bool is_reached;
	struct word a, x, memory[BPF_MEMWORDS];
};

struct pass {
	const struct seep_seccomp_program *program;
	struct word data[DATA_WORDS];
	struct state *states; /* one for each instruction */
	struct seep_seccomp_verdict verdict;
};

/* As the kernel orders answers: the less, the stricter. */
static int32_t rank(uint32_t answer)
{
	return (int32_t)(answer & SECCOMP_RET_ACTION_FULL);
}

static struct word known(uint32_t value)
{
	return (struct word){ value, true };
}

static void join_word(struct word *word, struct word other)
{
	if (word->value != other.value || !other.is_known)
		*word = (struct word){ 0 };
}

/* A way leads from behind @state to instruction @to; none that the kernel took leads out. */
static void lead(struct pass *pass, const struct state *state, size_t to)
{
	struct state *at = &pass->states[to];

	if (to >= pass->program->count)
		return;
	if (!at->is_reached) {
		*at = *state;
		return;
	}
	join_word(&at->a, state->a);
	join_word(&at->x, state->x);
	for (int i = 0; i < BPF_MEMWORDS; i++)
		join_word(&at->memory[i], state->memory[i]);
}

static void answer(struct pass *pass, uint32_t with)
{
	if (rank(with) < rank(pass->verdict.strictest))
		pass->verdict.strictest = with;
	if (rank(with) >= rank(pass->verdict.mildest))
		pass->verdict.mildest = with;
}

static void answer_unknown(struct pass *pass)
{
	answer(pass, SECCOMP_RET_KILL_PROCESS);
	answer(pass, SECCOMP_RET_ALLOW);
}

static uint32_t calculate(uint16_t operation, uint32_t a, uint32_t with)
{
	switch (operation) {
	case BPF_ADD:
		return a + with;
	case BPF_SUB:
		return a - with;
	case BPF_MUL:
		return a * with;
	case BPF_DIV:
		return a / with;
	case BPF_AND:
		return a & with;
	case BPF_OR:
		return a | with;
	case BPF_XOR:
		return a ^ with;
	case BPF_LSH:
		return a << (with & 31);
	case BPF_RSH:
		return a >> (with & 31);
	default:
		return -a; /* BPF_NEG */
	}
}

/* False: a division by zero, by which the filter ends with answer 0. */
static bool step_alu(struct pass *pass, struct state *state, const struct sock_filter *code)
{
	const struct word with = BPF_SRC(code->code) == BPF_X ? state->x : known(code->k);

	if (BPF_OP(code->code) == BPF_DIV && !with.value) {
		answer(pass, 0);
		if (with.is_known)
			return false;
	}
	if (state->a.is_known && with.is_known)
		state->a.value = calculate(BPF_OP(code->code), state->a.value, with.value);
	else
		state->a = (struct word){ 0 };
	return true;
}

static bool compare(uint16_t operation, uint32_t a, uint32_t with)
{
	switch (operation) {
	case BPF_JEQ:
		return a == with;
	case BPF_JGE:
		return a >= with;
	case BPF_JGT:
		return a > with;
	default:
		return a & with; /* BPF_JSET */
	}
}

static void step_jump(struct pass *pass, const struct state *state, size_t at)
{
	const struct sock_filter *code = &pass->program->code[at];
	const uint16_t operation = BPF_OP(code->code);
	const struct word with = BPF_SRC(code->code) == BPF_X ? state->x : known(code->k);
	const bool is_clear = state->a.is_known && with.is_known;
	const bool holds = is_clear && compare(operation, state->a.value, with.value);

	if (operation == BPF_JA) {
		lead(pass, state, at + 1 + code->k);
		return;
	}
	if (holds || !is_clear)
		lead(pass, state, at + 1 + code->jt);
	if (!holds)
		lead(pass, state, at + 1 + code->jf);
}

/* What BPF_LD and BPF_LDX load. */
static struct word loaded(const struct pass *pass, const struct state *state,
			  const struct sock_filter *code)
{
	switch (BPF_MODE(code->code)) {
	case BPF_ABS:
		return code->k / 4 < DATA_WORDS ? pass->data[code->k / 4] : (struct word){ 0 };
	case BPF_LEN:
		return known(sizeof(struct seccomp_data));
	case BPF_MEM:
		return state->memory[code->k % BPF_MEMWORDS];
	default:
		return known(code->k); /* BPF_IMM */
	}
}

static void step_return(struct pass *pass, const struct state *state,
			const struct sock_filter *code)
{
	if (BPF_RVAL(code->code) == BPF_K)
		answer(pass, code->k);
	else if (state->a.is_known)
		answer(pass, state->a.value);
	else
		answer_unknown(pass);
}

static void step(struct pass *pass, size_t at)
{
	const struct sock_filter *code = &pass->program->code[at];
	struct state state = pass->states[at];

	switch (BPF_CLASS(code->code)) {
	case BPF_RET:
		step_return(pass, &state, code);
		return;
	case BPF_JMP:
		step_jump(pass, &state, at);
		return;
	case BPF_ALU:
		if (!step_alu(pass, &state, code))
			return;
		break;
	case BPF_LD:
		state.a = loaded(pass, &state, code);
		break;
	case BPF_LDX:
		state.x = loaded(pass, &state, code);
		break;
	case BPF_ST:
		state.memory[code->k % BPF_MEMWORDS] = state.a;
		break;
	case BPF_STX:
		state.memory[code->k % BPF_MEMWORDS] = state.x;
		break;
	default:
		if (BPF_MISCOP(code->code) == BPF_TXA)
			state.a = state.x;
		else
			state.x = state.a;
	}
	lead(pass, &state, at + 1);
}

/* struct seccomp_data, as far as it is known: where the call is made from is not. */
static void fill_data(const struct seep_seccomp_call *call, struct word data[DATA_WORDS])
{
	data[offsetof(struct seccomp_data, nr) / 4] = known(call->number);
	data[offsetof(struct seccomp_data, arch) / 4] = known(AUDIT_ARCH_X86_64);
	for (unsigned i = 0; i < 6; i++) {
		if (!(call->known >> i & 1))
			continue;
		data[FIRST_ARGUMENT_WORD + 2 * i] = known((uint32_t)call->arguments[i]);
		data[FIRST_ARGUMENT_WORD + 2 * i + 1] = known((uint32_t)(call->arguments[i] >> 32));
	}
}

static struct seep_seccomp_verdict judge_one(const struct seep_seccomp_program *program,
					     const struct seep_seccomp_call *call)
{
	struct pass pass = {
		.program = program,
		.states = seep_xcalloc(program->count + 1, sizeof(*pass.states)),
		.verdict = { .strictest = SECCOMP_RET_ALLOW, .mildest = SECCOMP_RET_KILL_PROCESS },
	};

	fill_data(call, pass.data);
	/* The machine begins with zeros. */
	pass.states[0] = (struct state){ .is_reached = true, .a = known(0), .x = known(0) };
	for (int i = 0; i < BPF_MEMWORDS; i++)
		pass.states[0].memory[i] = known(0);
	for (size_t at = 0; at < program->count; at++)
		if (pass.states[at].is_reached)
			step(&pass, at);
	free(pass.states);
	return pass.verdict;
}

struct seep_seccomp_verdict seep_seccomp_judge(const struct seep_seccomp *filters,
					       const struct seep_seccomp_call *call)
{
	struct seep_seccomp_verdict all = { SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW };

	/* Of two that are equally strict the newer one's data counts. */
	for (size_t i = filters->count; i-- > 0;) {
		const struct seep_seccomp_verdict one = judge_one(&filters->items[i], call);

		if (rank(one.strictest) < rank(all.strictest))
			all.strictest = one.strictest;
		if (rank(one.mildest) < rank(all.mildest))
			all.mildest = one.mildest;
	}
	return all;
}

enum seep_seccomp_outcome seep_seccomp_outcome_of(uint32_t answer_given)
{
	switch (answer_given & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return SEEP_SECCOMP_PASSES;
	case SECCOMP_RET_USER_NOTIF:
	case SECCOMP_RET_TRACE:
		return SEEP_SECCOMP_ASKS;
	case SECCOMP_RET_ERRNO:
		return SEEP_SECCOMP_FAILS;
	default:
		return SEEP_SECCOMP_KILLS; /* for what it does not know the kernel kills, too */
	}
}

/* Of one that is not the kernel says EINVAL, and so it does if it was built without that request. */
static bool is_filtered(pid_t tid)
{
	struct seep_procfs_status status;

	return seep_procfs_status((uint32_t)tid, &status) && status.seccomp == 2;
}

/* Returns 1 with filter @index in @filters, 0: there is none, or negative. */
static int read_one(pid_t tid, size_t index, struct seep_seccomp *filters, struct seep_error *err)
{
	long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, NULL);
	int problem = count < 0 ? errno : 0;
	struct seep_seccomp_program program = { 0 };

	if (problem == ENOENT || (problem == EINVAL && !is_filtered(tid)))
		return 0;
	if (!problem) {
		program.count = (size_t)count;
		program.code = seep_xcalloc(program.count + 1, sizeof(*program.code));
		if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, program.code) != count)
			problem = errno;
	}
	if (problem) {
		free(program.code);
		return seep_fail_errno(err, problem,
				       "the seccomp filters of thread %d cannot be read", tid);
	}
	*SEEP_APPEND(filters->items, filters->count) = program;
	return 1;
}

int seep_seccomp_read(pid_t tid, struct seep_seccomp *ret_filters, struct seep_error *err)
{
	struct seep_seccomp filters = { 0 };
	int rc = 1;

	while (rc > 0 && filters.count < FILTERS_MAX)
		rc = read_one(tid, filters.count, &filters, err);
	if (rc < 0) {
		seep_seccomp_done(&filters);
		return rc;
	}
	*ret_filters = filters;
	return 0;
}

void seep_seccomp_done(struct seep_seccomp *filters)
{
	for (size_t i = 0; i < filters->count; i++)
		free(filters->items[i].code);
	free(filters->items);
	*filters = (struct seep_seccomp){ 0 };
}
