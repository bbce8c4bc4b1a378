"""What the stand-in refuses, in Slack's words or in ours."""

from typing import Any


class SlackError(Exception):
    """The Web API answers `{"ok": false, "error": code}` with these further details."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.code = code
        self.details = details

    def answer(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"ok": False, "error": self.code, **self.details}


class ControlError(Exception):
    """The control API was asked for something impossible. The message says what, and how to fix it."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
