"""What became of the calls that ran, and what stands beside a card: standing approvals, remarks, words to the requester.

The agent's words are literal text in blocks of their own, without masked values. Whom an agent acts for reads no argument: that
person may be in a place where the call itself was not shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agent_adapter.contract.hitl import RejectDecision
from agent_adapter.contract.outcome import Outcome
from agent_adapter.contract.record import EXPIRED
from bot.domain.action import Action
from bot.domain.admission import Place, Told
from bot.domain.approval import Approval
from bot.domain.ids import Remark
from bot.domain.masking import scrub
from bot.domain.person import mention
from bot.domain.standing import StandingApproval
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import (
    Block,
    actions,
    context,
    json_size,
    leaves,
    literal,
    literal_within,
    quote,
    quoted,
    rich_text,
    section,
    section_of,
)
from bot.rendering.buttons import REVOKE, value_of
from bot.rendering.calls import safe_name
from bot.rendering.card.title import alarm, alarm_text, failed_in, long_title, run_suffix, title
from bot.rendering.card.votes import not_run_words
from bot.rendering.subject import subject, subject_of, tool_of
from bot.sentences import in_text, in_thread, on_card, words
from bot.text.literal import clip, mrkdwn_line, one_line, visible, without_marks

SHOWN_USES = 20
_CALL = 160
_MOST_REASONS = 5
# JSON characters of the words of one person.
_WORDS = 1_200


def call_words(action: Action) -> str:
    return clip(one_line("  ".join(argument_lines(action.shown(on_card=True)))), _CALL)


def standing_text(state: Approval, index: int) -> str:
    return without_marks(f"{given_words(state, index)} {used_words(state.standing[index])}")


def standing_blocks(state: Approval, index: int) -> list[Block]:
    """Draw what was approved for later calls, every use of it, and how to revoke it."""
    approval = state.standing[index]
    blocks = [section("given", given_words(state, index)), *name_blocks("name", state.actions[index])]
    blocks.append(context("used", used_words(approval)))
    first = max(len(approval.uses) - SHOWN_USES, 0)
    shown = list(enumerate(approval.uses, 1))[first:]
    lines = [in_thread.earlier_uses(first)] if first else []
    for number, use in shown:
        lines.append(in_thread.use(number, use.at, mention(use.requested_by) if use.requested_by else ""))
    if lines:
        blocks.append(section("uses", "\n".join(lines)))
    if calls := [f"{number}. {use.call}" for number, use in shown if use.call]:
        blocks.append(literal("calls", "\n".join(calls)))
    if approval.ended is None:
        blocks.append(actions("revoke", [revoke_button(state, index)]))
    return blocks


def given_words(state: Approval, index: int) -> str:
    approval, action = state.standing[index], state.actions[index]
    terms, name = approval.terms, safe_name(action.request)
    recorded = state.recorded[index]
    is_one_run = terms.scope == "run"
    return in_thread.standing_given(
        mention(recorded.decided_by) if recorded else words.SOMEBODY,
        f"`{name}`" if name else in_thread.TOOL_BELOW,
        terms.same,
        in_thread.SAME_RUN if is_one_run else in_thread.in_every_run(state.interrupt.agent),
        approval.until,
        terms.uses,
    )


def used_words(approval: StandingApproval) -> str:
    used = in_thread.used(len(approval.uses), approval.terms.uses)
    if (ended := approval.ended) is None:
        return used
    return f"{used} {in_thread.ended(ended.at, ended.by, mention(ended.by))}"


def name_blocks(block_id: str, action: Action) -> list[Block]:
    """Draw a tool's name that does not look like one, as literal text."""
    return [] if safe_name(action.request) else [literal(block_id, one_line(action.request.name))]


def revoke_button(state: Approval, index: int, *, place: int = 0) -> Block:
    """Draw the button that ends it; its place among others tells their ids apart."""
    return REVOKE.drawn(f"{index}.{place}", value_of(state, [index]))


def told_text(state: Approval, told: Told) -> str:
    return without_marks(_ended(state, told))


def told_blocks(state: Approval, told: Told) -> list[Block]:
    """Draw how it ended. Words of people are shown to the person alone, and not in a thread that others read."""
    channels = [place.channel for place in state.places.values() if not place.channel.startswith("D")]
    where = in_thread.asked_by(state.interrupt.agent, [*map(words.place_name, channels)])
    blocks = [section("told", _ended(state, told)), context("where", where)]
    if told.thread_ts is None:
        said = [(action, text) for action in state.actions if (text := _reason(action))]
        for action, text in said[:_MOST_REASONS]:
            blocks.append(literal_within(f"a:{action.index}:words", visible(text), _WORDS, quote))
    return blocks


def _ended(state: Approval, told: Told) -> str:
    # Two places may ask the same.
    titles = dict.fromkeys(
        mrkdwn_line(title(state, place, has_values=False)) for place in state.places.values()
    )
    called = mention(told.person) if state.status == "expired" else ""
    none_ran = all(not_run_words(state, place) for place in state.places.values())
    return in_thread.told([*titles], called, on_card.not_run(len(state.actions)) if none_ran else "")


def _reason(action: Action) -> str:
    recorded = action.recorded
    if recorded is None or not isinstance(recorded.decision, RejectDecision):
        return ""
    return scrub(recorded.changes or recorded.decision.message or "", action.secrets)


def remark_text(state: Approval, place: Place, remark: Remark) -> str:
    """Write a remark as mrkdwn. It names what a place shows of the calls, as they were asked: it is never changed."""
    named = [index for index in remark.actions if index in place.actions] or place.actions
    calls = [replace(state.actions[index], recorded=None, votes=(), stricter=None) for index in named]
    about = mrkdwn_line(subject_of(calls))
    person = mention(remark.by) if remark.by else words.SOMEBODY
    called = [mention(name) for name in remark.mentions]
    match remark.kind:
        case "remind":
            return in_thread.reminder(about, called)
        case "escalate":
            return in_thread.escalated(about, called, remark.also_in)
        case "propose":
            return in_thread.proposed(person, about, called, remark.also_in)
        case "extend":
            return in_thread.extended(person, about, remark.until)
        case "hand_over":
            return in_thread.handed_over(person, about, called)


_ERROR, _RESULT = 900, 400
"""JSON characters of an error and of a result on the card. A card has this much room beside its calls."""
_FEW = 8
"""Up to how many calls the thread says of each what it is about; of more, it names the tools."""
_IN_THREAD = 7_000
_LINE = 200
"""Characters of the line of an error that calls somebody."""
_NAMED = 20
"""How many calls the message in the thread names."""


def ran_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw the agent's words about the only call, or about the first call that failed, with the values it ran with."""
    reported, failed = reported_in(state, place), failed_in(state, place)
    if len(place.actions) > 1 and not failed:
        return [context("ran", in_thread.IN_THREAD)] if is_told_in_thread(state, place) else []
    if not reported:
        return []
    (index, *_) = failed or reported
    shown, cut = _shown(state, index, state.secrets, is_brief=True)
    which = in_thread.failed(failed) if len(place.actions) > 1 else ""
    says, about = in_thread.says(which, cut), subject(state.actions[index]) if which else ""
    head = [context("ran", says)] if says else []
    return [*head, *_words(index, about, shown, _ERROR if failed else _RESULT)]


def wrong_in(state: Approval, place: Place) -> list[int]:
    """Give the calls whose approvers are called: they failed, were not started, or nobody knows what became of them."""
    failed, lost = failed_in(state, place), alarm(state, place) in {"stopped", "not_started"}
    return [
        index
        for index in state.running(place.actions)
        if state.actions[index].terms.tell_approvers
        and (index in failed or (lost and index not in state.outcomes))
    ]


def is_told_in_thread(state: Approval, place: Place) -> bool:
    """Whether the thread says what became of the calls.

    It does once something is wrong. Only a new message calls anybody, so all else waits until every outcome is known:
    those of several calls, and words that the card of one does not show.
    """
    runs, reported = state.running(place.actions), reported_in(state, place)
    if wrong_in(state, place) or not runs or len(reported) < len(runs):
        return bool(wrong_in(state, place))
    return len(place.actions) > 1 or any(_is_long(state, index) for index in reported)


def thread_text(state: Approval, place: Place) -> str:
    """Say in a notification what became of the calls, and call those who approved them where something is wrong."""
    return " ".join(filter(None, [_called(state, place), mrkdwn_line(long_title(state, place))]))


def thread_blocks(state: Approval, place: Place) -> list[Block]:
    """Draw what is wrong, then what became of every call, those that failed first. There is one such message, and it is edited."""
    wrong, secrets, is_one = wrong_in(state, place), state.secrets, len(place.actions) == 1
    alarmed = alarm_text(state, place) if wrong else ""
    blocks = [section("ran", in_thread.became(_news(state, place), _called(state, place), alarmed))]
    if wrong or is_one:
        calls = [state.actions[index] for index in failed_in(state, place) or wrong or place.actions]
        blocks.append(rich_text("ran:call", [section_of(leaves(subject_of(calls)))]))
    if error := _error_line(state, wrong, secrets):
        blocks.append(quote("ran:error", error))
    reported = [index for index in reported_in(state, place) if not is_one or _is_long(state, index)]
    reported.sort(key=lambda index: state.outcomes[index].outcome.status != "failed")
    named = reported[:_NAMED]
    room = min(_IN_THREAD // max(len(named), 1), 3_000)
    name = subject if len(place.actions) <= _FEW else tool_of
    for index in named:
        about = "" if is_one else name(state.actions[index])
        blocks += _blocks(state, index, secrets, room, about)
    left = len(reported) - len(named)
    return [*blocks, *([context("ran:more", in_thread.more(left))] if left else [])]


def _called(state: Approval, place: Place) -> str:
    """Mention who approved, where something is wrong: nobody where it was silence."""
    calls = [state.actions[index] for index in state.running(place.actions)]
    people = [
        person
        for each in (call.recorded for call in calls if call.terms.tell_approvers)
        if each and each.decided_by != EXPIRED and each.sticky not in state.quiet
        for person in each.agreed_by or (each.decided_by,)
    ]
    names = [mention(person) for person in dict.fromkeys(people)] if wrong_in(state, place) else []
    return words.and_more(names, in_thread.MOST_CALLED)


def _news(state: Approval, place: Place) -> str:
    runs, found = state.running(place.actions), alarm(state, place)
    is_done = all_reported_at(state, place) and not failed_in(state, place)
    if is_done and len(runs) > 1:
        return in_thread.all_done(len(runs))
    reported = run_suffix(state, place).removeprefix(", ")
    return reported or (on_card.NEWS[found] if found else on_card.GOING_ON)


def _error_line(state: Approval, wrong: Sequence[int], secrets: Sequence[str]) -> str:
    """Give the first line of the first error, or of why the run did not go on: the agent's words."""
    failed = [state.outcomes[index].outcome for index in wrong if index in state.outcomes]
    reason = state.stalled if wrong and not state.claim_has_lapsed else None
    text = _words_of(failed[0], secrets) if failed else scrub(reason or "", secrets)
    lines = [found.strip() for found in text.splitlines()]
    return clip(visible(next(filter(None, lines), "")), _LINE)


def outcome_blocks(state: Approval, index: int) -> list[Block]:
    return _blocks(state, index, state.secrets, 3_000) if index in state.outcomes else []


def reported_in(state: Approval, place: Place) -> list[int]:
    return [index for index in state.running(place.actions) if index in state.outcomes]


def all_reported_at(state: Approval, place: Place) -> datetime | None:
    """Give the time since when the outcome of every call of a place is known; `None` before that, and without such calls."""
    runs = state.running(place.actions)
    if not runs or any(index not in state.outcomes for index in runs):
        return None
    return max(state.outcomes[index].reported_at for index in runs)


def _is_long(state: Approval, index: int) -> bool:
    outcome = state.outcomes[index].outcome
    room = _ERROR if outcome.status == "failed" else _RESULT
    return len(outcome.text) > room // 2 or (outcome.status == "done" and "\n" in outcome.text.strip())


def _blocks(state: Approval, index: int, secrets: Sequence[str], room: int, about: str = "") -> list[Block]:
    """Draw what became of a call; of several, with its number and what it is about."""
    reported = state.outcomes[index]
    shown, cut = _shown(state, index, secrets, is_brief=False)
    number = state.actions[index].number if about else 0
    says = in_thread.ran(reported.outcome.status, reported.reported_at, number) + cut
    return [context(f"ran:{index}", says), *_words(index, about, shown, room)]


def _words(index: int, about: str, text: str, room: int) -> list[Block]:
    """Draw what a call is about, and the agent's words below it: both are the agent's."""
    head = [section_of(leaves(about))] if about else []

    def draw(block_id: str, text: str) -> Block:
        return rich_text(block_id, [*head, *([quoted(text)] if text else [])])

    return [literal_within(f"ran:{index}:text", text, room + json_size(head), draw)] if head or text else []


def _words_of(outcome: Outcome, secrets: Sequence[str]) -> str:
    """Give the agent's words about a call. An error repeats what was sent, and a masked value has many spellings."""
    return in_text.KEPT_OFF if secrets and outcome.text else outcome.text


def _shown(state: Approval, index: int, secrets: Sequence[str], *, is_brief: bool) -> tuple[str, str]:
    """Give the agent's words about a call as far as they are shown, and what is cut of them."""
    outcome = state.outcomes[index].outcome
    text = _words_of(outcome, secrets).strip()
    lines = text.splitlines()
    if is_brief and outcome.status == "done" and len(lines) > 1:
        return visible(lines[0]), in_thread.first_line(len(lines))
    is_cut = text and not secrets and outcome.length is not None
    return visible(text), in_thread.beginning(len(outcome.text), outcome.length or 0) if is_cut else ""
