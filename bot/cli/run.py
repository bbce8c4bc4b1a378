"""`python -m bot`: runs the bot with the settings of the environment and of .env. It imports no other command."""

import asyncio
import errno
import logging
from collections.abc import Callable

from bot.cli.exits import fail, plain_errors
from bot.domain.errors import SettingsError
from bot.runtime.logs import set_up_logging
from bot.runtime.settings import load_settings, unknown_variables

logger = logging.getLogger(__name__)


def run() -> None:
    """Run the bot with the settings of the environment and of .env."""
    with plain_errors(_cannot_listen):
        unknown = unknown_variables()
        try:
            settings = load_settings()
        except SettingsError as error:
            # A misspelt name can be the reason why another setting is missing.
            raise SettingsError("\n".join([str(error), *unknown])) from error
        set_up_logging(settings.log_level)
        for sentence in unknown:
            logger.warning("setting.unknown", extra={"reason": sentence})
        # Slack's libraries are slow to import. A wrong setting should not wait for them.
        from bot.app import main  # noqa: PLC0415  # as said above

        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(main(settings))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            fail(
                f"Port {settings.http_port} is in use: another program listens there, perhaps another bot. "
                "Stop it, or set ASSENT_HTTP_PORT to another port."
            )


def _cannot_listen(error: OSError) -> str:
    where = "the address of ASSENT_HTTP_HOST and ASSENT_HTTP_PORT"
    return f"the bot cannot listen: {error.strerror}: correct {where}, or what uses it"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # not there on Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
