"""`python -m bot` and `assent-bot`."""

import sys
from collections.abc import Callable


def main() -> None:
    """Run a command; without one, the bot."""
    command: Callable[[], None]
    try:
        if sys.argv[1:] in ([], ["run"]):
            # The other commands take as long to import as a sixth of the bot.
            from bot.cli.run import run as command  # noqa: PLC0415  # as said above
        else:
            from bot.cli.commands import cli as command  # noqa: PLC0415  # likewise
    except ModuleNotFoundError as error:
        sys.exit(
            f"{error}: in a checkout, `make doctor` installs it, and the command is `.venv/bin/python -m bot`"
        )
    command()


if __name__ == "__main__":
    main()
