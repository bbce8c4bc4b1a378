"""Who may resume a run or run a thread, judged by what Redis says of it. Nothing here needs a server."""

import pytest

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import (
    ClaimedError,
    ConsumedError,
    NotDecidedError,
    UnknownInterruptError,
    UnreadableRecordError,
)
from agent_adapter.redis.acts import Claim, ThreadClaim, UnsureError
from agent_adapter.redis.change import Answer, Change, Stamp, run, written
from agent_adapter.redis.pool import open_redis
from agent_adapter.redis.scripts import AGENT_LUA, Private, Scripts
from agent_adapter.testing.memory import Memory

NAMES = Keys().of("billing.1")
NOW, LEASE, HOUR = 10_000_000, 1_000, 3_600_000
ASKED = {"body": "{}", "created": str(NOW - HOUR), "deadline": str(NOW - HOUR // 2)}
DECIDED = {"status": "decided"}


def taken(by="other", *, left=LEASE, fence=5, lease=LEASE):
    return {"claim_by": by, "claim_until": str(NOW + left), "claim_for": str(lease), "fence": str(fence)}


def flat(fields):
    return [word for field in fields.items() for word in field]


def judged(req, card=DECIDED, *, asked=ASKED, unsure=0, clock=None, bots=(), **wish):
    """Say what `me` does about a record that says this."""
    read = [flat(asked | req), flat(card), clock, bots]
    wish = {"lease": LEASE, "grace": 30_000} | wish
    return Claim(NAMES, "me", **wish).judge(Answer(False, NOW, unsure, read))


def fields_of(step):
    """The fields that it writes."""
    [command] = [each for each in step.change.commands if each[0] == "HSET"]
    return dict(zip(command[2::2], command[3::2], strict=True))


def does(step):
    return [words[0] for words in step.change.commands]


MINE = {"claim_by": "me", "claim_until": Stamp(LEASE), "claim_for": LEASE}


@pytest.mark.parametrize(
    ("req", "fence"),
    [({}, Stamp()), (taken(left=-1), Stamp()), (taken(left=-1, fence=NOW + 7), NOW + 8)],
    ids=["that nobody has claimed", "whose claim has lapsed", "whose fence is ahead of the clock"],
)
def test_a_decided_run_is_taken_with_a_newer_fence(req, fence):
    """By the clock, so that it is newer than a claim that Redis has lost. The bots are told. It says that another had it."""
    step = judged(req)

    assert fields_of(step) == {**MINE, "fence": fence} | ({"claimed_again": 1} if req else {})
    assert does(step) == ["XADD", "HSET"]
    assert step.change.lease == LEASE, "the script refuses it on a server that may have lost another one"


def test_a_run_that_nobody_decided_is_taken_once_deadline_and_grace_are_over():
    """Where no bot runs. A deadline that people were given counts in place of the agent's."""
    assert judged({}, {}).change
    with pytest.raises(NotDecidedError):
        judged({}, {"status": "pending", "deadline": str(NOW - 29_000)})


@pytest.mark.parametrize(
    ("req", "error"),
    [
        ({"resumed": "1", "resumed_by": "other"}, ConsumedError),
        ({"resumed": "1", "resumed_by": "me"}, ConsumedError),
        (taken(), ClaimedError),
    ],
    ids=["was resumed", "was resumed by oneself", "somebody else resumes"],
)
def test_a_run_is_not_taken_that(req, error):
    with pytest.raises(error):
        judged(req)


@pytest.mark.parametrize(
    ("left", "error"),
    [
        ({}, UnknownInterruptError),
        ({"body": "{}"}, UnreadableRecordError),
        ({"deadline": "1"}, UnreadableRecordError),
    ],
    ids=["nothing", "no deadline", "no question"],
)
def test_a_record_without_what_was_asked_is_taken_by_nobody(left, error):
    with pytest.raises(error):
        judged({}, asked=left)


# --- Who holds it already --------------------------------------------------------------------------------------------


def test_a_renewal_keeps_the_fence_and_tells_nobody():
    step = judged(taken("me"), held=5)

    assert (step.fence, fields_of(step), does(step)) == (5, MINE, ["HSET"])


def test_a_renewal_after_its_end_that_a_card_shows_is_new_to_the_bots():
    """It gets another fence, and the card is put right at once."""
    step = judged(taken("me", left=-1), {**DECIDED, "lapsed": "5"}, held=5)

    assert fields_of(step) == {**MINE, "fence": Stamp()}
    assert does(step) == ["XADD", "HSET", "PUBLISH"]


@pytest.mark.parametrize(
    ("req", "goes_on"),
    [
        (taken(left=-1, fence=6), False),
        (taken(left=-1, fence=5), False),
        (taken(left=-1, fence=4), True),
        ({}, True),
    ],
    ids=[
        "the next one has it",
        "of the same age",
        "Redis has lost it, and an older one is there",
        "Redis has lost it",
    ],
)
def test_whoever_was_too_late_goes_on_only_where_redis_has_lost_the_claim(req, goes_on):
    """Also when the next one has given it back: it may have begun what is resumed."""
    if goes_on:
        assert fields_of(judged(req, held=5))["claim_by"] == "me"
    else:
        with pytest.raises(ClaimedError):
            judged(req, held=5)


def test_who_has_used_a_run_up_has_lost_nothing():
    step = judged({"resumed": "1", "resumed_by": "me"}, held=5)

    assert (step.change, step.fence) == (None, 5)


def test_what_is_given_back_is_free_at_once_and_what_others_have_stays():
    assert fields_of(judged(taken("me"), lease=0)) == {"claim_until": 0}
    assert judged(taken(), lease=0).change is None
    assert judged(taken(left=-NOW), held=None).change


# --- When the server does not know -----------------------------------------------------------------------------------


def test_a_new_claim_waits_while_the_server_may_have_lost_another():
    """Who holds it renews it within a lease. One's own counts while it lasts: another one may have had it since its end."""
    for req in {}, taken("me", left=-1):
        with pytest.raises(UnsureError) as unsure:
            judged(req, unsure=300)
        assert unsure.value.known_in == 300
    assert judged({}, held=5, unsure=300).change
    assert judged(taken("me"), unsure=300).change.before == NOW + LEASE


@pytest.mark.parametrize(
    ("req", "given"),
    [
        (taken(left=HOUR), {}),
        (taken(left=-HOUR), {"clock": str(NOW - HOUR)}),
        (taken(left=-HOUR, lease=60_000), {"bots": ["bot", str(NOW - HOUR - 60_000)]}),
    ],
    ids=["back", "forward, and a bot noticed it", "forward, and no bot has had the time to notice it"],
)
def test_a_lease_begins_again_when_the_clock_was_set(req, given):
    """Back makes none longer, and forward ends none: a living holder renews it meanwhile."""
    step = judged(req, **given)

    assert fields_of(step) == {"claim_until": Stamp(int(req["claim_for"]))}
    assert isinstance(step.then, UnsureError)


@pytest.mark.parametrize("given", [{"clock": str(NOW - 2 * HOUR)}, {"bots": ["bot", str(NOW - 1)]}, {}])
def test_a_lease_ends_where_the_clock_was_not_set_since(given):
    assert fields_of(judged(taken(left=-HOUR), **given))["claim_by"] == "me"


# --- Threads ---------------------------------------------------------------------------------------------------------


def thread(holder, *, is_held=False, unsure=0):
    answer = Answer(False, NOW, unsure, [holder, 1_500])
    return ThreadClaim(NAMES, "me", LEASE, is_held).judge(answer).commands


@pytest.mark.parametrize(
    ("holder", "is_held"), [(None, False), ("free:other", False), ("me", True), (None, True)]
)
def test_a_thread_is_run_by_whoever_finds_it_free_or_has_it(holder, is_held):
    assert thread(holder, is_held=is_held) == [("SET", NAMES["thread"], "me", "PX", LEASE)]


@pytest.mark.parametrize(("holder", "is_held"), [("other", False), ("other", True), ("free:other", True)])
def test_a_thread_that_another_process_runs_or_has_run_meanwhile_is_not_run_on(holder, is_held):
    """Its nodes would run twice."""
    with pytest.raises(ClaimedError, match="within 2 seconds"):
        thread(holder, is_held=is_held)


def test_a_new_right_to_a_thread_waits_while_the_server_may_have_lost_another():
    with pytest.raises(UnsureError):
        thread(None, unsure=300)
    assert thread(None, is_held=True, unsure=300)


# --- The script ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["Redis", "in memory"])
async def scripts(request):
    if request.param == "in memory":
        yield Memory(lambda *_: None)
    else:
        async with open_redis(request.getfixturevalue("redis_url")) as redis:
            yield Scripts(redis, Keys(), AGENT_LUA)


REQ = NAMES["req"]
MARKED = Change(commands=[("HSET", REQ, "ran", "yes")])


@pytest.mark.parametrize(
    ("expected", "fits"),
    [
        ("", {None}),
        ("= pending", {"pending"}),
        ("~ pend", {None, "pending"}),
        ("*", {"pending", "ended", "pend"}),
        ("?", {None, "pending", "ended", "pend"}),
        ("= ?", set()),
    ],
)
@pytest.mark.parametrize("said", [None, "pending", "ended"])
async def test_commands_run_where_all_looks_find_what_they_expect(scripts, expected, fits, said):
    """The answer says what was found, and what the caller has to know where they did not run."""
    await run(scripts, NAMES, Change(commands=written(REQ, {"status": said} if said else {})))
    looks = [(expected, "HGET", REQ, "status"), ("!", "HGET", REQ, "status")]

    answer = await run(scripts, NAMES, Change(looks, MARKED.commands))

    assert answer.ran is (said in fits)
    assert answer.found == [said, None if answer.ran else said]
    assert (await run(scripts, NAMES, Change([("*", "HGET", REQ, "ran")]))).ran is answer.ran


async def test_times_are_those_of_the_server(scripts):
    """A word may be the time, before a text; texts that look like it stay what they are."""
    fields = {"at": Stamp(), "till": Stamp(7), "said": Stamp(-7, Private("@1 so", "x")), "@2": "= @3"}

    answer = await run(scripts, NAMES, Change(commands=written(REQ, fields)))

    read = await run(scripts, NAMES, Change([("?", "HGETALL", REQ)]))
    assert dict(zip(read.found[0][::2], read.found[0][1::2], strict=True)) == {
        "at": f"{answer.now}",
        "till": f"{answer.now + 7}",
        "said": f"{answer.now - 7} @1 so",
        "@2": "= @3",
    }


async def test_what_has_another_type_is_not_found(scripts):
    await run(scripts, NAMES, Change(commands=[("SET", NAMES["run"], "text")]))

    assert (await run(scripts, NAMES, Change([("", "HGET", NAMES["run"], "failures")]))).ran


async def test_nothing_runs_before_it_was_read_or_after_the_end_of_what_it_relies_on(redis_url):
    """By the server's clock, which may go back, or be that of another server."""
    async with open_redis(redis_url) as redis:
        scripts = Scripts(redis, Keys(), AGENT_LUA)
        now = (await run(scripts, NAMES, Change())).now

        for since, before, fits in (now + 60_000, None, False), (now, now, False), (now, now + 60_000, True):
            change = Change(MARKED.looks, MARKED.commands, since, before)
            assert (await run(scripts, NAMES, change)).ran is fits
