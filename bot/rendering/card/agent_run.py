"""What an agent says about its run, and why it does not go on: all of it untrusted."""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.approval import Approval
from bot.domain.masking import scrub, scrub_all
from bot.domain.person import is_person
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, context, literal_within, quote
from bot.rendering.cautions import caution_blocks
from bot.sentences import on_card
from bot.text.literal import visible

_CONTEXT = 1_000
_REASON = 700


def agent_blocks(interrupt: Interrupt, secrets: Sequence[str]) -> list[Block]:
    """Draw what the agent says about the run: all of it untrusted."""
    untrusted = interrupt.context
    requester = untrusted.requested_by
    facts: dict[str, Any] = {
        "asked_again": untrusted.again,
        "title": untrusted.title,
        "requested_by": None if requester and is_person(requester) else requester,
        "subagent": untrusted.subagent,
        "links": [{link.label: link.url} for link in untrusted.links],
    }
    facts = {name: fact for name, fact in facts.items() if fact}
    if not facts:
        return []
    said = scrub_all(facts, secrets)
    text = "\n".join(argument_lines(said)) if isinstance(said, dict) else said
    blocks = [context("says", on_card.AGENT_SAYS_OF_RUN), literal_within("run", text, _CONTEXT)]
    return [*blocks, *caution_blocks("run:", said)]


def all_reported(state: Approval) -> bool:
    """Whether the outcome of every call that runs is known."""
    runs = state.running(range(len(state.recorded)))
    return bool(runs) and all(index in state.outcomes for index in runs)


def reason_blocks(state: Approval) -> list[Block]:
    """Draw why a run cannot go on, or why nothing is asked any more, in the agent's words."""
    # Who took the answer after an error and died gave no reason.
    if all_reported(state) or state.claim_has_lapsed:
        return []
    reason = state.reason if state.status in {"withdrawn", "refused"} else state.stalled
    if not reason:
        return []
    untrusted = visible(scrub(reason, state.actions[0].secrets))
    return [literal_within("reason", untrusted, _REASON, quote)]
