"""What Slack delivers for a person, such as a click: each delivery is handled once."""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.arguments import decode
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.redis.private import Private
from agent_adapter.redis.scripts import Scripts
from bot.domain.errors import BotError, StoreUnavailableError
from bot.domain.seal import Trust

logger = logging.getLogger(__name__)

Json = dict[str, Any]

WITHIN = 1.0
"""Seconds that Redis may take while a person waits."""
LOOK_AGAIN, WAIT_AT_MOST = 0.05, 2.0
"""Seconds between looks for the answer to a body that is being handled elsewhere, and for all of them."""
_FIELD = "answer"
NOTHING = "{}"
"""The answer to a click."""

NO_DELIVERY: dict[str, str | None] = {"delivery": None, "newest": None, "owner": None}
"""What scripts take when there is no delivery to note."""


class HandledBeforeError(BotError):
    """The same body was handled before. Give the same answer again and do nothing else."""

    def __init__(self, answer: Json) -> None:
        super().__init__("the same body was handled before")
        self.answer = answer


class Delivery:
    """One body that one person sent, handled by this process or by another."""

    def __init__(
        self,
        scripts: Scripts,
        keys: Keys,
        person: str,
        digest: str,
        *,
        trust: Trust | None = None,
        pressed: str = "",
    ) -> None:
        self._scripts = scripts
        self._trust = trust
        self.pressed = pressed
        """Channel and ts of the message that was pressed; empty for a form."""
        self._name = keys.delivery(person, digest)
        self.names: dict[str, str | None] = {
            "delivery": self._name,
            "newest": keys.newest_delivery(person),
            "owner": secrets.token_hex(8),
        }
        """Its keys and arguments, by the names that scripts give them."""
        self.is_noted = False
        """Whether Redis knows that this process handles it."""
        self.is_answered = False
        """Whether Redis knows its answer."""

    async def begin(self) -> None:
        """Note that this process handles it, if no script has noted it yet. Wait while another process handles it.

        Raises:
            HandledBeforeError: with the answer that it had.
            StoreUnavailableError: when Redis does not answer in time, or it cannot be handled now.
        """
        if self.is_noted:
            return
        try:
            async with asyncio.timeout(WAIT_AT_MOST):
                while True:
                    if self.is_ours(await self._begin()):
                        return
                    await asyncio.sleep(LOOK_AGAIN)
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError("Redis did not note the click in time") from error

    def is_ours(self, reply: Sequence[str]) -> bool:
        """Read what a script says about it. False while another process handles it.

        Raises:
            HandledBeforeError: with the answer that it had.
            StoreUnavailableError: when it failed before, and must not be handled any more.
        """
        match reply:
            case ["first", *_]:
                self.is_noted = True
            case ["again", answer]:
                kept = self._scripts.cipher.open(answer, record=self._name, field=_FIELD)
                raise HandledBeforeError(decode(self._believed(kept)))
            case ["late"]:
                raise StoreUnavailableError(
                    "this click failed before, and the person has sent another one since"
                )
        return self.is_noted

    async def end(self, answer: str) -> None:
        """Keep the answer. An empty answer says that handling it failed."""
        try:
            kept = Private(self._sealed(answer), _FIELD, record=self._name)
            await self._scripts("end_delivery", {}, **self.names, answer=kept)
        except ServerUnreachableError as error:
            # Redis still says that it is being handled. The same body waits until that is too old, and is handled then.
            logger.warning("delivery.not_noted", extra={"reason": str(error)})

    def _sealed(self, answer: str) -> str:
        """Write an answer with its mark before it: it may be a form, and Slack sends back what that says was shown."""
        if not (answer and self._trust):
            return answer
        return f"{self._trust.seal.mark(self._name, _FIELD, (answer,))} {answer}"

    def _believed(self, kept: str) -> str:
        """Read an answer that a bot kept.

        Raises:
            StoreUnavailableError: when no bot wrote it.
        """
        mark, _, answer = ("", "", kept) if kept.startswith("{") else kept.partition(" ")
        # A script writes the answer to a click, which says nothing.
        if (
            answer != NOTHING
            and self._trust
            and not self._trust.believes(mark, self._name, _FIELD, (answer,))
        ):
            logger.error("delivery.forged", extra={"delivery": self._name})
            raise StoreUnavailableError("the stored answer to this click was not written by a bot")
        return answer

    async def _begin(self) -> list[str]:
        async with asyncio.timeout(WITHIN):
            reply: list[str] = await self._scripts("begin_delivery", {}, **self.names)
            return reply
