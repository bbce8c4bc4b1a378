"""Who may decide an action, and the sentence that tells everybody else why not. Pure. In doubt, the answer is no."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.admission import Terms
from bot.domain.mentions import mention
from bot.domain.on_call import is_on_call
from bot.domain.person import Person
from bot.sentences import in_answer
from bot.sentences.words import Outsider


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a person may decide, and the sentence that says why not."""

    allowed: bool
    sentence: str = ""


def may_decide(
    person: Person,
    matching: frozenset[str],
    terms: Terms,
    *,
    team: str,
    requested_by: str | None,
    decision: str,
    thread_author: str | None = None,
) -> Verdict:
    """Say whether a person may decide an action, by the terms that were fixed when it was admitted.

    Args:
        person: Who clicked, as Slack describes them.
        matching: The entries of the approver list that they match.
        terms: Of the action.
        team: The workspace that the bot is installed in.
        requested_by: The person for whom the agent acts.
        decision: What they want to decide.
        thread_author: The person who started the thread that the run came from.
    """
    named = person.id in matching
    if person.is_deactivated:
        return Verdict(False, in_answer.DEACTIVATED)
    if not named and (kind := _outside(person, team)):
        return Verdict(False, in_answer.outsider(kind))
    if not matching:
        by_schedule = any(map(is_on_call, terms.approvers))
        return Verdict(False, in_answer.not_an_approver(_names(terms.approvers), by_schedule=by_schedule))
    if decision != "reject" and not terms.requester_may_decide:
        if person.id == requested_by:
            return Verdict(False, in_answer.FOR_YOU)
        if person.id == thread_author:
            return Verdict(False, in_answer.YOUR_THREAD)
    if terms.decisions is not None and decision not in terms.decisions:
        return Verdict(False, in_answer.decision_not_offered(decision, terms.decisions))
    return Verdict(True)


def _outside(person: Person, team: str) -> Outsider | None:
    if person.is_bot:
        return "bot"
    if person.is_stranger or not team or person.team_id != team:
        return "stranger"
    if person.is_guest:
        return "guest"
    return None


def _names(approvers: Sequence[str]) -> list[str]:
    return [in_answer.FIRST_CHANNEL if name == "channel" else mention(name) for name in approvers]
