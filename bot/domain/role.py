"""What a bot process is for: taking clicks, drawing, or both. Its name says it, so that other bots know."""

from collections.abc import Collection
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["all", "clicks", "draw"]

NOBODY_DRAWS = (
    "no bot draws cards or watches deadlines: start one with ASSENT_ROLE=draw. What people decide meanwhile is stored, and "
    "reaches the agents"
)
NOBODY_TAKES_CLICKS = "no bot takes clicks, so nobody can decide: start one with ASSENT_ROLE=clicks"


def name_of(role: Role, process: str) -> str:
    """Name a bot process by its role."""
    return process if role == "all" else f"{role}.{process}"


def takes_clicks(process: str) -> bool:
    """Whether the bot with this name takes what people do in Slack."""
    return not process.startswith("draw.")


def draws(process: str) -> bool:
    """Whether the bot with this name draws cards and watches deadlines."""
    return not process.startswith("clicks.")


def missing_beside(role: Role, others: Collection[str]) -> str:
    """Say what nobody does when a bot with this role runs beside these bots; empty when nothing is missing."""
    if role == "clicks" and not any(map(draws, others)):
        return NOBODY_DRAWS
    if role == "draw" and not any(map(takes_clicks, others)):
        return NOBODY_TAKES_CLICKS
    return ""
