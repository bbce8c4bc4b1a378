"""What is computed from a call is kept with it: a card is drawn again and again, and most of it stays the same."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from bot.domain.action import Action

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OfAction = Callable[Concatenate["Action", _P], _T]


def once(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Compute something once from a call and its terms. It may not depend on what people decide, vote or propose."""
    return _once(compute, lambda action: action.kept)


def once_after(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Compute something once from a call as it was asked and as it became. It may not depend on anything else of a decision."""
    return _once(compute, lambda action: action.after.kept)


def _once(compute: _OfAction[_P, _T], place: Callable[["Action"], dict[Any, Any]]) -> _OfAction[_P, _T]:
    @wraps(compute)
    def found(action: "Action", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        place_of_it, name = place(action), (compute, args, *kwargs.items())
        if name not in place_of_it:
            place_of_it[name] = compute(action, *args, **kwargs)
        result: _T = place_of_it[name]
        return result

    return found
