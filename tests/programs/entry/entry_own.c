/* SPDX-License-Identifier: MIT */
/* A small allocator under names with a PREFIX: lists of blocks by powers of two, over mmap. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define GLUE(a, b) a##b
#define NAMED(a, b) GLUE(a, b)
#define NAME(function) NAMED(PREFIX, function)
#define APART __attribute__((noinline, noclone))

struct head {
	size_t class;
	struct head *next;
};

APART void *NAME(malloc)(size_t bytes);
APART void *NAME(calloc)(size_t count, size_t bytes);
APART void *NAME(realloc)(void *block, size_t bytes);
APART void NAME(free)(void *block);

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *own_lists[64];
static char *own_room, *own_end;

void *NAME(malloc)(size_t bytes)
{
	const unsigned class = bytes <= 16 ? 4 : 64 - (unsigned)__builtin_clzl(bytes - 1);
	const size_t needed = sizeof(struct head) + ((size_t)1 << class);
	struct head *head;

	pthread_mutex_lock(&own_lock);
	head = own_lists[class];
	if (head) {
		own_lists[class] = head->next;
	} else {
		if ((size_t)(own_end - own_room) < needed) {
			const size_t mapped = (needed + (1 << 20)) & -4096ul;

			own_room = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			own_end = own_room + mapped;
		}
		head = (struct head *)own_room;
		own_room += needed;
		head->class = class;
	}
	pthread_mutex_unlock(&own_lock);
	return head + 1;
}

static void put_back(void *block)
{
	struct head *head = (struct head *)block - 1;

	pthread_mutex_lock(&own_lock);
	head->next = own_lists[head->class];
	own_lists[head->class] = head;
	pthread_mutex_unlock(&own_lock);
}

void own_put_back(void *block);
void own_put_back(void *block)
{
	if (block)
		put_back(block);
}

/* Functions whose beginning cannot be replaced. */
#define IN_ASSEMBLER(body, size)                       \
	__asm__(".pushsection .text\n.globl je_free\n" \
		".type je_free, @function\nje_free:\n" body size ".popsection\n")
#define SIZED ".size je_free, . - je_free\n"

#if defined(REFUSED_SHORT)
IN_ASSEMBLER("jmp 1f\n" SIZED "nop\nnop\n1: jmp own_put_back\n", "");
#elif defined(REFUSED_RETURNS)
IN_ASSEMBLER("nop\nret\nnop\nnop\nnop\nnop\n", SIZED);
#elif defined(REFUSED_CALLS)
IN_ASSEMBLER("push %rbx\ncall own_put_back\npop %rbx\nret\n", SIZED);
#elif defined(REFUSED_LOOPS)
IN_ASSEMBLER("xor %eax, %eax\n1: add $1, %eax\nnop\ncmp $3, %eax\njb 1b\njmp own_put_back\n",
	     SIZED);
#elif defined(REFUSED_RETRIES)
IN_ASSEMBLER("xor %eax, %eax\nnop\nnop\nnop\ntest %eax, %eax\njnz je_free\njmp own_put_back\n",
	     SIZED);
#elif defined(REFUSED_ELSEWHERE)
IN_ASSEMBLER("test %rdi, %rdi\njz 1f\njmp own_put_back\n1: ret\n" SIZED
	     "nop\n.byte 0xe9\n.long je_free + 3 - . - 4\n",
	     "");
#elif defined(REFUSED_WITHIN)
IN_ASSEMBLER("xor %eax, %eax\n.type je_within, @function\n.globl je_within\n"
	     "je_within: nop\nnop\nnop\njmp own_put_back\n.size je_within, . - je_within\n",
	     SIZED);
#elif defined(REFUSED_COPY)
IN_ASSEMBLER("test %rdi, %rdi\njz 1f\njmp own_put_back\n1: ret\n" SIZED
	     ".type je_free.part.0, @function\nje_free.part.0: jmp own_put_back\n"
	     ".size je_free.part.0, 5\n",
	     "");
#elif defined(REFUSED_SIZELESS)
IN_ASSEMBLER("test %rdi, %rdi\njz 1f\njmp own_put_back\n1: ret\n", "");
#else
void NAME(free)(void *block)
{
	if (block)
		put_back(block);
}
#endif

/* Names of an allocator's that is not there. */
#ifdef STRANGERS
APART int tc_new(const char *text);
APART int tc_new(const char *text)
{
	return text[0] + text[1] + text[2];
}
APART void tc_free(int *there);
APART void tc_free(int *there)
{
	__atomic_store_n(there, 0, __ATOMIC_SEQ_CST);
}
#endif

void *NAME(calloc)(size_t count, size_t bytes)
{
	return memset(NAME(malloc)(count * bytes), 0, count * bytes);
}

void *NAME(realloc)(void *block, size_t bytes)
{
	void *after = NAME(malloc)(bytes);

	if (block) {
		const size_t before = (size_t)1 << ((struct head *)block - 1)->class;

		memcpy(after, block, before < bytes ? before : bytes);
		NAME(free)(block);
	}
	return after;
}
