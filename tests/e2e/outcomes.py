# SPDX-License-Identifier: MIT
"""Runs a unittest module and prints the outcome of each test, sorted and without times, so that
two runs can be compared; what the tests themselves print is dropped.

Usage: outcomes.py MODULE
"""

import io
import os
import random
import sys
import unittest


class Outcomes(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.lines = []

    def addSuccess(self, test):
        self.lines.append(f"ok {test.id()}")

    def addSkip(self, test, reason):
        self.lines.append(f"skipped {test.id()}: {reason}")

    def addFailure(self, test, err):
        self.lines.append(f"failed {test.id()}: {err[0].__name__}")

    def addError(self, test, err):
        self.lines.append(f"error {test.id()}: {err[0].__name__}")


def main():
    random.seed(1)
    out = os.dup(1)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
    runner = unittest.TextTestRunner(io.StringIO(), resultclass=Outcomes, verbosity=0)
    result = runner.run(suite)
    text = "".join(line + "\n" for line in sorted(result.lines))
    os.write(out, f"{text}{result.testsRun} tests\n".encode())
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
