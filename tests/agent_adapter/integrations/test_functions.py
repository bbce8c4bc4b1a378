"""Plain functions: what was decided is what runs, once, or not at all."""

import asyncio
import threading
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pydantic import BaseModel

from agent_adapter import Context
from agent_adapter.contract.hitl import UnknownDecision
from agent_adapter.errors import (
    AgentAdapterError,
    ConsumedError,
    DecisionNotAllowedError,
    InvalidRequestError,
    RejectedError,
)
from agent_adapter.gating import Gate
from agent_adapter.integrations.functions import Call, asking, requires_approval, run, to_request, to_resume
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import (
    REVIEWER,
    InMemoryApprovalClient,
    approve,
    edit,
    reject,
    respond,
)
from tests.support.builders import a_resume
from tests.support.deciding import deciding


class Money(BaseModel):
    amount: Decimal
    currency: str = "EUR"


class Till:
    """A function that pays, and what it paid."""

    def __init__(self):
        self.paid = []

    async def pay(self, to: str, sum: Money, on: datetime, tags: list[str]) -> str:
        """Pay somebody."""
        self.paid.append((to, sum, on, tags))
        return f"paid {to}"


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SHOWN = {
    "to": "dana",
    "sum": {"amount": "9.50", "currency": "EUR"},
    "on": "2026-11-20T12:00:00Z",
    "tags": ["rent"],
}


def a_payment():
    return {"to": "dana", "sum": Money(amount=Decimal("9.50")), "on": NOON, "tags": ["rent"]}


# --- Arguments ----------------------------------------------------------------------------------------------------


async def test_arguments_that_change_while_people_decide_run_as_they_were_shown():
    """What was shown is what runs, whatever becomes of the caller's objects."""
    till, given = Till(), a_payment()

    def slow(action, config):
        given["tags"].append("and more")
        return approve()

    await requires_approval(InMemoryApprovalClient(slow))(till.pay)(**given)

    assert till.paid == [("dana", given["sum"], NOON, ["rent"])]


async def test_run_offers_what_the_decorator_does():
    """Decisions, description, condition, value of a rejection and options in one call."""
    till = Till()
    approvals = deciding(reject("No."))

    answer = await run(
        till.pay,
        SHOWN,
        approvals=approvals,
        allowed_decisions=["approve", "reject"],
        description=lambda call: f"Pay {call.args['to']}.",
        when=lambda call: call.args["to"] == "dana",
        on_reject=str,
        channel="C0MONEY",
    )

    assert answer == "pay was rejected and did not run: No."
    (interrupt,) = approvals.asked
    assert interrupt.request.action_requests[0].description == "Pay dana."
    assert interrupt.route.channel == "C0MONEY"
    assert interrupt.request.review_configs[0].allowed_decisions == ("approve", "reject")


async def test_run_keeps_the_loop_free_for_a_function_that_blocks():
    """A plain function runs in a thread of its own."""
    loops = threading.get_ident()
    approvals = deciding(approve())

    def where() -> int:
        return threading.get_ident()

    assert await run(where, {}, approvals=approvals) != loops


# --- Who is asked, and when ---------------------------------------------------------------------------------------


async def test_a_call_that_is_not_gated_runs_unasked():
    till = Till()
    approvals = deciding()
    pay = requires_approval(approvals, when=lambda call: call.args["to"] != "dana")(till.pay)

    assert await pay(**a_payment()) == "paid dana"
    assert approvals.asked == ()


async def test_options_are_of_the_decorator_or_of_single_calls():
    """What is said for a call goes before what is said for all; outside of the block all is as before."""
    till = Till()
    approvals = deciding(approve(), approve(), approve())
    pay = requires_approval(approvals, channel="C0MONEY", expires_in=timedelta(minutes=5))(till.pay)

    with asking(context=Context(requested_by="U0NOOR")):
        with asking(channel="C0OTHER"):
            await asyncio.create_task(pay(**a_payment()))
        await pay(**a_payment())
    await pay(**a_payment())

    asked = approvals.asked
    assert [i.route.channel for i in asked] == ["C0OTHER", "C0MONEY", "C0MONEY"]
    assert [i.context.requested_by for i in asked] == ["U0NOOR", "U0NOOR", None]
    assert {i.expires_in for i in asked} == {timedelta(minutes=5)}


# --- What the function does with it -------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [ConnectionError, asyncio.CancelledError])
async def test_a_call_that_fails_or_is_cancelled_as_it_runs_uses_up_the_approval(ends):
    """It ran as decided, and nobody knows how far it came: a second try needs a second yes."""
    approvals = deciding(approve())
    started, tried = asyncio.Event(), []

    async def send(to: str) -> None:
        tried.append(to)
        started.set()
        if ends is ConnectionError:
            raise ConnectionError("no line")
        await asyncio.Event().wait()

    running = asyncio.create_task(run(send, {"to": "dana"}, approvals=approvals, key="mail-1"))
    await started.wait()
    if ends is asyncio.CancelledError:
        running.cancel()

    with pytest.raises(ends):
        await running
    with pytest.raises(ConsumedError):
        await run(send, {"to": "dana"}, approvals=approvals, key="mail-1")
    assert tried == ["dana"]


# --- Functions that block -----------------------------------------------------------------------------------------


SENDER = ContextVar("sender", default="nobody")


def test_a_function_that_blocks_runs_in_the_thread_that_called_it():
    """Its connections, locals and context are those of its caller."""
    people = deciding(approve(), edit({"to": "erik"}), respond("by hand"), reject("No."))
    with SyncApprovalClient(people) as approvals:

        @requires_approval(approvals)
        def send(to: str) -> str:
            return f"{to} from {SENDER.get()} in {threading.get_ident()}"

        SENDER.set("billing")
        here = threading.get_ident()

        assert send("dana") == f"dana from billing in {here}"
        assert send("dana") == f"erik from billing in {here}"
        assert send("dana") == "by hand"
        with pytest.raises(RejectedError, match=r"^send was rejected and did not run: No\.$") as rejected:
            send(to="dana")
        error = rejected.value
        assert (error.tool, error.reason, error.decided_by) == ("send", "No.", REVIEWER)
        assert [action.args for action in people.reviewer.asked] == [{"to": "dana"}] * 4


def test_a_function_that_blocks_refuses_to_stop_a_loop():
    """Called where a loop runs it would stop everything, on the client's own loop for ever: it says what to do instead."""
    people = deciding(approve())
    with SyncApprovalClient(people) as approvals:

        @requires_approval(approvals)
        def send(to: str) -> str:
            return f"sent to {to}"

        async def careless():
            send("dana")

        async def careful():
            return await asyncio.to_thread(send, "dana")

        for drive in (asyncio.run, approvals.run):
            with pytest.raises(AgentAdapterError, match=r"block.*asyncio\.to_thread"):
                drive(careless())
        assert people.asked == ()
        assert asyncio.run(careful()) == "sent to dana"


# --- Decorating ---------------------------------------------------------------------------------------------------


async def _async(to: str) -> int:
    return 5


def _plain(to: str) -> None: ...


MISTAKES = [
    (_async, {"allowed_decisions": ["respond"]}, "'respond' cannot be carried out here; choose from approve, edit, reject"),
    (_async, {"on_reject": "no"}, "_async: on_reject: 'no' is not a plain callable; pass one that takes the RejectedError"),
    (_async, {"key": "always the same"}, "key: no such option"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "given", "problem"), MISTAKES, ids=[problem for *_, problem in MISTAKES]
)
def test_a_mistake_is_an_error_at_the_decorator(function, given, problem):
    """Before any call, with the cure."""
    approvals = deciding()

    with pytest.raises(InvalidRequestError, match=problem):
        requires_approval(approvals, **given)(function)


@pytest.mark.parametrize("given", [{"chanel": "C0MONEY"}, {"key": ""}, {"key": None}, {"key": 5}])
async def test_a_mistake_in_the_options_of_a_call_asks_nobody(given):
    """An empty key would name every call."""
    approvals = deciding()

    with pytest.raises(InvalidRequestError, match=r"no such option|cannot name a call"), asking(**given):
        pass
    with pytest.raises(InvalidRequestError, match=r"no such option|cannot name a call"):
        await run(_plain, {"to": "dana"}, approvals=approvals, **given)
    assert approvals.asked == ()


# --- By hand ------------------------------------------------------------------------------------------------------


async def test_the_converters_work_by_themselves():
    """Whoever drives the question themselves asks with one and goes on with the other."""
    till = Till()
    call = Call.of(till.pay, a_payment())
    request = to_request(call, Gate({"pay": {"allowed_decisions": ["approve", "edit"]}}))
    approvals = deciding(edit({**SHOWN, "to": "erik"}))

    resume = await approvals.review(request)

    assert request.review_configs[0].args_schema == call.inputs.schema
    assert await to_resume(resume, call)() == "paid erik"
    assert to_request(call, Gate({})) is None


@pytest.mark.parametrize(
    "resume",
    [
        a_resume(approve(), approve()),
        a_resume(approve(), status="withdrawn"),
        a_resume(None, status="expired"),
        a_resume(UnknownDecision(type="approve_later")),
    ],
)
def test_a_resume_that_is_not_an_answer_runs_nothing(resume):
    """Doubt never runs a function."""
    with pytest.raises(DecisionNotAllowedError, match="nothing was run"):
        to_resume(resume, Call.of(_plain, {"to": "dana"}))
