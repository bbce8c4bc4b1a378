"""What is computed from a call is kept with it: a card is drawn again and again, and most of it stays the same."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from bot.domain.action import Action

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OfAction = Callable[Concatenate["Action", _P], _T]


def once(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Compute something once from a call and its terms. It may not depend on what people decide, vote or propose."""

    @wraps(compute)
    def found(action: "Action", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        kept, name = action.kept, (compute, args, *kwargs.items()) if kwargs else (compute, args)
        if name not in kept:
            kept[name] = compute(action, *args, **kwargs)
        return kept[name]  # type: ignore[no-any-return]

    return found


def once_as_asked(compute: _OfAction[_P, _T]) -> _OfAction[_P, _T]:
    """Do so while a call runs as it was asked; of what people do, it may depend on a change of the call only."""
    keeping = once(compute)

    @wraps(compute)
    def found(action: "Action", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return (keeping if action.after is action else compute)(action, *args, **kwargs)

    return found
