"""Names that people choose. The error about a name that is not allowed shows one that is."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from agent_adapter.contract.reviewed import is_unseen

_SHOWN = 80
_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")


def is_person(text: str) -> bool:
    """Whether this is written like a person's Slack id."""
    return _PERSON.fullmatch(text) is not None


def did_you_mean(written: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` with the most similar known name; empty if none is similar."""
    name = nearest(written, known)
    return f" (did you mean {name!r}?)" if name else ""


def nearest(written: object, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or `None`. It does not take `deadline` for `headline`."""
    plain = {name.replace("_", "").lower(): name for name in known}
    word = str(written).replace("_", "").lower()
    close = get_close_matches(word, plain, n=3, cutoff=0.75)
    # People rarely miss the first letter of another word.
    return next((plain[each] for each in close if each[:1] == word[:1] or each in word or word in each), None)


def _checked(pattern: str, what: str, words: str, example: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if compiled.fullmatch(text):
            return text
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        sentence = f"{shown!r} cannot be {what}: write {words}, as in {example!r}"
        # The sentence is passed as a value, because pydantic would read braces in it.
        raise PydanticCustomError("name", "{sentence}", {"sentence": sentence})

    return check


def problem_of_tool(name: str) -> str:
    """Say why no tool can have this name: people and rules would take it for another one. Empty where one can."""
    is_plain = name.isascii() and name.isprintable()
    if name == name.strip() and (is_plain or not any(map(is_unseen, name))):
        return ""
    return f"{name[:_SHOWN]!a} has blanks at its ends, or characters that nobody sees: rename the tool"


_AGENT = r"[a-z0-9-]{1,40}"
_PLAIN = r"[A-Za-z0-9._-]{1,64}"
_SPACE = r"[A-Za-z0-9_.:-]{1,64}"
_LETTERS = "letters, digits and . _ -"

AgentName = Annotated[
    str,
    AfterValidator(
        _checked(_AGENT, "the name of an agent", "1 to 40 lower-case letters, digits and hyphens", "billing")
    ),
    Field(json_schema_extra={"pattern": f"^{_AGENT}$"}),
]


def is_agent_name(text: str) -> bool:
    """Whether this can be the name of an agent."""
    return re.fullmatch(_AGENT, text) is not None


Namespace = Annotated[
    str,
    AfterValidator(_checked(_SPACE, "a namespace", f"1 to 64 {_LETTERS} :", "assent")),
]
PlainName = Annotated[
    str,
    AfterValidator(_checked(_PLAIN, "a name here", f"1 to 64 {_LETTERS}", "refunds-2")),
]
"""The name of an agent in a worker's registry, of its framework, or of its version."""
MaybeName = Annotated[
    str,
    AfterValidator(_checked(rf"({_PLAIN})?", "a name here", f"up to 64 {_LETTERS}", "refunds-2")),
]
Claim = Annotated[
    str,
    AfterValidator(_checked(_SPACE, "a claim", f"1 to 64 {_LETTERS} :", "worker-1")),
    Field(json_schema_extra={"pattern": f"^{_SPACE}$"}),
]
