"""The demo for somebody at a terminal: the page is served, and the agent waits for what they decide there."""

import math
from collections.abc import Callable

from agent_adapter import AgentAdapterError
from playground.demo.agent import TASK, work
from playground.demo.stage import AGENT, CHANNEL, REQUESTER, Stage
from playground.workspace import BOT_USER

WELCOME = """
  Assent runs here, on this machine only. Open

      {url}

  An agent asks there whether it may pay. It goes on with exactly what you decide, and then asks for more.
  You are Dana, who may decide; the list on the left makes you somebody else. Ctrl-C ends all of it.
"""
HINT = "Press Approve, or change the amount first."
AGAIN = "Write anything here, and I start again."


async def serve(stage: Stage, say: Callable[[str], None]) -> None:
    """Run the agent now, and again whenever somebody writes, until cancelled."""

    async def tell(text: str) -> None:
        await stage.control.message(AGENT, CHANNEL, text)
        say("  agent: " + text.replace("\n", "\n         "))

    say(WELCOME.format(url=stage.url))
    await stage.control.message(REQUESTER, CHANNEL, TASK)
    while True:
        try:
            await work(stage.approvals, tell, requested_by=REQUESTER, payment_first=True)
        except AgentAdapterError as error:
            await tell(f"I have to stop here: {error}")
        await _until_asked(stage)


async def _until_asked(stage: Stage) -> None:
    said = await stage.control.message(AGENT, CHANNEL, AGAIN)
    await stage.control.wait_for_message(
        lambda message: message["ts"] > said["ts"] and message["user"] not in {AGENT, BOT_USER},
        channel=CHANNEL,
        within=math.inf,
    )
