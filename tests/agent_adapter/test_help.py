"""What `help()` says about the public functions."""

import inspect
import pydoc

from agent_adapter import ApprovalClient
from agent_adapter.sync import SyncApprovalClient


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
