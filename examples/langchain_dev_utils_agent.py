"""A tool decorated with langchain-dev-utils: no payment is made that nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.langchain_dev_utils_agent

It needs `.venv/bin/pip install langchain-dev-utils`.
MODEL names a chat model, such as `openai:gpt-5` (after `.venv/bin/pip install langchain-openai`, with a key in
OPENAI_API_KEY). Without it the model always says the same.
"""

import asyncio
import os
from datetime import timedelta
from typing import Any, Self

from agent_adapter import ApprovalClient
from agent_adapter.integrations.langchain_dev_utils import handler, run
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver


@human_in_the_loop(handler=handler)  # without a handler of ours, the decorator's own cannot reject
def pay(to: str, amount: int = 5) -> str:
    """Pay somebody."""
    print(f"paid {amount} to {to}")
    return "paid"


class Rehearsed(FakeMessagesListChatModel):
    def bind_tools(self, *_tools: Any, **_options: Any) -> Self:
        return self


def chat_model() -> BaseChatModel:
    if name := os.environ.get("MODEL"):
        return init_chat_model(name)
    call = {"name": "pay", "args": {"to": "Dana"}, "id": "call_1"}
    return Rehearsed(responses=[AIMessage("", tool_calls=[call]), AIMessage("That is settled.")])


async def main() -> None:
    agent = create_agent(chat_model(), [pay], checkpointer=InMemorySaver())
    task = {"messages": [("user", "Pay Dana for the coffee.")]}
    thread = {"configurable": {"thread_id": os.urandom(8).hex()}}
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="billing") as approvals:
        print("asking in Slack …")
        result = await run(agent, task, approvals=approvals, config=thread, expires_in=timedelta(hours=1))
    print(result["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
