"""What Slack says about everybody and everything that rules name: at the start, in `policy check` and in `doctor`.

Each function raises SlackError when Slack does not say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.domain.errors import SlackError
from bot.domain.person import Person, is_on_call
from bot.domain.policy import Policy
from bot.policy.file import Mention, PolicyFile
from bot.policy.yaml_values import Problem
from bot.slack.client import SlackClient
from bot.slack.directory import UNKNOWN, person_of


@dataclass(frozen=True, slots=True)
class Look:
    """What Slack says about an id."""

    name: str
    wrong: str = ""
    """Why nobody decides by it, or is asked there, with the cure; empty when it can be used."""
    remark: str = ""
    """What somebody should know who uses it."""
    is_known: bool = True
    people: frozenset[str] = frozenset()
    """Who can decide by it."""


async def look_at_all(file: PolicyFile, slack: SlackClient) -> dict[Mention, Look]:
    """Ask Slack once about each id that rules name. Who is on call is asked at every click instead."""
    mentions = [mention for mention in file.mentions if not is_on_call(mention.id)]
    distinct = {(mention.id, mention.is_place): mention for mention in reversed(mentions)}
    return {mention: await look_at(mention, slack) for mention in distinct.values()}


async def look_at(mention: Mention, slack: SlackClient) -> Look:
    """Ask Slack about one id."""
    id = mention.id
    try:
        if id[0] == "S":
            people = await slack.group_members(id)
            wrong = "" if people else f"user group {id} is empty, so nobody in it can decide: add people"
            return Look(f"user group {id} of {len(people)}", wrong, people=people)
        if id[0] in "UW":
            return _look_at_person(mention, person_of(id, await slack.user(id), slack.me), slack.me.home)
        return _look_at_channel(await slack.channel(id))
    except SlackError as error:
        if error.code not in UNKNOWN:
            raise
    cure = "take it out" if id[0] in "UWS" else "invite the bot there"
    return Look(id, f"Slack knows no {id} in this workspace: correct the id, or {cure}", is_known=False)


def _look_at_person(mention: Mention, person: Person, home: str) -> Look:
    id = person.id
    if person.is_deactivated or person.is_bot:
        what = "deactivated" if person.is_deactivated else "a bot"
        but = (
            "reads no direct message: ask elsewhere"
            if mention.is_place
            else "can never decide: name somebody else"
        )
        return Look(id, f"{id} is {what} and {but}")
    is_outside = person.is_stranger or person.team_id != home
    what = "of another company" if is_outside else "a guest" if person.is_guest else ""
    remark = f"{id} is {what}; may decide, since named" if what and not mention.is_place else ""
    return Look(id, remark=remark, people=frozenset({id}))


def _look_at_channel(channel: Mapping[str, Any]) -> Look:
    name = f"#{channel['name']}" if channel.get("name") else str(channel["id"])
    if channel.get("is_archived"):
        return Look(name, f"{name} is archived: unarchive it, or name another channel")
    if not (channel.get("is_member") or channel.get("is_im")):
        return Look(name, f"the bot is not in {name}: write /invite @assent there")
    if channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"):
        return Look(name, remark=f"{name} is shared with another company, which can read what agents ask")
    return Look(name)


def undecidable(policy: Policy, looks: Mapping[Mention, Look]) -> Iterator[Problem]:
    """Name the rules by which nothing can be approved: too few people are left, as far as Slack says who they are."""
    people = {named.id: look.people for named, look in looks.items() if not named.is_place}
    for rule in policy.reachable:
        entries = {*rule.approvers, *(rule.escalation.approvers if rule.escalation else ())}
        if not entries <= people.keys():
            continue
        left = len(frozenset().union(*(people[entry] for entry in entries)))
        if not left:
            yield Problem(
                rule.line, f"nobody is left who can decide by {rule.name!r}: name a person or a group"
            )
        elif left < rule.quorum:
            only = f"only {left} of its approvers can decide" if left > 1 else "only one person can decide"
            yield Problem(rule.line, f"{rule.name!r} has quorum {rule.quorum}, and {only}: name more")
