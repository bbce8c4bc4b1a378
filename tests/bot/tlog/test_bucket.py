"""A log in a bucket takes every entry once, as one in a folder does."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from threading import Lock

import boto3
import pytest
from moto import mock_aws

from bot.tlog.batch import batch_path, load_batch
from bot.tlog.bucket import Bucket
from bot.tlog.examine import examine
from bot.tlog.log import Log
from tests.bot.tlog.test_log import Dying
from tests.support.logs import TestLogKey


@pytest.fixture
def key():
    return TestLogKey()


@pytest.fixture
def bucket(monkeypatch):
    """An empty bucket of a stand-in for S3."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="trail")
        yield Bucket.open("s3://trail/of/assent").below("log/00")


def said(log):
    found = []
    while len(found) < log.head().size:
        found += load_batch(log.storage.read(batch_path(len(found))))[0]
    return [each.entry for each in found]


def test_a_file_is_created_once(bucket):
    assert bucket.create("a/b", b"first")
    assert not bucket.create("a/b", b"second")
    assert bucket.read("a/b") == b"first"
    assert bucket.read("a/c") is None


def test_a_file_is_exchanged_only_as_it_was_read(bucket):
    assert bucket.swap("checkpoint", None, b"one")
    assert not bucket.swap("checkpoint", None, b"two")
    assert not bucket.swap("checkpoint", b"zero", b"two")
    assert bucket.swap("checkpoint", b"one", b"two")
    assert bucket.read("checkpoint") == b"two"


def test_a_file_that_changes_after_it_was_read_is_not_exchanged(bucket):
    """Somebody writes between the reading and the writing of `swap`."""
    bucket.put("checkpoint", b"one")
    read = bucket.client.get_object

    def read_and_change(**given):
        answer = read(**given)
        bucket.client.put_object(Bucket="trail", Key=given["Key"], Body=b"other")
        return answer

    slow = Bucket(bucket.name, bucket.prefix, _With(bucket.client, get_object=read_and_change))

    assert not slow.swap("checkpoint", b"one", b"two")
    assert bucket.read("checkpoint") == b"other"


class _With:
    """A client of boto3 with other methods."""

    def __init__(self, client, **methods):
        self._client, self._methods = client, methods

    def __getattr__(self, name):
        return self._methods.get(name) or getattr(self._client, name)


def test_names_are_those_of_the_files_and_folders_there_also_beyond_a_thousand(bucket):
    for number in range(1_003):
        bucket.put(f"said/{number:04d}", b"x")
    bucket.put("tile/0/000", b"x")

    assert bucket.names("said") == [f"{number:04d}" for number in range(1_003)]
    assert bucket.names("") == ["said", "tile"]
    assert bucket.names("none") == []


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("at", range(1, 7))
def test_a_process_that_dies_at_any_write_loses_and_doubles_nothing(bucket, key, at, after):
    Log(bucket, "assent/test", key).append([b"%d" % number for number in range(255)])
    wanted = [b"255", b"256", b"257"]

    with suppress(KeyboardInterrupt):
        Log(Dying(bucket, at, after), "assent/test", key).append(wanted)
    log = Log(bucket, "assent/test", key)
    if missing := 258 - log.head().size:
        log.append(wanted[-missing:])

    assert said(log) == [b"%d" % number for number in range(258)]
    assert examine(log).head.size == 258


class _OneByOne:
    """A client of boto3 whose calls do not overlap: two at once on one object confuse the stand-in, and not S3."""

    def __init__(self, client):
        self._client, self._lock = client, Lock()

    def __getattr__(self, name):
        def call(**given):
            with self._lock:
                answer = getattr(self._client, name)(**given)
                return {**answer, "Body": BytesIO(answer["Body"].read())} if "Body" in answer else answer

        return call


def test_two_that_write_at_once_make_one_log(bucket, key):
    shared = Bucket(bucket.name, bucket.prefix, _OneByOne(bucket.client))

    def fill(_):
        log = Log(shared, "assent/test", key)
        while (head := log.head()).size < 40:
            log.append([b"%d" % number for number in range(head.size, min(head.size + 7, 40))], after=head)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, range(4)))

    log = Log(bucket, "assent/test", key)
    assert said(log) == [b"%d" % number for number in range(40)]
    assert examine(log).head.size == 40


def test_a_bucket_that_is_not_there_is_an_error_of_the_system(bucket, key):
    gone = Bucket("gone", "", bucket.client)

    with pytest.raises(OSError, match="the bucket gone refused get_object"):
        Log(gone, "assent/test", key).head()


@pytest.mark.parametrize("address", ["s3://", "s3:///folder"])
def test_an_address_without_a_bucket_is_named(address):
    with pytest.raises(OSError, match="names no bucket"):
        Bucket.open(address)
