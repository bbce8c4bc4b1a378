"""A SpoonAI agent that sends no e-mail which nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`.
SpoonAI needs Python 3.12, so make an environment with that and `pip install ".[spoon]"`:

    python -m examples.spoon_agent

MODEL names a model of OpenAI, with a key in OPENAI_API_KEY. Without it the model always says the same.
"""

import asyncio
import json
import logging
import os
from typing import Any

from agent_adapter import ApprovalClient
from agent_adapter.integrations.spoon import run
from spoon_ai.agents import ToolCallAgent
from spoon_ai.chat import ChatBot
from spoon_ai.schema import Function, LLMResponse, ToolCall
from spoon_ai.tools import BaseTool, ToolManager

TEXT = {"type": "string"}
EMAIL = {"properties": {"to": TEXT, "subject": TEXT, "body": TEXT}, "required": ["to", "subject", "body"]}


class SendEmail(BaseTool):
    name: str = "send_email"
    description: str = "Send an e-mail."
    parameters: dict[str, Any] = EMAIL

    async def execute(self, to: str, subject: str, body: str) -> str:
        print(f"To: {to}\nSubject: {subject}\n\n{body}\n")
        return "sent"


class Rehearsed(ChatBot):
    def __init__(self) -> None:
        body = "Dear Dana,\n\nyour invoice is due."
        email = json.dumps({"to": "dana@example.com", "subject": "Invoice 17", "body": body})
        call = ToolCall(id="call_1", function=Function(name="send_email", arguments=email))
        self.replies = iter([([call], ""), ([], "That is settled.")])

    async def ask_tool(self, *_given: Any, **_options: Any) -> LLMResponse:
        calls, text = next(self.replies)
        return LLMResponse(content=text, tool_calls=calls, finish_reason="tool_calls" if calls else "stop")


async def main() -> None:
    logging.getLogger("spoon_ai").setLevel(logging.CRITICAL)  # A rejected call is an error in SpoonAI's log.
    model = os.environ.get("MODEL")
    llm = ChatBot(llm_provider="openai", model_name=model) if model else Rehearsed()
    agent = ToolCallAgent(llm=llm, available_tools=ToolManager([SendEmail()]))
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="billing") as approvals:
        print("asking in Slack …")
        task = "Remind Dana of invoice 17."
        print(await run(agent, task, approvals=approvals, interrupt_on={"send_email": True}))


if __name__ == "__main__":
    asyncio.run(main())
