"""Ids that were seen before, so that what Slack delivers twice is handled once."""

from collections import OrderedDict

REMEMBERED = 1_000


class SeenIds:
    """Remembers the last ids that this process has seen."""

    def __init__(self) -> None:
        self._met: OrderedDict[str, None] = OrderedDict()

    def is_first(self, id: str) -> bool:
        """Whether this id is new. Remember it."""
        if id in self._met:
            return False
        self._met[id] = None
        if len(self._met) > REMEMBERED:
            self._met.popitem(last=False)
        return True
