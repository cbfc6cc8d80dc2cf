// SPDX-License-Identifier: MIT
// build: -O2
//
// Names and inlining of every kind, for the symboliser's comparison with another one: templates,
// lambdas, anonymous namespaces, local classes, constructors, deep inlining from the library.
// Runs, too, so that no compiler may drop it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
struct Hidden {
	int value;
	__attribute__((noinline)) int get(int factor) const
	{
		return value + factor * 3;
	}
};

int sorted_first(std::vector<int> &values)
{
	std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
	return values.empty() ? 0 : values[0];
}

namespace inner
{
static inline __attribute__((always_inline)) int twice(int value)
{
	if (value > 100)
		std::puts("large");
	return value * 2;
}
} // namespace inner
} // namespace

namespace zoo
{
template <class Key> struct Tree {
	std::map<Key, std::string> nodes;
	Tree()
	{
		nodes[Key()] = "root";
	}
	virtual ~Tree()
	{
	}
	void add(Key key, const char *text)
	{
		nodes[key] = text;
	}
};

struct Base {
	virtual ~Base()
	{
	}
	virtual int price(int count) = 0;
};

struct Cat : Base {
	std::string name;
	explicit Cat(const std::string &given) : name(given)
	{
	}
	~Cat() override
	{
		std::puts(name.c_str());
	}
	int price(int count) override
	{
		return inner::twice(count) + int(name.size());
	}
};

static std::string describe(const std::unordered_map<std::string, std::unique_ptr<Base>> &all)
{
	std::ostringstream out;

	for (const auto &entry : all)
		out << entry.first << '=' << entry.second->price(int(entry.first.size())) << ' ';
	return out.str();
}
} // namespace zoo

extern "C" __attribute__((noinline)) int plain_c_name(int value)
{
	struct Local {
		static int square(int x)
		{
			std::vector<int> all(size_t(x & 15), x);

			return sorted_first(all) * x;
		}
	};
	return Local::square(value) + inner::twice(value);
}

int main(int argc, char **argv)
{
	std::unordered_map<std::string, std::unique_ptr<zoo::Base>> all;
	std::vector<int> values;
	Hidden hidden{ argc };
	zoo::Tree<int> numbers;
	zoo::Tree<std::string> words;

	for (int i = 0; i < argc * 10; i++)
		values.push_back(i * 7 % 13);
	numbers.add(argc, "x");
	words.add("y", "z");
	all.emplace("cat", std::make_unique<zoo::Cat>("tom"));
	std::function<int(int)> deferred = [&](int x) { return x + sorted_first(values); };
	std::regex pattern("a.*b|[c-f]+");
	std::cout << std::regex_match(argv[0], pattern) << deferred(3) << hidden.get(4)
		  << numbers.nodes.size() << words.nodes.size() << plain_c_name(argc)
		  << zoo::describe(all) << '\n';
	return 0;
}
