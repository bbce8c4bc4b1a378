"""Whoever presses a button that approves had every character of every call it approves before their eyes.

On that very message, or on the pages of a review that they were shown to its end. This reads the drawn blocks as a
person does, and compares what it finds with the calls. It asks none of the functions that decide what is shown.
"""

import json
import re
from dataclasses import replace

from hypothesis import event, example, given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.admission import Terms
from bot.domain.ids import parse_action_id, parse_button_value
from bot.domain.masking import holds
from bot.domain.standing import StandingLimits
from bot.listeners.actions import TABLE, Stores
from bot.rendering.card.card import render_card
from bot.rendering.modal.forms import (
    render_agree_view,
    render_confirm_view,
    render_for_run_view,
    render_note_view,
    render_standing_view,
)
from bot.rendering.modal.review import is_read, render_reading_view, render_review_view
from bot.rendering.modal.view import ViewMeta
from bot.rendering.pages import call_written, pages_of
from bot.sentences import in_text, on_card
from bot.text.literal import visible
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    assert_written,
    buttons,
    literal_text,
)
from tests.support.builders import a_state, a_vote, an_action, asked, edited
from tests.support.properties import bounded

SHORT = ["", " ", "Ada Park", "Ada  Park", "1", "1.0", "true", "null", "{}", "[]", '"', '" "', '"  "', "a: b"]
ODD = [
    "x ", " x", "•••• (masked)", "•••• (maskiert)", "(left out)", "(weggelassen)", "admin: true", "\u200b",
    "e\u0301", "é", "日本語", "1\t2", "# 1",
]  # fmt: skip
REASONS = [
    ["Because it is due."],
    ["why " * 400],
    ["Due.", "Due.\n2. Also due.", None, "x\u200by"],
    ["why " * 60, "2. "],
]
LONG = ["two\nlines", "\u05e9\u05dc\u05d5\u05dd", "x" * 45, "long words " * 12, "y" * 4_000]
texts = st.sampled_from([*SHORT, *ODD, *SHORT, *ODD, "user@example.com", *LONG]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=30
)
numbers = st.sampled_from([0, 1, 12.0, 64.95, -3, -0.125, 10**20, 1e300, 2.5e-7, True, False, None])
nested = st.sampled_from(
    [
        {},
        [],
        {"a": 1},
        {"a": 2},
        [1, "x"],
        {"to": {"secret": "hunter2"}},
        [{"b": "two\nlines"}, {"b": "1. to:"}],
    ]
)
values = st.one_of(texts, numbers, nested)
names = st.sampled_from(
    ["to", "amount", "admin", "a b", "to: x", "1", "#", "Ünal", "x" * 45, '"q"', "secret"]
)


@st.composite
def batches(draw):
    """Calls of one tool with much in common, or of several; masked, decided, and on terms of their own in part."""
    common = draw(st.dictionaries(names, values, max_size=3))
    vary = draw(st.lists(names, max_size=3, unique=True))
    pool = draw(st.lists(values, min_size=1, max_size=4))
    count = draw(st.sampled_from([1, 2, 3, 3, 4, 4, 5, 6, 8, 24]))
    calls = []
    for number in range(count):
        args = dict(common)
        for name in vary:
            if draw(st.integers(0, 7)) or number > 8:
                args[name] = (
                    pool[(number * 7 + len(name)) % len(pool)] if number > 8 else draw(st.sampled_from(pool))
                )
        calls.append(args)
    tools = draw(st.sampled_from([["pay"], ["pay"], ["pay"], ["pay", "drop_table"]]))
    notes = draw(st.sampled_from([[None], [None], *REASONS]))
    actions = [
        an_action(tools[n % len(tools)], args, description=notes[n % len(notes)])
        for n, args in enumerate(calls)
    ]
    mask = draw(st.sampled_from([(), ("secret",), ("secret", "to")]))
    terms = {"mask": mask, "quorum": draw(st.sampled_from([1, 1, 2]))}
    terms["modal_only"] = draw(st.sampled_from([(), (), (), ("to",)]))
    terms["headline"] = draw(st.sampled_from([(), (), ("to", "amount"), ("secret", "admin")]))
    other = Terms(approvers=("U0ERIK",), risk="high", mask=mask)
    own = {0: other} if draw(st.integers(0, 5)) == 0 else {}
    decided = draw(st.sets(st.integers(0, count - 1), max_size=3))
    return batch(*actions, own=own, decided=decided, **terms)


def batch(*actions, decided=(), **terms):
    """Build the record of these calls as it is admitted."""
    return asked(*actions, approvers=["U0ERIK"], decided=dict.fromkeys(decided, ApproveDecision()), **terms)


def pay(**args):
    return an_action("pay", args)


def wanted(state, index):
    """Give what has to be seen of a call: its arguments, masked ones as masks."""
    action = state.actions[index]
    return {name: _masked(name, value, action.terms.mask) for name, value in action.request.args.items()}


def _masked(name, value, mask):
    if name in mask:
        return in_text.MASKED
    return {n: _masked(n, v, mask) for n, v in value.items()} if isinstance(value, dict) else value


def assert_on_message(state, blocks, index):
    whole = [b for b in blocks if b["block_id"] == f"a:{index}:arguments"]
    if state.admission.places[0].rows:
        assert_in_rows(state, blocks, index)
        return
    text = literal_text(blocks, f"a:{index}:arguments") if whole else ""
    held = [name for name in state.actions[index].terms.headline if _is_held(state, blocks, index, name)]
    assert not held or len(state.actions) == 1
    beside_or_above = {name for _, name in read_boxes(blocks, f"a:{index}:arguments")}
    assert_written_out(state, index, text, {name for name in held if name not in beside_or_above})


def _is_held(state, blocks, index, name):
    """Whether the title of the only call has this value, whole."""
    args = wanted(state, index)
    texts = (args.get(name), encode(args.get(name, {})), f'"{args.get(name)}"')
    title = blocks[0]["text"]["text"]
    is_shown = name in args and name not in {
        *state.actions[index].terms.mask,
        *state.actions[index].terms.modal_only,
    }
    return (
        is_shown
        and len(state.actions) == 1
        and any(isinstance(t, str) and t and t in title for t in texts[1:])
    )


def assert_written_out(state, index, text, held=()):
    """As its card speaks: so everybody reads the same pages."""
    assert_written({name: each for name, each in wanted(state, index).items() if name not in held}, text)
    assert MORE not in text


MORE = in_text.more_characters(7).rpartition("7")[2]


def assert_in_rows(state, blocks, index):
    """The row of this call, with what is said of all rows, gives back its arguments and nothing else."""
    assert_reason(state, blocks, index)
    table, usual, which = read_table(literal_text(blocks, "rows"))
    columns, rows, _ = read_rows(table)
    boxes = read_boxes(blocks, "below")
    number = index + 1
    row = rows.get(number, [])
    assert number in rows or not columns
    found = (
        {
            **usual,
            **dict(zip(columns, row[: len(columns)], strict=True)),
            **dict(map(read_field, row[len(columns) :])),
        }
        if row or not columns
        else usual
    )
    own = {name: text for (numbers, name), text in boxes.items() if numbers == str(number)}
    # Every row that says "below" has such a box.
    assert {name for name, text in found.items() if text == in_text.BELOW} <= {*own}
    absent = {name for name, text in found.items() if text == in_text.LEFT_OUT}
    same = {name: text for (_, name), text in read_boxes(blocks, "same:long").items() if name not in found}
    found = {name: text for name, text in found.items() if text not in {in_text.LEFT_OUT, in_text.BELOW}}
    assert not own.keys() & {*found, *absent, *same}
    expected, mask = wanted(state, index), state.actions[index].terms.mask
    assert {*found, *own, *same} == {_name(name) for name in expected}
    for name, value in expected.items():
        if _name(name) in found:
            assert_reads_as(found[_name(name)], value, is_masked=name in mask)
        else:
            _assert_boxed({**same, **own}[_name(name)], value)
    # Two masked values look alike, and may differ.
    assert in_text.MASKED not in usual.values()
    if usual and which != on_card.OTHER_ROWS:
        alike = [wanted(state, n) for n in range(len(state.actions))]
        assert all(
            _name(n) in {*usual, *same}
            for n in alike[0]
            if len({encode(a.get(n, [in_text.LEFT_OUT])) for a in alike}) == 1
            and not holds({n: alike[0][n]}, state.actions[0].terms.mask)
        )


def assert_reason(state, blocks, index):
    """What the agent says about this call stands in a quote with its number, or in the one quote about all of them."""
    reason = visible(state.actions[index].description)
    quotes = [
        ([leaf for leaf in part["elements"] if "style" in leaf], [leaf["text"] for leaf in part["elements"]])
        for block in blocks
        if block["block_id"] == "rows:description"
        for part in block["elements"]
    ]
    assert all("style" not in leaf or leaf["style"] == {"bold": True} for bold, _ in quotes for leaf in bold)
    own = [
        "".join(said[len(bold) :])
        for bold, said in quotes
        if not bold or str(index + 1) in said[0].removesuffix(". ").split(", ")
    ]
    _, _, in_rows = read_rows(read_table(literal_text(blocks, "rows"))[0])
    own += [said[1:-1].replace("\\u{22}", '"') for number, said in in_rows.items() if number == index + 1]
    assert own == ([reason] if reason else [])


def read_boxes(blocks, block_id):
    """Read arguments as a person does: by number and name, each with its value beside it or in the box below it."""
    found, label = {}, ""
    parts = [part for block in blocks if block["block_id"] == block_id for part in block["elements"]]
    for part in parts:
        said = [leaf["text"] for leaf in part["elements"]]
        if part["type"] == "rich_text_preformatted":
            pairs = [(label, "".join(said))]
        elif len(said) == 1:
            label, pairs = said[0].removesuffix(":"), []
        else:
            pairs = list(zip(said[::2], said[1::2], strict=True))
        for name, value in pairs:
            number, own = re.fullmatch(r"\s*(?:(\d+)\. )?(.*?) ?", name).groups()
            assert (number, own) not in found
            found[number, own] = value
    return found


def _assert_boxed(text, value):
    """This is the value as the card of one call has it, whole."""
    assert_written({"": value}, text)
    assert MORE not in text


def read_table(text):
    """Divide the box of the rows: the table, the values of all rows or of most of them, and which rows these are."""
    chunks = text.split("\n\n")
    # Calls that share all their values have no rows, and long values stand in boxes of their own.
    *said, which = fields(chunks[-1]) or [""]
    if not re.fullmatch(r"in both|in all \d+|in all other rows", which):
        return "\n\n".join(chunks), {}, ""
    usual = {} if said == [in_text.NO_ARGUMENTS] else dict(map(read_field, said))
    return "\n\n".join(chunks[:-1]), usual, which


def read_rows(text):
    """Read a table as a person does: names above, a number before each row, fields two spaces apart, below them a reason."""
    columns, rows, reasons, width = [], {}, {}, 0
    for line in text.split("\n") if text else ():
        start = re.match(r"( *(?:#|\d+))( |$)", line)
        if not width:
            width = start.end(1)
        if start and start.end(1) == width and line[:width].strip() == "#" and not rows and not columns:
            columns += fields(line[width:])
        elif start and start.end(1) == width:
            number = int(line[:width])
            assert number not in rows
            rows[number] = fields(line[width:])
        else:
            assert line.startswith(" " * width)
            said = line[width:].strip(" ")
            is_full = rows and len(rows[number]) >= len(columns)
            goes_on = number in reasons and not re.fullmatch(r'"[^"]*"', reasons[number]) if rows else False
            if goes_on or (is_full and re.match(r'"[^"]*("$|$)', said)):
                reasons[number] = f"{reasons[number]} {said}" if number in reasons else said
            else:
                (rows[number] if rows else columns).extend(fields(line[width:]))
    return columns, rows, reasons


def fields(text):
    """Divide a line, or several, where two spaces or a new line stand outside of quotes."""
    return re.findall(r'(?:"[^"]*"|[^ "\n]|(?<! ) (?! ))+', text.replace("\n", "  ").strip(" "))


def read_field(text):
    name, _, value = re.fullmatch(r'("[^"]*"|[^":]+)(: )(.*)', text).groups()
    return name, value


def _name(name):
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,60}", name)
    return name if plain else '"' + visible(name).replace('"', "\\u{22}") + '"'


def assert_reads_as(text, value, *, is_masked):
    """This is the value, and could be no other."""
    if is_masked:
        assert text == in_text.MASKED
    elif not isinstance(value, str):
        assert encode(json.loads(text)) == encode(value)
    elif text.startswith('"'):
        assert text[1:-1] == visible(value).replace('"', "\\u{22}")
        assert text.count('"') == 2
    else:
        assert text == value == visible(value)
        assert text[0].isalpha()
        assert "  " not in text
        assert text.strip() == text
        assert text not in {"null", "true", "false", in_text.MASKED, in_text.LEFT_OUT}


def approving(payload):
    """Give the actions that each button of a message or a view approves at once."""
    for button in buttons(payload):
        verb, subject = parse_action_id(button["action_id"])
        if verb == "approve":
            yield [int(subject)]
        elif verb == "approve_all":
            yield sorted(parse_button_value(button["value"])[1])


@bounded(200)
@given(batches())
@example(batch(*[pay(to="Ada", n=1)] * 3))
@example(batch(*[pay(to="Ada", n=n, **({"admin": True} if n == 6 else {})) for n in range(24)]))
@example(batch(*[pay(to="Ada", n=n, role="owner" if n == 6 else "member") for n in range(8)]))
@example(batch(*[pay(to="Ada", n=n, secret=f"hunter{n}") for n in range(3)], mask=("secret",)))
@example(batch(pay(to="Ada"), pay(to="Bo"), pay(to="y " * 4_000)))
@example(batch(pay(to="א"), pay(to="א")))
@example(batch(*[pay(to={"a": n, "secret": n}, n=n) for n in range(3)], mask=("secret",)))
@example(batch(*[pay(to={"a": 1}, n=n) for n in range(24)]))
@example(batch(*[pay(to={"a": 1 if n else 2}, n=n) for n in range(8)]))
@example(batch(*[pay(to="two\nlines" if n % 2 else "Ada", n=n) for n in range(5)]))
@example(batch(pay(to="two\nlines"), pay(to="three\nlines"), pay(n=1)))
@example(batch(*[an_action("pay", {"n": n}, description=f"{n % 2 + 1}. due") for n in range(5)]))
@example(batch(*[pay(to=f"user{n}@example.com", n=n) for n in range(5)]))
@example(batch(*[pay(to=f'{n}"  n: "2', n=n) for n in range(5)]))
@example(batch(*[pay(n=n, **({} if n == 6 else {"role": "member"})) for n in range(8)]))
@example(batch(*[pay(to="Ada", n=n, secret=f"hunter{n}") for n in range(24)], mask=("secret",)))
@example(batch(*[an_action(["pay", "refund"][n % 2], {"to": "Ada", "n": n}) for n in range(4)]))
def test_every_value_stands_on_the_message_whose_button_approves_it(state):
    """Visible without another click: in rows, or written out."""
    parts = render_card(state)
    assert_slack_takes_card(parts)
    for part in parts:
        for indices in approving(part.blocks):
            event("rows" if state.admission.places[0].rows else "apart")
            for index in indices:
                assert_on_message(state, part.blocks, index)


@bounded(100)
@given(batches(), st.sets(st.integers(0, 49), max_size=3))
@example(batch(pay(to="Ada"), pay(script="\n".join(map(str, range(4_000)))), pay(to="Bo")), set())
@example(batch(pay(script=("x" + " " * 30) * 500), pay(to="Bo")), set())
@example(batch(*[pay(to="Ada", n=n) for n in range(24)]), {3})
def test_every_value_stood_on_the_pages_of_a_review_before_its_end_approves_it(state, meanwhile):
    """Page by page, while colleagues decide some of the calls; and a button of a page only approves what it shows."""
    user = "U0DANA"
    meta = ViewMeta(state.id, 0, 1, calls=tuple(n for n in range(len(state.actions)) if state.is_open_at(n)))
    read: dict[int, list[str]] = {}
    unread = render_review_view(state, replace(meta, page=99), user)
    assert "submit" not in unread
    assert not ViewMeta.load(unread["private_metadata"]).named
    for _ in range(500):
        view = render_review_view(state, meta, user)
        assert_slack_takes_view(view)
        meta = ViewMeta.load(view["private_metadata"])
        if not meta.pieces:
            break
        assert "submit" not in view
        for block in view["blocks"]:
            if found := re.fullmatch(r"a:(\d+):arguments:(\d+)", block["block_id"]):
                read.setdefault(int(found[1]), []).append(literal_text([block], block["block_id"]))
        for indices in approving(view):
            for index in indices:
                assert_written_out(state, index, "\n".join(read[index]))
        if "turn:" not in json.dumps(view):
            # A single call that needs no reading is approved by its own button.
            assert len(meta.calls) == 1
            return
        state = _decided(_marked(state, meta.pieces, user), meanwhile)
        meanwhile = set()
        meta = replace(meta, page=meta.page + 1)
    assert bool(view.get("submit")) == bool(meta.named)
    for index in meta.named:
        assert state.is_open_at(index)
        assert_written_out(state, index, "\n".join(read[index]))
    risky = {action.index for action in state.actions if action.terms.risk == "high"}
    assert {*meta.named} == {n for n in meta.calls if state.is_open_at(n)} - risky


def _marked(state, shown, user):
    """Note what a page showed, as the store does."""
    read = dict(state.read)
    for index, page in shown:
        action = state.actions[index]
        before = int(read.get((index, user), ":0").rpartition(":")[2])
        if page == before + 1:
            read[index, user] = f"{action.fingerprint}:{page}"
    return replace(state, read=read)


def _decided(state, indices):
    recorded = a_state(
        state.interrupt,
        decided=dict.fromkeys((n for n in indices if n < len(state.actions)), ApproveDecision()),
    ).recorded
    return replace(
        state, recorded=tuple(old or new for old, new in zip(state.recorded, recorded, strict=True))
    )


FORMS = {
    "confirm": render_confirm_view,
    "approve_note": render_note_view,
    "for_run": render_for_run_view,
    "sticky": render_standing_view,
}
"""The forms that approve one call, by their verbs."""
HERE = {"approve", "approve_all", "review", "finish", "agree", *FORMS}
"""What the tests of this file press."""
ELSEWHERE = {"edit"}
"""Its last step shows what changes, and has tests of its own."""


def test_every_button_of_the_table_that_can_approve_is_covered():
    """A new one fails here until it is."""
    approving = {
        button.verb
        for button, does in TABLE.items()
        if (does.decides if isinstance(does, Stores) else does.submit)
        and button.decision not in {"reject", "respond"}
        and button.scope != "place"
    }
    assert approving == HERE | ELSEWHERE


@bounded(60)
@given(batches())
@example(batch(*[pay(to="Ada", n=n) for n in range(5)]))
@example(batch(pay(to="Ada"), risk="low", standing=StandingLimits()))
@example(batch(pay(to="Ada", secret="hunter2"), risk="high", mask=("secret",)))
def test_every_value_stands_in_the_form_that_approves_its_call(state):
    """Also where its card has it in a row. A call that has to be read has none of these forms."""
    action = state.actions[0]
    for verb, render in FORMS.items():
        if not state.is_open_at(0) or action.must_read or (verb == "sticky" and not action.standing):
            continue
        view = render(state, 0)
        assert_slack_takes_view(view)
        assert "submit" in view
        assert_written_out(state, 0, literal_text(view["blocks"], "arguments"))


LONG_SCRIPT = "".join(f"line {number}\n" for number in range(1_500))


@bounded(40)
@given(st.dictionaries(names, values, max_size=4), st.dictionaries(names, values, max_size=4))
@example({"to": LONG_SCRIPT, "n": 1}, {"to": LONG_SCRIPT, "n": 2})
@example({"to": LONG_SCRIPT}, {"to": "true"})
@example({"to": "true"}, {"to": LONG_SCRIPT})
@example({"to": "Ada", "n": 1}, {"to": "Ada", "n": 2})
def test_every_value_of_a_changed_call_was_shown_before_agreeing_with_it(before, after):
    """In the form, or on the pages that lead to its end; and every value of a call that is read as it was asked."""
    for hidden in ((), ("to",)):
        votes = {0: (a_vote("U0DANA", edited("pay", **after)),)}
        state = batch(pay(**before), quorum=2, modal_only=hidden, votes=votes)
        found = state.actions[0].proposal
        if is_read(state, 0, found):
            text = _read_to_the_end(state, found)
        else:
            view = render_agree_view(state, 0)
            assert "submit" in view
            text = literal_text(view["blocks"], "whole")
        assert_written_out(batch(pay(**after)), 0, text)
        assert_written_out(state, 0, _read_to_the_end(state, None))


def _read_to_the_end(state, found):
    """Turn the pages of a reading. Only the last one approves, below all text, and only after all the others."""
    read = []
    call = call_written(state.actions[0], found) if found else state.actions[0]
    last = len(pages_of(call))
    for page in range(1, last + 1):
        view = render_reading_view(state, 0, page, pages_read=page - 1, written=found)
        assert_slack_takes_view(view)
        assert "submit" not in view
        assert ("finish:0" in _names(view)) == (page == last)
        read.append(literal_text(view["blocks"], "arguments"))
    if last > 1:
        assert "finish:0" not in _names(
            render_reading_view(state, 0, last, pages_read=last - 2, written=found)
        )
    assert view["blocks"][-1]["type"] == "actions"
    return "\n".join(read)


def _names(view):
    return [button["action_id"] for button in buttons(view)]
