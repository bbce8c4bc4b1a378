"""The card that is pressed: one call, since a card of several has no button for each. And records in bulk."""

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote_plus

from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.identity import interrupt_id
from agent_adapter.contract.interrupt import Interrupt, Route
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.redis.acts import publish
from agent_adapter.redis.change import Stamp, Word, arguments
from agent_adapter.redis.pool import open_redis
from agent_adapter.redis.scripts import AGENT_LUA, read_script
from bot.domain.admission import Admission
from bot.domain.admit import admit
from bot.domain.approval import Approval
from bot.domain.codec import admission_fields, read_state
from bot.domain.ids import MessageId, Shown
from bot.domain.policy import Policy
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.store.records import ApprovalStore

AGENT = "bench"
ACTIONS = 3
PRESSED = 1
"""The calls of a card that is pressed."""
CHANNEL = "C0APPROVALS"
REVIEWER = "U0DANA"
APPROVERS = ("U0DANA", "U0ERIK", "U0MIRA")
TS = "4000000000.000100"
"""Of every message: later than each start of a bot, which compares the messages from before it with their records."""
PART = MessageId(0)
LIFE = 3_600_000
NAMESPACE = "assent"
KEYS = Keys(NAMESPACE)
PER_PIPELINE = 500
DRAWN_WITHIN = 300.0
Blocks: TypeAlias = list[dict[str, Any]]


def request(actions: int = ACTIONS) -> HITLRequest:
    """Give a batch of refunds, each of a tool of its own: calls of one tool would be rows without buttons."""
    calls = [
        ActionRequest(
            name=f"refund_payment_{index}",
            args={
                "payment_id": f"pay_8Kq2Lx{index:04d}",
                "amount_cents": 12_900 + index,
                "currency": "EUR",
                "reason": "The parcel came back",
            },
        )
        for index in range(actions)
    ]
    configs = [ReviewConfig(action_name=call.name, allowed_decisions=("approve", "reject")) for call in calls]
    return HITLRequest(action_requests=tuple(calls), review_configs=tuple(configs))


def interrupt(actions: int = ACTIONS, *, apart: bool = False, agent: str = AGENT) -> Interrupt:
    """Give an interrupt of a run of its own; apart from others, it is asked in a channel of its own, too."""
    run, pauses = secrets.token_hex(16), tuple(f"action-{index}" for index in range(actions))
    record = interrupt_id(agent, run, pauses)
    return Interrupt(
        id=record,
        agent=agent,
        request=request(actions),
        pauses=pauses,
        run=run,
        route=Route(channel=channel_of(record) if apart else None),
    )


def channel_of(record: str) -> str:
    """Name a record's own channel: Slack takes one post a second in each."""
    return f"C{record[-10:].upper()}"


def admission(asked: Interrupt) -> Admission:
    """Give what the bot fixes when it first sees this."""
    admitted = admit(Policy.of_settings(APPROVERS, CHANNEL), asked)
    assert isinstance(admitted, Admission)
    return lay_out(asked, admitted)


class Presses:
    """Makes the payload of a press on any record's card, from one card that was really drawn."""

    def __init__(self) -> None:
        self._model = interrupt(PRESSED, apart=True)
        blocks, text = _drawn(self._model)
        buttons = approve_buttons(blocks)
        self._values = [buttons[index]["value"] for index in range(PRESSED)]
        payloads = [_payload(self._model, buttons[index], blocks, text) for index in range(PRESSED)]
        self._texts = [json.dumps(payload, separators=(",", ":")) for payload in payloads]
        self._forms = [f"payload={quote_plus(text)}" for text in self._texts]
        self._posted: dict[tuple[str, int], str] = {}
        """What the buttons of real cards carry: each names its own question."""

    def note(self, blocks: Blocks) -> None:
        """Note a card that was posted."""
        for index, button in approve_buttons(blocks).items():
            self._posted[button["value"].partition(" ")[0], index] = button["value"]

    def text(self, record: str, index: int) -> str:
        """As Socket Mode carries it."""
        return self._pressed(self._texts[index], record, index)

    def form(self, record: str, index: int) -> bytes:
        """As HTTP carries it."""
        return self._pressed(self._forms[index], record, index, quote_plus).encode()

    def _pressed(
        self, text: str, record: str, index: int, written: Callable[[str], str] = lambda value: value
    ) -> str:
        # A floor posts no cards, and looks at no question.
        if posted := self._posted.get((record, index)):
            text = text.replace(written(self._values[index]), written(posted))
        return text.replace(self._model.id, record).replace(channel_of(self._model.id), channel_of(record))


def approve_buttons(blocks: Blocks) -> dict[int, dict[str, Any]]:
    """Give the buttons that approve one call, by its index."""
    found = [element for block in blocks for element in block.get("elements", ())]
    names = [(element, element.get("action_id", "").partition(":")) for element in found]
    return {int(index): element for element, (verb, _, index) in names if verb == "approve"}


def _drawn(asked: Interrupt) -> tuple[Blocks, str]:
    part = render_card(pending(asked))[0]
    return part.blocks, part.text


def pending(asked: Interrupt) -> Approval:
    """Give a record whose card nobody has pressed, as the bot reads it from Redis."""
    now = int(time.time() * 1000)
    req = {"body": dump_interrupt(asked), "created": str(now), "deadline": str(now + LIFE)}
    card = {"status": "pending", **admission_fields(admission(asked))}
    found = read_state(req, card, now=now)
    assert isinstance(found, Approval)
    return found


def _payload(asked: Interrupt, pressed: dict[str, Any], blocks: Blocks, text: str) -> dict[str, object]:
    who = {"id": REVIEWER, "username": "dana", "name": "dana", "team_id": "T0PLAY"}
    message = {
        "type": "message", "subtype": "bot_message", "user": "U0BOT", "bot_id": "B0PLAY", "app_id": "A0PLAY",
        "team": "T0PLAY", "ts": TS, "text": text, "blocks": blocks,
    }  # fmt: skip
    return {
        "type": "block_actions",
        "user": who,
        "api_app_id": "A0PLAY",
        "token": "a-token-of-24-characters",
        "container": {
            "type": "message",
            "message_ts": TS,
            "channel_id": channel_of(asked.id),
            "is_ephemeral": False,
        },
        "trigger_id": "1234567890123.1234567890123.0123456789abcdef0123456789abcdef",
        "team": {"id": "T0PLAY", "domain": "playground"},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": channel_of(asked.id), "name": "approvals"},
        "message": message,
        "state": {"values": {}},
        "response_url": f"https://hooks.slack.com/actions/T0PLAY/1234567890123/{'k' * 24}",
        "actions": [
            {**pressed, "block_id": "buttons", "action_ts": "1790000001.000200"},
        ],
    }


def ask_in_bulk(redis: Redis, count: int) -> list[str]:
    """Publish so many records through the real script, without a process that waits for them."""
    model = interrupt()
    body, ids = dump_interrupt(model), [f"{AGENT}.{secrets.token_hex(16)}" for _ in range(count)]
    change = _Piped(redis, AGENT_LUA, "change")
    for chunk in _chunks(ids):
        with redis.pipeline(transaction=False) as pipe:
            for record in chunk:
                run = record.partition(".")[2]
                pause = f"{run[:30]}00"
                fields: dict[str, Word] = {
                    f"w:{AGENT}.gone": 1,
                    "body": body.replace(model.id, record).replace(model.run, run),
                    "pauses": pause,
                    "created": Stamp(),
                    "deadline": Stamp(LIFE),
                }
                names = KEYS.of(record)
                asked = publish(names, {KEYS.pause(AGENT, pause): None}, fields, {})
                words, keys, given = arguments(asked)
                change(pipe, names, words, keys, **given)
            pipe.execute()
    return ids


async def show_in_bulk(url: str, ids: Sequence[str]) -> None:
    """Admit these records and note a card for each, as the bot does after it has posted; nothing is owed then."""
    async with open_redis(url) as redis:
        store = ApprovalStore(redis, KEYS)
        for chunk in _chunks(ids):
            await asyncio.gather(*(_show(store, record) for record in chunk))
        # A bot would have taken it before it admitted them.
        await redis.delete(KEYS.inbox(AGENT))


async def _show(store: ApprovalStore, record: str) -> None:
    state = await store.load(record)
    assert state
    await store.admit(state, admission(state.interrupt))
    admitted = await store.admitted(record)
    assert admitted
    lease = await store.lease_part(admitted, PART, owner="bench", lease=30_000)
    await store.save_part(record, PART, held=lease.held, shown=Shown(CHANNEL, TS, "0" * 24))


async def all_drawn(url: str) -> None:
    """Return once the bot owes no card."""
    async with asyncio.timeout(DRAWN_WITHIN), open_redis(url) as redis:
        while await is_drawing(redis):
            await asyncio.sleep(0.1)


async def is_drawing(redis: AsyncRedis) -> bool:
    """Whether the bot owes a card, or has not seen yet that it does."""
    return bool(await redis.exists(KEYS.inbox(AGENT)) or await redis.zcard(KEYS.undrawn))


async def all_looked_at(url: str) -> None:
    """Return once the bot has nothing to draw but what waits for its turn."""
    async with asyncio.timeout(DRAWN_WITHIN), open_redis(url) as redis:
        while await redis.exists(KEYS.inbox(AGENT)) or await redis.zcount(
            KEYS.undrawn, "-inf", time.time() * 1000
        ):
            await asyncio.sleep(0.1)


class _Piped:
    """A script of the product, in a pipeline."""

    def __init__(self, redis: Redis, package: str, verb: str) -> None:
        self._script = read_script(package, verb)
        self._run = redis.register_script(self._script.text)

    def __call__(self, pipe, names, more=(), more_keys=(), **given) -> None:
        keys, args = self._script.call(names, given, more, more_keys)
        self._run(keys=keys, args=args, client=pipe)


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + PER_PIPELINE] for start in range(0, len(ids), PER_PIPELINE))
