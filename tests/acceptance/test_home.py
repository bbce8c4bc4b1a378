"""The Home tab: what waits for a person, decided from there under the same rules, and what they asked for and decided."""

import asyncio
from itertools import chain

import pytest

from tests.support.builders import an_action, asking
from tests.support.faults import eventually, shown_card, take
from tests.support.people import buttons, words

RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {name: for a group, match: {tool: deploy}, approvers: [S0OPS]}
  - {name: for a channel, match: {tool: announce}, approvers: [channel]}
  - {name: by two, match: {tool: transfer}, approvers: [U0DANA, U0ERIK], quorum: 2}
"""


@pytest.fixture
async def ask(bot, client):
    """Ask for calls, and wait for their card; what is not decided is given up at the end."""
    waiting = []

    async def asked(*actions):
        interrupt = client.interrupt(asking(*actions))
        waiting.append(asyncio.create_task(take(client, interrupt)))
        await shown_card(bot.store, interrupt.id)
        return waiting[-1]

    yield asked
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


class Home:
    """Somebody's Home tab."""

    def __init__(self, slack, user):
        self.slack = slack
        self.user = user

    async def open(self):
        """Open the tab, and wait until the bot has written it."""
        opening = self.slack.event({"type": "app_home_opened", "user": self.user, "tab": "home"})
        await self._wait(opening, "hash")
        return self

    async def press(self, name, **given):
        """Press something that leads to another list or page."""
        await self._wait(self._pressed(name, **given), "private_metadata")

    async def opened(self, name):
        """Press a button that opens a form, and wait for the form."""
        await self._pressed(name)
        return await self.slack.wait_for_view(self.user)

    async def _pressed(self, name, **given):
        """Press the first button of this name. Each row has a number behind a dot."""
        view = await self.slack.home(self.user)
        found = next(each for each in buttons(view) if each in {name, f"{name}.0"})
        return await self.slack.click_view(self.user, view["id"], found, **given)

    async def _wait(self, acting, until_new):
        before = await self._found(until_new)
        await acting

        async def is_new():
            return await self._found(until_new) != before

        await eventually(is_new)

    async def _found(self, name):
        return (await self.slack.home(self.user) or {}).get(name)

    async def says(self):
        view = await self.slack.home(self.user)
        return words(view["blocks"])

    async def buttons(self):
        return buttons(await self.slack.home(self.user))


@pytest.fixture
def home(slack):
    return lambda user: Home(slack, user).open()


async def test_what_waits_for_a_person_is_approved_in_a_review_that_shows_all_of_it(ask, home, dana):
    """Then it is on the list of what they decided, also what is decided on a card."""
    asking = await ask(an_action("pay", {"amount": 5, "to": "zoe"}))
    tab = await home("U0DANA")
    assert "*1 waits for you, until <!date^" in await tab.says()
    assert 'pay 5 "zoe" · until <!date^' in await tab.says()

    view = await tab.opened("review:0")
    assert "zoe" in words(view["blocks"])
    await dana.press_in(view, "approve:0")

    assert (await asking).decisions[0].type == "approve"
    await dana.slack.close_view("U0DANA", view["id"], clear=True)
    asking = await ask(an_action("book"))
    await dana.press(await dana.card("book"), "approve:0")
    await asking
    assert "Nothing waits for you here." in await (await tab.open()).says()
    await tab.press("home:go.decided")
    said = await tab.says()
    assert "Approved by Dana: pay" in said
    assert "Approved by Dana: book" in said


@pytest.mark.parametrize(("tool", "user"), [("deploy", "U0ERIK"), ("announce", "U0NOOR")])
async def test_what_waits_for_a_group_or_a_channel_stands_on_the_tab_of_its_members(
    ask, home, slack, bot, tool, user
):
    """Whoever is no member any more sees nothing and decides nothing, also from a tab that was written before."""
    await ask(an_action(tool))
    tab = await home(user)
    assert f"{tool} " in await tab.says()
    await slack.group("S0OPS", users=["U0DANA"])
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA"])
    bot.directory.forget("group", "S0OPS")
    bot.directory.forget("channel", "C0APPROVALS")

    view = await tab.opened("review:0")

    assert view["callback_id"] == "notice"


async def test_pages_lead_through_any_number_and_back(ask, home, monkeypatch):
    monkeypatch.setattr("bot.use_cases.home.ROWS", 2)
    for number in range(5):
        await ask(an_action(f"tool_{number}"))
    tab = await home("U0DANA")

    seen = [await tab.says()]
    for _ in range(2):
        await tab.press("home:go.further")
        seen.append(await tab.says())

    found = [[n for n in range(5) if f"tool_{n} " in page] for page in seen]
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(chain(*found)) == [*range(5)]
    await tab.press("home:go.start")
    assert f"tool_{found[0][0]} " in await tab.says()


async def test_a_command_opens_the_list_and_a_call_is_decided_from_it(ask, slack, dana):
    asking = await ask(an_action("pay", {"amount": 5}))
    await slack.command("U0DANA", "C0APPROVALS", "/approvals")

    await dana.press_in(await dana.view("pay 5 · until"), "review:0.0")
    await dana.press_in(await dana.view("pay", depth=2), "approve:0")

    assert (await asking).decisions[0].type == "approve"
