"""Names that follow from content: which interrupt a pause belongs to, and what exactly an action is."""

import hashlib
from collections.abc import Iterable, Sequence

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Interrupt

DIGEST_LENGTH = 32
"""Hex characters kept of a SHA-256: 128 bits."""


def digest(kind: str, *parts: object) -> str:
    """Name these parts by their content; the kind keeps digests of different things apart."""
    # Half a surrogate pair has a name too; what holds it is refused by `dump_interrupt`, with its place.
    written = encode([f"assent/{kind}/v1", *parts]).encode(errors="surrogatepass")
    return hashlib.sha256(written).hexdigest()[:DIGEST_LENGTH]


def interrupt_id(agent: str, run: str, pauses: Iterable[str], *, attempt: int = 0) -> str:
    """Give the id of the interrupt that asks about these pauses of this run.

    A later attempt is the same question asked again after it ended without an answer.
    """
    return f"{agent}.{digest('interrupt', run, sorted(set(pauses)), *([attempt] if attempt else []))}"


def pause_digest(agent: str, run: str, pause: str) -> str:
    """Name one pause of one run, so that it leads to its record."""
    return digest("pause", agent, run, pause)


def thread_digest(agent: str, run: str, place: str) -> str:
    """Name a thread of an agent, so that one process at a time runs it."""
    return digest("thread", agent, run, place)


_NO_SCHEMA = digest("schema", None)


def action_fingerprint(action: ActionRequest, config: ReviewConfig) -> str:
    """Name what a decision is about: tool, exact argument bytes, allowed decisions, schema."""
    return digest(
        "action",
        action.name,
        encode(action.args),
        sorted(config.allowed_decisions),
        digest("schema", config.args_schema) if config.args_schema is not None else _NO_SCHEMA,
    )


def action_fingerprints(request: HITLRequest) -> tuple[str, ...]:
    """Name each action of a batch, in action order."""
    return tuple(
        action_fingerprint(action, config)
        for action, config in zip(request.action_requests, request.review_configs, strict=True)
    )


def slots(pauses: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Tell each action's place as (pause, position within that pause): equal in every order of the pauses."""
    seen: dict[str, int] = {}
    places = []
    for pause in pauses:
        places.append((pause, seen.get(pause, 0)))
        seen[pause] = seen.get(pause, 0) + 1
    return tuple(places)


def interrupt_fingerprint(interrupt: Interrupt) -> str:
    """Name all that is asked. Parallel pauses come in no fixed order, so they are sorted by their id."""
    actions = zip(slots(interrupt.pauses), action_fingerprints(interrupt.request), strict=True)
    return digest("request", [[pause, position, action] for (pause, position), action in sorted(actions)])
