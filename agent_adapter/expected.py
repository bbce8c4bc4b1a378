"""Checks of arguments: an argument of the wrong kind is an error that says what to pass instead."""

from collections.abc import Mapping
from datetime import timedelta
from types import UnionType
from typing import Any

from agent_adapter.contract.hitl import HITLRequest
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.errors import WrongArgumentError

FROM_URL = '`async with ApprovalClient.from_url("redis://…", agent="billing") as approvals:`'


def kind_of(value: object) -> str:
    """Say what kind of value this is, without showing its content."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None:
        return "None"
    known = {Mapping: "a dictionary", str: "a text", bytes: "bytes", list: "a list"}
    return next((words for kind, words in known.items() if isinstance(value, kind)), _article(type(value)))


def expect(value: object, kind: type | UnionType, *, where: str, cure: str) -> None:
    """Refuse a value that is not of this kind."""
    if not isinstance(value, kind):
        raise WrongArgumentError(f"{where}: this is {kind_of(value)}: {cure}")


def expect_duration(value: Any, *, where: str) -> None:
    """Refuse a value that is not a duration of a millisecond or more."""
    cure = "pass a timedelta, as in timedelta(seconds=30)"
    expect(value, timedelta, where=where, cure=cure)
    if value < timedelta(milliseconds=1):
        raise WrongArgumentError(f"{where}: {value.total_seconds():g} seconds are too short: {cure}")


def expect_request(value: Any) -> None:
    """Refuse a value that is not a batch."""
    cure = "pass a HITLRequest; HITLRequest.model_validate(…) makes one of a dictionary in LangChain's form"
    if isinstance(value, Interrupt):
        cure = "it has its batch already: pass it to publish or reviewing"
    expect(value, HITLRequest, where="request", cure=cure)


def expect_interrupt(value: Any) -> None:
    """Refuse a value that is not an interrupt."""
    cure = "pass the Interrupt that `approvals.interrupt(request, …)` makes of a HITLRequest"
    if isinstance(value, str):
        cure = "pass the Interrupt itself; the verbs that take an id are wait, resuming, record, decisions and withdraw"
    expect(value, Interrupt, where="interrupt", cure=cure)


def expect_id(value: Any) -> None:
    """Refuse a value that is not the id of an interrupt."""
    cure = "pass the id that publish gives, as in 'billing.20c4b9a43d9d79e3dfbb592c02af75a4'"
    expect(value, str, where="interrupt_id", cure=cure)


def _article(kind: type) -> str:
    is_plain = kind.__module__.startswith(("agent_adapter", "builtins"))
    name = kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
