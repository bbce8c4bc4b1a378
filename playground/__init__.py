"""A strict local stand-in for Slack: the peer of our tests, and what the demo's page shows."""

from bot.playground.client import Control
from bot.playground.limits import check_message, check_view
from bot.playground.server import Playground
from bot.playground.timing import Timing

__all__ = ["Control", "Playground", "Timing", "check_message", "check_view"]
