"""Reviewers for tests, with answers that are prepared in advance."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    EditedAction,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
    WireModel,
)
from agent_adapter.errors import AgentAdapterError, WrongArgumentError
from agent_adapter.expected import expect, kind_of

Reviewer: TypeAlias = Callable[[ActionRequest, ReviewConfig], Decision | None]
"""Decides one action; `None` means that nobody decides it in time."""
Answer: TypeAlias = Decision | Callable[[ActionRequest], Decision | None] | None
"""A decision, a function of the action, or `None` when nobody decides."""


class UnexpectedActionError(AgentAdapterError):
    """The reviewer was asked about an action for which the test has no answer."""


def approve() -> Decision:
    """Run the call as it was shown."""
    return ApproveDecision()


def reject(message: str | None = None) -> Decision:
    """Do not run the call."""
    return RejectDecision(message=message)


def respond(message: str) -> Decision:
    """Do not run the call; this text is the tool's answer."""
    return RespondDecision(message=message)


def edit(args: dict[str, Any]) -> Answer:
    """Run the call with these arguments: all of them, not only the changed ones."""
    return lambda action: EditDecision(edited_action=EditedAction(name=action.name, args=args))


_MAKERS: tuple[Any, ...] = (approve, reject, respond, edit)


class ScriptedReviewer:
    """A reviewer with prepared answers. `asked` has the actions that it was asked about.

    Args:
        answers: By the name of the tool, one answer for all calls, or a list with one answer for each call. Or a list with
            one answer for each action, in the order of the questions.
    """

    def __init__(self, answers: Mapping[str, Answer | Sequence[Answer]] | Sequence[Answer]) -> None:
        cure = "pass a decision for each tool, as in {'pay': approve()}, or a list of decisions"
        expect(answers, Mapping | list | tuple, where="answers", cure=cure)
        self.asked: list[ActionRequest] = []
        by_name = answers if isinstance(answers, Mapping) else {}
        self._every_time = {n: a for n, a in by_name.items() if not isinstance(a, Sequence)}
        self._left = {n: list(a) for n, a in by_name.items() if isinstance(a, Sequence)}
        self._left_in_order = [] if isinstance(answers, Mapping) else list(answers)
        for answer in (*self._every_time.values(), *chain(*self._left.values()), *self._left_in_order):
            is_answer = answer is None or callable(answer) or isinstance(answer, WireModel | Mapping)
            if not is_answer or answer in _MAKERS:
                cure = "write approve(), reject('why'), edit({…}) or respond('words')"
                raise WrongArgumentError(f"answers: this is {kind_of(answer)}: {cure}")

    def __call__(self, action: ActionRequest, config: ReviewConfig) -> Decision | None:
        """Decide one action.

        Raises:
            UnexpectedActionError: when there is no answer for this action, or no answer is left.
        """
        self.asked.append(action)
        if action.name in self._every_time:
            answer = self._every_time[action.name]
        elif left := self._left.get(action.name, self._left_in_order):
            answer = left.pop(0)
        else:
            names = [*self._every_time, *self._left]
            known = f"answers are for {', '.join(names)}" if names else "all answers were given"
            raise UnexpectedActionError(
                f"question {len(self.asked)} was about {action.name}({encode(action.args)}), "
                f"which may be decided by {', '.join(config.allowed_decisions)}, and the test has no answer left: {known}"
            )
        return answer(action) if callable(answer) else answer

    def assert_all_asked(self) -> None:
        """Check that every answer was used. Otherwise an agent that does not ask would pass the test.

        Raises:
            AssertionError: naming the answers that were not used.
        """
        names = {action.name for action in self.asked}
        unused = [
            *(name for name in self._every_time if name not in names),
            *(f"{name} ({len(left)} left)" for name, left in self._left.items() if left),
            *([f"{len(self._left_in_order)} in order"] if self._left_in_order else []),
        ]
        if unused:
            asked = ", ".join(action.name for action in self.asked) or "nothing"
            raise AssertionError(
                f"answers that nobody asked for: {', '.join(unused)}; the questions were about {asked}"
            )
