"""What can go wrong on the agent's side: one family, each class a sentence."""


class AgentAdapterError(Exception):
    """Something about an approval went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((self.__doc__ or "").split()))


class InvalidRequestError(AgentAdapterError):
    """What was handed in cannot be reviewed as it is; the message names the place and the cure."""


class UnreadableRecordError(InvalidRequestError):
    """What is stored of an interrupt is not what this version writes: something else writes to this Redis."""


class WrongArgumentError(InvalidRequestError, TypeError):
    """Something was passed in the wrong place; the message says what to pass instead."""


class UnknownDialectError(InvalidRequestError):
    """The payload is of no pause format that is known here."""


class ConflictError(AgentAdapterError):
    """This interrupt is already published, with other actions."""


class ConsumedError(AgentAdapterError):
    """The decisions of this interrupt were already taken: its run has been resumed once."""


class UnknownInterruptError(AgentAdapterError):
    """No interrupt of this id is stored: it was never published here, or its retention has ended."""


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


class RejectedError(AgentAdapterError):
    """The reviewer rejected this call: it did not run."""

    def __init__(self, tool: str, *, reason: str | None, decided_by: str) -> None:
        super().__init__(f"{tool} was rejected and did not run" + (f": {reason}" if reason else ""))
        self.tool = tool
        self.reason = reason
        """In the reviewer's words, where they gave one."""
        self.decided_by = decided_by
        """Slack user id, or `expired` where nobody decided in time."""


class DecisionNotAllowedError(AgentAdapterError):
    """A stored decision does not fit the action it answers; nothing was resumed."""


class ClaimedError(AgentAdapterError):
    """Another process is resuming this interrupt."""


class ClaimLostError(AgentAdapterError):
    """The claim on this interrupt lapsed while its run was resumed; another process may have taken it."""


class ServerUnsuitableError(AgentAdapterError):
    """This Redis cannot keep approvals safe; the message says what to change."""


class ServerUnreachableError(AgentAdapterError):
    """Redis does not answer, or takes nothing for now; asking again later is right."""

    def __init__(self, message: str | None = None, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """Redis' own word where it answered, such as `OOM`; empty where it does not answer."""


class ServerRefusesError(ServerUnreachableError):
    """Redis answers and refuses this client until somebody changes something; the message says what."""


class ServerFailedError(AgentAdapterError):
    """Redis failed at one command, and may well take others; the message says why."""


class LoopBrokenError(AgentAdapterError):
    """Something that works in the background failed again and again, and was given up."""


class UnreadableContinuationError(AgentAdapterError):
    """This worker cannot read the state of a paused run; another may."""


class CutOffError(AgentAdapterError):
    """This run died or failed while it was resumed, and nobody can tell whether what was approved has had its effect."""
