"""Ids that are computed from content: which interrupt a pause belongs to, and what exactly an action is."""

from collections.abc import Iterable, Sequence

from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig


def interrupt_id(agent: str, run: str, pauses: Iterable[str], *, attempt: int = 0) -> str:
    """Return the id of the interrupt that asks about these pauses of this run.

    `attempt` counts how often the same question was asked again after it had ended without an answer.
    """
    return f"{agent}.{digest('interrupt', run, sorted(set(pauses)), *([attempt] if attempt else []))}"


def pause_digest(agent: str, run: str, pause: str) -> str:
    """Return the digest of one pause of one run, by which its record is found."""
    return digest("pause", agent, run, pause)


def thread_id(agent: str, run: str, place: str) -> str:
    """Return the id of a thread, by which one process at a time gets the right to run it."""
    return f"{agent}.{digest('thread', agent, run, place)}"


_NO_SCHEMA = digest("schema", None)


def action_fingerprint(action: ActionRequest, config: ReviewConfig) -> str:
    """Return the digest of what a decision is about: tool, exact argument bytes, allowed decisions, schema."""
    return digest(
        "action",
        action.name,
        encode(action.args),
        sorted(config.allowed_decisions),
        digest("schema", config.args_schema) if config.args_schema is not None else _NO_SCHEMA,
    )


def action_fingerprints(request: HITLRequest) -> tuple[str, ...]:
    """Return the fingerprint of each action of a batch, in action order."""
    return tuple(
        action_fingerprint(action, config)
        for action, config in zip(request.action_requests, request.review_configs, strict=True)
    )


def slots(pauses: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return (pause, position within that pause) for each action. This does not depend on the order of the pauses."""
    seen: dict[str, int] = {}
    places = []
    for pause in pauses:
        places.append((pause, seen.get(pause, 0)))
        seen[pause] = seen.get(pause, 0) + 1
    return tuple(places)
