"""What `doctor` finds of keys that sign, and of the audit trail."""

import contextlib
import subprocess
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from redis.exceptions import RedisError

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError
from agent_adapter.receipts.signer import kid_of
from agent_adapter.redis.pool import (
    open_redis,
)
from bot.cli.finding import Finding
from bot.domain.errors import SettingsError
from bot.runtime.bot_keys import UNSIGNED, load_bot_keys
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import (
    NOT_KEPT,
    Settings,
)
from bot.store.audit import AuditStore
from bot.tlog.bucket import is_bucket
from bot.tlog.log import LogKey

_WITHIN = 10.0


def judge_signing(settings: Settings) -> Finding:
    """Say whether what people decide is signed, and with which key."""
    try:
        keys = load_bot_keys(settings)
    except SettingsError as error:
        return Finding("fail", "receipts", str(error))
    if keys is None:
        return Finding("warn", "receipts", UNSIGNED)
    if keys.ring.accepts_unsigned:
        until = f"{keys.ring.unsigned_until:%Y-%m-%d}"
        return Finding("warn", "receipts", f"until {until}, records without a signature are accepted")
    return Finding("ok", "receipts", f"signed with the key {keys.signer.kid}")


async def examine_sealed(settings: Settings) -> list[Finding]:
    """Say whether the log here is the one that the bots seal, and whether its checkpoints can be read."""
    with contextlib.suppress(SettingsError, RedisError, AgentAdapterError):
        key = load_log_key(settings)
        if key is None or settings.audit_dir is None:
            return []
        try:
            behind = await _behind(settings, settings.audit_dir, key)
        except (OSError, ValueError, InvalidSignature) as error:
            return [Finding("fail", "log", str(error) or "a checkpoint is not signed with a key of the log")]
        if behind:
            sentence = (
                f"the log in {settings.audit_dir} is behind what another bot has sealed ({', '.join(behind)}): give all "
                "bots the same folder, on a disk that they share, or the same bucket"
            )
            return [Finding("fail", "log", sentence)]
    # What is wrong with the settings or with Redis is said elsewhere.
    return []


async def _behind(settings: Settings, place: str, key: LogKey) -> list[str]:
    async with open_redis(
        settings.redis_url, namespace=settings.namespace, retries=0, credentials=settings.redis_credentials
    ) as redis:
        keys = Keys(settings.namespace)
        return await AuditStore(redis, keys, place).lanes_behind(key)


def judge_audit(folder: str | None) -> Finding:
    """Judge where the audit trail is kept."""
    if not folder:
        return Finding("warn", "audit", NOT_KEPT)
    if is_bucket(folder):
        return Finding("ok", "audit", f"entries are kept in the bucket {folder}")
    path = Path(folder)
    nearest = next((each for each in (path, *path.absolute().parents) if each.exists()), path)
    try:
        # Rights alone do not say it: a disk may be read-only, or no disk at all.
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        return Finding(
            "fail",
            "audit",
            f"the bot cannot write to {folder} (ASSENT_AUDIT_DIR): {error.strerror}: correct the path or its rights",
        )
    return Finding("ok", "audit", f"entries older than 7 days are kept in {folder}")


def judge_log(settings: Settings) -> list[Finding]:
    """Say whether the audit trail is sealed and anchored, where it is to be."""
    try:
        key = load_log_key(settings)
    except SettingsError as error:
        return [Finding("fail", "log", str(error))]
    if key is None:
        return []
    found = [Finding("ok", "log", f"the audit trail is sealed with the key {kid_of(key.public)}")]
    if not settings.anchor_targets:
        sentence = "ASSENT_ANCHOR is not set, so somebody with the key of the log can write it anew unnoticed"
        found.append(Finding("warn", "anchors", sentence))
    return found + [judge_clone(target.where) for target in settings.anchor_targets if target.kind == "git"]


def judge_clone(folder: str) -> Finding:
    """Say whether anchors can be pushed from a clone."""
    command = ["git", "-C", folder, "rev-parse", "--abbrev-ref", "@{upstream}"]
    try:
        ended = subprocess.run(command, capture_output=True, check=False, timeout=_WITHIN)  # noqa: S603  # the operator's own folder
    except (OSError, subprocess.TimeoutExpired):
        return Finding(
            "fail", "anchors", "git cannot be run: install it, or use another target in ASSENT_ANCHOR"
        )
    if ended.returncode:
        cure = "clone the repository there, with a branch that has a commit"
        return Finding("fail", "anchors", f"{folder} is not a clone from which the bot can push: {cure}")
    return Finding("ok", "anchors", f"files are pushed from {folder}")
