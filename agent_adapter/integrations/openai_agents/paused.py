"""A paused run: its state and what the state lacks, in this process or as text for another process."""

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, Unpack

from agents import (
    Agent,
    AgentsException,
    RunResult,
    RunResultStreaming,
    RunState,
    ToolApprovalItem,
    __version__,
)
from agents.agent import AgentBase

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import EditDecision
from agent_adapter.contract.interrupt import Context, Interrupt, Resume
from agent_adapter.errors import InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect
from agent_adapter.integrations.openai_agents.calls import answers_to, decide, is_agent, to_request
from agent_adapter.integrations.openai_agents.tools import Calls, DecidedCall, call_key, going_on

Result: TypeAlias = RunResult | RunResultStreaming

TEXT_VERSION = 1


@dataclass(frozen=True)
class PausedRun:
    """A run that waits for people: its state, and what the state lacks."""

    agent: Agent[Any]
    """The agent that the run started with."""
    state: RunState[Any]
    id: str
    """The id of the run, the same in all its pauses and processes."""
    turn: int
    """How many answers of the model the run has seen. A server may use the same call id again in a later turn."""
    allow_always: tuple[str, ...] = ()
    calls: Calls = field(default_factory=dict)
    """The calls that people have decided about, also in earlier pauses."""

    @classmethod
    def of(
        cls, agent: Agent[Any], result: Result, *, id: str | None = None, allow_always: Collection[str] = ()
    ) -> Self | None:
        """Make a `PausedRun` from the result of a run; `None` when the run does not wait for anybody.

        Args:
            agent: The agent that the run started with.
            result: The result of the run.
            id: The id of the run; random by default.
            allow_always: As in `run`.
        """
        _check_names(allow_always)
        if not result.interruptions:
            return None
        turn = len(result.raw_responses)
        return cls(agent, result.to_state(), id or secrets.token_hex(16), turn, tuple(sorted(allow_always)))

    def then(self, result: Result) -> Self | None:
        """Return the same run at its next pause; `None` when it has finished."""
        following = self.of(self.agent, result, id=self.id, allow_always=self.allow_always)
        return following and replace(following, calls=self.calls)

    def interrupt(
        self,
        approvals: ApprovalClient,
        *,
        interruptions: Sequence[ToolApprovalItem] | None = None,
        **asking: Unpack[Asking],
    ) -> Interrupt:
        """Make the interrupt that asks about this pause, or about some of its calls. It is the same for the same pause.

        Raises:
            InvalidRequestError: when a call cannot be reviewed as it is.
        """
        items = self.state.get_interruptions() if interruptions is None else interruptions
        pauses = [f"{self.turn}/{item.agent.name}/{item.call_id}" for item in items]
        for pause, count in Counter(pauses).items():
            if count > 1:
                raise InvalidRequestError(
                    f"call id {pause.rsplit('/', 1)[1]} appears {count} times in one pause: "
                    "the model server must give each call an id of its own"
                )
        names = {item.agent.name for item in items} - {self.agent.name}
        context = asking.get("context") or Context()
        if len(names) == 1 and context.subagent is None:
            asking["context"] = context.model_copy(update={"subagent": names.pop()})
        request = to_request(items, allow_always=self._lasting(items))
        return approvals.interrupt(request, run=self.id, pauses=pauses, **asking)

    def decided(self, resume: Resume, items: Sequence[ToolApprovalItem] | None = None) -> RunState[Any]:
        """Apply the decisions about these calls, by default all, and return the state. Run it inside `going_on`.

        Raises:
            DecisionNotAllowedError: when a decision does not fit; the state is unchanged.
        """
        items = self.state.get_interruptions() if items is None else items
        answers = answers_to(resume, items, self._lasting(items))
        decide(self.state, answers)
        for position, (item, decision) in enumerate(answers):
            edited = decision.edited_action.args if isinstance(decision, EditDecision) else None
            self.calls[call_key(item)] = DecidedCall(
                resume.key(position), getattr(resume, "claim", ""), edited, is_agent(item.tool_origin)
            )
        return self.state

    def _lasting(self, items: Sequence[ToolApprovalItem]) -> Collection[str]:
        """Give the tools that a card may decide about for later calls: none while another card asks about calls of the same turn."""
        return self.allow_always if len(items) == len(self.state.get_interruptions()) else ()

    def going_on(self, approvals: ApprovalClient) -> AbstractContextManager[None]:
        """In the body, tools have the edits and the keys of their calls, and report what became of them."""
        agents = [item.agent for item in self.state.get_interruptions()]
        return going_on(self.calls, agents, approvals)

    def dump(self, **storing: Any) -> str:
        """Return the run as text for another process.

        The text has everything that the run has seen: the conversation, the arguments and outputs of tools, and the context
        if it is a mapping.

        Args:
            storing: Passed to `RunState.to_json`: `context_serializer`, `strict_context`.
        """
        state = self.state.to_json(**storing)
        return encode(
            {
                "assent": TEXT_VERSION,
                "sdk": __version__,
                "schema": state["$schemaVersion"],
                "agent": self.agent.name,
                "run": self.id,
                "turn": self.turn,
                "allow_always": self.allow_always,
                "edits": [[*key, call.args] for key, call in self.calls.items() if call.args is not None],
                "state": state,
            }
        )

    @classmethod
    async def load(cls, agent: Agent[Any], text: str, **restoring: Any) -> Self:
        """Read a text that `dump` returned. Read it only from a store that you trust, because it contains decisions.

        Args:
            agent: The agent that the run started with, in the same version of its definition.
            text: The text that `dump` returned.
            restoring: Passed to `RunState.from_json`: `context_override`, `context_deserializer`, `strict_context`.

        Raises:
            InvalidRequestError: when this is not such a text, or cannot be resumed with this agent and SDK.
        """
        value = decode(text)
        if not isinstance(value, dict) or value.get("assent") != TEXT_VERSION:
            raise InvalidRequestError(
                f"this is not a paused run of version {TEXT_VERSION}: pass the text that PausedRun.dump wrote"
            )
        try:
            state = await RunState.from_json(agent, value["state"], **restoring)
            # Of an agent as a tool, which has paused inside.
            calls = {
                (a, b, c, d): DecidedCall(args=args, is_agent=True) for a, b, c, d, args in value["edits"]
            }
            paused = cls(agent, state, value["run"], value["turn"], tuple(value["allow_always"]), calls)
        except (AgentsException, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(
                f"the run of agent {value.get('agent')!r} stored by openai-agents {value.get('sdk')} (state schema "
                f"{value.get('schema')}) cannot be resumed with agent {agent.name!r} on openai-agents {__version__}: {error}"
            ) from error
        if not state.get_interruptions():
            raise InvalidRequestError("this stored run does not wait for anything")
        return paused


def check_run(agent: Any, input: Any, allow_always: Any) -> None:
    """Refuse arguments of the wrong kind, before the model is called."""
    cure = "pass the Agent itself, as in Agent(name='Billing', tools=[…])"
    expect(agent, AgentBase, where="agent", cure=cure)
    _check_names(allow_always)
    if isinstance(input, str) and input.startswith('{"assent":'):
        cure = "pass `await PausedRun.load(agent, text)`"
        raise WrongArgumentError(f"input: this is the text of a paused run, and no prompt: {cure}")
    cure = "pass a text, a list of input items as for Runner.run, or a PausedRun"
    expect(input, str | list | PausedRun, where="input", cure=cure)


def _check_names(allow_always: Any) -> None:
    cure = "pass a list with the names of tools, as in allow_always=['send_email']"
    expect(allow_always, list | tuple | set | frozenset, where="allow_always", cure=cure)
