/* SPDX-License-Identifier: MIT */
/* For the programs growth_*.cc: containers of the C++ library that count into a growth_site. */
#ifndef TESTS_PROGRAMS_GROWTH_ALLOC_H
#define TESTS_PROGRAMS_GROWTH_ALLOC_H

#include <new>
#include <string>

#include "growth_play.h"

template <class T, growth_site *site> struct growth_alloc {
	typedef T value_type;
	template <class U> struct rebind {
		typedef growth_alloc<U, site> other;
	};

	growth_alloc() = default;
	template <class U> growth_alloc(const growth_alloc<U, site> &)
	{
	}

	T *allocate(size_t count)
	{
		void *block = ::operator new(count * sizeof(T));

		growth_live(site, block, count * sizeof(T));
		return static_cast<T *>(block);
	}

	void deallocate(T *block, size_t count)
	{
		growth_gone(site, count * sizeof(T));
		::operator delete(block);
	}

	template <class U> bool operator==(const growth_alloc<U, site> &) const
	{
		return true;
	}

	template <class U> bool operator!=(const growth_alloc<U, site> &) const
	{
		return false;
	}
};

template <growth_site *site>
using growth_string = std::basic_string<char, std::char_traits<char>, growth_alloc<char, site>>;

#endif
