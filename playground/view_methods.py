"""`views.*`: opening, stacking and changing modals, and the Home tab."""

from playground.errors import SlackError
from playground.tickets import Trigger
from playground.views import View
from playground.web_api import Answer, Call, method


@method("views.open", "trigger_id view", "tier4")
def open_view(call: Call) -> Answer:
    """Open a modal for the person who acted."""
    return _push(call, call.state.tickets.exchange(call.text("trigger_id")))


@method("views.push", "trigger_id view", "tier4")
def push_view(call: Call) -> Answer:
    """Put a modal on top of the one in which the person acted."""
    trigger = call.state.tickets.exchange(call.text("trigger_id"))
    if not trigger.from_view or not call.state.views.stack(trigger.user):
        raise SlackError("invalid_trigger_id")
    return _push(call, trigger)


@method("views.update", "view_id external_id hash view", "tier4")
def update_view(call: Call) -> Answer:
    """Show something else in an open view."""
    view = call.state.views.find(call.optional_text("view_id"), call.optional_text("external_id"))
    call.state.views.update(view, call.json("view"), call.optional_text("hash"))
    return _shown(call, view)


@method("views.publish", "user_id hash view", "tier4")
def publish_view(call: Call) -> Answer:
    """Show a person's Home tab."""
    user = call.text("user_id")
    person = call.state.workspace.people.get(user)
    if person is None or person.deleted:
        raise SlackError("not_enabled" if person else "user_not_found")
    return _shown(call, call.state.views.publish(user, call.json("view"), call.optional_text("hash")))


def _push(call: Call, trigger: Trigger) -> Answer:
    return _shown(call, call.state.views.push(trigger.user, call.json("view")))


def _shown(call: Call, view: View) -> Answer:
    call.state.views_changed(view.user)
    return {"view": view.to_slack()}
