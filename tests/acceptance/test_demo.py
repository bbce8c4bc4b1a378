"""`make demo` and `make playground`: the whole way from an agent's tool calls to their ends, for somebody who has just arrived."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from playground.client import Control
from playground.demo import own
from tests.support.commands import program
from tests.support.people import Someone

DEMO = (sys.executable, "-m", "playground.demo")
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the demo keeps its files; short, because a unix socket's path has to be."""
    made = Path(tempfile.mkdtemp(prefix="demo-"))
    yield made
    shutil.rmtree(made)


def environment(folder: Path) -> dict[str, str]:
    """The environment of somebody without a workspace, a key or a Redis."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "TMPDIR": str(folder), "PYTHONPATH": str(CHECKOUT)}


def left_over(folder: Path) -> list[str]:
    """What a demo that has ended left behind: processes that name its folder, and files in it."""
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True).stdout
    processes = [line for line in listed.splitlines() if str(folder) in line]
    return processes + [str(path) for path in folder.iterdir()]


def test_without_a_terminal_it_plays_the_tour(folder):
    """Approve, edit, reject and answer on one batch, then a second batch; the transcript tells all of it."""
    played = subprocess.run(
        DEMO, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, cwd=CHECKOUT,
        env=environment(folder), check=False,
    )  # fmt: skip

    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    lines = [line.strip() for line in played.stdout.splitlines()]
    for line in (
        "│ support: refund_customer, send_email, restart_service, ask_person",
        "│       amount:   129.9",
        "only Noor sees: Only @Dana, @Erik or @Mira can decide this.",
        "Dana presses Open…, and Approve on 2. send_email",
        "beside the amount: Must be 250 or less.",
        "Mira gives the reason: Not during business hours, the night shift does that.",
        "│ support: send_email, close_ticket",
        "Erik presses Approve all 2…",
        "│     refund.amount: 129.9 → 64.95",
        'close_ticket {"ticket": 88123, "resolution": "solved", "labels": ["refund", "charged twice"]}',
        "ask_person (success): A voucher of 20 EUR.",
        "Everything went as it should.",
    ):
        assert line in lines
    assert "\x1b" not in played.stdout
    assert left_over(folder) == []


async def test_the_lines_and_commands_of_the_pages_run_against_the_playground(folder, tmp_path):
    """What it prints asks when it is pasted, as on the page. The doctor finds no fault, and a key is good for the example."""

    started = partial(program, cwd=tmp_path, env=environment(folder))

    async def ended(command: str) -> str:
        command = command.replace(".venv/bin/python", sys.executable)
        async with started("bash", "-c", command) as process:
            printed = (await process.communicate())[0].decode()
        assert process.returncode == 0, printed
        return printed

    async with started(*DEMO, "own") as playground:
        shown = ""
        while "Ctrl-C ends all of it." not in shown:
            shown += (await playground.stdout.readline()).decode()
        lines = re.search(r"^\.venv/bin/python.*?^END$", shown, re.MULTILINE | re.DOTALL)[0]
        async with Control(re.search(r"http://127\.0\.0\.1:\d+", shown)[0]) as slack:
            dana = Someone(slack, "U0DANA")
            assert lines == (await slack.state())["lines"]
            pasted = asyncio.create_task(ended(lines))
            await dana.press(await dana.card("delete_file"), "approve:0")
            assert "deleting /srv/reports/2025.csv" in await pasted
            await dana.card("done")

            after = f"source {own.ENVIRONMENT} && "
            assert "fail" not in await ended(f"{after}.venv/bin/python -m bot doctor")
            key = (await ended(f"{after}.venv/bin/python -m bot keys create billing")).strip()
            asking = f"{after}ASSENT_KEY={key} .venv/bin/python -m examples.http_api"
            printed = asyncio.create_task(ended(asking))
            await dana.press(await dana.card("send_email"), "approve:0")
            assert "Subject: Invoice 17" in await printed
        playground.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(playground.wait(), 30) == 0

    assert not (tmp_path / own.ENVIRONMENT).exists()
    assert left_over(folder) == []
