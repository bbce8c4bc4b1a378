"""A pytest plugin that notes, for every test, which lines and which Redis scripts it runs, and how long it takes.

`python -m pytest -p mutations.recording -n 3` with `MUTATIONS_RECORD` naming a folder. Each process of pytest-xdist writes
`coverage.<process>` and `tests.<process>.json` there.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

PROCESS = os.environ.get("PYTEST_XDIST_WORKER")
FOLDER = Path(os.environ["MUTATIONS_RECORD"])
MEASURED = ["agent_adapter", "bot"]


class Recording:
    """What one process of pytest has seen."""

    def __init__(self) -> None:
        # As early as this, or no line that runs at import counts.
        self.coverage = Coverage(
            data_file=str(FOLDER / f"coverage.{PROCESS}"), source=MEASURED, config_file=False, messages=False
        )
        self.coverage.start()
        self.test = ""
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.scripts: dict[str, set[str]] = defaultdict(set)
        self.files = {path.stem: path.as_posix() for top in MEASURED for path in Path(top).rglob("*.lua")}
        self._watch_scripts()

    def _watch_scripts(self) -> None:
        # Imported here, where the lines that it runs count.
        from agent_adapter.redis.scripts import Scripts  # noqa: PLC0415  # as said above

        call = Scripts.__call__

        def watched(scripts: Scripts, verb: str, *args: Any, **kwargs: Any) -> Any:
            self.scripts[self.test].add(self.files[verb])
            return call(scripts, verb, *args, **kwargs)

        Scripts.__call__ = watched  # type: ignore[method-assign]  # to watch each call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self.test = item.nodeid
        self.coverage.switch_context(item.nodeid)
        answer = yield
        self.coverage.switch_context("")
        self.test = ""
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        passed = {
            test: {"seconds": round(seconds, 3), "scripts": sorted(self.scripts[test])}
            for test, seconds in self.seconds.items()
            if test not in self.failed
        }
        (FOLDER / f"tests.{PROCESS}.json").write_text(json.dumps(passed))


recording = Recording() if PROCESS else None


def pytest_configure(config: pytest.Config) -> None:
    """Listen in the processes that run tests; the one that hands them out has nothing to note."""
    if recording:
        config.pluginmanager.register(recording, "mutations-recording")
