"""What holds for any interrupt, however hostile: over generated names, arguments, schemas, words and statuses."""

import copy
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import MAX_ARGUMENTS_BYTES, check_arguments, encode
from agent_adapter.contract.hitl import (
    EFFECTS,
    ApproveDecision,
    EditDecision,
    RejectDecision,
    RespondDecision,
    UnknownDecision,
)
from agent_adapter.contract.interrupt import Context, Link
from agent_adapter.errors import InvalidRequestError
from bot.domain.admission import Place, Terms
from bot.domain.approval import CLAIMED, Assignment
from bot.domain.ids import Remark
from bot.domain.schedule import Extension, Step
from bot.domain.votes import Vote, position_of
from bot.rendering.arguments import change_lines
from bot.rendering.blocks import json_size
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import plan_parts
from bot.rendering.modal.argument_form import Unchanged
from bot.rendering.modal.editing import render_edit_view
from bot.rendering.modal.field_types import BARE, BOXES, EMPTY
from bot.rendering.modal.forms import (
    render_agree_view,
    render_confirm_view,
    render_hand_over_view,
    render_reject_all_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.modal.questions import TYPED
from bot.rendering.modal.review import render_reading_view
from bot.rendering.pages import measure, pages_of
from bot.sentences import in_form
from bot.text.literal import has_hidden
from bot.use_cases.propose import MOST_BLOCKS, MOST_JSON
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_message,
    assert_slack_takes_view,
    assert_written,
    block_ids,
    button_labels,
    buttons,
    labels,
    literal_text,
    parse_form,
    submitted,
    typed_texts,
)
from tests.support.builders import (
    NOW,
    a_decision,
    a_proposal,
    a_state,
    a_vote,
    an_action,
    an_admission,
    an_interrupt,
    asked,
    calls_of,
    edited,
)
from tests.support.properties import FULL, bounded

ATTACKS = [
    "<!channel>", "<https://evil.example|Approve here>", "<@U0DANA>", "*Approved* by <@U0DANA>",
    "```\n*2.* `safe`", ":white_check_mark:", "a\u202eb\u200bc\U000e0041", "\ufeff\x00\x07\r\n",
    "e" + "\u0301" * 40, " " * 200, "\n" * 200, "\\u{202E}", "😀" * 50, "日本語" * 40, "↪ │ - ",
]  # fmt: skip
words = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.builds(
        lambda text, times: text * times,
        st.sampled_from(["x", '"', "\\", "\u200b\u200c", "ab\n"]),
        st.integers(0, 5_000),
    ),
)
keys = st.one_of(st.sampled_from(["to", "body", "a b", "", "$ref", "id"]), words.map(lambda text: text[:80]))
scalars = st.one_of(
    words,
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


MOST_CALLS = 50 if FULL else 16


def _within_limits(args: Any) -> bool:
    try:
        check_arguments(args)
    except InvalidRequestError:
        return False
    return True


arguments = st.dictionaries(keys, values, max_size=8).filter(_within_limits)
HUGE = [
    {"text": "x" * (MAX_ARGUMENTS_BYTES - 20)},
    {"text": "\x01" * 10_000},
    {"text": "\u200b\u200c" * 10_000},
    {"text": "\n\n" * 16_000},
    {"text": "é" * 32_000},
    {"text": "\U0001f600" * 16_000},
    {"text": "e" + "\u0301" * 30_000},
    {f"key number {number}": "v" for number in range(1_000)},
    {"list": list(range(4_000))},
    {"k" * 60_000: 1},
]

property_schemas = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            {"type": "string"},
            {"type": "string", "minLength": 2, "description": "<!here> fill in"},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "email"},
            {"type": "integer", "minimum": 0},
            {"type": ["number", "null"]},
            {"type": "boolean", "default": True},
            {"enum": ["a", "b", 1, None]},
            {"enum": [f"choice {number}" for number in range(150)]},
            {"const": {"a": 1}},
            {"type": "array", "items": {"enum": ["x", "y"]}},
            {"type": "array", "items": {"type": "string"}},
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            {"$ref": "#/$defs/leaf"},
            {"$ref": "http://127.0.0.1:9/x"},
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(keys, inner, max_size=4),
            "required": st.lists(keys, max_size=2),
        }
    ),
    max_leaves=6,
)
DEFS = {
    "leaf": {"type": "string", "title": "<!channel>"},
    "node": {"type": "object", "properties": {"id": {"type": "integer"}}},
}
schemas = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(keys, property_schemas, max_size=6),
            "required": st.lists(keys, max_size=3),
            "additionalProperties": st.booleans(),
            "$defs": st.just(DEFS),
        }
    ),
    st.dictionaries(keys, values, max_size=4),
)

names = st.one_of(st.sampled_from(["send_email", "sql"]), words.map(lambda text: text[:128])).filter(bool)
allowed = st.lists(
    st.sampled_from(["approve", "edit", "reject", "respond", "later"]), min_size=1, unique=True
)
actions = st.builds(
    an_action,
    names,
    arguments,
    description=st.none() | words,
    allowed=allowed,
    schema=schemas,
    allow_always=st.booleans(),
    effects=st.lists(st.sampled_from([*EFFECTS, "later"]), max_size=4, unique=True).map(tuple),
)
contexts = st.builds(
    Context,
    requested_by=st.none() | words | st.just("U0DANA"),
    title=st.none() | words,
    links=st.lists(st.builds(Link, label=words, url=words), max_size=5).map(tuple),
    subagent=st.none() | words,
)
decisions = st.one_of(
    st.none(),
    st.just(ApproveDecision()),
    st.builds(RejectDecision, message=st.none() | words),
    st.builds(RespondDecision, message=words),
    arguments.map(lambda args: edited("x", **args)),
    st.just(UnknownDecision(type="later")),
)


cares = st.fixed_dictionaries(
    {
        "quorum": st.integers(1, 20),
        "reject_quorum": st.integers(1, 20),
        "risk": st.sampled_from(["low", "normal", "high"]),
        "by_silence": st.booleans(),
        "mask": st.lists(st.sampled_from(["to", "body", "a b", "$ref"])).map(tuple),
        "modal_only": st.sampled_from([(), ("to",), ("body",)]),
    }
)
votes = st.lists(decisions.filter(bool), max_size=25).map(
    lambda said: tuple(a_vote(f"U000000{n:04}", decision) for n, decision in enumerate(said))
)


@st.composite
def states(draw: st.DrawFn) -> Any:
    asked = draw(st.lists(actions, min_size=1, max_size=3))
    if draw(st.booleans()):
        asked = (asked * 50)[: draw(st.integers(4, MOST_CALLS))]
    interrupt = an_interrupt(
        *asked, context=draw(contexts), on_expiry=draw(st.sampled_from(["reject", "raise", "approve"]))
    )
    some = draw(st.lists(decisions, min_size=1, max_size=5))
    everywhere = tuple(range(len(asked)))
    by = draw(st.sampled_from(["U0ERIK", "expired", "somebody <!here> else" * 5]))
    mixed = len(asked) > 1 and draw(st.booleans())
    own = {1: Terms(approvers=["S0000000002"] * 9, decisions=draw(st.none() | st.just(("reject",))))}
    care = draw(st.just({}) | cares)
    calls = calls_of(interrupt, **care)
    parts = plan_parts(interrupt, calls, mixed=mixed)
    pages = tuple(call.pages for call in calls)
    place = Place(channel="C1", actions=everywhere, parts=parts)
    return a_state(
        interrupt,
        decided={
            index: a_decision(interrupt, index, decision, by=by, note=draw(st.none() | words))
            for index, decision in zip(everywhere, some * 50, strict=False)
            if decision is not None
        },
        admission=an_admission(
            approvers=["U0000000001"] * draw(st.sampled_from([1, 30])),
            own=own if mixed else {},
            places=(place,),
            pages=pages,
            **care,
        ),
        votes=dict.fromkeys(everywhere, draw(st.just(()) | votes)),
        status=draw(st.sampled_from(["pending", "decided", "expired", "withdrawn", "refused"])),
        reason=draw(st.none() | words),
        stalled=draw(st.none() | words),
        settled_at=draw(st.none() | st.just(NOW)),
        resumed_at=draw(st.none() | st.just(NOW)),
    )


@bounded(50)
@given(states())
def test_every_card_and_view_is_one_that_slack_takes(state):
    """At every moment, within the budget of each message, with every action in exactly one of them."""
    _assert_views(state)
    parts = render_card(state)

    assert_slack_takes_card(parts)
    shown = [index for part in parts for index in part.actions]
    assert shown == list(state.admission.places[0].actions)
    assert len({part.id for part in parts}) == len(parts)


STRICT = Terms(approvers=("U0MIRA",), mask=("id",), headline=("to",))


@st.composite
def histories(draw: st.DrawFn) -> Any:
    """Give a record as it is read at several times: open, voted on, with proposals, decided, ended."""
    last = draw(states())
    found = []
    for way in draw(st.lists(st.sampled_from(["open", "voted", "proposed", "decided"]), max_size=4)):
        some = draw(st.lists(decisions, min_size=1, max_size=3))
        said = {n: each for n, each in zip(range(len(last.recorded)), some * 50, strict=False) if each}
        kept = {n: a_decision(last.interrupt, n, each) for n, each in said.items() if way == "decided"}
        votes = {n: (Vote("U0DANA", position_of(each), each, "1", "t"),) for n, each in said.items()}
        edits = {n: each for n, each in said.items() if isinstance(each, EditDecision)}
        proposals = {n: a_proposal(each, terms=STRICT) for n, each in edits.items()}
        now = replace(
            last,
            status="pending",
            recorded=tuple(map(kept.get, range(len(last.recorded)))),
            votes=votes if way == "voted" else {},
            proposals=proposals if way == "proposed" else {},
        )
        found.append(now)
    return [*found, last]


@bounded(100)
@given(histories())
def test_what_is_kept_of_a_card_is_what_would_be_drawn_anew(history):
    """A bot reads a record again with what was computed from it before, whatever has happened to it since."""
    before: dict[int, Any] = {}

    for state in history:
        assert render_card(replace(state, kept=before)) == render_card(replace(state, kept={}))


@bounded(50)
@given(states())
def test_every_card_with_all_about_time_is_one_that_slack_takes(state):
    """Asked in many places, claimed, to be extended, with a thread full of remarks: within the budget all the same."""
    state = _with_all_about_time(state)

    parts = render_card(state)

    assert_slack_takes_card(parts)
    assert len({part.id for part in parts}) == len(parts)
    remarks = [part for part in parts if part.id.kind == "remark"]
    assert len(remarks) == len(state.remarks) * len(state.places)
    if state.is_open:
        [clock] = [block for block in parts[0].blocks if block["block_id"] == "clock"]
        assert [button["action_id"] for button in clock["elements"]] == ["hand_over:0", "extend:1"]


def _with_all_about_time(state):
    everywhere = state.admission.places[0].actions
    parts = plan_parts(
        state.interrupt, measure(state.interrupt, state.admission.terms), mixed=True, timed=True
    )
    more = tuple(f"S{number:010}" for number in range(12))
    step = Step(kind="escalate", after=timedelta(minutes=1), actions=everywhere[:1], approvers=more)
    held = {"actions": everywhere, "parts": parts, "assign": timedelta(hours=1)}
    extension = Extension(by=timedelta(days=6, hours=23, minutes=59, seconds=59), times=9)
    places = tuple(Place(channel=f"C{n:010}", **held) for n in range(3))
    changed = {"places": places, "steps": (step,), "extension": extension}
    about = {"places": (0, 1, 2), "actions": everywhere, "mentions": more * 5, "also_in": "C0000000009"}
    kinds = enumerate(("remind", "escalate", "extend", "hand_over"), 1)
    return replace(
        state,
        # The properties are reckoned anew from these fields.
        admission=state.admission.model_copy(update=changed).escalated(step),
        recorded=(None, *state.recorded[1:]),
        now=state.deadline - timedelta(minutes=1),
        extended=1,
        reached={0: True},
        marks={CLAIMED: {0: Assignment("U0000000001", NOW, state.deadline)}},
        remarks={n: Remark(kind=kind, by="U0000000001", until=NOW, **about) for n, kind in kinds},
    )


@bounded(40)
@given(
    count=st.integers(1, 14),
    size=st.integers(0, 700),
    quorum=st.sampled_from([1, 2]),
    risk=st.sampled_from(["normal", "high"]),
    timed=st.booleans(),
)
@example(count=33, size=300, quorum=2, risk="high", timed=False)
@example(count=12, size=320, quorum=1, risk="high", timed=False)
def test_every_message_of_a_card_has_room_for_a_proposal(count, size, quorum, risk, timed):
    """Messages are divided before anybody proposes anything. Further proposals that have no room are refused when they are made."""
    calls = [
        an_action(f"a_tool_with_a_long_name_{n}", {"amount": "x" * size, "account": "a"})
        for n in range(count)
    ]
    state = asked(*calls)
    state = _with_all_about_time(state) if timed else state
    terms = Terms(approvers=tuple(f"S{n:010}" for n in range(12)), quorum=quorum, risk=risk)
    proposals = {
        n: a_proposal(
            edited(calls[n][0].name, amount="y" * size),
            name=f"{n:032x}",
            by="U0000000001",
            rule="<&>" * 40,
            terms=terms,
            channel="C0000000009",
        )
        for n in {part.actions[0] for part in render_card(state) if part.actions}
    }

    for part in render_card(replace(state, proposals=proposals)):
        assert_slack_takes_message(part.text, part.blocks)
        assert json_size(part.blocks) <= MOST_JSON
        assert len(part.blocks) <= MOST_BLOCKS


def _assert_views(state):
    # With what people have voted for, and nothing decided.
    before = replace(state, status="pending", recorded=(None,) * len(state.recorded))
    assert_slack_takes_card(render_card(before))
    for index in {0, len(state.actions) - 1}:
        pages = min(len(pages_of(state.actions[index])), 3)
        for render in (render_edit_view, render_reject_view, render_respond_view):
            assert_slack_takes_view(render(state, index))
        for render in (render_agree_view, render_confirm_view):
            assert_slack_takes_view(render(before, index))
        for page in range(1, pages + 1):
            assert_slack_takes_view(render_reading_view(state, index, page, pages_read=page - 1))
    assert_slack_takes_view(render_reject_all_view(state, 0))
    assert_slack_takes_view(render_hand_over_view(state, 0))


def test_the_largest_arguments_are_shown_within_the_limits():
    """Sixty-four kilobytes of any kind: a card that says so, and pages that hold all of it."""
    for args in HUGE if FULL else HUGE[::3]:
        state = a_state(an_interrupt(an_action(args=args, description="d" * 50_000)))
        assert_slack_takes_card(render_card(state))
        assert_slack_takes_view(render_edit_view(state, 0))
        assert_slack_takes_view(render_respond_view(state, 0))
        _assert_readable(state, 0)


@bounded(40)
@given(arguments, st.none() | words)
@example({"table": "invoices_2019", "sql": "delete\nfrom x"}, "Frees space.")
@example({"sql": ("x" + " " * 30) * 250}, "Frees space.")
def test_nothing_is_typed_in_a_form_that_hides_the_call(args, description):
    """On a phone the form covers the card: it shows every argument and what the agent says, above the input."""
    state = a_state(an_interrupt(an_action(args=args, description=description)), risk="high")
    (part,) = render_card(state)
    assume("confirm:0" in [button["action_id"] for button in buttons(part.blocks)])

    view = render_confirm_view(state, 0)
    assert_written(args, literal_text(view["blocks"], "arguments"))
    assert view["submit"]["text"] == in_form.APPROVE

    assert_slack_takes_view(view)
    assert_written(args, literal_text(part.blocks, "a:0:arguments"))
    assert ("description" in block_ids(view["blocks"])) == bool(description)
    assert [block["block_id"] for block in view["blocks"]][-2:] == [TYPED, "note"]


def _assert_readable(state: Any, index: int) -> None:
    pages = len(pages_of(state.actions[index]))
    views = [render_reading_view(state, index, page, pages_read=page - 1) for page in range(1, pages + 1)]
    for view in views:
        assert_slack_takes_view(view)
    ends = [any("I have read it" in label for label in button_labels(view)) for view in views]
    assert ends == [False] * (pages - 1) + [True]
    texts = [literal_text(view["blocks"], "arguments") for view in views]
    assert_written(state.actions[index].request.args, "\n".join(text for text in texts if text))


@bounded(30)
@given(states())
def test_no_words_of_others_stand_where_they_would_act(state):
    """In mrkdwn nothing that an agent or a reviewer wrote is found, not even escaped; in plain text, all is seen.

    A notification has the values of a call, and none of them acts.
    """
    views = [render(state, 0) for render in (render_respond_view, render_reject_view, render_edit_view)]
    pages = (1, len(pages_of(state.actions[0])))
    views += [render_reading_view(state, 0, page, pages_read=0) for page in pages]

    for payload in (*(part.blocks for part in render_card(state)), *views):
        for place, text in typed_texts(payload):
            if place == "mrkdwn":
                _assert_harmless(text)
            else:
                assert not has_hidden(text)
    for part in render_card(state):
        _assert_only_ours_acts(part.text)
        assert ":white_check_mark:" not in part.text


_CODE = re.compile("`[^`\n]+`")
_OURS = re.compile(r"@[UW][A-Z0-9]{2,20}>|!subteam\^S[A-Z0-9]{2,20}>|!date\^")


def _assert_only_ours_acts(text: str) -> None:
    # Every token that Slack acts on is one of ours: an approver's id, or a date.
    for token in text.split("<")[1:]:
        assert _OURS.match(token), text
    assert not has_hidden(text)


def _assert_harmless(text: str) -> None:
    _assert_only_ours_acts(text)
    # Names of arguments stand in code, in which Slack acts on nothing.
    words = _CODE.sub("", text)
    assert "evil.example" not in words
    assert "white_check_mark" not in words
    assert "\u202e" not in text
    assert "日本" not in words


@bounded(150)
@given(arguments, schemas, st.booleans())
@example({"text": "line\r\nline\rline\n", "n": 1}, None, False)
@example({"text": "x" * 10_000, "n": 1, "hidden": "a\u200bb\u202ec"}, None, True)
@example({"big": 2**80, "rate": 1e22, "one": 1.0, "minus": -0.0}, None, True)
@example({"deep": {"a": {"b": {"c": [{"d": None}]}}}, "empty": {}, "none": []}, None, True)
@example({"\u200b": 1, "": 2, "a b": {"<!channel>": 3}}, None, True)
@example({"a": " x\r\n", "b": "\n", "c": "", "d": {"e": "\tx "}}, None, True)
@example({"a": " x\r\n", "b": "\n", "c": "", "d": {"e": "\tx "}}, None, False)
def test_a_form_that_nobody_touched_gives_what_was_asked(args, schema, trims):
    """Byte for byte, whatever the schema and whatever Slack does to the text of inputs."""
    view = render_edit_view(a_state(an_interrupt(an_action(args=args, schema=schema))), 0)
    assume("submit" in view)
    before = copy.deepcopy(args)

    assert parse_form(submitted(view, trims=trims), args, schema) == Unchanged()
    assert encode(args) == encode(before)


near = st.lists(
    st.sampled_from(
        ['"', " ", "→", " → ", "·", " · JSON", "a", "b", "\\", "…", "x" * 150, "y" * 80, "\u200b"]
    ),
    max_size=5,
).map("".join)
alike = st.recursive(
    st.sampled_from([1, "text", " text ", [1], None]),
    lambda inner: st.dictionaries(near, inner, min_size=1, max_size=5),
    max_leaves=12,
)


@bounded(150)
@given(st.dictionaries(near, alike, max_size=6) | arguments, st.none() | schemas)
@example({"a": {"b": 1}, "a → b": 2}, None)
@example({" x": 1, '" x"': 2, "x": 3, '\\" x"': 4}, None)
@example({"k" * 149 + "1": 1, "k" * 149 + "2": 2, "k" * 200 + "1": 3, "k" * 200 + "2": 4}, None)
@example({"a": [1], "a · JSON": "x", "a · JSON ": "x"}, None)
@example({"a  b": 1, "a b": 2, "a \\{2 spaces}b": 3}, None)
@example({EMPTY.label: "y", BARE.label: " z ", "Later": 1}, None)
@example({"": {"": 1}, '"" → ""': 2, '""': {'""': 3}}, None)
@example({"p" * 140: {"q" * 140 + "1": 1, "q" * 140 + "2": 2}}, None)
@example({"x… 5 more characters (input 1)": 1, "x" * 200: 2}, None)
def test_no_two_inputs_of_a_form_share_a_label(args, schema):
    """Whatever the arguments are called, and also where Slack shows a row of spaces as one."""
    assume(_within_limits(args))
    state = a_state(an_interrupt(an_action(args=args, schema=schema)), risk="high")
    view = render_edit_view(state, 0)
    assert_slack_takes_view(view)

    found = labels(view)
    assert len(set(found)) == len(found)
    for block in view["blocks"]:
        if block["block_id"] in {box.block_id for box in BOXES}:
            ticks = [option["text"]["text"] for option in block["element"]["options"]]
            assert len(set(ticks)) == len(ticks)


tricky = st.sampled_from([
    *(1, 1.0, 100.0, 0, -0.0, True, False, None, [], {}, [1], {"a": 1}, "", "a", "1", "true", "null", "{}", "[]"),
    *(" a", "a ", "a\n", "a\nb", "- a", "+ a", "a → b", "a\n+ b: 1", "\u200b", "\u202e", "\u00e9", "e\u0301"),
    *("\\", "\\u{200B}", "│ a"),
])  # fmt: skip
names = st.sampled_from(
    ["a", "b", "a.b", "a[0]", "a: 1", "→", "- a", '"a"', "a ", "", "x\ny", "[0]", "b\u200b", "\u202ea"]
)
small = st.dictionaries(
    names, st.recursive(tricky, lambda inner: st.lists(inner, max_size=2), max_leaves=3), max_size=3
)


@bounded(300)
@given(small, small, small)
def test_two_edits_never_read_the_same_in_the_last_step(asked, one, other):
    """So what somebody approves there is what runs. Only the order of names may differ, which JSON gives no meaning."""
    assume(_sorted(one) != _sorted(other))

    assert change_lines(asked, one) != change_lines(asked, other)


def _sorted(value: Any) -> str:
    if isinstance(value, dict):
        return encode({name: _sorted(value[name]) for name in sorted(value)})
    if isinstance(value, list):
        return encode([_sorted(each) for each in value])
    return encode(value)
