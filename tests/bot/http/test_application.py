"""Slack's route: nothing reaches the listeners unverified, and nothing malformed gets further than an answer."""

import asyncio
import io
import json
import logging
import time

import aiohttp
import pytest
from slack_sdk.signature import SignatureVerifier
from yarl import URL

from bot.http import application

BODY = "payload=" + URL.build(query={"p": json.dumps({"type": "block_actions"})}).raw_query_string[2:]
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def bot(start_bot):
    return await start_bot(SLACK_APP_TOKEN=None)


@pytest.fixture
async def post(bot, playground):
    """Send something to Slack's route: `status, answer = await post(body, …)`."""
    async with aiohttp.ClientSession() as session:

        async def send(
            body, *, content_type=FORM, secret=playground.signing_secret, timestamp=None, **headers
        ):
            stamp = str(int(time.time())) if timestamp is None else timestamp
            signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body) or ""
            signed = {
                "Content-Type": content_type,
                "X-Slack-Request-Timestamp": stamp,
                "X-Slack-Signature": signature,
                **headers,
            }
            address = f"http://127.0.0.1:{bot.http.port}/slack/events"
            async with session.post(address, data=io.BytesIO(body.encode()), headers=signed) as answer:
                return answer.status, await answer.text()

        yield send


async def test_a_signed_challenge_is_answered(post):
    """Slack checks the address with a signed `url_verification`."""
    status, text = await post(
        json.dumps({"type": "url_verification", "challenge": "c1"}), content_type="application/json"
    )
    assert (status, json.loads(text)) == (200, {"challenge": "c1"})


@pytest.mark.parametrize("head", ["GET /" + "x" * 9_000, "GET / HTTP/1.1\r\nX-Long: " + "x" * 9_000])
async def test_bytes_that_are_not_a_request_are_one_line_in_the_log(bot, head, caplog):
    """Anybody can send it: no error, and no traceback that a key may stand in."""
    caplog.set_level(logging.INFO)
    reader, writer = await asyncio.open_connection("127.0.0.1", bot.http.port)
    writer.write(f"{head}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()

    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert "request.malformed" in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_command_arrives_as_a_form_of_its_own(post):
    """Without `payload`, and is answered to whoever wrote it."""
    command = {
        "command": "/approvals",
        "text": "help",
        "user_id": "U0DANA",
        "team_id": "T0PLAY",
        "api_app_id": "A0PLAY",
    }
    status, text = await post(URL.build(query=command).raw_query_string)

    assert status == 200
    assert "/approvals rules" in text


UNSIGNED = {
    "other secret": {"secret": "another"},
    "old": {"timestamp": str(int(time.time()) - 400)},
    "not a number": {"timestamp": "abc"},
    "empty": {"timestamp": ""},
    "other digits": {"timestamp": "١٢٣٤٥٦٧٨٩٠"},
    "raised digits": {"timestamp": "²²²²²²²²²²"},
    "no signature": {"X-Slack-Signature": ""},
    "short signature": {"X-Slack-Signature": "v0=0"},
    "letters outside of ASCII": {"X-Slack-Signature": "v0=" + "é" * 64},
    "digits outside of ASCII": {"X-Slack-Signature": "v0=" + "٣" * 64},
}


@pytest.mark.parametrize("changed", UNSIGNED.values(), ids=UNSIGNED)
async def test_what_is_not_signed_by_slack_is_refused(post, changed):
    """Missing, old, malformed and wrong signatures all end in 401."""
    status, text = await post(BODY, **changed)
    assert (status, json.loads(text)) == (401, {"error": "the signature is missing, old or wrong"})


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        ("payload=%7Bnope", FORM, "the payload is not JSON"),
        ("payload=%5B1%5D", FORM, "the payload is not an object"),
        ("payload=" + "%5B" * 50_000, FORM, "the payload is not JSON"),
        ("{", "application/json", "the payload is not JSON"),
        (BODY, "text/plain", "content type text/plain is not Slack's"),
        (BODY, "multipart/form-data", "content type multipart/form-data is not Slack's"),
    ],
    ids=["not JSON", "not an object", "nested too deep", "half JSON", "text", "multipart"],
)
async def test_what_is_signed_but_malformed_is_400(post, body, content_type, reason):
    """A body that nobody can read is an answer, never a traceback."""
    status, text = await post(body, content_type=content_type)
    assert (status, json.loads(text)) == (400, {"error": reason})


@pytest.fixture
async def send_head(bot):
    """Send the head of a request for Slack's route, and some of its body; give the first line of the answer."""

    async def send(*headers: str, body: str = "") -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", bot.http.port)
        head = ["POST /slack/events HTTP/1.1", "Host: bot", f"Content-Type: {FORM}", *headers]
        writer.write("\r\n".join([*head, "", body]).encode())
        line = await asyncio.wait_for(reader.readline(), 60)
        writer.close()
        return line.decode()

    return send


async def test_a_compressed_body_is_415_before_it_is_read(send_head):
    """Slack compresses nothing. Unpacking half a megabyte for a stranger would hold everybody else up for seconds."""
    assert "415" in await send_head("Content-Length: 500000", "Content-Encoding: gzip")


async def test_what_cannot_be_signed_is_401_before_its_body_is_read(send_head):
    """Without a signature of today there is nothing to check, however much is announced."""
    assert "401" in await send_head("Content-Length: 500000")
    assert "401" in await send_head(
        "Content-Length: 500000", f"X-Slack-Request-Timestamp: {int(time.time())}"
    )
    signature = f"X-Slack-Signature: v0={'0' * 64}"
    assert "401" in await send_head(
        "Content-Length: 500000", signature, "X-Slack-Request-Timestamp: 1000000000"
    )


async def test_a_body_is_too_large_before_it_is_read(send_head):
    """What its headers announce is believed."""
    signed = [f"X-Slack-Signature: v0={'0' * 64}", f"X-Slack-Request-Timestamp: {int(time.time())}"]
    assert "413" in await send_head("Content-Length: 2000000", *signed)


async def test_a_body_without_a_length_is_too_large_once_it_is(send_head):
    """Its chunks are counted as they come."""
    signed = [f"X-Slack-Signature: v0={'0' * 64}", f"X-Slack-Request-Timestamp: {int(time.time())}"]
    line = await send_head("Transfer-Encoding: chunked", *signed, body="200000\r\n" + "x" * 0x200000)
    assert "413" in line


async def test_a_body_that_does_not_arrive_is_408(send_head, monkeypatch):
    """Who announces a body has to send it."""
    monkeypatch.setattr(application, "READ_WITHIN", 0.01)
    signed = [f"X-Slack-Signature: v0={'0' * 64}", f"X-Slack-Request-Timestamp: {int(time.time())}"]
    assert "408" in await send_head("Content-Length: 900", *signed)


async def test_in_socket_mode_there_is_no_route_for_slack(start_bot):
    """Nothing takes unsigned requests where nothing has to."""
    bot = await start_bot()
    async with aiohttp.ClientSession() as session:
        async with session.post(f"http://127.0.0.1:{bot.http.port}/slack/events") as answer:
            assert answer.status == 404
        async with session.get(f"http://127.0.0.1:{bot.http.port}/healthz") as answer:
            assert answer.status == 200
        async with session.get(f"http://127.0.0.1:{bot.http.port}/metrics") as answer:
            measured = await answer.text()
            assert "assent_ready 1.0" in measured
            assert 'assent_slack_calls_total{answer="ok",method="auth.test"}' in measured
        async with session.get(f"http://127.0.0.1:{bot.http.port}/readyz") as answer:
            assert (answer.status, await answer.json()) == (200, {"ready": True, "signed": False})
