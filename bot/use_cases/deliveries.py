"""Each delivery from a person counts once. The same body again changes nothing and gets the first answer."""

import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.errors import NotConfirmedError
from bot.runtime.tasks import Tasks
from bot.store.deliveries import Delivery, HandledBeforeError, Json
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

_IN_ORDER = json.JSONEncoder(sort_keys=True)


async def handle_once(
    store: ApprovalStore,
    tasks: Tasks,
    interrupt_id: str,
    body: Mapping[str, Any],
    handle: Callable[[Delivery], Awaitable[Json]],
) -> Json:
    """Handle a click or a form, or give the answer that the same body had before.

    Args:
        store: Where the delivery is noted.
        tasks: Save the answer in the background, so that the person does not wait for that.
        interrupt_id: The record that it is about.
        body: As Slack sent it.
        handle: Stores what the person wants and gives the answer. It begins the delivery before anything that is
            longer than to look at what is known, or leaves that to the script that records a decision. When it raises,
            the same body may be handled again.

    Raises:
        StoreUnavailableError: when Redis did not answer in time, or the same body cannot be handled now.
    """
    delivery = Delivery(
        store.scripts,
        store.keys,
        str(body["user"]["id"]),
        digest_of(body),
        trust=store.trust,
        pressed=_pressed(body),
    )
    try:
        answer = await handle(delivery)
        await delivery.begin()
    except HandledBeforeError as known:
        # It may have failed then, because nothing had confirmed it.
        await store.confirm()
        return known.answer
    except BaseException as error:
        if isinstance(error, NotConfirmedError):
            # What it decided counts, so it belongs into the log like any other.
            logger.warning(
                "click.not_confirmed", extra={"interrupt_id": interrupt_id, "user": str(body["user"]["id"])}
            )
        if delivery.is_noted:
            tasks.start(delivery.end(""))
        raise
    if not delivery.is_answered:
        tasks.start(delivery.end(encode(answer)))
    return answer


def _pressed(body: Mapping[str, Any]) -> str:
    match body:
        case {"channel": {"id": str(channel)}, "message": {"ts": str(ts)}}:
            return f"{channel} {ts}"
    return ""


def digest_of(body: Mapping[str, Any]) -> str:
    """Name a body. The name is the same over HTTP and over Socket Mode.

    The text of the message is left out: it is most of the body, and the trigger already differs for each press.
    """
    if "trigger_id" not in body:
        # Without a trigger, a second press would look like the first one again.
        return secrets.token_hex(16)
    sent = {name: value for name, value in body.items() if name != "message"}
    return hashlib.sha256(_IN_ORDER.encode(sent).encode()).hexdigest()
