"""The weekly digest is sent once, whatever happens to the bots, Slack and Redis."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import ClientSession, ClientTimeout

from agent_adapter.contract.arguments import encode
from bot.domain.digest import last_end
from bot.jobs.digest import Digests
from bot.policy.file import read_policy
from bot.runtime.health import Health
from bot.slack.client import SlackClient
from bot.store.audit import AuditStore
from bot.store.digest import SentDigests
from tests.bot.domain.test_digest import RULES
from tests.support.people import words

CHANNEL = "C0APPROVALS"
END = last_end(datetime.now(UTC))
HOUR = timedelta(hours=1)


@pytest.fixture
async def client(playground):
    async with ClientSession(timeout=ClientTimeout(total=2)) as session:
        slack = SlackClient(playground.bot_token, playground.api_url, session, within=2)
        await slack.who_am_i()
        yield slack


@pytest.fixture
def bot(redis, store, client):
    """Make the job of one bot process."""

    def make(process="one", *, channel=CHANNEL, folder=None, now=END + HOUR, rules=RULES):
        policy = read_policy(rules, "policy.yaml").policy
        return Digests(
            AuditStore(redis, store.keys, folder and str(folder)),
            SentDigests(redis, store.keys),
            client,
            Health(),
            lambda: policy,
            channel,
            process,
            lambda: now,
        )

    return make


@pytest.fixture
async def week(redis, store):
    """A week in which somebody approved a call."""
    at = int((END - HOUR).timestamp() * 1000)
    facts = {"decision": "approve", "how": "click", "tool": "pay", "rule": "staging"}
    fields = {"event": "decided", "id": "ops.1", "waited": 60_000, "facts": encode(facts)}
    await redis.xadd(store.keys.lane(0).audit, fields, id=f"{at}-0")


async def sent(slack):
    return [words(message["blocks"]) for message in await slack.messages(CHANNEL)]


@pytest.mark.usefixtures("week")
async def test_two_bots_and_a_restart_send_one_digest(bot, slack):
    await asyncio.gather(*(bot(name).send_if_due() for name in ("one", "two", "three")))
    await bot("one").send_if_due()

    (digest,) = await sent(slack)
    assert "People decided *1 call*." in digest


@pytest.mark.usefixtures("week")
async def test_the_next_week_has_a_digest_of_its_own(bot, slack, redis, store):
    await bot().send_if_due()
    later = END + timedelta(days=7)
    await redis.xadd(
        store.keys.lane(0).audit,
        {"event": "admitted", "id": "ops.2"},
        id=f"{int((later - HOUR).timestamp() * 1000)}-0",
    )

    await bot(now=later + HOUR).send_if_due()

    assert len(await sent(slack)) == 2


async def test_marks_of_long_ago_are_removed(redis, store):
    """So a bot that runs for years keeps no more of them than one that runs for ten weeks."""
    sent = SentDigests(redis, store.keys)
    weeks = [f"{END + timedelta(weeks=week):%Y-%m-%d}" for week in range(30)]

    for week in weeks:
        assert await sent.take(week, "one")
        assert not await sent.take(week, "another")

    assert sorted(await redis.hkeys(store.keys.digests)) == weeks[-10:]


async def test_a_week_in_which_nothing_happened_has_no_message(bot, slack):
    await bot().send_if_due()

    assert await sent(slack) == []


@pytest.mark.usefixtures("week")
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ratelimited", "seconds": 1},
        {"kind": "error", "error": "not_in_channel"},
        {"kind": "error", "error": "token_revoked"},
    ],
    ids=lambda fault: fault.get("error", fault["kind"]),
)
async def test_what_slack_refused_is_sent_by_the_next_look(bot, slack, fault, caplog):
    """Slack took nothing, so nobody reads it twice."""
    await slack.fault("chat.postMessage", **fault)

    await bot("one").send_if_due()
    assert await sent(slack) == []
    assert "digest.not_sent" in caplog.messages
    await bot("two").send_if_due()

    assert len(await sent(slack)) == 1


@pytest.mark.usefixtures("week")
async def test_what_slack_may_have_taken_is_not_sent_again(bot, slack, caplog):
    """Slack posts it, and its answer is lost."""
    await slack.fault("chat.postMessage", kind="accept_then_drop")

    await bot("one").send_if_due()
    await bot("two").send_if_due()

    assert len(await sent(slack)) == 1
    assert "digest.unclear" in caplog.messages


@pytest.mark.usefixtures("week")
async def test_a_bot_that_dies_while_it_sends_sends_it_never_twice(bot, slack):
    """The mark is set before. One digest less is better than two."""
    await slack.fault("chat.postMessage", kind="delay", seconds=1)
    dying = asyncio.create_task(bot("one").send_if_due())
    await asyncio.sleep(0.5)
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)

    await bot("two").send_if_due()
    await asyncio.sleep(1)

    assert len(await sent(slack)) <= 1


@pytest.mark.usefixtures("week")
async def test_a_channel_without_the_bot_is_tried_again_and_nothing_is_marked(bot, slack, caplog):
    """Somebody invites the bot, and then the digest comes."""
    await bot(channel="C0NOWHERE").send_if_due()
    assert "digest.not_sent" in caplog.messages

    await bot().send_if_due()

    assert len(await sent(slack)) == 1


@pytest.mark.usefixtures("week")
async def test_a_replica_with_the_folder_sends_and_one_without_it_does_not(bot, slack, tmp_path):
    """The one without it knows only the last days."""
    with_folder = bot("two", folder=tmp_path)
    lane = with_folder.audit.keys.lane(0)
    await with_folder.audit.lease(lane, "two", 1_000)

    await bot("one").send_if_due()
    assert await sent(slack) == []
    await with_folder.send_if_due()

    assert len(await sent(slack)) == 1


@pytest.mark.usefixtures("week")
async def test_entries_that_have_left_redis_count_too(bot, slack, tmp_path):
    """A bot that was away on Monday reads the rest of the week from the folder."""
    late = bot(folder=tmp_path, now=END + timedelta(days=6))
    entries = [entry async for entry in late.audit.in_redis(late.audit.keys.lane(0))]
    late.audit.folder.append(entries)
    await late.audit._redis.delete(late.audit.keys.lane(0).audit)

    await late.send_if_due()

    (digest,) = await sent(slack)
    assert "People decided *1 call*." in digest


async def test_a_late_digest_is_whole_without_a_folder(bot, slack, redis, store):
    """Entries stay in Redis where nothing else keeps them."""
    at = int((END - timedelta(days=6)).timestamp() * 1000)
    await redis.xadd(store.keys.lane(0).audit, {"event": "admitted", "id": "ops.1"}, id=f"{at}-0")
    await bot(now=END + timedelta(days=6)).send_if_due()

    (digest,) = await sent(slack)
    begin = END - timedelta(days=7)
    assert f"from {begin:%d %B %Y}".replace("from 0", "from ") in digest


@pytest.mark.usefixtures("week")
async def test_an_entry_of_an_impossible_time_does_not_change_the_digest(bot, slack, redis, store):
    await redis.xadd(store.keys.lane(0).audit, {"event": "decided", "id": "x"}, id=f"{2**64 - 1}-{2**64 - 1}")

    await bot().send_if_due()

    (digest,) = await sent(slack)
    assert "People decided *1 call*." in digest


@pytest.mark.usefixtures("week")
async def test_a_trail_that_cannot_be_counted_costs_the_digest_and_never_the_bot(bot, monkeypatch, caplog):
    def fail(*_):
        raise ValueError("no bot wrote this")

    monkeypatch.setattr("bot.jobs.digest.Digest.add", fail)

    await bot().send_if_due()

    assert "digest.not_sent" in caplog.messages
