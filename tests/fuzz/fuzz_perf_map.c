/* SPDX-License-Identifier: MIT */
/* libFuzzer: any text as a JIT compiler's perf map. See tests/fuzz/run. */
#include "fuzz_common.h"

#include "base/work.h"
#include "symbol/perf_map.h"

enum { ADDRESSES = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct fuzz_random random = { fuzz_hash(data, size) };
	uint64_t addresses[ADDRESSES] = { 0 };
	char *names[ADDRESSES] = { NULL };

	if (fd < 0)
		fd = memfd_create("perf-map", MFD_CLOEXEC);
	if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ||
	    (size && write(fd, data, size) != (ssize_t)size) || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	for (int i = 1; i < ADDRESSES - 1; i++)
		addresses[i] = addresses[i - 1] + fuzz_below(&random, 0x40);
	addresses[ADDRESSES - 1] = UINT64_MAX;
	fuzz_begin();
	seep_work_begin();
	if (random.state % 8 == 0)
		fuzz_fail_calls(random.state >> 8);
	(void)seep_perf_map_read(fd, addresses, ADDRESSES, names, NULL);
	fuzz_let_calls_succeed();
	seep_work_end();
	fuzz_end();
	for (int i = 0; i < ADDRESSES; i++)
		free(names[i]);
	return 0;
}
