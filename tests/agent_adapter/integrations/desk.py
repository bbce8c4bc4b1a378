"""A support desk: agents of the OpenAI Agents SDK with tools that write down what ran."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents import Agent, FunctionTool, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from agent_adapter import ApprovalClient
from agent_adapter.integrations.openai_agents import PausedRun, editable

# The SDK would send what it traces to its maker.
set_tracing_disabled(True)

DONE = [assistant_message("done")]


def says(*calls: tuple[str, dict[str, Any]], first_call: int = 1) -> list[Any]:
    """Give a turn of the model: calls as (name, arguments), with the ids `call_1`, `call_2`, …"""
    return [
        function_call(name, args, call_id=f"call_{number}")
        for number, (name, args) in enumerate(calls, first_call)
    ]


MAIL = {"to": "dana@x.com", "body": "text"}
TURN = says(
    ("send_email", MAIL),
    ("look_up", {"order": 7}),
    ("cancel_order", {"order": 7, "reason": "late"}),
    ("ask_user", {"question": "Which env?"}),
)


@dataclass
class Desk:
    """What the tools did, and agents that use them."""

    ran: list[tuple[str, Any]] = field(default_factory=list)
    policy: bool | Callable[..., Any] = True
    """`needs_approval` of `cancel_order`."""

    @property
    def tools(self) -> list[FunctionTool]:
        @editable
        @function_tool(needs_approval=True)
        def send_email(to: str, body: str = "") -> str:
            """Send an email."""
            self.ran.append(("send_email", {"to": to, "body": body}))
            return f"sent to {to}"

        @editable
        @function_tool(needs_approval=self.policy)
        def cancel_order(order: int, reason: str = "none") -> str:
            """Cancel an order."""
            self.ran.append(("cancel_order", {"order": order, "reason": reason}))
            return f"cancelled {order}"

        @function_tool
        def look_up(order: int) -> str:
            """Look an order up."""
            self.ran.append(("look_up", {"order": order}))
            return "late"

        @function_tool(needs_approval=True)
        def ask_user(question: str) -> str:
            """Ask the user."""
            self.ran.append(("ask_user", question))
            return "nobody is there"

        return [send_email, cancel_order, look_up, ask_user]

    def agent(
        self, *turns: Any, name: str = "Support", more: Sequence[Any] = (), **options: Any
    ) -> Agent[Any]:
        """Make an agent whose model says these turns."""
        return Agent(name=name, model=ScriptedModel(turns), tools=[*self.tools, *more], **options)

    def names(self) -> list[str]:
        """Name the tools that ran, in no particular order."""
        return sorted(name for name, _ in self.ran)


async def resumed(paused: PausedRun, approvals: ApprovalClient) -> tuple[Any, PausedRun | None]:
    """Ask about a pause and go on, until the next pause or the end, as a loop of one's own does."""
    async with approvals.reviewing(paused.interrupt(approvals)) as resume:
        state = paused.decided(resume)
        with paused.going_on(approvals):
            result = await Runner.run(paused.agent, state)
    return result, paused.then(result)


def answers_to_model(result: Any) -> dict[str, Any]:
    """Give what the model got for each call, by call id."""
    return {
        item["call_id"]: item["output"]
        for item in result.to_input_list()
        if str(item.get("type", "")).endswith("call_output")
    }


def at(text: str, *path: str | int) -> Any:
    """Read a place of a stored run."""
    value = json.loads(text)
    for step in path:
        value = value[step]
    return value
