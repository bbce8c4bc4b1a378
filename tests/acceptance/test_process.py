"""The bot as a process that somebody operates: started, asked to stop, misconfigured."""

import asyncio
import os
import signal
import sys

from tests.support.builders import an_action
from tests.support.people import Someone
from tests.support.redis_users import address_for

BOT = [sys.executable, "-m", "bot"]
KEYS = ("ASSENT_SIGNING_KEY", "ASSENT_SEAL_KEY", "ASSENT_RING")


def environment(playground, redis_url, **changed):
    given = {
        **{name: os.environ[name] for name in ("PATH", *KEYS)},
        "SLACK_BOT_TOKEN": playground.bot_token,
        "SLACK_APP_TOKEN": playground.app_token,
        "SLACK_API_URL": playground.api_url,
        "REDIS_URL": address_for(redis_url, "bot"),
        "ASSENT_APPROVERS": "U0DANA",
        "ASSENT_CHANNEL": "C0APPROVALS",
        "ASSENT_HTTP_HOST": "127.0.0.1",
        "ASSENT_HTTP_PORT": "0",
        **changed,
    }
    return {name: value for name, value in given.items() if value is not None}


async def start(playground, redis_url, **changed):
    return await asyncio.create_subprocess_exec(
        *BOT,
        env=environment(playground, redis_url, **changed),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_sigterm_finishes_what_is_held_and_ends_with_zero(playground, redis_url, slack, client):
    """A bot that is drawing when it is asked to stop draws to the end."""
    process = await start(playground, redis_url)
    request, config = an_action()
    reviewing = asyncio.create_task(client.review(_batch(request, config)))
    await Someone(slack, "U0DANA").card()
    await slack.fault("chat.update", "delay", seconds=1.0)
    card = await Someone(slack, "U0DANA").card()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    await reviewing
    # By now the call that draws the decision is under way: Slack takes its second over it.
    while "chat.update" in str((await slack.state())["faults"]):
        await asyncio.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        await process.communicate()

    assert process.returncode == 0
    assert "approved" in str(await slack.messages("C0APPROVALS")).lower()


def _batch(request, config):
    from agent_adapter import HITLRequest

    return HITLRequest(action_requests=(request,), review_configs=(config,))
