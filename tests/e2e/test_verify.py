# SPDX-License-Identifier: MIT
"""Every walk of whole runs equals libgcc's: `verify=1` over real programs and an adversary.

The runtime compares each walk with _Unwind_Backtrace and counts; a single difference is a wrong
stack. The programs marked slow run in `make soak` and by `pytest -m slow`.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from harness import BUILD, SEEP, need, read_report


def run(command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return done.stdout


def verify(directory, command, at_least, environment=None, options="verify=1"):
    """Record the command with every walk verified; returns its output."""
    recording = directory / "verify.seep"
    out = run(
        [SEEP, "run", "-q", "--no-follow", "-o", recording, "--", *command],
        env={**os.environ, **(environment or {}), "SEEP_OPTIONS": options},
        cwd=directory,
    )
    figures = json.loads(run([SEEP, "report", recording, "--json"]))["totals"]["verify"]
    assert figures is not None, "the recording knows of no verification"
    print(pathlib.Path(str(command[0])).name, *(f"{k}={v}" for k, v in figures.items()))
    assert figures["walks"] >= at_least
    assert figures["differences"] == 0
    assert figures["truncated"] < figures["walks"] / 100
    return out


@pytest.mark.parametrize("iterations, seed, threads", [
    (200_000, 1, 1),
    (100_000, 2, 4),
    *(pytest.param(500_000, n, 1 + n % 3, marks=pytest.mark.slow) for n in range(10, 20)),
])
def test_adversary(tmp_path, iterations, seed, threads):
    arguments = [BUILD / "programs" / "unwind_adversary", str(iterations), str(seed), str(threads)]
    assert verify(tmp_path, arguments, at_least=iterations) == run(arguments)


def test_places_that_come_again_below_stacks_that_differ_a_little(tmp_path):
    program = BUILD / "programs" / "shortcuts"
    out = verify(tmp_path, [program, "20000"], at_least=100_000)
    assert out == run([program, "20000"])


@pytest.mark.parametrize("name", ["operators", "dlopen_reload", "realloc_chain"])
def test_figures_are_those_without_it(tmp_path, name):
    found = []
    for options in ("", "verify=1"):
        recording = tmp_path / "one.seep"
        words = ["run", "-q", "-f", "--no-follow", "-o", recording, "--", BUILD / "programs" / name]
        run([SEEP, *words], env={**os.environ, "SEEP_OPTIONS": options})
        report = read_report(run([SEEP, "report", recording, "--json"]))
        assert (report["totals"].pop("verify") is not None) == bool(options)
        for key in ("peak_at_ns", "own_bytes"):
            del report["totals"][key]
        # Where a plugin stands each time, and whether seep looked at so short a run, is by chance.
        allocs = collections.Counter()
        for context in report["contexts"]:
            allocs[context["hash"]] += context["allocs"]
        codes = {entry["code"] for entry in report["unseen"]} - {"not-looked-at"}
        found.append((report["totals"], allocs, codes))
    assert found[0] == found[1]


PERL = r"""
use strict;
my %count;
for my $round (1 .. 40) {
    my @words = map { join '', map { chr(97 + ($_ * 7 + $round) % 26) } 1 .. 3 + $_ % 9 } 1 .. 500;
    $count{$_}++ for grep { /^[a-m]+(.)\w*$/ } @words;
    my $text = join ' ', sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count;
    $text =~ s/(\w)(\w+)/ucfirst($2) . $1/ge;
    eval { die { round => $round } if $round % 3 == 0; };
    my @tree = (1, [2, [3, { list => [ split / /, substr($text, 0, 400) ] }]]);
    $count{scalar @{ $tree[1][1][1]{list} }}++;
}
print join(' ', scalar(keys %count), length join ',', sort keys %count), "\n";
"""


def test_perl(tmp_path):
    (tmp_path / "work.pl").write_text(PERL)
    command = [need("perl"), tmp_path / "work.pl"]
    assert verify(tmp_path, command, at_least=10_000) == run(command)


PYTHON = """
import ast, json, threading

def work(seed):
    source = "\\n".join(
        f"def f{i}(a, b={i}):\\n    return [a * x + b for x in range({i % 7}) if x != {seed}]"
        for i in range(200)
    )
    tree = ast.parse(source)
    names = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    data = {name: {"at": i, "list": list(range(i % 9)), "text": name * 3}
            for i, name in enumerate(names)}
    back = json.loads(json.dumps(data, indent=1, sort_keys=True))
    assert back == data
    code = compile(tree, "generated", "exec")
    space = {}
    exec(code, space)
    return sum(space["f9"](2, 3))


threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(work(9))
"""


@pytest.mark.slow
def test_python(tmp_path):
    (tmp_path / "work.py").write_text(PYTHON)
    environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}
    command = ["/usr/bin/python3", "-sS", tmp_path / "work.py"]
    if not os.path.exists(command[0]):
        command[0] = sys.executable
    assert verify(tmp_path, command, 100_000, environment) == run(command)


def make_repository(directory):
    """A repository with a history of renames, merges and changed lines."""
    identity = {
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example", "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": str(directory),
    }  # fmt: skip
    environment = {**os.environ, **identity}
    git = [need("git"), "-C", directory]
    run([*git, "init", "-q", "-b", "main"], env=environment)
    for commit in range(40):
        for name in range(12):
            path = directory / f"dir{name % 3}" / f"file{name}.txt"
            path.parent.mkdir(exist_ok=True)
            lines = [f"line {n} of {name} {(n * (commit + name)) % 17}" for n in range(60)]
            path.write_text("\n".join(lines[: 40 + (commit * name) % 20]) + "\n")
        run([*git, "add", "-A"], env=environment)
        run([*git, "commit", "-q", "-m", f"commit {commit}"], env=environment)
    return environment


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("log", "-p", "--stat", "-M", "--graph"),
        ("diff", "--word-diff", "HEAD~30", "HEAD"),
        ("blame", "dir0/file9.txt"),
    ],
    ids=lambda words: words[0],
)
def test_git(tmp_path, words):
    repository = tmp_path / "repository"
    repository.mkdir()
    environment = make_repository(repository)
    command = [need("git"), "--no-pager", "-C", repository, *words]
    assert verify(tmp_path, command, 1_000, environment) == run(command, env=environment)


CPP = """
    #include <algorithm>
    #include <functional>
    #include <map>
    #include <memory>
    #include <regex>
    #include <string>
    #include <unordered_map>
    #include <vector>

    template <int N> struct work {
        std::map<std::string, std::vector<std::shared_ptr<work<N - 1>>>> inner;
        std::function<int(int)> call = [this](int x) { return x + N + (int)inner.size(); };
        int run(int x) { for (auto &p : inner) for (auto &q : p.second) x += q->run(x); return call(x); }
    };
    template <> struct work<0> { int run(int x) { return x; } };
    int use(const std::string &text)
    {
        std::regex pattern("a(b|c)*d");
        std::unordered_map<std::string, int> counts;
        for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i)
            counts[i->str()]++;
        work<8> w;
        return w.run((int)counts.size());
    }
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_compiler(tmp_path, compiler):
    source = tmp_path / "work.cc"
    source.write_text(textwrap.dedent(CPP))
    driver = need(compiler)
    out = tmp_path / "work.s"
    # The driver only starts the compiler proper; that one is what to look at.
    shown = subprocess.run(
        [driver, "-O1", "-S", source, "-o", out, "-###"], capture_output=True, text=True, check=True
    )
    lines = [x for x in shown.stderr.splitlines() if re.search(r'cc1plus"? |"-cc1"', x)]
    command = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', lines[-1])]
    command[0] = shutil.which(command[0]) or str(pathlib.Path(driver).parent / command[0])
    if compiler == "g++":
        command += ["-quiet"]
    run(command, cwd=tmp_path)
    plain = out.read_bytes()
    out.unlink()
    verify(tmp_path, command, at_least=100_000)
    assert out.read_bytes() == plain
