"""What people are asked, as one short name: a button carries it, so a click counts only for what was drawn. Pure.

Slack brings a button back as it was drawn, and nobody who can write to Redis can change it there. So the name says what
the person saw, and it is compared with what the record asks now.
"""

from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable
from typing import Any

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.identity import slots
from bot.domain.action import Action
from bot.domain.admission import Terms
from bot.domain.approval import Approval
from bot.domain.masking import masked_digest, scrub_all
from bot.domain.options import only_options

DRAWN_AS = 1
"""Goes up when a new version shows the same call so differently that a click on an older card could mean something else."""


QUESTION_LENGTH = 22
"""How many characters the name of a question has."""


def question(state: Approval, indices: Iterable[int], *shown: object) -> str:
    """Name what people are asked about these actions: the calls, the terms on which they are decided, and what was shown besides.

    Votes are no part of it, so two people who click at once both count. Nor is what time changes: the deadline, the steps that
    were reached, and who looks at it.
    """
    named = sorted({*indices})
    if len(named) == 1 and not shown:
        return _names(state, named[0])[1]
    return _name(state, [[index, _names(state, index)[0]] for index in named], *shown)


def _name(state: Approval, asked: list[list[object]], *shown: object) -> str:
    name = digest("question", DRAWN_AS, state.id, asked, *shown)
    return urlsafe_b64encode(bytes.fromhex(name)).rstrip(b"=").decode()


def named_arguments(tool: str, args: dict[str, Any], terms: Terms) -> str:
    """Name arguments in what Slack carries. Everybody there could try masked values until one has the same name, so a key hides them."""
    return masked_digest(tool, args, () if terms.mask_key else terms.masked)


def _names(state: Approval, index: int) -> tuple[str, str]:
    """Name what is asked about an action: as a part of a question about several, and as the question about it alone."""
    action = state.actions[index]
    interrupt, admission, *names = action.kept.get("asked", (None, None))
    if interrupt is not state.interrupt or admission is not state.admission:
        name = _of_action(state, action, _of_record(state))
        names = [name, _name(state, [[index, name]])]
        action.kept["asked"] = (state.interrupt, state.admission, *names)
    return names[0], names[1]


def _of_record(state: Approval) -> str:
    """Name what all actions of a record have in common."""
    interrupt, admission = state.interrupt, state.admission
    context = interrupt.context.model_dump(mode="json", exclude={"traceparent"}, exclude_defaults=True)
    return digest(
        "asked-by-record",
        interrupt.run,
        scrub_all(context, state.actions[0].secrets),
        [state.requested_by, admission.requester_known, admission.thread_author],
        [admission.policy_version, state.on_expiry],
        [admission.agent_verified, admission.unsigned],
    )


def _of_action(state: Approval, action: Action, of_record: str) -> str:
    config = action.config.model_dump(mode="json", exclude={"args_schema"}, exclude_defaults=True)
    steps = [step for step in state.admission.steps if action.index in step.actions]
    terms, call = action.terms, action.fingerprint
    if not terms.mask_key and action.named(terms.masked):
        call = named_arguments(action.request.name, action.request.args, terms)
    return digest(
        "asked",
        of_record,
        slots(state.interrupt.pauses)[action.index],
        call,
        action.description,
        sorted(config.items()),
        action.pages,
        _terms(terms, later={name for step in steps for name in step.approvers}),
        [step.model_dump(mode="json") for step in steps],
        _places(state, action.index),
        # The name covers the schema only as far as buttons offer answers from it.
        *only_options(action),
    )


def _terms(terms: Terms, later: Collection[str]) -> list[tuple[str, Any]]:
    """Give the terms as they were when people were asked: without those who are asked later, whom the steps name."""
    # Who is notified and what people are called is no part of it, as in the name of a proposal.
    found = terms.model_dump(mode="json", exclude_defaults=True, exclude={"named_only", "on_call"})
    found["approvers"] = [name for name in terms.approvers if name not in later]
    return sorted(found.items())


def _places(state: Approval, index: int) -> list[list[object]]:
    """Give where an action is asked and how its messages are laid out. Proposals add places later."""
    return [
        [place.channel, place.opened_by, place.rows, place.actions, place.parts]
        for place in state.admission.places
        if index in place.actions and not place.proposed
    ]
