"""`python -m bot policy …`: check a policy file, explain what it says about a call, and print its schema."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import time, timedelta
from typing import Annotated

import aiohttp
import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from agent_adapter.contract.arguments import decode_arguments
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from agent_adapter.contract.wire import agent_name
from agent_adapter.errors import InvalidRequestError
from bot.cli.exits import fail
from bot.domain.admit import look_alike
from bot.domain.errors import SettingsError, SlackError
from bot.domain.policy import AGENT, Policy
from bot.domain.rules import THREAD, Rule
from bot.jobs.policy_watch import Look, look_at_all, read_text, undecidable
from bot.policy.checks import gaps, unconfirmed, without_ring
from bot.policy.file import Mention, PolicyFile, PolicyFileError, read_policy
from bot.policy.keys import json_schema
from bot.policy.yaml_values import Problem
from bot.runtime.settings import Access, load_access
from bot.sentences import in_refusal
from bot.slack.client import SlackClient
from bot.text.look_alikes import resembled

policy_cli = typer.Typer(
    help="Check a policy file, explain what it says about a call, or print its schema.", no_args_is_help=True
)

_File = Annotated[str, typer.Argument(metavar="FILE", help="by default the one that ASSENT_POLICY names")]
_WITHIN = 10.0
_TOLD = {"name", "line", "match", "channel", "approvers"}
"""What stands above the terms of a rule."""
_KEYS = {"start": "from", "end": "to"}
"""Keys of the file by their names here, where these differ."""


@policy_cli.command()
def check(file: _File = "") -> None:
    """Check a policy file, and with a token ask Slack about whom and what it names; exit 1 with every problem.

    Warns of approvers who can never decide, and of rules whose args let other calls of the tool fall to a
    weaker rule, and suggests `confirm` for sums; neither changes the exit code. A rule without anybody else who can decide is a problem.
    """
    path, found, access = _read(file)
    rules = f"{len(found.policy.rules)} {'rule' if len(found.policy.rules) == 1 else 'rules'} and a default"
    looks: dict[Mention, Look] = {}
    asked = "people and channels were not checked in Slack: SLACK_BOT_TOKEN is not set"
    if access.slack_bot_token:
        try:
            looks = asyncio.run(_ask_slack(found, access))
        except SlackError as error:
            fail(
                f"{path}: the rules are sound, but Slack did not say whether it knows whom they name: {error}; "
                "try again, or unset SLACK_BOT_TOKEN to check without Slack"
            )
        asked = "Slack knows everybody and every channel"
    wrong = {each: look for each, look in looks.items() if look.wrong}
    unusable = [each for each, look in wrong.items() if each.is_place or not look.is_known]
    if unusable:
        fail(str(PolicyFileError(path, [Problem(each.line, wrong[each].wrong) for each in unusable])))
    gone = {each.id: look.wrong for each, look in wrong.items()}
    named = {Problem(each.line, gone[each.id]) for each in found.mentions if each.id in gone}
    said = [(each, "warning") for each in {*gaps(found.policy), *named}]
    said += [(each, "suggestion") for each in unconfirmed(found.policy)]
    for each, kind in sorted(said):
        sys.stderr.write(f"{path}, line {each.line}: {kind}: {each.sentence}\n")
    if not access.ring and (sentence := without_ring(found.policy)):
        sys.stderr.write(f"{path}: warning: {sentence}\n")
    if stuck := [*undecidable(found.policy, looks)]:
        fail(str(PolicyFileError(path, stuck)))
    typer.echo(f"{path}: {rules}, version {found.policy.version}; {asked}")


@policy_cli.command()
def explain(
    file: _File = "",
    *,
    agent: Annotated[str, typer.Option(help="who asks")],
    tool: Annotated[str, typer.Option(help="the tool that it wants to call")],
    args: Annotated[str, typer.Option(help="the arguments, a JSON object")] = "{}",
) -> None:
    """Print which rule decides about a call, who may decide, and whether the call would be refused."""
    _, found, _ = _read(file)
    try:
        agent, given = agent_name(agent), decode_arguments(args, where="--args")
    except InvalidRequestError as error:
        raise typer.BadParameter(str(error)) from error
    policy = found.policy
    rule = policy.rule_for(agent, tool, given)
    console = Console(soft_wrap=True, highlight=False)
    _print(console, "Rules, in order", [*_tried(policy, rule, agent, tool, given)])
    _print(console, "Result", [*_result(policy, rule, agent, tool)])
    _print(console, "Terms of this rule", [*_terms(policy, rule, agent, tool)])


@policy_cli.command()
def schema() -> None:
    """Print the JSON Schema of policy files, with which an editor completes and explains keys."""
    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def _read(file: str) -> tuple[str, PolicyFile, Access]:
    try:
        access = load_access()
        path = file or access.policy or fail("name the file, or set ASSENT_POLICY", code=2)
        return path, read_policy(read_text(path, named_by="" if file else "ASSENT_POLICY"), path), access
    except SettingsError as error:
        fail(str(error), code=1 if isinstance(error, PolicyFileError) else 2)


async def _ask_slack(found: PolicyFile, access: Access) -> dict[Mention, Look]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WITHIN)) as session:
        slack = SlackClient(access.slack_bot_token, access.slack_api_url, session)
        return await look_at_all(found, slack)


def _tried(policy: Policy, decides: Rule, agent: str, tool: str, args: object) -> Iterator[tuple[str, str]]:
    is_refused = look_alike(policy, agent, tool, decides) is not None
    does, but = ("would decide", ", but the call is refused") if is_refused else ("decides", "")
    for rule in policy.rules:
        if rule is decides:
            yield _named(rule), f"{does}{but}"
            return
        what = rule.match.mismatch(agent, tool, args)
        alike = resembled(tool, rule.match.tools) if what == "tool" else None
        though = f", though its name looks like {alike}" if alike else ""
        yield _named(rule), f"no: the {what} {'differ' if what == 'arguments' else 'differs'}{though}"
    yield _named(policy.default), f"{does}, since no rule matches{but}"


def _result(policy: Policy, rule: Rule, agent: str, tool: str) -> Iterator[tuple[str, str]]:
    refused = look_alike(policy, agent, tool, rule)
    yield "rule", _named(rule) + (", if the call were asked" if refused else "")
    yield "asked", _where(policy, rule)
    agree = f"; {rule.quorum} of them have to agree" if rule.quorum > 1 else ""
    yield "may decide", ", ".join(_approver(rule, entry) for entry in rule.approvers) + agree
    trusted = policy.requester_of(agent)
    requester = (
        f"{trusted}, as the policy file says" if trusted else "the person whom the agent names, if any"
    )
    if trusted == AGENT:
        requester = "the person whom the agent names, as the policy file trusts it to"
    may = "may approve, when they are an approver" if rule.requester_may_decide else "may only reject"
    yield "requester", f"{requester}; {may}"
    if refused:
        yield "refused", f"yes, with the code {refused.code}: {refused.reason}"
        return
    yield "refused", "; or ".join(_refusals(policy, rule, agent, trusted)) or "no, not by these rules"
    if resembles := policy.resembled_by(agent, tool, rule):
        yield "warning", f"the name looks like {resembles}; the card and the log say so"


def _refusals(policy: Policy, rule: Rule, agent: str, trusted: str | None) -> Iterator[str]:
    """Say when a call would be refused, by what this command does not know of it."""
    if rule.agent == "verified":
        yield "if the agent is not verified (code agent)"
    if trusted and trusted != AGENT:
        yield f"if the agent names another requester than {trusted} (code requester)"
    elif rule.requester == "required" and trusted:
        yield "if the agent names no requester (code requester)"
    elif rule.requester == "required":
        known = f"something else than the agent says who the requester is: {in_refusal.sources(agent)}"
        yield f"yes, with the code requester, unless {known}"
    if rule.channel == policy.default.channel == THREAD:
        yield "if the agent names no channel (code no_channel)"


def _terms(policy: Policy, rule: Rule, agent: str, tool: str) -> Iterator[tuple[str, str]]:
    """Give what holds for the call, in the words of the file. What is left out there, and means nothing else, is left out here."""
    effective = replace(rule, standing=policy.standing_for(agent, tool, rule))
    for key in fields(Rule):
        value = getattr(effective, key.name)
        if key.name not in _TOLD and (value or value != key.default):
            yield key.name, _written(value)
    if "edit" in (rule.decisions or KNOWN_DECISIONS) and policy.decides_by_arguments(agent, tool, rule):
        yield (
            "edits",
            "values that another rule decides about become a proposal, on the stricter terms of both",
        )
    yield "policy version", policy.version


def _written(value: object) -> str:
    """Write a value as the file does."""
    match value:
        case bool():
            return str(value).lower()
        case timedelta():
            return _duration(value)
        case time():
            return f"{value:%H:%M}"
        case tuple():
            return f"[{', '.join(map(_written, value))}]"
        case BaseModel():
            said = (f"{_KEYS.get(name, name)}: {_written(each)}" for name, each in value if each)
            return f"{{{', '.join(said)}}}"
    return str(value)


def _named(rule: Rule) -> str:
    return f"{rule.name} (line {rule.line})"


def _approver(rule: Rule, entry: str) -> str:
    if entry != "channel":
        return entry
    if rule.channel != THREAD or rule.agent_channel_may_decide:
        return "the members of that channel"
    return "the members of that channel, unless the agent chose it"


def _where(policy: Policy, rule: Rule) -> str:
    channel = rule.channel or ""
    if channel == THREAD:
        fallback = policy.default.channel
        return "where the run came from" + (f", else in {fallback}" if fallback != THREAD else "")
    return f"{channel}, in a direct message" if channel[:1] in {"U", "W"} else f"in {channel}"


def _duration(duration: timedelta) -> str:
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours // 24, "d"), (hours % 24, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def _print(console: Console, title: str, rows: list[tuple[str, str]]) -> None:
    """Print a table at a terminal, and plain lines elsewhere."""
    if not console.is_terminal:
        typer.echo(f"{title}:")
        for name, value in rows:
            typer.echo(f"  {name}: {value}")
        return
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows:
        table.add_row(name, value, style="bold" if value.startswith(("decides", "would decide")) else "")
    console.print(table)
