"""How a command ends when something is wrong: with sentences on stderr, and exit code 2 where a setting or an argument is wrong, else 1."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from bot.domain.errors import BotError, SettingsError
from bot.text.literal import one_line


def fail(sentences: str, *, code: int = 1) -> NoReturn:
    """End the command."""
    sys.stderr.write(f"{sentences}\n")
    raise SystemExit(code)


@contextmanager
def plain_errors(
    of_files: Callable[[OSError], str],
    *,
    others: tuple[type[Exception], ...] = (BotError, AgentAdapterError),
) -> Iterator[None]:
    """End the command with a sentence for each thing to fix, and no traceback.

    Args:
        of_files: What to say when a file or an address of this machine cannot be used. Redis and Slack raise errors of their own.
        others: Errors with a sentence about anything but a setting or an argument.
    """
    try:
        yield
    except (SettingsError, InvalidRequestError) as error:
        fail(str(error), code=2)
    except others as error:
        fail(one_line(str(error)))
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(of_files(error))
