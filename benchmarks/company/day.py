"""The shape of a day, and what each agent asks in it. Pure: the same seed gives the same day."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

Event = Literal[
    "outage", "kill_bot", "kill_agent", "hand_over", "kill_primary", "upgrade_bots", "upgrade_agents"
]

TEAMS = {
    "deploys": "deploy_service",
    "billing": "refund_payment",
    "support": "close_account",
    "data": "run_backfill",
    "security": "rotate_key",
}
"""What each team's agents do."""
URGENT = "page_oncall"
"""What nobody may decide after half a minute."""
URGENT_SHARE = 0.12
CALLS = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
"""How many calls a question has; each is as likely as another."""
IN_BURST = 8.0
"""How many times as much the agents of `deploys` ask in a burst."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the day."""

    name: str
    parts: int
    """How long it is, compared with the others."""
    rate: float
    """How much is asked, compared with a usual hour."""
    burst: bool = False
    events: tuple[Event, ...] = ()
    """What goes wrong, one after the other from its start."""


PHASES = (
    Phase("night", 1, 0.1),
    Phase("morning", 2, 1.0, events=("hand_over",)),
    Phase("deploys", 1, 1.0, burst=True, events=("kill_bot",)),
    Phase("noon", 1, 0.7, events=("kill_primary",)),
    Phase("afternoon", 2, 1.0, events=("kill_agent",)),
    Phase("Slack is down", 2, 1.0, events=("outage",)),
    Phase("after it", 1, 0.5),
    Phase("deploys again", 1, 1.0, burst=True, events=("kill_bot",)),
    Phase("evening", 1, 0.3),
)


@dataclass(frozen=True, slots=True)
class Span:
    """A phase, in minutes of the run."""

    phase: Phase
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent asks at a minute of the run."""

    number: int
    minute: float
    calls: tuple[dict[str, Any], ...]
    urgent: bool


@dataclass(frozen=True, slots=True)
class Day:
    """So many agents, in so many minutes."""

    minutes: float
    agents: int
    channels: int
    per_minute: float = 1.5
    """Questions of one agent, at a rate of 1."""
    seed: int = 1
    phases: tuple[Phase, ...] = field(default=PHASES, repr=False)

    def spans(self) -> list[Span]:
        """Give the phases with their minutes."""
        parts = [phase.parts for phase in self.phases]
        ends = [self.minutes * so_far / sum(parts) for so_far in accumulate(parts)]
        return [
            Span(phase, begins, until)
            for phase, begins, until in zip(self.phases, [0.0, *ends], ends, strict=False)
        ]

    def legs(self, longest: float) -> list[tuple[float, float]]:
        """Divide the day at ends of phases, so that each leg but the last has at least `longest` minutes."""
        found, begins = [], 0.0
        for span in self.spans():
            if span.ends - begins >= longest or span.ends == self.minutes:
                found.append((begins, span.ends))
                begins = span.ends
        return found

    def agent_names(self) -> list[str]:
        teams = list(TEAMS)
        return [f"{teams[number % len(teams)]}-{number // len(teams)}" for number in range(self.agents)]

    def channel_of(self, agent: str) -> str:
        return channel_names(self.channels)[self.agent_names().index(agent) % self.channels]

    def questions(self, agent: str) -> list[Question]:
        """Give everything that an agent asks, in order."""
        dice = random.Random(f"{self.seed}-{agent}")
        minutes = [minute for span in self.spans() for minute in self._minutes(span, agent, dice)]
        return [_question(number, minute, agent, dice) for number, minute in enumerate(minutes)]

    def _minutes(self, span: Span, agent: str, dice: random.Random) -> Iterator[float]:
        louder = IN_BURST if span.phase.burst and agent.startswith("deploys") else 1.0
        rate, minute = self.per_minute * span.phase.rate * louder, span.begins
        while (minute := minute + dice.expovariate(rate)) < span.ends:
            yield minute


def channel_names(count: int) -> list[str]:
    return [f"C0COMPANY{number:02}" for number in range(count)]


def _question(number: int, minute: float, agent: str, dice: random.Random) -> Question:
    urgent = dice.random() < URGENT_SHARE
    tool, count = TEAMS[agent.partition("-")[0]], 1 if urgent else dice.choice(CALLS)
    calls = tuple(
        {
            # Calls of one tool would be rows of a table.
            "name": URGENT if urgent else tool + (f"_{index + 1}" if index else ""),
            "args": {"order": f"ord_{dice.getrandbits(40):010x}", "amount": dice.randrange(1, 10_000)},
        }
        for index in range(count)
    )
    return Question(number, minute, calls, urgent)
