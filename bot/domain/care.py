"""What a person types to show that they have read a call. Pure."""

import re
from typing import Any

_TYPED = re.compile(r"[!-~][ -~]{2,22}[!-~]")
"""4 to 24 printable ASCII characters. A space at an end would be lost, and other letters may look alike."""


def value_to_type(value: Any) -> str:
    """Give the value of an argument as a person types it. Empty for values that are too short, too long or hard to type."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and _TYPED.fullmatch(value) else ""
