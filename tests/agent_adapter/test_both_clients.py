"""What an agent may rely on, of the real client and of its twin for tests alike."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.errors import (
    ClaimedError,
    ConflictError,
    ConsumedError,
    InterruptExpiredError,
    InterruptWithdrawnError,
    InvalidRequestError,
    UnknownInterruptError,
)
from agent_adapter.testing import ScriptedReviewer, approve, reject
from tests.conftest import an_agent
from tests.support.builders import ALL_DECISIONS, an_action, asking
from tests.support.deciding import deciding, person

ANSWERS = {"send": approve(), "wipe": reject("no"), "pay": approve()}
SEND, WIPE, PAY = ("send", {"to": "a"}), ("wipe", {"path": "x"}), ("pay", {"n": 1})


def batch(*calls, allowed=ALL_DECISIONS):
    return asking(*(an_action(*call, allowed=allowed) for call in calls))


@pytest.fixture(params=["Redis", "in memory"])
def open_client(request):
    """Open a client of each kind, and people behind it who decide this; `None` is nobody."""

    @asynccontextmanager
    async def opened(**answers):
        answers = answers or ANSWERS
        if request.param == "in memory":
            async with deciding(**answers) as approvals:
                yield approvals
        else:
            url = request.getfixturevalue("redis_url")
            async with an_agent(url) as approvals, person(url, ScriptedReviewer(answers)):
                yield approvals

    return opened


def asked(approvals, *calls, pauses, **options):
    return approvals.interrupt(batch(*calls), run="thread", pauses=pauses, **options)


async def test_a_decided_question_is_resumed_once(open_client):
    """In action order, with who decided; meanwhile nobody else has it, and afterwards it is used up."""
    async with open_client() as approvals:
        interrupt = asked(approvals, SEND, WIPE, pauses=["p", "q"])
        first, again = await approvals.publish(interrupt), await approvals.publish(interrupt)
        before = await approvals.record(first)
        async with approvals.reviewing(interrupt) as resume:
            with pytest.raises(ClaimedError):
                async with approvals.resuming(first):
                    pass
        after = await approvals.record(first)
        for use in (approvals.publish(interrupt), approvals.resuming(first).__aenter__()):
            with pytest.raises(ConsumedError):
                await use
        given = [tuple(each) async for each in approvals.decisions(first)]

    assert isinstance(approvals, ApprovalClient)
    assert first == again == interrupt.id
    assert (resume.status, resume.decisions) == ("decided", (approve(), reject("no")))
    assert all(record.decided_by for record in resume.records)
    assert sorted(given) == [(0, approve()), (1, reject("no"))]
    assert (before.is_resumed, after.is_resumed) == (False, True)
    assert after.resume().decisions == resume.decisions


async def test_a_part_of_a_known_question_gets_its_part_of_the_answer(open_client):
    """In the order in which it is asked now: parallel pauses come in any order, and some may be answered by hand."""
    async with open_client() as approvals:
        whole = await approvals.publish(asked(approvals, SEND, WIPE, PAY, pauses=["p", "q", "r"]))

        async with approvals.reviewing(asked(approvals, PAY, WIPE, pauses=["r", "q"])) as resume:
            assert resume.interrupt_id == whole
            assert resume.decisions == (approve(), reject("no"))


async def test_what_was_asked_does_not_change_under_its_reviewer(open_client):
    """Other arguments under a known pause are refused, as is a batch that is half known."""
    async with open_client() as approvals:
        await approvals.publish(asked(approvals, SEND, pauses=["p"]))

        with pytest.raises(ConflictError, match="a different action at position 1"):
            await approvals.publish(asked(approvals, ("send", {"to": "b"}), pauses=["p"]))
        with pytest.raises(ConflictError, match="publish them separately"):
            await approvals.publish(asked(approvals, SEND, WIPE, pauses=["p", "q"]))


async def test_an_error_while_resuming_gives_the_claim_back(open_client):
    """The run can be resumed again at once with the same decisions."""
    async with open_client() as approvals:
        interrupt = asked(approvals, SEND, pauses=["p"])
        with pytest.raises(OSError, match="disk"):
            async with approvals.reviewing(interrupt):
                raise OSError("disk")

        async with approvals.reviewing(interrupt) as resume:
            assert resume.decisions == (approve(),)


async def test_silence_rejects_what_is_open_and_keeps_what_was_decided(open_client):
    """At the deadline, and in nobody's name."""
    async with open_client(send=approve(), wipe=None) as approvals:
        resume = await approvals.review(batch(SEND, WIPE), expires_in=timedelta(seconds=1))

    assert resume.status == "expired"
    assert resume.decisions[0] == approve()
    assert resume.decisions[1].message.startswith("Nobody decided in time.")
    assert resume.records[1].decided_by == "expired"


@pytest.mark.parametrize(
    ("on_expiry", "allowed"), [("raise", ALL_DECISIONS), ("reject", ("approve", "edit"))]
)
async def test_silence_that_is_no_answer_raises_and_may_be_asked_again(open_client, on_expiry, allowed):
    """Where the caller wants it so, or nothing that the action allows is a no; the second attempt is another record."""
    async with open_client(send=[None, approve()]) as approvals:
        interrupt = approvals.interrupt(
            batch(SEND, allowed=allowed), run="thread", on_expiry=on_expiry, expires_in=timedelta(seconds=1)
        )
        with pytest.raises(InterruptExpiredError):
            async with approvals.reviewing(interrupt):
                pass

        async with approvals.reviewing(interrupt) as resume:
            assert resume.decisions == (approve(),)
            assert resume.interrupt_id != interrupt.id


async def test_the_same_call_of_a_run_is_answered_once(open_client):
    """Whoever asks again gets no second answer; another call of the run, or the same one without a run, is a new question."""
    async with open_client(send=approve()) as approvals:
        first = await approvals.ask("send", {"to": "a"}, run="invoice-17")
        with pytest.raises(ConsumedError):
            await approvals.ask("send", {"to": "a"}, run="invoice-17")
        others = [
            await approvals.ask("send", {"to": "b"}, run="invoice-17"),
            await approvals.ask("send", {"to": "a"}),
            await approvals.ask("send", {"to": "a"}),
        ]

    assert first.args == {"to": "a"}
    assert len({each.key for each in (first, *others)}) == 4


async def test_a_withdrawn_question_has_no_answer(open_client):
    """Whoever waits is told the reason; asked again, it is another question."""
    async with open_client(send=None) as approvals, asyncio.timeout(30):
        interrupt = asked(approvals, SEND, pauses=["p"])
        interrupt_id = await approvals.publish(interrupt)
        await approvals.withdraw(interrupt_id, "the customer called")

        assert (await approvals.wait(interrupt_id)).status == "withdrawn"
        with pytest.raises(InterruptWithdrawnError, match="the customer called"):
            async with approvals.resuming(interrupt_id):
                pass
        assert await approvals.publish(interrupt) != interrupt_id


async def test_what_cannot_be_asked_or_found_is_refused_with_the_place(open_client):
    """A test finds what production would refuse, and no verb invents a record."""
    async with open_client() as approvals:
        with pytest.raises(InvalidRequestError, match="expires_in"):
            await approvals.publish(asked(approvals, SEND, pauses=["p"], expires_in=timedelta(days=30)))
        with pytest.raises(
            InvalidRequestError, match=r"action_requests\[0\]\.args\.to: inf is not a JSON number"
        ):
            await approvals.review(batch(("send", {"to": float("inf")})))
        for use in (approvals.wait("billing.1"), approvals.withdraw("billing.1", "no")):
            with pytest.raises(UnknownInterruptError):
                await use
