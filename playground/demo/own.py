"""What you need to try your own agent: lines to paste, and the settings for other commands."""

import base64
import contextlib
import fcntl
import os
import shlex
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TextIO

from agent_adapter.cipher import STATE_KEY
from bot.runtime.settings import Settings

ENVIRONMENT = Path(".data/playground.env")

USUAL = "redis://127.0.0.1:6390/0"
PROGRAM = """\
from contextlib import suppress

from agent_adapter import Context
from agent_adapter.integrations.functions import requires_approval
from agent_adapter.sync import SyncApprovalClient

approvals = SyncApprovalClient.from_url("redis://127.0.0.1:6390/0", agent="tidy")


@requires_approval(approvals, context=Context(requested_by="U0NOOR"), on_reject=print)
def delete_file(path: str) -> None:
    print(f"deleting {path}")


with suppress(KeyboardInterrupt), approvals:
    delete_file("/srv/reports/2025.csv")
"""
"""What the page, the README and the tutorial show."""

WELCOME = """
  Slack's stand-in, a bot and a Redis run here, on this machine only. Open

      {url}

  Then let a program ask: in another terminal, go to this folder, and paste

{lines}

  A card appears on the page. You are Dana, who may decide. The program does what you decided.

  Your own agent needs the address of this Redis, and nothing else: docs/how-to has a page for each framework.

      Redis:    {redis_url}
      HTTP API: {http_url}

  The examples, and the bot's commands such as `.venv/bin/python -m bot doctor`, use all of this in a terminal after

      source {environment}

  Ctrl-C ends all of it.
"""


def lines(redis_url: str) -> str:
    """Give what a shell takes to run the program with this Redis."""
    return f".venv/bin/python - <<'END'\n{PROGRAM.replace(USUAL, redis_url)}END"


@contextlib.contextmanager
def environment(settings: Settings, http_url: str) -> Iterator[Path]:
    """Write a file to `source`, so that other commands use this bot's Slack and Redis. It exists while the body runs."""
    ENVIRONMENT.parent.mkdir(exist_ok=True)
    with _file_of_its_own() as file:
        file.write(exports(settings, http_url))
        file.flush()
        yield Path(file.name)


@contextlib.contextmanager
def _file_of_its_own() -> Iterator[TextIO]:
    """Open the file, or one beside it when another playground in this folder holds it. It is removed at the end."""
    for number in count(1):
        path = ENVIRONMENT.with_stem(f"{ENVIRONMENT.stem}-{number}") if number > 1 else ENVIRONMENT
        with path.open("a", encoding="utf-8") as file:
            if not _hold(file):
                continue
            # It has the private key of the demo, and a playground that was killed may have left it.
            path.chmod(0o600)
            file.truncate(0)
            try:
                yield file
            finally:
                path.unlink(missing_ok=True)
            return


def _hold(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def exports(settings: Settings, http_url: str) -> str:
    """Write settings as a shell reads them, with the address that an agent over HTTP needs."""
    values = {
        "SLACK_API_URL": settings.slack_api_url,
        "SLACK_BOT_TOKEN": settings.slack_bot_token,
        "SLACK_APP_TOKEN": settings.slack_app_token or "",
        "REDIS_URL": settings.redis_url,
        "ASSENT_NAMESPACE": settings.namespace,
        "ASSENT_APPROVERS": ",".join(settings.approvers),
        "ASSENT_CHANNEL": settings.channel or "",
        "ASSENT_POLICY": str(Path(settings.policy).absolute()) if settings.policy else "",
        "ASSENT_SIGNING_KEY": settings.signing_key or "",
        "ASSENT_SEAL_KEY": settings.seal_key or "",
        "ASSENT_RING": settings.ring or "",
        "ASSENT_RECORD_KEY": settings.record_key or "",
        "ASSENT_STATE_KEY": os.environ.get(STATE_KEY) or base64.b64encode(os.urandom(32)).decode(),
        "ASSENT_URL": http_url,
    }
    if settings.audit_dir:
        # Commands look into the same folder.
        values["ASSENT_AUDIT_DIR"] = settings.audit_dir
    # A value and a file for the same setting are refused.
    cleared = " ".join(f"{name}_FILE" for name in values)
    return f"unset {cleared}\n" + "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in values.items()
    )
