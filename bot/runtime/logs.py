"""Logs on stderr: one JSON object per line, or lines for people at a terminal. Never an argument of a tool call."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import orjson
from redis.exceptions import RedisError

from agent_adapter.errors import AgentAdapterError
from bot.domain.errors import BotError

OURS = ("bot", "agent_adapter")

_SPEAKING = (BotError, AgentAdapterError, RedisError, OSError)
"""Errors whose text never quotes anything that an agent sent."""


def set_up_logging(level: str, *, pretty: bool | None = None) -> None:
    """Write logs from now on.

    Args:
        level: `ASSENT_LOG_LEVEL`, for the loggers of this project. Libraries stay at WARNING or above, since
            slack_sdk logs whole messages at DEBUG.
        pretty: Lines for people and not JSON. The default when stderr is a terminal.
    """
    handler = logging.StreamHandler(sys.stderr)
    for_people = sys.stderr.isatty() if pretty is None else pretty
    handler.setFormatter(_LinesForPeople() if for_people else _Lines())
    # No line shows these values, so logging does not look them up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # Nor where it was logged. Python's documentation names this variable for it, in "Optimization" of its logging HOWTO.
    logging._srcfile = None  # noqa: SLF001  # as said above
    # Bolt gives its loggers the level of the root logger.
    logging.basicConfig(
        handlers=[handler], level=max(logging.WARNING, logging.getLevelName(level)), force=True
    )
    for name in OURS:
        logging.getLogger(name).setLevel(level)


_ENCODER = json.JSONEncoder(default=repr)
_NOTHING_ITS_OWN_WAY = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def _encode(event: dict[str, Any]) -> str:
    """Write an event in ASCII, so that no letter of others hides or turns what a terminal shows."""
    try:
        line = orjson.dumps(event, default=repr, option=_NOTHING_ITS_OWN_WAY)
    except orjson.JSONEncodeError:
        return _ENCODER.encode(event)
    return line.decode() if line.isascii() else _ENCODER.encode(event)


class _Lines(logging.Formatter):
    """One JSON object per line, written in one step. Every click logs a line, and a chain of processors takes far longer."""

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        event = {
            "event": record.getMessage(),
            **{name: fields[name] for name in fields.keys() - _OF_EVERY_RECORD},
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="microseconds")
            .replace("+00:00", "Z"),
        }
        if record.exc_info:
            event["exception"] = _tell(record.exc_info[1])
        return self.written(event)

    def written(self, event: dict[str, Any]) -> str:
        """Write a line."""
        return _encode(event)


class _LinesForPeople(_Lines):
    def written(self, event: dict[str, Any]) -> str:
        time, level, what = event.pop("timestamp"), event.pop("level"), event.pop("event")
        error = event.pop("exception", "")
        said = "".join(f"  {name}={value}" for name, value in event.items())
        # No text can forge a line or a colour: `_tell` gives the only lines that are wanted.
        lines = (f"{time} [{level:<8}] {what}{said}", *error.splitlines())
        return "\n".join(map(_printable, lines))


# Other formatters add `message` and `asctime` to the record, and Python 3.12 adds `taskName`.
_OF_EVERY_RECORD = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}


def _tell(error: BaseException | None) -> str:
    """Say where an error and its causes came from, the first cause first. A text is shown only when it cannot quote an agent."""
    told = []
    while error is not None:
        frames = "".join(traceback.format_tb(error.__traceback__))
        words = f": {error}" if isinstance(error, _SPEAKING) else ""
        told.append(f"{frames}{type(error).__qualname__}{words}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(told))


def _printable(text: str) -> str:
    """Show control and invisible characters as escapes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
