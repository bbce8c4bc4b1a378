"""The current policy: from the settings, or from a file that is read again when it changes."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_adapter.loops import Loop
from bot.domain.errors import SettingsError, SlackError
from bot.domain.person import Person, is_on_call
from bot.domain.policy import Policy
from bot.policy.file import Mention, PolicyFile, PolicyFileError, read_policy
from bot.policy.yaml_values import Problem
from bot.runtime.health import PLACE, Health
from bot.runtime.settings import Settings
from bot.slack.client import SlackClient
from bot.slack.directory import UNKNOWN, person_of
from bot.slack.manifest import needed_scopes

logger = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between two looks at the file."""
CHECK_WITHIN = 300.0
"""Seconds that Slack may take to say whom a policy names."""


class PolicyKeeper:
    """Gives the policy by which new interrupts are admitted. Open cards keep the policy that admitted them."""

    def __init__(self, settings: Settings, health: Health) -> None:
        """Read the policy.

        Raises:
            SettingsError: with everything that is wrong with its file.
        """
        self._path = settings.policy
        self._in_force = load_policy(settings)
        self._refused = ""
        self._health = health
        self._asked = asyncio.Event()
        logger.info("policy.in_force", extra={"version": self.policy.version})

    @property
    def policy(self) -> Policy:
        return self._in_force.policy

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the bot's token needs for these rules."""
        return scopes_for(self._in_force)

    async def check(self, slack: SlackClient) -> None:
        """Ask Slack about everybody and everything that the policy names. Otherwise a wrong id is noticed too late.

        Raises:
            SettingsError: when nobody is left who can decide anything.
            SlackError: when Slack does not say.
        """
        await self._look_at(self._in_force, slack)

    async def _look_at(self, file: PolicyFile, slack: SlackClient) -> None:
        """Warn of each id that counts for nobody, and of each rule that nobody is left for."""
        looks = await look_at_all(file, slack)
        wrong = {named: look.wrong for named, look in looks.items() if look.wrong}
        stuck = [*undecidable(file.policy, looks)]
        if len(stuck) == len(file.policy.reachable):
            problems = [*(Problem(named.line, why) for named, why in wrong.items()), *stuck]
            if self._path:
                raise PolicyFileError(self._path, problems)
            raise SettingsError("\n".join(f"ASSENT_APPROVERS: {problem.sentence}" for problem in problems))
        # What the file before named wrongly may be right now.
        for name in [name for name in self._health.warnings if name.startswith(PLACE)]:
            del self._health.warnings[name]
        said = []
        for named, reason in wrong.items():
            if named.is_place:
                logger.error("policy.place_unreachable", extra={"place": named.id, "reason": reason})
                self._health.warn(PLACE + named.id, reason)
            else:
                logger.warning("approver.cannot_decide", extra={"approver": named.id, "reason": reason})
                said.append(reason)
        for problem in stuck:
            logger.error("policy.nobody_left", extra={"reason": problem.sentence})
            said.append(problem.sentence)
        self._health.warn("approvers", "; ".join(said))

    def look_now(self) -> None:
        """Read the file now, also when the same file was refused before."""
        self._refused = ""
        self._asked.set()

    async def watch(self, slack: SlackClient, loop: Loop) -> None:
        """Read a changed file as soon as it is there, until cancelled. If it cannot be used, the old policy stays."""
        while self._path is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), LOOK_EVERY)
            self._asked.clear()
            loop.beat(within=CHECK_WITHIN)
            await self._read_again(self._path, slack)

    async def _read_again(self, path: str, slack: SlackClient) -> None:
        text = ""
        try:
            text = await asyncio.to_thread(read_text, path)
            if text == self._in_force.text:
                self._refused = ""
                self._health.warnings.pop("policy", None)
            elif text != self._refused:
                # Thousands of rules take longer than a click may wait.
                changed = await asyncio.to_thread(read_policy, text, path)
                check_scopes(changed, slack, path)
                await self._look_at(changed, slack)
                self._in_force, self._refused = changed, ""
                self._health.warnings.pop("policy", None)
                logger.info("policy.loaded", extra={"path": path, "version": self.policy.version})
        except SlackError as error:
            logger.warning("policy.not_checked", extra={"path": path, "reason": str(error)})
        except SettingsError as error:
            self._refused = text
            self._refuse(str(error))

    def _refuse(self, problems: str) -> None:
        warning = f"version {self.policy.version} stays in force: {problems}"
        if self._health.warnings.get("policy") != warning:
            in_force = self.policy.version
            logger.error("policy.refused", extra={"in_force": in_force, "problems": problems.splitlines()})
        self._health.warnings["policy"] = warning


def load_policy(settings: Settings) -> PolicyFile:
    """Read the policy of a deployment: its file, or what its settings say.

    Raises:
        SettingsError: with everything that is wrong with the file.
    """
    return (
        read_policy(read_text(settings.policy), settings.policy) if settings.policy else policy_of(settings)
    )


def scopes_for(found: PolicyFile) -> tuple[str, ...]:
    """Give the scopes that the bot's token needs for these rules."""
    rules = (*found.policy.rules, found.policy.default)
    return needed_scopes(
        (mention.id for mention in found.mentions if not mention.is_place),
        direct=any(mention.is_place and mention.id[0] in "UW" for mention in found.mentions),
        standing=any(rule.standing for rule in rules),
    )


def policy_of(settings: Settings) -> PolicyFile:
    """Give the policy of a deployment without a file."""
    policy = Policy.of_settings(
        settings.approvers,
        settings.channel,
        requester_may_decide=settings.requester_may_approve,
        agent_channel_may_decide=settings.agent_channel_may_decide,
    )
    approvers = [Mention(entry) for entry in settings.approvers if entry != "channel"]
    places = [Mention(settings.channel, is_place=True)] if settings.channel else []
    return PolicyFile(policy, (*approvers, *places))


def read_text(path: str, *, named_by: str = "ASSENT_POLICY") -> str:
    """Read a policy file.

    Args:
        path: Where it is.
        named_by: The setting that says so; empty when somebody named it in a command.

    Raises:
        SettingsError: when there is no such file, or it is not a text.
    """
    file = f"{named_by}: {path}" if named_by else path
    try:
        # As bytes: in a text, Python would make a line of what follows a lone carriage return.
        return Path(path).read_bytes().decode()
    except FileNotFoundError as error:
        raise SettingsError(f"{file}: there is no such file: correct the path") from error
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8 text: {error.reason}") from error


def check_scopes(file: PolicyFile, slack: SlackClient, path: str) -> None:
    """Compare the scopes that rules need with those that the app has, as far as Slack has said.

    Raises:
        PolicyFileError: with the missing scopes. The bot could not use Slack with these rules.
    """
    missing = sorted(set(scopes_for(file)) - slack.me.scopes)
    if slack.me.scopes and missing:
        sentence = (
            f"the app lacks the scope {', '.join(missing)} for these rules: add it under OAuth & Permissions"
        )
        raise PolicyFileError(path, [Problem(1, f"{sentence}, and install the app again")])


# --- What Slack says about everybody and everything that rules name -----------------------------------------------------
# At the start, in `policy check` and in `doctor`. Each function raises SlackError when Slack does not say.


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
