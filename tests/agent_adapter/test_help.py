"""What `help()` says about the public functions."""

import inspect
import pydoc

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.integrations import functions, langchain_dev_utils, langgraph, openai_agents, xpert
from agent_adapter.sync import SyncApprovalClient

ASKS = [
    ApprovalClient.interrupt, ApprovalClient.review, SyncApprovalClient.interrupt, SyncApprovalClient.review,
    functions.run, langchain_dev_utils.run, langgraph.run, langgraph.stream, openai_agents.run, openai_agents.stream,
    xpert.run,
]  # fmt: skip


@pytest.mark.parametrize(
    "function", ASKS, ids=lambda function: f"{function.__module__}.{function.__qualname__}"
)
def test_help_names_every_keyword_that_asking_takes(function):
    """A reader sees what they may pass, and of which type, not the name of a dictionary."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    shown = pydoc.plain(pydoc.render_doc(function))

    assert {"channel", "thread_ts", "context", "expires_in", "on_expiry"} <= set(names)
    assert "Asking'" not in shown
    assert "channel: str | None = None" in shown


def test_a_record_shows_no_raw_hash():
    """What was read of a record has names and types: its deadline, its end, what was decided so far."""
    shown = pydoc.plain(pydoc.render_doc(inspect.signature(ApprovalClient.record).return_annotation))

    assert "deadline" in shown
    assert "created_at" in shown
    assert " req\n" not in shown
    assert " card\n" not in shown


def test_the_blocking_client_has_every_verb_with_its_help():
    """A verb of the asynchronous client is written once, with its docstring; these are only for integrations."""
    own = {
        "close", "check_open", "is_signed", "note_failure", "refuse_answer", "report_later", "running",
        "withdraw_cancelled",
    }  # fmt: skip
    verbs = {name: verb for name, verb in vars(ApprovalClient).items() if not name.startswith("_")}

    for name in verbs.keys() - own:
        assert getattr(SyncApprovalClient, name).__doc__ == getattr(ApprovalClient, name).__doc__
    assert "interrupt_id: str" in pydoc.plain(pydoc.render_doc(SyncApprovalClient.wait))
