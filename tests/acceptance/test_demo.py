"""`make demo`: the whole way from an agent's tool calls to their ends, for somebody who has just arrived."""

import asyncio
import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from playground.client import Control
from playground.demo import own
from playground.demo.stage import on_stage
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
    return {**kept, "TMPDIR": str(folder)}


def left_over(folder: Path) -> list[str]:
    """What a demo that has ended left behind: processes that name its folder, and files in it."""
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True).stdout
    processes = [line for line in listed.splitlines() if str(folder) in line]
    return processes + [str(path) for path in folder.iterdir()]


def tour(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Play the tour, as in a pipeline."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        cwd=CHECKOUT,
        env={**environment(folder), **variables},
        check=False,
    )


class AtTerminal:
    """The demo, or another program, as somebody at a terminal runs it."""

    def __init__(self, folder: Path, command: tuple[str, ...] = DEMO) -> None:
        self._screen, terminal = pty.openpty()
        self._process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=CHECKOUT,
            env=environment(folder),
            start_new_session=True,
        )
        os.close(terminal)
        self.shown = ""

    def read_until(self, pattern: str) -> re.Match[str]:
        """Read the screen until this stands there."""
        while not (found := re.search(pattern, self.shown)):
            self.shown += os.read(self._screen, 65_536).decode()
        return found

    def type(self, text: str) -> None:
        """Type, or paste: a terminal sends Enter for each end of a line."""
        os.write(self._screen, text.replace("\n", "\r").encode())

    def press_control_c(self) -> int:
        """End it as a terminal does, which tells every process of the group, and give the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._end()

    def terminate(self) -> int:
        """End it as a service manager does, and give the exit code."""
        self._process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self._process.wait(30)
        # Reading a terminal that nobody has open any more is an error.
        with contextlib.suppress(OSError):
            while more := os.read(self._screen, 65_536):
                self.shown += more.decode()
        return code

    def close(self) -> None:
        """Leave nothing running, however the test went."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._screen)


@pytest.fixture
def terminal(folder: Path) -> Iterator[AtTerminal]:
    started = AtTerminal(folder)
    yield started
    started.close()


def test_without_a_terminal_it_plays_the_tour(folder):
    """Approve, edit, reject and answer on one batch, then a second batch; the transcript tells all of it."""
    played = tour(folder, *DEMO)

    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stderr == ""
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


@pytest.mark.nightly
def test_a_tour_that_goes_another_way_fails_and_says_where(folder):
    """A tool that should not have run, or did not, is an exit code and a sentence."""
    played = tour(
        folder,
        sys.executable,
        "-c",
        "import sys; from dataclasses import replace; from playground.demo import showing as demo\n"
        "demo.EXPECTED = replace(demo.EXPECTED, ran=demo.EXPECTED.ran[1:])\n"
        "sys.exit(demo.main())",
    )

    assert played.returncode == 1
    assert "The tour did not go as it should:\n  ran: expected (Call(" in played.stdout
    assert left_over(folder) == []


async def test_at_a_terminal_it_serves_the_page_and_waits_for_a_person(terminal, folder):
    """Given the page, when somebody decides about one payment, two batches, and writes a word, then the agent begins again."""
    url = terminal.read_until(r"http://127\.0\.0\.1:\d+")[0]
    async with aiohttp.ClientSession() as browser, browser.get(url) as page:
        assert page.status == 200
        assert page.content_type == "text/html"

    async with Control(url) as slack:
        dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
        await dana.press(await dana.card("129.9"), "approve:0")
        batch = await dana.card("restart_service")
        await dana.press(batch, "approve_all:0")
        form = await erik.opened(batch, "respond:2")
        await slack.submit("U0ERIK", form["id"], {"words": "no"})
        rest = await dana.card("close_ticket")
        await dana.press(rest, "approve_all:0")
        terminal.read_until(r"✓ restart_service: payments restarted\r\n(.|\r\n)*✓ close_ticket")

        await slack.wait_for_message(lambda message: "I start again" in message["text"])
        await slack.message("U0DANA", "C0APPROVALS", "again, please")
        another = await slack.wait_for_message(
            lambda message: message["ts"] > rest["ts"] and bool(message["blocks"]), channel="C0APPROVALS"
        )
        assert another["ts"] != rest["ts"]

    assert terminal.press_control_c() == 0
    assert "Traceback" not in terminal.shown
    assert "WARNING" not in terminal.shown
    assert left_over(folder) == []


@pytest.fixture
def served(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The playground for an agent of one's own, started in a folder of its own."""
    with subprocess.Popen(
        (*DEMO, "own"),
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environment(folder), "PYTHONPATH": str(CHECKOUT)},
    ) as started:
        yield started
        started.kill()


@pytest.fixture
def shell(folder: Path) -> Iterator[AtTerminal]:
    """Another terminal, in the checkout."""
    started = AtTerminal(folder, ("bash", "--norc", "-i"))
    yield started
    started.close()


async def test_make_playground_prints_lines_that_ask_when_they_are_pasted(served, shell, folder):
    """Given the page, a bot and a Redis, when somebody pastes the lines, also shown on the page, into a shell, then it does what Dana decides, and her card says done."""
    shown = "".join(iter(served.stdout.readline, "  Ctrl-C ends all of it.\n"))
    lines = re.search(r"^\.venv/bin/python.*?^END$", shown, re.MULTILINE | re.DOTALL)[0]
    shell.read_until(r"[$#] ")
    shell.type(lines.replace(".venv/bin/python", sys.executable) + "\n")
    async with Control(re.search(r"http://127\.0\.0\.1:\d+", shown)[0]) as slack:
        dana = Someone(slack, "U0DANA")
        assert lines == (await slack.state())["lines"]
        await dana.press(await dana.card("delete_file"), "approve:0")
        await dana.card("done")
    await asyncio.to_thread(shell.read_until, "\ndeleting /srv/reports/2025.csv")

    assert "Error" not in shell.shown
    served.send_signal(signal.SIGINT)
    assert served.wait(30) == 0
    assert left_over(folder) == []


POLICY = """
default: {channel: C0APPROVALS, approvers: [S0OPS]}
rules:
  - {name: mails, match: {tool: send_email}, approvers: [U0DANA]}
"""


@pytest.fixture
def in_another_terminal(folder, tmp_path):
    """Run a command after the line that the playground prints for it, and give what it says."""

    def run(command: str) -> str:
        command = command.replace(".venv/bin/python", sys.executable)
        done = subprocess.run(
            ["bash", "-c", f"source {own.ENVIRONMENT} && {command}"],
            cwd=tmp_path, env={**environment(folder), "PYTHONPATH": str(CHECKOUT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return lambda command: asyncio.to_thread(run, command)


async def test_the_commands_of_the_pages_run_against_the_playground(
    in_another_terminal, tmp_path, monkeypatch
):
    """Doctor finds no fault, policy check asks about people, and with a new key the example over HTTP gets its answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)

    async with on_stage() as stage:
        with own.environment(stage.bot.settings, f"http://127.0.0.1:{stage.bot.http.port}"):
            examined = await in_another_terminal(".venv/bin/python -m bot doctor")
            checked = await in_another_terminal(".venv/bin/python -m bot policy check policy.yaml")
            key = await in_another_terminal(".venv/bin/python -m bot keys create billing")
            asking = asyncio.create_task(
                in_another_terminal(f"ASSENT_KEY={key.strip()} .venv/bin/python -m examples.http_api")
            )
            dana = Someone(stage.control, "U0DANA")
            await dana.press(await dana.card("send_email"), "approve:0")
            printed = await asking

    assert "fail" not in examined
    assert checked.endswith("Slack knows everybody and every channel\n")
    assert "Subject: Invoice 17" in printed
    assert not own.ENVIRONMENT.exists()
