"""Signed HTTP delivery, as to an app that has a public URL."""

import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientError, ClientResponse, ClientSession

from playground.delivery import Envelope, Refused


class HttpDelivery:
    """The transport of HTTP mode."""

    name = "http"

    def __init__(self, http: ClientSession, url: str, signing_secret: str) -> None:
        self._http = http
        self.url = url
        self._secret = signing_secret.encode()

    async def send(self, envelope: Envelope) -> Any:
        """Post to the app; any status but 200 is a refusal."""
        body, content_type = _body(envelope)
        headers = {"content-type": content_type, **_signature(self._secret, body)}
        if envelope.retry:
            headers |= {
                "x-slack-retry-num": str(envelope.retry),
                "x-slack-retry-reason": envelope.retry_reason,
            }
        try:
            async with self._http.post(self.url, data=body, headers=headers) as response:
                return await _answer(response)
        except ClientError as error:
            raise Refused(f"the app cannot be reached: {error}", "connection_failed") from error

    async def verify(self) -> bool:
        """Whether the app answers Slack's `url_verification` with its challenge."""
        challenge = {
            "type": "url_verification",
            "challenge": f"challenge-{time.time_ns()}",
            "token": "playground",
        }
        answer = await self.send(Envelope("url_verification", "events_api", challenge, accepts_response=True))
        said = answer.get("challenge") if isinstance(answer, dict) else answer
        return bool(said == challenge["challenge"])


def _body(envelope: Envelope) -> tuple[bytes, str]:
    if envelope.type == "events_api":
        return json.dumps(envelope.payload).encode(), "application/json"
    form = (
        envelope.payload if envelope.type == "slash_commands" else {"payload": json.dumps(envelope.payload)}
    )
    return urlencode(form).encode(), "application/x-www-form-urlencoded"


def _signature(secret: bytes, body: bytes) -> dict[str, str]:
    timestamp = str(int(time.time()))
    digest = hmac.new(secret, b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": timestamp, "x-slack-signature": f"v0={digest}"}


async def _answer(response: ClientResponse) -> Any:
    text = await response.text()
    if response.status != 200:
        final = response.headers.get("x-slack-no-retry") == "1"
        raise Refused(f"the app answered {response.status}", "http_error", final=final)
    if response.content_type != "application/json":
        return text or None
    try:
        return json.loads(text) if text else None
    except ValueError as error:
        raise Refused("the app's JSON cannot be read", "http_error") from error
