/* SPDX-License-Identifier: MIT */
/* One program in two builds, of which MOVED has more code and allocates differently. */
#include "truth.h"

TRUTH_SITE(read_rows);
TRUTH_SITE(read_names);
TRUTH_SITE(open_cache);
TRUTH_SITE(close_cache);

static void *kept[64];
static size_t kept_count;

static void take(struct truth_site *site, size_t bytes)
{
	kept[kept_count++] = truth_hide_ptr(malloc(bytes));
	truth_alloced(site, bytes);
}

#ifdef MOVED
/* Code before the functions that stay, so that none of them is where it was. */
SITE static size_t padding(size_t n)
{
	for (size_t i = 0; i < n; i++)
		n ^= truth_hide(i) * 31;
	return n;
}
#endif

SITE static void read_rows(int count)
{
	for (int i = 0; i < count; i++)
		take(&site_read_rows, 100);
}

SITE static void read_names(int count)
{
	for (int i = 0; i < count; i++)
		take(&site_read_names, 30);
}

#ifdef MOVED
SITE static void open_cache(void)
{
	take(&site_open_cache, 5000);
}
#else
SITE static void close_cache(void)
{
	take(&site_close_cache, 700);
}
#endif

int main(void)
{
#ifdef MOVED
	(void)padding(100);
	open_cache();
	read_rows(12);
	read_names(3);
#else
	close_cache();
	read_rows(5);
	read_names(3);
#endif
	truth_print();
	return 0;
}
