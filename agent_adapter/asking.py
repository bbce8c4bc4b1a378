"""Where, for whom and how long to ask: the keywords that every function takes that asks."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, TypedDict, get_args

from agent_adapter.contract.interrupt import Context, Continuation, OnExpiry
from agent_adapter.contract.names import did_you_mean, is_person
from agent_adapter.contract.wire import MAX_LIFE
from agent_adapter.errors import WrongArgumentError
from agent_adapter.expected import expect


class Asking(TypedDict, total=False):
    """Where, for whom and how long to ask."""

    channel: str | None
    """Slack channel id. Without one, the bot's settings choose the channel."""
    thread_ts: str | None
    """The `ts` of a Slack message: ask in its thread."""
    context: Context
    """Who asks and why; shown on the card."""
    expires_in: timedelta | float
    """How long people may take, as a duration or in seconds; one hour by default."""
    on_expiry: OnExpiry
    """What happens when nobody decides in time: `reject` (the default) or `raise`."""
    continuation: Continuation | None
    """What a worker needs to resume the run when this process is gone."""


_KINDS: Mapping[str, tuple[type | UnionType, str]] = {
    "channel": (str | None, "pass the id of a Slack channel, as in 'C0123ABCD'"),
    "thread_ts": (str | None, "pass the ts of a Slack message, as in '1700000000.000100'"),
    "context": (Context | None, "pass a Context, as in Context(requested_by='U0123ABCD')"),
    "expires_in": (
        timedelta | float | int | None,
        "pass a timedelta, as in timedelta(minutes=5), or seconds",
    ),
    "continuation": (Continuation | None, "pass a Continuation"),
}


_FORMS = {"channel": re.compile("[A-Z0-9]+"), "thread_ts": re.compile(r"[0-9]+\.[0-9]+", re.ASCII)}


def check_asking(asking: Mapping[str, Any], *, beside: Sequence[str] = ()) -> None:
    """Refuse unknown options and values of the wrong kind. `beside` is what the function takes beside them."""
    known = Asking.__annotations__
    for name, given in asking.items():
        if name not in known:
            named = [*known, *beside]
            own = "; what the framework itself takes goes into options={…}" if "options" in beside else ""
            raise WrongArgumentError(
                f"{name}: no such option{did_you_mean(name, named)}; the options are {', '.join(named)}{own}"
            )
        if name in _KINDS:
            kind, cure = _KINDS[name]
            # For Python, True is a number.
            expect(given, NoneType if isinstance(given, bool) else kind, where=name, cure=cure)
            if given == "":
                raise WrongArgumentError(f"{name}: this text is empty: {cure}, or leave it out")
            seconds = given.total_seconds() if isinstance(given, timedelta) else given
            if name == "expires_in" and given is not None and not 0 < seconds <= MAX_LIFE.total_seconds():
                raise WrongArgumentError(f"expires_in: {given} is not from 1 second to 7 days: {cure}")
            who = given.requested_by if isinstance(given, Context) else None
            if who is not None and not is_person(who):
                raise WrongArgumentError(
                    f"context: requested_by {who!r} is not the Slack id of a person: {cure}"
                )
            if given and name in _FORMS and not _FORMS[name].fullmatch(given):
                raise WrongArgumentError(f"{name}: {given!r} is not written like one: {cure}")
        elif given not in get_args(OnExpiry):
            raise WrongArgumentError(
                f"on_expiry: {given!r} is not one of reject, raise{did_you_mean(given, get_args(OnExpiry))}; "
                "approve is one only where a rule of the policy says on_timeout: approve"
            )
