"""Which decided call is running at the moment: its key, and its receipt."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.receipt import Receipt


class _Call(NamedTuple):
    key: str | None = None
    receipt: Receipt | None = None


_running: ContextVar[_Call] = ContextVar("approval_key", default=_Call())  # noqa: B039  # it cannot change
_receipts: ContextVar[Mapping[str, Receipt]] = ContextVar("approval_receipts", default={})  # noqa: B039  # nobody changes it


def approval_key() -> str | None:
    """Return an idempotency key for the decided call that runs this tool. It is the same in every attempt that has one.

    When a process is killed inside a tool, nobody knows whether the tool took effect, and the call runs again. Pass the
    key to the service that the tool calls, so that the service can recognise the second attempt:

        payments.create(amount=amount, idempotency_key=approval_key())

    Returns:
        `<interrupt id>:<index>`, or `None` when no decided call is running. Also `None` when `run(graph, None)`
        runs a tool again after one card for a whole turn.
    """
    return _running.get().key


def approval_receipt() -> Receipt | None:
    """Return the receipt of the decided call that runs this tool. A tool in another process or language checks it there.

        httpx.post(url, content=receipt.args, headers={"Assent-Receipt": receipt.header()})

    Returns:
        The receipt, or `None` when no decided call is running, or the bot does not sign.
    """
    return _running.get().receipt


def using_receipt(receipt: Receipt | None) -> AbstractContextManager[None]:
    """In the body, tools have this receipt: for a server that took it from a request.

    with using_receipt(Receipt.from_header(request.headers.get("Assent-Receipt"))):
        return send_email(**arguments)
    """
    return running(None, receipt)


@contextmanager
def running(key: str | None, receipt: Receipt | None) -> Iterator[None]:
    """In the body, the call with this key and this receipt is running."""
    before = _running.get()
    _running.set(_Call(key, receipt))
    try:
        yield
    finally:
        _running.set(before)


def running_as(key: str | None) -> AbstractContextManager[None]:
    """In the body, the call with this key is running, with its receipt; `None` when no decided call is."""
    return running(key, _receipts.get().get(key or ""))


@contextmanager
def carrying(resume: Resume) -> Iterator[None]:
    """In the body, each call of this answer has its receipt, as soon as its key is set or found."""
    own = {resume.key(position): each for position, each in enumerate(resume.receipts) if each}
    before = _receipts.get()
    _receipts.set({**before, **own})
    try:
        yield
    finally:
        _receipts.set(before)


def enter(key: str | None) -> None:
    """Set the key and the receipt for the rest of this context; `None` when no decided call is running."""
    _running.set(_Call(key, _receipts.get().get(key or "")))
