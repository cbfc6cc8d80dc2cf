/* SPDX-License-Identifier: MIT */
// build: -Wl,-z,now
/* Makes its ELF header unreadable, as programs do that are not to be dumped, and then allocates. */
#include <sys/mman.h>

#include "truth.h"

TRUTH_SITE(behind_header);

extern const char __ehdr_start[];

static SITE void behind_header(void)
{
	void *block = truth_hide_ptr(malloc(100));

	truth_alloced(&site_behind_header, 100);
	free(block);
	truth_freed(&site_behind_header, 100);
}

int main(void)
{
	EXPECT(mprotect((void *)(uintptr_t)__ehdr_start, 4096, PROT_NONE) == 0);
	behind_header();
	EXPECT(mprotect((void *)(uintptr_t)__ehdr_start, 4096, PROT_READ) == 0);
	truth_print();
	return truth_failures != 0;
}
