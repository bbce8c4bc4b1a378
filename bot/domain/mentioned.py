"""A reply in the thread of a card that mentions the app: words of a person, which decide nothing by themselves."""

from agent_adapter.contract.hitl import WireModel


class Mentioned(WireModel):
    """What somebody wrote, and the calls that it may be about."""

    user: str
    channel: str
    words: str
    calls: tuple[tuple[str, int], ...]
    """The id of the record and the index of the action, for each call that was open."""
