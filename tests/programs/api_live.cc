/* SPDX-License-Identifier: MIT */
// build: -pthread
/* api_live CASE: what is alive, as seep_contexts_each() tells it, is what this program holds. */
#include "seep/seep.h"

#include "own_ledger.h"

#include <algorithm>
#include <execinfo.h>
#include <map>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <vector>

#define SITE __attribute__((noipa))

static int failures;
#define CHECK(what)                                               \
	do {                                                      \
		if (!(what)) {                                    \
			printf("line %d: %s\n", __LINE__, #what); \
			failures++;                               \
		}                                                 \
	} while (0)

/* Of a context; by its kind and the sum of its bytes, which this program makes unique. */
struct seen {
	size_t blocks = 0;
	std::vector<const void *> frames;
	std::string thread, scope;
	bool is_inherited = false;
};
static std::map<std::pair<std::string, size_t>, seen> all;
static size_t order_broken, least_bytes;

static int note(const seep_context *context, void *user)
{
	auto &at = all[{ context->kind, context->bytes }];

	at.blocks = context->blocks;
	at.frames.assign(context->frames, context->frames + context->frame_count);
	at.thread = context->thread;
	at.scope = context->scope;
	at.is_inherited = context->is_inherited;
	order_broken += context->bytes > least_bytes;
	least_bytes = context->bytes;
	(void)user;
	return 0;
}

static long look()
{
	all.clear();
	least_bytes = SIZE_MAX;
	return seep_contexts_each(note, nullptr);
}

static void *volatile held[1 << 16];
static size_t held_count;
static std::vector<void *> from; /* where the last site was called from */

static void remember()
{
	void *frames[64];
	const int count = backtrace(frames, 64);

	from.assign(frames + 2, frames + count);
}

#define MAKER(name, call)                              \
	SITE static void name(size_t bytes, int count) \
	{                                              \
		remember();                            \
		for (int i = 0; i < count; i++)        \
			held[held_count++] = (call);   \
	}
MAKER(by_malloc, malloc(bytes))
MAKER(by_calloc, calloc(1, bytes))
static void *volatile none;
MAKER(by_realloc, realloc(none, bytes))
MAKER(by_memalign, aligned_alloc(64, bytes))
MAKER(by_new, operator new(bytes))
MAKER(by_array, new char[bytes])

/* Its caller is another for each depth; a recursion would be folded. */
template <int depth> SITE void deeper(size_t bytes, int count)
{
	if constexpr (depth == 0)
		by_malloc(bytes, count);
	else
		deeper<depth - 1>(bytes, count);
	asm volatile("");
}

static void check(const char *kind, size_t bytes, size_t blocks)
{
	const seen &found = all[{ kind, bytes }];

	CHECK(found.blocks == blocks);
	/* The innermost is in the site itself. */
	CHECK(found.frames.size() == from.size() + 1);
	CHECK(found.frames.size() &&
	      std::equal(from.begin(), from.end(), found.frames.begin() + 1));
}

static void stacks()
{
	const struct {
		void (*make)(size_t, int);
		const char *kind;
	} makers[] = { { by_malloc, "malloc" },	  { by_calloc, "calloc" },
		       { by_realloc, "realloc" }, { by_memalign, "memalign" },
		       { by_new, "new" },	  { by_array, "new[]" },
		       { deeper<20>, "malloc" },  { deeper<300>, "malloc" } };
	size_t bytes = 1 << 20;

	for (const auto &maker : makers) {
		bytes += 64;
		maker.make(bytes, 3);
		CHECK(look() > 0);
		if (maker.make != deeper<300>)
			check(maker.kind, 3 * bytes, 3);
		else
			CHECK((all[{ maker.kind, 3 * bytes }].frames.size()) == 256);
	}
	/* What is freed is gone. */
	while (held_count)
		free(held[--held_count]);
	CHECK(look() > 0);
	CHECK((all.find({ "new", 3 * ((1 << 20) + 64 * 5) })) == all.end());
	CHECK(order_broken == 0);
}

static void *named(void *)
{
	prctl(PR_SET_NAME, "worker");
	pthread_setname_np(pthread_self(), "worker");
	by_malloc(777, 1);
	return nullptr;
}

static void tags()
{
	pthread_t id;
	{
		SEEP_SCOPE("request");
		by_malloc(1001, 1);
		{
			SEEP_SCOPE("parse");
			by_malloc(1002, 1);
		}
	}
	by_malloc(1003, 1);
	pthread_create(&id, nullptr, named, nullptr);
	pthread_join(id, nullptr);
	CHECK(look() > 0);
	CHECK((all[{ "malloc", 1001 }].scope) == "request");
	CHECK((all[{ "malloc", 1002 }].scope) == "request/parse");
	CHECK((all[{ "malloc", 1003 }].scope) == "");
	printf("thread '%s'\n", all[{ "malloc", 777 }].thread.c_str());
}

static void in_child(void (*what)())
{
	int status = 0;

	fflush(stdout);
	if (fork() == 0) {
		what();
		fflush(stdout);
		_exit(failures != 0);
	}
	(void)wait(&status);
	CHECK(status == 0);
}

static void after_fork()
{
	by_malloc(12345, 1);
	CHECK(look() > 1);
	check("malloc", 12345, 1);
	size_t inherited = 0;
	for (const auto &context : all)
		inherited += context.second.is_inherited ? context.first.second : 0;
	CHECK(inherited >= 3 << 20 && inherited < 4 << 20);
}

static void forked()
{
	by_malloc(1 << 20, 3);
	in_child(after_fork);
	CHECK(look() > 0);
	check("malloc", 3 << 20, 3);
}

static int calls, nests;
static long nested_calls;

static int stop_at_two(const seep_context *, void *)
{
	return ++calls == 2;
}

static int nest(const seep_context *, void *)
{
	std::vector<int> some(1000);

	calls = 0;
	nests++;
	nested_calls = seep_contexts_each(stop_at_two, nullptr);
	return 0;
}

static int fork_in(const seep_context *, void *user)
{
	calls++;
	if (calls == 2 && fork() == 0) {
		*static_cast<bool *>(user) = true;
		by_malloc(1 << 22, 1); /* it gets a ledger of its own */
	}
	return 0;
}

static void hooks()
{
	bool is_child = false;

	by_malloc(100, 1);
	by_calloc(100, 1);
	by_new(100, 1);
	errno = 77;
	CHECK(seep_contexts_each(nullptr, nullptr) == -1);
	CHECK(seep_contexts_each(stop_at_two, nullptr) == 2);
	CHECK(errno == 77);
	CHECK(seep_contexts_each(nest, nullptr) == nests && nests >= 3 && nested_calls == 2);
	calls = 0;
	const long told = seep_contexts_each(fork_in, &is_child);
	if (is_child) {
		CHECK(told == 2);
		after_fork();
		_exit(0);
	}
	CHECK(told >= 3 && calls == told);
	(void)wait(nullptr);
}

static volatile int signals;

static void in_handler(int)
{
	CHECK(seep_contexts_each(stop_at_two, nullptr) >= 1);
	calls = 0;
	signals++;
}

static volatile bool is_over;

static void *busy(void *)
{
	while (!is_over) {
		void *blocks[100];

		for (auto &block : blocks)
			block = malloc((size_t)rand() % 9000);
		for (auto &block : blocks)
			free(block);
	}
	return nullptr;
}

/* Others allocate, a handler comes in between, and children are forked. */
static void storm()
{
	pthread_t ids[3];
	const itimerval often = { { 0, 500 }, { 0, 500 } }, never = {};

	signal(SIGALRM, in_handler);
	for (auto &id : ids)
		pthread_create(&id, nullptr, busy, nullptr);
	setitimer(ITIMER_REAL, &often, nullptr);
	for (int i = 0; i < 300; i++)
		if (seep_contexts_each(stop_at_two, nullptr) < 1)
			failures++;
		else
			calls = 0;
	setitimer(ITIMER_REAL, &never, nullptr);
	for (int i = 0; i < 20; i++)
		in_child([] { CHECK(look() >= 1); });
	is_over = true;
	for (auto &id : ids)
		pthread_join(id, nullptr);
	CHECK(signals > 0);
}

static int touch(const seep_context *context, void *)
{
	size_t sum = strlen(context->kind) + strlen(context->thread) + strlen(context->scope);

	for (unsigned i = 0; i < context->frame_count; i++)
		sum += (size_t)context->frames[i] >> 47;
	CHECK(sum < 1200);
	return 0;
}

/* Whatever stands in the ledger: words of it are no addresses of ours. */
static void scribbled()
{
	const int fd = own_ledger_open();
	/* By their numbers in docs/internals/ledger.md: rows, contexts, nodes, modules, strings, scopes. */
	const int tables[] = { 2, 3, 4, 5, 6, 10 };
	static uint64_t header[512];

	by_malloc(100, 100);
	CHECK(fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header));
	for (int round = 0; round < 500 && !failures; round++) {
		unsigned bytes[1024];

		for (auto &word : bytes)
			word = round % 3 ? (unsigned)random() : (unsigned)random() % 100;
		for (int table : tables)
			for (int page = 0; page < 4; page++)
				if (random() % 2)
					(void)!pwrite(fd, bytes, sizeof(bytes),
						      (off_t)header[15 + 3 * table + 1] +
							      4096 * page);
		CHECK(seep_contexts_each(touch, nullptr) > 0);
	}
	/* What was written over tells a recorder nothing. */
	_exit(failures);
}

int main(int argc, char **argv)
{
	const std::map<std::string, void (*)()> cases = {
		{ "stacks", stacks }, { "tags", tags },	  { "forked", forked },
		{ "hooks", hooks },   { "storm", storm }, { "scribbled", scribbled },
	};

	remember();
	const bool is_there = seep_contexts_each(stop_at_two, nullptr) != -1;
	calls = 0;
	if (!is_there)
		printf("no library\n");
	else
		cases.at(argv[1])();
	printf("failures %d\n", failures);
	return failures != 0;
}
