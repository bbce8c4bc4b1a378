"""Which tests run what a mutation changes: read from a recorded run."""

import json
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path

from coverage import CoverageData

from mutations.choosing import callers_of, is_named_after, scripts_calling
from mutations.listing import CODE
from mutations.mutation import Mutation

NEAR = 10
"""Lines above, for a statement of several lines that is recorded on its first."""


class Recorded:
    """What `mutations.recording` has written about one state of the code."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._scripts: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        """How long each test took that passed."""
        for path in sorted(folder.glob("tests.*.json")):
            for test, about in json.loads(path.read_text()).items():
                self.seconds[test] = about["seconds"]
                self._scripts[test] = set(about["scripts"])
        self._coverage = [CoverageData(basename=str(path)) for path in sorted(folder.glob("coverage.*"))]
        for data in self._coverage:
            data.read()

    def covering(self, mutation: Mutation) -> set[str]:
        """Give the tests that run what a mutation changes, and those of its file, which may run it in another process."""
        if mutation.file.endswith(".lua"):
            return self._running(self._scripts_with(mutation))
        return self._running_lines(mutation) | {
            test for test in self.seconds if is_named_after(mutation.file, test)
        }

    def _running_lines(self, mutation: Mutation) -> set[str]:
        lines = self._lines_of(mutation.file)
        own = [line for line in range(mutation.line, mutation.last_line + 1) if line in lines]
        found = set().union(*(lines[line] for line in own))
        if own and not found:
            # Runs once, at import: whoever uses this file may see it, or a file that imports it.
            return set(chain.from_iterable(lines.values())) or self._importing(mutation.file)
        above = range(mutation.line - 1, mutation.line - NEAR, -1)
        return found or next((lines[line] for line in above if lines.get(line)), set())

    def _importing(self, file: str) -> set[str]:
        """Give the tests that run lines of files which import this one."""
        imported = re.compile(rf"^from .*\b{Path(file).stem} import ", re.MULTILINE)
        paths = [path for package in CODE for path in (self._root / package).rglob("*.py")]
        names = [
            path.relative_to(self._root).as_posix() for path in paths if imported.search(path.read_text())
        ]
        return set().union(*(tests for name in names for tests in self._lines_of(name).values()))

    def _lines_of(self, file: str) -> dict[int, set[str]]:
        if file not in self._lines:
            lines: defaultdict[int, set[str]] = defaultdict(set)
            for data in self._coverage:
                for line, tests in data.contexts_by_lineno(str(self._root / file)).items():
                    lines[line] |= self.seconds.keys() & tests
            self._lines[file] = lines
        return self._lines[file]

    def _scripts_with(self, mutation: Mutation) -> set[str]:
        """Give the scripts that a change reaches: all that call a function of the prelude."""
        if not mutation.file.endswith("/prelude.lua"):
            return {mutation.file}
        texts = {
            path.relative_to(self._root).as_posix(): path.read_text(encoding="utf-8")
            for package in CODE
            for path in (self._root / package).rglob("*.lua")
        }
        if not mutation.where:
            return set(texts)
        return scripts_calling(callers_of(mutation.where, texts[mutation.file]), texts)

    def _running(self, scripts: set[str]) -> set[str]:
        return {test for test, run in self._scripts.items() if scripts & run}
