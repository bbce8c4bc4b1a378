"""The names of all keys in Redis, in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

OWN = frozenset({"req", "card", "run", "thread", "replies", "held", "rate"})
"""The keys of one record, thread, process or agent; its id is the end of the key."""


class Shared:
    """A key that all records share, with its type as Redis names it. A string contains a number."""

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind = kind
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, keys: "Keys", owner: type) -> str:
        return keys.prefix + self.name


@dataclass(frozen=True, slots=True)
class Keys:
    """The data model. All keys of a namespace share one hash tag, which is its name: it lives on one server, also of a Cluster.

    What an agent writes has its name at the beginning of the last part. `{ns}` stands for the namespace in braces.

    ======================================  ======  =====================================================
    `{ns}:meta`                             HASH    `schema`; `seal`: with which key the bots seal
    `{ns}:keys`, `{ns}:keys:used`           HASH    keys of the HTTP API: id -> agent, hash of the secret; last use
    `{ns}:pace:<method>[:<channel>]`        STRING  lives for as long as the calls that were made take, one after the
                                                    other; `…:urgent` makes other calls wait
    `{ns}:req:<id>`                         HASH    the agent's side of a record:
                                                    `body` `pauses` `created` `deadline`, `signature` of
                                                    its agent, `traceparent` `tracestate` in which trace it was
                                                    asked,
                                                    `w:<process>` who waits, `f:<process>` who of them follows
                                                    each decision, `withdraw` the reason,
                                                    `fence` `claim_by` `claim_until` (0 when it was given back),
                                                    `claim_for` its lease, `resumed` `resumed_by`,
                                                    `unused` if the answer could not be used, and nothing ran,
                                                    `stalled` why its run could not be resumed, or with which error
                                                    it ended, `stalled_by` under whose claim,
                                                    `outcome:<i>` when and how a call ended, as its agent says,
                                                    `needs` `head_start` of a run that workers may go on with
    `{ns}:card:<id>`                        HASH    the bot's side of a record:
                                                    `status` `reason` `code` `deadline` `settled`,
                                                    `version` which changes with each act of people and of time,
                                                    `notice` why nothing happens,
                                                    `lapsed` the fence of a claim that nobody finished,
                                                    `untaken` since when the card says that nobody goes on,
                                                    `asked` digest of the body that was admitted,
                                                    `seal` `seal:<field>` what bots with a seal key check,
                                                    admission: `policy` `on_timeout` `place:<n>` `step:<n>` `extend`
                                                    `pages` how many pages of each action have to be read,
                                                    `unsigned` no key signed when it was asked,
                                                    `requested_by` for whom, `requester_known` whether
                                                    that is vouched for, `agent_verified`,
                                                    `thread_author` who began its thread,
                                                    `told` where the requester reads the outcome, and its terms
                                                    `approvers` `named_only` `on_call` `requester` `decisions`
                                                    `once` `quorum` `reject_quorum` `risk` `confirm` `silence`
                                                    `untold` `use_within` `type` `title` `mask` `mask_random`
                                                    `mask_key` `modal_only` `headline` `reject_reasons` `resembles`
                                                    `matched` `rule` its name, `sticky` the widest standing approval,
                                                    `again` which call it is proposed instead of, or
                                                    `<term>:<i>` of an action that has its own,
                                                    `vote:<i>:<user>` a vote: when, position, token, decision,
                                                    `proposal:<i>` an edit that another rule is about: its name, how
                                                    many people, version of the rules, when, the proposal,
                                                    `d:<i>` decision, `t:<i>` tokens of the clicks that made it,
                                                    `by:<i>` who agreed where it took several, `at:<i>` when,
                                                    `signed:<token>` statements about what a click decided, one a
                                                    line, where the bot has a signing key,
                                                    `seen:<i>:<user>` pages read,
                                                    `reached:<n>` steps, `remark:<n>` what is said of them,
                                                    `extended` how often, `claim:<place>` who is looking,
                                                    `waiting` for whom: circles of people, groups, channels,
                                                    what was approved for later calls: `sticky_grant:<i>` how wide,
                                                    `sticky_until:<i>` `sticky_ended:<i>`,
                                                    `sticky_uses:<i>` one line for each use, `sticky_given` whether,
                                                    `part:<place>:<n>` what Slack shows, `up:<place>:<n>`
                                                    since when that message is there, `lease:<place>:<n>`,
                                                    `press:<digest>` for which actions a press is recorded,
                                                    `missed` when somebody tried to decide and could not,
                                                    `taken` when its agent first took the answer, `noted:<event>:<i>`
                                                    what its agent has noted,
                                                    `gone` channel and ts of messages that were deleted
    `{ns}:run:<id>`                         HASH    what a worker goes on with: `continuation`, notes of what was
                                                    done (`began`, `arrived`, `call:<i>`, `output:<i>`, `outcome`),
                                                    `set_aside` why no worker goes on by itself, `again` how often
                                                    somebody let it run again,
                                                    `failures` `failed_by` `reason`
    `{ns}:pause:<agent>.<digest>`           STRING  id of the record that asks about this pause
    `{ns}:thread:<agent>.<digest>`          STRING  owner of the right to run one thread of an agent, while its graph
                                                    runs; ends with the owner's lease. `free:<owner>` for an hour after it
    `{ns}:thread:<agent>.<digest>:note`     STRING  which calls of the thread have run unsaved; seven days
    `{ns}:draft:<user>:<i>:<id>`            HASH    what a person has filled into the form of an edit, for a day
    `{ns}:vouched:<id>`                     SET     for whom a key of the HTTP API says that the agent acts, of the
                                                    first record about these pauses; eight days
    `{ns}:changes:<digest>`                 STRING  the last call of this tool in this run to which somebody asked for
                                                    changes, `<id>:<index>`; seven days
    `{ns}:undrawn`, `due`                   ZSET    owed work: id -> not before, server milliseconds
    `{ns}:failing`                          HASH    work that could not be done: `undrawn:<id>`, `due:<id>` -> how often,
                                                    since when, why
    `{ns}:unresumed`                        ZSET    the same: decided runs that a worker has to resume
    `{ns}:sticky`                           ZSET    approvals that hold for later calls, `<id>:<index>` -> until when
    `{ns}:inbox:<agent>`                    STREAM  what an agent did with its records, for the bots: `event`, `id`. They
                                                    delete what they have read; an empty one is no key
    `{ns}:inboxes`                          ZSET    agents that said something in the last week -> when a bot took it
    `{ns}:replies:<agent>.<process>`        STREAM  ids, capped: wakes one process; its existence says it lives. With
                                                    the id of a record that was decided may come its answer; what
                                                    was read is deleted
    `{ns}:held:<agent>`                     HASH    open interrupts of an agent, and their bytes;
                                                    those that have ended since go when room is needed
    `{ns}:rate:<agent>`                     STRING  until when such an agent has used up what it may ask in a minute
    `{ns}:waiting:<circle>`                 ZSET    what waits for a circle: people, groups and channels that may
                                                    decide it together, joined by commas. id -> deadline. Ended ones
                                                    go when somebody meets them
    `{ns}:circles:<entry>`                  SET     circles of several that a person, a group or a channel is in
    `{ns}:asked:<user>`                     ZSET    the newest 1,000 that a person asked for: id -> when; 30 days
    `{ns}:decided:<user>`                   ZSET    the same of what they decided
    `{ns}:bots`                             ZSET    bot process -> last heartbeat
    `{ns}:epoch`                            STRING  how often any bot has said that it lives: less than before is an
                                                    older state
    `{ns}:server`                           HASH    `id` which run of which server answers, `since` when a bot met it
    `{ns}:clock`                            STRING  when a bot last noticed that the server's clock was set
    `{ns}:confirmed`                        STRING  what a bot writes before it asks whether its writes are confirmed, for
                                                    a minute
    `{ns}:watched`                          HASH    `since` when a bot has been there without a gap, and when Slack
                                                    last carried out a call of one (`heard`)
    `{ns}:audit`                            STREAM  one entry per transition: the last 7 days where there is a log,
                                                    otherwise as long as the bots are told to keep them
    `{ns}:audit_seq`                        STRING  how many entries there ever were: the `seq` of the newest
    `{ns}:audit_move`                       HASH    who writes them into its log and takes old ones out,
                                                    `owner` and `till` when, `moved` the last one in a log,
                                                    and `folder_till` when a bot that has a log counts
    ======================================  ======  =====================================================

    Nothing pending expires, nothing in `unresumed`, and nothing that has ended while its card does not say so. From then
    on a record's keys live 30 days, 7 days from when its run was resumed.
    """

    namespace: str = "assent"

    meta = Shared("hash")
    api_keys = Shared("hash", "keys")
    api_keys_used = Shared("hash", "keys:used")
    undrawn = Shared("zset")
    due = Shared("zset")
    failing = Shared("hash")
    unresumed = Shared("zset")
    standing = Shared("zset", "sticky")
    inboxes = Shared("zset")
    bots = Shared("zset")
    epoch = Shared("string")
    clock = Shared("string")
    confirmed = Shared("string")
    watched = Shared("hash")
    server = Shared("hash")
    audit = Shared("stream")
    audit_seq = Shared("string")
    audit_move = Shared("hash")

    @property
    def prefix(self) -> str:
        return f"{{{self.namespace}}}:"

    def shared(self) -> dict[str, str]:
        """Return the keys that all records share, with their types."""
        return {self.prefix + name: kind for name, kind in SHARED.items()}

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

    def changes(self, digest: str) -> str:
        return f"{self.prefix}changes:{digest}"

    def waiting(self, circle: str) -> str:
        return f"{self.prefix}waiting:{circle}"

    def mine(self, what: str, user: str) -> str:
        return f"{self.prefix}{what}:{user}"


_SHARED = {name: key for name, key in vars(Keys).items() if isinstance(key, Shared)}
SHARED: Mapping[str, str] = {key.name: key.kind for key in _SHARED.values()}
"""The keys that all records share, with their types."""


@lru_cache
def _shared(namespace: str) -> dict[str, str]:
    prefix = Keys(namespace).prefix
    return {"prefix": prefix, **{name: prefix + key.name for name, key in _SHARED.items()}}


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
