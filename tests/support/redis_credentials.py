"""A provider of credentials whose password a test changes, as a bot's setting names it."""

from redis.credentials import CredentialProvider


class Changing(CredentialProvider):
    """Gives what it has now, and counts how often it was asked. Like most providers, it has no asynchronous method."""

    def __init__(self) -> None:
        self.user, self.password, self.asked = "assent", "first", 0
        self.fails: Exception | None = None

    def get_credentials(self) -> tuple[str, str]:
        self.asked += 1
        if self.fails:
            raise self.fails
        return self.user, self.password


changing = Changing()
NAME = f"{__name__}:changing"
