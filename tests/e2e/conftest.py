# SPDX-License-Identifier: MIT
"""Fixtures and marks of the end-to-end tests; `-m fast` runs in a few seconds altogether."""

import pytest

import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "fast: one of the few tests of the quick check")


@pytest.fixture
def seep(tmp_path):
    """A harness.Seep with a directory and ledgers of its own."""
    for path in (harness.SEEP, harness.RUNTIME):
        if not path.exists():
            pytest.fail(f"{path} is not built")
    made = harness.Seep(tmp_path)
    yield made
    made.close()
