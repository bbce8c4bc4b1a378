"""The current policy: from the settings, or from a file that is read again when it changes."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_adapter.loops import Loop
from bot.domain.errors import SettingsError, SlackError
from bot.domain.on_call import is_on_call
from bot.domain.policy import Policy
from bot.policy.file import Mention, PolicyFile, PolicyFileError, read_policy
from bot.policy.yaml_values import Problem
from bot.runtime.health import PLACE, Health
from bot.runtime.settings import Settings
from bot.slack.client import SlackClient
from bot.slack.manifest import needed_scopes

logger = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between two looks at the file."""
CHECK_WITHIN = 300.0
"""Seconds that Slack may take to say whom a policy names."""
UNKNOWN = {"user_not_found", "no_such_subteam", "channel_not_found"}


class PolicyKeeper:
    """Gives the policy by which new interrupts are admitted. Open cards keep the policy that admitted them."""

    def __init__(self, settings: Settings, health: Health) -> None:
        """Read the policy.

        Raises:
            SettingsError: with everything that is wrong with its file.
        """
        self._path, self._channel = settings.policy, settings.channel
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

        A wrong ASSENT_CHANNEL is only a warning in `/readyz`: agents can name channels of their own, and a channel can be
        archived at any time.

        Raises:
            SettingsError: with what Slack does not know.
            SlackError: when Slack does not say.
        """
        _log_useless(await check_mentions(self._in_force, slack, self._path))
        if channel := self._channel:
            fault = (await _look_at(Mention(channel, is_place=True), slack)).fault
            self._health.warnings.update({PLACE + channel: f"ASSENT_CHANNEL: {fault}"} if fault else {})

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
                changed = read_policy(text, path)
                check_scopes(changed, slack, path)
                _log_useless(await check_mentions(changed, slack, path))
                self._in_force, self._refused = changed, ""
                self._health.warnings.pop("policy", None)
                # Ids that the new file still names wrongly are reported again.
                for name in [name for name in self._health.warnings if name.startswith(PLACE)]:
                    del self._health.warnings[name]
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
    return PolicyFile(policy, tuple(Mention(entry) for entry in settings.approvers if entry != "channel"))


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
        return Path(path).read_text(encoding="utf-8")
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


async def check_mentions(file: PolicyFile, slack: SlackClient, path: str | None) -> dict[str, str]:
    """Ask Slack about everybody and everything that rules name.

    Returns:
        The approvers who can never decide, each with the reason and the cure. Other people can be on the same list.

    Raises:
        SettingsError: with what Slack does not know.
        SlackError: when Slack does not say.
    """
    distinct = {(mention.id, mention.is_place): mention for mention in reversed(file.mentions)}.values()
    found = {mention: await _look_at(mention, slack) for mention in distinct}
    problems = [Problem(mention.line, look.fault) for mention, look in found.items() if look.fault]
    if problems and path is None:
        raise SettingsError("\n".join(f"ASSENT_APPROVERS: {problem.sentence}" for problem in problems))
    if problems:
        raise PolicyFileError(path or "", problems)
    return {mention.id: look.useless for mention, look in found.items() if look.useless}


@dataclass(frozen=True, slots=True)
class _Look:
    """What Slack says about an id. Both are empty when nothing is wrong with it."""

    fault: str = ""
    """Why it cannot be used."""
    useless: str = ""
    """Why this approver can never decide."""


async def _look_at(mention: Mention, slack: SlackClient) -> _Look:
    id = mention.id
    if is_on_call(id):
        # Who is on call is asked at every click. `doctor` says whether the schedule answers.
        return _Look()
    try:
        if id[0] == "S":
            await slack.group_members(id)
        elif id[0] in "UW":
            return _look_at_person(mention, await slack.user(id))
        elif (await slack.channel(id)).get("is_archived"):
            return _Look(f"the channel {id} is archived: unarchive it, or ask elsewhere")
    except SlackError as error:
        if error.code not in UNKNOWN:
            raise
        cure = "take it out" if id[0] in "UWS" else "invite the bot there"
        return _Look(f"Slack knows no {id} in this workspace: correct the id, or {cure}")
    return _Look()


def _look_at_person(mention: Mention, user: Mapping[str, Any]) -> _Look:
    if user.get("deleted"):
        what = "is deactivated"
    elif user.get("is_bot") or user.get("is_app_user"):
        what = "is a bot"
    else:
        return _Look()
    if mention.is_place:
        return _Look(f"{mention.id} {what} and reads no direct message: ask elsewhere")
    return _Look(useless=f"{mention.id} {what} and can never decide: name somebody else")


def _log_useless(approvers: Mapping[str, str]) -> None:
    for approver, reason in approvers.items():
        logger.warning("approver.cannot_decide", extra={"approver": approver, "reason": reason})
