"""A paused run: its state and what the state lacks, in this process or as text for another process."""

import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, Unpack, cast

from agents import (
    Agent,
    AgentsException,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    Session,
    ToolApprovalItem,
    ToolCallItem,
    __version__,
)

from agent_adapter.asking import Asking
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.interrupt import Context, Interrupt, Resume
from agent_adapter.errors import InvalidRequestError, WrongArgumentError
from agent_adapter.expected import expect
from agent_adapter.idempotency import finding
from agent_adapter.integrations.openai_agents.calls import (
    answers_to,
    decide,
    refuse_removed_tool,
    to_request,
)
from agent_adapter.integrations.openai_agents.checks import check_names, check_servers, settings_of
from agent_adapter.integrations.openai_agents.tools import CallKey, Edit, Edits, call_key, editing

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
    edits: Edits = field(default_factory=dict)
    """Edited calls that continue after this pause: agents as tools that paused inside."""
    keys: dict[CallKey, str] = field(default_factory=dict)
    """The keys of decided calls, for `approval_key`."""
    claims: dict[str, str] = field(default_factory=dict)
    """The claim under which each question was answered."""
    held: list[tuple[ToolApprovalItem, Decision]] = field(default_factory=list)
    """Decisions for later calls, held back while another call of their tool waits for its own decision."""
    reused: str = ""
    """A call id used both by a call inside an agent as a tool and by a call outside: such a state cannot be stored."""

    @classmethod
    def of(
        cls,
        agent: Agent[Any],
        paused: Result | RunState[Any],
        *,
        id: str | None = None,
        allow_always: Collection[str] = (),
    ) -> Self | None:
        """Make a `PausedRun` from a result or a state; `None` when the run does not wait for anybody.

        Args:
            agent: The agent that the run started with.
            paused: The result of the run, or its state together with an `id`.
            id: The id of the run; random by default.
            allow_always: As in `run`.

        Raises:
            InvalidRequestError: when a state comes without an id.
        """
        check_names(allow_always)
        if isinstance(paused, RunState):
            if id is None:
                refuse_bare_state(paused)
            state, turn = paused, len(paused.to_json(context_serializer=lambda _: {})["model_responses"])
            reused = ""
        else:
            state, turn, reused = paused.to_state(), len(paused.raw_responses), _reused(paused)
        if not state.get_interruptions():
            return None
        id = id or secrets.token_hex(16)
        return cls(agent, state, id, turn, tuple(sorted(allow_always)), reused=reused)

    def then(self, result: Result) -> Self | None:
        """Return the same run at its next pause; `None` when it has finished."""
        following = self.of(self.agent, result, id=self.id, allow_always=self.allow_always)
        if following is None:
            return None
        return replace(following, edits=self.edits, keys=self.keys, claims=self.claims, held=self.held)

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
        request = to_request(items, allow_always=self.allow_always)
        return approvals.interrupt(request, run=self.id, pauses=pauses, **asking)

    def decided(self, *resumes: tuple[Resume, Sequence[ToolApprovalItem]]) -> RunState[Any]:
        """Apply these decisions, and return the state. Run it inside `editing(paused.edits)`.

        Raises:
            DecisionNotAllowedError: when a decision does not fit; the state is unchanged.
        """
        answers = [
            answer for resume, items in resumes for answer in answers_to(resume, items, self.allow_always)
        ]
        self.held[:] = decide(self.state, answers, self.edits, held=self.held)
        for resume, items in resumes:
            self.keys.update({call_key(item): resume.key(position) for position, item in enumerate(items)})
            self.claims[resume.interrupt_id] = getattr(resume, "claim", "")
        return self.state

    def key(self, context: Any) -> str | None:
        """Return the key of the decided call that runs in this tool context; `None` for any other call."""
        named = (getattr(context, name, None) for name in ("tool_name", "tool_call_id", "tool_arguments"))
        agent = getattr(getattr(context, "agent", None), "name", "")
        return self.keys.get(cast("CallKey", (agent, *named)))

    def key_of_shell(self, call_id: str) -> str | None:
        """Return the key of the decided shell call with this id, which is all that its tool knows; `None` if that is not clear."""
        found = [key for (_, tool, id, _), key in self.keys.items() if (tool, id) == ("shell", call_id)]
        return found[0] if len(found) == 1 else None

    async def resumed(
        self, resume: Resume, *, session: Session | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[RunResult, Self | None]:
        """Resume the run with one decision for each call that it waits for, until its next pause or its end.

        Call it inside `ApprovalClient.resuming` or `reviewing`, which hold the claim. After an `AgentAdapterError`, nothing
        has run. Any other error comes from the run itself, and tools may have run: do not resume the same pause again.

        Returns:
            The result of `Runner.run`, and the run at its next pause, or `None` when it has finished.

        Raises:
            InvalidRequestError: when `require_approval` of a local MCP server names a tool that does not exist.
            DecisionNotAllowedError: when a decision does not fit.
        """
        settings = settings_of(options, session)
        await check_servers(self.agent)
        state = self.decided((resume, self.state.get_interruptions()))
        with editing(self.edits), finding(self.key):
            result = await Runner.run(self.agent, state, **settings)
        return result, self.then(result)

    def dump(self, **storing: Any) -> str:
        """Return the run as text for another process.

        The text has everything that the run has seen: the conversation, the arguments and outputs of tools, and the context
        if it is a mapping.

        Args:
            storing: Passed to `RunState.to_json`: `context_serializer`, `strict_context`.

        Raises:
            InvalidRequestError: when the SDK could not resume the run from its stored state.
        """
        if self.reused:
            raise InvalidRequestError(
                f"call id {self.reused} is used by an agent and by one that it called: from a stored state the SDK would lose "
                "the call or refuse the run; the model server must give each call an id of its own"
            )
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
                "edits": [[*key, edit.args] for key, edit in self.edits.items() if edit.lasting],
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
            edits = {(a, b, c, d): Edit(args, lasting=True) for a, b, c, d, args in value["edits"]}
            paused = cls(agent, state, value["run"], value["turn"], tuple(value["allow_always"]), edits)
        except (AgentsException, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(
                f"the run of agent {value.get('agent')!r} stored by openai-agents {value.get('sdk')} (state schema "
                f"{value.get('schema')}) cannot be resumed with agent {agent.name!r} on openai-agents {__version__}: {error}"
            ) from error
        items = state.get_interruptions()
        if not items:
            raise InvalidRequestError("this stored run does not wait for anything")
        for item in items:
            refuse_removed_tool(item)
        return paused


def check_input(input: Any) -> None:
    """Refuse an input that is neither new nor a paused run."""
    refuse_bare_state(input)
    if isinstance(input, str) and input.startswith('{"assent":'):
        cure = "pass `await PausedRun.load(agent, text)`"
        raise WrongArgumentError(f"input: this is the text of a paused run, and no prompt: {cure}")
    cure = "pass a text, a list of input items as for Runner.run, or a PausedRun"
    expect(input, str | list | PausedRun, where="input", cure=cure)


def refuse_bare_state(input: Any) -> None:
    """Refuse a state without the id of its run."""
    if isinstance(input, RunState):
        raise InvalidRequestError(
            "a RunState does not say which run it belongs to, so it could be resumed twice: "
            "use PausedRun.of(agent, state, id=…) with an id that is this run's alone"
        )


def _reused(result: Result) -> str:
    """Return a call id used both by a waiting call inside an agent as a tool and by a call outside; empty if none is."""
    outside = {item.call_id: item.agent.name for item in result.new_items if isinstance(item, ToolCallItem)}
    shared = (i.call_id for i in result.interruptions if outside.get(i.call_id, i.agent.name) != i.agent.name)
    return next(shared, None) or ""
