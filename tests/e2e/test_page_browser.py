# SPDX-License-Identifier: MIT
"""The page in a real browser: its own tests, its figures beside --json, and that it can be built again."""
import shutil
import subprocess

import pytest

import harness

WEB = harness.SOURCE / "web"
ASSET = harness.SOURCE / "assets" / "report.html"
OPTIONS = {"top_leaks": (["50"], []), "by_thread": ([], ["--by-thread"]), "operators": ([], [])}


def run(*words, cwd):
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True,
                          timeout=harness.LIMIT_S).stdout


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """A copy of web/ somewhere else, with what its lock file names."""
    for tool in ("node", "npm", "chromium"):
        harness.need(tool)
    top = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(WEB, top / "web", ignore=shutil.ignore_patterns("node_modules"))
    (top / "assets").mkdir()
    shutil.copy(ASSET, top / "assets")
    (top / "tests" / "unit").mkdir(parents=True)
    shutil.copy(harness.SOURCE / "tests" / "unit" / "test_units.c", top / "tests" / "unit")
    run("npm", "ci", "--ignore-scripts", "--silent", cwd=top / "web")
    return top / "web"


def test_the_page_is_built_again_to_the_byte(web, tmp_path):
    again = tmp_path / "report.html"
    run("node", "build.mjs", str(again), cwd=web)
    assert again.read_bytes() == ASSET.read_bytes()


def test_the_types_agree(web):
    run("npm", "run", "--silent", "types", cwd=web)


def test_the_tests_of_the_page_pass(web):
    run("npm", "test", "--silent", cwd=web)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_browser_shows_the_figures_of_json(web, tmp_path, name):
    words, options = OPTIONS[name]
    seep = harness.Seep(tmp_path)
    try:
        _, recordings = seep.run([harness.program(name), *words], options=options)
        page, document = tmp_path / "page.html", tmp_path / "document.json"
        for option in (f"--html={page}", f"--json={document}"):
            done = seep.command("report", recordings.path, option)
            assert done.status == 0, done.stderr
        assert run("node", "test/figures.mjs", str(page), str(document), cwd=web).endswith("equal\n")
    finally:
        seep.close()
