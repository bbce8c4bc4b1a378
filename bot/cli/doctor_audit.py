"""What `doctor` finds of keys that sign, and of the audit trail."""

import tempfile
from pathlib import Path

from bot.cli.finding import Finding
from bot.domain.errors import SettingsError
from bot.runtime.bot_keys import UNSIGNED, load_bot_keys
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import NOT_KEPT, Settings


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
