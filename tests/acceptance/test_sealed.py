"""Whoever can write to Redis, and has no key of the bots, changes nothing of what people were asked and decided."""

import asyncio
from datetime import UTC, datetime

from agent_adapter import Context
from agent_adapter.receipts.dsse import load_envelope
from agent_adapter.receipts.key_files import read_keys, write_keys
from bot.app import running
from bot.sentences import in_answer
from playground.demo.keys import make_signing
from playground.workspace import TEAM
from tests.conftest import an_agent, keys_of, settings_for, until
from tests.support.builders import an_action, an_interrupt
from tests.support.people import buttons
from tests.support.topologies import KEYS


def asked(*tools):
    return an_interrupt(*map(an_action, tools), run=tools[0], context=Context(requested_by="U0NOOR"))


async def stored(redis, interrupt_id):
    return await redis.hgetall(KEYS.card(interrupt_id))


async def test_a_request_whose_terms_somebody_changed_is_refused(start_bot, client, redis, dana, caplog):
    """Nobody can decide it, its card says why, and the audit trail has one entry about it."""
    bot = await start_bot()
    interrupt_id = await client.publish(asked("pay"))
    card = await dana.card("pay")
    waiting = asyncio.create_task(client.wait(interrupt_id))
    # As in a bot that has not read the record before.
    bot.store.forget_remembered()

    await redis.hset(KEYS.card(interrupt_id), "approvers", '["U0DANA","U0ERIK","U0NOOR"]')
    await dana.press(card, "reject:0")

    await dana.notice(in_answer.CHANGED)
    changed = await dana.card(in_answer.CHANGED)
    assert (changed["ts"], buttons(changed)) == (card["ts"], [])
    resume = await waiting
    assert resume.status in {"refused", "expired"}
    assert all(each is None or each.type == "reject" for each in resume.decisions)
    trail = [entry for _, entry in await redis.xrange(KEYS.audit)]
    assert [entry["code"] for entry in trail if entry["event"] == "refused"] == ["seal"]
    assert [each.message for each in caplog.records].count("record.changed") == 1


# --- Keys that change -------------------------------------------------------------------------------------------------


def change(signing, kid, **changed):
    write_keys(
        signing.ring_path,
        [key.model_copy(update=changed) if key.kid == kid else key for key in read_keys(signing.ring_path)],
    )


def kids(card):
    lines = (line for name, text in card.items() if name.startswith("signed:") for line in text.splitlines())
    return {kid for line in lines for kid in load_envelope(line).signatures}


async def test_keys_change_while_cards_are_open(client, playground, redis_url, redis, signing, dana):
    """What the old key signed in its time is taken, and what is decided later is signed with the next key.

    Each process reads the ring when it starts.
    """
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

        async with an_agent(redis_url) as started_again:
            for each, signed_by in ((before, signing), (after, following)):
                assert kids(await stored(redis, each)) == {signed_by.kid}
                assert (await started_again.wait(each)).records[0].decided_by == "U0DANA"


async def test_an_agent_hears_why_a_decision_did_not_count_until_the_deadline(
    start_bot, client, redis_url, redis, signing, dana
):
    """Its key was revoked. What a model reads quotes nothing that is stored."""
    await start_bot()
    interrupt_id = await client.publish(asked("pay"))
    await dana.press(await dana.card("rejected at"), "approve:0")
    await client.wait(interrupt_id)
    change(signing, signing.kid, revoked=True)
    await redis.hset(KEYS.req(interrupt_id), mapping={"created": "1000", "deadline": "2000"})
    await redis.hset(KEYS.card(interrupt_id), "deadline", "2000")

    async with an_agent(redis_url) as other:
        resume = await other.wait(interrupt_id)

    assert resume.status == "expired"
    assert resume.reason.startswith("A stored decision does not count. ")
    assert "revoked" in resume.reason
    assert resume.decisions[0].type == "reject"
    assert resume.decisions[0].message == "Nobody decided in time. A stored decision does not count."
