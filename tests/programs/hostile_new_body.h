/* SPDX-License-Identifier: MIT */
/* A library that replaces the plainest operators by malloc and free, and counts. */
#ifndef TESTS_PROGRAMS_HOSTILE_NEW_BODY_H
#define TESTS_PROGRAMS_HOSTILE_NEW_BODY_H

#include <cstdlib>
#include <new>

static int news, deletes;

void *operator new(std::size_t bytes)
{
	void *block = malloc(bytes);

	news++;
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept
{
	deletes++;
	free(block);
}

extern "C" int hostile_news(void)
{
	return news;
}

extern "C" int hostile_deletes(void)
{
	return deletes;
}

#endif
