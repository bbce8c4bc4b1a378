"""Signed answers without a bot: each test has a key of its own."""

from datetime import timedelta

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision
from agent_adapter.contract.identity import slots
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.contract.receipt import Receipt
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.receipts.dsse import signed
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from agent_adapter.receipts.statement import (
    RECEIPT,
    ActionStatement,
    Statement,
    arguments_digest,
    bytes_digest,
    dump_statement,
    pause_of,
    run_of,
)

NAMESPACE = "assent"
TEAM = "T0TEST"
USE_WITHIN = timedelta(days=1)


class Signing:
    """Signs answers as a bot does, with a key that is made on the spot."""

    def __init__(self) -> None:
        self._signer = new_signer()
        self.ring = Ring([RingKey.of(public_of(self._signer), "receipts", namespace=NAMESPACE, team=TEAM)])

    def receipts(self, interrupt: Interrupt, resume: Resume, deadline: int) -> tuple[Receipt | None, ...]:
        """Return the receipt of each call that may run."""
        runs = [
            _arguments(decision, action.args)
            for decision, action in zip(resume.decisions, interrupt.request.action_requests, strict=True)
        ]
        actions = [
            self._action(interrupt, resume, index, text)
            for index, text in enumerate(runs)
            if text is not None
        ]
        if not actions:
            return ()
        at = max(int(each.decided_at.timestamp() * 1000) for each in resume.records if each)
        statement = Statement(
            kid=self._signer.public_key.keyid, ns=NAMESPACE, team=TEAM, rec=interrupt.id, run=run_of(interrupt.run), aud=interrupt.agent,
            body=bytes_digest(dump_interrupt(interrupt)),
            policy=next(each.policy for each in resume.records if each) or "", at=at, deadline=deadline,
            use_by=deadline + int(USE_WITHIN.total_seconds() * 1000), actions=tuple(actions),
        )  # fmt: skip
        envelope = signed(self._signer, RECEIPT, dump_statement(statement))
        return tuple(
            None if text is None else Receipt((envelope,), index, text) for index, text in enumerate(runs)
        )

    def _action(self, interrupt: Interrupt, resume: Resume, index: int, runs: str) -> ActionStatement:
        action, decision, record = (
            interrupt.request.action_requests[index],
            resume.decisions[index],
            resume.records[index],
        )
        assert decision
        assert record
        return ActionStatement(
            i=index, pause=pause_of(*slots(interrupt.pauses)[index]), tool=action.name, asked=arguments_digest(action.args),
            runs=bytes_digest(runs), stored=bytes_digest(encode(dump_decision(decision))),
            kind="edit" if isinstance(decision, EditDecision) else "approve", position=decision.type, by=record.decided_by,
            how="click", quorum=1,
        )  # fmt: skip


def _arguments(decision: Decision | None, asked: object) -> str | None:
    """Return the arguments that may run, as text; `None` when nothing may run."""
    if isinstance(decision, EditDecision):
        return encode(decision.edited_action.args)
    return encode(asked) if isinstance(decision, ApproveDecision) else None
