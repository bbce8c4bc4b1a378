"""A deep agent whose subagent writes e-mails: each waits for a person in Slack, who sees which subagent asks.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.deepagents_agent

It needs `.venv/bin/pip install deepagents`.
MODEL names a chat model, such as `openai:gpt-5` (after `.venv/bin/pip install langchain-openai`, with a key in
OPENAI_API_KEY). Without it the model always says the same.
"""

import asyncio
import os
from typing import Any, Self

from agent_adapter import ApprovalClient
from agent_adapter.integrations.langgraph import run
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

try:
    from deepagents import SubAgent, create_deep_agent
except ImportError as error:
    raise ImportError(f"this example needs: .venv/bin/pip install deepagents ({error})") from error


def send_email(to: str, subject: str) -> str:
    """Send an e-mail."""
    print(f"sent to {to}: {subject}")
    return "sent"


class Rehearsed(FakeMessagesListChatModel):
    def bind_tools(self, *_tools: Any, **_options: Any) -> Self:
        return self


def chat_model(tool: str, args: dict[str, str], last_word: str) -> BaseChatModel:
    if name := os.environ.get("MODEL"):
        return init_chat_model(name)
    call = AIMessage("", tool_calls=[{"name": tool, "args": args, "id": "call_1"}])
    return Rehearsed(responses=[call, AIMessage(last_word)])


async def main() -> None:
    mailer: SubAgent = {
        "name": "mailer",
        "description": "Writes and sends e-mails.",
        "system_prompt": "Send the e-mail that you are asked for.",
        "tools": [send_email],
        "model": chat_model("send_email", {"to": "dana@example.com", "subject": "Invoice 17"}, "Mailed."),
    }
    lead = chat_model("task", {"subagent_type": "mailer", "description": "Remind Dana."}, "That is settled.")
    agent = create_deep_agent(
        lead, subagents=[mailer], interrupt_on={"send_email": True}, checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": os.urandom(8).hex()}}
    url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(url, agent="billing") as approvals:
        print("asking in Slack …")
        result = await run(agent, {"messages": "Remind Dana."}, approvals=approvals, config=thread)
    print(result["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
