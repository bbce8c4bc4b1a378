"""A tool with `@requires_receipt` runs what people approved, and nothing else."""

import asyncio
import inspect
import logging
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agent_adapter import (
    InvalidRequestError,
    ReceiptError,
    WrongArgumentError,
    approval_key,
    approval_receipt,
    requires_receipt,
    using_receipt,
)
from agent_adapter.receipts.used import SqliteUsed
from tests.support.receipts import RECORD, Signing, listed, ring_text

BOT = Signing()
RING = BOT.ring()
GUARD = {"keys": RING, "audience": "billing"}


class Mode(Enum):
    FAST = "fast"
    SAFE = "safe"


class Order(BaseModel):
    number: int
    when: datetime | None = None


@dataclass
class Line:
    count: int


def guarded(function, **changed):
    return requires_receipt(**GUARD | {"tool": "pay"} | changed)(function)


def runs(function, args, *given, **named):
    """Approve these arguments, and call the tool."""
    with using_receipt(BOT.receipt(args)):
        return guarded(function)(*given, **named)


def refused(function, args, *given, **named):
    with pytest.raises(ReceiptError) as caught:
        runs(function, args, *given, **named)
    return caught.value.code


def pay(to: str, amount: float = 1.0, **more: Any):
    return to, amount, more


def test_an_approved_call_runs():
    assert runs(pay, {"to": "al", "amount": 2.5}, "al", 2.5) == ("al", 2.5, {})
    assert runs(pay, {"to": "al", "amount": 2.5}, amount=2.5, to="al") == ("al", 2.5, {})


def test_nothing_runs_without_a_receipt():
    ran = []
    tool = guarded(ran.append)

    with pytest.raises(ReceiptError, match="nobody has approved") as caught:
        tool("al")

    assert caught.value.code == "missing"
    assert ran == []


async def test_a_coroutine_function_stays_one():
    async def send(to: str):
        await asyncio.sleep(0)
        return approval_key()

    tool = guarded(send)

    assert inspect.iscoroutinefunction(tool)
    with using_receipt(BOT.receipt(index=2)):
        assert await tool("al") == f"{RECORD}:2"
    with pytest.raises(ReceiptError):
        await tool("al")


def test_methods_are_checked_without_their_object():
    class Till:
        @requires_receipt(keys=RING, audience="billing")
        def pay(self, to: str):
            return self, to

        @classmethod
        @requires_receipt(keys=RING, audience="billing", tool="pay")
        def pay_at_once(cls, to: str):
            return cls, to

    till = Till()
    with using_receipt(BOT.receipt()):
        assert till.pay("al") == (till, "al")
        assert Till.pay_at_once("al") == (Till, "al")


def test_the_signature_and_the_name_stay_for_the_framework():
    def pay(to: str, *, amount: int = 1) -> str:
        """Pay somebody."""
        return to

    tool = requires_receipt(**GUARD)(pay)

    assert inspect.signature(tool) == inspect.signature(pay)
    assert (tool.__name__, tool.__doc__) == ("pay", "Pay somebody.")


def test_the_name_of_the_function_is_the_name_of_the_tool():
    def delete(to: str):
        return to

    with using_receipt(BOT.receipt()), pytest.raises(ReceiptError) as caught:
        requires_receipt(**GUARD)(delete)("al")

    assert caught.value.code == "tool"


@pytest.mark.parametrize(
    ("approved", "given"),
    [
        ({"to": "al"}, {"to": "bo"}),
        ({"to": "al", "amount": 2.5}, {"to": "al"}),
        ({"to": "al"}, {"to": "al", "amount": 2.5}),
        ({"to": "al", "amount": 1.0}, {"to": "al", "amount": True}),
        ({"to": "al", "amount": 1.0}, {"to": "al", "amount": "1.0"}),
        ({"to": "al", "cc": "bo"}, {"to": "al"}),
        ({"to": "al"}, {"to": "al", "cc": "bo"}),
        ({"to": "al", "cc": "bo"}, {"to": "al", "cc": "di"}),
        ({"to": "al", "more": {"cc": "bo"}}, {"to": "al", "cc": "di"}),
    ],
)
def test_other_arguments_do_not_run(approved, given):
    """Also one that falls back to a default, one that was added, and one in `**more`."""
    assert refused(pay, approved, **given) == "arguments"


@pytest.mark.parametrize(
    ("approved", "given"),
    [
        ({"to": "al"}, {"to": "al", "amount": 1.0}),
        ({"to": "al", "amount": 1.0}, {"to": "al"}),
        ({"to": "al", "amount": 2}, {"to": "al", "amount": 2.0}),
        ({"to": "al", "cc": "bo"}, {"to": "al", "cc": "bo"}),
        ({"to": "al", "more": {"cc": "bo"}}, {"to": "al", "cc": "bo"}),
    ],
)
def test_a_default_and_a_converted_value_are_what_was_approved(approved, given):
    assert runs(pay, approved, **given)


def convert(
    when: datetime,
    mode: Mode,
    order: Order,
    line: Line,
    price: Decimal,
    pair: tuple[int, ...],
    tags: set[str],
):
    return "ran"


APPROVED = {
    "when": "2026-01-02T03:04:05Z", "mode": "fast", "order": {"number": 7, "when": None}, "line": {"count": 1},
    "price": "5.00", "pair": [1, 2], "tags": ["a", "b"],
}  # fmt: skip
GIVEN = {
    "when": datetime.fromisoformat("2026-01-02T03:04:05Z"), "mode": Mode.FAST, "order": Order(number=7), "line": Line(1),
    "price": Decimal("5.00"), "pair": (1, 2), "tags": {"b", "a"},
}  # fmt: skip


def test_values_that_a_framework_made_of_the_json_are_what_was_approved():
    assert runs(convert, APPROVED, **GIVEN) == "ran"


@pytest.mark.parametrize(
    "changed",
    [
        {"when": datetime.fromisoformat("2026-01-02T03:04:06Z")}, {"mode": Mode.SAFE}, {"order": Order(number=8)},
        {"order": {"number": 7}}, {"line": Line(2)}, {"price": Decimal("5.01")}, {"price": 5.0}, {"pair": (1, 2, 3)},
        {"pair": (1, True)}, {"tags": {"a"}},
    ],
)  # fmt: skip
def test_converted_values_that_differ_do_not_run(changed):
    assert refused(convert, APPROVED, **GIVEN | changed) == "arguments"


def test_a_value_that_changes_while_it_is_read_does_not_run():
    """A type of the tool's own decides what its JSON means; an object that is equal to everything does not."""

    class Yes:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    assert refused(pay, {"to": "al"}, to=Yes()) == "arguments"


def test_positional_arguments_of_any_number_are_compared_one_by_one():
    def pay(to: str, *amounts: int):
        return amounts

    assert runs(pay, {"to": "al", "amounts": [1, 2]}, "al", 1, 2) == (1, 2)
    assert runs(pay, {"to": "al"}, "al") == ()
    assert refused(pay, {"to": "al", "amounts": [1, 2]}, "al", 1) == "arguments"
    assert refused(pay, {"to": "al"}, "al", 1) == "arguments"


def test_a_default_that_pydantic_describes_is_a_default():
    def pay(to: str, tags: list[str] = Field(default_factory=list)):  # noqa: B008
        return "ran"

    assert runs(pay, {"to": "al"}, "al", []) == "ran"
    assert refused(pay, {"to": "al"}, "al", ["x"]) == "arguments"


def test_what_a_framework_passes_by_itself_is_nobodys_question():
    """By the type of the parameter; a parameter without such a type must have been approved."""
    from langchain_core.runnables import RunnableConfig
    from langgraph.prebuilt import InjectedState, ToolRuntime

    def pay(
        to: str,
        runtime: ToolRuntime,
        state: Annotated[dict, InjectedState],
        config: RunnableConfig | None = None,
    ):
        return "ran"

    def hidden(to: str, runtime):
        return "ran"

    assert runs(pay, {"to": "al"}, "al", object(), {"messages": []}, {"tags": []}) == "ran"
    assert refused(pay, {"to": "al", "state": {}}, "al", object(), {"messages": []}) == "arguments"
    assert refused(hidden, {"to": "al"}, "al", object()) == "arguments"


def test_a_call_runs_once(tmp_path):
    with SqliteUsed(tmp_path / "used.db") as used, using_receipt(BOT.receipt()):
        tool = guarded(pay, used=used)
        tool("al")
        with pytest.raises(ReceiptError) as caught:
            tool("al")

    assert caught.value.code == "used"


async def test_an_asynchronous_tool_takes_its_key_from_either_kind_of_store(tmp_path):
    taken = set()

    async def used(key, until):
        await asyncio.sleep(0)
        is_free = key not in taken
        taken.add(key)
        return is_free

    async def send(to: str):
        return "sent"

    with SqliteUsed(tmp_path / "used.db") as file:
        for store in (used, file):
            tool = guarded(send, used=store)
            with using_receipt(BOT.receipt()):
                assert await tool("al") == "sent"
                with pytest.raises(ReceiptError):
                    await tool("al")


async def test_arguments_that_change_while_the_store_answers_do_not_run():
    ran, to = [], ["al"]

    async def used(key, until):
        to.append("bo")
        return True

    async def send(to: list[str]):
        ran.append(to)

    with using_receipt(BOT.receipt({"to": ["al"]})), pytest.raises(ReceiptError) as caught:
        await guarded(send, used=used)(to)

    assert (ran, caught.value.code) == ([], "arguments")


def test_arguments_that_a_store_changes_do_not_run():
    ran, to = [], ["al"]

    def used(key, until):
        to.append("bo")
        return True

    def send(to: list[str]):
        ran.append(to)

    with using_receipt(BOT.receipt({"to": ["al"]})), pytest.raises(ReceiptError) as caught:
        guarded(send, used=used)(to)

    assert (ran, caught.value.code) == ([], "arguments")


def test_an_index_that_is_equal_and_not_the_same_has_the_same_key(tmp_path):
    """`True` and `1` are equal in Python, and would be two keys."""
    receipt = BOT.receipt(index=1)
    with SqliteUsed(tmp_path / "used.db") as used:
        tool = guarded(pay, used=used)
        with using_receipt(receipt):
            tool("al")
        with using_receipt(replace(receipt, index=True)), pytest.raises(ReceiptError) as caught:
            tool("al")

    assert caught.value.code == "used"


async def test_of_two_attempts_at_once_one_runs(tmp_path):
    ran = []

    async def send(to: str):
        ran.append(to)

    with SqliteUsed(tmp_path / "used.db") as used, using_receipt(BOT.receipt()):
        tool = guarded(send, used=used)
        ended = await asyncio.gather(*(tool("al") for _ in range(5)), return_exceptions=True)

    assert ran == ["al"]
    assert [type(each) for each in ended if each] == [ReceiptError] * 4


def test_an_asynchronous_store_does_not_fit_a_plain_tool():
    async def used(key, until):
        return True

    with pytest.raises(WrongArgumentError, match="asynchronous"):
        guarded(pay, used=used)


def test_a_tool_that_could_repeat_says_so_once(caplog, tmp_path):
    with caplog.at_level(logging.WARNING, "agent_adapter.requiring"):
        tool = guarded(pay)
        with using_receipt(BOT.receipt()):
            tool("al")
            tool("al")
        guarded(pay, used=SqliteUsed(tmp_path / "used.db"))

    assert [each.message for each in caplog.records] == [
        "pay: an approved call can repeat until its use_by, because requires_receipt has no `used`"
    ]


def test_a_tool_that_an_approved_tool_calls_needs_an_approval_of_its_own():
    inner = guarded(pay, tool="refund")

    with using_receipt(BOT.receipt()), pytest.raises(ReceiptError) as caught:
        guarded(lambda to: inner(to=to))("al")

    assert caught.value.code == "tool"


def test_keys_come_from_a_file(tmp_path):
    file = tmp_path / "ring.json"
    file.write_text(ring_text(listed(BOT)))

    with using_receipt(BOT.receipt()):
        assert guarded(pay, keys=file)("al")


def test_a_broken_file_of_keys_fails_at_the_decorator(tmp_path):
    with pytest.raises(InvalidRequestError):
        guarded(pay, keys=tmp_path / "missing.json")
    with pytest.raises(WrongArgumentError, match="whom to trust"):
        requires_receipt(keys=pay, audience="billing")


def test_arguments_that_do_not_fit_the_tool_are_a_type_error():
    with using_receipt(BOT.receipt()), pytest.raises(TypeError):
        guarded(lambda to: to)("al", "bo")


def test_a_receipt_holds_for_its_block_alone():
    receipt = BOT.receipt()

    with using_receipt(receipt):
        assert approval_receipt() == receipt
        with using_receipt(None):
            assert approval_receipt() is None
        assert approval_receipt() == receipt
    assert approval_receipt() is None
