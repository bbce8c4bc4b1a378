"""A tool with `@requires_receipt` runs what people approved, and nothing else."""

import asyncio
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import (
    VERSION,
    AfterValidator,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    OnErrorOmit,
    StringConstraints,
    TypeAdapter,
    field_validator,
)

from agent_adapter import (
    InvalidRequestError,
    ReceiptError,
    WrongArgumentError,
    approval_receipt,
    requires_receipt,
    using_receipt,
)
from agent_adapter.contract.arguments import decode
from agent_adapter.contract.numbers import as_floats
from agent_adapter.receipts.used import SqliteUsed
from tests.support.receipts import Signing

BOT = Signing()
RING = BOT.ring()
GUARD = {"keys": RING, "audience": "billing"}


class Mode(Enum):
    FAST = "fast"
    SAFE = "safe"


Trimmed = Annotated[str, StringConstraints(strip_whitespace=True)]


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


def paying(kind):
    """A tool that takes a value of this type, and gives it back."""

    def pay(payment):
        return payment

    pay.__annotations__["payment"] = kind
    return pay


def refused(function, args, *given, **named):
    with pytest.raises(ReceiptError) as caught:
        runs(function, args, *given, **named)
    return caught.value.code


def pay(to: str, amount: float = 1.0, **more: Any):
    return to, amount, more


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


@pytest.mark.parametrize(
    "changed",
    [
        {"when": datetime.fromisoformat("2026-01-02T03:04:06Z")}, {"mode": Mode.SAFE}, {"order": Order(number=8)},
        {"order": {"number": 7}}, {"line": Line(2)}, {"price": Decimal("5.01")}, {"price": 5.0}, {"pair": (1, 2, 3)},
        {"pair": (1, True)}, {"tags": {"a"}},
    ],
)  # fmt: skip
def test_what_a_framework_made_of_the_approved_json_runs_and_another_value_does_not(changed):
    assert runs(convert, APPROVED, **GIVEN) == "ran"
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
    def pay(to: str, tags: list[str] = Field(default_factory=list)):  # noqa: B008  # what is tested
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


async def test_an_asynchronous_tool_takes_its_key_from_either_kind_of_store(tmp_path):
    taken = set()

    async def used(key, until):
        await asyncio.sleep(0)
        is_free = key not in taken
        taken.add(key)
        return is_free

    async def send(to: str):
        return "sent"

    for store in (used, SqliteUsed(tmp_path / "used.db")):
        tool = guarded(send, used=store)
        with using_receipt(BOT.receipt()):
            assert await tool("al") == "sent"
            with pytest.raises(ReceiptError):
                await tool("al")


@pytest.mark.parametrize("is_async", [False, True])
async def test_arguments_that_change_while_the_store_answers_do_not_run(is_async):
    """In the store itself too."""
    ran, to = [], ["al"]

    def used(key, until):
        to.append("bo")
        return True

    async def used_later(key, until):
        return used(key, until)

    def send(to: list[str]):
        ran.append(to)

    async def send_later(to: list[str]):
        ran.append(to)

    async def call():
        return await guarded(send_later, used=used_later)(to) if is_async else guarded(send, used=used)(to)

    with using_receipt(BOT.receipt({"to": ["al"]})), pytest.raises(ReceiptError) as caught:
        await call()

    assert (ran, caught.value.code) == ([], "arguments")


def test_an_index_that_is_equal_and_not_the_same_has_the_same_key(tmp_path):
    """`True` and `1` are equal in Python, and would be two keys."""
    receipt = BOT.receipt(index=1)
    tool = guarded(pay, used=SqliteUsed(tmp_path / "used.db"))
    with using_receipt(receipt):
        tool("al")
    with using_receipt(replace(receipt, index=True)), pytest.raises(ReceiptError) as caught:
        tool("al")

    assert caught.value.code == "used"


def test_an_asynchronous_store_does_not_fit_a_plain_tool():
    async def used(key, until):
        return True

    with pytest.raises(WrongArgumentError, match="asynchronous"):
        guarded(pay, used=used)


def test_a_tool_that_an_approved_tool_calls_needs_an_approval_of_its_own():
    inner = guarded(pay, tool="refund")

    with using_receipt(BOT.receipt()), pytest.raises(ReceiptError) as caught:
        guarded(lambda to: inner(to=to))("al")

    assert caught.value.code == "tool"


def test_a_receipt_holds_for_its_block_alone():
    receipt = BOT.receipt()

    with using_receipt(receipt):
        assert approval_receipt() == receipt
        with using_receipt(None):
            assert approval_receipt() is None
        assert approval_receipt() == receipt
    assert approval_receipt() is None


class Doubled(BaseModel):
    amount: int

    @field_validator("amount")
    @classmethod
    def _double(cls, amount: int) -> int:
        return 2 * amount


@dataclass
class Filled:
    to: str

    def __post_init__(self):
        self.to = "bo"


class Guessed(Enum):
    FAST = "fast"

    @classmethod
    def _missing_(cls, value):
        return cls.FAST


class Pair(NamedTuple):
    one: int
    other: int = 0


class Node(BaseModel):
    """A type that has itself within it."""

    below: "list[Node]" = []


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


class Aliased(BaseModel):
    to: str = Field(alias="recipient", default="bo")


@pytest.mark.parametrize(
    ("kind", "approved", "taken"),
    [
        (Order, {"number": 7, "to": "al"}, {"number": 7}),
        (list[Order], [{"number": 7, "to": "al"}], [{"number": 7}]),
        (Line, {"count": 1, "to": "al"}, {"count": 1}),
        (Aliased, {"to": "al"}, {}),
    ],
    ids=str,
)
def test_a_field_that_the_type_leaves_out_was_approved_and_does_not_run(kind, approved, taken):
    """People have read it. A type that keeps what it does not know gets it."""
    value = TypeAdapter(kind).validate_python(approved)

    assert refused(paying(kind), {"payment": approved}, payment=value) == "arguments"
    assert runs(paying(kind), {"payment": taken}, payment=value) == value
    assert runs(paying(Loose), {"payment": {"to": "al"}}, payment=Loose(to="al")) == Loose(to="al")


def test_a_default_that_an_earlier_call_has_changed_does_not_run():
    """Nobody was asked about what the earlier call left in it."""

    def pay(to: str, cc: list[str] = []):  # noqa: B006  # that is what is tried
        cc.append(to)

    tool = guarded(pay)
    with using_receipt(BOT.receipt()):
        tool("al")
        with pytest.raises(ReceiptError, match="cc is not what was approved"):
            tool("al")


def test_a_default_of_which_no_copy_is_equal_stays_a_default():
    nothing = object()

    assert runs(lambda to, cc=nothing: to, {"to": "al"}, to="al") == "al"


@dataclass
class Fixed:
    to: str
    amount: int = field(init=False, default=5)


class ReadOnly(BaseModel):
    to: str = Field(validation_alias="recipient")


class Unwritten(BaseModel):
    to: str = Field(exclude=True)


class Coded(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    text: bytes


class CodedBothWays(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    text: bytes


class Renaming(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    to: str = Field(alias="recipient")


class Ordered(BaseModel):
    steps: Annotated[list[str], AfterValidator(sorted)]


LOST = [
    (Doubled, '{"amount":5}', "payment.amount"),
    (list[Trimmed], '[" al"]', "payment[0]"),
    (Filled, '{"to":"al"}', "payment.to"),
    (Guessed, '"slow"', "payment"),
    (list[OnErrorOmit[int]], '[1,"x"]', "payment"),
    (Fixed, '{"to":"al","amount":7}', "payment.amount"),
    (list[Fixed], '[{"to":"al","amount":7}]', "payment[0].amount"),
    (ReadOnly, '{"recipient":"al"}', "payment.recipient"),
    (Unwritten, '{"to":"al"}', "payment.to"),
    (dict[int, str], '{"1":"al","01":"bo"}', "payment.1"),
    (set[int], "[1,1]", "payment"),
    (float, "123456789012345678.5", "payment"),
    (Any, "123456789012345678.5", "payment"),
    (Coded, '{"text":"ZGVsZXRl"}', "payment.text"),
    (int, '"007"', "payment"),
    (datetime, '"2026-01-02T03:04:05.1234567Z"', "payment"),
    (Ordered, '{"steps":["stop","backup"]}', "payment.steps[0]"),
    (Annotated[str, AfterValidator(lambda path: f"{path}/")], '"/srv/data"', "payment"),
    (Annotated[str, AfterValidator(lambda _: "2026-01-01")], '"20260101"', "payment"),
]


@pytest.mark.parametrize(("kind", "approved", "path"), LOST)
def test_a_value_that_its_type_changes_or_shortens_does_not_run(kind, approved, path):
    """The tool would get something else than people have read. The error names the place and says what to do."""
    value = TypeAdapter(kind).validate_python(as_floats(decode(approved)))

    with pytest.raises(ReceiptError) as caught:
        runs(paying(kind), f'{{"payment":{approved}}}', payment=value)

    assert caught.value.code == "arguments"
    if "payment is not what was approved" in str(caught.value):
        assert VERSION.startswith("2.12.")  # Two of them are another value at once then.
    else:
        assert f"pay: {path} would not run as it was approved" in str(caught.value)
        assert "a type that keeps it" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "approved"),
    [
        (datetime, '"2026-01-02T03:04:05.000000000Z"'), (datetime, '"2026-01-02 03:04+01:00"'), (time, '"03:04"'),
        (date, '"2026-01-02"'), (Decimal, "5.10"), (Decimal, '"5.10"'),
        (float, "1"), (list[float], "[1,2.50]"),
        (AnyUrl, '"https://example.com"'),  (dict[int, str], '{"1":"al"}'),
        (set[float], "[10,9]"), (Renaming, '{"recipient":"al"}'), (Renaming, '{"to":"al"}'),
        (CodedBothWays, '{"text":"ZGVsZXRl"}'), (Fixed, '{"to":"al"}'),
        (Node, '{"below":[{"below":[]}]}'), (Pair, "[1,2]"), (Path, '"a/b"'), (IPv4Address, '"10.0.0.1"'),
        (UUID, '"2f1d3f8e-0a52-4c39-9bb5-52a9a5d1b1d4"'), (Sequence[int], "[1]"), (deque[int], "[1]"),
        (OrderedDict[str, int], '{"a":1}'), (defaultdict[str, int], '{"a":1}'),
        (Annotated[int, Field(gt=1)], "2"), (re.RegexFlag, "2"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_that_its_type_converts_or_writes_in_another_way_runs(kind, approved):
    """`Z` and `+00:00` are the same moment, and what is left out has its default."""
    value = TypeAdapter(kind).validate_json(approved)

    assert runs(paying(kind), f'{{"payment":{approved}}}', payment=value) == value


class Sameish(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1

    def __eq__(self, other):
        return isinstance(other, Sameish) and self.a == other.a

    __hash__ = None


def test_a_model_that_calls_another_one_equal_does_not_run_in_its_place():
    """Fields that the model does not declare were approved, too."""

    def pay(payment: Sameish):
        return payment.b

    assert refused(pay, {"payment": {"a": 1, "b": 2}}, payment=Sameish(a=1, b=3)) == "arguments"
    assert refused(pay, {"payment": {"a": 1}}, payment=Sameish(a=1, b=3)) == "arguments"
    assert runs(pay, {"payment": {"a": 1, "b": 2}}, payment=Sameish(a=1, b=2)) == 2


def test_a_generator_is_refused_at_the_decorator():
    """Its body runs after the check, and a list among the arguments may be another one by then."""

    def pay(to: list[str]):
        yield to

    async def pay_later(to: list[str]):
        yield to

    for tool in (pay, pay_later):
        with pytest.raises(
            InvalidRequestError, match=rf"^{tool.__name__} is a generator: .* a function that returns"
        ):
            requires_receipt(**GUARD)(tool)
