"""An agent signs what it asks with a key of its own, and the card says that the bot has checked it."""

import pytest

from agent_adapter import ApprovalClient, Context
from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from tests.support.builders import an_action, an_interrupt
from tests.support.people import words
from tests.support.redis_users import address_for
from tests.support.signing import unsigned
from tests.support.topologies import KEYS

SAYS = " · verified agent"
RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: pay}, agent: verified}
"""


def add(signing, signer, agent, **fields):
    key = RingKey.of(public_of(signer), "agent", namespace="assent", agent=agent, **fields)
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])


@pytest.fixture
def signer(signing):
    """The key of the agent `billing`, which the ring has."""
    found = new_signer()
    add(signing, found, "billing")
    return found


def asking(redis_url, signer):
    return ApprovalClient.from_url(address_for(redis_url, "agent", "billing"), agent="billing", signer=signer)


def asked(tool, run=""):
    return an_interrupt(an_action(tool), run=run or tool, context=Context(requested_by="U0NOOR"))


async def shown(dana, name):
    return words((await dana.card(name))["blocks"])


@pytest.fixture
def start(start_bot, policy):
    """Start a bot by these rules."""
    return lambda: start_bot(policy=str(policy))


async def test_the_card_says_that_the_agent_is_verified_while_it_is_open_and_later(
    start, redis_url, signer, dana
):
    """A question without a signature is asked as before, but not under a rule for verified agents: it reads what to do."""
    await start()
    async with asking(redis_url, signer) as client, asking(redis_url, None) as plain:
        interrupt_id = await client.publish(asked("pay"))
        assert SAYS in await shown(dana, "pay")
        await dana.press(await dana.card("pay"), "approve:0")
        assert (await client.wait(interrupt_id)).decisions[0].type == "approve"
        assert SAYS in await shown(dana, "Approved by")

        await plain.publish(asked("send"))
        assert SAYS not in await shown(dana, "send")
        refused = await plain.wait(await plain.publish(asked("pay", run="other")))

    assert (refused.status, refused.code) == ("refused", "agent")
    assert "ASSENT_AGENT_KEY" in refused.reason


@unsigned
async def test_a_bot_without_a_ring_refuses_everything_under_such_a_rule(start, redis_url, signer):
    """It cannot tell who asks."""
    await start()
    async with asking(redis_url, signer) as client:
        refused = await client.wait(await client.publish(asked("pay")))

    assert (refused.status, refused.code) == ("refused", "agent")


@pytest.mark.parametrize(
    "fault", ["a stranger's key", "the key of another agent", "a key that has ended", "another question"]
)
async def test_whoever_writes_to_redis_cannot_make_an_agent_verified(
    start, redis_url, redis, signing, signer, dana, fault, caplog
):
    """The ring does not have the key, or has it for another agent, or it signed something else. The log says what to do."""
    stranger = new_signer()
    if fault == "the key of another agent":
        add(signing, stranger, "hr")
    if fault == "a key that has ended":
        add(signing, stranger, "billing", not_after="2026-01-01T00:00:00Z")
    async with asking(redis_url, signer if fault == "another question" else stranger) as client:
        first, second = await client.publish(asked("book")), await client.publish(asked("send"))
    if fault == "another question":
        await redis.hset(KEYS.req(second), "signature", await redis.hget(KEYS.req(first), "signature"))

    await start()

    assert SAYS not in await shown(dana, "send")
    reasons = [each.reason for each in caplog.records if each.message == "agent.not_verified"]
    assert reasons
    if fault == "a stranger's key":
        assert "add the agent's public key to the ring" in reasons[0]


async def test_an_agent_that_knows_the_ring_says_that_a_key_is_not_its_own(
    redis_url, signing, signer, monkeypatch, caplog
):
    """With that of another agent it warns. With the key of a bot it could approve its own calls, so it does not start."""
    monkeypatch.setenv("ASSENT_RING", str(signing.ring_path))
    monkeypatch.setenv("ASSENT_AGENT_KEY", signer.private_bytes.decode())
    async with ApprovalClient.from_url(address_for(redis_url, "agent", "hr"), agent="hr"):
        assert "for the agent billing, and this is the agent hr" in caplog.text

    monkeypatch.setenv("ASSENT_AGENT_KEY", signing.key_path.read_text())
    with pytest.raises(
        InvalidRequestError, match=r"for receipts, and an agent must not have it.*--purpose agent"
    ):
        ApprovalClient.from_url(redis_url, agent="billing")
