"""What can go wrong on the agent's side: one family, each class a sentence."""


class AgentAdapterError(Exception):
    """Something about an approval went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((self.__doc__ or "").split()))


class InvalidRequestError(AgentAdapterError):
    """The request cannot be reviewed as it is; the message names the place and the cure."""


class UnreadableRecordError(InvalidRequestError):
    """The stored record is not one that this version writes: something else writes to this Redis."""


class LockedRecordError(UnreadableRecordError):
    """The stored record is encrypted, and the key is not in `ASSENT_RECORD_KEY`."""


class WrongArgumentError(InvalidRequestError, TypeError):
    """An argument is of the wrong kind or has a wrong name; the message says what to pass instead."""


class UnknownDialectError(InvalidRequestError):
    """The payload is not in a pause format that is known here."""


class ConflictError(AgentAdapterError):
    """This interrupt is already published, with other actions."""


class ConsumedError(AgentAdapterError):
    """The decisions of this interrupt were already used: its run has been resumed once."""

    def __init__(self, message: str | None = None, *, interrupt_id: str = "") -> None:
        super().__init__(message)
        self.interrupt_id = interrupt_id
        """The record that was used, where one is meant."""


class NotDecidedError(AgentAdapterError):
    """The interrupt is still open, so its run cannot be resumed."""


class UnknownInterruptError(AgentAdapterError):
    """No interrupt with this id is stored: it was never published here, or its retention has ended."""


class InterruptEndedError(AgentAdapterError):
    """This interrupt ended without an answer that the run could resume with."""


class InterruptExpiredError(InterruptEndedError):
    """Nobody decided in time, and silence is not a rejection here: `on_expiry` is raise, or an action allows no reject."""


class InterruptWithdrawnError(InterruptEndedError):
    """The interrupt was withdrawn before it was decided."""


class InterruptRefusedError(InterruptEndedError):
    """The bot could not ask for this approval."""

    def __init__(self, message: str | None = None, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code
        """Short machine-readable reason, such as `channel_not_found` or `policy`."""


class NotApprovedError(AgentAdapterError):
    """People did not approve this call: it did not run."""

    how = "was answered"

    def __init__(self, tool: str, *, reason: str | None, decided_by: str) -> None:
        super().__init__(f"{tool} {self.how} and did not run" + (f": {reason}" if reason else ""))
        self.tool = tool
        self.reason = reason
        """What the reviewer wrote; `None` when they gave no reason."""
        self.decided_by = decided_by
        """Slack user id, or `expired` when nobody decided in time."""


class RejectedError(NotApprovedError):
    """The reviewer rejected this call: it did not run."""

    how = "was rejected"


class DecisionNotAllowedError(AgentAdapterError):
    """A stored decision does not fit the action that it answers; nothing was resumed."""


class ReceiptError(DecisionNotAllowedError):
    """A receipt does not prove that a person approved this call, so nothing may run."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code
        """Short machine-readable reason, such as `signature` or `expired`."""


class ClaimedError(AgentAdapterError):
    """Another process is resuming this interrupt."""


class ClaimLostError(AgentAdapterError):
    """The claim on this interrupt expired while its run was resumed; another process may have taken it."""


class ServerUnsuitableError(AgentAdapterError):
    """This Redis cannot keep approvals safe; the message says what to change."""


class ServerUnreachableError(AgentAdapterError):
    """Redis does not answer, or accepts no writes for now; try again later."""

    def __init__(self, message: str | None = None, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """The error code that Redis answered with, such as `OOM`; empty when it did not answer."""


class ServerRefusesError(ServerUnreachableError):
    """Redis refuses this client until somebody changes something; the message says what."""


class ServerFailedError(AgentAdapterError):
    """Redis failed at one command, and other commands may still work; the message says why."""


class LoopBrokenError(AgentAdapterError):
    """A background loop failed again and again, and has stopped."""


class UnreadableContinuationError(AgentAdapterError):
    """This worker cannot read the state of a paused run; another worker may be able to."""


class CutOffError(AgentAdapterError):
    """This run died or failed while it was resumed, and nobody knows whether the approved call took effect."""
