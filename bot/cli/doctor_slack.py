"""What `doctor` finds in Slack: tokens, scopes, channels and people."""

import contextlib
from collections.abc import AsyncIterator, Collection, Iterator

import aiohttp
from slack_sdk.errors import SlackApiError

from bot.cli.finding import Finding, Verdict
from bot.domain.errors import SettingsError, SlackError, SlackUnclearError
from bot.domain.person import is_on_call
from bot.domain.policy import Policy
from bot.jobs.mentioned import Look, look_at, undecidable
from bot.jobs.policy_watch import scopes_for
from bot.on_call.schedules import Schedules, UnansweredError
from bot.policy.file import Mention, PolicyFile
from bot.runtime.bot_keys import load_bot_keys
from bot.runtime.health import Health
from bot.runtime.settings import Access, Settings
from bot.slack.client import Identity, SlackClient
from bot.slack.manifest import (
    COMMAND,
    COMMAND_SCOPE,
    DIRECT_SCOPES,
    GROUP_CHANGED,
    GROUP_SCOPE,
    HOME_OPENED,
    LEFT_CHANNEL,
    needed_scopes,
)

TRANSPORT_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)
_TOKEN_CURE = "copy the bot token (xoxb-…) again from your Slack app, under OAuth & Permissions"  # noqa: S105  # no token
_APP_TOKEN_CURE = "make an app-level token (xapp-…) with connections:write, under Basic Information"  # noqa: S105  # no token


async def examine_slack(
    slack: SlackClient, settings: Settings, named: PolicyFile | None
) -> AsyncIterator[Finding]:
    """Say whether the app may do what the bot needs, and whether channels and people are there."""
    if settings.socket_mode:
        yield await examine_app_token(slack, settings)
    found, me = await examine_bot_token(slack, settings)
    yield found
    if me is None:
        return
    with contextlib.suppress(SettingsError):
        # A broken key was named already.
        keys = load_bot_keys(settings)
        if keys and (problem := keys.wrong_team(me.team_id)):
            yield Finding("fail", "receipts", problem)
    needed = scopes_for(named) if named else needed_scopes(())
    tells = named and any(
        rule.tell_requester == "direct" for rule in (*named.policy.rules, named.policy.default)
    )
    for finding in judge_scopes(me.scopes, needed, tells=bool(tells)):
        yield finding
    if not settings.policy and not settings.channel:
        yield Finding("warn", "channel", "ASSENT_CHANNEL is not set: only agents that name a channel can ask")
    for finding in await _mentioned(slack, settings, named):
        yield finding
    if named and named.policy.schedules:
        async with aiohttp.ClientSession() as session:
            for finding in await _on_call(slack, settings, named.policy, session):
                yield finding


async def _on_call(
    slack: SlackClient, settings: Settings, policy: Policy, session: aiohttp.ClientSession
) -> list[Finding]:
    """Say who is on call now, by each schedule of the policy."""
    schedules = Schedules(
        session,
        lambda: policy.schedules,
        slack.user_with_email,
        Health(),
        settings.pagerduty_url,
        settings.pagerduty_token,
        settings.calendar_addresses,
    )
    found: list[Finding] = []
    for name in policy.schedules:
        try:
            people = ", ".join(sorted(await schedules.ask(name)))
        except (UnansweredError, SlackError) as error:
            sentence = f"{name}: {error}: until it answers, nobody decides as on call"
            found.append(Finding("fail", "on call", sentence))
            continue
        nobody = "nobody is on call now, or Slack knows none of their e-mail addresses"
        found.append(Finding("ok" if people else "warn", "on call", f"{name}: {people or nobody}"))
    return found


async def examine_bot_token(
    slack: SlackClient, settings: Settings | Access
) -> tuple[Finding, Identity | None]:
    """Say whether Slack takes the bot token, and as whom."""
    try:
        me = await slack.who_am_i()
    except SlackError as error:
        return Finding("fail", "bot token", _cured(error, settings, _TOKEN_CURE)), None
    return Finding("ok", "bot token", f"{me.user} in {me.team} ({me.url})"), me


async def examine_app_token(slack: SlackClient, settings: Settings | Access) -> Finding:
    """Say whether Slack takes the app-level token."""
    try:
        await slack.posting.apps_connections_open(app_token=settings.slack_app_token or "")
    except SlackApiError as error:
        return Finding(
            "fail", "app token", f"Slack refuses it ({error.response['error']}): {_APP_TOKEN_CURE}"
        )
    except TRANSPORT_ERRORS as error:
        return Finding("fail", "app token", _unanswered(settings, error))
    return Finding("ok", "app token", "Socket Mode can be opened")


async def _mentioned(slack: SlackClient, settings: Settings, named: PolicyFile | None) -> list[Finding]:
    """Judge each channel and approver once: which approvers can never decide, and by which rules nobody can."""
    own = [Mention(settings.audit_channel, is_place=True)] if settings.audit_channel else []
    mentions = {(each.id, each.is_place): each for each in (*own, *(named.mentions if named else ()))}
    found: list[Finding] = []
    looks: dict[Mention, Look] = {}
    for mention in sorted(mentions.values(), key=lambda each: not each.is_place):
        subject = "channel" if mention.is_place else "approvers"
        if is_on_call(mention.id):
            continue
        try:
            look = looks[mention] = await look_at(mention, slack)
        except SlackError as error:
            cure = "correct the id, or take it out"
            found.append(Finding("fail", subject, f"{mention.id}: {_cured(error, settings, cure)}"))
            continue
        fails = look.wrong and mention.is_place
        verdict: Verdict = "fail" if fails else "warn" if look.wrong or look.remark else "ok"
        found.append(Finding(verdict, subject, look.wrong or look.remark or look.name))
    if "channel" in settings.approvers:
        found.append(await _channel_members(slack, settings))
    stuck = undecidable(named.policy, looks) if named else ()
    return [*found, *(Finding("fail", "approvers", problem.sentence) for problem in stuck)]


async def _channel_members(slack: SlackClient, settings: Settings) -> Finding:
    if not settings.channel:
        return Finding("ok", "approvers", "the members of the channel that the agent names")
    try:
        members = await slack.channel_members(settings.channel)
    except SlackError as error:
        return Finding("fail", "approvers", _cured(error, settings, "invite the bot there"))
    return Finding("ok", "approvers", f"the {len(members)} members of {settings.channel}")


def judge_scopes(granted: Collection[str], needed: Collection[str], *, tells: bool) -> Iterator[Finding]:
    """Compare the scopes of the token with what is needed, and name what Slack does not say.

    Args:
        granted: The scopes of the token.
        needed: Without one of these, nothing can be approved. All else works without the others.
        tells: Whether requesters are told the outcome in direct messages.
    """
    add = "under OAuth & Permissions, then reinstall the app"
    if missing := ", ".join(scope for scope in needed if scope not in granted):
        yield Finding("fail", "scopes", f"missing {missing}: add them {add}")
    else:
        yield Finding("ok", "scopes", "all that approvals need was granted")
    if COMMAND_SCOPE in granted:
        sentence = f"Slack does not say which ones the app has: look for {COMMAND} under Slash Commands"
        yield Finding("note", "commands", sentence)
    else:
        cure = f"add the scope {COMMAND_SCOPE} under OAuth & Permissions and the command under Slash Commands"
        yield Finding("warn", "commands", f"{COMMAND} is missing: {cure}, then reinstall the app")
    left = "may go on deciding for up to a minute"
    without = {
        HOME_OPENED: "the Home tab stays empty; it also has to be turned on under App Home",
        LEFT_CHANNEL: f"people who leave a channel {left}",
        **({GROUP_CHANGED: f"people who leave a user group {left}"} if GROUP_SCOPE in needed else {}),
    }
    for event, loss in without.items():
        unsaid = f"Slack does not say whether it sends {event}: look for it under Event Subscriptions"
        yield Finding("note", "events", f"{unsaid}. Without it, {loss}")
    if not tells:
        return
    if missing := ", ".join(sorted(DIRECT_SCOPES.keys() - {*granted})):
        sentence = f"nobody is told, since {missing} is missing: add them {add}"
        yield Finding("warn", "tell_requester", sentence)
    else:
        yield Finding("ok", "tell_requester", "the bot can tell requesters in direct messages")


def _cured(error: SlackError, settings: Settings | Access, cure: str) -> str:
    if isinstance(error, SlackUnclearError):
        return _unanswered(settings, error)
    if error.code == "missing_scope":
        return f"{error}: add the scope, then reinstall the app"
    return f"Slack refuses it ({error.code}): {cure}"


def _unanswered(settings: Settings | Access, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    return (
        f"{settings.slack_api_url} does not answer ({reason}): is the network open, is SLACK_API_URL right?"
    )
