/* SPDX-License-Identifier: MIT */
/* What is taken for the name in a demangled function, and whose function it is. */
#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "unit.h"

static const struct {
	const char *function;
	const char *name;
	const char *brief;
} names[] = {
	{ "main", "main", "main" },
	{ "app::load(int, char)", "app::load", "app::load" },
	{ "void app::load<int>(int)", "app::load<int>", "app::load<int>" },
	{ "std::vector<int, std::allocator<int> > app::load<char>(char const*)", "app::load<char>",
	  "app::load<char>" },
	{ "operator new(unsigned long)", "operator new", "operator new" },
	{ "operator new[](unsigned long, std::align_val_t)", "operator new[]", "operator new[]" },
	{ "app::(anonymous namespace)::worker(void*)", "app::(anonymous namespace)::worker",
	  "app::(anon)::worker" },
	{ "(anonymous namespace)::f()", "(anonymous namespace)::f", "(anon)::f" },
	{ "app::T::operator()(int) const", "app::T::operator()", "app::T::operator()" },
	{ "bool app::operator< <int>(app::A<int> const&)", "app::operator< <int>",
	  "app::operator< <int>" },
	{ "std::ostream& app::operator<<(std::ostream&, int)", "app::operator<<",
	  "app::operator<<" },
	{ "std::string std::operator+<char, std::char_traits<char>, std::allocator<char> >"
	  "(std::string const&, char const*)",
	  "std::operator+<char, std::char_traits<char>, std::allocator<char> >",
	  "std::operator+<char>" },
	{ "auto app::operator<=><int>(app::A<int>)", "app::operator<=><int>",
	  "app::operator<=><int>" },
	{ "app::operator\"\" _s(char const*)", "app::operator\"\" _s", "app::operator\"\" _s" },
	{ "app::T::operator->() const", "app::T::operator->", "app::T::operator->" },
	{ "app::T::operator std::vector<int>() const", "app::T::operator std::vector<int>",
	  "app::T::operator std::vector<int>" },
	{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()",
	  "main::{lambda(int)#1}" },
	{ "app::f(int)::{lambda()#2}::operator()() const", "app::f(int)::{lambda()#2}::operator()",
	  "app::f(int)::{lambda()#2}" },
	{ "auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
	  "main::{lambda(auto:1)#1}::operator()<int>", "main::{lambda(auto:1)#1}" },
	{ "main::{lambda:37}::operator()", "main::{lambda:37}::operator()", "main::{lambda:37}" },
	{ "app::S::f(int)::{lambda:37(a::b)#2}::operator()(a::b) const",
	  "app::S::f(int)::{lambda:37(a::b)#2}::operator()", "app::S::f(int)::{lambda:37}" },
	{ "app::main::{{closure}}::{{closure:26}}", "app::main::{{closure}}::{{closure:26}}",
	  "app::main::{closure}::{closure:26}" },
	{ "main::$_0::operator()() const", "main::$_0::operator()", "main::$_0" },
	{ "main::{lambda()#1}::operator()() const::local::f()",
	  "main::{lambda()#1}::operator()() const::local::f",
	  "main::{lambda()#1}::operator()() const::local::f" },
	{ "app::main::{{closure}}", "app::main::{{closure}}", "app::main::{closure}" },
	{ "app::main::{{closure:26}}", "app::main::{{closure:26}}", "app::main::{closure:26}" },
	/* What the library was made to call. */
	{ "std::_Function_handler<void (), main::{lambda()#2}>::_M_invoke(std::_Any_data const&)",
	  "std::_Function_handler<void (), main::{lambda()#2}>::_M_invoke", "main::{lambda()#2}" },
	{ "std::_Function_handler<app::Row (int), app::Maker>::_M_invoke(std::_Any_data const&, int&&)",
	  "std::_Function_handler<app::Row (int), app::Maker>::_M_invoke",
	  "app::Maker::operator()" },
	{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#5}> > >"
	  "::_M_run()",
	  "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#5}> > >"
	  "::_M_run",
	  "main::{lambda()#5}" },
	{ "void std::thread::_Invoker<std::tuple<app::(anonymous namespace)::Work, int> >"
	  "::_M_invoke<0ul, 1ul>(std::_Index_tuple<0ul, 1ul>)",
	  "std::thread::_Invoker<std::tuple<app::(anonymous namespace)::Work, int> >"
	  "::_M_invoke<0ul, 1ul>",
	  "app::(anon)::Work::operator()" },
	{ "std::_Function_handler<void (), (anonymous namespace)::Indexer>::_M_invoke("
	  "std::_Any_data const&)",
	  "std::_Function_handler<void (), (anonymous namespace)::Indexer>::_M_invoke",
	  "(anon)::Indexer::operator()" },
	{ "void std::__invoke_impl<void, main::$_0&>(std::__invoke_other, main::$_0&)",
	  "std::__invoke_impl<void, main::$_0&>", "main::$_0" },
	{ "std::_Function_handler<std::unique_ptr<std::__future_base::_Result_base> (), "
	  "std::__future_base::_Task_setter<std::unique_ptr<std::__future_base::_Result<app::Row> >, "
	  "std::thread::_Invoker<std::tuple<app::run()::{lambda()#1}> >, app::Row> >::_M_invoke("
	  "std::_Any_data const&)",
	  "std::_Function_handler<std::unique_ptr<std::__future_base::_Result_base> (), "
	  "std::__future_base::_Task_setter<std::unique_ptr<std::__future_base::_Result<app::Row> >, "
	  "std::thread::_Invoker<std::tuple<app::run()::{lambda()#1}> >, app::Row> >::_M_invoke",
	  "app::run()::{lambda()#1}" },
	{ "<app::jobs::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
	  "<app::jobs::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
	  "app::jobs::{closure#0}" },
	{ "std::sys::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>",
	  "std::sys::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>",
	  "app::main::{closure#0}" },
	{ "boost::asio::detail::move_binder2<app::S::accept()::{lambda(error, tcp<ip, int>)#1}, error, "
	  "tcp<ip> >::operator()()",
	  "boost::asio::detail::move_binder2<app::S::accept()::{lambda(error, tcp<ip, int>)#1}, error, "
	  "tcp<ip> >::operator()",
	  "app::S::accept()::{lambda(error, tcp<ip, int>)#1}" },
	{ "boost::asio::detail::binder2<boost::asio::detail::write_op<tcp<ip>, all, "
	  "app::S::write(int)::{lambda()#1}>, error, int>::operator()()",
	  "boost::asio::detail::binder2<boost::asio::detail::write_op<tcp<ip>, all, "
	  "app::S::write(int)::{lambda()#1}>, error, int>::operator()",
	  "app::S::write(int)::{lambda()#1}" },
	{ "boost::asio::detail::wait_handler<main::{lambda()#2}::operator()() const::{lambda(int)#1}, "
	  "any>::do_complete(void*)",
	  "boost::asio::detail::wait_handler<main::{lambda()#2}::operator()() const::{lambda(int)#1}, "
	  "any>::do_complete",
	  "main::{lambda()#2}::{lambda(int)#1}" },
	{ "QtPrivate::QFunctorSlotObject<main::{lambda()#2}, 0, QtPrivate::List<>, void>::impl(int)",
	  "QtPrivate::QFunctorSlotObject<main::{lambda()#2}, 0, QtPrivate::List<>, void>::impl",
	  "main::{lambda()#2}" },
	/* A return type that is spelled out. */
	{ "decltype (::new ((void*)(0)) app::Row((declval<int>)())) std::construct_at<app::Row, int>("
	  "app::Row*, int&&)",
	  "std::construct_at<app::Row, int>", "std::construct_at<app::Row, int>" },
	{ "decltype_of(int)", "decltype_of", "decltype_of" },
	{ "app::f(int) const::local::g()", "app::f(int) const::local::g",
	  "app::f(int) const::local::g" },
	{ "void std::vector<app::Row, std::allocator<app::Row> >::push_back(app::Row const&)",
	  "std::vector<app::Row, std::allocator<app::Row> >::push_back",
	  "std::vector<app::Row>::push_back" },
	{ "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
	  "int, std::less<std::string>, std::allocator<std::pair<int const, int> > >::at(int)",
	  "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
	  "int, std::less<std::string>, std::allocator<std::pair<int const, int> > >::at",
	  "std::map<std::string, int>::at" },
	{ "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter",
	  "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter",
	  "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter" },
	{ "alloc::raw_vec::finish_grow", "alloc::raw_vec::finish_grow",
	  "alloc::raw_vec::finish_grow" },
	{ "app::run() [clone .cold]", "app::run", "app::run" },
	{ "a name with spaces", "a name with spaces", "a name with spaces" },
	/* Cut or broken: anything goes, but nothing may be read past the end. */
	{ "std::vector<int", "std::vector<int", "std::vector<int" },
	{ "void f(", "f", "f" },
	{ "(", "(", "(" },
	{ "operator", "operator", "operator" },
	{ "", "", "" },
};

TEST(the_name_is_found_in_every_form)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct seep_name_part part = seep_function_name(names[i].function);
		char *name = strndup(part.text, part.bytes);
		char *brief = seep_function_short_name(names[i].function, NULL);

		assert_string_equal(name, names[i].name);
		assert_string_equal(brief, names[i].brief);
		free(name);
		free(brief);
	}
}

TEST(every_prefix_of_a_name_is_read_safely)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t bytes = 0; bytes <= strlen(names[i].function); bytes++) {
			char *cut = strndup(names[i].function, bytes);
			const struct seep_name_part part = seep_function_name(cut);

			assert_true(part.text >= cut && part.text + part.bytes <= cut + bytes);
			free(seep_function_short_name(cut, NULL));
			(void)seep_function_is_library(cut);
			(void)seep_function_is_allocator(cut);
			(void)seep_function_is_invoker(cut);
			free(seep_function_brief_name(cut));
			free(cut);
		}
	}
}

TEST(the_first_template_argument_stays)
{
	static const char *const cases[][2] = {
		{ "std::make_shared<Conn>", "std::make_shared<Conn>" },
		{ "vector<app::Row>::push_back", "vector<app::Row>::push_back" },
		{ "map<int, vector<char>>::at", "map<int, …>::at" },
		{ "HashMap<K,V,S>::insert", "HashMap<K, …>::insert" },
		{ "sync::Arc<T>::new<app::Invoice>", "sync::Arc<T>::new<app::Invoice>" },
		{ "map<int, vector<char>>::node<3>::at", "map<int, …>::node<3>::at" },
		{ "vector<ptr<Row, del>>::insert<Row const&>", "vector<ptr<Row, …>>::insert<…>" },
		{ "a<b<c<d<e_>>>>", "a<b<c<d<…>>>>" },
		{ "f<app::a_type_whose_name_is_longer_than_it_is_worth>", "f<…>" },
		{ "std::function<void (int, char)>::operator()",
		  "std::function<void (int, char)>::operator()" },
		{ "f<main::{lambda(int, char)#1}, int>", "f<main::{lambda(int, char)#1}, …>" },
		{ "app::operator<", "app::operator<" },
		{ "app::operator<< <std::char>", "app::operator<< <std::char>" },
		{ "ptr<app::Row>::operator->", "ptr<app::Row>::operator->" },
		{ "f<decltype(a->b)>::g", "f<decltype(a->b)>::g" },
		{ "vector<app::Row", "vector<…>" },
		{ "<T as app::Trait>::call", "<T as app::Trait>::call" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = seep_function_brief_name(cases[i][0]);

		assert_string_equal(name, cases[i][1]);
		free(name);
	}
}

TEST(libraries_are_told_by_the_path_of_the_name)
{
	static const char *const library[] = {
		"void std::vector<app::Row, std::allocator<app::Row> >::push_back(app::Row const&)",
		"alloc::raw_vec::finish_grow",
		"<alloc::string::String as core::clone::Clone>::clone",
		"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
		"<&mut alloc::string::String as core::fmt::Write>::write_fmt",
		"<u64 as core::fmt::Display>::fmt",
		"<[T] as alloc::borrow::ToOwned>::to_owned",
		"std::rt::lang_start",
		"decltype (::new ((void*)(0)) app::Row()) std::construct_at<app::Row>(app::Row*)",
		"<app::jobs::{closure#0} as core::ops::function::FnOnce<()>>::call_once",
	};
	static const char *const others[] = {
		"std::vector<int> app::load<char>(char const*)",
		"<app::Row as core::fmt::Display>::fmt",
		"<&app::Row as core::fmt::Display>::fmt",
		"<alloc::string::String as app::Named>::name",
		"stdlib_init",
		"main",
		"<",
		"< as ",
		"<x as a",
	};

	for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++)
		if (!seep_function_is_library(library[i]))
			fail_msg("%s", library[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (seep_function_is_library(others[i]))
			fail_msg("%s", others[i]);
}

TEST(an_invoker_does_nothing_but_call_what_the_program_gave_it)
{
	static const char *const others[] = {
		"std::_Function_handler<void (), main::{lambda()#1}>::_M_manager(std::_Any_data&)",
		"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#5}> > >"
		"::~_State_impl()",
		"std::_Function_handler<void (), void (*)()>::_M_invoke(std::_Any_data const&)",
		"void std::__invoke_impl<void, void (app::Pool::*)(), app::Pool*>("
		"std::__invoke_memfun_deref, void (app::Pool::*&&)(), app::Pool*&&)",
		"void std::__invoke_impl<void, app::Row (*)(int), int>(std::__invoke_other, int)",
		"void std::__invoke_impl<void, app::Row* (*)(int), int>(std::__invoke_other, int)",
		"void std::__invoke_impl<void, std::function<void ()>&>(std::__invoke_other)",
		"std::function<void ()>::operator()() const",
		"std::make_shared<app::Row>()",
		"<std::thread::spawn::{closure#1} as core::ops::function::FnOnce<()>>::call_once",
		"<app::Job as core::ops::function::FnOnce<()>>::call_once",
		"app::run<main::{lambda()#1}>(main::{lambda()#1})",
		"boost::asio::ip::tcp<int>::async_write<main::{lambda()#1}>(main::{lambda()#1})",
	};

	/* Named after something else than itself. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(seep_function_is_invoker(names[i].function),
				 strncmp(names[i].name, names[i].brief, 3) != 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (seep_function_is_invoker(others[i]))
			fail_msg("%s", others[i]);
	assert_true(seep_function_is_shim("core::ops::function::FnOnce::call_once{{vtable.shim}}"));
	assert_false(seep_function_is_shim("core::ops::range::f"));
}

TEST(allocators_are_those_that_everybody_knows)
{
	assert_true(seep_function_is_allocator("operator new(unsigned long)"));
	assert_true(seep_function_is_allocator("xmalloc"));
	assert_false(seep_function_is_allocator("xmalloc_everything"));
	assert_false(seep_function_is_allocator("my_alloc"));
	assert_true(seep_function_says_alloc("co_alloc"));
	assert_true(seep_function_says_alloc("app::Arena::alloc(unsigned long)"));
	assert_true(seep_function_says_alloc("PyObject_Malloc"));
	assert_true(seep_function_says_alloc("sqlite3_realloc64"));
	assert_true(seep_function_says_alloc("mem_malloc_page"));
	assert_false(seep_function_says_alloc("dealloc_page"));
	assert_false(seep_function_says_alloc("alloc_table"));
	assert_false(seep_function_says_alloc("app::load(app::alloc)"));
}

TEST(startup_is_what_comes_before_main)
{
	assert_true(seep_function_is_startup("_start"));
	assert_true(seep_function_is_startup("__libc_start_main@@GLIBC_2.34"));
	assert_true(seep_function_is_startup("clone3"));
	assert_false(seep_function_is_startup("main"));
	assert_false(seep_function_is_startup("_start_engine"));
}
