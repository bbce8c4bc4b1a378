"""What a person sends counts once: the same body again changes nothing, and gets the first answer."""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import ServerUnreachableError
from bot.errors import StoreUnavailableError
from bot.store import WITHIN, ApprovalStore
from bot.tasks import Tasks

logger = logging.getLogger(__name__)

Json = dict[str, Any]

KEPT = 600_000
"""Milliseconds for which a body is known. A signature is good for five minutes before and after its time."""
GIVEN_UP = 5_000
"""Milliseconds after which a delivery without an answer has failed: Slack waits for three seconds."""
LOOK_AGAIN, WAIT_AT_MOST = 0.05, 2.0
"""Seconds between looks for the answer to a body that is being handled elsewhere, and for all of them."""


async def handle_once(
    store: ApprovalStore, tasks: Tasks, body: Mapping[str, Any], handle: Callable[[], Awaitable[Json]]
) -> Json:
    """Handle a click or a form, or give the answer that the same body had before.

    Args:
        store: Where it is noted.
        tasks: Keep the answer in the background, so that the person does not wait for it.
        body: As Slack sent it.
        handle: Stores what the person wants and gives the answer. When it raises, the same body may be handled again.

    Raises:
        StoreUnavailableError: when Redis did not answer in time, or the same body cannot be handled now.
    """
    if "trigger_id" not in body:
        # Slack gives each press a trigger of its own. Without one, a second press looks like a repeated first one.
        return await handle()
    delivery = _Delivery(store, str(body["user"]["id"]), digest_of(body), secrets.token_hex(8))
    known = await delivery.begin()
    if known is not None:
        return known
    try:
        answer = await handle()
    except BaseException:
        tasks.start(delivery.end(""))
        raise
    tasks.start(delivery.end(encode(answer)))
    return answer


def digest_of(body: Mapping[str, Any]) -> str:
    """Name a body, however it was sent: over HTTP or in an envelope of Socket Mode."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


class _Delivery:
    """One body of one person, handled by us or by somebody else."""

    def __init__(self, store: ApprovalStore, person: str, digest: str, owner: str) -> None:
        self._scripts = store.scripts
        self._note = store.keys.delivery(person, digest)
        self._newest = store.keys.newest_delivery(person)
        self._digest, self._owner = digest, owner

    async def begin(self) -> Json | None:
        """Take it; or give the answer that it had, as soon as there is one."""
        try:
            async with asyncio.timeout(WAIT_AT_MOST):
                while True:
                    async with asyncio.timeout(WITHIN):
                        outcome, *answer = await self._scripts(
                            "begin_delivery",
                            [self._note, self._newest],
                            [self._digest, self._owner, KEPT, GIVEN_UP],
                        )
                    match outcome:
                        case "first":
                            return None
                        case "again":
                            found: Json = decode(answer[0])
                            return found
                        case "late":
                            raise StoreUnavailableError(
                                "this click failed before, and the person has sent another one since"
                            )
                    await asyncio.sleep(LOOK_AGAIN)
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not note the click in time") from error

    async def end(self, answer: str) -> None:
        """Keep the answer; an empty one says that it failed."""
        try:
            await self._scripts("end_delivery", [self._note], [self._owner, KEPT, answer])
        except ServerUnreachableError as error:
            # Until it has given up, the same body waits; afterwards it is handled again.
            logger.warning("delivery.not_noted", extra={"reason": str(error)})
