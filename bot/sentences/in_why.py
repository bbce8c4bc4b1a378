"""What *Why was this approved?* shows: the record of a card in words, for the person who asks."""

from datetime import datetime, timedelta

from bot.sentences.words import duration_words, when

TITLE = "Why was this approved?"
"""The name of the shortcut."""
VIEW_TITLE = "What happened here"
LOOKING = "Looking for the record…"
NOT_A_CARD = "This message is not a card of Assent that asks something. Ask on a card, or on a part of one."
OF_A_QUEUE = (
    "This card is about many requests. Find one of them under *My requests* or *My decisions*, on the Home tab of the app or "
    "with `/approvals`, and press *What happened…*. If you have its id, write `/approvals show ID`."
)
NOT_A_MEMBER = "Only members of this channel can ask this."
OUTSIDE = (
    "Guests and people from outside of this workspace can ask this only where they are named as approvers."
)
NOTHING_KNOWN = "Nothing is known about this card any more. Older entries of the audit trail were not kept."
NO_SUCH_REQUEST = "There is no such request, or you are not in the channel where it was asked."
NOT_FOUND_NOW = "Slack or Redis did not answer. Try again in a moment."
NOT_HELD = "*The arguments are no longer held.* This is what the audit trail says about it."
HAPPENED = "*What happened*"
DID_NOT_RUN = "The call did not run."
WHOLE = "The whole call, as it was allowed to run:"
AS_SHOWN = "What was shown is what was allowed to run."

_DECIDED = {
    "approve": "approved it",
    "edit": "approved it with changes",
    "reject": "rejected it",
    "respond": "answered in place of the tool",
}
_HOW = {
    "click": "with a button",
    "form": "in a form",
    "standing": "before, with a standing approval",
    "silence": "by silence",
}
_EVENTS = {
    "published": "The agent asked.",
    "withdraw_asked": "The agent took its question back.",
    "expired": "The time ran out.",
    "withdrawn": "It ended: the agent had taken it back.",
    "refused": "It could not be asked.",
    "resumed": "The agent took the answer and went on.",
    "claim_lapsed": "The agent took the answer, and did not go on in time.",
    "untaken": "Nobody went on with the answer for a long time.",
    "let_go": "Nobody has to go on with the run any more.",
    "forged": "Somebody wrote something about it into the store that no bot wrote. It counted for nothing.",
    "reached": "A reminder or an escalation was due.",
    "sticky_used": "The standing approval approved a later call.",
}
FINISHED = "The agent has finished with the answer."
"""What an agent that has reported did last: it had taken the answer before."""
_BY_SOMEBODY = {
    "claimed": "{to} took it on.",
    "handed_over": "{by} handed it over to {to}.",
    "extended": "{by} gave it more time.",
    "sticky_given": "{by} gave a standing approval with it.",
    "sticky_ended": "The standing approval ended ({by}).",
    "uncounted": "The vote of {by} was removed, because they may not decide any more.",
}
_REPORTED = {"done": "The agent reported that it worked.", "failed": "The agent reported that it failed."}


def numbered(number: int | None) -> str:
    """Begin the answer about one of several calls."""
    return f"*{number}.* " if number else ""


def went_on(words: str, *, is_warning: bool) -> str:
    """Say how the run went on, as a sentence of its own."""
    said = f"{words[0].upper()}{words[1:]}"
    return f"⚠️ *{said}.*" if is_warning else f"{said}."


def asked(version: str) -> str:
    """Say which rules decide about a question."""
    return f"It was asked, by version `{version}` of the rules." if version else "It was asked."


def decided(who: str, decision: str, how: str, waited: timedelta | None) -> str:
    """Say who decided, and how: the time is that since the card was there."""
    said = f"{who} {_DECIDED.get(decision, 'decided it')}"
    return " ".join(filter(None, [said, _HOW.get(how, ""), _after(waited)])) + "."


def voted(who: str, decision: str, waited: timedelta | None) -> str:
    """Say how somebody voted where it takes several people."""
    said = f"{who} voted: {_DECIDED.get(decision, 'decided it')}"
    return " ".join(filter(None, [said, _after(waited)])) + "."


def proposed(who: str) -> str:
    """Say that somebody proposed an edit that another rule decides about."""
    return f"{who} proposed an edit that another rule decides about."


def erased(by: str) -> str:
    """Say that somebody erased entries about it from the audit trail."""
    return f"Entries about it were erased from the audit trail by {by or 'somebody'}."


def reported(outcome: str) -> str:
    """Say what the agent reported."""
    return _REPORTED.get(outcome, "The agent reported what became of it.")


def other(event: str, by: str, to: str) -> str:
    """Say what else happened."""
    if event in _BY_SOMEBODY:
        return _BY_SOMEBODY[event].format(by=by or "somebody", to=to or "somebody")
    return _EVENTS.get(event, "Something happened that this version does not know.")


def named(mention: str, name: str) -> str:
    """Name somebody by what they are called now, and by what they were called then."""
    return f"{mention} (then {name})" if name else mention


def line(at: datetime, number: int | None, words: str) -> str:
    """Write one line of what happened. The number is that of the action, where there are several."""
    return f"{when(at)}: {f'action {number}: ' if number else ''}{words}"


def rule(name: str, version: str) -> str:
    """Say which rule decided."""
    return (
        f"By the rule {name}, in version `{version}` of the rules."
        if name
        else f"By version `{version}` of the rules."
    )


def tool(number: int, name: str) -> str:
    """Name the tool of an action whose arguments are not held any more."""
    return f"*{number}.* `{name}`" if name else f"*{number}.*"


def digests(asked: str, decided: str) -> str:
    """Give the digests of what was asked and of what was decided."""
    if decided and decided != asked:
        return f"Digest of what was asked: `{asked}`. Of what was allowed to run: `{decided}`."
    return (
        f"Digest of what was asked: `{asked}`."
        if not decided
        else f"Digest of what was asked and allowed to run: `{asked}`."
    )


def left_out(count: int, interrupt_id: str) -> str:
    """Say how much there was no room for, and where it is."""
    return f"{count} more are not shown here: `python -m bot audit show {interrupt_id}` shows all."


def _after(waited: timedelta | None) -> str:
    if waited is None:
        return ""
    return f"{duration_words(waited) or 'less than a second'} after the card was there"
