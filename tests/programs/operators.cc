/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -faligned-new -fsized-deallocation -Wno-mismatched-new-delete
/*
 * Every form of operator new and operator delete, called as functions (so that no compiler may
 * leave a pair out) and as expressions; new-handlers that throw, give up or find memory.
 */
#include <new>

#include <sys/resource.h>

#include "truth.h"

static const std::align_val_t aligned64{ 64 };

static void *checked(void *block)
{
	EXPECT((uintptr_t)block % 64 == 0);
	return block;
}

TRUTH_MAKER(new_plain, ::operator new(bytes));
TRUTH_MAKER(new_array, ::operator new[](bytes));
TRUTH_MAKER(new_nothrow, ::operator new(bytes, std::nothrow));
TRUTH_MAKER(new_array_nothrow, ::operator new[](bytes, std::nothrow));
TRUTH_MAKER(new_aligned, checked(::operator new(bytes, aligned64)));
TRUTH_MAKER(new_array_aligned, checked(::operator new[](bytes, aligned64)));
TRUTH_MAKER(new_aligned_nothrow, checked(::operator new(bytes, aligned64, std::nothrow)));
TRUTH_MAKER(new_array_aligned_nothrow, checked(::operator new[](bytes, aligned64, std::nothrow)));
TRUTH_SITE(new_expression);
TRUTH_SITE(new_cookie_array);
TRUTH_SITE(new_overaligned);
TRUTH_SITE(new_zero);
TRUTH_SITE_KNOWN(new_throwing_constructor, TRUTH_LIVE);
TRUTH_SITE_KNOWN(new_nothrow_fails, TRUTH_LIVE);
TRUTH_MAKER(new_after_handler, ::operator new(bytes));
TRUTH_MAKER(new_reserve, ::operator new(bytes));
TRUTH_SITE(new_in_buffer);

enum { ROUNDS = 1000 };

static void plain_deletes(int round, size_t n)
{
	void *a = new_plain(n), *b = new_nothrow(n + 1), *c = new_plain(n + 2);

	if (round % 4 == 0)
		return;
	::operator delete(a);
	truth_freed(&site_new_plain, n);
	::operator delete(b, std::nothrow);
	truth_freed(&site_new_nothrow, n + 1);
	::operator delete(c, n + 2);
	truth_freed(&site_new_plain, n + 2);
}

static void array_deletes(int round, size_t n)
{
	void *a = new_array(n), *b = new_array_nothrow(n + 1), *c = new_array(n + 2);

	if (round % 4 == 0)
		return;
	::operator delete[](a);
	truth_freed(&site_new_array, n);
	::operator delete[](b, std::nothrow);
	truth_freed(&site_new_array_nothrow, n + 1);
	::operator delete[](c, n + 2);
	truth_freed(&site_new_array, n + 2);
}

static void aligned_deletes(int round, size_t n)
{
	void *a = new_aligned(n), *b = new_aligned_nothrow(n + 1), *c = new_aligned(n + 2);

	if (round % 4 == 0)
		return;
	::operator delete(a, aligned64);
	truth_freed(&site_new_aligned, n);
	::operator delete(b, aligned64, std::nothrow);
	truth_freed(&site_new_aligned_nothrow, n + 1);
	::operator delete(c, n + 2, aligned64);
	truth_freed(&site_new_aligned, n + 2);
}

static void aligned_array_deletes(int round, size_t n)
{
	void *a = new_array_aligned(n), *b = new_array_aligned_nothrow(n + 1);
	void *c = new_array_aligned(n + 2);

	if (round % 4 == 0)
		return;
	::operator delete[](a, aligned64);
	truth_freed(&site_new_array_aligned, n);
	::operator delete[](b, aligned64, std::nothrow);
	truth_freed(&site_new_array_aligned_nothrow, n + 1);
	::operator delete[](c, n + 2, aligned64);
	truth_freed(&site_new_array_aligned, n + 2);
}

struct plain {
	char bytes[400];
};

/* A destructor makes new[] put a count in front of the array. */
struct counted {
	char bytes[24];
	~counted()
	{
		truth_hide_ptr(this);
	}
};

struct alignas(64) wide {
	char bytes[192];
};

extern "C" SITE plain *new_expression(void)
{
	plain *object = static_cast<plain *>(truth_hide_ptr(new plain));

	truth_alloced(&site_new_expression, sizeof(plain));
	return object;
}

extern "C" SITE counted *new_cookie_array(size_t n)
{
	counted *objects = static_cast<counted *>(truth_hide_ptr(new counted[n]));

	truth_alloced(&site_new_cookie_array, sizeof(size_t) + n * sizeof(counted));
	return objects;
}

extern "C" SITE wide *new_overaligned(void)
{
	wide *object = static_cast<wide *>(truth_hide_ptr(new wide));

	truth_alloced(&site_new_overaligned, sizeof(wide));
	EXPECT((uintptr_t)object % 64 == 0);
	return object;
}

extern "C" SITE void *new_zero(void)
{
	void *block = ::operator new(truth_hide(0));

	truth_alloced(&site_new_zero, 0);
	return block;
}

extern "C" SITE void *new_in_buffer(void)
{
	void *buffer = malloc(512);
	plain *object;

	truth_alloced(&site_new_in_buffer, 512);
	object = new (buffer) plain;
	return truth_hide_ptr(object);
}

static void expressions(int round)
{
	plain *object = new_expression();
	counted *objects = new_cookie_array(10);
	wide *aligned = new_overaligned();
	void *empty = new_zero(), *other = new_zero(), *buffer = new_in_buffer();

	EXPECT(empty != other && empty && other);
	if (round % 4 == 0)
		return;
	delete object;
	truth_freed(&site_new_expression, sizeof(plain));
	delete[] objects;
	truth_freed(&site_new_cookie_array, sizeof(size_t) + 10 * sizeof(counted));
	delete aligned;
	truth_freed(&site_new_overaligned, sizeof(wide));
	::operator delete(empty);
	::operator delete(other, static_cast<size_t>(0));
	truth_freed(&site_new_zero, 0);
	truth_freed(&site_new_zero, 0);
	free(buffer);
	truth_freed(&site_new_in_buffer, 512);
	delete static_cast<plain *>(truth_hide_ptr(nullptr));
}

static bool constructor_throws;

struct refusing {
	char bytes[888];
	refusing();
};

SITE refusing::refusing()
{
	bytes[0] = 0;
	truth_hide_ptr(this);
	if (constructor_throws)
		throw 7;
}

/* The language gives the block back; the exception is allocated under this name as well. */
extern "C" SITE void new_throwing_constructor(void)
{
	truth_alloced(&site_new_throwing_constructor, sizeof(refusing));
	truth_freed(&site_new_throwing_constructor, sizeof(refusing));
	delete static_cast<refusing *>(truth_hide_ptr(new refusing));
}

static void throwing_constructors()
{
	int i, caught = 0;

	for (i = 0; i < 100; i++) {
		constructor_throws = i % 2 == 0;
		try {
			new_throwing_constructor();
		} catch (int value) {
			caught += value == 7;
		}
	}
	EXPECT(caught == 50);
}

static int handler_calls;
static void *reserve;
static size_t reserve_bytes;

static void handler_gives_up()
{
	handler_calls++;
	std::set_new_handler(nullptr);
}

struct own_failure : std::bad_alloc {
};

static void handler_throws_own()
{
	handler_calls++;
	throw own_failure();
}

static void handler_frees_reserve()
{
	handler_calls++;
	if (!reserve)
		throw std::bad_alloc();
	::operator delete(reserve);
	truth_freed(&site_new_reserve, reserve_bytes);
	reserve = nullptr;
}

/* Which exception comes out of a request that no heap can serve: 0 none, 1 ours, 2 bad_alloc. */
template <typename function> static int thrown_by(function call)
{
	try {
		call();
	} catch (const own_failure &) {
		return 1;
	} catch (const std::bad_alloc &) {
		return 2;
	}
	return 0;
}

/* The standard library throws and catches on the way, so exceptions come and go in here. */
extern "C" SITE void new_nothrow_fails(size_t huge)
{
	EXPECT(::operator new(huge, std::nothrow) == nullptr);
	EXPECT(::operator new[](huge, std::nothrow) == nullptr);
	EXPECT(::operator new(huge, aligned64, std::nothrow) == nullptr);
	EXPECT(::operator new[](huge, aligned64, std::nothrow) == nullptr);
}

static void failures()
{
	size_t huge = truth_hide(static_cast<size_t>(PTRDIFF_MAX) - 4096);

	std::set_new_handler(nullptr);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new(huge)); }) == 2);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new[](huge)); }) == 2);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new(huge, aligned64)); }) == 2);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new[](huge, aligned64)); }) == 2);
	handler_calls = 0;
	std::set_new_handler(handler_gives_up);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new(huge)); }) == 2);
	EXPECT(handler_calls == 1);
	std::set_new_handler(handler_throws_own);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new(huge)); }) == 1);
	EXPECT(thrown_by([=] { truth_hide_ptr(::operator new[](huge, aligned64)); }) == 1);
	EXPECT(handler_calls == 3);
	std::set_new_handler(nullptr);
	new_nothrow_fails(huge);
}

static size_t address_space()
{
	char text[64] = { 0 };
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return 0;
	close(fd);
	return static_cast<size_t>(strtoul(text, nullptr, 10)) * 4096;
}

/* The address space is short until the handler gives the reserve back. */
static void handler_finds_memory()
{
	struct rlimit old, tight;
	void *block;

	reserve_bytes = 192 << 20;
	reserve = new_reserve(reserve_bytes);
	EXPECT(getrlimit(RLIMIT_AS, &old) == 0);
	tight = old;
	tight.rlim_cur = address_space() + (64 << 20);
	EXPECT(setrlimit(RLIMIT_AS, &tight) == 0);
	handler_calls = 0;
	std::set_new_handler(handler_frees_reserve);
	block = new_after_handler(160 << 20);
	EXPECT(block != nullptr && handler_calls == 1 && !reserve);
	std::set_new_handler(nullptr);
	EXPECT(setrlimit(RLIMIT_AS, &old) == 0);
	::operator delete(block);
	truth_freed(&site_new_after_handler, 160 << 20);
}

int main()
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		size_t n = static_cast<size_t>(i % 500) + 1;

		plain_deletes(i, n);
		array_deletes(i, n);
		aligned_deletes(i, n);
		aligned_array_deletes(i, n);
		expressions(i);
	}
	throwing_constructors();
	failures();
	handler_finds_memory();
	truth_print();
	return truth_failures != 0;
}
