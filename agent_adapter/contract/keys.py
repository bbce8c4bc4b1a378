"""The names of all keys in Redis, in one place."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

OWN = frozenset({"req", "card", "run", "thread", "replies", "held", "rate"})
"""The keys of one record, thread, process or agent; its id is the end of the key."""


class Shared:
    """A key that all records share."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, keys: "Keys", owner: type) -> str:
        return keys.prefix + self.name


@dataclass(frozen=True, slots=True)
class Keys:
    """The data model; `docs/reference/redis.md` says what each key and field holds.

    All keys of a namespace share one hash tag, which is its name: it lives on one server, also of a Cluster. What an agent
    writes has its name at the beginning of the last part.
    """

    namespace: str = "assent"

    meta = Shared()
    api_keys = Shared("keys")
    api_keys_used = Shared("keys:used")
    undrawn = Shared()
    due = Shared()
    failing = Shared()
    unresumed = Shared()
    standing = Shared("sticky")
    inboxes = Shared()
    bots = Shared()
    epoch = Shared()
    clock = Shared()
    confirmed = Shared()
    watched = Shared()
    server = Shared()
    audit = Shared()
    audit_seq = Shared()
    audit_move = Shared()

    @property
    def prefix(self) -> str:
        return f"{{{self.namespace}}}:"

    def pace(self, method: str, channel: str = "") -> str:
        return f"{self.prefix}pace:{method}" + (f":{channel}" if channel else "")

    def of(self, id: str = "") -> "Named":
        """Return the keys that scripts take by name: those that all records share, and those of one record, agent or process."""
        shared = _shared(self.namespace)
        # These two are in most scripts, and a key that is there is found faster.
        return Named(shared, id=id, req=f"{shared['prefix']}req:{id}", card=f"{shared['prefix']}card:{id}")

    def req(self, interrupt_id: str) -> str:
        return f"{self.prefix}req:{interrupt_id}"

    def card(self, interrupt_id: str) -> str:
        return f"{self.prefix}card:{interrupt_id}"

    def run(self, interrupt_id: str) -> str:
        return f"{self.prefix}run:{interrupt_id}"

    def pause(self, agent: str, pause_digest: str) -> str:
        return f"{self.prefix}pause:{agent}.{pause_digest}"

    def vouched(self, interrupt_id: str) -> str:
        return f"{self.prefix}vouched:{interrupt_id}"

    def inbox(self, agent: str) -> str:
        return f"{self.prefix}inbox:{agent}"

    def channel(self, name: Literal["wake", "inbox"]) -> str:
        """Return where bots listen: for ids of cards to draw, or for agents that have noted something in their inbox."""
        return f"{self.prefix}{name}"

    def replies(self, process: str) -> str:
        return f"{self.prefix}replies:{process}"

    def draft(self, interrupt_id: str, index: int, user: str) -> str:
        return f"{self.prefix}draft:{user}:{index}:{interrupt_id}"

    def waiting(self, circle: str) -> str:
        return f"{self.prefix}waiting:{circle}"

    def mine(self, what: str, user: str) -> str:
        return f"{self.prefix}{what}:{user}"


_SHARED = {name: key.name for name, key in vars(Keys).items() if isinstance(key, Shared)}


@lru_cache
def _shared(namespace: str) -> dict[str, str]:
    prefix = Keys(namespace).prefix
    return {"prefix": prefix, **{name: prefix + key for name, key in _SHARED.items()}}


class Named(dict[str, str]):
    """The keys that scripts take by name: the `prefix` and shared keys of a namespace, the `id` of a record, agent or process,
    and its keys.
    """

    def __missing__(self, name: str) -> str:
        if name == "inbox":
            return f"{self['prefix']}inbox:{self['id'].partition('.')[0]}"
        if name not in OWN:
            raise KeyError(name)
        return f"{self['prefix']}{name}:{self['id']}"
