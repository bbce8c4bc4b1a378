"""One bot takes clicks and another draws. Neither needs the other to be there, and nothing is lost when one is away."""

import asyncio
import json

import aiohttp
import pytest

from bot.app import OF_DRAWING, running
from bot.domain.role import NOBODY_DRAWS, NOBODY_TAKES_CLICKS
from playground.server import Playground
from tests.conftest import settings_for, until
from tests.support.builders import an_action, an_interrupt
from tests.support.faults import CHANNEL, asking, take

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: note}, risk: low, on_timeout: approve, time_limit: 4s}
"""


async def pressed(slack, card):
    """Press Approve, and give what Slack shows of it."""
    return (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]


async def answered(bot, path):
    """Ask a bot over HTTP."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            "GET" if path == "/readyz" else "POST", f"http://127.0.0.1:{bot.port}{path}"
        ) as answer,
    ):
        return answer.status, json.loads(await answer.text())


@pytest.fixture
def start(playground, redis_url):
    """Run a bot with a role, which can be stopped: `async with start("draw") as bot`."""
    return lambda role, **changed: running(settings_for(playground, redis_url, role=role, **changed))


async def is_ready(*bots):
    await until(lambda: all(bot.health.ready for bot in bots))


async def test_one_bot_takes_clicks_and_another_draws(start, slack, client, watcher):
    """From the question to the card that says what became of it. The one that draws opens no connection for clicks."""
    async with start("draw", SLACK_APP_TOKEN=None, SLACK_SIGNING_SECRET=None) as draws:
        await is_ready(draws)
        assert not await slack.calls("apps.connections.open")
        async with start("clicks") as takes_clicks:
            await is_ready(takes_clicks)
            await until(lambda: not (draws.health.warnings | takes_clicks.health.warnings))
            interrupt = an_interrupt()
            agent = asyncio.create_task(take(client, interrupt))

            assert await pressed(slack, await watcher.card(interrupt.id))

            assert [decision.type for decision in (await asyncio.wait_for(agent, 30)).decisions] == [
                "approve"
            ]
            await until(lambda: "resumed" in str(watcher.cards(interrupt.id)))
            assert not OF_DRAWING & {loop.name for loop in takes_clicks.health.loops}
            assert OF_DRAWING & {loop.name for loop in draws.health.loops} >= {"drawing", "deadlines"}


async def test_a_decision_is_stored_while_nobody_draws_and_drawn_later(start, slack, client, watcher):
    """Only the bot for clicks is left: the agent gets the decision. What changed, and what is new, is drawn by the next bot."""
    interrupt, new = an_interrupt(), an_interrupt(run="new")
    async with start("clicks") as takes_clicks:
        await is_ready(takes_clicks)
        agent = asyncio.create_task(take(client, interrupt))
        async with start("draw") as draws:
            await is_ready(draws)
            card = await watcher.card(interrupt.id)
        await until(lambda: takes_clicks.health.warnings.get("role") == NOBODY_DRAWS)

        assert await pressed(slack, card)
        assert [decision.type for decision in (await asyncio.wait_for(agent, 30)).decisions] == ["approve"]
        await client.publish(new)
        status, said = await answered(takes_clicks, "/readyz")
        assert (status, said["warnings"]["role"]) == (200, NOBODY_DRAWS)
        assert [len(watcher.cards(each.id)) for each in (interrupt, new)] == [1, 0]

        async with start("draw"):
            await until(lambda: "resumed" in str(watcher.cards(interrupt.id)))
            await watcher.card(new.id)


async def test_a_click_that_nobody_takes_is_shown_as_failed(start, slack, client, watcher):
    """A bot that draws says so in /readyz, and the press can be repeated once somebody takes it."""
    interrupt = an_interrupt()
    async with start("draw") as draws:
        await is_ready(draws)
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)

        assert not await pressed(slack, card)

        assert (await answered(draws, "/readyz"))[1]["warnings"]["role"] == NOBODY_TAKES_CLICKS
        async with start("clicks") as takes_clicks:
            await is_ready(takes_clicks)
            assert await pressed(slack, card)
            assert [decision.type for decision in (await asyncio.wait_for(agent, 30)).decisions] == [
                "approve"
            ]


async def test_over_http_a_bot_that_draws_refuses_clicks_with_a_sentence(redis_url):
    """Slack then shows the press as failed. The same for agents that speak HTTP."""
    async with (
        Playground(limits=False) as playground,
        running(settings_for(playground, redis_url, role="draw", SLACK_APP_TOKEN=None)) as draws,
    ):
        for path in ("/slack/events", "/v1/interrupts"):
            status, said = await answered(draws, path)
            assert status == 503
            assert "this bot only draws (ASSENT_ROLE=draw)" in said["error"]


@pytest.mark.parametrize(("role", "kind"), [("draw", "reject"), ("clicks", "approve")])
async def test_silence_approves_only_while_somebody_could_object(
    start, client, watcher, tmp_path, role, kind
):
    """Beside the bot that draws: another one that draws, or one that takes clicks."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(RULES)
    rules = {"policy": str(policy), "approvers": "", "channel": None}
    async with start(role, **rules) as other, start("draw", **rules) as draws:
        await is_ready(other, draws)
        interrupt = client.interrupt(asking(an_action("note")))

        resume = await asyncio.wait_for(take(client, interrupt), 30)

    assert [(decision.type, record.decided_by) for decision, record in zip(resume.decisions, resume.records, strict=True)] == [(kind, "expired")]  # fmt: skip
