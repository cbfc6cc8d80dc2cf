# SPDX-License-Identifier: MIT
"""What is not to be recorded is not counted, costs no correctness, and is said."""

import fnmatch
import pathlib

import pytest

from harness import PROGRAMS, check_truth, contexts_of, parse_truth, program
from harness import record_with_truth, site

LEAKY = PROGRAMS.parent / "examples" / "leaky"


def codes(report):
    return {line["code"] for line in report["unseen"]}


@pytest.mark.fast
def test_a_size_filter_counts_what_it_lets_through(seep):
    """examples/leaky: 400 uploads of 4,096 bytes, 80 of them lost; all else is smaller."""
    result, recordings = seep.run([LEAKY], env={"SEEP_OPTIONS": "size_min=4096"})
    report = recordings.main()
    assert result.status == 0
    upload = site(report, "receive_upload")
    assert (upload["allocs"], upload["bytes"]) == (400, 400 * 4096)
    assert (upload["live_blocks"], upload["live_bytes"]) == (80, 80 * 4096)
    assert not contexts_of(report, "session_remember")
    assert "filtered" in codes(report)


def test_a_size_filter_from_above_leaves_the_large_ones_out(seep):
    _, recordings = seep.run([LEAKY], env={"SEEP_OPTIONS": "size_max=64"})
    report = recordings.main()
    upload = site(report, "receive_upload")
    assert (upload["allocs"], upload["bytes"]) == (400, 400 * 64)


def test_mode_off_records_nothing_and_frees_stay_harmless(seep):
    result, recordings = seep.run([program("threads_cross")], options=["--mode", "off"])
    report = recordings.main()
    assert result.status == 0
    assert parse_truth(result.stdout.decode()).sites
    assert (report["totals"]["allocs"], report["totals"]["live_bytes"]) == (0, 0)
    assert report["process"]["mode"] == "off"


# ---- by module -----------------------------------------------------------------------------


def modules_option(*globs):
    return [word for glob in globs for word in ("--module", glob)]


@pytest.mark.fast
@pytest.mark.parametrize(
    "globs, recorded",
    [
        (["lib_plugin_a.so"], {"a"}),
        (["!lib_plugin_a.so"], {"b"}),
        (["lib_plugin_*", "!*_a.so"], {"b"}),
        (["lib_plugin_?.so"], {"a", "b"}),
        (["dlopen_reload"], set()),
    ],
)
def test_a_module_filter_records_what_these_modules_call(seep, globs, recorded):
    """Two plugins stand at the same addresses in turn: what is known of one must not be the other's."""
    recordings, truth = record_with_truth(seep, "dlopen_reload", options=modules_option(*globs))
    report = recordings.main()
    assert truth.notes["reused"] > 0
    for letter in "ab":
        name = f"plugin_{letter}_alloc"
        want = truth.sites[name]["allocs"] if letter in recorded else 0
        assert site(report, name)["allocs"] == want
    del truth.sites["call_plugin"]  # shared by both
    for letter in {"a", "b"} - recorded:
        del truth.sites[f"plugin_{letter}_alloc"]
    check_truth(report, truth)
    # libc's own, such as the directory stream's: not the program's.
    for context in report["contexts"]:
        name = pathlib.PurePath(context["frames"][0]["module"]).name
        assert any(fnmatch.fnmatch(name, g) for g in globs if g[0] != "!") or globs[0][0] == "!"
    assert "filtered" in codes(report)
    assert report["totals"]["untracked_frees"] > 0


def test_the_program_itself_goes_by_its_file_name(seep):
    _, recordings = seep.run([LEAKY], options=modules_option("leak?"))
    assert site(recordings.main(), "session_remember")["allocs"] == 5000
    _, recordings = seep.run([LEAKY], options=modules_option("!leaky"))
    left = contexts_of(recordings.main(), "session_remember")
    # The caller of malloc counts: a strdup() is libc's.
    assert sum(c["allocs"] for c in left) == 5000
    assert {c["frames"][0]["module"].rpartition("/")[2] for c in left} == {"libc.so.6"}


def test_filters_by_module_and_size_work_together_and_in_children(seep):
    options = [*modules_option("threads_cross", "leaky"), "--size-min", "4K", "--size-max", "4096"]
    script = ["/bin/sh", "-c", f"{LEAKY} >/dev/null; exit 3"]
    result, recordings = seep.run(script, options=options)
    assert result.status == 3
    (report,) = [r for r in recordings.all() if r["process"]["exe"] == str(LEAKY)]
    upload = site(report, "receive_upload")
    assert (upload["allocs"], upload["live_blocks"]) == (400, 80)
    assert report["totals"]["allocs"] == 400


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_largest_size_of_0_is_no_limit(seep, way):
    env = {"SEEP_OPTIONS": "size_max=0"} if way == "variable" else None
    _, recordings = seep.run([LEAKY], ["--size-max", "0"] if way == "option" else [], env=env)
    assert site(recordings.main(), "session_remember")["allocs"] == 10000
    assert "filtered" not in codes(recordings.main())
    assert b"0: no limit" in seep.command("run", "--help").stdout
