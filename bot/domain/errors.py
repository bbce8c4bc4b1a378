"""What can go wrong in the bot: one family, each class a sentence."""

from collections.abc import Sequence

from agent_adapter.errors import UnreadableRecordError


class BotError(Exception):
    """Something went wrong in the bot."""


class SettingsError(BotError):
    """The bot cannot start as it is configured; the message lists what to set."""


class BrokenSealError(UnreadableRecordError):
    """No bot has written what is stored about a record, or somebody has changed it since. It decides nothing."""


class DamagedRecordError(UnreadableRecordError):
    """The bot's half of a stored record is not as bots write it. Once somebody has corrected it, it can be decided."""


class StoreUnavailableError(BotError):
    """Redis did not take the write in time. Nothing was recorded."""


class NotConfirmedError(StoreUnavailableError):
    """Redis took the write, and nothing has confirmed in time that it is kept elsewhere or on disk."""


class KeyUnfitError(BotError):
    """The bot's key is not valid now, so nothing was decided. Pressing again does not help."""


class NotToldError(BotError):
    """Nothing was stored, and the bot could not say that to the person who clicked."""


class PersonUnknownError(BotError):
    """Slack did not say who somebody is, so they cannot decide now."""


class VotersUnknownError(PersonUnknownError):
    """Slack did not say whether the others who agreed may still decide, so nothing is final."""


class AsksOtherwiseError(BotError):
    """A record asks something else than the person was asked, so what they decided about it is not recorded."""


class SlackError(BotError):
    """Slack answered a call with an error."""

    def __init__(self, method: str, code: str, details: Sequence[str] = ()) -> None:
        super().__init__(f"{method}: {code}" + (f" ({'; '.join(details)})" if details else ""))
        self.method = method
        self.code = code


class SlackBusyError(SlackError):
    """Slack asks the bot to wait. It did not carry out the call."""

    def __init__(self, method: str, retry_after: float) -> None:
        super().__init__(method, "ratelimited")
        self.retry_after = retry_after
        """The seconds that Slack asks for."""


class SlackUnclearError(SlackError):
    """The call may or may not have been carried out: the connection ended, timed out, or Slack failed inside."""

    def __init__(self, method: str, code: str, *, answered: bool) -> None:
        super().__init__(method, code)
        self.answered = answered
        """Whether Slack has finished the call. Otherwise Slack may still carry it out later."""


class DoneBeforeError(SlackError):
    """The same click was delivered before, or a later click has changed this view. Nothing is left to do."""


class InterruptFaultError(SlackError):
    """This interrupt can never be shown where it is asked: an unknown or archived channel, not a member, …"""

    def __init__(self, method: str, code: str, details: Sequence[str], *, place: str = "") -> None:
        super().__init__(method, code, details)
        self.place = place
        """The channel or person that cannot be reached. Empty when the message itself is the fault."""


class WorkspaceFaultError(SlackError):
    """No call can succeed until somebody fixes the app's token or its scopes."""
