"""Who somebody is, asked of the stand-in for Slack."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, ClientTimeout

from bot.domain.errors import InterruptFaultError, SlackUnclearError, WorkspaceFaultError
from bot.domain.person import Person
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from playground.client import Control
from playground.server import Playground
from tests.conftest import forgotten, until


@pytest.fixture
async def directory(playground: Playground) -> AsyncIterator[Directory]:
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        yield Directory(SlackClient(playground.bot_token, playground.api_url, session))


@pytest.mark.parametrize(
    "person",
    [
        Person("U0DANA", "T0PLAY"),
        Person("U0GUEST", "T0PLAY", is_guest=True),
        Person("U0LEFT", "T0PLAY", is_deactivated=True),
        Person("U0CONN", "T0OTHER", is_stranger=True),
        Person("U0ROBO", "T0PLAY", is_bot=True),
        Person("U0NOBODY", "", is_deactivated=True),
    ],
    ids=lambda person: person.id,
)
async def test_people_are_what_slack_says(directory, person):
    """Guests, strangers, bots and people who left are told apart. Whom Slack does not know has left."""
    assert await directory.person(person.id) == person


@pytest.mark.parametrize(
    ("flag", "known_as"), [("is_ultra_restricted", "is_guest"), ("is_app_user", "is_bot")]
)
async def test_slacks_other_words_for_guests_and_bots_count_too(directory, slack, flag, known_as):
    """Single-channel guests are guests, and app users are bots."""
    await slack.person("U0DANA", **{flag: True})

    assert getattr(await directory.person("U0DANA"), known_as)


@pytest.mark.parametrize(
    ("user", "approvers", "matching"),
    [
        ("U0DANA", ["U0DANA", "U0ERIK"], {"U0DANA"}),
        ("U0DANA", ["S0OPS"], {"S0OPS"}),
        ("U0DANA", ["U0DANA", "S0OPS", "channel"], {"U0DANA", "S0OPS", "channel"}),
        ("U0MIRA", ["U0DANA", "S0OPS"], set()),
        ("U0NOOR", ["U0DANA", "channel"], {"channel"}),
        ("U0CONN", ["channel"], set()),
    ],
)
async def test_a_person_matches_by_id_group_or_channel(directory, user, approvers, matching):
    """Each entry of the approver list is matched by itself."""
    assert await directory.matching(user, approvers, "C0APPROVALS") == matching


async def test_an_answer_is_believed_for_a_while(directory, slack, monkeypatch):
    """Clicks of a minute cost one question each for the person and the group; then Slack is asked again."""
    for _ in range(3):
        await directory.person("U0ERIK")
        await directory.matching("U0ERIK", ["S0OPS", "channel"], "C0APPROVALS")
    assert [await asked(slack, m) for m in LOOK_UPS] == [1, 1, 1]

    monkeypatch.setattr("bot.slack.directory.FRESH_FOR", 0.0)
    await directory.person("U0ERIK")
    await directory.matching("U0ERIK", ["S0OPS", "channel"], "C0APPROVALS")

    assert [await asked(slack, m) for m in LOOK_UPS] == [2, 2, 2]


@pytest.mark.parametrize("approvers", [["U0ERIK"], ["S0OPS", "U0MIRA"], ["channel"], ["U0NOOR"]])
async def test_what_slack_has_said_is_recalled_without_asking(directory, slack, approvers):
    """All of it or nothing: somebody is judged by the person and every entry, and no longer than each is believed."""
    assert directory.recall("U0ERIK", approvers, "C0APPROVALS") is None
    person = await directory.person("U0ERIK")
    matching = await directory.matching("U0ERIK", approvers, "C0APPROVALS")
    asked_before = len(await slack.calls())

    assert directory.recall("U0ERIK", approvers, "C0APPROVALS") == (person, matching)
    assert directory.recall("U0ERIK", approvers, "C0APPROVALS", within=0.0) is None
    assert directory.recall("U0ERIK", [*approvers, "S0OTHER"], "C0APPROVALS") is None
    assert len(await slack.calls()) == asked_before


async def test_somebody_who_acted_from_another_workspace_is_recalled_as_a_stranger(directory):
    """As whoever asks Slack is told."""
    await directory.person("U0ERIK")
    directory.came_from("U0ERIK", "T0OTHER")

    recalled = directory.recall("U0ERIK", [], "C0APPROVALS")

    assert recalled == (await directory.person("U0ERIK"), frozenset())
    assert recalled[0].is_stranger


LOOK_UPS = ("users.info", "usergroups.users.list", "conversations.members")


async def asked(slack: Control, method: str) -> int:
    return len(await slack.calls(method))


async def test_a_question_that_fails_when_nobody_waits_any_longer_is_in_the_log(
    directory, slack, unnoticed, caplog
):
    """A click gave up before Slack did: an operator finds what Slack said."""
    await slack.fault("users.info", "delay", seconds=0.3)
    await slack.fault("users.info", "error", error="fatal_error")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await directory.person("U0DANA")
    await until(lambda: caplog.records)
    await forgotten()

    assert caplog.records[-1].reason.startswith("users.info: fatal_error")
    assert unnoticed == []


async def test_what_slack_says_has_changed_is_asked_again(directory, slack):
    """Somebody taken out of a group, or deactivated, loses their say with Slack's next event about it."""
    await directory.person("U0ERIK")
    await directory.matching("U0ERIK", ["S0OPS"], "C0APPROVALS")
    await slack.person("U0ERIK", deleted=True)
    await slack.group("S0OPS", users=["U0DANA"])

    directory.forget("user", "U0ERIK")
    directory.forget("group", "S0OPS")
    directory.forget("group", "S0NEVER")

    assert (await directory.person("U0ERIK")).is_deactivated
    assert not await directory.matching("U0ERIK", ["S0OPS"], "C0APPROVALS")


class SlowWay(SlackClient):
    """Slack's first answer about a group is on its way until it may arrive."""

    may_arrive: asyncio.Event | None = None

    async def group_members(self, group: str) -> frozenset[str]:
        members = await super().group_members(group)
        if self.may_arrive is None:
            self.may_arrive = asyncio.Event()
            await self.may_arrive.wait()
        return members


async def test_an_answer_of_before_a_change_is_not_kept(playground, slack):
    """It was on its way when somebody left the group: whoever asks after that hears what is so now, then and later."""
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        client = SlowWay(playground.bot_token, playground.api_url, session)
        directory = Directory(client)
        before = asyncio.create_task(directory.matching("U0ERIK", ["S0OPS"], "C0APPROVALS"))
        await until(lambda: client.may_arrive)
        await slack.group("S0OPS", users=["U0DANA"])
        directory.forget("group", "S0OPS")

        async with asyncio.timeout(30):
            assert not await directory.matching("U0ERIK", ["S0OPS"], "C0APPROVALS")
        client.may_arrive.set()
        await before
        assert not await directory.matching("U0ERIK", ["S0OPS"], "C0APPROVALS")


async def test_an_answer_is_as_old_as_its_question(directory, slack, monkeypatch):
    """A Slack that takes its time makes nothing fresher."""
    monkeypatch.setattr("bot.slack.directory.FRESH_FOR", 0.3)
    await slack.fault("users.info", "delay", seconds=0.4)
    await directory.person("U0ERIK")

    await directory.person("U0ERIK")

    assert await asked(slack, "users.info") == 2


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "error", "error": "token_revoked"}, WorkspaceFaultError),
        ({"kind": "drop"}, SlackUnclearError),
    ],
    ids=["revoked", "cut"],
)
async def test_when_slack_does_not_say_it_is_an_error(directory, slack, fault, expected):
    """Doubt about a person rises, so that nobody decides on a guess; and it is not kept."""
    fault_id = await slack.fault("users.info", times=None, **fault)
    with pytest.raises(expected):
        await directory.person("U0DANA")

    await slack.remove_fault(fault_id)

    assert await directory.person("U0DANA") == Person("U0DANA", "T0PLAY")


async def test_a_group_that_is_gone_has_nobody_and_a_channel_that_is_gone_is_an_error(directory):
    """Others on the same list decide. Nobody decides as a member of a channel that the bot cannot see."""
    assert await directory.matching("U0DANA", ["S0NEVER", "U0DANA"], "C0APPROVALS") == {"U0DANA"}
    with pytest.raises(InterruptFaultError, match="channel_not_found"):
        await directory.matching("U0DANA", ["channel"], "C0NEVER")


async def test_all_groups_of_somebody_take_one_question(directory, slack):
    """And judging them afterwards takes none."""
    for number in range(5):
        await slack.group(f"S0G{number}", handle=f"g{number}", users=["U0DANA", "U0MIRA"][: 1 + number % 2])
    await directory._slack.who_am_i()

    assert {*await directory.groups_of("U0MIRA")} == {"S0G1", "S0G3"}
    assert {*await directory.groups_of("U0DANA")} == {"S0OPS", *(f"S0G{number}" for number in range(5))}
    assert await directory.members("S0G1", "") == {"U0DANA", "U0MIRA"}

    assert len(await slack.calls("usergroups.list")) == 1
    assert await slack.calls("usergroups.users.list") == []


async def test_a_group_that_changed_is_asked_again_however_it_was_known(directory, slack):
    await directory._slack.who_am_i()
    assert await directory.groups_of("U0DANA") == ["S0OPS"]
    await slack.group("S0OPS", users=["U0ERIK"])

    directory.forget("group", "S0OPS")

    assert await directory.members("S0OPS", "") == {"U0ERIK"}
    assert await directory.groups_of("U0DANA") == []


async def test_an_app_that_may_not_see_groups_names_none(directory, slack):
    assert await directory.groups_of("U0DANA") == []
    assert await slack.calls("usergroups.list") == []


async def test_channels_of_somebody_are_those_that_the_app_sees(directory):
    assert {"C0APPROVALS", "C0SHARED"} <= {*await directory.channels_of("U0DANA")}
    assert "C0PRIVATE" not in await directory.channels_of("U0DANA")
    assert "C0APPROVALS" not in await directory.channels_of("U0CONN")
