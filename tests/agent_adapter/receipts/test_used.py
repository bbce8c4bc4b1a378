"""A key of an approved call is taken once, also by threads and processes at the same time."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from redis import Redis

from agent_adapter import InvalidRequestError
from agent_adapter.contract.keys import Keys
from agent_adapter.receipts.used import KEEP, PostgresUsed, RedisUsed, SqliteUsed

KEY = "billing.0123:0"


def soon():
    return datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture(
    params=["sqlite", *(pytest.param(kind, marks=pytest.mark.server) for kind in ("redis", "postgres"))]
)
def store(request, tmp_path):
    """Makes a store as each process of a tool would make it."""
    if request.param == "sqlite":
        kind, where = SqliteUsed, [tmp_path / "used.db"]
    elif request.param == "redis":
        kind, where = RedisUsed, [request.getfixturevalue("redis_url"), "tools"]
    else:
        kind, where = PostgresUsed, [request.getfixturevalue("postgres_server").new_database()]
    return lambda: kind(*where)


def test_a_key_is_free_once(store):
    """Also for another process."""
    used, other = store(), store()

    assert [used(KEY, soon()), used(KEY, soon()), other(KEY, soon())] == [True, False, False]
    assert other("billing.0123:1", soon())


def test_of_many_at_once_one_gets_it(store):
    stores = [store() for _ in range(4)]
    stores[0]("warm", soon())
    start = threading.Barrier(8)

    def take(number):
        start.wait()
        return stores[number % 4](KEY, soon())

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(take, range(8))) == [False] * 7 + [True]


def _take(path, answers):
    answers.put(SqliteUsed(path)(KEY, soon()))


@pytest.mark.nightly
def test_of_many_processes_one_gets_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    processes = [context.Process(target=_take, args=(tmp_path / "used.db", answers)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert sorted(answers.get() for _ in processes) == [False, False, True]


def test_a_file_forgets_what_nobody_could_use_any_more(tmp_path):
    used = SqliteUsed(tmp_path / "used.db")
    long_ago = datetime.now(UTC) - KEEP - timedelta(hours=1)

    used("old", long_ago)
    used("just over", datetime.now(UTC) - timedelta(hours=1))
    used("new", soon())

    assert used("old", long_ago) is True
    assert used("just over", soon()) is False


def test_redis_forgets_a_key_a_day_after_it_could_be_used(redis_url):
    RedisUsed(redis_url, "tools")(KEY, soon())

    with Redis.from_url(redis_url) as redis:
        left = timedelta(milliseconds=redis.pttl(f"tools:used:{KEY}"))
    assert KEEP < left <= KEEP + timedelta(hours=1)


@pytest.mark.parametrize("namespace", ["assent", "staging"])
def test_the_redis_of_assent_itself_is_refused(redis_url, namespace, monkeypatch):
    """Who forges approvals there could also free used keys, whatever the namespace."""
    monkeypatch.delenv("ASSENT_NAMESPACE", raising=False)
    with Redis.from_url(redis_url) as redis:
        redis.hset(Keys(namespace).meta, "schema", "1")

        with pytest.raises(InvalidRequestError, match=f"its namespace '{namespace}' .* a Redis of its own"):
            RedisUsed(redis_url, "tools")(KEY, soon())
        assert redis.keys("*used*") == []


def test_a_user_who_may_not_list_keys_finds_the_namespace_of_this_process(redis_url, monkeypatch):
    """And uses a Redis where it may not look at the keys of another one."""
    monkeypatch.setenv("ASSENT_NAMESPACE", "staging")
    with Redis.from_url(redis_url) as redis:
        rights = ["+exists", "+set"]
        redis.acl_setuser(
            "tool", enabled=True, passwords=["+x"], keys=["tools:*", "{staging}:meta"], commands=rights
        )
        redis.hset(Keys("assent").meta, "schema", "1")
        as_tool = redis_url.replace("://", "://tool:x@")
        try:
            assert RedisUsed(as_tool, "tools")(KEY, soon())
            redis.hset(Keys("staging").meta, "schema", "1")
            with pytest.raises(InvalidRequestError, match="its namespace 'staging'"):
                RedisUsed(as_tool, "tools")(KEY, soon())
        finally:
            redis.acl_deluser("tool")


def test_a_transaction_that_fails_frees_the_key_with_its_effect(postgres_server):
    """The tool's own connection: the key is taken when the effect is committed, and only then."""
    address = postgres_server.new_database()
    with psycopg.connect(address) as connection:
        used = PostgresUsed(lambda: connection)
        connection.execute(PostgresUsed.SCHEMA)
        connection.execute("CREATE TABLE paid (amount int)")
        connection.commit()

        assert used(KEY, soon()) is True
        connection.execute("INSERT INTO paid VALUES (1)")
        connection.rollback()
        assert used(KEY, soon()) is True
        connection.execute("INSERT INTO paid VALUES (1)")
        connection.commit()
        assert used(KEY, soon()) is False

        assert connection.execute("SELECT count(*) FROM paid").fetchone() == (1,)
