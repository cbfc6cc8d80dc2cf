#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sum up a test run: what failed and why, what was skipped and why, and one line of counts.

Reads the JUnit files that ctest (units and lints) and pytest (end to end) wrote into a folder.
A unit executable counts as its cmocka tests, so that the numbers are tests and not executables.
"""
import os
import re
import sys
import xml.etree.ElementTree as xml


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []   # (name, details)
        self.skipped = []  # (name, why)


def count_cmocka(tally, name, output, succeeded):
    """cmocka's own summary; a crash leaves none, which is one failure more."""
    passed = re.search(r"^\[  PASSED  \] (\d+) test", output, re.M)
    tally.passed += int(passed.group(1)) if passed else len(re.findall(r"^\[ +OK \]", output, re.M))
    failed = re.findall(r"^\[  FAILED  \] ([a-z_A-Z]\w*)$", output, re.M)
    skipped = re.findall(r"^\[  SKIPPED \] ([a-z_A-Z]\w*)$", output, re.M)
    for test in sorted(set(failed)):
        tally.failed.append((f"{name}: {test}", output))
    for test in sorted(set(skipped)):
        # What the test printed before it skipped itself is the reason.
        said = re.search(rf"^\[ RUN +\] {test}\n(.*?)^\[  SKIPPED \] {test}$", output, re.M | re.S)
        why = said.group(1).strip().splitlines() if said else []
        tally.skipped.append((f"{name}: {test}", why[-1] if why else "the test says no reason"))
    if not succeeded and not failed:
        tally.failed.append((name, output or "it ended without a result"))


def read_ctest(tally, path):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        output = case.findtext("system-out") or ""
        failure = case.find("failure")
        status = case.get("status")
        if name.startswith("unit.") and status in ("run", "fail"):
            count_cmocka(tally, name, output, failure is None and status == "run")
        elif status == "run" and failure is None:
            tally.passed += 1
        elif case.find("skipped") is not None and failure is None:
            why = re.search(r"^skipped: (.*)$", output, re.M)
            message = case.find("skipped").get("message") or "not run"
            if why:
                tally.skipped.append((name, why.group(1)))
            else:
                tally.failed.append((name, f"not run: {message}\n{output}"))
        else:
            tally.failed.append((name, output))


def read_pytest(tally, path):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        problems = [*case.findall("failure"), *case.findall("error")]
        skipped = case.find("skipped")
        if problems:
            tally.failed.append((name, problems[0].text or problems[0].get("message")))
        elif skipped is not None:
            tally.skipped.append((name, skipped.get("message") or "no reason given"))
        else:
            tally.passed += 1


def read(tally, folder, stem, reader):
    path = os.path.join(folder, f"{stem}.xml")
    try:
        reader(tally, path)
    except (OSError, xml.ParseError) as problem:
        log = os.path.join(folder, f"{stem}.log")
        tail = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                tail = "".join(file.readlines()[-20:])
        tally.failed.append((stem, f"no results: {problem}\n{tail}"))


def main():
    folder = sys.argv[1]
    tally = Tally()
    read(tally, folder, "ctest", read_ctest)
    for stem in ("e2e", "beside"):
        read(tally, folder, stem, read_pytest)
    shown = set()
    for name, details in tally.failed:
        print(f"FAILED {name}")
        if details not in shown:
            shown.add(details)
            lines = details.rstrip().splitlines()
            print("\n".join(f"    {line}" for line in lines[-30:]))
    for name, why in tally.skipped:
        print(f"skipped {name}: {why}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
