"""A pytest plugin that writes the first test that fails twice in a row into the file `MUTATIONS_FAILED`."""

import os
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and once more if it fails: on a busy machine one failure is no proof."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if any(report.failed for report in reports):
        item._initrequest()  # type: ignore[attr-defined]  # noqa: SLF001  # fixtures are made anew
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down a test that failed."""
    if report.failed:
        Path(os.environ["MUTATIONS_FAILED"]).write_text(report.nodeid)
