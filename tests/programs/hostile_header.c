/* SPDX-License-Identifier: MIT */
// build: -Wl,-z,now
/*
 * hostile_header HOW: does to its ELF header what programs do that are not to be dumped, and then
 * allocates.
 *   hidden  the header cannot be read
 *   sum     the program headers end in the first page by a sum that wraps
 *   notes   the notes cannot be read
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

TRUTH_SITE(behind_header);

extern char __ehdr_start[];
static _Alignas(4096) char hidden_page[4096];

static SITE void behind_header(void)
{
	TRUTH_TEMPORARY(behind_header, 100);
}

int main(int argc, char **argv)
{
	Elf64_Ehdr *header = (void *)__ehdr_start;
	Elf64_Phdr *segments = (void *)(__ehdr_start + header->e_phoff);

	EXPECT(argc == 2);
	EXPECT(mprotect(header, 4096, PROT_READ | PROT_WRITE) == 0);
	EXPECT(mprotect(hidden_page, 4096, PROT_NONE) == 0);
	if (strcmp(argv[1], "sum") == 0)
		header->e_phoff = -(uint64_t)header->e_phnum * sizeof(Elf64_Phdr);
	for (int i = 0; strcmp(argv[1], "notes") == 0 && i < header->e_phnum; i++)
		if (segments[i].p_type == PT_NOTE)
			segments[i].p_vaddr = (uint64_t)(hidden_page - __ehdr_start);
	if (strcmp(argv[1], "hidden") == 0)
		EXPECT(mprotect(header, 4096, PROT_NONE) == 0);
	behind_header();
	EXPECT(mprotect(header, 4096, PROT_READ) == 0);
	truth_print();
	return truth_failures != 0;
}
