"""A LangChain agent that sends no e-mail which nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.langgraph_agent

MODEL names a chat model, such as `openai:gpt-5` (after `.venv/bin/pip install langchain-openai`, with a key in
OPENAI_API_KEY). Without it the model always says the same.
"""

import asyncio
import os
from datetime import timedelta
from typing import Any, Self

from agent_adapter import ApprovalClient
from agent_adapter.integrations.langgraph import run
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver


def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    print(f"To: {to}\nSubject: {subject}\n\n{body}\n")
    return "sent"


class Rehearsed(FakeMessagesListChatModel):
    def bind_tools(self, *_tools: Any, **_options: Any) -> Self:
        return self


def chat_model() -> BaseChatModel:
    if name := os.environ.get("MODEL"):
        return init_chat_model(name)
    email = {"to": "dana@example.com", "subject": "Invoice 17", "body": "Dear Dana,\n\nyour invoice is due."}
    call = {"name": "send_email", "args": email, "id": "call_1"}
    return Rehearsed(responses=[AIMessage("", tool_calls=[call]), AIMessage("That is settled.")])


async def main() -> None:
    review = HumanInTheLoopMiddleware({"send_email": True})
    agent = create_agent(chat_model(), [send_email], middleware=[review], checkpointer=InMemorySaver())
    task = {"messages": [("user", "Remind Dana of invoice 17.")]}
    thread = {"configurable": {"thread_id": os.urandom(8).hex()}}
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="billing") as approvals:
        print("asking in Slack …")
        result = await run(agent, task, approvals=approvals, config=thread, expires_in=timedelta(hours=1))
    print(result["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
