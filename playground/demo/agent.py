"""A support agent: LangChain's own agent and middleware around a model that says what is written here."""

import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from agent_adapter import ApprovalClient, Context
from agent_adapter.integrations.langgraph import run

TASK = "Order 4711 was charged twice, and Ada is not amused. Please sort it out."

APOLOGY = """\
Hello Ada,

you are right: order 4711 was charged twice on 17 November.
We are returning what you paid too much, and we are sorry.

Your shop"""

EMAIL = Annotated[str, Field(json_schema_extra={"format": "email"})]

CHANGEABLE: InterruptOnConfig = {"allowed_decisions": ["approve", "edit", "reject"]}
REVIEWED: dict[str, bool | InterruptOnConfig] = {
    "refund_customer": {**CHANGEABLE, "description": "Ada has paid 64.95 EUR twice."},
    "send_email": CHANGEABLE,
    "restart_service": {
        "allowed_decisions": ["approve", "reject"],
        "description": "The payment worker retried a charge it had made. A restart clears its queue.",
    },
    "ask_person": {"allowed_decisions": ["respond"]},
    "close_ticket": CHANGEABLE,
}
"""What needs a person, and how they may decide; `find_order` runs unasked."""


class Customer(BaseModel):
    id: int
    name: str
    email: EMAIL


class Refund(BaseModel):
    amount: Annotated[float, Field(gt=0, le=250, description="At most 250, by the rules of the desk")]
    currency: Literal["EUR", "USD", "GBP"]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as it ran."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that the model got about one of its calls."""

    tool: str
    status: str
    content: str


@dataclass
class Desk:
    """The agent's tools, and a list of what they did."""

    tell: Callable[[str], Awaitable[None]]
    """Called with a sentence about every tool as it runs."""
    ran: list[Call] = field(default_factory=list)

    async def find_order(self, order: int) -> str:
        """Look an order up."""
        return await self._ran("find_order", {"order": order}, "paid twice: 64.95 EUR on 17 November")

    async def refund_customer(
        self,
        order: int,
        customer: Customer,
        refund: Refund,
        reason: Literal["charged_twice", "not_delivered", "goodwill"],
        notify_customer: bool,  # noqa: FBT001  # a tool's arguments come by name
    ) -> str:
        """Pay money back."""
        args = {
            "order": order,
            "customer": customer,
            "refund": refund,
            "reason": reason,
            "notify_customer": notify_customer,
        }
        paid = f"{refund.amount:.2f} {refund.currency}"
        return await self._ran("refund_customer", args, f"paid {paid} back to {customer.name}")

    async def send_email(self, to: EMAIL, subject: str, body: str) -> str:
        """Send an e-mail."""
        return await self._ran("send_email", {"to": to, "subject": subject, "body": body}, f"sent to {to}")

    async def restart_service(
        self,
        service: Literal["checkout", "payments"],
        drain_seconds: Annotated[int, Field(ge=0, le=300)],
    ) -> str:
        """Restart a service of the shop."""
        args = {"service": service, "drain_seconds": drain_seconds}
        return await self._ran("restart_service", args, f"{service} restarted")

    async def ask_person(self, question: str) -> str:
        """Ask a colleague."""
        raise AssertionError(f"a person answers in this tool's place: {question}")

    async def close_ticket(
        self, ticket: int, resolution: Literal["solved", "handed_over"], labels: list[str]
    ) -> str:
        """Close the ticket."""
        args = {"ticket": ticket, "resolution": resolution, "labels": labels}
        return await self._ran("close_ticket", args, f"ticket {ticket} closed as {resolution}")

    async def _ran(self, tool: str, args: dict[str, Any], result: str) -> str:
        self.ran.append(Call(tool, to_jsonable_python(args)))
        await self.tell(f"I ran {tool}: {result}.")
        return result


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended."""

    message: str
    answers: tuple[Answer, ...]
    ran: tuple[Call, ...]
    """In the order of the agent's tools: LangGraph runs the calls of one turn side by side."""


async def work(
    approvals: ApprovalClient,
    tell: Callable[[str], Awaitable[None]],
    *,
    requested_by: str,
    payment_first: bool = False,
) -> Done:
    """Do the task, asking through `approvals` before anything that needs a person.

    Args:
        approvals: Whom to ask.
        tell: Called with a sentence about every tool that ran, and about the end.
        requested_by: Slack id of the person who gave the task.
        payment_first: Whether it asks about the payment alone, before the rest of the first batch.
    """
    desk = Desk(tell)
    tools: list[Callable[..., Awaitable[str]]] = [
        desk.find_order,
        desk.refund_customer,
        desk.send_email,
        desk.restart_service,
        desk.ask_person,
        desk.close_ticket,
    ]
    agent = create_agent(
        ScriptedModel(turns=_PAYMENT_FIRST if payment_first else _IN_BATCHES),
        tools,
        middleware=[HumanInTheLoopMiddleware(REVIEWED)],
        checkpointer=InMemorySaver(),
    )
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
    context = Context(requested_by=requested_by)
    result = await run(
        agent, {"messages": [("user", TASK)]}, approvals=approvals, config=config, context=context
    )
    *_, last = result["messages"]
    await tell(last.text)
    names = [tool.__name__ for tool in tools]
    ran = sorted(desk.ran, key=lambda call: names.index(call.tool))
    return Done(last.text, answers_in(result["messages"]), tuple(ran))


def answers_in(messages: Sequence[BaseMessage]) -> tuple[Answer, ...]:
    """Give the answers that the model got about its calls, in their order."""
    return tuple(
        Answer(message.name or "", message.status, message.text)
        for message in messages
        if isinstance(message, ToolMessage)
    )


class ScriptedModel(BaseChatModel):
    """Says its next turn, which depends on nothing but the conversation so far."""

    turns: Sequence[Callable[[Sequence[Answer]], AIMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":  # noqa: ARG002  # its tools are in the script
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # LangChain passes them
        run_manager: Any = None,  # noqa: ARG002  # likewise
        **kwargs: Any,  # noqa: ARG002  # likewise
    ) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        reply = self.turns[turn](answers_in(messages))
        return ChatResult(generations=[ChatGeneration(message=reply)])


_PAYMENT: dict[str, dict[str, Any]] = {
    "refund_customer": {
        "order": 4711,
        "customer": {"id": 1042, "name": "Ada Park", "email": "ada.park@example.com"},
        "refund": {"amount": 129.9, "currency": "EUR"},
        "reason": "charged_twice",
        "notify_customer": True,
    }
}
_REST: dict[str, dict[str, Any]] = {
    "send_email": {"to": "ada.park@example.com", "subject": "Your order 4711", "body": APOLOGY},
    "restart_service": {"service": "payments", "drain_seconds": 30},
    "ask_person": {"question": "Ada has waited for a week. May I offer her something for the trouble?"},
}


def _look_up(_: Sequence[Answer]) -> AIMessage:
    return _calls(1, find_order={"order": 4711})


def _propose(_: Sequence[Answer]) -> AIMessage:
    return _calls(2, **_PAYMENT, **_REST)


def _pay(_: Sequence[Answer]) -> AIMessage:
    return _calls(2, **_PAYMENT)


def _go_on(_: Sequence[Answer]) -> AIMessage:
    return _calls(3, **_REST)


def _finish(answers: Sequence[Answer]) -> AIMessage:
    by_tool = {each.tool: each for each in answers}
    refunded = by_tool["refund_customer"].status == "success"
    answer = by_tool["ask_person"].content
    money = "Your money is on its way." if refunded else "A colleague looks after your money."
    return _calls(
        6,
        send_email={
            "to": "ada.park@example.com",
            "subject": "Your order 4711: what happens now",
            "body": f"Hello Ada,\n\n{money}\nAbout your patience, my colleague says:\n\n{answer}\n\nYour shop",
        },
        close_ticket={
            "ticket": 88123,
            "resolution": "solved" if refunded else "handed_over",
            "labels": ["refund", "charged twice"],
        },
    )


def _report(answers: Sequence[Answer]) -> AIMessage:
    lines = [f"{'✓' if each.status == 'success' else '✗'} {each.tool}: {_end_of(each)}" for each in answers]
    return AIMessage("\n".join(["That is all for order 4711.", *lines]))


_IN_BATCHES = (_look_up, _propose, _finish, _report)
_PAYMENT_FIRST = (_look_up, _pay, _go_on, _finish, _report)


def _calls(first: int, **args: dict[str, Any]) -> AIMessage:
    """Give a turn that calls these tools."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": given, "id": f"call_{number}"}
            for number, (name, given) in enumerate(args.items(), first)
        ],
    )


def _end_of(answer: Answer) -> str:
    """Leave out what LangChain puts before the words that matter."""
    return re.split(r"Tool response:\n|with reason: ", answer.content)[-1].replace("\n", " ")
