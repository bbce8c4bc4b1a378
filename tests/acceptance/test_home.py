"""The Home tab: what waits for a person, decided from there under the same rules, and what they asked for and decided."""

import asyncio
import time
from copy import copy
from dataclasses import replace
from itertools import chain

import pytest

from agent_adapter import HITLRequest
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.loops import Loop
from bot.jobs.home_tabs import HomeTabs
from bot.slack.pacing import Limit, Pacing
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.home import Home, eventually
from tests.support.people import buttons, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA]
  standing: {scope: agent, lasts: 8h, uses: 20}
rules:
  - name: for a group
    match: {tool: deploy}
    approvers: [S0OPS]
  - name: for a channel
    match: {tool: announce}
    approvers: [channel]
  - name: by two
    match: {tool: transfer}
    approvers: [U0DANA, U0ERIK]
    quorum: 2
  - name: a small wire
    match:
      tool: wire
      args: {properties: {amount: {type: number, maximum: 999}}, required: [amount]}
    approvers: [U0DANA, U0ERIK]
    quorum: 2
  - name: a large wire
    match: {tool: wire}
    approvers: [U0ERIK, U0MIRA]
    quorum: 2
  - name: in private
    match: {tool: whisper}
    channel: U0DANA
  - name: with care
    match: {tool: drop_table}
    risk: high
"""


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


@pytest.fixture
async def ask(bot, client):
    """Ask for calls, and wait for their card; what is not decided is given up at the end."""
    asking = []

    async def asked(*actions, by=client, **given):
        requests, configs = zip(*actions, strict=True)
        interrupt = by.interrupt(HITLRequest(action_requests=requests, review_configs=configs), **given)

        async def answered():
            async with by.reviewing(interrupt) as resume:
                return resume

        asking.append(asyncio.create_task(answered()))

        async def is_shown():
            state = await bot.store.admitted(interrupt.id)
            return state and state.is_shown

        await eventually(is_shown)
        return asking[-1]

    yield asked
    for each in asking:
        each.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


@pytest.fixture
def home(slack):
    return lambda user: Home(slack, user).open()


@pytest.mark.parametrize(("tool", "user"), [("pay", "U0DANA"), ("deploy", "U0ERIK"), ("announce", "U0NOOR")])
async def test_what_waits_for_a_person_a_group_or_a_channel_stands_on_the_home_tab(ask, home, tool, user):
    await ask(an_action(tool, {"amount": 5}))

    said = await (await home(user)).says()

    assert "*1 waits for you, until <!date^" in said
    assert f"{tool} 5 · until <!date^" in said


async def test_a_call_is_approved_in_a_review_that_shows_all_of_it(ask, home, dana):
    """Then it is on the list of what they decided."""
    asking = await ask(an_action("pay", {"amount": 5, "to": "zoe"}))
    tab = await home("U0DANA")

    view = await tab.opened("review:0")
    assert "zoe" in words(view["blocks"])
    await dana.press_in(view, "approve:0")

    assert (await asking).decisions[0].type == "approve"
    await eventually(lambda: says(tab, "Nothing waits for you here."))
    await tab.press("home:go.decided")
    assert "Approved by Dana: pay" in await tab.says()


async def says(tab, text):
    return text in await tab.says()


async def test_an_open_tab_shows_by_itself_what_changes_on_the_list_that_somebody_looks_at(ask, home, dana):
    """Nobody has to open it again: not when something waits, and not after what they decide on a card."""
    tab = await home("U0DANA")

    asking = await ask(an_action("pay"))
    await eventually(lambda: says(tab, "pay"))
    await tab.press("home:go.decided")
    await dana.press(await dana.card(), "approve:0")
    await asking

    await eventually(lambda: says(tab, "Approved by Dana: pay"))


async def test_a_tab_that_was_opened_more_than_a_day_ago_is_left_alone(ask, home, bot, redis, slack):
    """Nobody looks at it any more, and Slack takes only so many writes."""
    tabs = [await home(user) for user in ("U0DANA", "U0ERIK")]
    _, _, look = (await redis.hget(bot.store.keys.homes, "U0DANA")).partition(" ")
    await redis.hset(bot.store.keys.homes, "U0DANA", f"{time.time() - 90_000:.0f} {look}")

    await ask(an_action("transfer"))

    await eventually(lambda: says(tabs[1], "transfer"))
    assert "Nothing waits for you" in await tabs[0].says()


async def test_a_burst_writes_each_tab_once_and_within_slacks_limits(ask, home, bot, monkeypatch):
    """Whatever agents ask: the others are written when there is a turn."""
    monkeypatch.setattr("bot.slack.pacing.PUBLISHES", Limit(1, 60_000))
    monkeypatch.setattr("bot.jobs.home_tabs.EVERY", 0.01)
    written = []

    async def write(user, _):
        written.append(user)

    tabs = HomeTabs(bot.home.home, Pacing(bot.store.scripts, bot.store.keys), write)
    for user in ("U0DANA", "U0ERIK"):
        await home(user)
    for _ in range(3):
        await ask(an_action("transfer"))
    for spot in await bot.store.waiting(["U0DANA"], limit=3):
        tabs.note(spot.interrupt_id)

    looking = asyncio.create_task(tabs.run(Loop("home tabs", within=60)))
    await until(lambda: written)
    looking.cancel()

    assert written == ["U0DANA"]
    assert [*tabs._stale] == ["U0ERIK"]


async def test_a_change_is_not_lost_while_redis_does_not_answer(ask, home, bot, monkeypatch):
    """The tab is written once it does."""
    monkeypatch.setattr("bot.jobs.home_tabs.EVERY", 0.01)
    written, failures, store, admitted = (
        [],
        [ServerUnreachableError("away")],
        copy(bot.store),
        bot.store.admitted,
    )

    async def admitted_later(interrupt_id):
        if failures:
            raise failures.pop()
        return await admitted(interrupt_id)

    async def write(user, _):
        written.append(user)

    monkeypatch.setattr(store, "admitted", admitted_later)
    tabs = HomeTabs(replace(bot.home.home, store=store), Pacing(store.scripts, store.keys), write)
    await home("U0DANA")
    await ask(an_action("transfer"))
    [spot] = await bot.store.waiting(["U0DANA"], limit=1)
    tabs.note(spot.interrupt_id)

    looking = asyncio.create_task(tabs.run(Loop("home tabs", within=60)))
    await until(lambda: written)
    looking.cancel()

    assert (written, failures) == (["U0DANA"], [])


async def test_a_click_on_what_somebody_else_decided_meanwhile_says_so(
    ask, home, slack, dana, erik, monkeypatch
):
    """A tab is a moment old, or older where Slack did not take a new one. It decides nothing twice."""
    monkeypatch.setattr("bot.jobs.home_tabs.EVERY", 60)
    asking = await ask(an_action("deploy"))
    tab = await home("U0DANA")
    await erik.press(await erik.card(), "approve:0")
    await asking

    view = await tab.opened("review:0")

    assert "*Approved* by <@U0ERIK>" in words(view["blocks"])
    assert not any(name.startswith("approve") for name in buttons(view))


async def test_whoever_left_the_group_sees_nothing_and_decides_nothing(ask, home, slack, bot):
    """Also from a tab that was written before."""
    await ask(an_action("deploy"))
    tab = await home("U0DANA")
    await slack.group("S0OPS", users=["U0ERIK"])
    bot.directory.forget("group", "S0OPS")

    view = await tab.opened("review:0")

    assert view["callback_id"] == "notice"
    assert "Nothing waits for you here." in await (await home("U0DANA")).says()


async def test_pages_lead_through_any_number_and_back(ask, home, monkeypatch):
    monkeypatch.setattr("bot.use_cases.home.ROWS", 2)
    for number in range(5):
        await ask(an_action(f"tool_{number}"))
    tab = await home("U0DANA")

    seen = [await tab.says()]
    for _ in range(2):
        await tab.press("home:go.further")
        seen.append(await tab.says())

    found = [[f"tool_{n}" for n in range(5) if f"tool_{n} " in page] for page in seen]
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(chain(*found)) == [f"tool_{n}" for n in range(5)]
    assert "home:go.further" not in await tab.buttons()
    await tab.press("home:go.start")
    said = await tab.says()
    assert all(f"{name} " in said for name in found[0])


# --- The same lists by a command -------------------------------------------------------------------------------------


async def test_a_command_opens_the_list_and_a_call_is_decided_from_it(ask, slack, dana):
    asking = await ask(an_action("pay", {"amount": 5}))
    await slack.command("U0DANA", "C0APPROVALS", "/approvals")
    view = await dana.view("pay 5 · until")

    await dana.press_in(view, "review:0.0")
    await dana.press_in(await dana.view("pay", depth=2), "approve:0")

    assert (await asking).decisions[0].type == "approve"
