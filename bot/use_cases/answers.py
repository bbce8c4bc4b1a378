"""The answer to the person who clicked, written from the record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.domain.approval import Approval
from bot.domain.person import mention
from bot.domain.votes import Outcome, Proposal, kind_of
from bot.sentences import in_answer, words
from bot.text.literal import mrkdwn, one_line

Why = Literal["not_allowed", "not_signed", "outdated", "refused"]
"""Somebody else has to do it; it could not be signed; the record asks something else by now; anything else."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the person who clicked."""

    recorded: bool
    sentence: str = ""
    """Empty when the card itself says it."""
    is_final: bool = False
    """Whether the reason does not lie in the record, so reading it anew changes nothing."""
    why: Why = field(default="refused", compare=False)
    """Why nothing was recorded, for the audit trail."""
    draws_anew: bool = False
    """Whether what was pressed asks something else than its record, so its card is drawn again."""
    not_theirs: tuple[int, ...] = field(default=(), compare=False)
    """The actions that they may not decide, when others were recorded."""
    reply: dict[str, Any] | None = field(default=None, compare=False)
    """What Slack does with a form, where it is not closed: it shows another view, or an error next to an input."""


def closed(state: Approval, indices: Sequence[int]) -> str:
    """Say who decided these actions and when, or how their request ended."""
    said = []
    for index in indices:
        if recorded := state.recorded[index]:
            people = [mention(person) for person in recorded.agreed_by or (recorded.decided_by,)]
            kind, at = recorded.decision.type, recorded.decided_at
            said.append(in_answer.already_decided(index, kind, people, at))
        else:
            said.append(in_answer.already_ended(index, "expired" if state.is_past else state.status))
    return " ".join(said)


def counted(state: Approval, indices: Sequence[int], user: str, *, again: bool = False) -> str:
    """Say to a voter how many votes there are and how many are missing. Actions with the same counts share a sentence."""
    alike: dict[tuple[str, int, int], list[int]] = {}
    for index in indices:
        action = state.actions[index]
        position = next((vote.position for vote in action.votes if vote.user == user), "")
        progress = kind_of(position), len(action.voters(position)), action.needed(position)
        alike.setdefault(progress, []).append(index)
    is_one = len(state.actions) == 1
    return " ".join(
        in_answer.counted([] if is_one else found, *counts, again=again) for counts, found in alike.items()
    )


def proposed(state: Approval, proposal: Proposal, why_not_counted: str = "") -> str:
    """Say to an author that another rule decides about their edit, and why they do not count as a voter."""
    channel = words.place_name(proposal.channel) if len(state.places) > 1 else ""
    sentence = in_answer.proposed(mrkdwn(one_line(proposal.rule)), proposal.terms.quorum, channel)
    return f"{sentence} {in_answer.not_counted_yet(why_not_counted)}" if why_not_counted else sentence


def so_far(state: Approval, user: str, outcomes: Mapping[int, Outcome]) -> str:
    """Say what is missing for decisions that need more people. The card shows the decisions that are final."""
    voted = {
        index: outcome
        for index, outcome in outcomes.items()
        if outcome in {Outcome.COUNTED, Outcome.REPEAT}
        and state.is_open_at(index)
        and any(vote.user == user for vote in state.actions[index].votes)
    }
    new, old = ([i for i, found in voted.items() if found is o] for o in (Outcome.COUNTED, Outcome.REPEAT))
    return " ".join(filter(None, (counted(state, new, user), counted(state, old, user, again=True))))


def left_out(refused: Mapping[int, str]) -> str:
    """Say which of several actions a person may not decide, and why."""
    by_sentence: dict[str, list[int]] = {}
    for index, sentence in refused.items():
        by_sentence.setdefault(sentence, []).append(index)
    return " ".join(in_answer.not_decided(indices, sentence) for sentence, indices in by_sentence.items())
