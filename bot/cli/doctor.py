"""`python -m bot doctor`: is everything there that the bot needs? Each finding is one line, with its cure."""

import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import typer

from bot.cli.doctor_redis import examine_redis
from bot.cli.doctor_slack import examine_app_token, examine_bot_token, examine_slack
from bot.cli.finding import VERDICTS, Finding
from bot.domain.errors import SettingsError
from bot.jobs.policy_watch import load_policy
from bot.policy.gaps import without_ring
from bot.runtime.bot_keys import UNSIGNED, load_bot_keys
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import NOT_KEPT, Access, Settings, load_access, load_settings, unknown_variables
from bot.slack.client import SlackClient

_OF_THE_BOT = (
    "doctor needs all settings of the bot: run it where the bot runs, with the same environment or .env"
)
_WITHIN = 10.0


def main() -> int:
    """Print every finding, what failed last, and a line that counts them; 0 when the bot can work, else 1."""

    async def all_findings() -> list[Finding]:
        return [finding async for finding in examine_environment()]

    found = asyncio.run(all_findings())
    for finding in sorted(found, key=lambda each: VERDICTS.index(each.verdict)):
        typer.echo(str(finding))
    count = Counter(finding.verdict for finding in found)
    numbers = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict])
    typer.echo(f"{numbers}: {'correct what failed' if count['fail'] else 'the bot can work'}")
    return int(count["fail"] > 0)


async def examine_environment() -> AsyncIterator[Finding]:
    """Check what the environment and .env say."""
    for sentence in unknown_variables():
        yield Finding("warn", "settings", sentence)
    try:
        settings = load_settings()
    except SettingsError as error:
        first, *others = str(error).splitlines()
        for sentence in (f"{first}. {_OF_THE_BOT}", *others):
            yield Finding("fail", "settings", sentence)
        # A .env that cannot be read was named already.
        with contextlib.suppress(SettingsError):
            async for finding in examine_access(load_access()):
                yield finding
        return
    async for finding in examine(settings):
        yield finding


async def examine_access(access: Access) -> AsyncIterator[Finding]:
    """Check Redis, and the tokens that are set, while other settings are missing."""
    for finding in await examine_redis(access):
        yield finding
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WITHIN)) as session:
        slack = SlackClient(access.slack_bot_token, access.slack_api_url, session)
        if access.slack_app_token:
            yield await examine_app_token(slack, access)
        if access.slack_bot_token:
            finding, _ = await examine_bot_token(slack, access)
            yield finding


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Check everything that can be checked with these settings, also after a check has failed."""
    mode = "Socket Mode" if settings.socket_mode else "HTTP mode"
    yield Finding("ok", "settings", f"{mode}, namespace {settings.namespace!r}")
    try:
        named = load_policy(settings)
    except SettingsError as error:
        for sentence in str(error).splitlines():
            yield Finding("fail", "policy", sentence)
        named = None
    if named and settings.policy:
        rules = len(named.policy.rules)
        yield Finding("ok", "policy", f"version {named.policy.version}, rules: {rules}")
        if not settings.ring and (sentence := without_ring(named.policy)):
            yield Finding("warn", "policy", sentence)
    for finding in await examine_redis(settings):
        yield finding
    yield judge_signing(settings)
    yield judge_audit(settings.audit_dir)
    for finding in judge_log(settings):
        yield finding
    timeout = aiohttp.ClientTimeout(total=settings.slack_timeout)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        slack = SlackClient(settings.slack_bot_token, settings.slack_api_url, session)
        async for finding in examine_slack(slack, settings, named):
            yield finding


# --- Keys that sign, and the audit trail ----------------------------------------------------------------------------------


def judge_signing(settings: Settings) -> Finding:
    """Say whether what people decide is signed, and with which key."""
    try:
        keys = load_bot_keys(settings)
    except SettingsError as error:
        return Finding("fail", "receipts", str(error))
    if keys is None:
        return Finding("warn", "receipts", UNSIGNED)
    return Finding("ok", "receipts", f"signed with the key {keys.signer.kid}")


def judge_audit(folder: str | None) -> Finding:
    """Judge where the audit trail is kept."""
    if not folder:
        return Finding("warn", "audit", NOT_KEPT)
    path = Path(folder)
    nearest = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    try:
        # Rights alone do not say it: a disk may be read-only, or no disk at all.
        with tempfile.TemporaryFile(dir=nearest, buffering=0) as trial:
            trial.write(bytes(4096))
    except OSError as error:
        cure = "correct the path or its rights, or make room"
        sentence = f"the bot cannot write to {folder} (ASSENT_AUDIT_DIR): {error.strerror}: {cure}"
        return Finding("fail", "audit", sentence)
    made = "" if path.exists() else ", which will be created"
    return Finding("ok", "audit", f"entries are written to the log in {folder}{made}")


def judge_log(settings: Settings) -> list[Finding]:
    """Say whether the heads of the log are signed and posted, where there is a key."""
    try:
        key = load_log_key(settings)
    except SettingsError as error:
        return [Finding("fail", "log", str(error))]
    if key is None:
        return []
    found = [Finding("ok", "log", f"its heads are signed with the key {key.kid}")]
    if not settings.audit_channel:
        sentence = "ASSENT_AUDIT_CHANNEL is not set, so somebody can cut the end off the log unnoticed"
        found.append(Finding("warn", "log", sentence))
    return found
