"""The blocking verbs, called from plain threads, against a real Redis and the bot's real scripts."""

import asyncio
import signal
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import AgentAdapterError, ConsumedError, InvalidRequestError
from agent_adapter.integrations.functions import asking, requires_approval
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.sync import SyncApprovalClient
from bot.store.records import ApprovalStore
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit, record
from tests.support.faults import eventually
from tests.support.workers import ids

SECOND = timedelta(seconds=1)


@pytest.fixture
def approvals(redis_url):
    with SyncApprovalClient.from_url(
        redis_url, agent="billing", grace=SECOND, claim_lease=SECOND, reconcile_every=SECOND
    ) as approvals:
        yield approvals


@pytest.fixture
def elsewhere():
    """Another thread of the same process."""
    with ThreadPoolExecutor() as pool:
        yield pool


class Desk:
    """The bot's side, with people who decide."""

    def __init__(self, approvals, redis_url):
        self.approvals = approvals
        self.redis = open_redis(redis_url)
        self.store = ApprovalStore(self.redis, approvals.run(freeze_meta(self.redis, "assent")))

    def decide(self, interrupt_id, decisions):
        self.approvals.run(admit(self.store, interrupt_id))
        self.approvals.run(record(self.store, interrupt_id, decisions))


@pytest.fixture
def desk(approvals, redis_url):
    desk = Desk(approvals, redis_url)
    yield desk
    approvals.run(desk.redis.aclose())


def background_threads():
    return [thread for thread in threading.enumerate() if thread.name == "approvals"]


def test_publish_wait_and_resume_apart(approvals, desk):
    """An agent may publish, do something else, and come back for the answer."""
    interrupt_id = approvals.publish(an_interrupt())
    desk.decide(interrupt_id, {0: ApproveDecision()})

    assert approvals.wait(interrupt_id).decisions == (ApproveDecision(),)
    with approvals.reviewing(an_interrupt()) as resume:
        assert resume.decisions == (ApproveDecision(),)
    assert approvals.record(interrupt_id).is_resumed
    with pytest.raises(ConsumedError), approvals.resuming(interrupt_id):
        pass
    assert len(background_threads()) == 1


def test_decisions_come_one_by_one(approvals, desk):
    """The iterator gives each action as it is decided, and ends with the last. Who has seen enough may leave it."""
    interrupt_id = approvals.publish(an_interrupt(an_action("a"), an_action("b")))
    desk.decide(interrupt_id, {1: ApproveDecision()})
    decided = approvals.decisions(interrupt_id)

    first = next(decided)
    assert (first.index, first.type, first.decision) == (1, "approve", ApproveDecision())
    for index, _ in approvals.decisions(interrupt_id):
        assert index == 1
        break
    desk.decide(interrupt_id, {0: RejectDecision()})
    assert [tuple(each) for each in decided] == [(0, RejectDecision())]


@pytest.mark.parametrize(
    "error", [RuntimeError("the tool failed"), KeyboardInterrupt(), SystemExit(3)], ids=repr
)
def test_an_error_in_the_body_is_the_callers_own(approvals, desk, error):
    """It comes out as it went in, and the answer can be taken again at once."""
    interrupt_id = approvals.publish(an_interrupt())
    desk.decide(interrupt_id, {0: ApproveDecision()})

    with pytest.raises(type(error)) as caught, approvals.resuming(interrupt_id):
        raise error
    assert caught.value is error

    with approvals.resuming(interrupt_id) as resume:
        assert resume.decisions == (ApproveDecision(),)


def waiting_at(thread):
    """Give the line at which a thread waits, 0 while it does not."""
    frame = sys._current_frames()[thread]
    return frame.f_lineno if frame.f_code is threading.Condition.wait.__code__ else 0


@contextmanager
def ctrl_c_after(wait):
    """Interrupt this thread after this wait, while the body waits."""

    def press(thread: int) -> None:
        wait()
        # Python does not see a signal that comes just before a thread blocks. A thread that is at one line twice has blocked.
        before = 0
        while not (before and waiting_at(thread) == before):
            before = waiting_at(thread)
            time.sleep(0.001)
        signal.pthread_kill(thread, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    pressing = threading.Thread(target=press, args=[threading.get_ident()])
    pressing.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        pressing.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("key", [None, "invoice-17"])
def test_an_interrupted_call_takes_its_question_back(approvals, desk, key):
    """With a key, the question stays: the next call with it finds it."""

    @requires_approval(approvals)
    def pay(to: str) -> None: ...

    asked: list[str] = []

    def wait() -> None:
        asked.extend(approvals.run(eventually(partial(ids, desk.store))))

    options = asking(key=key) if key else nullcontext()
    with options, ctrl_c_after(wait):
        pay("dana")

    if key:
        assert approvals.run(desk.store.load(asked[0])).withdraw_asked is None
    else:
        approvals.run(eventually(lambda: withdrawn(desk, asked[0])))


async def withdrawn(desk, interrupt_id):
    return (await desk.store.load(interrupt_id)).withdraw_asked


async def wait_for_ever(begun, ended):
    begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_an_interrupted_caller_leaves_nothing_running(approvals):
    """What was asked for ends in the background too."""
    begun, ended = threading.Event(), threading.Event()
    with ctrl_c_after(begun.wait):
        approvals.run(wait_for_ever(begun, ended))

    assert ended.wait(60)


def enter_and_leave(approvals):
    with approvals:
        pass


def leave_where_a_loop_runs(approvals):
    approvals.__enter__()

    async def clean_up() -> None:
        approvals.__exit__(None, None, None)

    asyncio.run(clean_up())


@pytest.mark.parametrize("before", [lambda _: None, enter_and_leave, leave_where_a_loop_runs])
def test_a_client_that_is_not_connected_says_so(redis_url, before):
    """Outside of its context a verb is an error, and no wait for a loop that does not run."""
    approvals = SyncApprovalClient.from_url(redis_url, agent="billing")
    before(approvals)

    with pytest.raises(AgentAdapterError, match="not connected: use it inside `with SyncApprovalClient"):
        approvals.publish(an_interrupt())


def test_what_is_connected_inside_of_one_client_serves_inside_of_the_next(redis_url):
    """As the connections of a model: they belong to their loop, and a process has one."""
    redis = open_redis(redis_url)
    for _ in range(2):
        with SyncApprovalClient.from_url(redis_url, agent="billing") as approvals:
            assert approvals.run(redis.ping())

    with approvals:
        approvals.run(redis.aclose())
    assert len(background_threads()) == 1


def test_leaving_a_client_ends_the_calls_of_other_threads(redis_url, elsewhere):
    """They are cancelled; the calls of another client go on."""
    begun, ended = threading.Event(), asyncio.Event()
    with SyncApprovalClient.from_url(redis_url, agent="other") as other:
        staying = elsewhere.submit(other.run, ended.wait())
        with SyncApprovalClient.from_url(redis_url, agent="billing") as approvals:
            leaving = elsewhere.submit(approvals.run, wait_for_ever(begun, ended))
            begun.wait()

        assert isinstance(leaving.exception(60), CancelledError)
        assert staying.result(60)


def test_a_body_that_ends_after_its_client_was_left_still_uses_up_the_answer(redis_url, approvals, desk):
    """Another thread left the client while a tool ran: nobody may run that tool a second time."""
    leaving = SyncApprovalClient.from_url(redis_url, agent="billing")
    with leaving:
        interrupt = leaving.interrupt(an_interrupt(an_action("pay")).request)
        leaving.publish(interrupt)
        desk.decide(interrupt.id, {0: ApproveDecision()})
        body = leaving.resuming(interrupt.id, interrupt=interrupt)
        body.__enter__()
    body.__exit__(None, None, None)

    with pytest.raises(ConsumedError), approvals.resuming(interrupt.id):
        pass


def test_work_that_ends_the_program_ends_only_for_its_caller(approvals, elsewhere):
    """`sys.exit` inside of what runs reaches whoever called it; the others' waits go on."""

    has_left = asyncio.Event()

    async def leave() -> None:
        has_left.set()
        sys.exit(3)

    async def stay() -> str:
        await has_left.wait()
        return "still here"

    staying = elsewhere.submit(approvals.run, stay())
    with pytest.raises(SystemExit):
        elsewhere.submit(approvals.run, leave()).result(60)

    assert staying.result(60) == "still here"


async def test_verbs_that_block_are_refused_where_a_loop_runs(approvals):
    """They would stop everything else in this thread, or wait for themselves; in another thread they are fine."""

    async def agent() -> None:
        approvals.publish(an_interrupt())

    with pytest.raises(AgentAdapterError, match="would wait for itself: await the method of `client`"):
        await asyncio.to_thread(approvals.run, agent())
    wrong = r"SyncApprovalClient blocks, and the event loop that runs .* use ApprovalClient .* notebook.* asyncio\.to_thread"
    for verb in (
        lambda: approvals.publish(an_interrupt()),
        lambda: approvals.review(an_interrupt().request),
        lambda: approvals.wait("billing.never"),
        lambda: next(approvals.decisions("billing.never")),
        lambda: approvals.reviewing(an_interrupt()).__enter__(),
        lambda: approvals.run(asyncio.sleep(0)),
    ):
        with pytest.raises(InvalidRequestError, match=wrong) as refused:
            verb()
        assert refused.value.__context__ is None

    assert await asyncio.to_thread(approvals.publish, an_interrupt())
