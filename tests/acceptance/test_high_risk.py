"""Calls of high risk: a person types a value of the call, and nothing else approves it."""

import pytest

from tests.support.builders import an_action, review
from tests.support.people import block_of, buttons, words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
rules:
  - name: old tables
    match: {tool: drop_table, args: {properties: {table: {type: string, pattern: "^old_"}}, required: [table]}}
  - name: tables
    match: {tool: drop_table}
    risk: high
    type: table
    approvers: [U0ERIK, U0MIRA]
"""


@pytest.fixture(autouse=True)
async def _bot(start_bot, policy):
    await start_bot(policy=str(policy), approvers="", channel=None)


async def test_a_wrong_value_is_an_error_beside_the_field_and_the_right_one_approves(client, erik):
    """The form stays as it is, so what was typed stays too."""
    reviewing = review(client, an_action("drop_table", {"table": "invoices_2019", "cascade": True}))
    card = await erik.card("To approve, type `invoices_2019`")
    assert "approve:0" not in buttons(card)
    form = await erik.opened(card, "confirm:0")
    assert "cascade" in words(form["blocks"])

    for wrong in ("invoices_2018", "INVOICES_2019", ""):
        answer = await erik.fill(form, To_approve=wrong)
        assert answer["result"] in {"errors", "invalid"}
    assert not reviewing.done()
    answer = await erik.fill(form, To_approve="invoices_2018")
    assert answer["errors"] == {"typed": "Type it exactly. Nothing was recorded."}

    await erik.fill(form, To_approve="invoices_2019 ")
    assert (await reviewing).decisions[0].type == "approve"


async def test_who_edits_types_the_value_that_would_run(client, erik):
    """The last step of an edit shows it, and the value that was asked does not count there."""
    reviewing = review(client, an_action("drop_table", {"table": "invoices_2019"}))
    form = await erik.opened(await erik.card("drop_table"), "edit:0")
    await erik.slack.submit("U0ERIK", form["id"], {block_of(form, "table"): "invoices_2018"})
    last = await erik.slack.wait_for_view("U0ERIK", lambda view: "Approve" in view["submit"]["text"])

    answer = await erik.slack.submit("U0ERIK", last["id"], {"typed": "invoices_2019"})
    assert "Type it exactly" in answer["errors"]["typed"]
    await erik.slack.submit("U0ERIK", last["id"], {"typed": "invoices_2018"})

    assert (await reviewing).decisions[0].edited_action.args == {"table": "invoices_2018"}
