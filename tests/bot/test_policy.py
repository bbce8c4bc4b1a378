"""Who may decide: one table of people, and every doubt is a no."""

import pytest

from agent_adapter.contract.interrupt import Interrupt, Route
from bot.people import Person
from bot.policy import Policy, Refusal, Verdict, may_decide
from bot.state import Admission, Place
from tests.support.builders import an_action, an_interrupt

TEAM = "T0PLAY"
APPROVERS = ("U0ERIK", "S0OPS", "channel")
ADMISSION = Admission(
    policy_version="1", approvers=APPROVERS, places=(Place(channel="C0APPROVALS", actions=(0,)),)
)
NOT_AN_APPROVER = (
    "You are not an approver of this. Approvers are <@U0ERIK>, <!subteam^S0OPS>, the members of this channel."
)
OWN_REQUEST = "The agent acts for you here, so somebody else has to approve it."


def someone(id: str = "U0ERIK", team_id: str = TEAM, **flags: bool) -> Person:
    return Person(id=id, team_id=team_id, **flags)


def judge(
    person: Person,
    *matching: str,
    decision: str = "approve",
    requested_by: str | None = "U0NOOR",
    team: str = TEAM,
    admission: Admission = ADMISSION,
) -> Verdict:
    return may_decide(
        person, frozenset(matching), admission, team=team, requested_by=requested_by, decision=decision
    )


@pytest.mark.parametrize(
    ("person", "matching", "sentence"),
    [
        (someone(), ["U0ERIK"], ""),
        (someone("U0DANA"), ["S0OPS"], ""),
        (someone("U0MIRA"), ["channel"], ""),
        (someone("U0OTHER"), [], NOT_AN_APPROVER),
        (someone("U0GUEST", is_guest=True), ["channel"], "Guests may not decide here, unless named by their id."),
        (someone("U0GUEST", is_guest=True), ["U0GUEST"], ""),
        (someone("U0CONN", "T0OTHER", is_stranger=True), ["channel"],
         "People of other workspaces may not decide here, unless named by their id."),
        (someone("U0CONN", "T0OTHER", is_stranger=True), ["U0CONN"], ""),
        (someone("U0DANA", is_stranger=True), ["S0OPS"],
         "People of other workspaces may not decide here, unless named by their id."),
        (someone("U0DANA", "T0OTHER"), ["S0OPS"],
         "People of other workspaces may not decide here, unless named by their id."),
        (someone("U0DANA", ""), ["S0OPS"],
         "People of other workspaces may not decide here, unless named by their id."),
        (someone("U0LEFT", is_deactivated=True), ["S0OPS"], "This account is deactivated."),
        (someone("U0LEFT", is_deactivated=True), ["U0LEFT"], "This account is deactivated."),
        (someone("U0ROBO", is_bot=True), ["channel"], "Bots may not decide here, unless named by their id."),
        (someone("U0ROBO", is_bot=True), ["U0ROBO"], ""),
    ],
    ids=[
        "named", "in a group", "in the channel", "bystander", "guest in the channel", "guest named",
        "stranger in the channel", "stranger named", "stranger in a group", "other team in a group",
        "team not told", "deactivated in a group", "deactivated named", "bot in the channel", "bot named",
    ],
)  # fmt: skip
@pytest.mark.parametrize("decision", ["approve", "edit", "reject", "respond"])
def test_who_may_decide(person: Person, matching: list[str], sentence: str, decision: str):
    """Members of the list may; others hear why not. The kind of decision makes no difference to them."""
    assert judge(person, *matching, decision=decision) == Verdict(not sentence, sentence)


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [("approve", OWN_REQUEST), ("edit", OWN_REQUEST), ("respond", OWN_REQUEST), ("reject", "")],
)
@pytest.mark.parametrize("matching", ["U0ERIK", "S0OPS", "channel"])
def test_the_requester_may_only_reject(decision: str, sentence: str, matching: str):
    """Whoever the agent acts for is not the second pair of eyes, but may always stop it."""
    verdict = judge(someone(), matching, decision=decision, requested_by="U0ERIK")

    assert verdict == Verdict(not sentence, sentence)


def test_a_deployment_may_let_requesters_decide():
    """Where the admission says so, the requester decides like anybody else on the list."""
    lax = ADMISSION.model_copy(update={"requester_may_decide": True})

    assert judge(someone(), "U0ERIK", requested_by="U0ERIK", admission=lax).allowed
    assert not judge(someone("U0NOOR"), requested_by="U0NOOR", admission=lax).allowed


def test_a_requester_who_is_no_approver_may_not_even_reject():
    """Asking for something gives no say in it."""
    verdict = judge(someone("U0NOOR"), decision="reject", requested_by="U0NOOR")

    assert verdict == Verdict(False, NOT_AN_APPROVER)


@pytest.mark.parametrize("team_id", ["", TEAM])
def test_before_the_workspace_is_known_nobody_belongs_to_it(team_id: str):
    """Until Slack has said which workspace this is, only people named by their id decide."""
    assert not judge(someone("U0DANA", team_id), "S0OPS", team="").allowed


def admit(policy: Policy, interrupt: Interrupt) -> Admission | Refusal:
    return policy.admit(interrupt, lambda _: ((0,), (1,)))


def test_an_interrupt_is_asked_where_its_route_says():
    """The agent's channel and thread go before the deployment's channel; all its actions are asked there."""
    interrupt = an_interrupt(an_action("a"), an_action("b"), route=Route(channel="C1", thread_ts="1.2"))

    admission = admit(Policy(("U0ERIK",), channel="C0DEFAULT"), interrupt)

    assert admission.places == (Place(channel="C1", thread_ts="1.2", actions=(0, 1), parts=((0,), (1,))),)


def test_without_a_route_it_is_asked_in_the_deployments_channel():
    """What judges later clicks is fixed with it: the approvers, and whether requesters may decide."""
    admission = admit(Policy(("U0ERIK", "S0OPS"), channel="C0DEFAULT"), an_interrupt())

    assert admission.places[0].channel == "C0DEFAULT"
    assert admission.approvers == ("U0ERIK", "S0OPS")
    assert not admission.requester_may_decide


@pytest.mark.parametrize(
    ("policy", "interrupt", "refusal"),
    [
        (Policy(("U0ERIK",)), an_interrupt(),
         Refusal("no_channel", "the agent named no channel and ASSENT_CHANNEL is not set")),
        (Policy(("U0ERIK",), channel="C1"), an_interrupt(on_expiry="approve"),
         Refusal("policy", "on_expiry=approve is allowed by no rule: nothing is approved by silence")),
    ],
    ids=["no channel", "approved by silence"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_a_code(policy: Policy, interrupt: Interrupt, refusal: Refusal):
    """The agent hears a short code and a sentence."""
    assert admit(policy, interrupt) == refusal


def test_an_admission_without_approvers_cannot_be_made():
    """An empty list means nobody, and never everybody."""
    with pytest.raises(ValueError, match="approvers"):
        admit(Policy((), channel="C1"), an_interrupt())
