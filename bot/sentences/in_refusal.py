"""Why a call cannot be asked: its agent reads this, and in Slack the person whose edit another rule is about."""

from collections.abc import Sequence

NO_CHANNEL = (
    "the agent named no channel, and the policy names none either: "
    "set ASSENT_CHANNEL, or a channel in the policy file"
)
THREAD_WITHOUT_CHANNEL = "a thread needs its channel: pass channel=… beside thread_ts"
NOT_BY_SILENCE = "on_expiry=approve is against the rules: they do not approve all of these actions by silence"

# --- Where it is asked --------------------------------------------------------------------------------------------------


def chosen_channel(channel: str) -> str:
    """Say that only members of a channel that the agent chose would decide."""
    return (
        f"the agent chose the channel {channel}, and only its members would decide: leave the channel out, name people "
        "or groups as approvers, or allow it with agent_channel_may_decide: true in the rule (without a policy file: "
        "ASSENT_AGENT_CHANNEL_MAY_DECIDE=true)"
    )


def direct_message_as_channel(named: str) -> str:
    """Say that only a rule asks in direct messages, of an agent that names a person or such a message."""
    return (
        f"the agent named {named} in place of a channel: name a channel by its id (C…), "
        "or let a rule of the policy ask in a direct message (channel: U…)"
    )


def not_a_channel(channel: str) -> str:
    """Say that this is not a channel."""
    return (
        f"the agent named the channel {channel!r}, which is not a channel id: "
        "copy the id (C…) from the channel's details in Slack"
    )


def not_a_thread(thread_ts: str) -> str:
    """Say that this is not a thread."""
    return f"the agent named the thread {thread_ts!r}, which is not the ts of a message: it looks like 1732104000.000100"


# --- Where Slack lets the bot post --------------------------------------------------------------------------------------

AT_PLACE = {
    "channel_not_found": "check the id; into a private channel the bot must be invited",
    "not_in_channel": "invite the bot there",
    "no_permission": "invite the bot there",
    "is_archived": "unarchive it, or ask elsewhere",
    "restricted_action": "let the bot post there, in the channel's settings",
    "thread_not_found": "the message to answer is gone: ask in the channel",
    "invalid_thread_ts": "the message to answer is gone: ask in the channel",
    "cannot_reply_to_message": "the message to answer is itself a reply: name the first message of its thread",
    "user_not_found": "check the id of the person",
    "user_disabled": "this account is deactivated: ask somebody else",
    "cannot_dm_bot": "bots read no direct messages: ask a person",
}
"""What to do about an error of Slack at one place."""
AUTHOR_UNKNOWN = "the bot can no longer see who started the thread: ask in the channel"


def missing_scopes(scopes: Sequence[str]) -> str:
    """Say that the app lacks what Slack wants at a place."""
    return (
        f"ask elsewhere, or add the scope {', '.join(scopes) or 'for such a place'} and install the app again"
    )


def at_place(place: str, cure: str) -> str:
    """Say for which place something has to be done."""
    return f"{place}: {cure}"


# --- For whom the agent acts --------------------------------------------------------------------------------------------


def agent_not_verified(rule: str, agent: str) -> str:
    """Say that a rule needs to know that it is this agent who asks."""
    return (
        f"rule {rule!r} requires a verified agent, and no key of the agent {agent} has signed this question: "
        "give the agent its key in ASSENT_AGENT_KEY and the bot's ring its public key, or let it ask with a key of the HTTP API"
    )


def requester_unknown(rule: str, named: str | None, agent: str) -> str:
    """Say that a rule needs to know for whom the agent acts.

    Args:
        rule: Its name.
        named: The person whom the agent names, without anything else that says so.
        agent: Its name.
    """
    where = f"rule {rule!r} requires to know for whom the agent acts"
    if named is None:
        return (
            f"{where}, and nobody is named: name the person's Slack user id in context.requested_by, "
            f"with a source that vouches for it ({sources(agent)})"
        )
    return (
        f"{where}, and only the agent says that it acts for {named}: let a source vouch for it "
        f"({sources(agent)})"
    )


def sources(agent: str) -> str:
    """Name what can vouch for whom an agent acts."""
    return (
        "a key of the HTTP API made with --requester or --may-name-requesters, or in the policy file "
        f"agents: {{{agent}: {{requester: agent}}}}"
    )


def other_requester(agent: str, requester: str, named: str) -> str:
    """Say that the policy and the agent name different people."""
    return (
        f"the policy says that agent {agent} acts for {requester}, and context.requested_by names {named!r}: "
        "leave it out, or correct the policy"
    )


def not_a_person(requester: str) -> str:
    """Say that this is not a person."""
    return (
        f"context.requested_by is {requester!r}, which is not a Slack user id such as U0123ABCD, "
        "so the bot could not keep this person from approving their own request"
    )


# --- What the rules say about it ----------------------------------------------------------------------------------------


def look_alike(tool: str, name: str, rule: str) -> str:
    """Say that the name of a tool looks like another one, so a rule would decide that its author did not mean."""
    return (
        f"the tool {tool!a} looks like {name}, which does not match it, so {rule!r} would decide: "
        "correct the tool's name, or name it in a rule of its own; look_alikes: warn in the policy file asks "
        "with a warning on the card"
    )


def nothing_left(rule: str, offered: Sequence[str], index: int, tool: str, allowed: Sequence[str]) -> str:
    """Say that agent and rule have no decision in common."""
    return (
        f"rule {rule!r} offers only {', '.join(offered)} for action {index + 1} ({tool}), "
        f"and the agent allows only {', '.join(allowed)}: nothing is left to decide"
    )


# --- How much one agent asks --------------------------------------------------------------------------------------------


def too_many_open(agent: str, count: int, most: int) -> str:
    """Say that too many interrupts of an agent are open."""
    return (
        f"agent {agent} has {count:,} open interrupts, and the policy allows {most:,}: "
        "ask again when some of them are decided, withdraw some, or raise `pending` under `limits` in the policy file"
    )


def too_many_in_a_minute(agent: str, most: int) -> str:
    """Say that an agent asks too often."""
    return f"agent {agent} asked more than {most:,} times in a minute, which the policy does not allow: ask again later"


def too_many_bytes(agent: str, count: int, most: int) -> str:
    """Say that the open interrupts of an agent are too large."""
    return (
        f"the open interrupts of agent {agent} would take {count:,} bytes, and the policy allows {most:,}: "
        "ask again when some of them are decided, or pass references to large content"
    )
