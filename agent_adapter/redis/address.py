"""A plain address of Redis: which server answers there can change behind it."""

import re
from collections.abc import Callable
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ResponseError

_RUN = re.compile(r"^run_id:(\w+)", re.MULTILINE)


class Answering:
    """The server that answers at an address."""

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Called when another server answers than before: it may know less."""
        self._run = ""

    def meet(self, run: str) -> None:
        """Note which run of which server answers; empty where it does not say so."""
        if run and self._run not in {"", run}:
            self.on_change()
        self._run = run or self._run


class AtAddress(AbstractConnection):
    """A connection to whatever answers at an address. Before its first command, it asks which server that is."""

    def __init__(self, *, answering: Answering | None = None, **options: Any) -> None:
        self._answering = answering or Answering()
        super().__init__(**options)

    async def on_connect_check_health(self, *args: Any, **kwargs: Any) -> None:
        """Greet the server, and compare it with the one of the connections before."""
        await super().on_connect_check_health(*args, **kwargs)
        await self.send_command("INFO", "server", check_health=False)
        try:
            found = _RUN.search(_text(await self.read_response()))
        except ResponseError:
            # Some users and managed servers may not ask.
            return
        self._answering.meet(found[1] if found else "")


def _text(answer: Any) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)
