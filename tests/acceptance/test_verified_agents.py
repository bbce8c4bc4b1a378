"""An agent signs what it asks with a key of its own, and the card says that the bot has checked it."""

import pytest

from agent_adapter import ApprovalClient, Context
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from tests.support.builders import an_action, an_interrupt
from tests.support.people import words
from tests.support.redis_users import address_for
from tests.support.signing import unsigned
from tests.support.topologies import KEYS, connected

SAYS = " · verified agent"


@pytest.fixture
def signer(signing):
    """The key of the agent `billing`, which the ring has."""
    found = new_signer()
    key = RingKey.of(public_of(found), "agent", namespace="assent", agent="billing")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return found


def asking(redis_url, signer, agent="billing"):
    return ApprovalClient.from_url(address_for(redis_url, "agent", agent), agent=agent, signer=signer)


def asked(run, agent="billing"):
    return an_interrupt(an_action(run), run=run, agent=agent, context=Context(requested_by="U0NOOR"))


async def shown(dana, name):
    return words((await dana.card(name))["blocks"])


async def test_the_card_says_that_the_agent_is_verified_while_it_is_open_and_later(
    start_bot, redis_url, signer, dana
):
    """Beside the person for whom it asks. A question without a signature is asked as before."""
    await start_bot()
    async with asking(redis_url, signer) as client, asking(redis_url, None) as plain:
        interrupt_id = await client.publish(asked("pay"))
        assert SAYS in await shown(dana, "pay")
        await dana.press(await dana.card("pay"), "approve:0")
        assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
        assert SAYS in await shown(dana, "Approved by")

        await plain.publish(asked("send"))
        assert SAYS not in await shown(dana, "send")


@pytest.mark.parametrize("whose", ["receipts", "hr"])
async def test_an_agent_that_knows_the_ring_says_that_a_key_is_not_its_own(
    redis_url, signing, signer, monkeypatch, caplog, whose
):
    """With the key of a bot it could approve its own calls, so it does not start. With that of another agent it warns."""
    monkeypatch.setenv("ASSENT_RING", str(signing.ring_path))
    if whose == "receipts":
        monkeypatch.setenv("ASSENT_AGENT_KEY_FILE", str(signing.key_path))
        with pytest.raises(
            InvalidRequestError, match=r"for receipts, and an agent must not have it.*--purpose agent"
        ):
            ApprovalClient.from_url(redis_url, agent="billing")
    else:
        monkeypatch.setenv("ASSENT_AGENT_KEY", signer.private_bytes.decode())
        async with ApprovalClient.from_url(address_for(redis_url, "agent", "hr"), agent="hr"):
            assert "for the agent billing, and this is the agent hr" in caplog.text


@pytest.mark.parametrize("fault", ["stranger", "other agent", "other question"])
async def test_whoever_writes_to_redis_cannot_make_an_agent_verified(
    start_bot, redis_url, signing, signer, dana, fault, caplog
):
    """A key that the ring does not have, or has for another agent or purpose; a signature of another question."""
    stranger = new_signer()
    if fault == "other agent":
        key = RingKey.of(public_of(stranger), "agent", namespace="assent", agent="hr")
        write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    async with asking(redis_url, signer if fault == "other question" else stranger) as client:
        first, second = await client.publish(asked("pay")), await client.publish(asked("send"))
    with connected(redis_url, decode_responses=True) as redis:
        if fault == "other question":
            redis.hset(KEYS.req(second), "signature", redis.hget(KEYS.req(first), "signature"))

    await start_bot()

    assert SAYS not in await shown(dana, "send")
    assert "agent.not_verified" in caplog.text
    if fault == "stranger":
        reasons = [getattr(each, "reason", "") for each in caplog.records]
        assert any("add the agent's public key to the ring" in reason for reason in reasons)


async def test_a_question_that_was_changed_after_it_was_signed_is_not_verified(
    start_bot, redis_url, signer, dana
):
    """Somebody writes other arguments into Redis before the bot asks."""
    async with asking(redis_url, signer) as client:
        interrupt_id = await client.publish(asked("pay"))
    with connected(redis_url, decode_responses=True) as redis:
        name = KEYS.req(interrupt_id)
        body = decode(redis.hget(name, "body"))
        body["request"]["action_requests"][0]["args"]["to"] = "mallory@example.com"
        redis.hset(name, "body", encode(body))

    await start_bot()

    assert SAYS not in await shown(dana, "mallory")


async def test_what_was_verified_stays_so_and_what_was_not_is_not_verified_later(
    start_bot, redis_url, signing, signer, dana
):
    """It is fixed when people are asked: a signature that comes later, or a key that is revoked later, changes no card."""
    bot = await start_bot()
    async with asking(redis_url, signer) as client, asking(redis_url, None) as plain:
        before, after = await client.publish(asked("pay")), await plain.publish(asked("send"))
        await dana.card("pay")
        await dana.card("send")
        with connected(redis_url, decode_responses=True) as redis:
            redis.hset(KEYS.req(after), "signature", redis.hget(KEYS.req(before), "signature"))
        write_keys(
            signing.ring_path,
            [
                key.model_copy(update={"revoked": True}) if key.purpose == "agent" else key
                for key in read_keys(signing.ring_path)
            ],
        )
        assert (await bot.store.admitted(before)).admission.agent_verified
        assert not (await bot.store.admitted(after)).admission.agent_verified


STRICT = """
default: {channel: C0APPROVALS, approvers: [U0DANA], agent: verified}
rules:
  - match: {tool: look, args: {properties: {n: {type: number, maximum: 5}}, required: [n]}}
    agent: any
"""


@pytest.fixture
def strict(start_bot, tmp_path):
    """Start a bot that takes most calls from verified agents only."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(STRICT)

    return lambda: start_bot(policy=str(policy), approvers="", channel=None)


async def test_a_rule_can_take_verified_agents_only(strict, redis_url, signer, dana):
    """The agent that is refused reads the code and what to do."""
    await strict()
    async with asking(redis_url, signer) as client, asking(redis_url, None) as plain:
        refused = await plain.wait(await plain.publish(asked("send")))
        await client.publish(asked("pay"))
        assert SAYS in await shown(dana, "pay")

    assert (refused.status, refused.code) == ("refused", "agent")
    assert "ASSENT_AGENT_KEY" in refused.reason


@unsigned
async def test_a_bot_without_a_ring_refuses_everything_under_such_a_rule(strict, redis_url, signer):
    """It cannot tell who asks."""
    await strict()
    async with asking(redis_url, signer) as client:
        refused = await client.wait(await client.publish(asked("pay")))

    assert (refused.status, refused.code) == ("refused", "agent")


async def test_an_edit_into_such_a_rule_is_refused_too(strict, redis_url, dana):
    """Otherwise an unverified agent would run by an edit what it may not ask."""
    await strict()
    async with asking(redis_url, None) as plain:
        await plain.publish(an_interrupt(an_action("look", {"n": 1}), context=Context(requested_by="U0NOOR")))
        view = await dana.opened(await dana.card("look"), "edit:0")

        answer = await dana.fill(view, n="9")

    assert "verified agents only" in str(answer)
