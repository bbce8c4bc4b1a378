"""Acceptance tests run with keys if they do not say otherwise, and what was signed is verified at the end."""

import json
from base64 import b64decode
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import Key, SSlibKey

from tests.support.topologies import connected

unsigned = pytest.mark.parametrize("signed", [False], indirect=True, ids=["unsigned"])
"""For a test of bots without keys, and of agents without a ring."""


def verified(redis_url: str, ring: Path) -> list[bytes]:
    """Give the payload of every statement about a click that is kept in Redis.

    Raises:
        VerificationError: when no key of the ring has signed one of them.
    """
    keys = _keys(ring)
    with connected(redis_url, decode_responses=True) as redis:
        return [
            _verified(line, keys)
            for name in redis.scan_iter("*:card:*", count=1000, _type="hash")
            for field, text in redis.hgetall(name).items()
            if field.startswith("signed:")
            for line in text.split("\n")
        ]


def _verified(text: str, keys: list[Key]) -> bytes:
    envelope = Envelope.from_dict(json.loads(text))
    envelope.verify(keys, threshold=1)
    return bytes(envelope.payload)


def _keys(ring: Path) -> list[Key]:
    """Give the keys for receipts of a ring's file, also those whose time is over."""
    return [
        SSlibKey(each["kid"], "ed25519", "ed25519", {"public": b64decode(each["public"]).hex()})
        for each in json.loads(ring.read_text())["keys"]
        if each["purpose"] == "receipts"
    ]
