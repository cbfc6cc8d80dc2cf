/* SPDX-License-Identifier: MIT */
// build: -std=c++17
/*
 * Operators that give each block a page of its own, behind a page that cannot be read: whoever
 * takes the word before a block for malloc's header dies of it.
 */
#include <new>

#include <sys/mman.h>

enum { PAGE = 4096 };

static int news, deletes;

void *operator new(std::size_t)
{
	void *pages = mmap(nullptr, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	news++;
	if (pages == MAP_FAILED || mprotect((char *)pages + PAGE, PAGE, PROT_READ | PROT_WRITE))
		throw std::bad_alloc();
	return (char *)pages + PAGE;
}

void operator delete(void *block) noexcept
{
	deletes++;
	if (block)
		munmap((char *)block - PAGE, 2 * PAGE);
}

extern "C" int hostile_news(void)
{
	return news;
}

extern "C" int hostile_deletes(void)
{
	return deletes;
}
