# SPDX-License-Identifier: MIT
"""The page of --html in a real browser: what tests/web/test_*.mjs look at, over recordings made here.

All of them run in one browser, started once. Their pages and the documents of --json that they
compare with are of programs that are recorded first.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import harness

WEB = harness.SOURCE / "web"
SCRIPTS = harness.SOURCE / "tests" / "web"
NAME = re.compile(r'^test\("((?:[^"\\]|\\.)*)"', re.M)
NAMES = [name for path in sorted(SCRIPTS.glob("test_*.mjs")) for name in NAME.findall(path.read_text())]


def install(folder):
    """npm's packages of web/, once."""
    if (folder / "node_modules" / ".package-lock.json").exists():
        return
    npm = harness.need("npm")
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--silent"], cwd=folder, check=False,
                          capture_output=True, text=True, timeout=harness.LIMIT_S)  # fmt: skip
    if done.returncode == 0:
        return
    reached = subprocess.run([npm, "ping"], check=False, capture_output=True, text=True,
                             cwd=folder, timeout=harness.LIMIT_S)  # fmt: skip
    if reached.returncode != 0:
        pytest.skip("npm's registry cannot be reached")
    pytest.fail(f"npm ci: {done.stderr}")


# Without debug information functions have the names of the symbol table, which may be anything.
HOSTILE_NAMES = r"""
#include <stdlib.h>
#define ODD(name, text) __attribute__((noipa)) void *name(void) __asm__("\"" text "\"")
ODD(script, "<script>window.hacked=1</script>");
ODD(image, "<img src=x onerror=window.hacked=2>");
ODD(turned, "a\xe2\x80\xae' onmouseover='window.hacked=3' b");
void *script(void) { return malloc(1001); }
void *image(void) { return malloc(1002); }
void *turned(void) { return malloc(1003); }
"""
HOSTILE_FILE = r"""
#include <stdlib.h>
#include <sys/prctl.h>
#include "seep/seep.h"
void *script(void) __asm__("\"<script>window.hacked=1</script>\"");
void *image(void) __asm__("\"<img src=x onerror=window.hacked=2>\"");
void *turned(void) __asm__("\"a\xe2\x80\xae' onmouseover='window.hacked=3' b\"");
void *volatile kept[4];
#line 1 "<script>window.hacked=4</script>.c"
int main(void)
{
	prctl(PR_SET_NAME, "<b>\x1b[1mbold");
	kept[0] = script();
	seep_mark("<i>\xe2\x80\xaemark");
	kept[1] = image();
	kept[2] = turned();
	kept[3] = malloc(1004);
	kept[3] = NULL;
	return 0;
}
"""


def build_hostile(folder):
    """A program whose functions, files, folder and threads have names that look like markup."""
    folder = folder / "<b onclick=alert(1)>"
    folder.mkdir()
    objects = []
    for name, text, options in (("names", HOSTILE_NAMES, ()), ("file", HOSTILE_FILE, ("-g",))):
        source, made = folder / f"{name}.c", folder / f"{name}.o"
        source.write_text(text)
        subprocess.run(["gcc", "-O1", *options, "-I", harness.SOURCE / "include", "-c", source,
                        "-o", made], check=True)  # fmt: skip
        objects.append(made)
    program = folder / "<u>program"
    subprocess.run(["gcc", *objects, "-o", program], check=True)
    return program


class Pages:
    """Recordings, and their pages and documents."""

    def __init__(self, folder):
        self.folder = folder
        self.seep = harness.Seep(folder)
        self.pages = {}

    def record(self, name, command, *options, **others):
        _, recordings = self.seep.run(command, options=options, **others)
        return recordings.path

    def write(self, name, *words):
        page, document = self.folder / f"{name}.html", self.folder / f"{name}.json"
        for option, path in (("--html", page), ("--json", document)):
            done = self.seep.command(*words, f"{option}={path}")
            assert done.status == 0, done.stderr
        self.pages[name] = {"page": str(page), "document": str(document)}


def make_pages(folder):
    pages = Pages(folder)
    tour = harness.program("page_tour")
    grown = ("--by-thread", "--growth-after", "400ms")
    before = pages.record("tour", [tour], *grown, "--why")
    after = pages.record("other", [tour, "more"], *grown)
    pages.write("tour", "report", before)
    pages.write("diff", "diff", before, after)
    pages.write("peaks", "diff", before, after, "--by", "peak")
    pages.write("held", "diff", f"{before}@serving", "now")
    pages.write("clean", "report", pages.record("clean", [harness.program("temporaries")]))
    words = ["</script><script>window.hacked=5</script>", "\x1b[31m", "'\"", "\u202e", "x" * 5000]
    pages.write("hostile", "report", pages.record("hostile", [build_hostile(folder), *words], "--by-thread"))
    pages.seep.close()
    return pages.pages


@pytest.fixture(scope="module")
def browser_tests(request, tmp_path_factory):
    """{name: what went wrong, or None} of the tests that are to run."""
    node, chromium = harness.need("node"), harness.need("chromium")
    install(WEB)
    folder = tmp_path_factory.mktemp("page")
    wanted = [item.callspec.params["name"] for item in request.session.items
              if item.originalname == "test_browser"]  # fmt: skip
    pictures = os.environ.get("SEEP_PICTURES")
    config = folder / "config.json"
    config.write_text(json.dumps({"chromium": chromium, "pages": make_pages(folder), "only": wanted,
                                  "pictures": pictures, "scratch": str(folder)}))  # fmt: skip
    done = subprocess.run([node, SCRIPTS / "run.mjs", config], check=False, capture_output=True,
                          text=True, timeout=2 * harness.LIMIT_S)  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: one for one in found}, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_browser(browser_tests, name):
    found, errors = browser_tests
    assert name in found, errors
    assert found[name]["problem"] is None, found[name]["problem"]
