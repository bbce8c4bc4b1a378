"""The steps of an edit, with a real bot and Redis: what to change, the new values, and a last look before they run."""

import asyncio

import pytest

from agent_adapter import HITLRequest
from tests.support.builders import an_action
from tests.support.people import Someone, block_of, is_last_step, words
from tests.support.topologies import opened, scanned


@pytest.fixture
async def dana(start_bot, slack):
    await start_bot()
    return Someone(slack, "U0DANA")


@pytest.fixture
async def redis(redis_url):
    async with opened(redis_url) as connected:
        yield connected


def review(client, args, schema=None):
    request, config = an_action("pay", args, schema=schema)
    batch = HITLRequest(action_requests=(request,), review_configs=(config,))
    return asyncio.create_task(client.review(batch))


async def edited(reviewing):
    return (await reviewing).decisions[0].edited_action.args


@pytest.mark.parametrize("more", [0, 18])
async def test_one_field_is_edited_with_three_presses_and_the_last_step_shows_before_and_after(
    client, dana, more
):
    """Edit, see the changes, approve them; so it is for what matters most of 20 arguments."""
    asked = {**{f"flag {number}": True for number in range(more)}, "amount": 12500.0, "to": "ACME"}
    reviewing = review(client, asked)
    form = await dana.opened(await dana.card(), "edit:0")

    answer = await dana.submit(form, amount="9800")
    last = answer["views"][-1]
    assert "amount: 12500.0 → 9800" in words(last["blocks"])
    assert last["submit"]["text"] == "Approve with changes"
    assert not reviewing.done()

    assert (await dana.submit(last))["result"] == "clear"
    assert await edited(reviewing) == {**asked, "amount": 9800}


async def test_a_form_that_was_closed_opens_with_what_was_typed_until_its_author_starts_over(client, dana):
    """The phone rang, and the form was closed after its last look."""
    reviewing = review(client, {"amount": 5, "to": "ACME"})
    card = await dana.card()
    await dana.submit(await dana.opened(card, "edit:0"), amount="7", to="Globex")
    await dana.close()

    again = await dana.opened(card, "edit:0")
    assert "This is what you typed before." in words(again["blocks"])
    await dana.slack.click_view("U0DANA", again["id"], "form:start_over")
    fresh = await dana.slack.wait_for_view("U0DANA", lambda view: "typed before" not in words(view["blocks"]))
    await dana.fill(fresh, to="Initech")

    assert await edited(reviewing) == {"amount": 5, "to": "Initech"}


@pytest.mark.unencrypted
async def test_only_what_the_last_step_showed_is_approved(client, dana, redis):
    """A draft that changes behind it, in another window or in Redis, is shown again and does not run."""
    reviewing = review(client, {"amount": 5})
    form = await dana.opened(await dana.card(), "edit:0")
    last = (await dana.submit(form, amount="7"))["views"][-1]
    [key] = await drafts(redis)
    await redis.hset(key, "draft", (await redis.hget(key, "draft")).replace('"7"', '"700"'))

    answer = await dana.submit(last)
    assert answer["result"] == "update"
    assert not is_last_step(answer["views"][-1])
    assert "changed in another window" in words(answer["views"][-1]["blocks"])
    assert not reviewing.done()

    await dana.fill(answer["views"][-1], amount="8")
    assert await edited(reviewing) == {"amount": 8}


async def drafts(redis):
    return await scanned(redis, "*:draft:*")


async def test_a_draft_that_is_gone_approves_nothing(client, dana, redis):
    """The last step then has nothing to approve, and says so."""
    reviewing = review(client, {"amount": 5})
    form = await dana.opened(await dana.card(), "edit:0")
    last = (await dana.submit(form, amount="7"))["views"][-1]
    await redis.delete(*await drafts(redis))

    answer = await dana.submit(last)
    assert "changed in another window" in words(answer["views"][-1]["blocks"])
    assert not reviewing.done()
    reviewing.cancel()


ITEMS = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["sku", "count"],
            },
        }
    },
}


async def test_rows_are_added_filled_in_and_removed(client, dana):
    """Each press keeps what was typed before it."""
    reviewing = review(client, {"items": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]}, ITEMS)
    form = await dana.opened(await dana.card(), "edit:0")

    typed = {block_of(form, "items → 1 → count"): "5"}
    await dana.slack.click_view("U0DANA", form["id"], "form:add 0 f:/items", values=typed)
    longer = await dana.slack.wait_for_view("U0DANA", lambda view: "items → 3" in words(view["blocks"]))
    typed = {block_of(longer, "items → 3 → sku"): "c", block_of(longer, "items → 3 → count"): "3"}
    await dana.slack.click_view("U0DANA", form["id"], "form:remove 1 f:/items", values=typed)
    shorter = await dana.slack.wait_for_view("U0DANA", lambda v: "items → 3" not in words(v["blocks"]))
    answer = await dana.submit(shorter)
    assert "items" in words(answer["views"][-1]["blocks"])
    await dana.submit(answer["views"][-1])

    assert await edited(reviewing) == {"items": [{"sku": "a", "count": 5}, {"sku": "c", "count": 3}]}


async def test_more_changes_than_the_last_step_can_show_are_not_taken(client, dana):
    """Everything is shown before it runs. What does not fit is an error at the first field."""
    asked = {f"text{number}": "a" for number in range(100)}
    reviewing = review(client, asked)
    form = await dana.opened(await dana.card(), "edit:0")
    everything = [f"f:/text{number}" for number in range(3, 100)]
    assert "Choose fewer" in (await dana.submit(form, Other=everything))["errors"]["others"]
    chosen = (await dana.submit(form, Other=everything[:12]))["views"][-1]

    answer = await dana.submit(chosen, **dict.fromkeys([*asked][:15], "b" + "\n " * 1_400 + "c"))
    assert answer["result"] == "errors"
    assert "Change less" in str(answer)
    assert not reviewing.done()
    reviewing.cancel()


async def test_an_edit_that_only_the_agent_can_check_is_asked_again_with_the_reason(client, dana):
    """The schema was too large for the form, which says so. The first card says that nothing ran."""
    places = [f"place-{number:04}-{'x' * 30}" for number in range(1200)]
    schema = {"properties": {"to": {"enum": places}}}
    reviewing = review(client, {"to": places[0]}, schema)
    first = await dana.card()
    form = await dana.opened(first, "edit:0")
    assert "was too large to be sent" in words(form["blocks"])

    await dana.fill(form, to="Rome")
    second = await dana.card("asked_again")
    assert "does not fit its tool: $.to: enum" in words(second["blocks"])
    ended = await dana.card("The agent could not use this decision")
    await dana.fill(await dana.opened(second, "edit:0"), to=places[7])

    assert await edited(reviewing) == {"to": places[7]}
    assert (ended["ts"], "Did not run" in words(ended["blocks"])) == (first["ts"], True)
    assert "may have run" not in words(ended["blocks"])
