"""Faults that a test switches on: what goes wrong with the next calls."""

from dataclasses import asdict, dataclass
from typing import Any

from playground.errors import ControlError

KINDS = ("error", "status", "delay", "accept_then_drop", "drop", "ratelimited", "timeout")

_FIELDS = {"method": str, "error": str, "status": int, "seconds": int | float, "times": int | None}
SECONDS_OF_SILENCE = 60.0
"""How long a call that times out stays open, unless the fault says otherwise."""


@dataclass(slots=True)
class Fault:
    """One way in which calls of a method go wrong."""

    id: str
    method: str
    """A Web API method, `response_url`, or `*` for all."""
    kind: str
    error: str = "internal_error"
    status: int = 500
    seconds: float = 1.0
    times: int | None = 1
    """How many calls are hit; `None` until the fault is removed."""

    def to_control(self) -> dict[str, Any]:
        """The fault as the control API shows it."""
        return asdict(self)


class Faults:
    """The faults that are switched on, oldest first."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        self._added = 0

    def add(self, asked: dict[str, Any]) -> Fault:
        """Switch a fault on.

        Raises:
            ControlError: The kind or a field is not known.
        """
        _check(asked)
        self._added += 1
        if asked["kind"] == "timeout":
            asked = {"seconds": SECONDS_OF_SILENCE, **asked}
        fault = Fault(id=f"F{self._added}", **{"method": "*", **asked})
        self._faults[fault.id] = fault
        return fault

    def take(self, method: str) -> list[Fault]:
        """The faults that hit this call, each used up by one."""
        if not self._faults:
            return []
        hit = [fault for fault in self._faults.values() if fault.method in (method, "*")]
        for fault in hit:
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    del self._faults[fault.id]
        return hit

    def remove(self, fault_id: str) -> None:
        """Switch one fault off.

        Raises:
            ControlError: There is no such fault.
        """
        if self._faults.pop(fault_id, None) is None:
            raise ControlError(f"There is no fault {fault_id}; GET /control/state lists them.", 404)

    def clear(self) -> None:
        """Switch all of them off."""
        self._faults.clear()

    def to_control(self) -> list[dict[str, Any]]:
        """Every fault as the control API shows it."""
        return [fault.to_control() for fault in self._faults.values()]


def _check(asked: dict[str, Any]) -> None:
    if asked.get("kind") not in KINDS:
        raise ControlError(f"kind must be one of {', '.join(KINDS)}.")
    for name, kind in _FIELDS.items():
        if name in asked and not isinstance(asked[name], kind):
            raise ControlError(f"{name} cannot be {asked[name]!r}.")
    if unknown := sorted(set(asked) - {"kind", *_FIELDS}):
        raise ControlError(f"A fault has kind, {', '.join(_FIELDS)}, and no {', '.join(unknown)}.")
