"""The checker of a company's day reads three accounts. It says nothing of a sound day, and names what is broken."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from benchmarks.company import checker
from benchmarks.company.checker import INVARIANTS, STARVED_OVER, History, check

START = 1_790_000_000.0
ARGS = {"order": "ord_1", "amount": 900}
LASTS = 60.0


def note(at, what, **fields):
    return {"at": START + at, "what": what, **fields}


def entry(at, event, **fields):
    return {"entry": f"{int((START + at) * 1000)}-0", "event": event, **fields}


def a_question(agent="billing-0", number=1, *, card_after=1.0, decision="approve", by="U0DANA"):
    """Give the three accounts of one question that a person decided."""
    id, slot = f"{agent}.{number}", {"id": f"{agent}.{number}", "index": 0}
    typed = {"args": {**ARGS, "amount": 451}} if decision == "edit" else {}
    ran = [note(5.0, "ran", **slot, args=typed.get("args", ARGS))] if decision != "reject" else []
    agents = [
        note(0.0, "asks", id=id, calls=[{"name": "refund", "args": ARGS}], lasts=LASTS),
        note(0.1, "published", id=id),
        note(4.5, "answered", id=id, status="decided", decisions=[decision], by=[by]),
        *ran,
        note(5.1, "finished", id=id),
    ]
    people = [
        note(card_after, "card", id=id, channel="C0"),
        note(4.2, "pressed", **slot, by=by, decision=decision, begins=START + 4.0, accepted=True, **typed),
    ]
    audit = [
        entry(0.1, "published", id=id),
        entry(4.1, "decided", **slot, by=by, decision=decision, how="click"),
        entry(5.2, "resumed", id=id),
    ]
    return {"agents": {agent: agents}, "people": people, "audit": audit}


def together(*questions):
    found = {"agents": {}, "people": [], "audit": []}
    for each in questions:
        for agent, lines in each["agents"].items():
            found["agents"].setdefault(agent, []).extend(lines)
        found["people"] += each["people"]
        found["audit"] += each["audit"]
    return found


@pytest.fixture
def day():
    """A sound day: a question of each of four agents, and one that nobody decided in time."""
    kinds = {"billing-0": "approve", "deploys-0": "edit", "data-0": "reject", "support-0": "approve"}
    found = together(*(a_question(agent, decision=kind) for agent, kind in kinds.items()))
    id = "billing-0.2"
    found["agents"]["billing-0"] += [
        note(0.0, "asks", id=id, calls=[{"name": "refund", "args": ARGS}], lasts=LASTS),
        note(0.1, "published", id=id),
        note(60.3, "answered", id=id, status="expired", decisions=["reject"], by=["expired"]),
        note(60.4, "finished", id=id),
    ]
    late = note(
        61.0, "pressed", id=id, index=0, by="U0ERIK", decision="approve", begins=START + 60.9, accepted=True
    )
    found["people"] += [note(1.0, "card", id=id, channel="C0"), late]
    found["audit"] += [entry(60.2, "expired", id=id)]
    return found


def broken(day):
    """Give the faults of each invariant that does not hold."""
    return {each.invariant: each.faults for each in check(History(**deepcopy(day))) if each.faults}


def lines_of(day, what, account="agents"):
    accounts = [*day["agents"].values()] if account == "agents" else [day[account]]
    name = "event" if account == "audit" else "what"
    return [(lines, line) for lines in accounts for line in lines if line[name] == what]


def drop(day, what, account="agents"):
    lines, line = lines_of(day, what, account)[0]
    lines.remove(line)


def test_a_sound_day_has_no_fault_and_every_invariant_looked_at_something(day):
    """Approved, edited, rejected and expired questions, and a click that came too late."""
    assert broken(day) == {}
    assert all(finding.looked for finding in check(History(**day)))


def test_a_question_without_an_end_is_lost(day):
    """Its agent waits for ever."""
    drop(day, "finished")

    assert broken(day) == {"nothing is lost": ["billing-0.1: asked, and never ended"]}


def test_an_accepted_click_that_the_audit_does_not_know_is_lost(day):
    """Slack showed it as accepted."""
    pressed = {"by": "U0MIRA", "decision": "approve", "begins": START + 3.0, "accepted": True}
    day["people"].append(note(3.1, "pressed", id="data-0.1", index=0, **pressed))

    [fault] = broken(day)["nothing is lost"]
    assert "U0MIRA pressed approve, it was accepted, and nothing came of it" in fault


@pytest.mark.parametrize("why", ["shown as failed", "click_refused", "click_failed", "came second"])
def test_a_click_that_its_person_knows_did_not_count_is_not_lost(day, why):
    """It failed, they read why, or somebody had been quicker."""
    at = 4.3 if why == "came second" else 3.1
    pressed = {
        "by": "U0MIRA",
        "decision": "approve",
        "begins": START + 3.0,
        "accepted": why != "shown as failed",
    }
    day["people"].append(note(at, "pressed", id="data-0.1", index=0, **pressed))
    if why.startswith("click_"):
        day["audit"].append(entry(3.05, why, id="data-0.1", index=0, by="U0MIRA", code="refused"))

    assert broken(day) == {}


def test_a_press_that_failed_excuses_no_later_one(day):
    """Its person pressed again, and that was lost."""
    pressed = {"by": "U0MIRA", "decision": "approve", "accepted": True}
    day["people"].append(note(-6.0, "pressed", id="data-0.1", index=0, begins=START - 6.1, **pressed))
    day["people"].append(note(3.1, "pressed", id="data-0.1", index=0, begins=START + 3.0, **pressed))
    day["audit"].append(entry(-6.05, "click_failed", id="data-0.1", by="U0MIRA", button="approve"))

    [fault] = broken(day)["nothing is lost"]
    assert "U0MIRA pressed approve, it was accepted, and nothing came of it" in fault


def test_a_decision_that_its_agent_did_not_get_is_lost(day):
    """The audit says approved; the agent was told rejected, or nothing."""
    [(_, answer), *_] = lines_of(day, "answered")
    answer["decisions"] = ["reject"]

    assert list(broken(day)) == ["nothing is lost"]


def test_an_agent_that_is_told_two_different_things_lost_one(day):
    """It asked again, and the answer had changed."""
    [(lines, answer), *_] = lines_of(day, "answered")
    lines.append({**answer, "decisions": ["reject"]})

    assert list(broken(day)) == ["nothing is lost"]


@pytest.mark.parametrize(
    ("what", "account"),
    [("ran", "agents"), ("finished", "agents"), ("decided", "audit"), ("resumed", "audit")],
)
def test_what_happens_twice_is_doubled(day, what, account):
    """A call that ran twice, a run that was resumed twice, an action with two decisions."""
    lines, line = lines_of(day, what, account)[0]
    lines.append(dict(line))

    assert list(broken(day)) == ["nothing is doubled"]


def test_a_decision_after_the_deadline_is_late(day):
    """The store took it all the same."""
    for account, what in (("people", "pressed"), ("audit", "decided")):
        for _, line in lines_of(day, what, account):
            if line["id"] == "billing-0.1":
                line.update(entry(60.4, "decided") if account == "audit" else {"at": START + 60.5})
    for _, line in lines_of(day, "ran"):
        line["at"] = START + 61

    assert list(broken(day)) == ["nothing is late"]


def test_a_decision_after_the_question_had_expired_is_late(day):
    """Also where it comes before the deadline: it had ended."""
    day["audit"].append(entry(3.0, "expired", id="billing-0.1"))

    assert list(broken(day)) == ["nothing is late"]


def test_a_call_that_nobody_approved_runs_without_a_decision(day):
    """It had expired, and ran."""
    day["agents"]["billing-0"].append(note(60.4, "ran", id="billing-0.2", index=0, args=ARGS))

    assert list(broken(day)) == ["nothing runs without a decision"]


@pytest.mark.parametrize("how", ["rejected", "later"])
def test_a_call_that_was_rejected_or_approved_only_later_ran_without_a_decision(day, how):
    """The approval has to be there before."""
    [(_, ran), *_] = lines_of(day, "ran")
    [(_, decided), *_] = lines_of(day, "decided", "audit")
    [(_, pressed), *_] = lines_of(day, "pressed", "people")
    [(_, answer), *_] = lines_of(day, "answered")
    if how == "later":
        ran["at"] = START + 3.9
    else:
        decided["decision"] = pressed["decision"] = "reject"
        answer["decisions"] = ["reject"]
        pressed["args"] = ARGS

    assert list(broken(day)) == ["nothing runs without a decision"]


def test_a_decision_that_nobody_gave_is_not_what_was_pressed(day):
    """The audit names a person who pressed nothing, or something else."""
    [(_, decided), *_] = lines_of(day, "decided", "audit")
    [(_, answer), *_] = lines_of(day, "answered")
    decided["by"], answer["by"] = "U0MALLORY", ["U0MALLORY"]

    [fault] = broken(day)["what was pressed is what is audited and what runs"]
    assert "the audit says U0MALLORY approve, who pressed nothing" in fault


@pytest.mark.parametrize("agent", ["billing-0", "deploys-0"])
def test_a_call_that_ran_with_other_arguments_is_not_what_was_pressed(day, agent):
    """An approved call runs as it was asked, an edited one as it was typed."""
    for lines, line in lines_of(day, "ran"):
        if lines is day["agents"][agent]:
            line["args"] = {**ARGS, "amount": 1_000_000}

    [fault] = broken(day)["what was pressed is what is audited and what runs"]
    assert "ran with {'order': 'ord_1', 'amount': 1000000}" in fault


def test_an_agent_whose_card_comes_much_later_than_all_others_starves(day):
    """The others do not wait, so it is not Slack."""
    for _, line in lines_of(day, "card", "people"):
        if line["id"] == "data-0.1":
            line["at"] = START + STARVED_OVER + 2

    [fault] = broken(day)["no agent starves"]
    assert fault == "data-0: waited 12.0 s for a card, the others 1.0 s"


def test_when_all_wait_nobody_starves(day):
    """Slack was down, for everybody."""
    for _, line in lines_of(day, "card", "people"):
        line["at"] = START + 100

    assert broken(day) == {}


def test_it_is_one_program_that_needs_nothing_of_the_project(day, tmp_path):
    """On any machine with Python: the folder in, a sentence for each invariant out, and 1 when one is broken."""

    def said():
        done = subprocess.run(
            [sys.executable, "-I", checker.__file__, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    write(day, tmp_path)
    code, text = said()
    assert (code, text.count("holds")) == (0, len(INVARIANTS))

    day["agents"]["billing-0"].append(note(9.0, "ran", id="billing-0.2", index=0, args=ARGS))
    write(day, tmp_path)
    code, text = said()
    assert code == 1
    assert "BROKEN  nothing runs without a decision" in text
    assert "billing-0.2:0: ran, and nobody had approved it" in text


def test_a_folder_in_which_nothing_happened_proves_nothing(tmp_path):
    """It ends with 1."""
    done = subprocess.run([sys.executable, checker.__file__, str(tmp_path)], capture_output=True, check=False)

    assert done.returncode == 1


def write(day, folder: Path):
    files = {
        "people": day["people"],
        "audit": day["audit"],
        **{f"agents/{k}": v for k, v in day["agents"].items()},
    }
    (folder / "agents").mkdir(exist_ok=True)
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
