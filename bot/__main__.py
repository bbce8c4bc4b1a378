"""`python -m bot`."""

from bot.cli import cli

cli()
