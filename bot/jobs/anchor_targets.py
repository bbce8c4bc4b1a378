"""Sends an anchor: into a channel, into a Git repository, or to an address."""

import asyncio
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from bot.domain.errors import BotError
from bot.rendering.anchor import anchor_blocks, anchor_text
from bot.slack.client import SlackClient
from bot.tlog.anchors import Anchor, Target

WITHIN = 60.0
"""Seconds that a target may take."""
FOLDER = "anchors"
"""Where the files of anchors are in a repository."""
_AUTHOR = {"NAME": "Assent", "EMAIL": "assent@localhost"}


class AnchorError(BotError):
    """A target did not take an anchor. The message says why, without an address."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends anchors to targets."""

    slack: SlackClient
    session: aiohttp.ClientSession

    async def send(self, target: Target, anchor: Anchor, now: datetime) -> None:
        """Send an anchor to a target.

        Raises:
            AnchorError, SlackError: when it was not taken, or may not have been.
        """
        try:
            async with asyncio.timeout(WITHIN):
                match target.kind:
                    case "slack":
                        await self._post(target.where, anchor)
                    case "git":
                        await push(Path(target.where), anchor.text, now)
                    case "web":
                        await self._put(target.where, anchor.text)
        except TimeoutError:
            raise AnchorError(f"no answer within {WITHIN:g} s") from None

    async def _post(self, channel: str, anchor: Anchor) -> None:
        size = len(anchor.checkpoints), anchor.entries
        await self.slack.post_message(
            await self.slack.reach(channel),
            text=anchor_text(*size),
            blocks=anchor_blocks(*size, anchor.text),
            thread_ts=None,
        )

    async def _put(self, address: str, text: str) -> None:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        try:
            # A redirect is not followed: the other host was not chosen.
            async with self.session.post(
                address, data=text.encode(), headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The text of some of these errors has the address in it.
            raise AnchorError(type(error).__name__) from None
        if not 200 <= status < 300:
            raise AnchorError(f"it answers with status {status}")


async def push(clone: Path, text: str, now: datetime) -> None:
    """Commit an anchor as a file of its own, and push it.

    Raises:
        AnchorError: with what git says.
    """
    name = f"{FOLDER}/{now.astimezone(UTC):%Y-%m-%dT%H%M%SZ}.txt"
    # What a process that died has left in the index stays there.
    await _git(clone, "pull", "--quiet", "--rebase", "--autostash")
    try:
        await asyncio.to_thread(_write, clone / name, text)
    except OSError as error:
        raise AnchorError(f"the file in the clone cannot be written: {error.strerror}") from error
    await _git(clone, "add", "--", name)
    await _git(
        clone, "commit", "--quiet", "--message", f"Anchor of {now.astimezone(UTC):%Y-%m-%d}", "--", name
    )
    await _git(clone, "push", "--quiet")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def _git(clone: Path, *arguments: str) -> None:
    known = {f"GIT_{role}_{name}": said for role in ("AUTHOR", "COMMITTER") for name, said in _AUTHOR.items()}
    try:
        process = await asyncio.create_subprocess_exec(
            "git", "-C", str(clone), *arguments,
            # Nobody is there to type a password.
            env={**known, **os.environ, "GIT_TERMINAL_PROMPT": "0"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise AnchorError(f"git cannot be run: {error.strerror}") from error
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise AnchorError(f"git {arguments[0]} ended with {process.returncode}: {last[:200]}")
