"""Small faults in the Redis scripts, found in their tokens."""

import re
from collections.abc import Callable
from typing import NamedTuple

from mutations.mutation import Found, Mutation, numbered

TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)|(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>==|~=|<=|>=|\.\.\.|\.\.|[-+*/%^#<>=(){}\[\];:,.])"""
)
FLIPPED = {"==": "~=", "~=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
VALUES = {"nil", "true", "false"}
OPERATORS = {"and", "or", "not"}
ENDS_STATEMENT = {
    *("break", "do", "else", "elseif", "end", "for", "function", "if", "in"),
    *("local", "repeat", "return", "then", "until", "while"),
}
KEYWORDS = VALUES | OPERATORS | ENDS_STATEMENT
CLOSES = {")": "(", "]": "[", "}": "{"}


class Token(NamedTuple):
    """One word of a script."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_value(self) -> bool:
        """Tell whether a value, or the end of one, stands here: what follows it directly begins something else."""
        if self.kind == "name":
            return self.text not in KEYWORDS or self.text in VALUES or self.text == "end"
        return self.kind in {"number", "text"} or self.text in CLOSES or self.text == "..."


def mutations_in(file: str, source: str) -> list[Mutation]:
    """Give every fault that can be put into a script."""
    script = _Script(source)
    return numbered(file, source, script.faults())


def named_in(source: str) -> set[str]:
    """Give the names that a script gives its keys and arguments: `local req, card = unpack(KEYS)`."""
    lines = re.findall(r"^local ([\w, ]+) = unpack\((?:KEYS|ARGV)\)", source, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def without_names(text: str, names: set[str]) -> str:
    """Give a text in which no key or argument has a name or a number."""
    return re.sub(rf"(?<!['\w:])(?:(?:KEYS|ARGV)\[\d+\]|(?:{'|'.join(names) or 'KEYS'})\b)", "_", text)


def tokens_of(source: str) -> list[Token]:
    """Read a script word by word, without comments.

    Raises:
        ValueError: at a sign that no script of ours uses.
    """
    tokens, at = [], 0
    while at < len(source):
        found = TOKEN.match(source, at)
        if not found:
            raise ValueError(f"no Lua: {source[at : at + 20]!r}")
        assert found.lastgroup
        if found.lastgroup != "space":
            tokens.append(Token(found.lastgroup, found[0], found.start(), found.end()))
        at = found.end()
    return tokens


class _Script:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens_of(source)

    def faults(self) -> list[Found]:
        return [fault for place in range(len(self.tokens)) for fault in self._faults_at(place)]

    def _faults_at(self, place: int) -> list[Found]:
        token = self.tokens[place]
        if token.text in FLIPPED:
            return [self._fault("comparison", place, FLIPPED[token.text], self._operands(place))]
        if token.text in {"and", "or"}:
            other = "or" if token.text == "and" else "and"
            return [self._fault("and/or", place, other, self._expression(place))]
        if token.text == "not":
            return [self._fault("not", place, "", self._operands(place))]
        if token.text in {"true", "false"}:
            other = "false" if token.text == "true" else "true"
            return [self._fault("boolean", place, other, self._expression(place, over="="))]
        if token.text in {"+", "-"} and self.tokens[place - 1].is_value:
            other = "-" if token.text == "+" else "+"
            return [self._fault("arithmetic", place, other, self._operands(place))]
        if token.kind == "number" and self.tokens[place - 2].text not in {"KEYS", "ARGV"}:
            around = self._brackets(place) or self._expression(place, over="=")
            return [self._fault("number", place, f"{int(token.text) + 1}", around)]
        if token.text in {"if", "elseif"}:
            return self._conditions(place)
        if self._begins_call(place):
            return self._calls(place)
        return []

    def _fault(self, kind: str, place: int, becomes: str, around: tuple[int, int]) -> Found:
        token = self.tokens[place]
        return Found(self._function(token.start), kind, self._text(*around), token.start, token.end, becomes)

    def _text(self, first: int, last: int) -> str:
        text = self.source[self.tokens[first].start : self.tokens[last].end]
        return " ".join(re.sub(r"--.*", "", text).split())

    def _function(self, at: int) -> str:
        """Name the function around: those of a script begin and end at the left margin."""
        before = re.findall(r"^(?:local )?function (\w+)|^(end)\b", self.source[:at], re.MULTILINE)
        return before[-1][0] if before else ""

    # --- How far something reaches ------------------------------------------------------------------------------------

    def _operands(self, place: int) -> tuple[int, int]:
        """Give what an operator stands between: `status ~= 'pending'`."""
        return self._reach(place, lambda text: text in FLIPPED or text in OPERATORS or text in {"=", ","})

    def _expression(self, place: int, over: str = "") -> tuple[int, int]:
        """Give the whole condition or value around."""
        return self._reach(place, lambda text: text in {"=", ","} and text != over)

    def _reach(self, place: int, stops: Callable[[str], bool]) -> tuple[int, int]:
        last = place
        while last + 1 < len(self.tokens) and not self._breaks(last, last + 1, last + 1, stops):
            last = self._partner(last + 1)
        first = place
        while first > 0 and not self._breaks(first - 1, first, first - 1, stops):
            first = self._partner(first - 1)
        return first, last

    def _breaks(self, left: int, right: int, taken: int, stops: Callable[[str], bool]) -> bool:
        """Tell whether what is taken next belongs to something else."""
        text = self.tokens[taken].text
        if text in ENDS_STATEMENT or text == ";" or stops(text):
            return True
        if text in (CLOSES if taken == right else CLOSES.values()):
            return True
        # Two values in a row: a statement ends between them.
        begins = self.tokens[right]
        return self.tokens[left].is_value and (
            begins.kind in {"number", "text"} or (begins.kind == "name" and begins.text not in {"and", "or"})
        )

    def _partner(self, place: int) -> int:
        """Give the other bracket, from a bracket."""
        text = self.tokens[place].text
        if text not in CLOSES and text not in CLOSES.values():
            return place
        step = -1 if text in CLOSES else 1
        depth, at = 0, place
        while True:
            depth += (self.tokens[at].text in CLOSES.values()) - (self.tokens[at].text in CLOSES)
            if depth == 0:
                return at
            at += step

    def _brackets(self, place: int) -> tuple[int, int] | None:
        """Give the innermost brackets around, with the name before them."""
        at = place - 1
        while at >= 0 and self.tokens[at].text not in ENDS_STATEMENT:
            if self.tokens[at].text in CLOSES:
                at = self._partner(at)
            elif self.tokens[at].text in CLOSES.values():
                first = at
                while first > 0 and (
                    self.tokens[first - 1].text == "."
                    or (self.tokens[first - 1].kind == "name" and self.tokens[first - 1].text not in KEYWORDS)
                ):
                    first -= 1
                return first, self._partner(at)
            at -= 1
        return None

    # --- Whole statements ---------------------------------------------------------------------------------------------

    def _conditions(self, place: int) -> list[Found]:
        then = place + 1
        while self.tokens[then].text != "then":
            then = self._partner(then) + 1
        start, end = self.tokens[place + 1].start, self.tokens[then - 1].end
        where, text = self._function(start), self._text(place + 1, then - 1)
        condition = self.source[start:end]
        parts = {token.text for token in self.tokens[place + 1 : then]}
        faults = []
        # One comparison is flipped already.
        if not parts & set(FLIPPED) or parts & {"and", "or"}:
            faults.append(Found(where, "condition", text, start, end, f"not ({condition})"))
        if self.tokens[then + 1].text == "return":
            end_of_it = self._reach(then + 1, lambda _: False)[1]
            shown = f"if {text} then {self._text(then + 1, end_of_it)}"
            faults.append(Found(where, "guard", shown, start, end, f"false and ({condition})"))
        return faults

    def _begins_call(self, place: int) -> bool:
        token = self.tokens[place]
        before = self.tokens[place - 1] if place else None
        return (
            token.kind == "name"
            and token.text not in KEYWORDS
            and (before is None or before.is_value or before.text in {"then", "do", "else"})
            and self.tokens[place - 2].text not in {"local", "function"}
        )

    def _calls(self, place: int) -> list[Found]:
        last = place
        while self.tokens[last + 1].text == ".":
            last += 2
        if self.tokens[last + 1].text != "(":
            return []
        last = self._partner(last + 1)
        start, end = self.tokens[place].start, self.tokens[last].end
        return [Found(self._function(start), "call", self._text(place, last), start, end, "do end")]
