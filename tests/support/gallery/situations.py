"""The situations of the gallery: what is asked, and how far it has come. Each has a rule of its own where it needs one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from agent_adapter import ActionRequest, Outcome, ReviewConfig
from tests.support.builders import an_action

if TYPE_CHECKING:
    from tests.support.gallery.stage import Question

APPROVE_REJECT = ("approve", "reject")
DECISIONS = ("approve", "edit", "reject")
POLICY = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK, U0MIRA]}
agents: {billing: {requester: agent}}
rules:
  - match: {tool: send_payment}
    headline: [amount, currency, beneficiary]
  - match: {tool: pay_invoice}
    confirm: true
    headline: [amount, currency, to]
  - {match: {tool: refund_customer}, headline: [amount, currency]}
  - {match: {tool: drop_database}, risk: high, type: name}
  - {match: {tool: pay_bonus}, quorum: 2}
  - {match: {tool: [rent_van, hire_driver, order_lunch]}, approvers: [U0NOOR]}
"""
Surface = Literal["card", "form", "home"]


Calls = tuple[tuple[ActionRequest, ReviewConfig], ...]


Way = Callable[["Question", dict[str, Any]], Awaitable[None]]
"""What people do with a card."""


async def _open(_: "Question") -> None:
    """Leave it as it was asked."""


async def _nothing(_: "Question", __: dict[str, Any]) -> None:
    """Open nothing."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One row of the gallery."""

    name: str
    title: str
    calls: Calls
    reach: Callable[["Question"], Awaitable[None]] = _open
    """How it comes from the question to what is shown."""
    surface: Surface = "card"
    """What is shown: a message, a form of Dana's, or the Home tab of its reader."""
    saying: str = ""
    """What the message says that is shown, where there are several."""
    reader: str = "U0DANA"
    """Who sees it."""
    opens: Way = _nothing
    """What is pressed on the card before it is shown."""
    requested_by: str = "U0NOOR"
    expires_in: timedelta = timedelta(hours=1)


# --- What is asked --------------------------------------------------------------------------------------------------

PAYMENT = {
    "amount": 12500.0,
    "currency": "EUR",
    "beneficiary": "ACME Supplies GmbH",
    "iban": "DE89370400440532013000",
    "reference": "INV-2026-1188",
    "execution_date": "2026-11-24",
    "urgent": True,
}
REFUND_SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "maximum": 250, "description": "At most 250"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "order": {"type": "integer"},
        "customer": {"type": "string"},
    },
    "required": ["amount", "order", "customer"],
}
REFUND = {"amount": 64.95, "currency": "EUR", "order": 4711, "customer": "Ada Park"}
REFUNDS = (
    ("Ada Park", 64.95, "paid_twice"),
    ("Bo Lind", 12.0, "came_late"),
    ("Cy Marsh", 899.0, "defective"),
    ("Di Noor", 45.5, "paid_twice"),
    ("Ed Stone", 7.25, "goodwill"),
)
WHY_REFUNDED = (
    "The bank shows two charges on 17 November.", "It came nine days late.", "The photos show a broken screen.",
    "Two charges, one minute apart.", "A voucher was promised on the phone.",
)  # fmt: skip
CUSTOMER = {
    "name": "Northwind Ltd",
    "email": "orders@northwind.example",
    "phone": "+44 20 7946 0990",
    "street": "1 Quay Street",
    "city": "Bristol",
    "postcode": "BS1 4DJ",
    "country": "GB",
    "currency": "GBP",
    "terms_days": 30,
    "credit_limit": 5000,
}
SQL = """\
UPDATE subscriptions
   SET status = 'cancelled', ends_at = now()
 WHERE plan = 'trial'
   AND created_at < now() - interval '30 days';"""
LETTER = """\
Dear Ada,

you were charged twice for order 4711. We are sorry. 64.95 EUR are on the way back to your card, and arrive within \
three working days.

Kind regards
Billing"""
NOTICE = " ".join(f"Clause {number} of our terms is now easier to read." for number in range(1, 13))
ORDER = {
    "customer": {"id": 88123, "name": "Ada Park"},
    "lines": [{"sku": "A-100", "count": 2}, {"sku": "B-7", "count": 1}],
    "gift": False,
}


def _call(tool: str, args: dict[str, Any], **more: Any) -> Calls:
    return (an_action(tool, args, **{"allowed": DECISIONS, **more}),)


def _refunds(*why: str) -> Calls:
    """Five refunds; each with its reason, where they are given."""
    rows = [
        {"customer": customer, "amount": amount, "currency": "EUR", "order": 4711 + number, "reason": reason}
        for number, (customer, amount, reason) in enumerate(REFUNDS)
    ]
    said = why or [None] * len(rows)
    return tuple(
        call
        for row, reason in zip(rows, said, strict=True)
        for call in _call("refund_customer", row, description=reason)
    )


def _users() -> Calls:
    rows = [
        {"email": f"user{number}@example.com", "team": "north" if number % 2 else "south"}
        | ({"admin": True} if number == 7 else {})
        for number in range(1, 25)
    ]
    return tuple(call for row in rows for call in _call("create_user", row))


def _letters() -> Calls:
    return tuple(
        call
        for number in range(1, 25)
        for call in _call(
            "send_letter", {"to": f"user{number}@example.com", "body": f"Dear user {number},\n\n{NOTICE}"}
        )
    )


def _four_tools() -> Calls:
    return (
        *_call("refund_customer", REFUND, schema=REFUND_SCHEMA),
        *_call("send_email", {"to": "ada@example.com", "subject": "Your refund"}),
        *_call("restart_service", {"service": "search", "region": "eu-west-1"}),
        *_call("ask_person", {"question": "May the voucher be 20 EUR?"}, allowed=("respond",)),
    )


# --- How far it has come --------------------------------------------------------------------------------------------


async def _approved(asked: "Question") -> None:
    card = await asked.card()
    elements = [found for block in card["blocks"] for found in block.get("elements") or ()]
    green = next(found for found in elements if found.get("style") == "primary")
    await asked.dana.press(card, green["action_id"])


async def _edited(asked: "Question", amount: str) -> None:
    form = await asked.erik.opened(await asked.card(), "edit:0")
    await asked.erik.fill(form, amount=amount)


async def _done(asked: "Question") -> None:
    await _approved(asked)
    await asked.run(Outcome.done("paid 12500.00 EUR as tr_88"))
    await asked.card(", done")


async def _failed(asked: "Question") -> None:
    await _approved(asked)
    await asked.run(Outcome.failed("TimeoutError: search was not up in 30 s"))
    await asked.card("Failed: ")


async def _changed(asked: "Question") -> None:
    await _edited(asked, "49.95")
    await asked.run(Outcome.done("paid 49.95 EUR back to Ada Park"))
    await asked.card(", done")


async def _rejected(asked: "Question") -> None:
    form = await asked.mira.opened(await asked.card(), "reject:0")
    await asked.mira.fill(form, Reason="Wrong order: the photos show order 4731. Ask the customer again.")
    await asked.run()
    await asked.card("it did not run")


async def _proposed(asked: "Question") -> None:
    await _edited(asked, "1200")
    await asked.card("changed this")


async def _expired(asked: "Question") -> None:
    await asked.card("Expired")


async def _batch_decided(asked: "Question") -> None:
    await _approved(asked)
    done = [Outcome.done(f"re_{number}") for number in range(4)]
    await asked.run(*done, Outcome.failed("the bank refused: account closed"))
    await asked.card("1 of 5 failed")


async def _stopped(asked: "Question") -> None:
    await _approved(asked)
    await asked.card("Not started")


async def _at_home(asked: "Question") -> None:
    await asked.card()
    await asked.ask(_call("hire_driver", {"for": "2026-11-25", "hours": 6}))
    await asked.ask(_call("order_lunch", {"people": 12, "vegan": 4}))


async def _review(asked: "Question", card: dict[str, Any]) -> None:
    await asked.dana.opened(card, "review:0")


# --- All of them ----------------------------------------------------------------------------------------------------

SITUATIONS = (
    Situation(
        "payment", "A payment, with the agent's reason",
        _call("send_payment", PAYMENT, description="Invoice INV-2026-1188 is due on Tuesday."),
    ),
    Situation("refund", "A refund by a schema", _call("refund_customer", REFUND, schema=REFUND_SCHEMA)),
    Situation("sql", "A query in SQL", _call("run_query", {"database": "crm", "sql": SQL})),
    Situation("mail", "A letter", _call("send_email", {"to": "ada@example.com", "subject": "Your refund", "body": LETTER})),
    Situation("order", "Objects and lists", _call("create_order", ORDER)),
    Situation("customer", "More than eight fields", _call("create_customer", CUSTOMER)),
    Situation("confirm", "Asked once more, by the policy", _call("pay_invoice", {"amount": 900, "currency": "EUR", "to": "ACME Supplies GmbH"})),
    Situation("typed", "High risk: a value of the call is typed", _call("drop_database", {"name": "invoices_2019", "cluster": "eu-1"}, allowed=APPROVE_REJECT)),
    Situation("two-people", "Two people have to agree", _call("pay_bonus", {"amount": 1250, "to": "ada"})),
    Situation("proposed", "A colleague proposes an edit", _call("pay_bonus", {"amount": 1250, "to": "ada"}), _proposed),
    Situation("look-alike", "Words that look like others", _call("invite_user", {"company": "\u0410\u0421ME", "email": "ada@ex\u0430mple.com"})),
    Situation("hidden", "Characters that nobody sees", _call("rename_file", {"from": "a.txt", "to": "invoice\u202Efdp.exe"})),
    Situation("long", "A text to be read first", _call("publish_page", {"slug": "terms", "body": " ".join(f"Clause {number} is as it was." for number in range(1, 260))})),
    Situation("question", "A question", _call("ask_person", {"question": "May the voucher be 20 EUR?"}, allowed=("respond",))),
    Situation("refunds", "Five refunds", _refunds()),
    Situation("users", "24 new users, one of them an admin", _users()),
    Situation("reasons", "Five refunds, each with its reason", _refunds(*WHY_REFUNDED)),
    Situation("four-tools", "Four tools in one batch", _four_tools()),
    Situation("approved", "Approved, and done", _call("send_payment", PAYMENT, description="Invoice INV-2026-1188 is due on Tuesday."), _done),
    Situation("failed", "Approved, and failed", _call("restart_service", {"service": "search", "region": "eu-west-1"}), _failed),
    Situation("changed", "Changed, and done", _call("refund_customer", REFUND, schema=REFUND_SCHEMA), _changed),
    Situation("rejected", "Rejected, with a reason", _call("refund_customer", REFUND, schema=REFUND_SCHEMA), _rejected),
    Situation("expired", "Nobody decided", _call("close_ticket", {"ticket": 88123}), _expired, expires_in=timedelta(seconds=2)),
    Situation("batch-decided", "A batch, four done and one failed", _refunds(), _batch_decided),
    Situation("stopped", "The agent never goes on", _call("restart_service", {"service": "search", "region": "eu-west-1"}), _stopped),
    Situation("letters", "24 letters, which one message cannot show", _letters()),
    Situation("review", "Open…: its first page", _letters(), surface="form", opens=_review),
    Situation("home", "The Home tab", _call("rent_van", {"for": "2026-11-25", "days": 2}), _at_home, surface="home", reader="U0NOOR", saying="order_lunch", requested_by="U0MIRA"),
)  # fmt: skip
