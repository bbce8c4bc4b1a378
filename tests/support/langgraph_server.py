"""A real LangGraph server with the graphs of `langgraph_server_graph`, and how to find one on this machine."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playground.redis_server import free_port

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("langgraph_server_graph.py")


def command() -> Path | None:
    """Give the `langgraph` command of the environment that `make` sets up for it, or the one that is named."""
    named = Path(os.environ.get("ASSENT_LANGGRAPH_CLI", ROOT / ".venv-server/bin/langgraph"))
    return named if named.exists() else None


@contextmanager
def serving(directory: Path, ran: Path) -> Iterator[str]:
    """Serve the graphs from this directory, and give the address. Their tools write down what ran."""
    graphs = {name: f"{FILE}:{name}" for name in ("agent", "release")}
    (directory / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    port = free_port()
    # No account, no telemetry, no network: a server on this machine and nothing else.
    apart = {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "RAN": str(ran)}
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH", "LANGCHAIN"))
    }
    with (directory / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [str(command()), "dev", "--no-browser", "--no-reload", "--port", str(port)],
            cwd=directory,
            env={**kept, **apart, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/ok", process, directory / "log.txt")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError(f"the LangGraph server did not start:\n{log.read_text()}")
