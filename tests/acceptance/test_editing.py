"""The steps of an edit: what to change, the new values, and a last look before they run."""

import pytest

from bot.rendering.modal.field_types import EMPTY
from tests.support.builders import an_action, review
from tests.support.people import block_of, has_input, is_last_step, words
from tests.support.topologies import scanned

pytestmark = pytest.mark.usefixtures("bot")


def asked(client, args, **properties):
    schema = {"type": "object", "properties": properties} if properties else None
    return review(client, an_action("pay", args, schema=schema))


async def edited(reviewing):
    return (await reviewing).decisions[0].edited_action.args


async def test_a_field_is_edited_with_three_presses_and_the_last_step_shows_before_and_after(client, dana):
    """A value that the schema refuses is an error beside its field, and the card shows the change that ran."""
    amount = {"type": "integer", "maximum": 12_500}
    reviewing = asked(client, {"amount": 12_500, "to": "ACME"}, amount=amount, to={"type": "string"})
    card = await dana.card()
    form = await dana.opened(card, "edit:0")
    assert (await dana.submit(form, amount="98000"))["errors"].keys() == {block_of(form, "amount")}

    last = (await dana.submit(form, amount="9800"))["views"][-1]
    assert "amount: 12500 → 9800" in words(last["blocks"])
    assert last["submit"]["text"] == "Approve with changes"
    assert not reviewing.done()
    assert (await dana.submit(last))["result"] == "clear"

    assert await edited(reviewing) == {"amount": 9800, "to": "ACME"}
    done = words((await dana.card("resumed"))["blocks"])
    assert done.startswith('Changed by Dana: pay 12500 → 9800 "ACME"')


async def test_a_form_that_was_closed_opens_with_what_was_typed_until_its_author_starts_over(client, dana):
    """The phone rang, and the form was closed after its last look."""
    reviewing = asked(client, {"amount": 5, "to": "ACME"})
    card = await dana.card()
    await dana.submit(await dana.opened(card, "edit:0"), amount="7", to="Globex")
    await dana.close()

    again = await dana.opened(card, "edit:0")
    assert "This is what you typed before." in words(again["blocks"])
    await dana.press_in(again, "form:start_over")
    fresh = await dana.slack.wait_for_view("U0DANA", lambda view: "typed before" not in words(view["blocks"]))
    await dana.fill(fresh, to="Initech")

    assert await edited(reviewing) == {"amount": 5, "to": "Initech"}


@pytest.mark.unencrypted
async def test_only_what_the_last_step_showed_is_approved(client, dana, redis):
    """A draft that changes behind it, or is gone, is shown again and does not run."""
    reviewing = asked(client, {"amount": 5})
    form = await dana.opened(await dana.card(), "edit:0")
    last = (await dana.submit(form, amount="7"))["views"][-1]
    [key] = await scanned(redis, "*:draft:*")
    await redis.hset(key, "draft", (await redis.hget(key, "draft")).replace('"7"', '"700"'))

    answer = await dana.submit(last)
    assert not is_last_step(answer["views"][-1])
    assert "changed in another window" in words(answer["views"][-1]["blocks"])
    last = (await dana.submit(answer["views"][-1], amount="8"))["views"][-1]
    await redis.delete(key)
    answer = await dana.submit(last)
    assert "changed in another window" in words(answer["views"][-1]["blocks"])
    assert not reviewing.done()
    reviewing.cancel()


async def test_rows_are_added_filled_in_and_removed(client, dana):
    """Each press keeps what was typed before it."""
    item = {"type": "object", "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}}}
    items = {"type": "array", "items": {**item, "required": ["sku", "count"]}}
    reviewing = asked(client, {"items": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]}, items=items)
    form = await dana.opened(await dana.card(), "edit:0")

    typed = {block_of(form, "items → 1 → count"): "5"}
    await dana.slack.click_view("U0DANA", form["id"], "form:add 0 f:/items", values=typed)
    longer = await dana.view("items → 3")
    typed = {block_of(longer, "items → 3 → sku"): "c", block_of(longer, "items → 3 → count"): "3"}
    await dana.slack.click_view("U0DANA", form["id"], "form:remove 1 f:/items", values=typed)
    shorter = await dana.slack.wait_for_view("U0DANA", lambda v: "items → 3" not in words(v["blocks"]))
    await dana.fill(shorter)

    assert await edited(reviewing) == {"items": [{"sku": "a", "count": 5}, {"sku": "c", "count": 3}]}


async def test_more_changes_than_the_last_step_can_show_are_not_taken(client, dana):
    """Everything is shown before it runs. What does not fit is an error at the first field."""
    args = {f"text{number}": "a" for number in range(100)}
    reviewing = asked(client, args)
    form = await dana.opened(await dana.card(), "edit:0")
    others = [f"f:/text{number}" for number in range(3, 15)]
    chosen = (await dana.submit(form, Other=others))["views"][-1]

    answer = await dana.submit(chosen, **dict.fromkeys([*args][:15], "b" + "\n " * 1_400 + "c"))
    assert "Change less" in str(answer["errors"])
    assert not reviewing.done()
    reviewing.cancel()


async def test_an_edit_that_only_the_agent_can_check_is_asked_again_with_the_reason(client, dana):
    """The schema was too large for the form, which says so. The first card says that nothing ran."""
    places = [f"place-{number:04}-{'x' * 30}" for number in range(1200)]
    reviewing = asked(client, {"to": places[0]}, to={"enum": places})
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


async def test_a_text_runs_empty_only_where_somebody_says_that_it_is_meant(client, dana, slack):
    """An emptied field comes back with a box to tick; what nobody touched runs byte for byte, also where Slack trims."""
    await slack.delivery(trim=True)
    args = {"body": "Dear Al", "code": "\n    x = 1\r\n\n"}
    reviewing = asked(client, args, body={"type": "string"})
    form = await dana.opened(await dana.card(), "edit:0")

    assert not has_input(form, EMPTY.label)
    emptied = (await dana.fill(form, body=""))["views"][-1]
    assert "You emptied a field." in words(emptied["blocks"])
    assert not reviewing.done()
    await dana.fill(emptied, **{EMPTY.label: [block_of(form, "body")]})

    assert await edited(reviewing) == {**args, "body": ""}
