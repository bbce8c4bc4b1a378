"""A plain function that sends no reminder which nobody in Slack has approved.

Run it in the checkout, after `make up` with the same REDIS_URL, or after `make playground` and its line to `source`:

    .venv/bin/python -m examples.plain_functions
"""

import asyncio
import os
from datetime import date, timedelta
from typing import Annotated

from agent_adapter import ApprovalClient, Context
from agent_adapter.integrations.functions import asking, requires_approval
from pydantic import Field

approvals = ApprovalClient.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379/0"), agent="billing")


@requires_approval(
    approvals,
    allowed_decisions=["approve", "edit", "reject"],
    description=lambda call: f"Reminds {call.args['to']} of an invoice.",
    on_reject=str,
    expires_in=timedelta(hours=1),
)
async def send_reminder(to: Annotated[str, Field(description="Who gets it")], invoice: int, due: date) -> str:
    """Send a reminder by e-mail."""
    print(f"To: {to}\nYour invoice {invoice} is due on {due}.\n")
    return "sent"


async def main() -> None:
    async with approvals:
        print("asking in Slack …")
        with asking(context=Context(title="Invoices of November")):
            print(await send_reminder("dana@example.com", invoice=17, due=date(2026, 12, 1)))


if __name__ == "__main__":
    asyncio.run(main())
