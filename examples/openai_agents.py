"""An agent of the OpenAI Agents SDK that sends no e-mail which nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.openai_agents

It needs `.venv/bin/pip install openai-agents`.
MODEL names a model of OpenAI, with a key in OPENAI_API_KEY. Without it the model always says the same,
and nothing leaves this machine.
"""

import asyncio
import os
from datetime import timedelta

from agent_adapter import ApprovalClient
from agent_adapter.integrations.openai_agents import editable, run
from agents import Agent, Model, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call


@editable  # a person may also change the arguments
@function_tool(needs_approval=True)
def send_email(to: str, body: str) -> str:
    """Send an e-mail."""
    print(f"To: {to}\n{body}")
    return "sent"


def chat_model() -> str | Model:
    if name := os.environ.get("MODEL"):
        return name
    set_tracing_disabled(True)
    email = {"to": "dana@example.com", "body": "Invoice 17 is due."}
    call = function_call("send_email", email, call_id="call_1")
    return ScriptedModel([[call], [assistant_message("That is settled.")]])


async def main() -> None:
    agent = Agent(name="Billing", model=chat_model(), tools=[send_email])
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="billing") as approvals:
        print("asking in Slack …")
        result = await run(
            agent, "Remind Dana of invoice 17.", approvals=approvals, expires_in=timedelta(hours=1)
        )
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
