"""What a person wrote in Slack, without Slack's marks."""

import pytest

from bot.text.written import written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@U0BOT> half of it", "half of it"),
        ("half, <@U0BOT|assent>, of it", "half, , of it"),
        ("ask <@U0ERIK> in <#C0OPS|ops>", "ask @U0ERIK in #ops"),
        (
            "to <mailto:a@b.c|a@b.c> via <https://x.example|x.example>",
            "to mailto:a@b.c via https://x.example",
        ),
        ("see <https://x.example|the price>", "see the price (https://x.example)"),
        ("<!subteam^S1|@ops> <!here> by <!date^1^{date}|Monday>", "@ops @here by Monday"),
        ("a &lt; b &amp;&amp; b &gt; c, and &amp;lt;", "a < b && b > c, and &lt;"),
    ],
)
def test_marks_of_slack_become_what_a_person_reads(text, expected):
    """So the agent gets what its author sees. A link keeps its address, because its label may say something else."""
    assert written(text, "U0BOT") == expected
