"""What people decide is signed by the bot's key, and agents with a ring take only that."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from agent_adapter import Context, ReceiptError
from agent_adapter.receipts.dsse import load_envelope
from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from bot.app import running
from bot.sentences import in_answer
from playground.workspace import TEAM
from tests.conftest import an_agent, keys_of, settings_for, until
from tests.support.builders import an_action, an_interrupt
from tests.support.topologies import KEYS, connected


def change(signing, kid, **changed):
    write_keys(
        signing.ring_path,
        [key.model_copy(update=changed) if key.kid == kid else key for key in read_keys(signing.ring_path)],
    )


async def test_keys_change_while_cards_are_open(client, playground, redis_url, signing, dana):
    """What the old key signed in its time is taken, and what is decided later is signed with the next key."""
    following = make_signing(signing.ring_path.parent, team=TEAM["id"], name="next.pem")
    async with running(settings_for(playground, redis_url)) as bot:
        await until(lambda: bot.health.ready)
        before, after = await client.publish(asked("pay")), await client.publish(asked("send"))
        await dana.press(await dana.card("pay"), "approve:0")
        await dana.card("send")
    change(signing, signing.kid, not_after=datetime.now(UTC))

    async with running(settings_for(playground, redis_url, **keys_of(following))) as bot:
        await until(lambda: bot.health.ready)
        await dana.press(await dana.card("send"), "approve:0")

        assert [kids(stored(redis_url, each)) for each in (before, after)] == [
            {signing.kid}, {following.kid},
        ]  # fmt: skip
        for each in (before, after):
            assert (await client.wait(each)).records[0].decided_by == "U0DANA"


async def test_what_a_revoked_key_signed_is_not_taken(start_bot, client, redis_url, signing, dana):
    await start_bot()
    interrupt_id = await client.publish(asked())
    await dana.press(await dana.card("rejected at"), "approve:0")
    assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
    change(signing, signing.kid, revoked=True)

    (statement,) = signed_in(stored(redis_url, interrupt_id))
    with pytest.raises(ReceiptError) as refused:
        signing.ring.open_statement(statement, namespace="assent")
    assert refused.value.code == "revoked"


async def test_an_agent_hears_why_a_decision_did_not_count_until_the_deadline(
    start_bot, client, redis_url, signing, dana
):
    """The bot ended the request when it was approved. What a model reads quotes nothing that is stored."""
    await start_bot()
    interrupt_id = await client.publish(asked())
    await dana.press(await dana.card("rejected at"), "approve:0")
    await client.wait(interrupt_id)
    change(signing, signing.kid, revoked=True)
    with connected(redis_url, decode_responses=True) as redis:
        redis.hset(KEYS.req(interrupt_id), mapping={"created": "1000", "deadline": "2000"})
        redis.hset(KEYS.card(interrupt_id), "deadline", "2000")

    async with an_agent(redis_url) as other:
        resume = await other.wait(interrupt_id)

    assert resume.status == "expired"
    assert resume.reason.startswith("A stored decision does not count. ")
    assert "revoked" in resume.reason
    assert resume.decisions[0].type == "reject"
    assert resume.decisions[0].message == "Nobody decided in time. A stored decision does not count."


def asked(*tools):
    tools = tools or ("send_email",)
    return an_interrupt(*map(an_action, tools), run=tools[0], context=Context(requested_by="U0NOOR"))


def stored(redis_url, interrupt_id):
    with connected(redis_url, decode_responses=True) as redis:
        return redis.hgetall(KEYS.card(interrupt_id))


def signed_in(card):
    return [line for name, text in card.items() if name.startswith("signed:") for line in text.splitlines()]


def kids(card):
    return {kid for line in signed_in(card) for kid in load_envelope(line).signatures}


async def test_a_click_is_refused_when_the_key_has_ended(start_bot, client, redis_url, signing, dana, caplog):
    bot = await start_bot()
    interrupt_id = await client.publish(asked())
    card = await dana.card("rejected at")
    change(signing, signing.kid, not_after=datetime.now(UTC) - timedelta(seconds=1))
    await until(lambda: "signing" in bot.health.warnings)

    await dana.press(card, "approve:0")

    await dana.notice(in_answer.MAY_NOT_SIGN)
    assert signed_in(stored(redis_url, interrupt_id)) == []
    assert not bot.health.signed
    (logged,) = [each for each in caplog.records if each.message == "click.not_signed"]
    assert signing.kid in logged.reason
    assert not logged.exc_info


SILENT = """\
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {match: {tool: note}, risk: low, on_timeout: approve, time_limit: 8s}
"""


@pytest.fixture
def silent_rules(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(SILENT)
    return {"policy": str(path), "approvers": "", "channel": None}


async def test_a_rejection_that_somebody_hides_in_redis_is_no_silence(
    start_bot, client, redis_url, silent_rules, dana
):
    """The bot that took it remembers it: put the card back as it was before, and the deadline still rejects."""
    await start_bot(**silent_rules)
    interrupt_id = await client.publish(asked("note"))
    shown = await dana.card("note")
    with connected(redis_url) as redis:
        # A message is in Slack a moment before its record knows it.
        await until(lambda: redis.hexists(KEYS.card(interrupt_id), "part:0:0"))
        before, due = redis.dump(KEYS.card(interrupt_id)), redis.zscore(KEYS.due, interrupt_id)

        await dana.fill(await dana.opened(shown, "reject:0"), reason="never")

        assert redis.hget(KEYS.card(interrupt_id), "d:0")
        redis.restore(KEYS.card(interrupt_id), 0, before, replace=True)
        redis.zadd(KEYS.due, {interrupt_id: due})

    decision = (await client.wait(interrupt_id)).decisions[0]

    assert (decision.type, "somebody refused it" in decision.message) == ("reject", True)


async def test_a_forged_decision_is_named_once_while_the_agent_waits_on(
    start_bot, client, dana, redis, caplog
):
    await start_bot()
    interrupt_id = await client.publish(asked())
    await dana.card("rejected at")
    card = KEYS.card(interrupt_id)
    await redis.hset(card, mapping={"d:0": '{"decision":{"type":"approve"}}', "status": "decided"})
    waiting = asyncio.create_task(client.wait(interrupt_id))
    await until(lambda: "waits on" in caplog.text)
    for _ in range(3):
        client._replies.wake(interrupt_id)
        # It waits again before it reads, so two more reads are over after the third time.
        await until(lambda: interrupt_id in client._replies._waiting)

    assert len([each for each in caplog.messages if "waits on" in each]) == 1
    assert not waiting.done()
    waiting.cancel()
