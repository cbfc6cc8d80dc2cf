/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -Wno-mismatched-new-delete
/*
 * A program that replaces only the plainest operator new and delete, and puts a header before
 * each block. The C++ library's other forms must go on calling them: a block that one of them
 * made without the header would be freed at a wrong address.
 */
#include <new>

#include "truth.h"

enum { HEADER_BYTES = 32, ARRAY_BYTES = 120, ROUNDS = 5 };

TRUTH_SITE(make_one);
TRUTH_SITE(make_array);
TRUTH_SITE(make_or_null);

static int news, deletes;

void *operator new(std::size_t bytes)
{
	char *block = (char *)malloc(bytes + HEADER_BYTES);

	news++;
	if (!block)
		throw std::bad_alloc();
	return block + HEADER_BYTES;
}

void operator delete(void *block) noexcept
{
	deletes++;
	if (block)
		free((char *)block - HEADER_BYTES);
}

/* What is counted is the malloc under the operator, header and all. */
static void count(struct truth_site *site, size_t bytes)
{
	truth_alloced(site, bytes + HEADER_BYTES);
	truth_freed(site, bytes + HEADER_BYTES);
}

extern "C" SITE void make_one(void)
{
	long *block = (long *)truth_hide_ptr(new long);

	delete block;
	count(&site_make_one, sizeof(long));
}

extern "C" SITE void make_array(void)
{
	char *block = (char *)truth_hide_ptr(new char[ARRAY_BYTES]);

	delete[] block;
	count(&site_make_array, ARRAY_BYTES);
}

extern "C" SITE void make_or_null(void)
{
	long *block = (long *)truth_hide_ptr(new (std::nothrow) long);

	delete block;
	count(&site_make_or_null, sizeof(long));
}

int main()
{
	for (int i = 0; i < ROUNDS; i++) {
		make_one();
		make_array();
		make_or_null();
	}
	printf("%d new, %d delete\n", news, deletes);
	truth_print();
	return news != 3 * ROUNDS || deletes != 3 * ROUNDS;
}
