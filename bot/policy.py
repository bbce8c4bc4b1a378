"""Who may decide what, where it is asked, until when. Pure, and every doubt is a no."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent_adapter.contract.interrupt import Interrupt
from bot.people import Person
from bot.state import Admission, Place

_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")

VERSION = "settings-1"
"""Stands in every admission, so that a record tells by which rules it was judged."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An interrupt that cannot be asked."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a person may decide, and the sentence that tells them why not."""

    allowed: bool
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one deployment."""

    approvers: tuple[str, ...]
    channel: str | None = None
    requester_may_approve: bool = False

    def admit(
        self, interrupt: Interrupt, plan_parts: Callable[[Interrupt], tuple[tuple[int, ...], ...]]
    ) -> Admission | Refusal:
        """Say where an interrupt is asked and who may answer, or why it cannot be asked."""
        channel = interrupt.route.channel or self.channel
        if not channel:
            return Refusal("no_channel", "the agent named no channel and ASSENT_CHANNEL is not set")
        requester = interrupt.context.requested_by
        if requester and not _PERSON.fullmatch(requester):
            reason = f"context.requested_by is {requester!r}, which is no Slack user id: nobody could be kept from approving their own request"
            return Refusal("requested_by", reason)
        if interrupt.on_expiry == "approve":
            return Refusal(
                "policy", "on_expiry=approve is allowed by no rule: nothing is approved by silence"
            )
        place = Place(
            channel=channel,
            thread_ts=interrupt.route.thread_ts,
            actions=tuple(range(len(interrupt.request.action_requests))),
            parts=plan_parts(interrupt),
        )
        return Admission(
            policy_version=VERSION,
            approvers=self.approvers,
            requester_may_decide=self.requester_may_approve,
            places=(place,),
        )


def may_decide(
    person: Person,
    matching: frozenset[str],
    admission: Admission,
    *,
    team: str,
    requested_by: str | None,
    decision: str,
) -> Verdict:
    """Judge one person by what was fixed when the interrupt was admitted.

    Args:
        person: Who clicked, as Slack describes them.
        matching: The entries of the approver list that they match.
        admission: What judges.
        team: The workspace that the bot is installed in.
        requested_by: The person for whom the agent acts.
        decision: What they want to decide.
    """
    named = person.id in matching
    if person.is_deactivated:
        return Verdict(False, "This account is deactivated.")
    if not named and (reason := _outside(person, team)):
        return Verdict(False, f"{reason} may not decide here, unless named by their id.")
    if not matching:
        return Verdict(False, f"You are not an approver of this. {_who_may(admission)}")
    if person.id == requested_by and decision != "reject" and not admission.requester_may_decide:
        return Verdict(False, "The agent acts for you here, so somebody else has to approve it.")
    return Verdict(True)


def _outside(person: Person, team: str) -> str:
    if person.is_bot:
        return "Bots"
    if person.is_stranger or not team or person.team_id != team:
        return "People of other workspaces"
    if person.is_guest:
        return "Guests"
    return ""


def _who_may(admission: Admission) -> str:
    names = [_mention(entry) for entry in admission.approvers]
    return f"Approvers are {', '.join(names)}."


def _mention(entry: str) -> str:
    if entry == "channel":
        return "the members of this channel"
    return f"<!subteam^{entry}>" if entry.startswith("S") else f"<@{entry}>"
