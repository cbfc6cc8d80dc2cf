# SPDX-License-Identifier: MIT
"""A project of somebody else, with seep installed: its header, and what ctest says of seep_add_leak_test()."""

import os
import re
import subprocess

import pytest

import harness
from harness import BUILD, need

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(example C)
find_package(seep 0.1 REQUIRED)
enable_testing()
add_executable(player player.c)
target_compile_options(player PRIVATE -g -O1)
"""

PLAYER = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile block;

__attribute__((noinline)) static void parse(size_t bytes)
{
	block = malloc(bytes);
}

/* player WHAT...: one after the other. */
int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		parse(1000);
		if (strcmp(argv[i], "lose") != 0)
			free(block);
		if (strcmp(argv[i], "fail") == 0)
			status = 3;
		if (strcmp(argv[i], "die") == 0)
			raise(SIGSEGV);
		if (strcmp(argv[i], "a;b $c \\"d\\"") == 0)
			puts("quoted");
		block = NULL;
	}
	return status;
}
"""

NOT_CHECKED = "Failed test dependencies: {name}.record"
TESTS = {
    "passes": ("COMMAND player well", True, "Passed: 0 broken, 0 not known, 1 kept"),
    "counts": ('COMMAND player a b BUDGETS "leaks<=0" "function:parse:allocs<=2"', True,
               "kept       function:parse:allocs<=2: 2"),
    "allocates": ('COMMAND player a b c BUDGETS "function:parse:allocs<=2"', False,
                  "BROKEN     function:parse:allocs<=2: 3, 1 more than the budget"),
    "leaks": ("COMMAND player a lose", False, "LOST: 1000 B in 1 block"),
    "is known": ("COMMAND player lose SUPPRESSIONS known.supp", True, "leaks<=0: 0 leaks"),
    "fails": ("COMMAND player fail", False, NOT_CHECKED),
    "dies allowed": ("COMMAND player die CHECK_OPTIONS --allow-unknown", False, NOT_CHECKED),
    "is quoted": ('COMMAND player [=[a;b $c "d"]=] well', True, "quoted"),
    "is a path": ('COMMAND "$<TARGET_FILE:player>" a', True, "Passed"),
    "allocates nothing": ("COMMAND player", False, "malloc and operator new were not called"),
    "is missing": ("COMMAND /no/such/program", False, NOT_CHECKED),
    "is judged": ("COMMAND player a RUN_OPTIONS --no-leak-check", False,
                  "NOT KNOWN  leaks<=0: not scanned for leaks"),
}


def run(*words, cwd, status=0):
    environment = {**os.environ, "SEEP_DIR": ""}
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=harness.LIMIT_S)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == status, text
    return text


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project's folder, configured and built against an installed seep."""
    folder = tmp_path_factory.mktemp("project")
    cmake = need("cmake")
    run(cmake, "--install", BUILD, "--prefix", folder / "usr", cwd=folder)
    lines = [f'seep_add_leak_test(NAME "{name}" {what})' for name, (what, *_) in TESTS.items()]
    (folder / "CMakeLists.txt").write_text(PROJECT + "\n".join(lines) + "\n")
    (folder / "player.c").write_text(PLAYER)
    (folder / "known.supp").write_text("leak:parse\n")
    run(cmake, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder}/usr", cwd=folder)
    run(cmake, "--build", folder / "build", cwd=folder)
    return folder


@pytest.mark.parametrize("name", TESTS)
def test_a_test_ends_as_its_program_and_its_budgets_say(project, name):
    _, passes, says = TESTS[name]
    words = [need("ctest"), "-V", "-R", f"^{re.escape(name)}$"]
    text = run(*words, cwd=project / "build", status=0 if passes else 8)
    assert says.format(name=name) in re.sub(r"^\d+: ", "", text, flags=re.M)


def test_recordings_are_left_to_look_at(project):
    run(need("ctest"), "-R", "^leaks$", cwd=project / "build", status=8)
    assert (project / "build" / "leaks.seep").exists()
    text = run(need("ctest"), "-V", "-R", "^leaks$", cwd=project / "build", status=8)
    assert re.search(r"parse +\S*player\.c:\d+", text)


USES = """
#include <seep/seep.h>
int main(void) { SEEP_SCOPE("main"); return seep_mark("x") ? 3 : 0; }
"""


@pytest.mark.parametrize("name", ["seep", "Seep"])
def test_the_header_comes_with_a_target_and_nothing_is_linked(project, tmp_path, name):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.10)\nproject(example C CXX)\nfind_package({name} 0.1 REQUIRED)\n"
        "add_executable(in_c uses.c)\nadd_executable(in_cxx uses.cc)\n"
        "foreach(target in_c in_cxx)\ntarget_link_libraries(${target} seep::seep)\nendforeach()\n"
        "target_compile_features(in_cxx PRIVATE cxx_std_17)\n")
    for source in ("uses.c", "uses.cc"):
        (tmp_path / source).write_text(USES)
    run(need("cmake"), "-S", tmp_path, "-B", tmp_path / "build",
        f"-DCMAKE_PREFIX_PATH={project}/usr", cwd=tmp_path)
    run(need("cmake"), "--build", tmp_path / "build", cwd=tmp_path)
    for program in ("in_c", "in_cxx"):
        run(tmp_path / "build" / program, cwd=tmp_path, status=3)
        run(project / "usr/bin/seep", "run", "-q", "--force", "-o", tmp_path / "x.seep", "--",
            tmp_path / "build" / program, cwd=tmp_path)
        needs = run(need("readelf"), "-d", tmp_path / "build" / program, cwd=tmp_path)
        assert "libseep" not in needs


@pytest.mark.parametrize("words, complaint", [
    ("NAME x", "needs NAME and COMMAND"),
    ("x NAME x COMMAND player", "unknown arguments: x"),
])
def test_wrong_use_is_said_when_it_is_configured(project, tmp_path, words, complaint):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT + f"seep_add_leak_test({words})\n")
    (tmp_path / "player.c").write_text(PLAYER)
    text = run(need("cmake"), "-S", tmp_path, "-B", tmp_path / "build",
               f"-DCMAKE_PREFIX_PATH={project}/usr", cwd=tmp_path, status=1)
    assert complaint in text
