"""The bot's signature under what it has judged."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from agent_adapter.errors import SigningError
from agent_adapter.receipts.answer import Verifier
from agent_adapter.receipts.dsse import dump_envelope
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.signer import sign_envelope
from agent_adapter.receipts.statement import RECEIPT, ActionStatement, Statement, dump_statement
from bot.domain.approval import Approval
from bot.domain.seal import Seal
from bot.domain.statement import Issuer, statement_of
from bot.runtime.bot_keys import ListedSigner

ALONE_WITHIN = 5.0
"""Seconds that the key may take where nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Signing:
    """Signs statements with the key of this bot."""

    signer: ListedSigner
    namespace: str
    team: Callable[[], str]
    """Gives the id of the Slack workspace, which is known once Slack has answered."""
    ring: Ring
    """The public keys with which it checks what it reads back."""
    seal: Seal
    """Marks what else it keeps, so that it knows it again."""

    @property
    def verifier(self) -> Verifier:
        """Says which signatures count."""
        return Verifier(self.ring, self.namespace)

    @property
    def issuer(self) -> Issuer:
        """Who signs now."""
        return Issuer(self.signer.kid, self.namespace, self.team())

    async def sign_alone(self, state: Approval, said: ActionStatement) -> str:
        """Sign what a standing approval or the deadline decides about one action, as the record keeps it.

        Raises:
            SigningError: when the key has not signed in time.
        """
        admission = state.admission
        statement = statement_of(
            state,
            self.issuer,
            [said],
            at=datetime.now(UTC),
            policy=admission.policy_version,
            use_within=admission.terms[said.i].use_within,
        )
        return await self.sign(statement, until=asyncio.get_running_loop().time() + ALONE_WITHIN)

    async def sign(self, statement: Statement, *, until: float) -> str:
        """Sign a statement, and give it as the record keeps it.

        Args:
            statement: What to sign.
            until: When it has to be signed, by the clock of the loop.

        Raises:
            SigningError: when the key has not signed in time.
        """
        try:
            async with asyncio.timeout_at(until):
                envelope = await sign_envelope(self.signer.sign, RECEIPT, dump_statement(statement))
        except TimeoutError:
            raise SigningError("the signing key did not answer in time") from None
        return dump_envelope(envelope)
