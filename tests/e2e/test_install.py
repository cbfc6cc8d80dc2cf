# SPDX-License-Identifier: MIT
"""What `make install` puts where, that it works from there, and that `make uninstall` leaves nothing."""

import os
import subprocess

import pytest

from harness import BUILD, LIMIT_S, SOURCE, need, run_plain
from help_text import commands

PREFIX = "/usr/local"


def script(*words):
    return run_plain([SOURCE / "cmake" / "install.sh", *words])


def tree(folder):
    """{path: what a change of it would change}"""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path)] = (about.st_mode, about.st_uid, content)
    return found


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    """A system that has some of the folders, one of them by a link, and files of others."""
    root = tmp_path / "root"
    local = root / PREFIX[1:]
    for folder in ("bin", "include", "lib/pkgconfig", "share/doc", "share/pages/man1"):
        (local / folder).mkdir(parents=True)
    (local / "share/man").symlink_to("pages")
    (local / "bin/other").write_text("#!/bin/sh\n")
    (local / "share/doc").chmod(0o775)
    return root


@pytest.fixture(name="installed")
def fixture_installed(root):
    done = script("install", BUILD, PREFIX, root)
    assert (done.status, done.stdout, done.stderr) == (0, b"", b"")
    return root / PREFIX[1:]


def test_uninstall_leaves_the_tree_as_it_was(root):
    before = tree(root)
    for _ in range(2):
        assert script("install", BUILD, PREFIX, root).status == 0
    assert len(tree(root)) > len(before) + 40
    done = script("uninstall", PREFIX, root)
    assert (done.status, done.stderr) == (0, b"")
    assert tree(root) == before
    again = script("uninstall", PREFIX, root)
    assert again.status == 1 and b"not installed" in again.stderr


def test_a_folder_that_was_made_for_it_goes_too(tmp_path):
    root = tmp_path / "a new one"
    assert script("install", BUILD, PREFIX, root).status == 0
    assert script("uninstall", PREFIX, root).status == 0
    assert not root.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_user_installs_below_a_folder_of_roots(tmp_path):
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o755)
    source, home = tmp_path / "source", tmp_path / "home" / "user"
    for folder in (source, home):
        folder.mkdir(parents=True)
        os.chown(folder, 65534, 65534)
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(small NONE)\n"
        "install(FILES CMakeLists.txt DESTINATION share/small)\n")
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", f"HOME={home}"]
    prefix = home / ".local"
    for words in (["cmake", "-S", source, "-B", source / "build", f"-DCMAKE_INSTALL_PREFIX={prefix}"],
                  [SOURCE / "cmake" / "install.sh", "install", source / "build", prefix]):
        done = run_plain([*user, *words])
        assert done.status == 0, done.stderr.decode()
    assert (prefix / "share/small/CMakeLists.txt").exists()
    done = run_plain([*user, SOURCE / "cmake" / "install.sh", "install", source / "build", tmp_path / "home"])
    assert done.status == 1 and b"cannot write to" in done.stderr and b"try sudo" in done.stderr
    assert run_plain([*user, SOURCE / "cmake" / "install.sh", "uninstall", prefix]).status == 0
    assert list(home.iterdir()) == []


def test_files_of_others_stay(root, installed):
    (installed / "share/doc/seep/notes").write_text("mine\n")
    assert script("uninstall", PREFIX, root).status == 0
    (left,) = installed.rglob("*seep*")
    assert left == installed / "share/doc/seep"
    assert [path.name for path in left.iterdir()] == ["notes"]


def test_a_newer_one_removes_what_an_older_one_had(root, installed):
    """And replaces files instead of writing into those that programs have loaded."""
    record = installed / "share/seep/installed"
    record.write_text(record.read_text() + f"file {PREFIX}/bin/seep-old\n")
    (installed / "bin/seep-old").touch()
    before = (installed / "lib/seep/libseep.so").stat().st_ino
    with open(installed / "lib/seep/libseep.so", "rb"):
        assert script("install", BUILD, PREFIX, root).status == 0
        assert (installed / "lib/seep/libseep.so").stat().st_ino != before
    assert not (installed / "bin/seep-old").exists()
    assert (installed / "bin/other").exists()


def test_the_tool_finds_its_library_wherever_the_tree_is(seep, installed):
    done = run_plain([installed / "bin/seep", "run", "-q", "-o", seep.directory / "x.seep", "--",
                      "/bin/cat", "/proc/self/maps"], env=seep.environment())
    assert done.status == 0, done.stderr
    assert str(installed / "lib/seep/libseep.so").encode() in done.stdout


def test_every_page_can_be_read(installed):
    for name in ("seep", *(f"seep-{command}" for command in commands())):
        shown = run_plain([need("man"), "-M", installed / "share/man", name],
                          env={"LC_ALL": "C.UTF-8"})
        assert shown.status == 0 and name.upper().encode() in shown.stdout


def test_completion_is_where_the_shells_look(installed):
    share = installed / "share"
    for path, first in [("bash-completion/completions/seep", b"# bash completion for seep"),
                        ("zsh/site-functions/_seep", b"#compdef seep"),
                        ("fish/vendor_completions.d/seep.fish", b"# fish completion for seep")]:
        assert (share / path).read_bytes().startswith(first)


def test_the_header_is_found_by_pkg_config(seep, root, installed):
    """Nothing is linked; the scope is there where it is recorded."""
    source, built = seep.directory / "uses.c", seep.directory / "uses"
    source.write_text('#include <seep/seep.h>\nint main(void) { SEEP_SCOPE("all"); return !seep_mark("x"); }\n')

    def flags(what, **env):
        return subprocess.run([need("pkg-config"), what, "seep"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=True,
                              env={**os.environ, "PKG_CONFIG_LIBDIR": f"{installed}/lib/pkgconfig",
                                   "PKG_CONFIG_SYSTEM_INCLUDE_PATH": "/none", **env}).stdout.split()

    assert flags("--cflags") == [f"-I{PREFIX}/include"]
    assert flags("--libs") == []
    words = flags("--cflags", PKG_CONFIG_SYSROOT_DIR=str(root))
    assert run_plain(["gcc", *words, source, "-o", built]).status == 0
    assert run_plain([built]).status == 0
    done, recordings = seep.run([built])
    assert done.status == 1
    assert [scope["tag"] for scope in recordings.main()["scopes"]] == ["all"]


@pytest.mark.parametrize("words", [[], ["remove", "/usr"], ["install", BUILD, "usr"],
                                   ["uninstall", "/usr", "/a\nb"]])
def test_wrong_use_changes_nothing(words, tmp_path):
    assert script(*words).status == 1
    assert list(tmp_path.iterdir()) == []
