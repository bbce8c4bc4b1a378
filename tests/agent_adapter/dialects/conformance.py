"""What every dialect writes for every decision in every situation: one table, run by a test and printed in the documentation.

`python -m tests.agent_adapter.dialects.conformance` prints it into `docs/reference/dialects.md`.
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt, HumanInterruptConfig

from agent_adapter.contract.hitl import Decision, EditDecision, EditedAction
from agent_adapter.contract.record import EXPIRED_MESSAGE
from agent_adapter.dialects import RECOGNISED
from agent_adapter.testing import approve, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, GO, Office
from tests.support.scripted_model import ScriptedModel, says

PAGE = Path(__file__).parents[3] / "docs/reference/dialects.md"
BEGIN, END = "<!-- printed by the tests: begin -->", "<!-- printed by the tests: end -->"

TOOL = "delete_file"
FILES = ("a.txt", "b.txt")
NEW = {"path": "old/a.txt"}

DECISIONS: Mapping[str, Decision] = {
    "approve": approve(),
    "edit": EditDecision(edited_action=EditedAction(name=TOOL, args=NEW)),
    "reject": reject("we need it"),
    "respond": respond("it is gone"),
}
SITUATIONS = ("single", "batch", "partial", "expired", "withdrawn")
"""One call; two, the second approved; two, the second still open; two, the second open at the deadline; and withdrawn."""

OPEN = "stays open"
NOT_OFFERED = "not offered"
NOTHING = "nothing is resumed"


@dataclass(frozen=True)
class Language:
    """How one dialect asks and is answered."""

    name: str
    dialect: str
    pauses: Callable[[int], list[Any]]
    """The payloads that ask about this many calls."""
    answers: Mapping[str, Any]
    """What is written about the first call, by decision. Those that are missing are not offered."""
    silence: Any
    """What is written about a call that nobody decided; `NOTHING` where silence raises."""
    wrap: Callable[[list[Any]], Any] | None = None
    """How a pause of several calls is answered. Without it, each call is a pause of its own, answered by itself."""
    effects: tuple[str, ...] = ()
    """What the card of a batch says beside its buttons."""
    tool: str = TOOL
    note: str = ""

    @property
    def yes(self) -> str:
        """Name the decision with which a run goes on."""
        return "approve" if "approve" in self.answers else "respond"

    def expected(self, decision: str, situation: str) -> Any:
        """Give the answers to the pauses, one per pause, or why there are none."""
        if decision not in self.answers:
            return NOT_OFFERED
        if situation == "withdrawn" or (situation == "expired" and self.silence == NOTHING):
            return NOTHING
        first = self.answers[decision]
        second = {"batch": self.answers[self.yes], "partial": OPEN, "expired": self.silence}
        each = [first] if situation == "single" else [first, second[situation]]
        if self.wrap is None:
            return each
        return [OPEN] if OPEN in each else [self.wrap(each)]


def _calls(count: int) -> list[tuple[str, dict[str, Any]]]:
    return [(TOOL, {"path": path}) for path in FILES[:count]]


# --- Payloads: by the real packages where they are Python ----------------------------------------------------------------


@cache
def batched(count: int) -> list[Any]:
    agent = Office().agent(says(*_calls(count)), interrupt_on={TOOL: True})
    return [pause.value for pause in agent.invoke(GO, CONFIG)["__interrupt__"]]


@cache
def per_call(count: int) -> list[Any]:
    agent = Office().agent(says(*_calls(count)), interrupt_on={TOOL: True}, mode="per_call")
    pauses = agent.invoke(GO, CONFIG)["__interrupt__"]
    payloads = [{**pause.value, "response_schema": pause.response_schema} for pause in pauses]
    return sorted(payloads, key=lambda payload: payload["args"]["path"])


@cache
def dev_utils(count: int) -> list[Any]:
    @human_in_the_loop
    def delete_file(path: str) -> str:
        """Delete a file."""
        return path

    model = ScriptedModel(turns=[says(*_calls(count))])
    agent = create_agent(model, [delete_file], checkpointer=InMemorySaver())
    payloads = [pause.value for pause in agent.invoke(GO, CONFIG)["__interrupt__"]]
    return sorted(payloads, key=lambda payload: payload["action_request"]["args"]["path"])


@cache
def human_interrupts(count: int) -> list[Any]:
    with warnings.catch_warnings():
        # LangGraph's types still import, and say that they have moved to a place that does not exist.
        warnings.simplefilter("ignore", DeprecationWarning)
        return [
            HumanInterrupt(
                action_request=ActionRequest(action=name, args=args),
                config=HumanInterruptConfig(
                    allow_ignore=True, allow_respond=True, allow_edit=True, allow_accept=True
                ),
                description="Please review",
            )
            for name, args in _calls(count)
        ]


def spoon(count: int) -> list[Any]:
    calls = list(enumerate(_calls(count), 1))
    actions = [{"name": name, "args": args, "id": f"call_{number}"} for number, (name, args) in calls]
    configs = [
        {
            "action_name": name,
            "action_id": f"call_{number}",
            "allowed_decisions": ["approve", "edit", "reject"],
        }
        for number, (name, _) in calls
    ]
    return [{"action_requests": actions, "review_configs": configs}]


def camel_case(count: int) -> list[Any]:
    calls = _calls(count)
    actions = [
        {
            "name": name,
            "args": args,
            "description": f"Please review\n\nTool: {name}\nArgs: {json.dumps(args, indent=2)}",
        }
        for name, args in calls
    ]
    configs = [{"actionName": name, "allowedDecisions": ["approve", "edit", "reject"]} for name, _ in calls]
    return [{"actionRequests": actions, "reviewConfigs": configs}]


def sentences(count: int) -> list[Any]:
    return [f"I am about to delete {path}. Shall I?" for path in FILES[:count]]


# --- The table -----------------------------------------------------------------------------------------------------------

_WHOLE_EDIT = {"type": "edit", "edited_action": {"name": TOOL, "args": NEW}}
_HUMAN = {
    "approve": {"type": "accept", "args": None},
    "edit": {"type": "edit", "args": {"action": TOOL, "args": NEW}},
    "reject": {"type": "ignore", "args": None},
    "respond": {"type": "response", "args": "it is gone"},
}
_NO_AS_ANSWER = {
    "type": "response",
    "args": f"A person rejected this call of {TOOL}, and it was not executed. Their reason: we need it",
}
_SILENCE_AS_ANSWER = {"type": "response", "args": f"This call of {TOOL} was not executed. {EXPIRED_MESSAGE}"}
_LANGCHAIN = {
    "approve": {"type": "approve"},
    "edit": _WHOLE_EDIT,
    "reject": {"type": "reject", "message": "we need it"},
    "respond": {"type": "respond", "message": "it is gone"},
}
_CAMEL = {
    "approve": {"type": "approve"},
    "edit": {"type": "edit", "editedAction": {"name": TOOL, "args": NEW}},
    "reject": {"type": "reject", "message": "we need it"},
}
_SILENT = {"type": "reject", "message": EXPIRED_MESSAGE}
_WORDS = {"tool": "question", "effects": ("words_only",)}


def _decisions(answers: list[Any]) -> dict[str, Any]:
    return {"decisions": answers}


LANGUAGES = (
    Language(
        name="`langchain`",
        note="`HumanInTheLoopMiddleware`, also of deepagents: one pause for all calls of a turn.",
        dialect="langchain",
        pauses=batched,
        answers=_LANGCHAIN,
        silence=_SILENT,
        wrap=_decisions,
    ),
    Language(
        name="`langchain_per_call`",
        note='The same with `interrupt_mode="per_call"`: one pause for each call.',
        dialect="langchain_per_call",
        pauses=per_call,
        answers=_LANGCHAIN,
        silence=_SILENT,
    ),
    Language(
        name="`spoon`",
        note="SpoonAI. There is no respond.",
        dialect="spoon",
        pauses=spoon,
        answers={
            "approve": {"type": "approve"},
            "edit": {"type": "edit", "args": NEW},
            "reject": {"type": "reject", "reason": "we need it"},
        },
        silence={"type": "reject", "reason": EXPIRED_MESSAGE},
        wrap=_decisions,
    ),
    Language(
        name="`camel_case`",
        note="XpertAI, and LangChain JS when nobody says that it is that. There is no respond.",
        dialect="camel_case",
        pauses=camel_case,
        answers=_CAMEL,
        silence=_SILENT,
        wrap=_decisions,
    ),
    Language(
        name="`langchain_js`",
        note="LangChain JS: the same, with a card that says what a rejection does to the batch.",
        dialect="langchain_js",
        pauses=camel_case,
        answers=_CAMEL,
        silence=_SILENT,
        wrap=_decisions,
        effects=("reject_drops_batch",),
    ),
    Language(
        name="`human_interrupt_list`",
        note="Agent Inbox: a list of requests.",
        dialect="human_interrupt_list",
        pauses=lambda count: [human_interrupts(count)],
        answers=_HUMAN,
        silence=_HUMAN["reject"],
        wrap=list,
    ),
    Language(
        name="`human_interrupt`, with `allow_ignore`",
        note="One request, of a graph that knows `ignore`.",
        dialect="human_interrupt",
        pauses=human_interrupts,
        answers=_HUMAN,
        silence=_HUMAN["reject"],
    ),
    Language(
        name="`human_interrupt`, without `allow_ignore`",
        note="One request, of an older graph or of langchain-dev-utils: their edits differ, so there is no Edit until it says `allow_ignore`.",
        dialect="human_interrupt",
        pauses=dev_utils,
        answers={"approve": _HUMAN["approve"], "reject": _NO_AS_ANSWER, "respond": _HUMAN["respond"]},
        silence=_SILENCE_AS_ANSWER,
        effects=("reject_as_answer",),
    ),
    Language(
        name="`dev_utils`",
        note="langchain-dev-utils 1.x, default handler.",
        dialect="dev_utils",
        pauses=dev_utils,
        answers={**_HUMAN, "edit": {"type": "edit", "args": NEW}, "reject": _NO_AS_ANSWER},
        silence=_SILENCE_AS_ANSWER,
        effects=("reject_as_answer",),
    ),
    Language(
        name="`dev_utils_0_1`",
        note="langchain-dev-utils 0.1, by hand and beside LangChain 0.3 only: it asks with `allow_ignore` and breaks on `ignore`.",
        dialect="dev_utils_0_1",
        pauses=lambda count: [human_interrupts(count)],
        answers={**_HUMAN, "reject": _NO_AS_ANSWER},
        silence=_SILENCE_AS_ANSWER,
        wrap=list,
        effects=("reject_as_answer",),
    ),
    Language(
        name="`accept_reject`",
        note="A handler of your own that takes two types, such as the custom handler in langchain-dev-utils' page.",
        dialect="accept_reject",
        pauses=sentences,
        answers={"approve": {"type": "accept"}, "reject": {"type": "reject", "args": "we need it"}},
        silence={"type": "reject", "args": EXPIRED_MESSAGE},
        **_WORDS,
    ),
    Language(
        name="`boolean`",
        note="A program that reads true or false, such as `if interrupt(…):`.",
        dialect="boolean",
        pauses=sentences,
        answers={"approve": True, "reject": False},
        silence=False,
        **_WORDS,
    ),
    Language(
        name="`approve_reject`",
        note="A program that compares a word. The reason of a rejection stays in the record.",
        dialect="approve_reject",
        pauses=sentences,
        answers={"approve": "approve", "reject": "reject"},
        silence="reject",
        **_WORDS,
    ),
    Language(
        name="`text`",
        note="A program that reads any words. There is no rejection: silence raises, and nothing is resumed.",
        dialect="text",
        pauses=sentences,
        answers={"respond": "it is gone"},
        silence=NOTHING,
        **_WORDS,
    ),
)

EXAMPLES = [language.pauses(2)[0] for language in LANGUAGES]
"""A good payload of each, about as many calls as its pause holds."""


# --- The page ------------------------------------------------------------------------------------------------------------


def printed() -> str:
    """Give the part of the page that this table is."""
    return "\n\n".join([BEGIN, *map(_section, LANGUAGES), END])


def _section(language: Language) -> str:
    known_by = (
        "Recognised by " + re.sub(r"'(\w+)'", r"`\1`", f"{RECOGNISED[language.dialect].LOOKED_FOR}.")
        if language.dialect in RECOGNISED
        else "Named by the caller."
    )
    effects = "".join(f" Effect: `{effect}`." for effect in language.effects)
    rows = [(kind, language.expected(kind, "single")) for kind in DECISIONS]
    rows.append((f"{language.yes}, nobody decides the second", language.expected(language.yes, "expired")))
    offered = [(situation, answers) for situation, answers in rows if answers != NOT_OFFERED]
    lines = [f"| {situation} | {_cell(answers)} |" for situation, answers in offered]
    return "\n".join(
        [f"### {language.name}", "", f"{language.note} {known_by}{effects}", "", "| Decision | Answer |", "| --- | --- |", *lines]
    )  # fmt: skip


def _cell(answers: Any) -> str:
    if isinstance(answers, str):
        return answers
    return " and ".join(f"`{json.dumps(answer, ensure_ascii=False)}`" for answer in answers)


def update_page() -> None:
    """Print the table into the page, between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{printed()}{after}", encoding="utf-8")


if __name__ == "__main__":
    update_page()
