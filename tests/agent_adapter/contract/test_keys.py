"""Where things stand in Redis: one lane is one slot, and any id leads to its lane."""

import binascii

import pytest

from agent_adapter.contract.identity import interrupt_id, pause_digest, thread_id
from agent_adapter.contract.keys import SHARED, Keys, Lane


def test_every_key_of_a_record_shares_its_slot():
    """A script may touch the keys of one lane only: they carry one hash tag."""
    lane = Keys("assent", 16).lane_for("billing.abc")
    tag = lane.prefix.removeprefix("assent:").removesuffix(":")

    keys = [
        lane.req("billing.abc"), lane.card("billing.abc"), lane.pause("billing", "d"), lane.replies("billing.p"),
        lane.undrawn, lane.due, lane.unresumed, lane.inbox("billing"), lane.inboxes, lane.bots, lane.audit,
    ]  # fmt: skip
    assert tag.startswith("{")
    assert all(key.startswith(f"assent:{tag}:") and key.count("{") == 1 for key in keys)
    assert len(set(keys)) == len(keys)


def test_an_id_leads_to_the_lane_of_its_agent():
    """One agent reads one lane, whatever it asks."""
    keys = Keys("assent", 16)

    assert keys.lane_for("billing.abc") == keys.lane_for("billing.def") == keys.lane_for("billing")
    assert {keys.lane_of(f"agent-{n}") for n in range(200)} == set(range(16))


def test_lanes_are_computed_as_redis_cluster_computes_slots():
    """The hash is Redis Cluster's own: its specification gives 0x31C3 for this name."""
    assert Keys("assent", 16_384).lane_of("123456789.abc") == 0x31C3


def test_one_server_has_one_lane():
    """By default everything shares the first lane."""
    assert Keys().lane_for("anybody.abc").undrawn == "assent:{00}:undrawn"
    assert Keys().all_lanes() == [Keys().lane(0)]


def test_lanes_spread_evenly_over_the_slots_of_a_cluster():
    """Lane i has a slot in the i-th of equal parts. The tags never change, because keys in Redis have them."""
    tags = ["03", "21", "0b", "2d", "02", "20", "0c", "2a", "01", "23", "0d", "2b", "00", "22", "0a", "2c"]

    assert [lane.prefix for lane in Keys("a", 16).all_lanes()] == [f"a:{{{tag}}}:" for tag in tags]
    assert [binascii.crc_hqx(tag.encode(), 0) % 16_384 // 1_024 for tag in tags] == list(range(16))


@pytest.mark.parametrize("kind", ["req", "run", "pause", "thread", "replies"])
def test_what_an_agent_writes_begins_with_its_name(kind: str):
    """So one pattern of a Redis user fits all keys of an agent."""
    lane = Keys().lane_for("billing")
    written = {
        "req": lane.req(interrupt_id("billing", "r", ["p"])),
        "run": lane.run(interrupt_id("billing", "r", ["p"])),
        "pause": lane.pause("billing", pause_digest("billing", "r", "p")),
        "thread": lane.thread(thread_id("billing", "r", "")),
        "replies": lane.replies("billing.p"),
    }

    assert written[kind].startswith(f"assent:{{00}}:{kind}:billing.")


def test_namespaces_never_meet():
    """Two deployments in one Redis see nothing of each other."""
    ours, theirs = Keys("one", 2), Keys("two", 2)

    assert ours.meta != theirs.meta
    assert ours.pace("post", "C1") != theirs.pace("post", "C1")
    assert not {lane.undrawn for lane in ours.all_lanes()} & {lane.undrawn for lane in theirs.all_lanes()}


def test_every_key_that_records_share_has_a_type():
    """Whoever looks for overwritten keys misses none."""
    lane = Keys().lane(0)
    names = {name for name, value in vars(Lane).items() if isinstance(value, property)}

    assert {getattr(lane, name) for name in names} == {lane.prefix + name for name in SHARED}
    assert set(Keys("mine", 2).shared) > {"mine:meta", "mine:keys", "mine:{02}:audit", "mine:{00}:audit"}
