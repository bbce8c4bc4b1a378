"""Why a call cannot be asked: its agent reads this, and in Slack the person whose edit another rule is about."""

from collections.abc import Sequence

NO_CHANNEL = (
    "the agent named no channel, and the policy names none either: "
    "set ASSENT_CHANNEL, or a channel in the policy file"
)
THREAD_WITHOUT_CHANNEL = "a thread needs its channel: pass channel=… beside thread_ts"
NOT_BY_SILENCE = "on_expiry=approve is against the rules: they do not approve all of these actions by silence"

# --- Where it is asked --------------------------------------------------------------------------------------------------

chosen_channel = (
    "the agent chose the channel {}, and only its members would decide: leave the channel out, name people "
    "or groups as approvers, or allow it with agent_channel_may_decide: true in the rule (without a policy file: "
    "ASSENT_AGENT_CHANNEL_MAY_DECIDE=true)"
).format
direct_message_as_channel = (
    "the agent named {} in place of a channel: name a channel by its id (C…), "
    "or let a rule of the policy ask in a direct message (channel: U…)"
).format
"""Say that only a rule asks in direct messages, of an agent that names a person or such a message."""
not_a_channel = (
    "the agent named the channel {!r}, which is not a channel id: "
    "copy the id (C…) from the channel's details in Slack"
).format
not_a_thread = "the agent named the thread {!r}, which is not the ts of a message: it looks like 1732104000.000100".format


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
at_place = "{}: {}".format
"""Say for which place something has to be done."""


def missing_scopes(scopes: Sequence[str]) -> str:
    return (
        f"ask elsewhere, or add the scope {', '.join(scopes) or 'for such a place'} and install the app again"
    )


# --- For whom the agent acts --------------------------------------------------------------------------------------------

agent_not_verified = (
    "rule {!r} requires a verified agent, and no key of the agent {} has signed this question: "
    "give the agent its key in ASSENT_AGENT_KEY and the bot's ring its public key, or let it ask with a key of the HTTP API"
).format
"""Say that a rule needs to know that it is this agent who asks."""
sources = (
    "a key of the HTTP API made with --requester or --may-name-requesters, or in the policy file "
    "agents: {{{}: {{requester: agent}}}}"
).format
"""Name what can vouch for whom an agent acts."""
other_requester = (
    "the policy says that agent {} acts for {}, and context.requested_by names {!r}: "
    "leave it out, or correct the policy"
).format
"""Say that the policy and the agent name different people."""
not_a_person = (
    "context.requested_by is {!r}, which is not a Slack user id such as U0123ABCD, "
    "so the bot could not keep this person from approving their own request"
).format


def requester_unknown(rule: str, named: str | None, agent: str) -> str:
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


# --- What the rules say about it ----------------------------------------------------------------------------------------

look_alike = (
    "the tool {!a} looks like {}, which does not match it, so {!r} would decide: "
    "correct the tool's name, or name it in a rule of its own; look_alikes: warn in the policy file asks "
    "with a warning on the card"
).format


def nothing_left(rule: str, offered: Sequence[str], index: int, tool: str, allowed: Sequence[str]) -> str:
    return (
        f"rule {rule!r} offers only {', '.join(offered)} for action {index + 1} ({tool}), "
        f"and the agent allows only {', '.join(allowed)}: nothing is left to decide"
    )


# --- How much one agent asks --------------------------------------------------------------------------------------------

too_many_open = (
    "agent {} has {:,} open interrupts, and the policy allows {:,}: "
    "ask again when some of them are decided, withdraw some, or raise `pending` under `limits` in the policy file"
).format
too_many_in_a_minute = (
    "agent {} asked more than {:,} times in a minute, which the policy does not allow: ask again later".format
)
too_many_bytes = (
    "the open interrupts of agent {} would take {:,} bytes, and the policy allows {:,}: "
    "ask again when some of them are decided, or pass references to large content"
).format
