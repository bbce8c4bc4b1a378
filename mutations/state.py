"""One commit of the code, and where it is kept what was found out about it."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from mutations.running import HERE, Result

TESTS = ("tests/bot", "tests/agent_adapter", "tests/acceptance", "tests/faults")
# These start a browser, npm or a server of LangGraph: too slow to judge a mutation.
LEFT_OUT = ("*test_page.py", "*test_node.py", "*test_demo.py", "*test_examples.py", "*langgraph_server.py")


@dataclass(frozen=True)
class State:
    """The checkout at its current commit."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where everything about this commit is kept."""
        command = ["git", "rev-parse", "--short=12", "HEAD"]
        commit = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, check=True
        ).stdout.strip()
        return self.root / ".data" / "mutations" / commit

    @property
    def recorded(self) -> Path:
        """Where `mutations.recording` writes."""
        return self.folder / "recorded"

    @property
    def is_recorded(self) -> bool:
        """Tell whether the recorded run came to its end."""
        return any(self.recorded.glob("tests.*.json"))

    def record(self, processes: int) -> None:
        """Run the tests once, and note which lines and scripts each of them runs."""
        self.recorded.mkdir(parents=True, exist_ok=True)
        ignored = [f"--ignore-glob={pattern}" for pattern in LEFT_OUT]
        options = ["-q", "-n", str(processes), "--dist", "worksteal", "-p", "mutations.recording", *ignored]
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *TESTS],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(HERE), "MUTATIONS_RECORD": str(self.recorded)},
            check=False,
        )

    def tests(self) -> list[str]:
        """Name the tests that there are."""
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *TESTS]
        found = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return [line for line in found.stdout.splitlines() if "::" in line]

    @property
    def _results(self) -> Path:
        return self.folder / "results.jsonl"

    def results(self) -> dict[str, Result]:
        """Give the newest result of each mutation that was tried."""
        if not self._results.exists():
            return {}
        lines = self._results.read_text(encoding="utf-8").splitlines()
        found = [Result(**json.loads(line)) for line in lines]
        return {result.place: result for result in found}

    def add(self, result: Result) -> None:
        """Note a result at once: whoever stops here goes on after it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
