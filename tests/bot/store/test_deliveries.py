"""What a person sends is handled once: by the script that records a decision, or by one of its own."""

import asyncio
import re
from collections.abc import Callable

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, Decision, RejectDecision
from agent_adapter.contract.record import dump_recorded
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.errors import StoreUnavailableError
from bot.domain.ids import MessageId
from bot.domain.messages import Shown
from bot.domain.seal import Seal, Trust
from bot.domain.votes import position_of
from bot.store.deliveries import Delivery, HandledBeforeError
from bot.store.records import ApprovalStore
from bot.store.votes import Outcome
from tests.support.builders import an_action, an_admission, an_interrupt

CARD = MessageId(0)
DANA, ERIK = "U0DANA", "U0ERIK"


@pytest.fixture
async def asked(client: ApprovalClient, store: ApprovalStore) -> Approval:
    """A question about one call that takes two people, also to reject."""
    interrupt = an_interrupt(an_action("pay"))
    await client.publish(interrupt)
    state = await store.load(interrupt.id)
    assert state
    places = (Place(channel="C1", actions=(0,)),)
    admission = an_admission(approvers=(DANA, ERIK), quorum=2, reject_quorum=2, places=places)
    await store.admit(state, admission)
    return state.admitted(admission)


@pytest.fixture
def sent(store: ApprovalStore, asked: Approval) -> Callable[..., Delivery]:
    """Receive a press of somebody; the same name is the same body, received again, by whichever process."""

    def sent(press: str, person: str = DANA, on: str = "") -> Delivery:
        return Delivery(store.scripts, store.keys, person, press, pressed=on)

    return sent


async def record(
    store: ApprovalStore,
    asked: Approval,
    delivery: Delivery | None,
    decision: Decision,
    *,
    token: str,
    person: str = DANA,
) -> Outcome:
    kept = dump_recorded(decision, fingerprint="f", decided_by=person, policy="1")
    outcomes = await store.record_decision(
        asked.id,
        {0: kept},
        token=token,
        person=person,
        deadline=1.0,
        positions={0: position_of(decision)},
        delivery=delivery,
    )
    return outcomes[0]


async def voters(store: ApprovalStore, asked: Approval) -> list[tuple[str, str]]:
    state = await store.load(asked.id)
    assert state
    return [(vote.user, vote.position) for vote in state.votes.get(0, ())]


async def test_what_was_recorded_is_known_from_then_on(store, asked, sent):
    """Also when the process died right after it: one script records the decision and notes the click."""
    assert await record(store, asked, sent("press"), ApproveDecision(), token="1") is Outcome.COUNTED

    with pytest.raises(HandledBeforeError) as found:
        await sent("press").begin()

    assert found.value.answer == {}


@pytest.mark.parametrize(
    ("on", "outcome"),
    [("C1 1.0", "deleted"), ("C1 2.0", "deleted"), ("C1 2.00", "counted"), ("1 1.0", "counted")],
)
async def test_a_press_on_a_message_that_is_gone_is_not_recorded(store, asked, sent, on, outcome):
    """Whatever the process remembers that judged it; a press on the message that was posted since is."""
    for ts in ("1.0", "2.0"):
        await store.lease_part(asked.id, CARD, owner="me", lease=5_000)
        await store.save_part(asked.id, CARD, owner="me", shown=Shown("C1", ts, "digest"))
        await store.lease_part(asked.id, CARD, owner="me", lease=5_000)
        await store.save_part(asked.id, CARD, owner="me", shown=None, forget=True)

    assert await record(store, asked, sent("press", on=on), ApproveDecision(), token="1") == outcome
    assert await voters(store, asked) == ([(DANA, "approve")] if outcome == "counted" else [])


async def test_a_copy_of_what_was_recorded_changes_nothing(store, asked, sent):
    """Dana approves and then rejects. Her first click, received again by another process, does not take that back."""
    await record(store, asked, sent("first"), ApproveDecision(), token="1")
    await record(store, asked, sent("second"), RejectDecision(), token="2")

    with pytest.raises(HandledBeforeError):
        await record(store, asked, sent("first"), ApproveDecision(), token="1")

    assert await voters(store, asked) == [(DANA, "reject")]


async def test_copies_at_once_are_recorded_once(store, asked, sent):
    """All of them but one learn that it was handled."""
    told = await asyncio.gather(
        *(record(store, asked, sent("press"), ApproveDecision(), token="1") for _ in range(5)),
        return_exceptions=True,
    )

    assert [answer for answer in told if not isinstance(answer, HandledBeforeError)] == [Outcome.COUNTED]


async def test_a_lost_answer_of_redis_makes_no_second_click(store, asked, sent):
    """The same script sent again by the same process says what it did, so the person hears what came of the click."""
    delivery = sent("press")
    await record(store, asked, delivery, ApproveDecision(), token="1")

    assert await record(store, asked, delivery, ApproveDecision(), token="1") is Outcome.REPEAT


async def test_nothing_is_recorded_while_a_copy_is_being_handled(store, asked, sent):
    """It waits for the answer of the other one, and then gives that."""
    first = sent("press")
    await first.begin()
    copy = asyncio.create_task(record(store, asked, sent("press"), ApproveDecision(), token="1"))
    await asyncio.sleep(0.1)
    assert not copy.done()
    assert await voters(store, asked) == []

    await first.end('{"said": "no"}')

    with pytest.raises(HandledBeforeError) as found:
        await copy
    assert found.value.answer == {"said": "no"}


async def test_a_copy_is_judged_again_when_the_other_one_failed(store, asked, sent):
    """Time has passed, so the script is asked again with people as they are now."""
    first, copy = sent("press"), sent("press")
    await first.begin()
    recording = asyncio.create_task(record(store, asked, copy, ApproveDecision(), token="1"))
    await asyncio.sleep(0.1)
    await first.end("")

    assert await recording is Outcome.JUDGE_AGAIN
    assert await record(store, asked, copy, ApproveDecision(), token="1") is Outcome.COUNTED


async def test_a_process_that_was_given_up_records_nothing_any_more(store, asked, sent, redis):
    """Somebody else has handled the same click since, and Dana has changed her mind."""
    slow = sent("first")
    await slow.begin()
    await given_up(redis, slow)
    await record(store, asked, sent("first"), ApproveDecision(), token="1")
    await record(store, asked, sent("second"), RejectDecision(), token="2")

    with pytest.raises(HandledBeforeError):
        await record(store, asked, slow, ApproveDecision(), token="1")

    assert await voters(store, asked) == [(DANA, "reject")]


async def test_a_process_that_was_given_up_changes_no_answer(store, asked, sent, redis):
    """Whoever receives the click once more gets the answer of the process that handled it since."""
    slow, other = sent("press"), sent("press")
    await slow.begin()
    await given_up(redis, slow)
    await other.begin()
    await other.end('{"said": "done"}')

    await slow.end('{"said": "late"}')

    with pytest.raises(HandledBeforeError) as found:
        await sent("press").begin()
    assert found.value.answer == {"said": "done"}


@pytest.mark.parametrize("failed", ["said so", "died"])
async def test_what_failed_is_handled_again(store, asked, sent, redis, failed):
    """A process that began it and died leaves a note that is given up after a while."""
    await fail(redis, sent("press"), failed)

    assert await record(store, asked, sent("press"), ApproveDecision(), token="1") is Outcome.COUNTED


@pytest.mark.parametrize("failed", ["said so", "died"])
async def test_what_failed_undoes_nothing_that_the_person_sent_since(store, asked, sent, redis, failed):
    """Dana's approval failed, so she rejected; the approval, received again, is refused."""
    await fail(redis, sent("first"), failed)
    await record(store, asked, sent("second"), RejectDecision(), token="2")

    with pytest.raises(StoreUnavailableError, match="has sent another one since"):
        await record(store, asked, sent("first"), ApproveDecision(), token="1")
    assert await voters(store, asked) == [(DANA, "reject")]


async def test_a_failure_afterwards_takes_no_answer_back(store, asked, sent):
    """What was recorded stays handled, also when the person could not be told what is missing."""
    delivery = sent("press")
    await record(store, asked, delivery, ApproveDecision(), token="1")
    await delivery.end("")

    with pytest.raises(HandledBeforeError):
        await sent("press").begin()


async def test_a_click_that_records_nothing_is_being_handled_until_its_end(store, asked, sent):
    """Whoever handles it still looks up what to say."""
    await record(store, asked, sent("erik's", ERIK), ApproveDecision(), token="0", person=ERIK)
    await record(store, asked, sent("first"), ApproveDecision(), token="1")
    late = sent("second")

    assert await record(store, asked, late, ApproveDecision(), token="2") is Outcome.TAKEN
    copy = asyncio.create_task(sent("second").begin())
    await asyncio.sleep(0.1)
    assert not copy.done()
    await late.end("{}")
    with pytest.raises(HandledBeforeError):
        await copy


async def fail(redis: Redis, delivery: Delivery, how: str) -> None:
    await delivery.begin()
    await (delivery.end("") if how == "said so" else given_up(redis, delivery))


async def given_up(redis: Redis, delivery: Delivery) -> None:
    """Let the time pass in which it could have been answered."""
    _, owner, answer = (await redis.get(delivery.names["delivery"])).split(" ")
    await redis.set(delivery.names["delivery"], f"1 {owner} {answer}")


async def test_a_kept_form_that_no_bot_wrote_is_given_to_nobody(store, asked, redis):
    """Slack would send back what it says that it has shown."""
    trust = Trust(Seal("assent", (b"k" * 32,)))

    def received() -> Delivery:
        return Delivery(store.scripts, store.keys, DANA, "form", trust=trust)

    first = received()
    await first.begin()
    await first.end('{"view": "of this call"}')
    with pytest.raises(HandledBeforeError) as again:
        await received().begin()
    assert again.value.answer == {"view": "of this call"}

    kept = await redis.get(first.names["delivery"])
    await redis.set(first.names["delivery"], kept.replace("this", "another"))
    with pytest.raises(StoreUnavailableError, match="not written by a bot"):
        await received().begin()
    await redis.set(first.names["delivery"], re.sub(r" \S+ {", " {", kept))
    with pytest.raises(StoreUnavailableError, match="not written by a bot"):
        await received().begin()
