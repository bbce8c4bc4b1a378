"""Where things stand in Redis: a namespace is one hash tag."""

import pytest

from agent_adapter.contract.identity import interrupt_id, pause_digest, thread_id
from agent_adapter.contract.keys import Keys


def test_every_key_of_a_namespace_shares_its_slot():
    """So one script touches one server of a Cluster, one pattern fits all keys, and two deployments in one Redis never meet."""
    keys = Keys("mine")
    found = [
        keys.req("billing.abc"), keys.card("billing.abc"), keys.pause("billing", "d"), keys.replies("billing.p"),
        keys.undrawn, keys.due, keys.inbox("billing"), keys.inboxes, keys.bots, keys.audit, keys.meta, keys.api_keys,
        keys.pace("post", "C1"),
    ]  # fmt: skip

    assert all(key.startswith("{mine}:") and key.count("{") == 1 for key in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("kind", ["req", "run", "pause", "thread", "replies"])
def test_what_an_agent_writes_begins_with_its_name(kind):
    """So one pattern of a Redis user fits all keys of an agent."""
    keys = Keys()
    written = {
        "req": keys.req(interrupt_id("billing", "r", ["p"])),
        "run": keys.run(interrupt_id("billing", "r", ["p"])),
        "pause": keys.pause("billing", pause_digest("billing", "r", "p")),
        "thread": keys.of(thread_id("billing", "r", ""))["thread"],
        "replies": keys.replies("billing.p"),
    }

    assert written[kind].startswith(f"{{assent}}:{kind}:billing.")
