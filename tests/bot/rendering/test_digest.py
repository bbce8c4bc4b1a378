"""The weekly digest as people read it."""

from textwrap import indent

from bot.policy.file import read_policy
from bot.rendering.buttons import STANDING
from bot.rendering.digest import digest_blocks, digest_text
from bot.rendering.limits import check_message
from tests.bot.domain.test_digest import RULES, approvals, digest, entry, policy
from tests.support.people import words


def said(found):
    blocks = digest_blocks(found)
    check_message(digest_text(found), blocks)
    return words(blocks)


def test_a_week_in_words():
    """How many, how fast, which shares, and what expired."""
    found = digest(
        policy(),
        *[entry("admitted")] * 12,
        *(entry("decided", how="click", decision="approve", waited=60_000 * n) for n in range(1, 9)),
        entry("decided", how="form", decision="edit", waited=3_900_000),
        entry("decided", how="form", decision="reject", waited=86_400_000),
        entry("decided", how="standing", decision="approve"),
        *(entry("decided", how="silence", decision="reject", tool=tool) for tool in ("pay", "pay", "a b")),
        entry("expired"),
    )

    assert digest_text(found) == (
        "Approvals from 16 November 2026 to 23 November 2026: 12 requests, 10 calls decided by people."
    )
    assert said(found).split("\n") == [
        "Approvals from 16 November 2026 to 23 November 2026",
        "Agents made *12 requests*. People decided *10 calls*.",
        "Approved 8 (80 %), edited 1 (10 %), rejected 1 (10 %).",
        "Half of them were decided within 5 minutes, nine of ten within 1 hour 5 minutes.",
        "Also approved: 1 call by standing approvals.",
        "*Expired:* 1 request (calls: `pay` 2, a tool with an unusual name 1).",
    ]


def test_a_week_in_which_nobody_decided_says_only_what_expired():
    found = digest(policy(), entry("admitted"), entry("expired"))

    assert said(found).split("\n")[1:] == [
        "Agents made *1 request*. People decided *0 calls*.",
        "*Expired:* 1 request.",
    ]


def test_a_proposal_is_a_question_with_a_line_to_paste():
    """The line stands in a box of its own, and the message says that nothing of it is in force."""
    rules = policy()
    found = digest(rules, *approvals(rules))

    text = said(found)

    assert (
        "`restart_service`: approved 23 times of 23 unchanged, 20 of them with arguments that had been approved before. "
        "Make it a standing approval?"
    ) in text
    assert (
        "# rule 'staging', line 6 of the policy file\nstanding: {same: arguments, scope: agent, lasts: 8h, uses: 10}"
    ) in text
    assert "Nothing here is in force" in text
    assert f"*{STANDING.label}*" in text


def test_what_is_pasted_is_what_the_policy_file_takes():
    """The lines are added to the rule, and then nothing more is proposed for it."""
    rules = policy()
    found = digest(rules, *approvals(rules))
    (box,) = [block for block in digest_blocks(found) if block["type"] == "rich_text"]

    pasted = read_policy(RULES + indent(words([box]), "    "), "policy.yaml").policy

    (proposal,) = found.proposals()
    assert pasted.rules[0].standing == proposal.standing
    assert digest(pasted, *approvals(pasted)).proposals() == []


def test_names_of_rules_and_tools_are_never_markup():
    """A rule's name is literal text, and a tool with an unusual name is not written at all."""
    text = RULES.replace("name: staging", 'name: "<!channel> *bold*"').replace(
        "restart_service", '"<!here> tool"'
    )
    rules = read_policy(text, "policy.yaml").policy
    found = digest(rules, *approvals(rules, rule="<!channel> *bold*", tool="<!here> tool"))

    blocks = digest_blocks(found)

    assert "<!here>" not in words(blocks)
    marked = [block for block in blocks if "<!channel>" in words([block])]
    assert [block["type"] for block in marked] == ["rich_text"]


def test_many_proposals_fit_one_message():
    """The busiest are shown, and the others are said to be there."""
    rules = "".join(f"  - name: rule of {n}\n    match: {{tool: tool_{n}}}\n" for n in range(200))
    found = read_policy(RULES + rules, "policy.yaml").policy
    history = [
        each
        for n in range(200)
        for each in approvals(found, count=20 + n, rule=f"rule of {n}", tool=f"tool_{n}")
    ]

    text = said(digest(found, *history))

    assert "`tool_199`" in text
    assert "and more rules like these" in text


def test_a_rule_with_very_many_tools_names_some():
    tools = [f"tool_{n}" for n in range(500)]
    text = RULES.replace("tool: restart_service", f"tool: [{', '.join(tools)}]")
    rules = read_policy(text, "policy.yaml").policy
    history = [each for name in tools for each in approvals(rules, count=2, different=1, tool=name)]

    assert "and 495 more" in said(digest(rules, *history))
