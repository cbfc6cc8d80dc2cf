# SPDX-License-Identifier: MIT
"""Writes a C++ source that keeps the compiler busy: templates, containers, lambdas, regexes."""

import sys

HEAD = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
"""

UNIT = """
namespace unit{n} {{
struct item {{ int key; std::string name; double weight[{size}]; }};
template <typename T, int D> struct tree {{
    std::map<T, std::unique_ptr<tree<T, D - 1>>> branches;
    T sum(T start) const {{
        for (const auto &b : branches) start += b.first + b.second->sum(start);
        return start;
    }}
}};
template <typename T> struct tree<T, 0> {{ T sum(T start) const {{ return start * {n}; }} }};
using value = std::variant<int, double, std::string, std::vector<item>>;
int work(std::vector<item> items, const std::unordered_map<std::string, value> &values)
{{
    std::set<std::string> names;
    tree<long, {depth}> all;
    std::sort(items.begin(), items.end(), [](const item &a, const item &b) {{
        return a.key != b.key ? a.key < b.key : a.name < b.name;
    }});
    std::function<int(int)> twice = [&](int x) {{ return x * {n} + (int)names.size(); }};
    for (auto &i : items) {{
        auto found = values.find(i.name);
        if (found == values.end()) continue;
        names.insert(i.name + std::to_string(twice(i.key)));
        std::visit([&](const auto &v) {{
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>) i.weight[0] += v;
            else i.weight[0] += (double)v.size();
        }}, found->second);
    }}
    return std::accumulate(items.begin(), items.end(), (int)all.sum(1),
                           [](int a, const item &i) {{ return a + i.key; }});
}}
}}
"""


def generate(units):
    return HEAD + "".join(UNIT.format(n=n, size=1 + n % 5, depth=2 + n % 3) for n in range(units))


if __name__ == "__main__":
    sys.stdout.write(generate(int(sys.argv[1]) if len(sys.argv) > 1 else 8))
