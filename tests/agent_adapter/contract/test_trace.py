"""Where something stands in a trace: exactly the form of W3C Trace Context, or not there."""

import pytest

from agent_adapter.contract.trace import TraceContext

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def read(parent):
    return TraceContext.read({"traceparent": parent})


def test_a_trace_says_its_ids_and_whether_it_is_recorded():
    """For an exemplar, and for the parent of a span."""
    found = read(PARENT)

    assert (found.trace_id, found.span_id) == (PARENT[3:35], PARENT[36:52])
    assert found.is_sampled
    assert not read(PARENT[:-2] + "00").is_sampled


@pytest.mark.parametrize(
    "parent",
    [
        None, "", "x", PARENT.upper(), PARENT + "\n", " " + PARENT, PARENT + "-00", "01" + PARENT[2:],
        PARENT.replace("b7ad6b7169203331", "0" * 16), "00-" + "0" * 32 + PARENT[35:],
        PARENT[:-1] + "\N{ARABIC-INDIC DIGIT ONE}", PARENT * 1000,
    ],
)  # fmt: skip
def test_what_has_another_form_is_not_there(parent):
    """Whoever wrote it, and however long it is."""
    assert read(parent) is None
