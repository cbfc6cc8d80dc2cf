/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -fsized-deallocation -pthread
/* Wrong frees by C++'s operators, each family's blocks by each other's, and right uses of them. */
#include "misuse_case.h"

#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* ---- who allocates, who frees -------------------------------------------------------------- */

enum { BYTES = 1200, ALIGNMENT = 64 };
static const std::align_val_t alignment{ ALIGNMENT };

#define MAKER(name, expression)                  \
	static APART void *name()                \
	{                                        \
		void *made = opaque(expression); \
		HERE(name);                      \
		return made;                     \
	}
#define FREER(name, expression)               \
	static APART void name(void *pointer) \
	{                                     \
		void *made = opaque(pointer); \
		expression;                   \
		HERE(name);                   \
	}

MAKER(by_malloc, malloc(BYTES))
MAKER(by_calloc, calloc(BYTES, 1))
MAKER(by_realloc, realloc(NULL, BYTES))
MAKER(by_memalign, memalign(ALIGNMENT, BYTES))
MAKER(by_new, ::operator new(BYTES))
MAKER(by_new_array, ::operator new[](BYTES))
MAKER(by_aligned_new, ::operator new(BYTES, alignment))
MAKER(by_aligned_new_array, ::operator new[](BYTES, alignment))
MAKER(by_nothrow_new, ::operator new(BYTES, std::nothrow))

FREER(to_free, free(made))
FREER(to_realloc, leak_keep[0] = realloc(made, 2 * BYTES))
FREER(to_delete, ::operator delete(made))
FREER(to_delete_array, ::operator delete[](made))
FREER(to_aligned_delete, ::operator delete(made, alignment))
FREER(to_aligned_delete_array, ::operator delete[](made, alignment))
FREER(to_sized_delete, ::operator delete(made, BYTES))
FREER(to_sized_delete_array, ::operator delete[](made, BYTES))
FREER(to_nothrow_delete, ::operator delete(made, std::nothrow))
FREER(to_larger_delete, ::operator delete(made, BYTES + 8))
FREER(to_smaller_delete_array, ::operator delete[](made, BYTES - 8))
FREER(to_delete_of_none, ::operator delete(made, (std::size_t)0))
FREER(to_smaller_aligned_delete, ::operator delete(made, 8, alignment))
FREER(to_less_aligned_delete, ::operator delete (made, std::align_val_t{ 32 }))
FREER(to_more_aligned_delete_array, ::operator delete[](made, std::align_val_t{ 128 }))

template <void *(*make)(), void (*drop)(void *)> static void pair()
{
	drop(make());
}

/* The same place, many times: one finding. */
static void many_times()
{
	for (int i = 0; i < 1000; i++)
		to_delete(by_new_array());
}

/* Nothing that follows may lose it. */
static void before_kill()
{
	to_delete(by_malloc());
	kill(getpid(), SIGKILL);
}

static void while_running()
{
	to_free(by_new());
}

static void before_exit()
{
	to_free(by_new());
	_exit(0);
}

/* ---- objects ------------------------------------------------------------------------------- */

struct closed {
	long words[5];
	APART ~closed()
	{
		HERE(closed);
	}
};

struct base {
	long word;
	APART ~base()
	{
		HERE(base);
	}
};

struct derived : base {
	long more[4];
};

struct first {
	virtual void one()
	{
	}
	long a;
};

struct second {
	long b;
};

struct both : first, second {
	long c;
};

struct alignas(16) wide {
	long words[2];
	APART ~wide()
	{
		HERE(wide);
	}
};

struct alignas(64) wider {
	long words[8];
	APART ~wider()
	{
		HERE(wider);
	}
};

template <class T> static APART T *seen(T *made)
{
	return static_cast<T *>(opaque(made));
}

template <class T> static APART T *make_one()
{
	T *made = seen(new T);

	HERE(make_one);
	return made;
}

template <class T> static APART T *make_three()
{
	T *made = seen(new T[3]);

	HERE(make_three);
	return made;
}

template <class T> static APART void drop_one(T *made)
{
	delete seen(made);
	HERE(drop_one);
}

template <class T> static APART void drop_one_again(T *made)
{
	delete seen(made);
	HERE(drop_one_again);
}

template <class T> static APART void drop_array(T *made)
{
	delete[] seen(made);
	HERE(drop_array);
}

template <class T> static void array_as_one()
{
	drop_one(make_three<T>());
}

static void one_as_array()
{
	drop_array(make_one<int>());
}

/* delete[] looks for the number of objects in front of the first. */
static void one_as_array_of_closed()
{
	drop_array(make_one<closed>());
}

static void by_base()
{
	drop_one<base>(make_one<derived>());
}

static void by_second_base()
{
	drop_one<second>(make_one<both>());
}

static void by_other_type()
{
	drop_one(reinterpret_cast<wide *>(make_one<long>()));
}

static void deleted_twice()
{
	auto *made = make_one<closed>();

	drop_one(made);
	drop_one_again(made);
}

static void deleted_then_freed()
{
	auto *made = make_one<long>();

	drop_one(made);
	release_again(made);
}

static void array_deleted_twice()
{
	auto *made = make_three<long>();

	drop_array(made);
	to_delete_array(made);
}

static void owned_twice()
{
	auto *made = make_one<closed>();
	{
		std::unique_ptr<closed> one(made), two(made);
	}
	HERE(owned_twice);
}

static void shared_apart()
{
	auto *made = make_one<closed>();
	{
		std::shared_ptr<closed> one(made), two(made);
	}
	HERE(shared_apart);
}

static void copied_by_bytes()
{
	std::string text(500, 'x');
	alignas(std::string) char copy[sizeof(text)];

	memcpy(copy, opaque(&text), sizeof(text));
	reinterpret_cast<std::string *>(opaque(copy))->~basic_string();
	HERE(copied_by_bytes);
}

struct holder {
	char *text = new char[77];
	APART ~holder()
	{
		delete[] static_cast<char *>(opaque(text));
		HERE(holder);
	}
};

/* No copy constructor where one is needed. */
static void copied_holder()
{
	holder one, two = one;

	seen(&two);
}

static void array_by_unique_ptr()
{
	{
		std::unique_ptr<long> one(make_three<long>());
	}
	HERE(array_by_unique_ptr);
}

static void middle_of_vector()
{
	std::vector<long> words(100);

	to_delete(&words[2]);
}

static void of_local_object()
{
	closed object;

	drop_one(&object);
}

static void of_member()
{
	drop_one(&make_one<both>()->c);
}

static void behind_of_array()
{
	int *made = seen(new int[10]);

	HERE(behind_of_array);
	scribble(made, 40, 4);
	drop_array(made);
}

static void in_front_of_array()
{
	int *made = seen(new int[11]);

	HERE(in_front_of_array);
	scribble(made, -4, 4);
	drop_array(made);
}

static void written_after_delete()
{
	auto *made = make_one<derived>();

	drop_one(made);
	scribble(made, 16, 8);
}

/* ---- right --------------------------------------------------------------------------------- */

struct node {
	node *left, *right;
	explicit node(int depth)
	    : left(depth ? new node(depth - 1) : nullptr),
	      right(depth ? new node(depth - 1) : nullptr)
	{
	}
	~node()
	{
		delete left;
		delete right;
	}
};

static void nested()
{
	delete seen(new node(8));
}

struct pooled {
	static void *operator new(std::size_t bytes)
	{
		return malloc(bytes);
	}
	static void *operator new[](std::size_t bytes)
	{
		return malloc(bytes + 16);
	}
	static void operator delete(void *made)
	{
		free(made);
	}
	static void operator delete[](void *made)
	{
		free(made);
	}
	long words[3];
	~pooled()
	{
		HERE(pooled);
	}
};

static void of_class()
{
	delete seen(new pooled);
	delete[] seen(new pooled[4]);
}

static void placed()
{
	void *room = by_malloc();
	closed *made = seen(new (room) closed);

	made->~closed();
	to_free(room);
	alignas(closed) char area[sizeof(closed) * 3];
	closed *three = seen(new (area) closed[3]);
	three[0].~closed();
}

struct parent {
	virtual ~parent()
	{
	}
	long word;
};

struct other_parent {
	virtual ~other_parent()
	{
	}
	long word;
};

struct virtual_child : parent, other_parent {
	long words[9];
};

struct alignas(128) virtual_wide : parent, other_parent {
	long words[9];
};

static void by_virtual_base()
{
	delete seen<parent>(new virtual_child);
	delete seen<other_parent>(new virtual_child);
	delete seen<parent>(new virtual_wide);
	delete seen<other_parent>(new virtual_wide);
}

struct thrower {
	long words[3];
	thrower()
	{
		throw std::runtime_error("no thrower");
	}
};

static void thrown()
{
	for (int i = 0; i < 3; i++) {
		try {
			if (i == 0)
				seen(new thrower);
			else if (i == 1)
				seen(new thrower[3]);
			else
				seen(new (std::nothrow) thrower);
		} catch (const std::runtime_error &) {
		}
	}
}

static void of_all_types()
{
	drop_one(make_one<long>());
	drop_one(make_one<closed>());
	drop_one(make_one<wide>());
	drop_one(make_one<wider>());
	drop_array(make_three<char>());
	drop_array(make_three<closed>());
	drop_array(make_three<wide>());
	drop_array(make_three<wider>());
	drop_array(seen(new closed[0]));
	drop_array(seen(new char[0]));
	drop_one<closed>(nullptr);
	drop_array<closed>(nullptr);
	delete seen(new (std::nothrow) wider);
}

static void of_library()
{
	std::map<std::string, std::vector<std::shared_ptr<std::string>>> all;

	for (int i = 0; i < 1000; i++)
		all[std::to_string(i % 97)].push_back(std::make_shared<std::string>(i, 'x'));
	std::vector<wider> aligned(10);
	aligned.resize(100);
	std::unique_ptr<closed[]> owned(new closed[7]);
	std::shared_ptr<void> erased = std::make_shared<closed>();
	std::thread thread([&all] { all.clear(); });
	thread.join();
	std::unique_ptr<char, decltype(&free)> c(strdup("text"), &free);
}

#define PAIR(by, to, expected, actual)                                                     \
	{                                                                                  \
#by "-" #to, "I1",                                                         \
			"mismatched-free " actual " size=1200 offset=0 expected=" expected \
			" actual=" actual " alloc=" #by " here=" #to,                      \
			"", pair < by, to>                                                 \
	}
#define SIZE(by, to, freeing, actual)                                                     \
	{                                                                                 \
#by "-" #to, "I2",                                                        \
			"size-mismatch " freeing                                          \
			" size=1200 offset=0 expected=1200 actual=" #actual " alloc=" #by \
			" here=" #to,                                                     \
			"", pair < by, to>                                                \
	}
#define ALIGNMENT_OF(by, to, freeing, actual)                                           \
	{                                                                               \
#by "-" #to, "I2",                                                      \
			"align-mismatch " freeing                                       \
			" size=1200 offset=0 expected=64 actual=" #actual " alloc=" #by \
			" here=" #to,                                                   \
			"", pair < by, to>                                              \
	}
#define RIGHT(by, to)                                         \
	{                                                     \
#by "-" #to, "I9", "none", "", pair < by, to> \
	}
#define TWICE "double-free delete offset=0 "

static const leak_case cases[] = {
	PAIR(by_malloc, to_delete, "free", "delete"),
	PAIR(by_malloc, to_delete_array, "free", "delete[]"),
	PAIR(by_malloc, to_aligned_delete, "free", "aligned+delete"),
	PAIR(by_malloc, to_aligned_delete_array, "free", "aligned+delete[]"),
	PAIR(by_malloc, to_sized_delete, "free", "delete"),
	PAIR(by_calloc, to_delete, "free", "delete"),
	PAIR(by_calloc, to_delete_array, "free", "delete[]"),
	PAIR(by_realloc, to_delete, "free", "delete"),
	PAIR(by_realloc, to_delete_array, "free", "delete[]"),
	PAIR(by_memalign, to_delete, "free", "delete"),
	PAIR(by_memalign, to_delete_array, "free", "delete[]"),
	PAIR(by_memalign, to_aligned_delete, "free", "aligned+delete"),
	PAIR(by_memalign, to_aligned_delete_array, "free", "aligned+delete[]"),
	PAIR(by_new, to_free, "delete", "free"),
	PAIR(by_new, to_realloc, "delete", "realloc"),
	PAIR(by_new, to_delete_array, "delete", "delete[]"),
	PAIR(by_new, to_aligned_delete, "delete", "aligned+delete"),
	PAIR(by_new, to_aligned_delete_array, "delete", "aligned+delete[]"),
	PAIR(by_new_array, to_free, "delete[]", "free"),
	PAIR(by_new_array, to_realloc, "delete[]", "realloc"),
	PAIR(by_new_array, to_delete, "delete[]", "delete"),
	PAIR(by_new_array, to_sized_delete, "delete[]", "delete"),
	PAIR(by_new_array, to_aligned_delete, "delete[]", "aligned+delete"),
	PAIR(by_new_array, to_aligned_delete_array, "delete[]", "aligned+delete[]"),
	PAIR(by_aligned_new, to_free, "aligned+delete", "free"),
	PAIR(by_aligned_new, to_realloc, "aligned+delete", "realloc"),
	PAIR(by_aligned_new, to_delete, "aligned+delete", "delete"),
	PAIR(by_aligned_new, to_delete_array, "aligned+delete", "delete[]"),
	PAIR(by_aligned_new, to_aligned_delete_array, "aligned+delete", "aligned+delete[]"),
	PAIR(by_aligned_new_array, to_free, "aligned+delete[]", "free"),
	PAIR(by_aligned_new_array, to_delete, "aligned+delete[]", "delete"),
	PAIR(by_aligned_new_array, to_delete_array, "aligned+delete[]", "delete[]"),
	PAIR(by_aligned_new_array, to_aligned_delete, "aligned+delete[]", "aligned+delete"),
	PAIR(by_nothrow_new, to_free, "delete", "free"),
	{ "many_times", "I1", "mismatched-free delete count=1000 alloc=by_new_array here=to_delete",
	  "fast", many_times },
	{ "before_kill", "I1", "mismatched-free delete alloc=by_malloc here=to_delete", "",
	  before_kill },
	{ "while_running", "I1", "mismatched-free free alloc=by_new here=to_free", "live",
	  while_running },
	{ "before_exit", "I1", "mismatched-free free alloc=by_new here=to_free", "", before_exit },
	{ "array_of_long", "I1",
	  "mismatched-free delete size=24 offset=0 expected=delete[] actual=delete "
	  "alloc=make_three here=drop_one",
	  "", array_as_one<long> },
	{ "one_as_array", "I1",
	  "mismatched-free delete[] size=4 offset=0 expected=delete actual=delete[] "
	  "alloc=make_one here=drop_array",
	  "", one_as_array },
	{ "array_by_unique_ptr", "I1",
	  "mismatched-free delete size=24 offset=0 expected=delete[] actual=delete "
	  "alloc=make_three within=array_by_unique_ptr",
	  "", array_by_unique_ptr },

	SIZE(by_new, to_larger_delete, "delete", 1208),
	SIZE(by_nothrow_new, to_larger_delete, "delete", 1208),
	SIZE(by_new_array, to_smaller_delete_array, "delete[]", 1192),
	SIZE(by_new, to_delete_of_none, "delete", 0),
	SIZE(by_aligned_new, to_smaller_aligned_delete, "aligned+delete", 8),
	ALIGNMENT_OF(by_aligned_new, to_less_aligned_delete, "aligned+delete", 32),
	ALIGNMENT_OF(by_aligned_new_array, to_more_aligned_delete_array, "aligned+delete[]", 128),
	{ "by_base", "I2",
	  "size-mismatch delete size=40 offset=0 expected=40 actual=8 alloc=make_one here=drop_one",
	  "", by_base },
	{ "by_other_type", "I2",
	  "size-mismatch delete size=8 expected=8 actual=16 alloc=make_one here=drop_one", "",
	  by_other_type },

	{ "array_of_closed", "I3",
	  "mismatched-free delete size=128 offset=8 expected=delete[] actual=delete "
	  "alloc=make_three here=drop_one",
	  "", array_as_one<closed> },
	{ "array_of_wide", "I3",
	  "mismatched-free delete size=64 offset=16 expected=delete[] actual=delete "
	  "alloc=make_three here=drop_one",
	  "", array_as_one<wide> },
	{ "array_of_wider", "I3",
	  "mismatched-free|interior-free aligned+delete size=256 offset=64 alloc=make_three "
	  "here=drop_one",
	  "", array_as_one<wider> },
	{ "one_as_array_of_closed", "I3",
	  "mismatched-free delete[] size=40 offset=-8 expected=delete actual=delete[] "
	  "alloc=make_one here=drop_array",
	  "no-guard", one_as_array_of_closed },
	{ "by_second_base", "I3",
	  "interior-free delete size=32 offset=16 alloc=make_one here=drop_one", "",
	  by_second_base },
	{ "middle_of_vector", "I3", "interior-free delete size=800 offset=16 here=to_delete", "",
	  middle_of_vector },
	{ "of_local_object", "I3", "unknown-free delete here=drop_one", "", of_local_object },
	{ "of_member", "I3", "interior-free delete size=32 offset=24 alloc=make_one here=drop_one",
	  "", of_member },

	{ "deleted_twice", "I4", TWICE "size=40 alloc=make_one freed=drop_one here=drop_one_again",
	  "", deleted_twice },
	{ "deleted_then_freed", "I4",
	  "double-free free size=8 alloc=make_one freed=drop_one here=release_again", "",
	  deleted_then_freed },
	{ "array_deleted_twice", "I4",
	  "double-free delete[] size=24 alloc=make_three freed=drop_array here=to_delete_array", "",
	  array_deleted_twice },
	{ "owned_twice", "I4", TWICE "size=40 alloc=make_one within=owned_twice", "", owned_twice },
	{ "shared_apart", "I4", TWICE "size=40 alloc=make_one within=shared_apart", "",
	  shared_apart },
	{ "copied_by_bytes", "I4", TWICE "size=501 within=copied_by_bytes", "", copied_by_bytes },
	{ "copied_holder", "I4", "double-free delete[] size=77 freed=~holder here=~holder", "",
	  copied_holder },

	{ "behind_of_array", "I5",
	  "rear-guard * size=40 offset=40 alloc=behind_of_array here=drop_array", "guard",
	  behind_of_array },
	{ "in_front_of_array", "I5",
	  "front-guard * size=44 offset=-4 alloc=in_front_of_array here=drop_array", "guard",
	  in_front_of_array },
	{ "written_after_delete", "I6",
	  "use-after-free * size=40 offset=16 alloc=make_one freed=drop_one", "quarantine",
	  written_after_delete },

	RIGHT(by_malloc, to_free),
	RIGHT(by_calloc, to_realloc),
	RIGHT(by_memalign, to_free),
	RIGHT(by_memalign, to_realloc),
	RIGHT(by_new, to_delete),
	RIGHT(by_new, to_sized_delete),
	RIGHT(by_new, to_nothrow_delete),
	RIGHT(by_nothrow_new, to_delete),
	RIGHT(by_new_array, to_delete_array),
	RIGHT(by_new_array, to_sized_delete_array),
	RIGHT(by_aligned_new, to_aligned_delete),
	RIGHT(by_aligned_new_array, to_aligned_delete_array),
	{ "nested", "I9", "none", "", nested },
	{ "of_class", "I9", "none", "", of_class },
	{ "placed", "I9", "none", "", placed },
	{ "by_virtual_base", "I9", "none", "", by_virtual_base },
	{ "thrown", "I9", "none", "", thrown },
	{ "of_all_types", "I9", "none", "", of_all_types },
	{ "of_library", "I9", "none", "", of_library },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	no_core();
	return leak_main(argc, argv, cases);
}
