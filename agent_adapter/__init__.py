"""A person between an AI agent's tool call and its execution: the library an agent imports."""

from agent_adapter.ask import DecidedCall as DecidedCall
from agent_adapter.asking import Asking as Asking
from agent_adapter.client import ApprovalClient as ApprovalClient
from agent_adapter.contract.hitl import (
    ActionRequest as ActionRequest,
    ApproveDecision as ApproveDecision,
    Decision as Decision,
    EditDecision as EditDecision,
    EditedAction as EditedAction,
    HITLRequest as HITLRequest,
    KnownDecision as KnownDecision,
    RejectDecision as RejectDecision,
    RespondDecision as RespondDecision,
    ReviewConfig as ReviewConfig,
    UnknownDecision as UnknownDecision,
)
from agent_adapter.contract.interrupt import (
    Context as Context,
    Decided as Decided,
    DecidedResume as DecidedResume,
    DecisionRecord as DecisionRecord,
    Interrupt as Interrupt,
    Link as Link,
    Resume as Resume,
)
from agent_adapter.contract.outcome import Outcome as Outcome, Reported as Reported
from agent_adapter.contract.receipt import Receipt as Receipt
from agent_adapter.errors import (
    AgentAdapterError as AgentAdapterError,
    ClaimedError as ClaimedError,
    ClaimLostError as ClaimLostError,
    ConflictError as ConflictError,
    ConsumedError as ConsumedError,
    CutOffError as CutOffError,
    DecisionNotAllowedError as DecisionNotAllowedError,
    InterruptEndedError as InterruptEndedError,
    InterruptExpiredError as InterruptExpiredError,
    InterruptRefusedError as InterruptRefusedError,
    InterruptWithdrawnError as InterruptWithdrawnError,
    InvalidRequestError as InvalidRequestError,
    LockedRecordError as LockedRecordError,
    LoopBrokenError as LoopBrokenError,
    NotApprovedError as NotApprovedError,
    NotDecidedError as NotDecidedError,
    ReceiptError as ReceiptError,
    RejectedError as RejectedError,
    ServerFailedError as ServerFailedError,
    ServerRefusesError as ServerRefusesError,
    ServerUnreachableError as ServerUnreachableError,
    ServerUnsuitableError as ServerUnsuitableError,
    UnknownDialectError as UnknownDialectError,
    UnknownInterruptError as UnknownInterruptError,
    UnreadableContinuationError as UnreadableContinuationError,
    UnreadableRecordError as UnreadableRecordError,
    WrongArgumentError as WrongArgumentError,
)
from agent_adapter.idempotency import (
    approval_key as approval_key,
    approval_receipt as approval_receipt,
    using_receipt as using_receipt,
)
from agent_adapter.receipts.check import Proven as Proven, verify_receipt as verify_receipt
from agent_adapter.requiring import requires_receipt as requires_receipt

__version__ = "0.1.0"
