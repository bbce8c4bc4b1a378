"""Calls that a program asks about by itself: the question, and what people decided about each."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Never, TypeAlias

from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    EditDecision,
    HITLRequest,
    KnownDecision,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.interrupt import DecidedResume, DecisionRecord
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.wire import check_request
from agent_adapter.errors import NotApprovedError, RejectedError, WrongArgumentError
from agent_adapter.expected import expect

DECISIONS = "approve edit reject"
CallToAsk: TypeAlias = ActionRequest | tuple[str, Mapping[str, Any]]
"""A tool and its arguments; as an `ActionRequest`, with what the agent says about the call."""


@dataclass(frozen=True, slots=True)
class DecidedCall:
    """A call that people have decided about. It runs by its `args`, which raise an error if it may not."""

    tool: str
    decision: KnownDecision
    record: DecisionRecord
    """Who decided it, when, and their note."""
    key: str
    """Its idempotency key, for `report` and for the service that the tool calls."""
    receipt: Receipt | None
    """What a tool checks; `None` when the call may not run, or nothing is signed."""
    _asked: Mapping[str, Any]

    @property
    def args(self) -> dict[str, Any]:
        """The arguments that may run: as they were asked, or as a person changed them. Each reading gives a copy.

        Raises:
            RejectedError: when the call was rejected. It is a `NotApprovedError`.
            NotApprovedError: when a person answered in place of the tool; `reason` has their words.
        """
        match self.decision:
            case ApproveDecision():
                return deepcopy(dict(self._asked))
            case EditDecision(edited_action=edited):
                return deepcopy(edited.args)
            case RejectDecision() | RespondDecision():
                error = RejectedError if self.decision.type == "reject" else NotApprovedError
                raise error(self.tool, reason=self.decision.message, decided_by=self.record.decided_by)

    def __bool__(self) -> Never:
        raise WrongArgumentError(
            f"the answer about {self.tool} is neither true nor false: read `args` of it, which raises NotApprovedError "
            "unless people approved the call"
        )


def to_request(
    calls: Sequence[CallToAsk], allowed: str | Sequence[str], schemas: Mapping[str, Mapping[str, Any]]
) -> HITLRequest:
    """Return the question about these calls, which the program cannot change any more.

    Raises:
        InvalidRequestError: naming the call and what is wrong with it.
    """
    cure = "pass a list of calls, as in [('pay', {'amount': 5})]"
    expect(calls, list | tuple, where="calls", cure=cure)
    expect(allowed, str | list | tuple, where="allowed", cure="write the decisions, as in 'approve reject'")
    actions = tuple(_action(index, call, cure) for index, call in enumerate(calls))
    decisions = tuple(allowed.split() if isinstance(allowed, str) else allowed)
    request = HITLRequest(
        action_requests=actions,
        review_configs=tuple(
            ReviewConfig(
                action_name=action.name, allowed_decisions=decisions, args_schema=schemas.get(action.name)
            )
            for action in actions
        ),
    )
    check_request(request)
    return request.model_copy(deep=True)


def _action(index: int, call: CallToAsk, cure: str) -> ActionRequest:
    if isinstance(call, ActionRequest):
        return call
    if not isinstance(call, tuple | list) or len(call) != 2:
        raise WrongArgumentError(f"calls[{index}]: this is not a tool and its arguments: {cure}")
    return ActionRequest(name=call[0], args=call[1])


def pauses_of(request: HITLRequest) -> tuple[str, ...]:
    """Name each call by what it is: in one run, the same call finds its question again."""
    return tuple(digest("call", action.name, encode(action.args)) for action in request.action_requests)


def to_calls(request: HITLRequest, resume: DecidedResume) -> tuple[DecidedCall, ...]:
    """Return what was decided about each call, in the order in which they were asked."""
    return tuple(
        DecidedCall(action.name, decision, record, resume.key(index), resume.receipt(index), action.args)
        for index, (action, decision, record) in enumerate(
            zip(request.action_requests, resume.decisions, resume.records, strict=True)
        )
    )
