/* SPDX-License-Identifier: MIT */
/* A memalign() of the program's own, in front of whose blocks no memory can be read. */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

void *memalign(size_t alignment, size_t size);

void *memalign(size_t alignment, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *start = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (alignment > page || size > page || start == MAP_FAILED ||
	    mprotect(start + page, page, PROT_READ | PROT_WRITE) < 0)
		return NULL;
	return start + page;
}
