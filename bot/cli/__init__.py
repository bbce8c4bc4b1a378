"""The commands of `python -m bot` and `assent-bot`."""
