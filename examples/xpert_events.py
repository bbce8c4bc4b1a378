"""An XpertAI conversation in which nothing is sent that nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.xpert_events

XpertAI streams an `on_interrupt` event where its human-in-the-loop middleware pauses. The event here is one that was
written down; yours comes from XpertAI's stream.
"""

import asyncio
import json
import os
from typing import Any

from agent_adapter import ApprovalClient
from agent_adapter.integrations.xpert import run

STREAMED = """
{"type": "event", "event": "on_interrupt", "data": {"tasks": [{
  "name": "Middleware_review_after_model",
  "interrupts": [{
    "id": "d5e8b2522f3c86bbdc5989438b46539c",
    "value": {
      "actionRequests": [
        {"name": "send_email", "args": {"to": "dana@example.com", "subject": "Invoice 17"}},
        {"name": "run_sql", "args": {"query": "DELETE FROM drafts"}}
      ],
      "reviewConfigs": [
        {"actionName": "send_email", "allowedDecisions": ["approve", "edit", "reject"]},
        {"actionName": "run_sql", "allowedDecisions": ["approve", "reject"]}
      ]
    }
  }]
}]}}
"""


async def resume_conversation(value: dict[str, Any]) -> None:
    # Here you call XpertAI: this is the `resume` of its interrupt command.
    print(json.dumps(value))


async def main() -> None:
    conversation = os.urandom(8).hex()
    redis_url = os.environ.get("REDIS_URL", "redis://localhost:6379/0")
    async with ApprovalClient.from_url(redis_url, agent="xpert") as approvals:
        print("asking in Slack …")
        event = json.loads(STREAMED)
        await run(event, approvals=approvals, thread_id=conversation, send=resume_conversation)


if __name__ == "__main__":
    asyncio.run(main())
