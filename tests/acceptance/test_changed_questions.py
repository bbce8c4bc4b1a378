"""Somebody who can write to Redis changes what an agent asked, before or after people decide. Nothing runs because of it."""

from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient, ConflictError, Context
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.dialects import DIALECTS
from agent_adapter.receipts.ring import Ring
from bot.api.agents import Agents, SealedQuestions
from bot.domain.seal import Seal
from tests.conftest import keys_of
from tests.support.builders import an_action, an_interrupt
from tests.support.http_api import a_key, speaking
from tests.support.people import words
from tests.support.redis_users import address_for
from tests.support.topologies import KEYS, connected

# Whoever changes a question reads it first.
pytestmark = pytest.mark.unencrypted

RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK]}
rules:
  - {match: {tool: verified}, agent: verified}
"""


@pytest.fixture
def start(start_bot, policy, signing):
    """Start a bot that signs and seals."""

    async def start():
        return await start_bot(policy=str(policy), approvers="", channel=None, **keys_of(signing))

    return start


@pytest.fixture
def over_http(redis_url, signing):
    """Ask as the HTTP API does, while no bot draws a card yet."""

    async def ask(interrupt):
        ring, seal = (
            Ring.load(signing.ring_path),
            Seal.parse(signing.seal_path.read_text(), namespace="assent"),
        )
        marks = SealedQuestions(seal, ring, "assent")
        agents = Agents(address_for(redis_url, "bot"), "assent", ring, marks=marks)
        try:
            return await (await agents.find("billing")).publish(interrupt)
        finally:
            await agents.close()

    return ask


@pytest.fixture
def a_caller(redis_url, signing):
    @asynccontextmanager
    async def a_caller(bot):
        key = await a_key(redis_url, seal_key=signing.seal_path.read_text())
        async with speaking(bot.http.port, key) as caller:
            yield caller

    return a_caller


@pytest.fixture
def rewrite(redis_url):
    """Change fields of a stored question. Returns the text that was there."""

    def rewrite(interrupt_id, text=None, **changed):
        name = KEYS.req(interrupt_id)
        with connected(redis_url, decode_responses=True) as redis:
            before = redis.hget(name, "body")
            redis.hset(name, "body", text or encode(decode(before) | changed))
        return before

    return rewrite


def a_payment(tool="pay", amount=9):
    call = an_action(tool, {"to": "al", "amount": amount})
    return an_interrupt(call, run="run-1", context=Context(requested_by="U0NOOR"))


@pytest.mark.parametrize("changed", ["arguments", "title"])
async def test_over_http_an_answer_to_a_question_that_was_changed_before_its_card_is_not_given(
    start, over_http, rewrite, a_caller, dana, changed
):
    """People decide about what they see, and the agent gets no answer to it, whichever address it asks."""
    interrupt_id = await over_http(a_payment(amount=90_000))
    other = a_payment(amount=9).request.model_dump(mode="json", exclude_defaults=True)
    rewrite(
        interrupt_id, **{"request": other} if changed == "arguments" else {"context": {"title": "Checked"}}
    )
    bot = await start()

    card = await dana.card("pay")
    assert "verified agent" not in words(card["blocks"])
    await dana.press(card, "approve:0")
    await dana.card("Approved")

    async with a_caller(bot) as caller:
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/resumed"), ("DELETE", "")):
            if path == "/events":
                async with caller.session.get(f"/v1/interrupts/{interrupt_id}{path}") as answer:
                    assert answer.status == 409
                continue
            status, state = await caller.send(method, f"/interrupts/{interrupt_id}{path}")
            assert (status, state["error"]["code"]) == (409, "conflict")


async def test_over_http_a_no_is_written_only_in_the_dialect_of_the_pause_that_was_asked(
    start, rewrite, a_caller, dana
):
    """A `false` in another dialect is a text, and a text is a yes for many programs."""
    bot = await start()
    async with a_caller(bot) as caller:
        interrupt_id = await caller.ask(
            payload={"question": "Delete it?"}, dialect="boolean", run="r", pause="p"
        )
        await dana.submit(await dana.opened(await dana.card("Delete it?"), "reject:0"))
        _, honest = await caller.send("GET", f"/interrupts/{interrupt_id}", params={"wait": 5})
        assert honest["resume"] is False

        for dialect in DIALECTS:
            before = rewrite(interrupt_id, source={"dialect": dialect, "payload": {"question": "x"}})
            status, state = await caller.send("GET", f"/interrupts/{interrupt_id}")
            assert (status, state["error"]["code"]) == (409, "conflict")
            rewrite(interrupt_id, before)

        assert (await caller.send("GET", f"/interrupts/{interrupt_id}"))[1]["resume"] is False


@pytest.fixture
async def agent(redis_url, signing):
    second = timedelta(seconds=1)
    times = {"grace": second, "claim_lease": second, "reconcile_every": second}
    async with ApprovalClient.from_url(
        address_for(redis_url, "agent", "billing"), agent="billing", ring=signing.ring_path, **times
    ) as found:
        yield found


WORDS = {
    "requester": {"context": {"requested_by": "U0NOOR", "title": "Dana's bonus"}},
    "title": {"context": {"requested_by": "U0DANA", "title": "Refund, checked by finance"}},
    "description": {},
    "route": {"route": {"channel": "C0OFFICE"}},
    "silence": {"on_expiry": "raise"},
}


@pytest.mark.parametrize(
    ("changed", "how"), [("requester", "reviewing"), *((changed, "resuming") for changed in WORDS)]
)
async def test_an_agent_takes_no_answer_to_its_question_in_other_words(
    start, agent, rewrite, dana, erik, changed, how
):
    """Dana asks her agent to pay, and may not approve that. Somebody writes that Noor asks, or that it is a dry run."""
    call = an_action("pay", {"to": "dana", "amount": 900}, description="Pays Dana's invoice")
    mine = an_interrupt(call, run="run-1", context=Context(requested_by="U0DANA", title="Dana's bonus"))
    interrupt_id = await agent.publish(mine)
    request = mine.request.model_dump(mode="json", exclude_defaults=True)
    request["action_requests"][0]["description"] = "A dry run: no money moves"
    rewrite(interrupt_id, **(WORDS[changed] or {"request": request}))
    await start()

    person = dana if changed == "requester" else erik
    await person.press(await person.card("pay"), "approve:0")
    await person.card("Approved")

    with pytest.raises(ConflictError, match="another"):
        async with (
            agent.reviewing(mine) if how == "reviewing" else agent.resuming(interrupt_id, interrupt=mine)
        ):
            pytest.fail("it ran")
