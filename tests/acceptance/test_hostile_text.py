"""Nothing that an agent writes becomes active in Slack, and nothing of it stays unseen."""

import asyncio

import pytest

from agent_adapter import Context, HITLRequest, Link
from tests.support.builders import an_action
from tests.support.people import Someone, words

HOSTILE = [
    "<!channel> <!here> <!everyone>",
    "<@U0DANA> <#C0APPROVALS> <!subteam^S0OPS>",
    "<https://evil.example|Approve here> <!date^1392734382^{date}|soon>",
    "```\n*break out* <https://evil.example>\n```",
    "right\u202eleft zero\u200bwidth soft\u00adhyphen tag\U000e0041",
    "https://evil.example @channel #general &lt;!channel&gt; &amp;",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_agent_text_is_only_ever_literal(start_bot, slack, client, text):
    """Wherever the agent can put words, every call to Slack carries them in literal leaves only."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    action, config = an_action("pay", {text: text, "nested": {"list": [text]}}, description=text)
    # A name with what nobody sees is refused.
    odd, odd_config = an_action("".join(filter(str.isprintable, text))[:100], {"n": 1})
    request = HITLRequest(action_requests=(action, odd), review_configs=(config, odd_config))
    context = Context(title=text, links=(Link(label=text, url=text),), subagent=text, requested_by="U0NOOR")
    reviewing = asyncio.create_task(client.review(request, context=context))

    card = await dana.card("if nobody")
    for button in ("edit:0", "reject:0", "edit:1"):
        view = await dana.opened(card, button)
        await slack.close_view("U0DANA", view["id"], clear=True)
    await dana.fill(await dana.opened(card, "reject:0"), reason=text)
    await dana.fill(await dana.opened(await dana.showing("respond:1"), "respond:1"), Your_answer=text)
    await reviewing
    await dana.card("resumed")

    sent = [call["args"] for call in await slack.calls() if call["method"].startswith(("chat.", "views."))]
    assert len(sent) >= 5
    for arguments in sent:
        assert not list(active(arguments, text)), arguments
        assert "\u202e" not in words(arguments.get("blocks") or arguments.get("view", {}).get("blocks"))


def active(node, text, kind=""):
    """Find every place of a payload where Slack would interpret this text."""
    if isinstance(node, str):
        if text in node and kind in {"mrkdwn", "markdown", "button", "header", "fallback"}:
            yield node
    elif isinstance(node, list):
        for child in node:
            yield from active(child, text, kind)
    elif isinstance(node, dict):
        own = node.get("type", kind)
        assert own not in {"link", "user", "usergroup", "broadcast", "emoji", "channel", "date"}
        for name, child in node.items():
            fallback = name == "text" and isinstance(child, str) and "type" not in node
            # What a person typed into an input is shown to that person in the same input.
            if name not in {"private_metadata", "initial_value", "metadata"}:
                yield from active(child, text, "fallback" if fallback else own)
