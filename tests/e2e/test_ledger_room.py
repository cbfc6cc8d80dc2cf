# SPDX-License-Identifier: MIT
"""How large a ledger grows where memory is scarce: in a container's small /dev/shm, and in a memory
control group, which is killed when it takes too much; and what the recorder holds there."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import SEEP, parse_truth, program, run_plain
from running import apart

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and makes groups")

STACKS = 40000
GROUPS = pathlib.Path("/sys/fs/cgroup")


class Group:
    """A memory control group of this machine's kind, version 1 or 2."""

    def __init__(self, limit_bytes):
        self.is_v1 = (GROUPS / "memory" / "memory.limit_in_bytes").exists()
        parent = GROUPS / "memory" if self.is_v1 else GROUPS
        self.path = parent / f"seep-test-{os.getpid()}"
        if not self.is_v1:
            try:
                (parent / "cgroup.subtree_control").write_text("+memory")
            except OSError:
                pytest.skip("no memory control groups can be made here")
        try:
            self.path.mkdir()
        except OSError:
            pytest.skip("no memory control groups can be made here")
        name = "memory.limit_in_bytes" if self.is_v1 else "memory.max"
        (self.path / name).write_text(str(limit_bytes))
        swap = self.path / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")

    def kills(self):
        name = "memory.oom_control" if self.is_v1 else "memory.events"
        return int(re.search(r"oom_kill (\d+)", (self.path / name).read_text())[1])

    def run_in(self, command):
        """A command that runs another one inside."""
        join = 'echo $$ >"$0" && exec "$@"'
        return ["/bin/sh", "-c", join, self.path / "cgroup.procs", *command]

    def remove(self):
        self.path.rmdir()


@pytest.fixture
def group(request):
    made = Group(getattr(request, "param", 12) << 20)
    yield made
    made.remove()


def ask(seep, path, sql):
    """Rows of a recording; as JSON its stacks would fill gigabytes."""
    done = seep.command("query", path, "--json", sql)
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)


def figures(seep, path):
    """Of what counted() allocated under its stacks, and of the context "other"."""
    columns = "SELECT ifnull(sum(allocs), 0) AS allocs, ifnull(sum(live_bytes), 0) AS live_bytes"
    (own,) = ask(seep, path, f"{columns} FROM top WHERE function = 'counted'")
    (other,) = ask(seep, path, f"{columns} FROM context WHERE other")
    return own, other


def check_full_ledger(seep, path, truth):
    """
    Everything is counted; the stacks that had no room are one, which is said with a remedy. Returns
    the limit in MB.
    """
    counted = truth.sites["counted"]
    own, other = figures(seep, path)
    for key in ("allocs", "live_bytes"):
        assert own[key] + other[key] == counted[key]
    assert own["allocs"] > 1000
    assert ask(seep, path, "SELECT value FROM total WHERE name = 'dropped'") == [
        {"value": other["allocs"]}
    ]
    assert other["allocs"] > 1000
    (full,) = ask(seep, path, "SELECT detail FROM unseen WHERE code = 'ledger-full'")
    assert "reached its limit" in full["detail"]
    return int(re.search(r"--ledger-max (\d+)M", full["detail"])[1]) / 2


def test_a_memory_group_is_not_filled_by_the_ledger(seep, group):
    """Without the limit these stacks take more than the group has, ledger and private memory."""
    result, recordings = seep.run(group.run_in([program("many_stacks"), str(STACKS)]))
    assert result.status == 0, result.stderr
    assert group.kills() == 0
    limit = check_full_ledger(seep, recordings.path, parse_truth(result.stdout.decode()))
    assert 1 <= limit <= 1.5
    (own,) = ask(seep, recordings.path, "SELECT value FROM total WHERE name = 'own_bytes'")
    assert own["value"] < 5 << 20


HOLD = "kept = [object() for _ in range(2500000)]; import os; os._exit(0)"


@pytest.mark.parametrize("group, why_not", [(250, ""), (180, "a scan of its blocks needs")], indirect=["group"])
def test_the_check_at_the_end_takes_no_more_than_the_group_has(seep, group, why_not):
    """115 MB of program, and a scan that took 175 MB."""
    path = seep.directory / "run.seep"
    words = [SEEP, "run", "-q", "-o", path, "--", "/usr/bin/python3", "-S", "-c", HOLD]
    done = run_plain(group.run_in(words), env=seep.environment({"PYTHONMALLOC": "malloc"}))
    assert done.status == 0, done.stderr
    assert group.kills() == 0
    scan = seep.load(path)["scan"]
    assert (scan["why_not"] or "").startswith(why_not) and bool(scan["why_not"]) is bool(why_not), scan


CHILDREN = 'for i in $(seq 240); do "$0" 60000 & [ $((i % 8)) = 0 ] && wait; done; wait'


@pytest.mark.parametrize("group", [250], indirect=True)
def test_children_wait_at_their_ends_where_memory_is_short(seep, group):
    """They end faster than their recordings are written, and what was found in each takes 1.2 MB."""
    path = seep.directory / "run.seep"
    words = [SEEP, "run", "-q", "-o", path, "--", "/bin/sh", "-c", CHILDREN, program("loses_many")]
    done = run_plain(group.run_in(words), env=seep.environment())
    assert done.status == 0, done.stderr
    assert group.kills() == 0
    lost = [sum(leak["blocks"] for leak in seep.load(child)["leaks"])
            for child in path.with_name("run.seep.d").glob("*.loses_many.seep")]
    assert len(lost) == 240 and min(lost) >= 59999


def in_small_shm(seep, tmp_path, *options, before="true", command=(), stacks=STACKS):
    """Record in a folder of a small /dev/shm, in a mount namespace."""
    script = (
        "mount -t tmpfs -o size=16m none /dev/shm && mkdir -m 700 /dev/shm/here && "
        f'{before} && exec "$@"'
    )
    path = tmp_path / "run.seep"
    words = [*apart(), "sh", "-c", script, "sh", SEEP, "run", "-q", "-o", path, *options]
    done = subprocess.run(
        [*words, "--", *command, program("many_stacks"), str(stacks)],
        env={**os.environ, "SEEP_DIR": "/dev/shm/here"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return path, parse_truth(done.stdout.decode())


def test_a_quarter_of_a_small_shm_is_taken(seep, tmp_path):
    path, truth = in_small_shm(seep, tmp_path)
    assert check_full_ledger(seep, path, truth) == 4.0


def test_ledger_max_raises_the_limit(seep, tmp_path):
    path, truth = in_small_shm(seep, tmp_path, "--ledger-max", "14M")
    own, other = figures(seep, path)
    assert own["allocs"] == truth.sites["counted"]["allocs"]
    assert other["allocs"] == 0


def test_a_full_file_system_is_the_only_reason_that_is_named(seep, tmp_path):
    """With a ledger so small that after it all that has no room is more than its tables hold."""
    small = ("sh", "-c", 'ulimit -f 16000 && exec "$0" "$@"')
    fill = "head -c 14M /dev/zero >/dev/shm/other"
    path, truth = in_small_shm(seep, tmp_path, before=fill, command=small, stacks=5 * STACKS)
    own, other = figures(seep, path)
    assert own["allocs"] + other["allocs"] == truth.sites["counted"]["allocs"]
    unseen = {u["code"]: u["detail"] for u in ask(seep, path, "SELECT code, detail FROM unseen")}
    assert unseen.keys() - {"rows-full"} == {"no-space", "dropped"}
    room = re.search(r"was full: it had room for (\d+\.\d) MB", unseen["no-space"])
    assert 1 <= float(room[1]) <= 2
    assert "SEEP_DIR=FOLDER" in unseen["no-space"]
    # Marks are set by whoever asks, at times that nobody knows.
    assert "epoch 0 " not in unseen.get("rows-full", "")
