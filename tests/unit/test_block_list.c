/* SPDX-License-Identifier: MIT */
/* The live blocks of a process, by either way of reading its memory. */
#include "../programs/seccomp_filter.h"
#include "ledger/ledger.h"
#include "scan_fake.h"
#include "target/block_list.h"
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of this process. Returns 0 if all are there. */
static int read_list(const struct fake *f, const uint64_t *first, const uint64_t *second)
{
	const struct ledger_header header = { .blocks = f->blocks };
	struct seep_block_list blocks;
	bool good;

	if (seep_block_list_read(getpid(), &header, &blocks, NULL) != 0)
		return 1;
	good = blocks.count == 2 && blocks.items[0].address == fake_address(first) &&
	       blocks.items[0].size == 100 && blocks.items[1].address == fake_address(second) &&
	       blocks.items[1].row == 3;
	seep_block_list_done(&blocks);
	return good ? 0 : 2;
}

TEST(blocks_are_listed_by_call)
{
	struct fake *f = fake_new();
	const uint64_t *first = fake_block(f, 100, 1, 0), *second = fake_block(f, 5000, 3, 0);

	assert_int_equal(read_list(f, first, second), 0);
	fake_free(f);
}

TEST(blocks_are_listed_by_file)
{
	const int refused = SYS_process_vm_readv;
	struct fake *f = fake_new();
	const uint64_t *first = fake_block(f, 100, 1, 0), *second = fake_block(f, 5000, 3, 0);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (set_filter(&refused, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW) < 0)
			_exit(99);
		_exit(read_list(f, first, second));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	fake_free(f);
}
