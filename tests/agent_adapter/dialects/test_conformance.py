"""Every dialect, every decision, every situation: what the framework is handed."""

import re
from itertools import chain

import pytest

from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.record import decided, dump_recorded, read_resume
from agent_adapter.dialects import DIALECTS, RECOGNISED, detect
from agent_adapter.errors import DecisionNotAllowedError, InterruptEndedError
from tests.agent_adapter.dialects.conformance import (
    DECISIONS,
    FILES,
    LANGUAGES,
    NOT_OFFERED,
    NOTHING,
    OPEN,
    PAGE,
    SITUATIONS,
    TOOL,
    printed,
)
from tests.support.builders import an_interrupt

EACH = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name.replace("`", ""))


def requests_of(language, count):
    """Read the pauses that ask about this many calls."""
    return [DIALECTS[language.dialect].to_request(payload) for payload in language.pauses(count)]


def card_of(interrupt, situation, decisions):
    """Give what the bot has stored when these are decided."""
    status = {"partial": {}, "expired": {"status": "expired"}, "withdrawn": {"status": "withdrawn"}}
    card = dict(status.get(situation, {"status": "decided"}))
    for index, decision in enumerate(decisions):
        fingerprint = action_fingerprints(interrupt.request)[index]
        card[f"d:{index}"] = dump_recorded(decision, fingerprint=fingerprint, decided_by="U0ERIK")
        card[f"at:{index}"] = "1700000000000"
    return card


def answers_to(language, decision, situation):
    """Give what each pause is answered when the first call is decided so."""
    dialect = DIALECTS[language.dialect]
    payloads = language.pauses(1 if situation == "single" else 2)
    requests = [dialect.to_request(payload) for payload in payloads]
    asked = [zip(each.action_requests, each.review_configs, strict=True) for each in requests]
    interrupt = an_interrupt(*chain.from_iterable(asked))
    decisions = [decision, DECISIONS[language.yes]] if situation == "batch" else [decision]
    card = card_of(interrupt, situation, decisions)
    resume = read_resume(interrupt, card, deadline=1, now=0, grace=0)
    if resume:
        decided(interrupt, resume)
    decisions = iter(resume.decisions if resume else [decision, None])
    answers = []
    for payload, request in zip(payloads, requests, strict=True):
        own = [next(decisions) for _ in request.action_requests]
        try:
            answers.append(dialect.to_resume(own, payload))
        except DecisionNotAllowedError as error:
            if "left open" not in str(error):
                raise
            answers.append(OPEN)
    return answers


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("decision", DECISIONS)
@EACH
def test_each_decision_is_written_as_the_framework_reads_it(language, decision, situation):
    """Or refused: where it is not offered, where something is open, where the question ended without an answer."""
    expected = language.expected(decision, situation)

    if expected == NOT_OFFERED:
        with pytest.raises(DecisionNotAllowedError, match=f"{decision} is not one of"):
            answers_to(language, DECISIONS[decision], situation)
    elif expected == NOTHING:
        with pytest.raises(InterruptEndedError):
            answers_to(language, DECISIONS[decision], situation)
    else:
        assert answers_to(language, DECISIONS[decision], situation) == expected


@EACH
def test_each_pause_asks_about_its_calls_and_offers_what_can_be_answered(language):
    """Names, arguments and decisions; no words that only repeat the call; and what a decision really does."""
    actions = [action for request in requests_of(language, 2) for action in request.action_requests]
    configs = [config for request in requests_of(language, 2) for config in request.review_configs]

    if language.tool == TOOL:
        assert [(action.name, action.args) for action in actions] == [
            (TOOL, {"path": path}) for path in FILES
        ]
    else:
        values = [{"value": payload} for payload in language.pauses(2)]
        assert [(action.name, action.args) for action in actions] == [("question", value) for value in values]
    assert all(set(config.allowed_decisions) == set(language.answers) for config in configs)
    assert all(config.effects == language.effects for config in configs)
    assert {action.description for action in actions} <= {None, "Please review"}


@EACH
def test_each_pause_is_recognised_unless_only_the_caller_can_know(language):
    """A named dialect reads the pauses of the one that is recognised in its place, or those of none."""
    (payload, *_) = language.pauses(2)

    if language.dialect in RECOGNISED:
        assert detect(payload) == language.dialect
    assert DIALECTS[language.dialect].recognises(payload)


def test_the_table_leaves_no_dialect_out():
    """Whoever adds a dialect says here what it writes."""
    assert {language.dialect for language in LANGUAGES} == DIALECTS.keys()


def test_the_page_prints_the_table():
    """`python -m tests.agent_adapter.dialects.conformance` brings it up to date."""
    assert printed() in PAGE.read_text(encoding="utf-8")


def test_the_example_of_the_page_runs():
    """It ends with an answer in the case of its payload."""
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = {}
    exec(source, found)

    assert found["name"] == "camel_case"
    assert found["answer"] == {"decisions": [{"type": "approve"}]}


def test_the_page_names_every_dialect_and_effect():
    """Nothing can be named that the page does not explain."""
    text = PAGE.read_text(encoding="utf-8")
    named = set(DIALECTS) - set(RECOGNISED)

    assert named == set(re.findall(r"`(\w+)`", text.partition("| Name it |")[2].partition("\n\n")[0])) & set(
        DIALECTS
    )
    assert {effect for language in LANGUAGES for effect in language.effects} <= set(
        re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    )
