"""Plain Python functions: a person in Slack decides, exactly that runs."""

import asyncio
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from agent_adapter.integrations.functions import requires_approval
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


async def test_an_approved_function_runs_as_it_was_called_and_an_edited_one_with_what_the_form_says(
    dana, client
):
    """The person reads all of the arguments. The function gets its own types."""
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
    assert "approve:0" not in buttons(await dana.card("the agent has resumed"))

    calling = asyncio.create_task(transfer(Decimal("20.00"), DANAS, due=DUE))
    form = await dana.opened(await dana.card("Pay 20.00 EUR."), "edit:0")
    await dana.fill(form, amount="5.00", priority="1")
    assert await calling == "paid 5.00 to Dana"

    assert bank.paid == [
        (Decimal("19.90"), DANAS, DUE, Priority.NORMAL),
        (Decimal("5.00"), DANAS, DUE, Priority.URGENT),
    ]


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
