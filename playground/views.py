"""Modals and Home tabs: a stack of at most three views for each person."""

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from playground.errors import ControlError, SlackError
from playground.inputs import StateKey, complete, interactive_elements, state_values, trimmed
from playground.limits import check_view, invalid_arguments
from playground.workspace import APP_ID, BOT_ID, TEAM, random_id

DEEPEST = 3


@dataclass(slots=True)
class View:
    """One open view, with what its reader has filled in so far."""

    id: str
    user: str
    given: dict[str, Any]
    root_view_id: str
    previous_view_id: str | None = None
    hash: str = ""
    values: dict[StateKey, dict[str, Any]] = field(default_factory=dict)
    trims: bool = False
    """Whether Slack's window changes the ends of lines and texts, as some do."""

    @property
    def blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = self.given["blocks"]
        return blocks

    def show(self, given: dict[str, Any]) -> None:
        """Show something else in the same window; what was typed stays where its element stays."""
        self.given = {**given, "blocks": complete(given["blocks"])}
        self.hash = f"{int(time.time())}.{secrets.token_hex(4)}"
        kept = {
            (block["block_id"], element["action_id"]) for block, element in interactive_elements(self.blocks)
        }
        self.values = {key: value for key, value in self.values.items() if key in kept}

    def state_values(self) -> dict[str, Any]:
        """`state.values`, untouched inputs with their initial value."""
        values = state_values(self.blocks, self.values)
        return trimmed(values) if self.trims else values

    def to_slack(self) -> dict[str, Any]:
        """The `view` object of payloads and answers."""
        given = self.given
        return {
            "id": self.id,
            "team_id": TEAM["id"],
            "type": given["type"],
            "blocks": given["blocks"],
            "private_metadata": given.get("private_metadata", ""),
            "callback_id": given.get("callback_id", ""),
            "external_id": given.get("external_id", ""),
            "state": {"values": self.state_values()},
            "hash": self.hash,
            "title": given.get("title"),
            "submit": given.get("submit"),
            "close": given.get("close"),
            "clear_on_close": given.get("clear_on_close", False),
            "notify_on_close": given.get("notify_on_close", False),
            "root_view_id": self.root_view_id,
            "previous_view_id": self.previous_view_id,
            "app_id": APP_ID,
            "app_installed_team_id": TEAM["id"],
            "bot_id": BOT_ID,
        }


class Views:
    """Every view that is open, and every Home tab that was published."""

    def __init__(self) -> None:
        self.trims = False
        self._stacks: dict[str, list[View]] = {}
        self._homes: dict[str, View] = {}
        self._by_id: dict[str, View] = {}
        self._by_external_id: dict[str, View] = {}

    def stack(self, user: str) -> list[View]:
        """A person's open modals, bottom first."""
        return self._stacks.get(user, [])

    def push(self, user: str, given: dict[str, Any]) -> View:
        """Put a modal on top of a person's stack.

        Raises:
            SlackError: `push_limit_reached`, `duplicate_external_id`, or the view is refused.
        """
        self._check(given, "modal")
        stack = self._stacks.setdefault(user, [])
        if len(stack) >= DEEPEST:
            raise SlackError("push_limit_reached")
        view_id = random_id("V")
        root = stack[0].id if stack else view_id
        view = View(view_id, user, {}, root_view_id=root, trims=self.trims)
        view.previous_view_id = stack[-1].id if stack else None
        self._keep(view, given)
        stack.append(view)
        return view

    def publish(self, user: str, given: dict[str, Any], given_hash: str | None) -> View:
        """Show a person's Home tab.

        Raises:
            SlackError: `hash_conflict`, or the view is refused.
        """
        view = self._homes.get(user)
        self._check(given, "home", view)
        if view is None:
            view_id = random_id("V")
            view = self._homes[user] = View(view_id, user, {}, root_view_id=view_id)
        elif given_hash and given_hash != view.hash:
            raise SlackError("hash_conflict")
        self._keep(view, given)
        return view

    def update(self, view: View, given: dict[str, Any], given_hash: str | None = None) -> None:
        """Show something else in an open view.

        Raises:
            SlackError: `not_found` when it was closed meanwhile, `hash_conflict`, `duplicate_external_id`,
                or the view is refused.
        """
        if self._by_id.get(view.id) is not view:
            raise SlackError("not_found")
        if given_hash and given_hash != view.hash:
            raise SlackError("hash_conflict")
        self._check(given, "home" if self._homes.get(view.user) is view else "modal", view)
        self._by_external_id.pop(view.given.get("external_id", ""), None)
        self._keep(view, given)

    def find(self, view_id: str | None, external_id: str | None) -> View:
        """An open view.

        Raises:
            SlackError: `not_found`: it never was, or it was closed.
        """
        view = self._by_id.get(view_id or "") or self._by_external_id.get(external_id or "")
        if view is None:
            raise SlackError("not_found")
        return view

    def opened_by(self, user: str, view_id: str) -> View:
        """A view that this person sees on top.

        Raises:
            ControlError: It is not the top of the person's stack, nor the Home tab.
        """
        view = self._by_id.get(view_id)
        if view is None or view.user != user:
            raise ControlError(f"{user} has no open view {view_id}.", 404)
        if view is not self._homes.get(user) and view is not self.stack(user)[-1]:
            raise ControlError(f"View {view_id} lies under another one; close that first.", 409)
        return view

    def home(self, user: str) -> View | None:
        """The Home tab as this person sees it."""
        return self._homes.get(user)

    def close(self, view: View) -> list[View]:
        """Close a view and whatever lies on top of it.

        Returns:
            What was closed, top first.
        """
        stack = self.stack(view.user)
        if view not in stack:
            return []
        closed = stack[stack.index(view) :][::-1]
        for each in closed:
            stack.remove(each)
            self._by_id.pop(each.id, None)
            self._by_external_id.pop(each.given.get("external_id", ""), None)
        return closed

    def clear(self, user: str) -> list[View]:
        """Close all of a person's modals."""
        stack = self.stack(user)
        return self.close(stack[0]) if stack else []

    def _check(self, given: Any, kind: str, replaced: View | None = None) -> None:
        check_view(given)
        if given["type"] != kind:
            raise invalid_arguments(f"must be a {kind}")
        holder = self._by_external_id.get(given.get("external_id") or "")
        if holder is not None and holder is not replaced:
            raise SlackError("duplicate_external_id")

    def _keep(self, view: View, given: dict[str, Any]) -> None:
        view.show(given)
        self._by_id[view.id] = view
        if external_id := given.get("external_id"):
            self._by_external_id[external_id] = view
