"""Who may decide and where it is asked: every cell of one table, rules in their order, and every doubt is a no."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from agent_adapter.contract.interrupt import Context, Route
from agent_adapter.contract.numbers import Number
from bot.domain.admission import Admission, Place, Terms
from bot.domain.admit import admit
from bot.domain.errors import PersonUnknownError
from bot.domain.person import Person
from bot.domain.policy import Policy
from bot.domain.rules import Match, Rule
from bot.domain.schemas import compiled
from bot.domain.standing import StandingLimits
from bot.slack.directory import Directory
from bot.use_cases.who_may_decide import Judge, Verdict, may_decide
from playground.client import Control
from tests.support.builders import a_state, an_action, an_admission, an_interrupt

# --- Who may decide -----------------------------------------------------------------------------------------------

EVERYBODY = ("U0DANA", "U0ERIK", "U0GUEST", "U0STRAY", "U0CONN", "U0LEFT", "U0ROBO", "U0OTHER")
RULES = {
    "named": Terms(approvers=(*EVERYBODY, "U0NOBODY")),
    "group": Terms(approvers=("S0OPS",)),
    "channel": Terms(approvers=("channel",)),
    "own": Terms(approvers=("S0OPS",), requester_may_decide=True),
    "narrow": Terms(approvers=("S0OPS",), decisions=("approve", "reject")),
    "narrow_own": Terms(approvers=("channel",), decisions=("reject",), requester_may_decide=True),
    # How many have to agree, and how they confirm it, changes nothing about who they are.
    "two": Terms(approvers=("S0OPS",), quorum=2, risk="high"),
}
# One sign for each of approve, edit, reject and respond.
TABLE = """
              named  group  channel  own    narrow  narrow_own  two
approver      ++++   ++++   ++++     ++++   +p+p    pp+p        ++++
member        nnnn   nnnn   nnnn     nnnn   nnnn    nnnn        nnnn
ex_approver   nnnn   nnnn   nnnn     nnnn   nnnn    nnnn        nnnn
requester     ss+s   ss+s   ss+s     ++++   ss+s    pp+p        ss+s
guest         ++++   gggg   gggg     gggg   gggg    gggg        gggg
stranger      ++++   oooo   oooo     oooo   oooo    oooo        oooo
connect       ++++   oooo   oooo     oooo   oooo    oooo        oooo
deactivated   dddd   dddd   dddd     dddd   dddd    dddd        dddd
bot           ++++   bbbb   bbbb     bbbb   bbbb    bbbb        bbbb
other_team    ++++   oooo   oooo     oooo   oooo    oooo        oooo
unknown       dddd   dddd   dddd     dddd   dddd    dddd        dddd
no_answer     uuuu   uuuu   uuuu     uuuu   uuuu    uuuu        uuuu
"""
IDS = {
    "approver": "U0ERIK", "member": "U0MIRA", "ex_approver": "U0GONE", "requester": "U0DANA", "guest": "U0GUEST",
    "stranger": "U0STRAY", "connect": "U0CONN", "deactivated": "U0LEFT", "bot": "U0ROBO", "other_team": "U0OTHER",
    "unknown": "U0NOBODY", "no_answer": "U0ERIK",
}  # fmt: skip
SIGNS = {
    "+": "",
    "g": "Guests may not decide here, unless the policy names them by their id.",
    "o": "People of other workspaces may not decide here, unless the policy names them by their id.",
    "b": "Bots may not decide here, unless the policy names them by their id.",
    "d": "This account is deactivated, or not of this workspace.",
    "s": "The agent acts for you here, so somebody else has to approve it.",
}
OFFERED = {"narrow": "approve or reject", "narrow_own": "reject"}
*_FIRST, _LAST = (f"<@{id}>" for id in RULES["named"].approvers)
NAMED = f"{', '.join(_FIRST)} or {_LAST}"
APPROVERS = {
    "named": NAMED,
    "channel": "the members of the channel where it was asked first",
    "narrow_own": "the members of the channel where it was asked first",
}


def table() -> dict[str, dict[str, str]]:
    head, *lines = TABLE.strip().splitlines()
    rows = [line.split() for line in lines]
    return {person: dict(zip(head.split(), signs, strict=True)) for person, *signs in rows}


def sentence_of(sign: str, rule: str, decision: str) -> str | None:
    if sign == "n":
        return f"Only {APPROVERS.get(rule, '<!subteam^S0OPS>')} can decide this."
    if sign == "p":
        offered = OFFERED.get(rule)
        return (
            offered and f"You cannot {'answer' if decision == 'respond' else decision} here, only {offered}."
        )
    return SIGNS[sign]


@pytest.fixture
async def directory(directory: Directory, slack: Control) -> Directory:
    """Ask a Slack where everybody but the member is in the group and in the channel, and one has just left both."""
    await slack.person("U0STRAY", name="Stray", is_stranger=True)
    await slack.person("U0OTHER", name="Other", team_id="T0OTHER")
    await slack.person("U0GONE", name="Gone")
    await slack.group("S0OPS", users=[*EVERYBODY, "U0GONE"])
    await slack.channel("C0APPROVALS", members=["U0BOT", *EVERYBODY])
    assert await directory.matching("U0GONE", ["S0OPS"], "C0APPROVALS") == {"S0OPS"}
    await slack.group("S0OPS", users=list(EVERYBODY))
    directory.forget("group", "S0OPS")
    return directory


@pytest.mark.parametrize("person", IDS)
async def test_who_may_decide_what_by_which_rule(directory: Directory, slack: Control, person: str):
    """Every person, under every rule, for every decision: a yes, or the sentence that says why not."""
    if person == "no_answer":
        await slack.fault("users.info", "error", error="fatal_error", times=None)
    found = {rule: await signs_for(directory, terms, person, rule) for rule, terms in RULES.items()}

    assert found == table()[person]


async def signs_for(directory: Directory, terms: Terms, person: str, rule: str) -> str:
    """Judge one person about one action, and write each answer as its sign once its sentence is the expected one."""
    state = a_state(admission=an_admission(**dict(terms)))
    found = ""
    for decision in KNOWN_DECISIONS:
        try:
            verdict = (await Judge(directory).may_decide(state, IDS[person], [0], decision))[0]
        except PersonUnknownError:
            found += "u"
            continue
        assert verdict.allowed == (verdict.sentence == "")
        found += next(s for s in "+gobdsnp" if verdict.sentence == sentence_of(s, rule, decision))
    return found


@pytest.mark.parametrize("method", ["usergroups.users.list", "conversations.members"])
async def test_unknown_memberships_never_allow_a_decision(directory, slack, method):
    """Somebody whose group or channel cannot be looked up decides nothing."""
    await slack.fault(method, "error", error="fatal_error", times=None)
    approvers = ("S0OPS",) if method.startswith("user") else ("channel",)

    with pytest.raises(PersonUnknownError):
        await Judge(directory).may_decide(a_state(approvers=approvers), "U0ERIK", [0], "approve")


@pytest.mark.parametrize("method", ["users.info", "usergroups.users.list"])
async def test_an_old_answer_of_slack_never_allows_a_decision(directory, slack, monkeypatch, method):
    """An approver of an hour ago may have left the group since; without a fresh answer nobody decides."""
    judge, state = Judge(directory), a_state(approvers=("S0OPS",))
    assert (await judge.may_decide(state, "U0ERIK", [0], "approve"))[0].allowed
    await slack.fault(method, "error", error="fatal_error", times=None)
    assert (await judge.may_decide(state, "U0ERIK", [0], "approve"))[0].allowed, "a minute has not passed"
    monkeypatch.setattr("bot.slack.directory.FRESH_FOR", 0.0)

    with pytest.raises(PersonUnknownError):
        await judge.may_decide(state, "U0ERIK", [0], "approve")


@pytest.mark.parametrize("terms", [{"risk": "high"}, {"quorum": 2}])
async def test_for_a_high_risk_or_a_quorum_slack_is_asked_again_within_seconds(
    directory, slack, monkeypatch, terms
):
    """Erik was looked up a moment ago, and his account is deactivated before he decides."""
    judge = Judge(directory)
    state, ordinary = a_state(approvers=("U0ERIK",), **terms), a_state(approvers=("U0ERIK",))
    assert (await judge.may_decide(state, "U0ERIK", [0], "approve"))[0].allowed
    monkeypatch.setattr("bot.use_cases.who_may_decide.VOTER_FRESH_FOR", 0.0)
    await slack.person("U0ERIK", deleted=True)

    assert (await judge.may_decide(ordinary, "U0ERIK", [0], "approve"))[0].allowed
    assert not (await judge.may_decide(state, "U0ERIK", [0], "approve"))[0].allowed


async def test_each_action_of_a_batch_is_judged_by_its_own_terms(directory: Directory):
    """One click on several actions gets an answer for each."""
    batch = an_interrupt(an_action(), an_action("b"))
    state = a_state(batch, approvers=["U0ERIK"], own={1: Terms(approvers=("U0MIRA",))})

    verdicts = await Judge(directory).may_decide(state, "U0MIRA", [0, 1], "approve")

    assert verdicts == {0: Verdict(False, "Only <@U0ERIK> can decide this."), 1: Verdict(True)}


# --- Which rule decides -------------------------------------------------------------------------------------------


def a_rule(name: str = "rule", channel: str = "C0RULE", **given: Any) -> Rule:
    """Make a rule; `agents`, `tools` and `schema` are what it matches."""
    match = {field: given.pop(field) for field in ("agents", "tools") if field in given}
    schema = given.pop("schema", None)
    if schema is not None:
        match |= {"schema": encode(schema), "fits": compiled(schema)}
    return Rule(given.pop("approvers", ("U0ERIK",)), channel, Match(**match), name, **given)


LARGE = {"properties": {"amount": {"type": "number", "minimum": 1000}}, "required": ["amount"]}
DEFAULT = Rule(("U0DANA",), "C0DEFAULT")
POLICY = Policy(
    DEFAULT,
    (
        a_rule("large", tools=("pay", "refund_*"), schema=LARGE),
        a_rule("pay", tools=("pay",)),
        a_rule("ops", agents=("ops-*",)),
    ),
    "v1",
)


@pytest.mark.parametrize(
    ("agent", "tool", "args", "name"),
    [
        ("billing", "pay", {"amount": 1000}, "large"),
        ("billing", "pay", {"amount": 999.99}, "pay"),
        ("billing", "pay", {"amount": 10**400}, "large"),
        ("billing", "pay", {"amount": Number("999.999999999999999999999")}, "pay"),
        ("billing", "pay", {"amount": Number("1E3")}, "large"),
        ("billing", "pay", {"amount": "1000"}, "pay"),
        ("billing", "pay", {}, "pay"),
        ("billing", "refund_order", {"amount": 5000}, "large"),
        ("billing", "refund_order", {"amount": 5}, "default"),
        ("billing", "Pay", {"amount": 5000}, "default"),
        ("ops-eu", "pay", {"amount": 1}, "pay"),
        ("ops-eu", "restart", {}, "ops"),
        ("ops", "restart", {}, "default"),
    ],
)
def test_the_first_rule_that_matches_decides(agent: str, tool: str, args: dict[str, Any], name: str):
    """By agent, tool and arguments, in their order; the default is for what is left."""
    assert POLICY.rule_for(agent, tool, args).name == name


# --- What is fixed ------------------------------------------------------------------------------------------------


REQUIRED = a_rule("strict", requester="required")


@pytest.mark.parametrize(
    ("named", "trust", "vouched", "known"),
    [
        (None, None, (), None),
        (None, "agent", (), None),
        ("U0DANA", None, (), None),
        ("U0DANA", None, ("U0ERIK",), None),
        ("U0DANA", None, ("U0DANA",), "U0DANA"),
        ("U0DANA", "agent", (), "U0DANA"),
        (None, "U0DANA", (), "U0DANA"),
        ("U0DANA", "U0DANA", (), "U0DANA"),
        ("U0ERIK", "U0DANA", ("U0ERIK",), None),
        (None, None, ("U0DANA",), None),
    ],
    ids=["nobody", "trusted, nobody", "agent's word", "other voucher", "key", "trusted", "fixed", "fixed, same", "fixed, other",
         "vouched, not named"],
)  # fmt: skip
def test_a_required_requester_is_one_that_somebody_else_vouches_for(named, trust, vouched, known):
    """The agent's own word is not enough, and silence least of all; the reason names every cure."""
    agents = {"other-*": "agent"} | ({"bill*": trust} if trust else {})
    policy = Policy(DEFAULT, (REQUIRED,), agents=agents)
    interrupt = an_interrupt(context=Context(requested_by=named))

    admission = admit(policy, interrupt, vouched=vouched)

    if known is None:
        assert admission.code == "requester"
        assert named == "U0ERIK" or "--may-name-requesters" in admission.reason
    else:
        assert admission.requester_known
        assert a_state(interrupt, admission=admission).requested_by == known


@pytest.mark.parametrize("who", ["requested_by", "thread_author"])
@pytest.mark.parametrize("decision", KNOWN_DECISIONS)
@pytest.mark.parametrize("own", [False, True])
def test_who_began_the_thread_is_judged_like_the_requester(who, decision, own):
    """Rejecting is always theirs, everything else only where the rule says so."""
    terms = Terms(approvers=("U0DANA",), requester_may_decide=own)
    given = {"requested_by": None, who: "U0DANA"}
    dana = Person("U0DANA", "T0PLAY")

    verdict = may_decide(dana, frozenset({"U0DANA"}), terms, team="T0PLAY", decision=decision, **given)

    assert verdict.allowed == (own or decision == "reject")
    assert verdict.allowed or "somebody else has to approve it" in verdict.sentence


LOOKS = Policy(
    DEFAULT,
    (
        a_rule("payments", agents=("bill*",), tools=("pay_*",)),
        a_rule("mails", tools=("send_email", "Send_SMS")),
        a_rule("reading", tools=("get_*", "Get_*", "Pay_list")),
        a_rule("later", tools=("delete",)),
    ),
)


@pytest.mark.parametrize(
    ("tool", "looks_like"),
    [
        ("Pay_invoice", "pay_* in 'payments'"),
        ("SendEmail", "send_email in 'mails'"),
        ("send_sms", "Send_SMS in 'mails'"),
        ("DELETE", "delete in 'later'"),
        ("p\u0430y_x", "pay_* in 'payments'"),
        ("pay_invoice", ""),
        ("Pay_list", ""),
        ("Get_x", ""),
        ("mail", ""),
    ],
)
def test_a_look_alike_never_falls_to_a_later_rule_without_a_word(tool, looks_like):
    """It is refused with both names, or asked with a warning that is fixed with the rest; a rule of its own settles it."""
    interrupt = an_interrupt(an_action("mail"), an_action(tool))

    refused = admit(LOOKS, interrupt)
    warned = admit(replace(LOOKS, look_alikes="warn"), interrupt)

    if looks_like:
        assert refused.code == "look_alike"
        assert f"the tool {tool!a} looks like {looks_like}" in refused.reason
    else:
        assert isinstance(refused, Admission)
    assert [warned.terms[index].resembles for index in range(2)] == ["", looks_like]


def test_a_call_that_only_a_pattern_matches_says_which():
    """A tool that no rule was written for is seen as one. Where no rule tells tools apart, there is nothing to say."""
    calls = [an_action(tool) for tool in ("pay_x", "send_email", "send", "pay")]

    matched = [admit(LOOKS, an_interrupt(call)).terms[0].matched for call in calls]

    assert matched == ["pay_*", "", "*", "*"]
    assert admit(replace(LOOKS, rules=(a_rule("all"),)), an_interrupt(calls[0])).terms[0].matched == ""


@pytest.mark.parametrize(
    ("approvers", "route", "consent", "deciding"),
    [
        (("channel",), "C0DEFAULT", False, ("channel",)),
        (("channel",), None, False, ("channel",)),
        (("channel",), "C0OTHER", False, None),
        (("channel",), "C0OTHER", True, ("channel",)),
        (("channel", "S0OPS"), "C0OTHER", False, ("S0OPS",)),
        (("channel", "S0OPS"), "C0OTHER", True, ("channel", "S0OPS")),
        (("S0OPS",), "C0OTHER", False, ("S0OPS",)),
    ],
)
@pytest.mark.parametrize("by", ["settings", "rule"])
def test_an_agent_that_chooses_the_channel_does_not_choose_who_decides(
    approvers, route, consent, deciding, by
):
    """Members of another channel than the operator's count only where the operator said so."""
    if by == "settings":
        policy = Policy.of_settings(approvers, "C0DEFAULT", agent_channel_may_decide=consent)
    else:
        rule = a_rule(channel="thread", approvers=approvers, agent_channel_may_decide=consent)
        policy = Policy(DEFAULT, (rule,))

    admission = admit(policy, an_interrupt(route=Route(channel=route)))

    if deciding is None:
        assert admission.code == "agent_channel"
        assert "the agent chose the channel C0OTHER" in admission.reason
    else:
        assert admission.terms[0].approvers == deciding


@pytest.mark.parametrize(
    ("rule", "route", "place"),
    [
        ("C0RULE", Route(channel="C0WISH", thread_ts="1.2"), ("C0RULE", None)),
        ("U0DANA", Route(channel="C0WISH"), ("U0DANA", None)),
        ("thread", Route(channel="C0WISH", thread_ts="1.2"), ("C0WISH", "1.2")),
        ("thread", Route(), ("C0DEFAULT", None)),
    ],
    ids=["the rule's channel", "a person", "where the run came from", "from nowhere"],
)
def test_a_rule_that_names_a_place_goes_before_the_agents_wish(rule, route, place):
    """The company says where it is asked; with `thread` it says that the agent may."""
    admission = admit(Policy(DEFAULT, (a_rule(channel=rule),), "v1"), an_interrupt(route=route))

    assert [(found.channel, found.thread_ts) for found in admission.places] == [place]


def test_actions_of_one_batch_meet_their_own_rules():
    """One place for each channel, in the order in which they are met, and each action with its own terms."""
    policy = Policy(
        DEFAULT,
        (
            a_rule("large", "C0FINANCE", tools=("pay",), schema=LARGE, approvers=("U0MIRA",), decisions=("approve",)),
            a_rule("pay", "C0DEFAULT", tools=("pay",), requester_may_decide=True),
        ),
        "v1",
    )  # fmt: skip
    calls = [("mail", {}), ("pay", {"amount": 5000}), ("pay", {"amount": 5})]

    admission = admit(policy, an_interrupt(*(an_action(name, args) for name, args in calls)))

    assert admission.places == (
        Place(channel="C0DEFAULT", actions=(0, 2)),
        Place(channel="C0FINANCE", actions=(1,)),
    )
    assert admission.terms[0].approvers == ("U0DANA",)
    assert admission.terms[1] == Terms(
        approvers=("U0MIRA",), decisions=("approve",), allow_always=False, rule="large"
    )
    assert admission.terms[2] == Terms(
        approvers=("U0ERIK",), requester_may_decide=True, allow_always=False, rule="pay"
    )
    assert admission.policy_version == "v1"


def test_everything_that_a_rule_says_about_deciding_is_fixed():
    """Nothing of it is asked again when somebody clicks."""
    given = {
        "approvers": ("S0OPS", "channel"),
        "requester_may_decide": True,
        "decisions": ("approve", "reject"),
        "quorum": 2,
        "reject_quorum": 3,
        "risk": "high",
        "mask": ("password",),
        "mask_random": ("api_key",),
        "modal_only": ("body",),
    }

    admission = admit(Policy(DEFAULT, (a_rule(**given),)), an_interrupt())

    assert {name: getattr(admission.terms[0], name) for name in given} == given


@pytest.mark.parametrize(
    ("limits", "expected"),
    [([None, None], None), ([None, 30], 30), ([60, 30], 30)],
    ids=["none", "one", "the earlier"],
)
def test_the_earliest_time_limit_of_a_batch_holds(limits, expected):
    """One interrupt has one deadline."""
    minutes = [limit and timedelta(minutes=limit) for limit in limits]
    rules = (a_rule(tools=("a",), time_limit=minutes[0]), a_rule(tools=("b",), time_limit=minutes[1]))

    admission = admit(Policy(DEFAULT, rules), an_interrupt(an_action("a"), an_action("b")))

    assert admission.time_limit == (expected and timedelta(minutes=expected))


SILENT = {"on_timeout": "approve", "risk": "low"}


@pytest.mark.parametrize(
    ("rules", "by_agent", "approved", "on_timeout"),
    [
        ((SILENT, SILENT), "reject", [True, True], "reject"),
        ((SILENT, SILENT), "approve", [True, True], "reject"),
        ((SILENT, {}), "reject", [True, False], "reject"),
        ((SILENT, {"on_timeout": "raise"}), "reject", [False, False], "raise"),
        ((SILENT, {}), "raise", [False, False], "raise"),
        ((SILENT, SILENT | {"risk": "normal"}), "reject", [True, False], "reject"),
        ((SILENT, SILENT | {"quorum": 2}), "reject", [True, False], "reject"),
        ((SILENT, SILENT | {"reject_quorum": 2}), "reject", [True, False], "reject"),
        (({}, {}), "reject", [False, False], None),
    ],
)
def test_silence_approves_exactly_what_its_own_rule_says_with_a_low_risk(
    rules, by_agent, approved, on_timeout
):
    """One action that raises leaves nothing to approve, and doubt is a no."""
    found = tuple(a_rule(tools=(tool,), **given) for tool, given in zip("ab", rules, strict=True))
    interrupt = an_interrupt(an_action("a"), an_action("b"), on_expiry=by_agent)

    admission = admit(Policy(DEFAULT, found), interrupt)

    state = a_state(interrupt, admission=admission)
    assert [state.is_approved_by_silence(index) for index in range(2)] == approved
    assert admission.on_timeout == on_timeout


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("by_agent", "by_rules", "approved"),
    [
        (HOUR, (HOUR, HOUR), [True, True]),
        (2 * HOUR, (HOUR, None), [True, False]),
        (HOUR - timedelta(milliseconds=1), (HOUR, HOUR), [False, False]),
        (timedelta(minutes=1), (HOUR, HOUR), [False, False]),
        (2 * HOUR, (HOUR, 2 * HOUR), [True, False]),
        (3 * HOUR, (2 * HOUR, HOUR), [False, True]),
    ],
    ids=["as the rule", "longer", "a moment shorter", "much shorter", "other rule shorter", "this rule longer"],
)  # fmt: skip
def test_silence_never_approves_earlier_than_the_rule_says(by_agent, by_rules, approved):
    """A shorter time, of the agent or of another action of the batch, ends in a rejection."""
    rules = tuple(
        a_rule(tools=(tool,), time_limit=limit, **(SILENT if limit else {}))
        for tool, limit in zip("ab", by_rules, strict=True)
    )
    wish = {"on_expiry": "approve"} if all(by_rules) else {}
    interrupt = an_interrupt(an_action("a"), an_action("b"), expires_in=by_agent, **wish)

    admission = admit(Policy(DEFAULT, rules), interrupt)

    state = a_state(interrupt, admission=admission)
    assert [state.is_approved_by_silence(index) for index in range(2)] == approved
    assert admission.on_timeout == "reject"


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({"risk": "low"}, "tool"),
        ({"risk": "normal"}, "arguments"),
        ({"risk": "high"}, None),
        ({"risk": "low", "quorum": 2}, None),
        ({"risk": "low", "reject_quorum": 2}, None),
        ({"risk": "low", "schema": LARGE}, "arguments"),
        ({"risk": "low", "decisions": ("reject",)}, None),
    ],
    ids=["low", "normal", "high", "several approve", "several reject", "by arguments", "no approval"],
)
def test_how_wide_later_calls_may_be_approved(given, offered):
    """The same tool only where the risk is low and no rule looks at its arguments; of high risk nothing."""
    rule = a_rule(standing=StandingLimits(same="tool", scope="agent"), **given)
    interrupt = an_interrupt(an_action("pay", {"amount": 5000}))
    action = a_state(interrupt, admission=admit(Policy(DEFAULT, (rule,)), interrupt)).actions[0]

    assert (action.standing and action.standing.same) == offered


@pytest.mark.parametrize(
    ("rules", "tool", "may_hold"),
    [
        ((), "pay", True),
        ((a_rule(tools=("pay",)),), "pay", True),
        ((a_rule(tools=("pay",), schema=LARGE),), "pay", False),
        ((a_rule(tools=("refund",), schema=LARGE),), "pay", True),
        ((a_rule(agents=("ops",), schema=LARGE),), "pay", True),
        ((a_rule(tools=("pay",)), a_rule(tools=("p*",), schema=LARGE)), "pay", True),
        ((a_rule(risk="high"),), "pay", False),
        ((a_rule(quorum=2),), "pay", False),
        ((a_rule(reject_quorum=2),), "pay", False),
    ],
)
def test_a_decision_holds_for_later_calls_only_where_one_click_decides_any_arguments(rules, tool, may_hold):
    """Otherwise approving a small payment for the run would approve a large one, too, or one person would for several."""
    admission = admit(Policy(DEFAULT, rules), an_interrupt(an_action(tool, allow_always=True)))
    state = a_state(an_interrupt(an_action(tool, allow_always=True)), admission=admission)

    assert state.actions[0].config.allow_always is may_hold


@pytest.mark.parametrize(
    ("allowed", "offered"),
    [
        (("approve", "edit", "reject", "respond"), ("approve", "reject")),
        (("approve", "respond"), ("approve",)),
        (("reject",), ("reject",)),
    ],
)
def test_a_rule_narrows_what_the_agent_allows(allowed, offered):
    """It never adds a decision that the agent does not take."""
    interrupt = an_interrupt(an_action(allowed=allowed))
    admission = admit(Policy(DEFAULT, (a_rule(decisions=("approve", "reject")),)), interrupt)

    assert a_state(interrupt, admission=admission).actions[0].config.allowed_decisions == offered


NO_CHANNEL = "a thread needs its channel: pass channel=… beside thread_ts"
"""Whoever began that thread could not be kept from approving, wherever it is asked."""
ONLY_REJECT = Policy(DEFAULT, (a_rule("no edits", decisions=("reject",)),))


@pytest.mark.parametrize(
    ("policy", "interrupt", "code", "sentence"),
    [
        (Policy.of_settings(["U0ERIK"]), an_interrupt(), "no_channel", "the agent named no channel"),
        (Policy(Rule(("U0ERIK",), "thread")), an_interrupt(), "no_channel", "a channel in the policy file"),
        (POLICY, an_interrupt(on_expiry="approve"), "policy", "they do not approve all of these actions by silence"),
        (POLICY, an_interrupt(context=Context(requested_by="dana")), "requested_by", "is not a Slack user id"),
        (Policy(DEFAULT, (a_rule(),)), an_interrupt(route=Route(channel="", thread_ts="1.2")), "not_a_thread", NO_CHANNEL),
        (Policy(DEFAULT, (a_rule(channel="thread"),)), an_interrupt(route=Route(thread_ts="1.2")), "not_a_thread", NO_CHANNEL),
        (ONLY_REJECT, an_interrupt(an_action("a", allowed=("reject",)), an_action("pay", allowed=("edit", "x"))),
         "policy", "rule 'no edits' offers only reject for action 2 (pay), and the agent allows only edit, x"),
    ],
    ids=["no channel", "no thread", "approved by silence", "requester", "a thread without channel", "so by rule",
         "nothing left"],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_a_code(policy, interrupt, code, sentence):
    """The agent hears a short code and a sentence."""
    refusal = admit(policy, interrupt)

    assert (refusal.code, sentence in refusal.reason) == (code, True)


def test_an_admission_without_approvers_cannot_be_made():
    """An empty list means nobody, and never everybody."""
    with pytest.raises(ValueError, match="approvers"):
        admit(Policy.of_settings([], "C1"), an_interrupt())
