"""Whatever an app sends, the verdict is Slack's, never a fault of the stand-in."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from playground import check_message, check_view
from playground.errors import SlackError
from playground.limits import check_metadata
from tests.support.properties import bounded

KEYS = [
    *("type", "text", "blocks", "elements", "element", "accessory", "fields", "label", "options", "option_groups"),
    *("value", "action_id", "block_id", "initial_option", "initial_options", "initial_value", "min_value"),
    *("is_decimal_allowed", "title", "submit", "rows", "child_blocks", "style", "confirm", "url", "max_length"),
    *("dispatch_action", "focus_on_load", "event_type", "event_payload"),
]  # fmt: skip
TYPES = [
    *("section", "header", "actions", "context", "divider", "image", "rich_text", "input", "markdown", "table"),
    *("container", "modal", "home", "plain_text", "mrkdwn", "button", "static_select", "checkboxes", "overflow"),
    *("plain_text_input", "number_input", "datepicker", "rich_text_section", "rich_text_preformatted", "raw_text"),
]  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(TYPES)
anything = st.recursive(
    scalars | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
        | st.builds(
            lambda kind, rest: {**rest, "type": kind},
            st.sampled_from(TYPES),
            st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
        )
    ),
    max_leaves=12,
)


@bounded(300)
@given(text=st.none() | st.text(max_size=5), blocks=anything)
def test_any_message_gets_a_verdict(text, blocks):
    """Accepted or refused."""
    with contextlib.suppress(SlackError):
        check_message(text, blocks)


@bounded(300)
@given(view=anything)
def test_any_view_gets_a_verdict(view):
    """Accepted or refused."""
    with contextlib.suppress(SlackError):
        check_view(view)


@bounded(200)
@given(metadata=anything)
def test_any_metadata_gets_a_verdict(metadata):
    """Accepted or refused."""
    with contextlib.suppress(SlackError):
        check_metadata(metadata)
