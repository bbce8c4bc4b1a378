"""deepagents: the calls of subagents and of the built-in file tools wait for a person, who sees which subagent asks."""

import asyncio

import pytest
from deepagents import FilesystemPermission, create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.langgraph import run
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit
from tests.agent_adapter.integrations.office import CONFIG, GO, answers_to_model
from tests.support.deciding import deciding
from tests.support.people import Someone, buttons, words
from tests.support.scripted_model import ScriptedModel, says

DONE = says(text="done")
ASKED = {"send_email": True}


class Team:
    """Agents that send e-mail, and what was sent."""

    def __init__(self):
        self.sent = []

    def send_email(self, to: str) -> str:
        """Send an email."""
        self.sent.append(to)
        return f"sent to {to}"

    def lead(self, *turns, subagents=(), interrupt_on=ASKED, **options):
        """Make the agent that people talk to."""
        return create_deep_agent(
            ScriptedModel(turns=[*turns, DONE]),
            [self.send_email],
            subagents=list(subagents),
            interrupt_on=interrupt_on,
            checkpointer=InMemorySaver(),
            **options,
        )

    def member(self, name, *calls, **options):
        """Make a subagent that makes these calls in one turn."""
        return {
            "name": name,
            "description": f"Does what a {name} does.",
            "system_prompt": "Do it.",
            "model": ScriptedModel(turns=[says(*calls), says(text=f"{name} is done")]),
            "tools": [self.send_email],
            **options,
        }


def task(name):
    """Call a subagent."""
    return "task", {"description": "Do your part.", "subagent_type": name}


def mail(to):
    """Call the tool."""
    return "send_email", {"to": to}


@pytest.fixture
def team():
    return Team()


async def test_call_of_a_subagent_is_edited_by_a_person_who_sees_which_subagent_asks(
    start_bot, slack, client, team
):
    """A subagent inherits `interrupt_on`; its pause reaches the person like one of the lead's own."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    lead = team.lead(says(task("mailer")), subagents=[team.member("mailer", mail("al"))])
    running = asyncio.create_task(run(lead, GO, approvals=client, config=CONFIG))

    card = await dana.card("send_email")
    assert 'subagent: "mailer"' in words(card["blocks"])
    assert buttons(card)[:4] == ["approve:0", "edit:0", "reject:0", "respond:0"]
    await dana.fill(await dana.opened(card, "edit:0"), to="bo")
    result = await running

    assert team.sent == ["bo"]
    assert answers_to_model(result) == {"call_1": ("success", "mailer is done")}
    await dana.card("the agent has resumed")


async def test_two_subagents_that_pause_side_by_side_are_one_card(start_bot, slack, client, team):
    """Two pauses, each answered by its own id; the card says beside each action who asks."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    members = [team.member("mailer", mail("al")), team.member("writer", mail("wu"))]
    lead = team.lead(says(task("mailer"), task("writer")), subagents=members)
    running = asyncio.create_task(run(lead, GO, approvals=client, config=CONFIG))

    card = await dana.showing("review:0")
    said = words(card["blocks"])
    places = [said.index(part) for part in ("1 al", "subagent mailer", "2 wu", "subagent writer")]
    assert max(places[:2]) < min(places[2:])
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(await dana.showing("reject:1"), "reject:1"), reason="Not to Wu.")
    result = await running

    assert team.sent == ["al"]
    assert answers_to_model(result) == {
        "call_1": ("success", "mailer is done"),
        "call_2": ("success", "writer is done"),
    }


async def test_secret_file_is_written_only_when_a_person_agrees(start_bot, slack, client, team):
    """`FilesystemPermission(mode="interrupt")` asks for the built-in file tools too."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    asks = FilesystemPermission(operations=["write"], paths=["/secret/**"], mode="interrupt")

    def write(path, content):
        return "write_file", {"file_path": path, "content": content}

    lead = team.lead(
        says(write("/open.txt", "free"), write("/secret/a.txt", "one"), write("/secret/b.txt", "two")),
        permissions=[asks],
    )
    running = asyncio.create_task(run(lead, GO, approvals=client, config=CONFIG))

    card = await dana.showing("review:0")
    assert "/open.txt" not in words(card["blocks"])
    await dana.fill(await dana.opened(card, "edit:0"), content="ONE")
    await dana.close()
    await dana.fill(await dana.opened(await dana.showing("reject:1"), "reject:1"))
    result = await running

    written = {path: file["content"] for path, file in result["files"].items()}
    assert written == {"/open.txt": "free", "/secret/a.txt": "ONE"}


async def test_subagent_that_asks_for_nothing_runs_unasked(team):
    """An empty `interrupt_on` of a subagent replaces the inherited one, as deepagents documents it."""
    approvals = deciding()
    mailer = team.member("mailer", mail("al"), interrupt_on={})

    await run(team.lead(says(task("mailer")), subagents=[mailer]), GO, approvals=approvals, config=CONFIG)

    assert team.sent == ["al"]
    assert approvals.asked == ()


async def test_edit_that_the_subagents_tool_would_not_take_is_refused(team):
    """Before anything is resumed: nothing ran, and the thread still waits."""
    paid = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    payer = team.member("payer", ("pay", {"amount": 5}), tools=[pay], interrupt_on={"pay": True})
    lead = team.lead(says(task("payer")), subagents=[payer])

    with pytest.raises(DecisionNotAllowedError, match=r"edited pay does not fit its tool: args\.amount"):
        await run(lead, GO, approvals=deciding(edit({"amount": "much"})), config=CONFIG)

    assert paid == []
    await run(lead, None, approvals=deciding(approve()), config=CONFIG)
    assert paid == [5]


@pytest.mark.parametrize("whose", ["the lead's", "the subagent's"])
async def test_misspelt_tool_is_refused_before_anything_runs(team, whose):
    """The call that was meant would go out with nobody asked, also where a subagent makes it."""
    wrong = {"send_emails": True}
    own = {"interrupt_on": wrong} if whose == "the subagent's" else {}
    mailer = team.member("mailer", mail("al"), **own)
    lead = team.lead(
        says(task("mailer")), subagents=[mailer], interrupt_on=wrong if whose == "the lead's" else ASKED
    )

    with pytest.raises(
        InvalidRequestError, match=r"interrupt_on\['send_emails'\].*did you mean 'send_email'"
    ):
        await run(lead, GO, approvals=InMemoryApprovalClient(ScriptedReviewer([])), config=CONFIG)

    assert team.sent == []
