"""People and groups, as sentences mention them."""

import re
from collections.abc import Sequence

from bot.domain.person import is_person
from bot.sentences import on_card
from bot.text.literal import clip, mrkdwn, one_line

_GROUP = re.compile(r"S[A-Z0-9]{2,20}")


def mention(name: str) -> str:
    """Mention a person or a group where this is a Slack id; any other name is shown as text."""
    if is_person(name):
        return f"<@{name}>"
    if _GROUP.fullmatch(name):
        return f"<!subteam^{name}>"
    return mrkdwn(clip(one_line(name), 60))


def approver_names(approvers: Sequence[str], *, at_most: int, channel: str = "") -> str:
    """Mention who may decide; a longer list is counted."""
    anyone = on_card.anyone_in(channel or on_card.THIS_CHANNEL)
    names = [anyone if name == "channel" else mention(name) for name in approvers]
    return on_card.people(names, at_most)
