"""A write that Redis has taken, and nothing has confirmed."""

from typing import Any


class UnconfirmedError(Exception):
    """Redis has taken a write, and what has to confirm it has not done so in time."""

    def __init__(self, sentence: str, answer: Any) -> None:
        super().__init__(sentence)
        self.answer = answer
        """What Redis answered to the write."""
