# SPDX-License-Identifier: MIT
"""Fixtures and marks of the end-to-end tests; `-m fast` runs in a few seconds altogether."""

import shutil

import pytest

import harness
from running import Steps


def pytest_configure(config):
    config.addinivalue_line("markers", "fast: one of the few tests of the quick check")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """What a test wrote stays only if it failed: all together that is gigabytes."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    if report.when == "teardown" and not item.has_failed and "tmp_path" in item.funcargs:
        shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def folders(request, tmp_path_factory):
    """The same of what several tests share."""
    yield
    if not request.session.testsfailed:
        shutil.rmtree(tmp_path_factory.getbasetemp(), ignore_errors=True)


@pytest.fixture
def seep(tmp_path):
    """A harness.Seep with a directory and ledgers of its own."""
    for path in (harness.SEEP, harness.RUNTIME):
        if not path.exists():
            pytest.fail(f"{path} is not built")
    made = harness.Seep(tmp_path)
    yield made
    made.close()


@pytest.fixture
def steps(seep):
    steps = Steps(seep)
    yield steps
    if steps.process.poll() is None:
        steps.end()
