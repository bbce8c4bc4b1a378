"""`auth.test`, `bots.info`, `users.info`, `usergroups.*` and `apps.connections.open`: people, and how an app connects."""

import secrets

from playground.errors import SlackError
from playground.web_api import Answer, Call, method
from playground.workspace import APP_ID, BOT_ID, BOT_USER, TEAM


@method("auth.test", "", "special")
def auth_test(call: Call) -> Answer:
    """Say to which app and bot the token belongs."""
    organisation = call.state.grant.enterprise_id
    return {
        "url": f"https://{TEAM['domain']}.slack.com/",
        "team": TEAM["name"],
        "user": call.state.workspace.people[BOT_USER].name.lower(),
        "team_id": TEAM["id"],
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": organisation is not None,
        **({"enterprise_id": organisation} if organisation else {}),
    }


@method("bots.info", "bot", "tier3", "users:read", json_body=False)
def bots_info(call: Call) -> Answer:
    """Say to which app a bot belongs."""
    if call.text("bot") != BOT_ID:
        raise SlackError("bot_not_found")
    name = call.state.workspace.people[BOT_USER].name
    return {"bot": {"id": BOT_ID, "app_id": APP_ID, "user_id": BOT_USER, "name": name, "deleted": False}}


@method("users.info", "user include_locale", "tier4", "users:read", json_body=False)
def users_info(call: Call) -> Answer:
    """One person."""
    person = call.state.workspace.people.get(call.text("user"))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person.to_slack()}


@method("users.lookupByEmail", "email", "tier3", "users:read.email", json_body=False)
def users_lookup_by_email(call: Call) -> Answer:
    """The person with this e-mail address."""
    email = call.text("email").lower()
    found = [person for person in call.state.workspace.people.values() if person.email.lower() == email]
    if not email or not found or found[0].deleted:
        raise SlackError("users_not_found")
    return {"user": found[0].to_slack()}


@method(
    "usergroups.list",
    "include_count include_disabled include_users",
    "tier2",
    "usergroups:read",
    json_body=False,
)
def usergroups_list(call: Call) -> Answer:
    """Every user group."""
    groups = [group.to_slack() for group in call.state.workspace.groups.values()]
    if call.flag("include_users"):
        for group in groups:
            group["users"] = call.state.workspace.groups[group["id"]].users
    return {"usergroups": groups}


@method(
    "usergroups.users.list",
    "usergroup include_disabled",
    "tier2",
    "usergroups:read",
    json_body=False,
)
def usergroups_users_list(call: Call) -> Answer:
    """Who is in a user group; people who left are not, unless asked for."""
    group = call.state.workspace.groups.get(call.text("usergroup"))
    if group is None:
        raise SlackError("no_such_subteam")
    people = call.state.workspace.people
    everybody = call.flag("include_disabled")
    return {"users": [user for user in group.users if everybody or not people[user].deleted]}


@method("apps.connections.open", "", "tier3", app_level=True)
def open_connection(call: Call) -> Answer:
    """An address that lets one socket in, once."""
    ticket = secrets.token_urlsafe(18)
    call.state.socket_tickets.add(ticket)
    return {"url": f"{call.base_url.replace('http', 'ws', 1)}/socket?ticket={ticket}"}
