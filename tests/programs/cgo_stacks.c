/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * C called from Go, without Go: a goroutine's stack, code that keeps frame pointers and has no
 * unwind information, and the change of stacks as runtime.asmcgocall and runtime.cgocallback make
 * it. While C calls back, the goroutine's stack may be moved, and the old one is gone.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "truth.h"

enum { ROUNDS = 2000, BYTES = 48, STACK_BYTES = 16 << 10, GOROUTINES = 6 };

TRUTH_SITE(site_plain);
TRUTH_SITE(site_later);
TRUTH_SITE(site_back);
TRUTH_SITE(site_before);
TRUTH_SITE(site_moved);
TRUTH_SITE(site_lost);

/* The first two words are where Go has them. */
struct goroutine {
	uintptr_t low, high;
};

/* What the code below knows: of the goroutine that runs, and of the thread's stack. */
struct goroutine *go_g;
uintptr_t go_thread_sp, go_sched_sp;
long go_depth;
void (*go_c)(void); /* called by C on the thread's stack */
void (*go_asmcgocall)(void);
void (*go_callback)(void);

void go_run(void);
void go_crosscall(void);
void go_asmcgocall_22(void);
void go_asmcgocall_23(void);
void go_asmcgocall_lost(void);

/* Like a prologue and an epilogue of Go's compiler, with room for @bytes. */
/* clang-format off */
#define GO_ENTER(bytes) \
	"sub $" #bytes "+8, %rsp\n mov %rbp, " #bytes "(%rsp)\n lea " #bytes "(%rsp), %rbp\n"
#define GO_LEAVE(bytes) "mov " #bytes "(%rsp), %rbp\n add $" #bytes "+8, %rsp\n"
#define FUNCTION(name) ".globl " #name "\n .type " #name ", @function\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"

__asm__(".text\n" FUNCTION(go_run)
	"push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n push %rax\n"
	"mov %rsp, go_thread_sp(%rip)\n"
	"mov go_g(%rip), %rax\n mov 8(%rax), %rsp\n sub $40, %rsp\n"
	"lea go_exit+1(%rip), %rax\n mov %rax, (%rsp)\n"
	"xor %ebp, %ebp\n jmp go_main\n" END(go_run)

	FUNCTION(go_exit) "nop\n call abort@plt\n nop\n" END(go_exit)

	FUNCTION(go_main) GO_ENTER(16) "call go_descend\n" GO_LEAVE(16)
	"mov go_thread_sp(%rip), %rsp\n"
	"pop %rax\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
	"ret\n" END(go_main)

	FUNCTION(go_descend) GO_ENTER(24)
	"decq go_depth(%rip)\n js 1f\n call go_descend\n jmp 2f\n"
	"1: call go_cgocall\n"
	"2:" GO_LEAVE(24) "ret\n" END(go_descend)

	FUNCTION(go_cgocall) GO_ENTER(40)
	"call *go_asmcgocall(%rip)\n" GO_LEAVE(40) "ret\n" END(go_cgocall)

	/* No frame of its own: the frame pointer stays its caller's. Up to Go 1.22. */
	FUNCTION(go_asmcgocall_22)
	"mov %rsp, %rdx\n mov %rsp, go_sched_sp(%rip)\n mov go_g(%rip), %rdi\n"
	"mov go_thread_sp(%rip), %rsp\n sub $64, %rsp\n and $~15, %rsp\n"
	"mov %rdi, 48(%rsp)\n mov 8(%rdi), %rdi\n sub %rdx, %rdi\n mov %rdi, 40(%rsp)\n"
	"call *go_c(%rip)\n"
	"mov 48(%rsp), %rdi\n mov 8(%rdi), %rsi\n sub 40(%rsp), %rsi\n mov %rsi, %rsp\n"
	"ret\n" END(go_asmcgocall_22)

	/* Later ones. */
	FUNCTION(go_asmcgocall_23)
	"mov %rsp, %rdx\n mov %rsp, go_sched_sp(%rip)\n mov go_g(%rip), %rdi\n"
	"mov go_thread_sp(%rip), %rsp\n sub $16, %rsp\n and $~15, %rsp\n"
	"mov %rdi, 8(%rsp)\n mov 8(%rdi), %rdi\n sub %rdx, %rdi\n mov %rdi, (%rsp)\n"
	"call *go_c(%rip)\n"
	"mov 8(%rsp), %rdi\n mov 8(%rdi), %rsi\n sub (%rsp), %rsi\n mov %rsi, %rsp\n"
	"ret\n" END(go_asmcgocall_23)

	/* None of Go's: what it leaves there has the look of it and leads nowhere. */
	FUNCTION(go_asmcgocall_lost)
	"mov %rsp, %rdx\n mov go_thread_sp(%rip), %rsp\n sub $64, %rsp\n and $~15, %rsp\n"
	"mov %rdx, 32(%rsp)\n movq $4096, 40(%rsp)\n movabs $0x123456789000, %rdi\n"
	"mov %rdi, 48(%rsp)\n call *go_c(%rip)\n"
	"mov 32(%rsp), %rsp\n ret\n" END(go_asmcgocall_lost)

	/* C calls Go: crosscall2, then cgocallback changes to the goroutine's stack. */
	FUNCTION(go_crosscall) GO_ENTER(64)
	"mov %rbx, (%rsp)\n mov %r12, 8(%rsp)\n mov %r13, 16(%rsp)\n mov %r14, 24(%rsp)\n"
	"mov %r15, 32(%rsp)\n call go_cgocallback\n"
	"mov (%rsp), %rbx\n mov 8(%rsp), %r12\n mov 16(%rsp), %r13\n mov 24(%rsp), %r14\n"
	"mov 32(%rsp), %r15\n" GO_LEAVE(64) "ret\n" END(go_crosscall)

	FUNCTION(go_cgocallback) GO_ENTER(24)
	"mov go_thread_sp(%rip), %rax\n mov %rax, (%rsp)\n mov %rsp, go_thread_sp(%rip)\n"
	"mov go_sched_sp(%rip), %rsp\n push %rsp\n sub $24, %rsp\n"
	"call go_cgocallbackg\n"
	"add $32, %rsp\n mov %rsp, go_sched_sp(%rip)\n"
	"mov go_thread_sp(%rip), %rsp\n mov (%rsp), %rax\n mov %rax, go_thread_sp(%rip)\n"
	GO_LEAVE(24) "ret\n" END(go_cgocallback)

	FUNCTION(go_cgocallbackg) GO_ENTER(16)
	"mov go_callback(%rip), %rax\n mov %rax, go_c(%rip)\n"
	"call go_cgocall\n" GO_LEAVE(16) "ret\n" END(go_cgocallbackg));

/* clang-format on */
static SITE void site_plain(void)
{
	TRUTH_TEMPORARY(site_plain, BYTES);
}

static SITE void site_later(void)
{
	TRUTH_TEMPORARY(site_later, BYTES);
}

static SITE void site_back(void)
{
	TRUTH_TEMPORARY(site_back, BYTES);
}

static SITE void site_before(void)
{
	TRUTH_TEMPORARY(site_before, BYTES);
}

static SITE void site_moved(void)
{
	TRUTH_TEMPORARY(site_moved, BYTES);
}

static SITE void site_lost(void)
{
	TRUTH_TEMPORARY(site_lost, BYTES);
}

static void stack_make(struct goroutine *g)
{
	char *map = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);

	g->low = (uintptr_t)map;
	g->high = g->low + STACK_BYTES;
}

/* As Go does when a stack grows: what points into it moves along. The old one can not be read. */
static SITE void move_stack(void)
{
	struct goroutine old = *go_g;
	uintptr_t *words;

	stack_make(go_g);
	memcpy((void *)go_g->low, (void *)old.low, STACK_BYTES);
	words = (uintptr_t *)go_g->low;
	for (size_t i = 0; i < STACK_BYTES / sizeof(*words); i++)
		if (words[i] - old.low < STACK_BYTES)
			words[i] += go_g->low - old.low;
	munmap((void *)old.low, STACK_BYTES);
}

static SITE void c_calls_back(void)
{
	site_before();
	go_callback = site_back;
	go_crosscall();
	go_callback = move_stack;
	go_crosscall();
	site_moved();
}

static SITE void in_goroutine(struct goroutine *g, long depth, void (*function)(void))
{
	go_g = g;
	go_depth = depth;
	go_c = function;
	go_run();
}

/* Many times from one goroutine, in turns from several, and with calls back. */
static SITE void all(void (*asmcgocall)(void), void (*site)(void))
{
	struct goroutine goroutines[GOROUTINES];

	go_asmcgocall = asmcgocall;
	for (int i = 0; i < GOROUTINES; i++)
		stack_make(&goroutines[i]);
	for (int i = 0; i < ROUNDS; i++)
		in_goroutine(&goroutines[0], i % 3, site);
	for (int i = 0; i < ROUNDS; i++)
		in_goroutine(&goroutines[i % GOROUTINES], i % 7, site);
	for (int i = 0; i < ROUNDS; i++)
		in_goroutine(&goroutines[i % GOROUTINES], i % 5, c_calls_back);
	go_asmcgocall = go_asmcgocall_lost;
	for (int i = 0; i < ROUNDS; i++)
		in_goroutine(&goroutines[0], 1, site_lost);
	for (int i = 0; i < GOROUTINES; i++)
		munmap((void *)goroutines[i].low, STACK_BYTES);
}

static void *thread_main(void *argument)
{
	all(go_asmcgocall_23, site_later);
	return argument;
}

int main(void)
{
	pthread_t thread;

	all(go_asmcgocall_22, site_plain);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 1;
	pthread_join(thread, NULL);
	truth_print();
	return 0;
}
