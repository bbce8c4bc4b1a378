"""The page about resuming in another process, as a reader would follow it, with a bot and people in Slack."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE

import pytest

from tests.support.commands import program
from tests.support.pages import REDIS, ROOT, files_of
from tests.support.people import Someone
from tests.support.redis_users import address_for

PAGE = "docs/how-to/resume-in-another-process.md"
MODEL = """ScriptedModel(
                turns=[
                    says(("send_email", {"to": "dana@example.com", "subject": "Invoice"})),
                    says(("send_email", {"to": "bo@example.com", "subject": "Copy"}), first_call=2),
                    says(text="done"),
                ]
            )"""


def written(folder, redis_url):
    """Put the page's modules into a folder, with a model that needs no network."""
    office, ask = (files_of(PAGE)[name] for name in ("office.py", "ask.py"))
    office = office.replace('init_chat_model("openai:gpt-5")', MODEL).replace(
        "from langchain.chat_models import init_chat_model",
        "from tests.support.scripted_model import ScriptedModel, says",
    )
    (folder / "office.py").write_text(office)
    (folder / "ask.py").write_text(ask.replace(REDIS, redis_url))


def python(folder, redis_url, *arguments, **environment):
    kept = {name: os.environ[name] for name in ("PATH", "ASSENT_RING", "ASSENT_STATE_KEY")}
    given = {**kept, "PYTHONPATH": str(ROOT), "REDIS_URL": redis_url, **environment}
    return program(sys.executable, *arguments, errors=PIPE, cwd=folder, env=given)


async def said(process):
    output, errors = await process.communicate()
    return output.decode(), errors.decode()


@pytest.mark.timeout(300)
async def test_one_process_asks_and_a_worker_sends_what_was_approved(start_bot, slack, redis_url, tmp_path):
    """Given a question whose process has ended, when it is approved, then a worker sends, asks again, and sends again."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    asks, works = (address_for(redis_url, role, "billing") for role in ("agent", "worker"))
    written(tmp_path, asks)

    async with python(tmp_path, asks, "ask.py") as asking:
        printed, _ = await said(asking)
    (first,) = re.findall(r"Paused\(interrupt_id='(billing\..*)'\)", printed)
    await dana.press(await dana.card("dana@example.com"), "approve:0")
    await dana.card("waiting for the agent")
    command = ("-m", "agent_adapter.worker", "office:registry", "--agent", "billing")
    async with python(tmp_path, works, *command) as worker:
        await dana.press(await dana.card("bo@example.com", within=60), "approve:0")
        sent = [(await asyncio.wait_for(worker.stdout.readline(), 60)).decode() for _ in range(3)]
        worker.send_signal(signal.SIGTERM)
        _, log = await said(worker)

    assert sent[0] == f"sent to dana@example.com under {first}:0\n"
    assert re.fullmatch(r"sent to bo@example\.com under billing\.\w+:0\n", sent[1])
    assert sent[2] == "invoice-17: finished\n"
    assert worker.returncode == 0
    assert f"INFO run.paused interrupt_id={first} next=billing." in log
    assert "Traceback" not in log
