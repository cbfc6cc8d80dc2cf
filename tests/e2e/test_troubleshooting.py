# SPDX-License-Identifier: MIT
"""The recipes of docs/troubleshooting.md that can be tried here."""

import os
import re
import shutil
import subprocess

import pytest

from harness import RUNTIME, SEEP, check_truth, need, parse_truth, program, run_plain
from running import PYTHON, TRUE, apart

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can set this up")

# In a mount namespace of its own, so that nothing stays mounted.
ENTER = """
import os, subprocess, sys
root, program, *settings = sys.argv[1:]
subprocess.run(["mount", "-t", "proc", "proc", root + "/proc"], check=True)
os.chroot(root)
os.chdir("/")
os.execve(program, [program], dict(word.split("=", 1) for word in settings))
"""


@NEEDS_ROOT
def test_an_image_with_nothing_needs_the_library_only(seep):
    root = seep.directory / "image"
    for folder in ("bin", "proc", "seep"):
        (root / folder).mkdir(parents=True)
    (root / "ledgers").mkdir(mode=0o700)
    shutil.copy(RUNTIME, root / "seep")
    shutil.copy(program("realloc_chain"), root / "bin" / "app")
    listed = run_plain(["ldd", program("realloc_chain"), RUNTIME]).stdout.decode()
    for path in set(re.findall(r"(/\S+) \(0x", listed)):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    settings = ["LD_PRELOAD=/seep/libseep.so", "SEEP_DIR=/ledgers"]
    done = run_plain([*apart(), PYTHON, "-c", ENTER, root, "/bin/app", *settings])
    assert (done.status, done.stderr) == (0, b"")
    (ledger,) = (root / "ledgers").glob("app.*.ledger")
    check_truth(seep.load(ledger, "--symbols", root), parse_truth(done.stdout.decode()))


@NEEDS_ROOT
def test_patchelf_takes_the_library_into_a_set_id_program(seep):
    patchelf = need("patchelf")
    # The folder and all above it have to be reachable for another user.
    folder = seep.ledger_dir.parent / (seep.ledger_dir.name + "-bin")
    folder.mkdir(mode=0o755)
    try:
        library = shutil.copy(RUNTIME, folder)
        copy = shutil.copy(TRUE, folder / "prog-seep")
        subprocess.run([patchelf, "--add-needed", library, copy], check=True)
        os.chmod(copy, 0o4755)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = run_plain([*as_nobody, copy], env=seep.environment())
    finally:
        shutil.rmtree(folder)
    assert (done.status, done.stderr) == (0, b"")
    (ledger,) = seep.ledgers()
    assert ledger.startswith("prog-seep.")
    assert seep.command("report", seep.ledger_dir / ledger).status == 0


def test_a_symbolic_link_is_no_folder_of_ledgers(seep):
    link = seep.directory / "link"
    link.symlink_to(seep.ledger_dir)
    done = run_plain([SEEP, "run", "-q", TRUE], env={"SEEP_DIR": str(link)}, cwd=seep.directory)
    assert done.status == 125
    assert b"link" in done.stderr


def test_a_copy_has_no_bit(seep):
    su = need("su")
    copy = shutil.copy(su, seep.directory / "copy")
    recordings = seep.record([copy, "--version"])
    assert recordings.main()["totals"]["allocs"] > 0
