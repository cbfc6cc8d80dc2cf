# SPDX-License-Identifier: MIT
"""The page of --html in a real browser, what it is made of, and that seep is built without node.

tests/web/test_*.mjs run in one browser, started once, over pages and documents of --json of programs
that are recorded here first. web/test has the tests of the page's parts that need no browser.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import harness
from test_import import heaptrack_profile

WEB = harness.SOURCE / "web"
SCRIPTS = harness.SOURCE / "tests" / "web"
NAME = re.compile(r'^test\("((?:[^"\\]|\\.)*)"', re.M)
NAMES = [name for path in sorted(SCRIPTS.glob("test_*.mjs")) for name in NAME.findall(path.read_text())]


def install(folder):
    """The packages that web/'s lock file names, into its folder or a copy."""
    installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return
    npm = harness.need("npm")
    done = harness.run_plain([npm, "ci", "--ignore-scripts", "--prefer-offline", "--silent"], cwd=folder)
    if done.status == 0:
        return
    if harness.run_plain([npm, "ping"], cwd=folder).status != 0:
        pytest.skip("npm's registry cannot be reached")
    pytest.fail(f"npm ci: {done.stderr.decode()}")


def run(*words, **others):
    done = harness.run_plain(words, **others)
    assert done.status == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def node():
    """node, with the packages of web/."""
    path = harness.need("node")
    install(WEB)
    return path


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


# Of jemalloc without prof_accum: what is live is all that it knows.
MOMENT = b"""heap_v2/524288
  t*: 1: 100 [0: 0]
@ 0x400 0x500
  t*: 1: 100 [0: 0]
MAPPED_LIBRARIES:
"""


class Pages:
    """Recordings, and their pages and documents."""

    def __init__(self, folder):
        self.folder = folder
        self.seep = harness.Seep(folder)
        self.pages = {}

    def record(self, name, command, *options, **others):
        _, recordings = self.seep.run(command, options=options, **others)
        return recordings.path

    def bring(self, name, profile):
        """The recording that an import of another tool's file makes."""
        file, recording = self.folder / f"{name}.profile", self.folder / f"{name}.seep"
        file.write_bytes(profile)
        done = self.seep.command("import", "-q", "-o", recording, file)
        assert done.status == 0, done.stderr
        return recording

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
    pages.write("back", "diff", after, before)
    pages.write("peaks", "diff", before, after, "--by", "peak")
    pages.write("held", "diff", f"{before}@serving", "now")
    pages.write("scopes", "report", pages.record("scopes", [harness.program("scope_server"), "4000", "200"]))
    pages.write("clean", "report", pages.record("clean", [harness.program("temporaries")]))
    unlooked = pages.record("unlooked", [harness.program("temporaries")], "--no-leak-check")
    pages.write("unlooked", "report", unlooked)
    pages.write("blind", "diff", before, unlooked)
    still = pages.record("judged", ["sleep", "1"], "--growth-after", "400ms")
    pages.write("judged", "report", still)
    pages.write("killed", "report", pages.record("killed", ["sh", "-c", "kill -TERM $$"]))
    pages.write("moment", "report", pages.bring("moment", MOMENT))
    track, _ = heaptrack_profile(folder, "page_tour")
    pages.write("track", "report", pages.bring("track", track.read_bytes()))
    assert pages.seep.command("export", before, "-t", "pprof", "-o", folder / "tour.pb.gz").status == 0
    pages.write("brought", "report", pages.bring("brought", (folder / "tour.pb.gz").read_bytes()))
    words = ["</script><script>window.hacked=5</script>", "\x1b[31m", "'\"", "\u202e", "x" * 5000]
    pages.write("hostile", "report", pages.record("hostile", [build_hostile(folder), *words], "--by-thread"))
    pages.seep.close()
    return pages.pages


@pytest.fixture(scope="module")
def browser_tests(request, node, tmp_path_factory):
    """{name: what went wrong, or None} of the tests that are to run, and what else was said."""
    folder = tmp_path_factory.mktemp("page")
    wanted = [item.callspec.params["name"] for item in request.session.items
              if item.originalname == "test_browser"]  # fmt: skip
    config = folder / "config.json"
    config.write_text(json.dumps({
        "chromium": harness.need("chromium"), "pages": make_pages(folder), "only": wanted,
        "pictures": os.environ.get("SEEP_PICTURES"), "scratch": str(folder),
    }))  # fmt: skip
    done = subprocess.run([node, SCRIPTS / "run.mjs", config], check=False, capture_output=True,
                          text=True, timeout=3 * harness.LIMIT_S)  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: one["problem"] for one in found}, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_browser(browser_tests, name):
    found, said = browser_tests
    assert name in found, said
    assert found[name] is None, found[name]


def test_the_parts_of_the_page_pass_their_tests(node):
    run(node, "--test", *sorted((WEB / "test").glob("*.test.mjs")), cwd=WEB)


def test_the_types_of_the_page_agree(node):
    run(harness.need("npm"), "run", "--silent", "types", cwd=WEB)


def test_the_page_is_built_again_to_the_byte_in_another_folder(node, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules"))
    install(copy)
    run(node, "build.mjs", tmp_path / "report.html", cwd=copy)
    assert (tmp_path / "report.html").read_bytes() == (harness.SOURCE / "assets/report.html").read_bytes()


def path_without_node(folder):
    """A PATH of all programs but those that come with node."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for program in pathlib.Path(place).glob("*"):
            link = folder / program.name
            if not re.match(r"node|npm|npx|corepack", program.name):
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return str(folder)


def test_building_seep_needs_no_node(tmp_path):
    env = {"PATH": path_without_node(tmp_path / "bin")}
    assert shutil.which("node", path=env["PATH"]) is None
    build = tmp_path / "build"
    run("cmake", "-S", harness.SOURCE, "-B", build, "-G", "Ninja", "-DBUILD_TESTING=OFF", env=env)
    targets = run("ninja", "-C", build, "-t", "targets", "all", env=env)
    (page,) = re.findall(r"^(\S*/report/page\.c\.o):", targets, re.M)
    run("ninja", "-C", build, page, env=env)
    asset = (harness.SOURCE / "assets/report.html").read_bytes()
    assert asset[: asset.index(b"@@SEEP_DATA@@")] in (build / page).read_bytes()
    for command in run("ninja", "-C", build, "-t", "commands", "seep", "libseep.so", env=env).splitlines():
        # The sources themselves may be in a folder of that name.
        command = command.replace(str(harness.SOURCE.resolve()), ".")
        assert not re.search(r"\bnode\b|\bnpm\b|esbuild|\./web/", command), command
