"""The terms of an edit that another rule decides about: the stricter one of each term. Pure."""

from collections.abc import Callable
from typing import Any

from bot.domain.admission import Terms
from bot.domain.rules import RISKS


def stricter(admitted: Terms, met: Terms) -> Terms:
    """Give the terms of an edit that another rule decides about: the stricter one of each term, and the approvers of that rule."""
    return Terms(
        **{name: pick(getattr(admitted, name), getattr(met, name)) for name, pick in STRICTER.items()}
    )


def is_same(admitted: Terms, met: Terms, joined: frozenset[str]) -> bool:
    """Whether the rule about an edit has the same terms on which the call was asked, but for people whom a step added."""
    alike = all(getattr(admitted, name) == getattr(met, name) for name in _COMPARED)
    return alike and {*admitted.approvers} == {*met.approvers, *joined}


def _of_both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))


def _in_both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(each for each in one if each in other)


_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "requester_may_decide": lambda one, other: one and other,
    "decisions": _in_both,
    "quorum": max,
    "reject_quorum": max,
    "risk": lambda *both: max(both, key=RISKS.index),
    "mask": _of_both,
    "mask_random": _of_both,
    "modal_only": _of_both,
    "use_within": min,
}
"""What makes a rule another one for an edit, beside the approvers."""
STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    **_COMPARED,
    "approvers": lambda _, met: met,
    "named_only": lambda _, met: met,
    "on_call": lambda _, met: met,
    "allow_always": lambda *_: False,
    "confirm": lambda one, other: one or other,
    # The rule about the edited call says which of its values is typed.
    "type": lambda admitted, met: met or admitted,
    "by_silence": lambda *_: False,
    # Without a key on the card, no value has a fingerprint.
    "mask_key": lambda admitted, _: admitted,
    "headline": lambda admitted, _: admitted,
    "title": lambda admitted, _: admitted,
    # The call is rejected as it was asked, also while there is a proposal.
    "reject_reasons": lambda admitted, _: admitted,
    "tell_approvers": lambda one, other: one or other,
    "standing": lambda *_: None,
    "resembles": lambda one, other: one or other,
    "matched": lambda admitted, _: admitted,
    # A proposal names its rule itself.
    "rule": lambda *_: "",
}
"""The stricter one of each term."""
