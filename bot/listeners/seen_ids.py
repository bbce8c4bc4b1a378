"""What is delivered twice is done once."""

from collections import OrderedDict

REMEMBERED = 1_000


class Once:
    """Remembers the last ids that this process has met."""

    def __init__(self) -> None:
        self._met: OrderedDict[str, None] = OrderedDict()

    def is_first(self, id: str) -> bool:
        """Tell whether this id comes for the first time, and remember it."""
        if id in self._met:
            return False
        self._met[id] = None
        if len(self._met) > REMEMBERED:
            self._met.popitem(last=False)
        return True
