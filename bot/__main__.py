"""`python -m bot`."""

import sys

try:
    from bot.cli.commands import cli
except ModuleNotFoundError as error:
    sys.exit(
        f"{error}: in a checkout, `make doctor` installs it, and the command is `.venv/bin/python -m bot`"
    )

cli()
