/* SPDX-License-Identifier: MIT */
/* Jumps that are written into a process which stands still, and put back; or none, if it has changed. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/entries_write.h"
#include "unit.h"

enum { CODE_BYTES = 4096 };

static const uint8_t function[] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xc3 };

/* What a child has, shared: code, a page of entries for it, and the word that switches them on. */
static struct memory {
	_Alignas(CODE_BYTES) uint8_t code[CODE_BYTES];
	struct ledger_entry_page page;
	uint64_t led;
} * memory;

static struct seep_entry_module module;
static const struct seep_entries entries = { .modules = &module, .count = 1 };

static void lay_out(void)
{
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memcpy(memory->code, function, sizeof(function));
	module = (struct seep_entry_module){ .address = (uint64_t)(uintptr_t)&memory->page };
	module.page.magic = LEDGER_ENTRY_MAGIC;
	module.page.count = 1;
	module.page.items[0] = (struct ledger_entry){
		.function = (uint64_t)(uintptr_t)memory->code,
		.at = (uint64_t)(uintptr_t)memory->code,
		.bytes = 5,
	};
	memcpy(module.page.items[0].before, function, 5);
	memory->page = module.page;
}

static int lead(pid_t pid, struct seep_error *err)
{
	struct seep_attach_result result = { 0 };

	return seep_entries_lead(pid, &entries, (uint64_t)(uintptr_t)&memory->led,
				 seep_monotonic_ns() + SEEP_NS_PER_S, &result, err);
}

static pid_t begin(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)munmap(memory, sizeof(*memory));
}

TEST(jumps_are_written_and_then_switched_on_and_put_back)
{
	struct seep_attach_result result = { 0 };
	struct seep_entry_pages pages = { 0 };
	size_t count = 0;
	pid_t pid;

	lay_out();
	pages.items[0] = module.address;
	pid = begin();
	assert_int_equal(lead(pid, NULL), 0);
	assert_int_equal(memory->led, 1);
	assert_int_equal(memory->code[0], 0xe9);
	assert_memory_equal(memory->code + 5, function + 5, sizeof(function) - 5);
	/* Those that are there already are as good. */
	assert_int_equal(lead(pid, NULL), 0);
	assert_int_equal(seep_entries_restore(pid, &pages, &result, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_memory_equal(memory->code, function, sizeof(function));
	assert_int_equal(seep_entries_restore(pid, &pages, &result, &count, NULL), 0);
	assert_int_equal(count, 0);
	end(pid);
}

static void is_refused(void (*spoil)(void))
{
	struct seep_error err = { 0 };
	struct memory before;
	pid_t pid;

	lay_out();
	spoil();
	before = *memory;
	pid = begin();
	assert_int_equal(lead(pid, &err), -SEEP_EREFUSED);
	assert_non_null(strstr(err.text, "has changed meanwhile"));
	assert_memory_equal(memory, &before, sizeof(before));
	end(pid);
}

static void spoil_page(void)
{
	memory->page.magic++;
}

static void spoil_code(void)
{
	memory->code[4]++;
}

TEST(nothing_is_written_into_another_program)
{
	is_refused(spoil_page);
	is_refused(spoil_code);
}
