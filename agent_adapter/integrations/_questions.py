"""What a graph's pauses ask, as one batch, and the command that answers them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.types import Command
from langgraph.types import Interrupt as Pause

from agent_adapter.asking import Asking
from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Context, Resume
from agent_adapter.contract.wire import MAX_ACTIONS
from agent_adapter.dialects import Dialect, langchain_per_call
from agent_adapter.dialects.answers import share_out
from agent_adapter.dialects.generic import Generic
from agent_adapter.dialects.naming import Named, Naming
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.expected import expect
from agent_adapter.integrations._graph import Tools, check_edit, has_arguments_of, tools_by_name, with_schema
from agent_adapter.integrations._langgraph_calls import REVIEW
from agent_adapter.integrations._places import Place

INTEGERS = (-(2**63), 2**64 - 1)
"""The whole numbers that LangGraph keeps in a checkpoint: it writes MessagePack."""
# LangGraph reads a resume as a map only if every key looks like this; it hands anything else to the node unchanged.
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Question:
    """A pause, the request that it makes, and the dialect of its answer."""

    pause: Pause
    dialect: Dialect
    request: HITLRequest
    place: Place

    @classmethod
    def of(cls, pause: Pause, naming: Naming, place: Place | None = None) -> "Question":
        """Read a pause."""
        payload, place = _payload(pause), place or Place()
        try:
            dialect = naming.dialect(payload)
            if isinstance(dialect, Generic):
                dialect = dialect.asked_by(place.name)
            return cls(pause, dialect, dialect.to_request(payload), place)
        except InvalidRequestError as error:
            # Only the cause is kept: it shows the error of a callable, and does not repeat this sentence.
            raise type(error)(f"pause {pause.id}: {error}") from error.__cause__

    @property
    def id(self) -> str:
        return self.pause.id

    def tools(self, known: Mapping[str, BaseTool]) -> Mapping[str, BaseTool]:
        """Return the tools whose arguments it asks about. A question in a graph's own words may have only the name of one."""
        if not isinstance(self.dialect, Generic):
            return known
        (action,) = self.request.action_requests
        tool = known.get(action.name)
        return {tool.name: tool} if tool and has_arguments_of(tool, self.pause.value) else {}

    def answer(self, decisions: Sequence[Decision | None]) -> Any:
        """Return the answer in the pause's dialect."""
        return self.dialect.to_resume(decisions, _payload(self.pause))


def questions_of(pauses: Sequence[Pause], dialect: Named) -> Sequence[Question]:
    cure = 'pass result["__interrupt__"], or the interrupts of a state'
    expect(pauses, list | tuple, where="pauses", cure=cure)
    _check_ids(pauses)
    naming = Naming.of(dialect)
    return [Question.of(pause, naming) for pause in pauses]


def request_of(questions: Sequence[Question], tools: Tools) -> HITLRequest:
    known = tools_by_name(tools)
    requests = [question.request for question in questions]
    return HITLRequest(
        action_requests=tuple(action for request in requests for action in request.action_requests),
        review_configs=tuple(
            _kept(with_schema(config, question.tools(known)))
            for question in questions
            for config in question.request.review_configs
        ),
    )


def _kept(config: ReviewConfig) -> ReviewConfig:
    return config if config.integers else config.model_copy(update={"integers": INTEGERS})


def command_for(resume: Resume, questions: Sequence[Question]) -> Command[Any]:
    """Return what the graph resumes with."""
    shares = zip(questions, share_out(resume, [question.request for question in questions]), strict=True)
    return Command(resume={question.id: question.answer(own) for question, own in shares})


def check_calls(question: Question, place: Place) -> None:
    """Check that LangChain, which runs the calls of the thread and not those of its pause, would run what was shown."""
    is_by_id = langchain_per_call.recognises(question.pause.value)
    is_turn = not place.is_inside and place.task.rpartition("|")[2].startswith(f"{REVIEW}:")
    if not (is_by_id or is_turn):
        return
    # In their order: each call is looked for behind the one before it.
    left = iter([(call["id"] if is_by_id else None, call["name"], call["args"]) for call in place.calls])
    for action in question.request.action_requests:
        if (action.id, action.name, action.args) not in left:
            why = f"the thread has another call of {action.name} than the one that was shown"
            raise DecisionNotAllowedError(why)


def check_edits(resume: Resume, questions: Sequence[Question], tools: Tools) -> None:
    """Refuse an edit that would run as another value than the one that was shown."""
    known = tools_by_name(tools)
    for question, own in zip(
        questions, share_out(resume, [question.request for question in questions]), strict=True
    ):
        for action, decision in zip(question.request.action_requests, own, strict=True):
            check_edit(action, decision, question.tools(known))


def _check_ids(pauses: Sequence[Pause]) -> None:
    if not pauses:
        raise InvalidRequestError("no pauses: this run does not wait for anything")
    for id, count in Counter(pause.id for pause in pauses).items():
        if count > 1:
            raise InvalidRequestError(f"pause {id} is listed {count} times; pass each once")
        if not _PAUSE_ID.fullmatch(id):
            raise InvalidRequestError(
                f"{id!r} is not the id of a LangGraph pause: pass the interrupts that the graph returned"
            )


def with_askers(
    request: HITLRequest, names: Sequence[str | None], asking: Asking
) -> tuple[HITLRequest, Asking]:
    """Add the name of the agent that asks: for the whole card if it is one agent, otherwise to each action."""
    (name, *others) = set(names)
    if not others:
        context = asking.get("context") or Context()
        named = context.model_copy(update={"subagent": context.subagent or name})
        return request, {**asking, "context": named}
    actions = tuple(map(_asked_by, request.action_requests, names))
    return request.model_copy(update={"action_requests": actions}), asking


def _asked_by(action: ActionRequest, name: str | None) -> ActionRequest:
    if name is None:
        return action
    lines = filter(None, (f"Asked by the subagent {name}.", action.description))
    return action.model_copy(update={"description": "\n\n".join(lines)})


def batch(questions: Sequence[Question]) -> Sequence[Question]:
    """Return the first questions, as many as fit into one interrupt."""
    totals = accumulate(len(question.request.action_requests) for question in questions)
    fitting = [q for q, total in zip(questions, totals, strict=True) if total <= MAX_ACTIONS]
    return fitting or questions


def _payload(pause: Pause) -> Any:
    if langchain_per_call.recognises(pause.value):
        return {**pause.value, "response_schema": pause.response_schema}
    return pause.value
