"""What an action asks: the call as it will run, what the agent says about it, and the question that comes before a click."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import unwrap
from itertools import accumulate, chain, groupby
from textwrap import indent
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.contract.interrupt import Interrupt
from bot.domain.action import OPTIONS, TEXTS, Action, once, options_of, question_name
from bot.domain.admission import Terms
from bot.domain.masking import Unshown, secrets_of
from bot.domain.subject import unexpected
from bot.rendering.arguments import Argument, argument_lines, arguments_of
from bot.rendering.blocks import (
    Block,
    boxed,
    confirm,
    context,
    json_size,
    leaves,
    literal,
    literal_within,
    quote,
    rich_text,
    section,
    section_of,
)
from bot.sentences import in_text, on_action, on_button, words
from bot.text.literal import clip, has_decomposed, has_hidden, key_text, mrkdwn, one_line, units, visible
from bot.text.look_alikes import domains, imitates, misread_words, skeleton

_MOST, _LONGEST, _DESCRIPTION = 5, 30, 400
_NO_LETTERS = re.compile(r"^[\W\d_]+")
_OURS = tuple({skeleton(label.rstrip("…")) for label in on_button.all_labels()})
CARD_ARGUMENTS = 3_600
"""JSON characters of arguments that a card shows whole."""
CARD_DESCRIPTION = 900
"""JSON characters of a description that a card shows whole."""
_HEAD = 600
"""JSON characters of the beginning of longer ones. The button that opens the reading stays in sight on a phone."""
_BETWEEN = "   "
_LINE = 44
"""Characters beside each other that a phone shows on one line."""
_SHOWN_NAMES = 6
_LONGEST_NAME, _ALL_NAMES = 60, 300
# Slack would read two slashes as an address, and two colons as a picture (`:name:`).
_NAME = re.compile(r"(?!.*//)(?!.*:.*:)[A-Za-z0-9_.:/-]{1,64}")
_ROOM = 300
"""What Slack takes as the text of a question."""


def options_in_sight(action: Action) -> tuple[str, ...]:
    """Give the answers that the card of a question has as buttons; none where one of them cannot be one.

    The message shows the whole question and asks nothing else, and one person decides.
    """
    is_short = units(visible(action.description)) <= _DESCRIPTION
    stands_whole = action.is_alone and not action.must_read and is_short
    if not stands_whole or action.is_high_risk or action.terms.needs_votes or misleads(action):
        return ()
    offered = options_of(action)
    differ = len({skeleton(each) for each in offered}) == len(offered)
    return offered if differ and len(offered) <= _MOST and all(map(_is_plain, offered)) else ()


def _is_plain(option: str) -> bool:
    has_plain_letters = all(" " <= char <= "~" or char.isalpha() for char in option)
    is_as_written = visible(option) == option == option.strip() and units(option) <= _LONGEST
    begins = skeleton(_NO_LETTERS.sub("", option))
    return has_plain_letters and is_as_written and not begins.startswith(_OURS)


def asked(interrupt: Interrupt, terms: Sequence[Terms], pages: Sequence[int]) -> tuple[Action, ...]:
    request = interrupt.request
    calls = list(zip(request.action_requests, request.review_configs, terms, pages, strict=True))
    secrets = secrets_of((action.args, own.masked) for action, _, own, _ in calls)
    return tuple(
        Action(index, action, config, "", None, own, count, secrets, is_alone=len(calls) == 1)
        for index, (action, config, own, count) in enumerate(calls)
    )


def ordered(action: Action) -> dict[str, Any]:
    return headline_first(action.shown(on_card=True), action.headline)


def headline_first(args: dict[str, Any], headline: Sequence[str]) -> dict[str, Any]:
    first = [name for name in headline if name in args]
    return {name: args[name] for name in dict.fromkeys([*first, *args])} if first else args


def _arguments_blocks(at: str, action: Action, held: frozenset[str]) -> list[Block]:
    """Draw arguments without those that the title holds whole, and a question as text; in one box where that takes too much room."""
    block_id, args, blocks = f"{at}:arguments", ordered(action), []
    is_empty = not args
    asked = action.shown(on_card=True)
    # By its name, or as the only argument, the text says without its name that it is the question.
    if (name := question_name(action)) and (name in TEXTS or len(asked) == 1):
        args = headline_first(asked, action.terms.headline)
        blocks.append(quote(f"{at}:question", visible(args[name])))
        offered = options_in_sight(action)
        # Only what the buttons say letter for letter is left out.
        held |= {name, *(each for each in OPTIONS if offered and args.get(each) == [*offered])}
    args = {name: value for name, value in args.items() if name not in held}
    if args or is_empty:
        blocks.append(arguments_as_text(block_id, arguments_of(args)))
    return blocks if json_size(blocks) <= CARD_ARGUMENTS else [literal(block_id, arguments_text(action))]


def arguments_as_text(block_id: str, arguments: Sequence[Argument]) -> Block:
    """Draw arguments: a short one beside its name, a long one in a box below it."""
    elements: list[Block] = []
    for is_short, group in groupby(arguments, lambda argument: argument.is_short):
        if is_short:
            elements.append(section_of(side_by_side((each.name, leaves_of(each)) for each in group)))
            continue
        for argument in group:
            elements += [section_of(leaves(f"{argument.name}:")), boxed(argument.text)]
    return rich_text(block_id, elements or [section_of(leaves(in_text.NO_ARGUMENTS))])


def side_by_side(named: Iterable[tuple[str, list[Block]]]) -> list[Block]:
    """Write values behind their names, as many on a line as a phone shows."""
    found: list[Block] = []
    used = 0
    for name, value in named:
        size = len(name) + 1 + sum(len(leaf["text"]) for leaf in value)
        used += len(_BETWEEN) + size
        before = "" if not found else _BETWEEN if used <= _LINE else "\n"
        used = used if before == _BETWEEN else size
        found += [*leaves(f"{before}{name} "), *value]
    return found


def leaves_of(argument: Argument, *styles: str) -> list[Block]:
    """Write a value as code, and not what the bot says in its place."""
    return leaves(argument.plain, *(["code"] if argument.is_shown else []), *styles)


def arguments_text(action: Action) -> str:
    return "\n".join(argument_lines(ordered(action)))


def _is_cut(action: Action) -> bool:
    """Whether the card shows only the beginning of the arguments. This was fixed when the call was admitted."""
    if not action.must_read:
        return False
    # Arguments that only a reading shows have to be read too, also where the card has room for all the others.
    return not action.named(action.terms.modal_only) or is_too_long(action)


def _characters(value: Any) -> int:
    if isinstance(value, Unshown):
        return 0
    if isinstance(value, dict):
        return sum(len(name) + _characters(child) for name, child in value.items())
    if isinstance(value, list):
        return sum(map(_characters, value))
    return len(value) if isinstance(value, str) else len(encode(value))


@once
def is_too_long(action: Action) -> bool:
    """Say whether arguments are too long for a card of this version."""
    return json_size(literal("a:00:arguments", arguments_text(action))) > CARD_ARGUMENTS


def safe_name(request: ActionRequest) -> str | None:
    """Give the tool's name where it looks like a name, so that a sentence of the bot can contain it."""
    return request.name if _NAME.fullmatch(request.name) else None


def call_blocks(action: Action, *, alone: bool, held: frozenset[str] = frozenset()) -> list[Block]:
    """Draw the call. Alone on its card, its title names the tool, and holds these arguments whole."""
    # Where the policy gives the title, the tool is named here.
    is_named = alone and not action.terms.title
    return [
        block
        for block in json.loads(_call(action, held))
        if not (is_named and block["block_id"] == f"a:{action.index}:title")
    ]


@once
def call_size(action: Action) -> tuple[int, int]:
    drawn = _call(action, frozenset())
    return units(drawn), len(json.loads(drawn))


@once
def _call(action: Action, held: frozenset[str]) -> str:
    # As JSON it takes little memory, and no caller can change it.
    at = f"a:{action.index}"
    cautions = caution_blocks(f"{at}:", action.request.name, action.shown(on_card=True), action.description)
    blocks = [*title_blocks(action), *cautions, *description_blocks(at, action)]
    if _is_cut(action):
        how_long = on_action.only_the_beginning(_characters(action.shown(on_card=True)))
        beginning = literal_within(f"{at}:arguments", arguments_text(action), _HEAD, end=in_text.MORE)
        blocks += [beginning, context(f"{at}:unread", how_long)]
    else:
        blocks += _arguments_blocks(at, action, held)
    if said := care_words(action):
        blocks.append(context(f"{at}:care", "\n".join(said)))
    return encode(blocks)


def description_blocks(at: str, action: Action) -> list[Block]:
    if not action.description:
        return []
    return [literal_within(f"{at}:description", visible(action.description), CARD_DESCRIPTION, quote)]


def care_words(action: Action) -> list[str]:
    """Say what a person has to know of a call beside its arguments."""
    said = []
    if unknown := unexpected(action.request.args, action.config.args_schema):
        # Many tools ignore them.
        said.append(on_action.not_in_schema(_code_spans(unknown), len(unknown)))
    if names := _named(action, action.terms.modal_only):
        said.append(on_action.in_reading_only(names, is_cut=_is_cut(action)))
    said += mask_words(action)
    said += [typing_words(action)] if action.is_high_risk else []
    if action.terms.needs_votes and not action.is_alone:
        said.append(on_action.people_needed(action.terms.quorum, action.terms.reject_quorum))
    return said


def mask_words(action: Action) -> list[str]:
    masked = _named(action, action.terms.masked.names)
    return [on_action.masked(masked)] if masked else []


def typing_words(call: Action, *, agree: bool = False) -> str:
    return on_action.to_type(f"`{mrkdwn(call.to_type.text)}`", agree=agree)


def _named(action: Action, names: Sequence[str]) -> str:
    return _code_spans(action.named(names)) if names else ""


def _code_spans(names: Sequence[str]) -> str:
    # A long name is shortened within its code: behind a cut through the code, Slack would read the rest as markup.
    spans = [code_span(name) for name in names[:_SHOWN_NAMES]]
    ends = accumulate(map(len, spans))
    fitting = [span for span, end in zip(spans, ends, strict=True) if end <= _ALL_NAMES] or spans[:1]
    return ", ".join(fitting) + words.more(len(names) - len(fitting))


def code_span(name: str) -> str:
    # A backtick would end the code.
    spelled = clip(key_text(name), _LONGEST_NAME).replace("`", "\\u{60}")
    return f"`{mrkdwn(spelled)}`"


def title_blocks(action: Action) -> list[Block]:
    """Draw the number and the tool. An unusual name is drawn below, as literal text."""
    at, name = f"a:{action.index}", safe_name(action.request)
    if name:
        return [section(f"{at}:title", on_action.title(action.number_shown, name))]
    return [
        section(f"{at}:title", on_action.title(action.number_shown)),
        literal(f"{at}:name", one_line(action.request.name)),
    ]


@once
def description_is_cut(action: Action) -> bool:
    text = visible(action.description)
    # JSON never has fewer characters than its text.
    is_long = len(text) > CARD_DESCRIPTION
    return is_long or (bool(text) and json_size(quote("a:00:description", text)) > CARD_DESCRIPTION)


def asks_first(action: Action) -> bool:
    return action.terms.confirm or misleads(action)


def run_question(action: Action) -> Block:
    """Ask whether to run the call. Names the tool and its values, as its card shows them."""
    needed = action.terms.needed("approve")
    said = [on_action.one_vote_of(needed)] if needed > 1 else []
    if misleads(action):
        odd = _found_in([action.request.name, action.shown(on_card=True), action.description])
        said += [in_text.MISLEADS, *odd.lines[:1]]
    return confirm(run_title(action), _values(action, said), on_action.APPROVE)


def run_title(action: Action) -> str:
    return on_action.run(safe_name(action.request) or "")


def _values(action: Action, after: list[str]) -> str:
    """Write all values, those of the headline first, before these sentences. Where some do not fit, say where they stand."""
    # Without the indent, what an object has inside would read as arguments of the call.
    shown = [
        f"{each.name}:\n{indent(each.text, '  ')}" if "\n" in each.text else f"{each.name}: {each.text}"
        for each in arguments_of(ordered(action))
    ] or [in_text.NO_ARGUMENTS]
    whole = "\n".join([*shown, *after])
    while shown and units(whole) > _ROOM:
        shown.pop()
        whole = "\n".join([*shown, on_action.MORE_ABOVE, *after])
    return whole


# --- Texts that are not what they look like -----------------------------------------------------------------------------

_LINES = 1_000
"""The room for the words that are named, in JSON characters."""
_NAMED = 5
"""The most words that are named. The others are counted."""
_REMEMBERED = 16_384
"""The most characters of texts whose result is remembered."""


def caution_blocks(at: str, *shown: Any, as_json: bool = False) -> list[Block]:
    """Say what the texts in some JSON values hide, and which of their words read as others; nothing for ordinary texts.

    The names of the blocks begin with `at`. In an input, the values are shown as JSON.
    """
    found, said = _found_in(shown), []
    if found.is_hidden:
        said.append(in_text.HIDDEN_IN_JSON if as_json else in_text.HIDDEN)
    if found.is_decomposed:
        said.append(in_text.DECOMPOSED_IN_JSON if as_json else in_text.DECOMPOSED)
    if found.words or found.domains:
        said.append(in_text.MISREAD if found.is_fake else in_text.DOMAINS)
    if not said:
        return []
    named = [literal_within(f"{at}misread", "\n".join(lines), _LINES)] if (lines := found.lines) else []
    return [section(f"{at}hidden", "\n".join(said)), *named]


@once
def misleads(action: Action) -> bool:
    """Tell whether a call has characters that nobody sees, or words that read as others."""
    found = _found_in([action.request.name, action.shown(), action.description])
    return found.is_hidden or found.is_fake


def caution_lines(shown: Any, known: Any) -> list[str]:
    """Name in lines of their own the words that read as others, in texts that were not there before."""
    before = {*_texts(known)}
    new = tuple(dict.fromkeys(text for text in _texts(shown) if text not in before))
    return [f"⚠ {line}" for line in unwrap(_found)(new).lines]


@dataclass(frozen=True, slots=True)
class _Found:
    is_hidden: bool
    is_decomposed: bool
    words: list[str]
    domains: dict[str, str]

    @property
    def is_fake(self) -> bool:
        return bool(self.words) or any(map(imitates, self.domains))

    @property
    def lines(self) -> list[str]:
        in_hosts = misread_words(self.domains)
        misread = [in_text.misread(_shown(word)) for word in self.words if word not in in_hosts]
        hosts = [
            in_text.as_computers_read(_shown(host), clip(read, 200)) for host, read in self.domains.items()
        ]
        return [*_first(hosts), *_first(misread)]


_NOTHING = _Found(is_hidden=False, is_decomposed=False, words=[], domains={})


def _first(lines: list[str]) -> list[str]:
    left = len(lines) - _NAMED
    return [*lines[:_NAMED], words.more(left).strip()] if left > 0 else lines


def _shown(text: str) -> str:
    return clip(visible(text), 100)


def _found_in(shown: Iterable[Any]) -> _Found:
    if (written := repr(shown)).isascii() and "\\" not in written:
        # Printable ASCII hides nothing, and most calls are just that.
        return _NOTHING
    texts = tuple(dict.fromkeys(text for value in shown for text in _texts(value)))
    # Long ones would fill the memory.
    return (_found if sum(map(len, texts)) <= _REMEMBERED else unwrap(_found))(texts)


@lru_cache(maxsize=256)  # a card asks at each drawing, and a modal at each page
def _found(texts: Iterable[str]) -> _Found:
    odd = [text for text in texts if not text.isascii()]
    return _Found(
        any(map(has_hidden, texts)), any(map(has_decomposed, odd)), misread_words(odd), domains(odd)
    )


def _texts(value: Any) -> Iterator[str]:
    nodes = chain.from_iterable(value.items()) if isinstance(value, dict) else value
    for node in nodes if isinstance(value, dict | list) else [value]:
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict | list):
            yield from _texts(node)
