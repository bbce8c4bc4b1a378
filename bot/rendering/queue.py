"""The card of a queue: how many requests wait, of whom, until when, and the one button that leads to them. Pure."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agent_adapter.contract.arguments import encode
from bot.domain.home import Look
from bot.domain.mentions import approver_names
from bot.domain.queue import CALLED_AT_MOST, Queue
from bot.rendering.blocks import Block, actions, context, header, section, told_apart
from bot.rendering.calls import is_plain_name
from bot.rendering.home import way
from bot.sentences import on_queue
from bot.text.literal import without_marks

_MOST_AGENTS, _LONGEST_NAME = 5, 50


@dataclass(frozen=True, slots=True)
class QueuePicture:
    """What the card of a queue shows."""

    text: str
    blocks: list[Block]

    @property
    def digest(self) -> str:
        """Cards with equal digests look equal."""
        return hashlib.sha256(encode([self.text, self.blocks]).encode()).hexdigest()[:24]


def render_queue(queue: Queue) -> QueuePicture:
    """Draw the card of a queue. Nothing on it decides anything."""
    if not queue.waiting:
        over = on_queue.over(queue.over)
        return QueuePicture(
            f"{on_queue.TITLE_OVER}. {over}".strip(),
            [header("queue", on_queue.TITLE_OVER), *([section("over", over)] if over else [])],
        )
    title = on_queue.title(queue.waiting, sum(queue.calls.values()))
    look = way("queue", on_queue.look_through(queue.waiting), Look("queue"))
    calls, deadline = [*_calls(queue)], _deadline(queue)
    return QueuePicture(
        without_marks(on_queue.heard(title, calls, deadline)),
        [
            header("queue", title),
            context("line", "\n".join(filter(None, [_approvers(queue), deadline]))),
            section("calls", "\n".join([on_queue.NO_CARDS, *calls])),
            *told_apart([actions("look", [{**look, "style": "primary"}])], title),
        ],
    )


def _approvers(queue: Queue) -> str:
    called = approver_names(queue.mentioned, at_most=CALLED_AT_MOST, on_call=queue.on_call)
    return on_queue.notified(called) if queue.mentioned else ""


def _deadline(queue: Queue) -> str:
    return on_queue.first_deadline(queue.deadline, is_rejected=queue.is_rejected) if queue.deadline else ""


def _calls(queue: Queue) -> Iterator[str]:
    """Say what is asked: only tools with a short and plain name are named, and those of high risk come first."""
    by_agent: dict[str, Counter[str]] = {}
    for (agent, tool), count in queue.calls.items():
        by_agent.setdefault(agent, Counter())[_named(tool)] += count
    high = {(agent, _named(tool)) for agent, tool in queue.high}
    agents = sorted(by_agent, key=lambda agent: (-by_agent[agent].total(), agent))
    for agent in agents[:_MOST_AGENTS]:
        tools = sorted(
            by_agent[agent].items(), key=lambda found: ((agent, found[0]) not in high, -found[1], found[0])
        )
        yield on_queue.calls_of(agent, tools)
    if len(agents) > _MOST_AGENTS:
        yield on_queue.more_agents(len(agents) - _MOST_AGENTS)


def _named(tool: str) -> str:
    return tool if is_plain_name(tool) and len(tool) <= _LONGEST_NAME else ""
