"""An agent that knows nothing but HTTP: it asks, waits, does what was decided, and says so.

Run it in the checkout, after `make up`, or after `make playground` and its line to `source`:

    export ASSENT_KEY=$(.venv/bin/python -m bot keys create billing)
    .venv/bin/python -m examples.http_api

Any language does the same with its own HTTP client.
"""

import json
import os
import urllib.request
import uuid
from typing import Any

SERVER = os.environ.get("ASSENT_URL", "http://localhost:3000")
EMAIL = {"to": "dana@example.com", "subject": "Invoice 17", "body": "Dear Dana,\n\nyour invoice is due."}
PAUSE = {
    "action_requests": [{"name": "send_email", "args": EMAIL}],
    "review_configs": [
        {"action_name": "send_email", "allowed_decisions": ["approve", "edit", "reject", "respond"]}
    ],
}


def send(method: str, path: str, body: Any = None) -> dict[str, Any]:
    if "ASSENT_KEY" not in os.environ:
        raise SystemExit("ASSENT_KEY is not set: python -m bot keys create billing prints one")
    headers = {"Authorization": f"Bearer {os.environ['ASSENT_KEY']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{SERVER}/v1{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=90) as answer:
        state: dict[str, Any] = json.load(answer)
        return state


def main() -> None:
    print("asking in Slack …")
    # The same run and pause find the same question, so an agent that was restarted may send this again.
    asked = {"payload": PAUSE, "run": uuid.uuid4().hex, "pause": "call_1", "expires_in": 3600}
    state = send("POST", "/interrupts", asked)
    while state["status"] == "pending":
        state = send("GET", f"/interrupts/{state['id']}?wait=50")
    if state["resume"] is None:
        raise SystemExit(f"{state['status']}, nothing may run: {state['reason']}")
    match state["resume"]["decisions"][0]:
        case {"type": "approve"}:
            send_and_report(state["id"], EMAIL)
        case {"type": "edit", "edited_action": action}:
            send_and_report(state["id"], action["args"])
        case {"type": "reject" | "respond", **said}:
            print(f"not sent: {said.get('message', 'no reason given')}")
    send("POST", f"/interrupts/{state['id']}/resumed")


def send_and_report(interrupt_id: str, email: dict[str, str]) -> None:
    try:
        send_email(**email)
        outcome = {"status": "done", "text": f"sent to {email['to']}"}
    except OSError as error:
        outcome = {"status": "failed", "text": str(error)}
    send("POST", f"/interrupts/{interrupt_id}/outcome", {"index": 0, **outcome})


def send_email(to: str, subject: str, body: str) -> None:
    print(f"To: {to}\nSubject: {subject}\n\n{body}")


if __name__ == "__main__":
    main()
