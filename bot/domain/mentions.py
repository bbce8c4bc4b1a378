"""People and groups, as sentences mention them."""

import re
from collections.abc import Mapping, Sequence

from bot.domain.person import is_on_call, is_person, schedule_of
from bot.sentences import on_card, words
from bot.text.literal import clip, mrkdwn, one_line

_NOBODY: Mapping[str, str] = {}
_NO_SCHEDULE: Mapping[str, Sequence[str]] = {}
_GROUP = re.compile(r"S[A-Z0-9]{2,20}")


def mention(name: str) -> str:
    """Mention a person or a group where this is a Slack id, and name a schedule; any other name is shown as text."""
    if is_person(name):
        return f"<@{name}>"
    if _GROUP.fullmatch(name):
        return f"<!subteam^{name}>"
    return _of_schedule(name, ()) if is_on_call(name) else _plain(name)


def _plain(name: str) -> str:
    return mrkdwn(clip(one_line(name), 60))


def _of_schedule(entry: str, people: Sequence[str]) -> str:
    return on_card.on_call(schedule_of(entry), [mention(person) for person in people])


def approver_names(
    approvers: Sequence[str],
    *,
    at_most: int,
    channel: str = "",
    named_only: Mapping[str, str] = _NOBODY,
    on_call: Mapping[str, Sequence[str]] = _NO_SCHEDULE,
    together: bool = True,
) -> str:
    """Mention who may decide; a longer list is counted. Of people who do not decide together, one is enough. The people in `named_only` are named, so Slack does not notify them. Of a schedule, those in `on_call` are mentioned."""
    anyone = on_card.anyone_in(channel or on_card.THIS_CHANNEL)
    # Those who are notified come first, so that they are not among the ones that are only counted.
    ordered = sorted(approvers, key=named_only.__contains__)
    names = [
        anyone
        if name == "channel"
        else _of_schedule(name, () if name in named_only else on_call.get(name, ()))
        if is_on_call(name)
        else _plain(named_only[name] or name)
        if name in named_only
        else mention(name)
        for name in ordered
    ]
    return (words.and_more if together else words.or_more)(names, at_most)
