/* SPDX-License-Identifier: MIT */
// build: -std=c++17
/*
 * Scopes in C++17: one that lives as long as an object, and others that exceptions leave.
 *
 *	c++ -g -std=c++17 $(pkg-config --cflags seep) jobs.cc -o jobs
 *	seep run -o jobs.seep ./jobs
 *	seep report jobs.seep --json | jq '.scopes[] | {tag, entries, active, allocs}'
 */
#include <iostream>
#include <memory>
#include <optional>
#include <seep/seep.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
/* What is allocated while a job exists is counted under its name. It has to end in its thread. */
class job
{
	std::string name;
	seep::scope scope; /* after what its tag is made of */
	std::vector<std::unique_ptr<char[]>> pages;

      public:
	explicit job(std::string called) : name("job=" + std::move(called)), scope(name.c_str())
	{
	}

	void load(unsigned count)
	{
		SEEP_FUNCTION_SCOPE();
		for (unsigned i = 0; i < count; i++)
			pages.push_back(std::make_unique<char[]>(4096));
	}

	void check() const
	{
		SEEP_SCOPE("check");
		auto message = std::make_unique<std::string>(200, '-');

		if (pages.size() > 8)
			throw std::length_error(*message); /* both scopes are left */
	}
};

/* Until the end of the program: all that follows is counted under its name, too. */
std::optional<job> kept;

bool run(const char *name, unsigned pages)
{
	try {
		job present(name);

		present.load(pages);
		present.check();
		return true;
	} catch (const std::length_error &) {
		return false;
	}
}
} // namespace

int main()
{
	unsigned failed = 0;

	for (unsigned pages = 0; pages < 12; pages++)
		failed += !run("thumbnails", pages);
	std::cout << failed << " jobs failed\n";
	kept.emplace("index");
	kept->load(5);
}
