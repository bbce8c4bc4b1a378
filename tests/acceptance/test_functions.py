"""Plain Python functions: a person in Slack decides, exactly that runs."""

import asyncio
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from agent_adapter import Context
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.functions import asking, requires_approval
from agent_adapter.sync import SyncApprovalClient
from tests.conftest import an_agent
from tests.support.pages import run_page
from tests.support.people import Someone, buttons, words
from tests.test_project import everything_is_approved

__all__ = ["everything_is_approved"]  # a fixture


class Priority(Enum):
    NORMAL = "normal"
    URGENT = "urgent"


class Account(BaseModel):
    iban: str
    owner: str


class Bank:
    """A function that pays, and what it was called with."""

    def __init__(self):
        self.paid = []

    async def transfer(
        self,
        amount: Annotated[Decimal, Field(gt=0, description="In euros")],
        account: Account,
        due: date,
        priority: Priority = Priority.NORMAL,
    ) -> str:
        self.paid.append((amount, account, due, priority))
        return f"paid {amount} to {account.owner}"


DANAS = Account(iban="DE00 1234", owner="Dana")
DUE = date(2026, 12, 1)


@pytest.fixture
async def dana(start_bot, slack):
    """Somebody who may decide, beside a bot."""
    await start_bot()
    return Someone(slack, "U0DANA")


async def test_an_approved_function_runs_as_it_was_called(dana, client):
    """Given a call, when the person reads all of its arguments and approves, then just these run."""
    bank = Bank()
    transfer = requires_approval(client, description=lambda call: f"Pay {call.args['amount']} EUR.")(
        bank.transfer
    )
    calling = asyncio.create_task(transfer(Decimal("19.90"), DANAS, due=DUE))

    card = await dana.card("transfer")
    for shown in ("Pay 19.90 EUR.", "19.90", "DE00 1234", "Dana", "2026-12-01", "normal"):
        assert shown in words(card["blocks"])
    await dana.press(card, "approve:0")

    assert await calling == "paid 19.90 to Dana"
    assert bank.paid == [(Decimal("19.90"), DANAS, DUE, Priority.NORMAL)]
    assert "approve:0" not in buttons(await dana.card("the agent has resumed"))


async def test_a_cancelled_call_takes_its_card_back(dana, client):
    """Given a call without a key, when its caller stops waiting, then the buttons go: no process could find the answer."""
    bank = Bank()
    calling = asyncio.create_task(requires_approval(client)(bank.transfer)(Decimal("19.90"), DANAS, due=DUE))
    await dana.card("transfer")
    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling
    withdrawn = await dana.card("withdrawn by `")
    assert "approve:0" not in buttons(withdrawn)
    assert "The call that asked was cancelled." in words(withdrawn["blocks"])


async def test_an_edited_function_runs_with_what_the_form_says(dana, client):
    """Given a call, when the person changes date and priority in the form, then the function gets its own types."""
    bank = Bank()
    calling = asyncio.create_task(requires_approval(client)(bank.transfer)(Decimal("19.90"), DANAS, due=DUE))

    card = await dana.card("transfer")
    await dana.fill(await dana.opened(card, "edit:0"), amount="5.00", priority="1")

    assert await calling == "paid 5.00 to Dana"
    assert bank.paid == [(Decimal("5.00"), DANAS, DUE, Priority.URGENT)]


async def test_a_program_that_starts_again_finds_its_question(dana, redis_url):
    """Given a question with a key, when its program ends and starts again, then it is one card and one run."""
    bank = Bank()

    async def attempt():
        async with an_agent(redis_url) as client:
            transfer = requires_approval(client, channel="C0APPROVALS")(bank.transfer)
            with asking(key="invoice-17", context=Context(requested_by="U0NOOR")):
                return await transfer(Decimal("19.90"), DANAS, due=DUE)

    first = asyncio.create_task(attempt())
    card = await dana.card("transfer")
    first.cancel()
    await asyncio.wait([first])
    await dana.press(card, "approve:0")

    assert await attempt() == "paid 19.90 to Dana"
    with pytest.raises(ConsumedError):
        await attempt()
    assert len(bank.paid) == 1
    assert (await dana.card("the agent has resumed"))["ts"] == card["ts"]


async def test_a_blocking_function_waits_in_its_own_thread(dana, redis_url):
    """Given plain functions in threads, when people decide, then each goes on with its own decision."""

    def work():
        with SyncApprovalClient(an_agent(redis_url)) as approvals:

            @requires_approval(approvals, on_reject=str)
            def delete(path: str) -> str:
                return f"deleted {path}"

            return [delete("a.txt"), delete("b.txt")]

    working = asyncio.create_task(asyncio.to_thread(work))
    await dana.press(await dana.card("a.txt"), "approve:0")
    await dana.fill(await dana.opened(await dana.card("b.txt"), "reject:0"), reason="Keep it.")

    assert await working == ["deleted a.txt", "delete was rejected and did not run: Keep it."]


async def test_the_page_about_functions_runs(everything_is_approved, redis_url):
    """As it stands, from top to bottom."""
    ran = await run_page("docs/how-to/use-from-plain-functions.md", redis_url)

    assert ran.printed.splitlines() == [
        "reminded dana@example.com of invoice 17, due on 2026-12-01",
        "deleted report.txt",
        "sent to dana@example.com, due on 01 December",
    ]


async def test_the_page_about_gating_tools_runs(redis_url):
    """What it asserts is so."""
    assert "gate" in (await run_page("docs/how-to/gate-tools.md", redis_url)).names
