"""Keys of the HTTP API, as an operator makes them and as Redis keeps them."""

import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import open_redis
from bot.api.keys import KeyRing
from bot.domain.policy import Limits
from tests.support.builders import an_action, an_interrupt
from tests.support.receipts import SEAL, bot_signing


@pytest.fixture
async def ring(redis_url):
    async with open_redis(redis_url) as redis:
        yield KeyRing(redis, Keys("assent"))


async def test_a_key_says_whom_it_vouches_for(ring):
    """One person, whomever its holder names, or nobody, as a key of before."""
    nobody, one, any_ = [
        await ring.find(await ring.create("billing", **given))
        for given in ({}, {"requester": "U0DANA"}, {"may_name_requesters": True})
    ]

    assert [key.vouches_for("U0DANA") for key in (nobody, one, any_)] == [False, True, True]
    assert [key.vouches_for("U0ERIK") for key in (nobody, one, any_)] == [False, False, True]


async def test_the_secret_is_not_stored(ring, redis):
    """Whoever reads Redis cannot speak for an agent."""
    written = await ring.create("billing")
    secret = written.split("_", 2)[2]

    assert secret not in str(await redis.hgetall("{assent}:keys"))


CHANGED = {
    "other secret": lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
    "shorter": lambda key: key[:-1],
    "longer": lambda key: f"{key}A",
    "other prefix": lambda key: key.replace("ass_", "asx_"),
    "other id": lambda key: "ass_000000000000_" + key.split("_", 2)[2],
    "upper": lambda key: key.upper(),
    "newline": lambda key: f"{key}\n",
    "empty": lambda key: "",
    "not ASCII": lambda key: "ass_é_é",
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
async def test_a_changed_key_is_not_accepted(ring, changed):
    """One wrong character is enough."""
    written = await ring.create("billing")

    assert await ring.find(changed(written)) is None


@pytest.mark.parametrize("text", ["xx", "[1]", "{}", '{"secret":5}', '{"secret":"é"}'])
async def test_an_entry_that_no_bot_writes_is_no_key(ring, redis, caplog, text):
    """Its holder is a stranger, and the log says which entry somebody has overwritten."""
    written = await ring.create("billing")
    await redis.hset("{assent}:keys", written.split("_")[1], text)

    assert await ring.find(written) is None
    assert [each.message for each in caplog.records] == ["api.key_unreadable"]


async def test_a_revoked_key_is_none_at_once(ring):
    """There is nothing to wait for, and others stay."""
    first, second = await ring.create("billing"), await ring.create("billing")

    assert await ring.revoke(first.split("_")[1])
    assert await ring.find(first) is None
    assert await ring.find(second)
    assert not await ring.revoke(first.split("_")[1])


async def test_a_key_tells_when_it_was_last_used(ring):
    """So that an operator sees which may go."""
    used, unused = await ring.create("billing"), await ring.create("reports")
    await ring.find(used)

    by_agent = {key.agent: key for key in await ring.list()}
    assert by_agent["billing"].used_at >= by_agent["billing"].created_at
    assert by_agent["reports"].used_at is None
    assert unused.startswith(f"ass_{by_agent['reports'].id}_")


async def test_keys_are_made_listed_and_revoked_by_command(command, ring):
    """The key is printed once; the list shows its id, its agent and its use, and never the secret."""
    code, printed, _ = await command("keys", "create", "billing")
    assert code == 0
    written = printed.strip()
    assert re.fullmatch(r"ass_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", written)
    key = await ring.find(written)
    assert key.agent == "billing"

    _, listed, _ = await command("keys", "list")
    assert re.fullmatch(rf"{key.id}  billing +made \d{{4}}-\d\d-\d\d \d\d:\d\d  used \d{{4}}-.*\n", listed)
    assert written.split("_", 2)[2] not in listed

    assert (await command("keys", "revoke", key.id))[0] == 0
    assert await ring.find(written) is None
    assert await command("keys", "revoke", key.id) == (
        1, "", f"there is no key {key.id}: python -m bot keys list shows them\n",
    )  # fmt: skip


async def test_an_operator_needs_no_signing_key_for_keys_of_the_api(command, ring, signing):
    """To list and revoke, the ring may be named all the same. What bots are to take needs their seal key."""
    key_id = (await ring.create("billing")).split("_")[1]
    named = {"ASSENT_RING": str(signing.ring_path)}

    code, listed, _ = await command("keys", "list", **named)
    assert (code, key_id in listed) == (0, True)
    code, _, said = await command("keys", "create", "billing", **named)
    assert (code, "ASSENT_SEAL_KEY is not" in said) == (2, True)
    named["ASSENT_SEAL_KEY_FILE"] = str(signing.seal_path)
    _, listed, _ = await command("keys", "list", **named)
    assert "not sealed" in listed
    assert (await command("keys", "revoke", key_id, **named))[0] == 0


async def test_a_key_that_vouches_is_made_by_command(command, ring):
    """For one person, or for whomever its holder names, and never for both; the list says which."""
    _, fixed, _ = await command("keys", "create", "assistant", "--requester", "U0DANA")
    _, naming, _ = await command("keys", "create", "portal", "--may-name-requesters")

    assert (await ring.find(fixed.strip())).requester == "U0DANA"
    assert (await ring.find(naming.strip())).may_name_requesters
    _, listed, _ = await command("keys", "list")
    assert "  for U0DANA\n" in listed
    assert "  names requesters\n" in listed
    for wrong in (["--requester", "dana"], ["--requester", "U0DANA", "--may-name-requesters"]):
        code, printed, errors = await command("keys", "create", "x", *wrong)
        assert (code, printed) == (2, "")
        assert "--requester" in errors


async def test_a_name_that_no_agent_can_have_is_refused(command, redis):
    """Nothing is made, and the sentence names the place."""
    code, printed, errors = await command("keys", "create", "Billing")

    assert (code, printed) == (2, "")
    assert errors.startswith("agent: ")
    assert await redis.hgetall("{assent}:keys") == {}


@pytest.fixture
async def sealed_ring(redis_url):
    """As a bot with a seal key has it."""
    async with open_redis(redis_url) as redis:
        yield KeyRing(redis, Keys("assent"), seal=SEAL)


async def test_a_bot_with_a_seal_takes_sealed_keys_only(ring, sealed_ring):
    """A key that somebody wrote into Redis speaks for nobody."""
    forged, genuine = await ring.create("billing"), await sealed_ring.create("billing")

    assert await sealed_ring.find(forged) is None
    assert (await sealed_ring.find(genuine)).agent == "billing"
    assert sorted(key.sealed for key in await sealed_ring.list()) == [False, True]


@pytest.mark.parametrize(
    "change", [{"agent": "payroll"}, {"may_name_requesters": True}, {"requester": "U0DANA"}]
)
async def test_nobody_changes_a_sealed_key(sealed_ring, redis, change):
    written = await sealed_ring.create("billing")
    [(name, text)] = (await redis.hgetall("{assent}:keys")).items()
    await redis.hset("{assent}:keys", name, encode(decode(text) | change))

    assert await sealed_ring.find(written) is None


async def test_the_seal_of_a_key_fits_no_other_key(sealed_ring, redis):
    narrow, wide = [await sealed_ring.create("billing", may_name_requesters=wide) for wide in (False, True)]
    first, second = [await redis.hget("{assent}:keys", key.split("_")[1]) for key in (narrow, wide)]
    swapped = decode(first) | {name: decode(second)[name] for name in ("may_name_requesters", "seal")}
    await redis.hset("{assent}:keys", narrow.split("_")[1], encode(swapped))

    assert await sealed_ring.find(narrow) is None


async def test_only_a_key_vouches_for_a_requester(sealed_ring, redis, client, store):
    """Somebody writes a name beside the genuine one, or moves the genuine one to another record."""
    store.signing = bot_signing(Ed25519PrivateKey.generate(), "T1")
    one, other = an_interrupt(an_action(), run="one"), an_interrupt(an_action(), run="other")
    await sealed_ring.vouch(one.id, "U0NOOR")
    mine, its = (store.keys.vouched(each.id) for each in (one, other))
    [genuine] = await redis.smembers(mine)
    await redis.sadd(mine, "U0DANA", genuine.replace("U0NOOR", "U0ERIK"))
    await redis.sadd(its, genuine)

    found = [await store.reserve("billing", Limits(), interrupt=each) for each in (one, other)]
    assert found == [{"U0NOOR"}, frozenset()]
