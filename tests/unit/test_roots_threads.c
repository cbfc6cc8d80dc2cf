/* SPDX-License-Identifier: MIT */
/* Which memory of real threads is alive: registers, stacks, thread-local storage. */
#include "target/tracee.h"
#include "target_look.h"
#include "unit.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { BYTES = 4096, STACK_BYTES = 256 * 1024, GUARDED_BYTES = STACK_BYTES + BYTES };

#define MAGIC UINT64_C(0x5ee9ca11ee5a7ed0)
#define OTHER_MAGIC UINT64_C(0x5ee9ca11ee5a7ed8)

static void start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		  void *argument)
{
	if (pthread_create(thread, attributes, run, argument) != 0)
		_exit(1);
}

enum {
	MAIN_LOCAL,
	MAIN_BELOW,
	MAIN_TLS,
	LOCAL,
	BELOW,
	THREAD_TLS,
	KEY,
	ARGUMENT,
	DATA,
	BSS,
	CONST
};

static __thread volatile uint64_t thread_local_word = 1;
static uint64_t data_word = 1, bss_word[10000];
static const uint64_t const_word = 1;

/* An address so far below the stack pointer that nothing alive is there. */
static uint64_t below_of(const volatile void *local)
{
	return address_of(local) - 32768;
}

static void note_and_stand(struct truth *truth)
{
	volatile uint64_t local = 1;

	truth->at[LOCAL] = address_of(&local);
	truth->at[BELOW] = below_of(&local);
	truth->at[THREAD_TLS] = address_of(&thread_local_word);
	stand(truth);
}

static void *stand_in_thread(void *truth)
{
	note_and_stand(truth);
	return NULL;
}

static void stand_in_two_threads(struct truth *truth)
{
	volatile uint64_t local = 1;
	pthread_t thread;

	truth->at[MAIN_LOCAL] = address_of(&local);
	truth->at[MAIN_BELOW] = below_of(&local);
	truth->at[MAIN_TLS] = address_of(&thread_local_word);
	truth->at[KEY] = address_of((void *)pthread_self()) + 1024;
	truth->at[DATA] = address_of(&data_word);
	truth->at[BSS] = address_of(&bss_word[9000]);
	truth->at[CONST] = address_of(&const_word);
	start(&thread, NULL, stand_in_thread, truth);
	stand(truth);
}

LOOK_TEST(stacks_are_roots_from_their_pointers_outward, stand_in_two_threads, 2)
{
	assert_kind(MAIN_LOCAL, STACK);
	assert_kind(MAIN_BELOW, NONE);
	assert_kind(MAIN_TLS, TLS);
	assert_kind(KEY, TLS);
	assert_kind(LOCAL, STACK);
	assert_kind(BELOW, NONE);
	assert_kind(THREAD_TLS, TLS);
	assert_kind(DATA, GLOBAL);
	assert_kind(BSS, GLOBAL);
	assert_kind(CONST, NONE);
	assert_int_equal(look.roots.caveats.count, 0);
}

LOOK_TEST(roots_are_sorted_by_how_strong_they_are, stand_in_two_threads, 2)
{
	assert_true(look.roots.count > 10);
	for (size_t i = 1; i < look.roots.count; i++)
		assert_true(look.roots.items[i - 1].kind <= look.roots.items[i].kind);
	for (size_t i = 0; i < look.roots.count; i++)
		assert_true(look.roots.items[i].begin < look.roots.items[i].end);
}

static void keep_in_registers(struct truth *truth)
{
	truth->will_spin = true;
	(void)!write(truth->ready, "", 1);
	__asm__ volatile("movq %1, %%rbx\n\t"
			 "movq %1, %%xmm9\n\t"
			 "movq %2, %%r15\n"
			 "1:\tincq %0\n\t"
			 "jmp 1b"
			 : "+m"(truth->spins)
			 : "r"(MAGIC), "r"(OTHER_MAGIC)
			 : "rbx", "xmm9", "r15");
}

LOOK_TEST(registers_are_roots_by_value, keep_in_registers, 1)
{
	assert_true(has_word(MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
	assert_true(has_word(OTHER_MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
	assert_false(has_word(look.stopped->threads[0].registers.rsp, SCAN_ROOT_REGISTER,
			      SCAN_RULE_NONE));
}

/* MAGIC goes into a vector register, and stands in no other; rax, which had its complement, is 0. */
#define ONLY_IN_VECTOR           \
	"not %%rax\n\t"          \
	"movq %%rax, %%xmm9\n\t" \
	"xor %%eax, %%eax\n\t"

static void run_with_vector(struct truth *truth)
{
	uint64_t hidden = ~MAGIC;

	truth->will_spin = true;
	(void)!write(truth->ready, "", 1);
	__asm__ volatile(ONLY_IN_VECTOR "1:\tincq %1\n\t"
					"jmp 1b"
			 : "+a"(hidden), "+m"(truth->spins)
			 :
			 : "xmm9");
}

LOOK_TEST(vector_registers_of_a_thread_that_runs_are_roots, run_with_vector, 1)
{
	assert_true(has_word(MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
}

static void *stand_once_the_first_waits(void *argument)
{
	struct truth *truth = argument;

	while (!truth->spins || seep_tracee_state(getpid()) != 'S')
		(void)sched_yield();
	stand(truth);
	return NULL;
}

static void read_with_vector(struct truth *truth)
{
	uint64_t hidden = ~MAGIC;
	pthread_t thread;
	int ends[2];
	char byte;

	if (pipe(ends) != 0)
		_exit(1);
	start(&thread, NULL, stand_once_the_first_waits, truth);
	truth->spins = 1;
	_Static_assert(SYS_read == 0, "what ONLY_IN_VECTOR leaves in rax");
	__asm__ volatile(ONLY_IN_VECTOR "syscall"
			 : "+a"(hidden)
			 : "D"((long)ends[0]), "S"(&byte), "d"(sizeof(byte))
			 : "xmm9", "rcx", "r11", "memory");
}

/* No function expects them to survive a call: what stands there may be the starting thread's. */
LOOK_TEST(vector_registers_of_a_thread_that_waits_in_a_call_are_no_roots, read_with_vector, 1)
{
	assert_true((long long)look.stopped->threads[0].registers.orig_rax == SYS_read);
	assert_false(has_word(MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
}

enum { RED, BELOW_RED };

static void keep_below_the_stack_pointer(struct truth *truth)
{
	uint64_t pointer;

	truth->will_spin = true;
	(void)!write(truth->ready, "", 1);
	__asm__ volatile("movq %%rsp, %0" : "=r"(pointer));
	truth->at[RED] = pointer - 120;
	truth->at[BELOW_RED] = pointer - 136;
	__asm__ volatile("1:\tincq %0\n\tjmp 1b" : "+m"(truth->spins));
}

LOOK_TEST(what_a_function_keeps_below_its_stack_pointer_counts, keep_below_the_stack_pointer, 1)
{
	assert_kind(RED, STACK);
	assert_kind(BELOW_RED, NONE);
}

enum { ENDED_LOCAL, ENDED_TLS, SECOND_LOCAL };

static int slot_of_end;
static volatile pid_t tid_of_end;

static void *end_soon(void *argument)
{
	struct truth *truth = argument;
	volatile uint64_t local = 1;

	truth->at[slot_of_end] = address_of(&local);
	if (slot_of_end == ENDED_LOCAL)
		truth->at[ENDED_TLS] = address_of(&thread_local_word);
	tid_of_end = gettid();
	return NULL;
}

static void end_threads(struct truth *truth)
{
	pthread_attr_t attributes;
	pthread_t first, second;

	slot_of_end = ENDED_LOCAL;
	start(&first, NULL, end_soon, truth);
	(void)pthread_join(first, NULL);
	/* Another size, or it would get the first one's stack. Nobody joins it. */
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, 64 << 20);
	tid_of_end = 0;
	slot_of_end = SECOND_LOCAL;
	start(&second, &attributes, end_soon, truth);
	while (!tid_of_end || syscall(SYS_tgkill, getpid(), tid_of_end, 0) == 0)
		;
}

LOOK_TEST(stacks_of_threads_that_ended_are_no_roots, end_threads, 1)
{
	assert_kind(ENDED_LOCAL, NONE);
	assert_kind(ENDED_TLS, NONE);
	assert_kind(SECOND_LOCAL, NONE);
}

static void end_one_without_guard(struct truth *truth)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setguardsize(&attributes, 0);
	slot_of_end = ENDED_LOCAL;
	start(&thread, &attributes, end_soon, truth);
	(void)pthread_join(thread, NULL);
}

LOOK_TEST(an_ended_thread_is_found_without_a_guard_below_it, end_one_without_guard, 1)
{
	assert_kind(ENDED_LOCAL, NONE);
}

enum { FIRSTS_LOCAL, ENVIRONMENT };

static void *outlive(void *argument)
{
	(void)pthread_join(*(pthread_t *)argument, NULL);
	stand(*(struct truth **)((char *)argument + sizeof(pthread_t)));
	return NULL;
}

static void leave_to_others(struct truth *truth)
{
	static struct {
		pthread_t self;
		struct truth *truth;
	} first;
	volatile uint64_t local = 1;
	pthread_t other;

	truth->at[FIRSTS_LOCAL] = address_of(&local);
	truth->at[ENVIRONMENT] = address_of(environ);
	first.self = pthread_self();
	first.truth = truth;
	start(&other, NULL, outlive, &first);
	pthread_exit(NULL);
}

LOOK_TEST(the_first_threads_stack_is_dead_once_it_has_ended, leave_to_others, 1)
{
	assert_kind(FIRSTS_LOCAL, NONE);
	assert_kind(ENVIRONMENT, MAPPING);
}

enum { PARENTS_LOCAL, FORKERS_LOCAL, IDLERS_LOCAL };

static void *idle(void *argument)
{
	struct truth *truth = argument;
	volatile uint64_t local = 1;

	truth->at[IDLERS_LOCAL] = address_of(&local);
	for (;;)
		(void)pause();
	return NULL;
}

static void *fork_from_here(void *argument)
{
	struct truth *truth = argument;
	volatile uint64_t local = 1;
	pid_t child;

	truth->at[FORKERS_LOCAL] = address_of(&local);
	child = fork();
	if (child == 0) {
		truth->pid = getpid();
		stand(truth);
	}
	(void)waitpid(child, NULL, 0);
	_exit(0);
}

static void fork_from_a_thread(struct truth *truth)
{
	volatile uint64_t local = 1;
	pthread_t idler, forker;

	truth->at[PARENTS_LOCAL] = address_of(&local);
	start(&idler, NULL, idle, truth);
	while (!*(volatile uint64_t *)&truth->at[IDLERS_LOCAL])
		;
	start(&forker, NULL, fork_from_here, truth);
	(void)pthread_join(forker, NULL);
}

LOOK_TEST(in_a_forked_child_only_the_thread_that_forked_has_a_stack, fork_from_a_thread, 1)
{
	assert_int_equal(look.stopped->thread_count, 1);
	assert_kind(FORKERS_LOCAL, STACK);
	assert_kind(IDLERS_LOCAL, NONE);
	assert_kind(PARENTS_LOCAL, NONE);
}

static void stand_on(struct truth *truth, char *stack)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0)
		_exit(1);
	start(&thread, &attributes, stand_in_thread, truth);
}

static void stand_on_mapped_memory(struct truth *truth)
{
	stand_on(truth, map_private(STACK_BYTES));
}

LOOK_TEST(a_stack_of_the_programs_own_is_one, stand_on_mapped_memory, 2)
{
	assert_kind(LOCAL, STACK);
	assert_kind(BELOW, NONE);
	assert_kind(THREAD_TLS, TLS);
}

static void stand_on_a_block(struct truth *truth)
{
	stand_on(truth, add_block(truth, memalign(BYTES, STACK_BYTES), STACK_BYTES));
}

LOOK_TEST(a_stack_in_a_block_keeps_the_block, stand_on_a_block, 2)
{
	const struct user_regs_struct *registers = &look.stopped->threads[1].registers;

	assert_true(registers->rsp - look.truth->blocks[0].address < STACK_BYTES);
	assert_true(has_word(registers->rsp, SCAN_ROOT_STACK, SCAN_RULE_STACK_POINTER));
	assert_true(has_word(registers->fs_base, SCAN_ROOT_TLS, SCAN_RULE_STACK_POINTER));
	assert_kind(LOCAL, NONE); /* as part of the block */
}

static struct truth *truth_of_handler;

static void stand_in_handler(int number)
{
	(void)number;
	note_and_stand(truth_of_handler);
}

static void handle_on(struct truth *truth, char *stack)
{
	volatile uint64_t local = 1;
	struct sigaction action = { .sa_handler = stand_in_handler, .sa_flags = SA_ONSTACK };
	stack_t alternative = { .ss_sp = stack, .ss_size = STACK_BYTES };

	truth_of_handler = truth;
	truth->at[MAIN_LOCAL] = address_of(&local);
	truth->at[MAIN_BELOW] = below_of(&local);
	if (sigaltstack(&alternative, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
		_exit(1);
	(void)raise(SIGUSR1);
}

static void handle_on_mapped_memory(struct truth *truth)
{
	handle_on(truth, map_private(STACK_BYTES));
}

LOOK_TEST(a_handler_on_its_own_stack_leaves_all_of_the_threads_alive, handle_on_mapped_memory, 1)
{
	assert_kind(MAIN_LOCAL, STACK);
	assert_kind(MAIN_BELOW, STACK);
	assert_kind(LOCAL, MAPPING);
	assert_kind(BELOW, MAPPING); /* there is no guard: it may be anything */
}

static void handle_on_a_block(struct truth *truth)
{
	handle_on(truth, add_block(truth, malloc(STACK_BYTES), STACK_BYTES));
}

LOOK_TEST(a_handlers_stack_in_a_block_keeps_the_block, handle_on_a_block, 1)
{
	assert_true(has_word(look.stopped->threads[0].registers.rsp, SCAN_ROOT_STACK,
			     SCAN_RULE_STACK_POINTER));
	assert_kind(MAIN_BELOW, STACK);
	assert_kind(LOCAL, NONE);
}

static void stand_in_coroutine(void)
{
	note_and_stand(truth_of_handler);
}

static void switch_to_guarded_memory(struct truth *truth)
{
	static ucontext_t here, there;
	volatile uint64_t local = 1;
	char *stack = map_private(GUARDED_BYTES);

	truth_of_handler = truth;
	truth->at[MAIN_LOCAL] = address_of(&local);
	if (mprotect(stack, BYTES, PROT_NONE) != 0 || getcontext(&there) != 0)
		_exit(1);
	there.uc_stack.ss_sp = stack + BYTES;
	there.uc_stack.ss_size = STACK_BYTES;
	makecontext(&there, stand_in_coroutine, 0);
	(void)swapcontext(&here, &there);
}

LOOK_TEST(a_coroutines_stack_with_a_guard_is_dead_below_the_pointer, switch_to_guarded_memory, 1)
{
	assert_kind(MAIN_LOCAL, STACK);
	assert_kind(LOCAL, STACK);
	assert_kind(BELOW, NONE);
}

enum { BETWEEN = 20 };

/*
 * From below: a guard, a thread's stack, a page of data, a handler's stack. All but the first is
 * one mapping.
 */
static void handle_above_a_thread(struct truth *truth)
{
	char *area = map_private(BYTES + STACK_BYTES + BYTES + STACK_BYTES);

	if (mprotect(area, BYTES, PROT_NONE) != 0)
		_exit(1);
	truth->at[BETWEEN] = address_of(area) + BYTES + STACK_BYTES;
	stand_on(truth, area + BYTES);
	handle_on(truth, area + BYTES + STACK_BYTES + BYTES);
}

LOOK_TEST(a_guard_may_be_that_of_a_threads_stack_below, handle_above_a_thread, 2)
{
	assert_kind(BETWEEN, MAPPING);
}

static int stand_in_clone(void *argument)
{
	struct truth *truth = argument;
	volatile uint64_t local = 1;

	truth->at[LOCAL] = address_of(&local);
	for (;;) {
		(void)syscall(SYS_write, truth->ready, "", 1);
		(void)syscall(SYS_pause);
	}
	return 0;
}

static void clone_barely(struct truth *truth)
{
	volatile uint64_t local = 1;

	truth->at[MAIN_LOCAL] = address_of(&local);
	truth->at[MAIN_BELOW] = below_of(&local);
	if (clone(stand_in_clone, (char *)map_private(STACK_BYTES) + STACK_BYTES,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		  truth) < 0)
		_exit(1);
}

LOOK_TEST(a_thread_without_storage_of_its_own_has_its_stack, clone_barely, 2)
{
	assert_int_equal(look.stopped->thread_count, 2);
	assert_kind(LOCAL, MAPPING);
	assert_kind(MAIN_LOCAL, STACK);
	assert_kind(MAIN_BELOW, NONE);
}

enum { EXIT_CALLER, EXIT_FRAME };

static __attribute__((noinline)) void as_in_exit(struct truth *truth)
{
	volatile uint64_t local = 1;

	truth->at[EXIT_FRAME] = address_of(&local);
	truth->facts.exit_tid = (uint32_t)gettid();
	truth->facts.exit_stack = address_of(__builtin_frame_address(0)) + 8;
	truth->facts.exit_registers[5] = MAGIC;
	truth->is_at_exit = true;
	truth->will_spin = true;
	(void)!write(truth->ready, "", 1);
	__asm__ volatile("movq %1, %%r15\n"
			 "1:\tincq %0\n\t"
			 "jmp 1b"
			 : "+m"(truth->spins)
			 : "r"(OTHER_MAGIC)
			 : "r15");
}

static void call_exit(struct truth *truth)
{
	volatile uint64_t local = 1;

	truth->at[EXIT_CALLER] = address_of(&local);
	as_in_exit(truth);
	local = 2;
}

LOOK_TEST(what_exit_itself_has_on_the_stack_is_dead, call_exit, 1)
{
	uint64_t at;

	assert_kind(EXIT_CALLER, STACK);
	assert_kind(EXIT_FRAME, NONE);
	at = look.truth->facts.exit_stack;
	for (unsigned i = 0; i < 3; i++) {
		const struct scan_root *root = root_at(at + i * 8);

		assert_true(root && root->kind == SCAN_ROOT_STACK && root->rule == SCAN_RULE_NONE);
	}
	assert_true(has_word(MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
	assert_false(has_word(OTHER_MAGIC, SCAN_ROOT_REGISTER, SCAN_RULE_NONE));
}

static void ruin_control_block(struct truth *truth)
{
	uint64_t *control = (uint64_t *)(void *)pthread_self();
	volatile uint64_t local = 1;

	truth->at[MAIN_LOCAL] = address_of(&local);
	/* No vector, no self; nothing of libc may be called now but bare system calls. */
	control[1] = 0x10;
	control[2] = 0;
	(void)syscall(SYS_write, truth->ready, "", 1);
	for (;;)
		(void)syscall(SYS_pause);
}

LOOK_TEST(a_ruined_control_block_loses_no_stack, ruin_control_block, 1)
{
	assert_int_not_equal(kind_at(look.truth->at[MAIN_LOCAL]), SCAN_ROOT_NONE);
}
