"""German."""


def grouped(count: int) -> str:
    """Write a number as Germans do: 1.234."""
    return f"{count:,}".replace(",", ".")
