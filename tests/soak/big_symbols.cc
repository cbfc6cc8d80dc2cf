/* SPDX-License-Identifier: MIT */
/*
 * Template-heavy C++ for big_symbols.py: megabytes of DWARF from three units, which differ in PART.
 */
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/phoenix/phoenix.hpp>
#include <boost/spirit/include/qi.hpp>
#include <boost/variant.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace qi = boost::spirit::qi;
namespace mi = boost::multi_index;
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define SPACE NAME(part_, PART)

namespace SPACE
{
struct node;
using value = boost::variant<double, std::string, boost::recursive_wrapper<node>>;
struct node {
	std::vector<value> children;
};
template <typename Iterator> struct calculator : qi::grammar<Iterator, double(), qi::space_type> {
	calculator() : calculator::base_type(sum)
	{
		using namespace qi::labels;
		sum = product[_val = _1] >>
		      *(('+' >> product[_val += _1]) | ('-' >> product[_val -= _1]));
		product = factor[_val = _1] >>
			  *(('*' >> factor[_val *= _1]) | ('/' >> factor[_val /= _1]));
		factor = qi::double_[_val = _1] | '(' >> sum[_val = _1] >> ')' |
			 ('-' >> factor[_val = -_1]);
	}
	qi::rule<Iterator, double(), qi::space_type> sum, product, factor;
};
struct row {
	int id;
	std::string name;
	double weight[PART];
};
using table = mi::multi_index_container<
	row, mi::indexed_by<mi::ordered_unique<mi::member<row, int, &row::id>>,
			    mi::hashed_non_unique<mi::member<row, std::string, &row::name>>>>;
template <int N> struct deep {
	static double go(
		std::map<std::string, std::vector<std::variant<int, double, std::string>>> &m)
	{
		m[std::to_string(N)].emplace_back(N * 0.5);
		std::stable_sort(m.begin()->second.begin(), m.begin()->second.end());
		return m.size() + deep<N - 1>::go(m);
	}
};
template <> struct deep<0> {
	template <typename T> static double go(T &m)
	{
		return m.size();
	}
};
double run(const std::string &text)
{
	calculator<std::string::const_iterator> grammar;
	auto at = text.begin();
	double result = 0;
	qi::phrase_parse(at, text.end(), grammar, qi::space, result);
	table rows;
	rows.insert(row{ int(text.size()), text, {} });
	std::map<std::string, std::vector<std::variant<int, double, std::string>>> m;
	std::unordered_map<std::string, std::vector<std::pair<std::string, table>>> all;
	all[text].emplace_back(text, rows);
	std::smatch match;
	std::regex_search(text, match, std::regex("(a+)(b|c)*"));
	std::mt19937_64 dice(PART);
	return result + rows.get<1>().count(text) + deep<40>::go(m) + match.size() + dice() +
	       all.size();
}
} // namespace SPACE

double NAME(run_, PART)(const std::string &text)
{
	return SPACE::run(text);
}

#if PART == 1
double run_2(const std::string &text);
double run_3(const std::string &text);

int main(int, char **argv)
{
	return int(run_1(argv[0]) + run_2(argv[0]) + run_3(argv[0]));
}
#endif
