"""A strict local stand-in for Slack: the peer of our tests, and what the demo's page shows."""

from playground.client import Control
from playground.limits import check_message, check_view
from playground.server import Playground
from playground.timing import Timing

__all__ = ["Control", "Playground", "Timing", "check_message", "check_view"]
