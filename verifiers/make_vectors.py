"""Write `vectors.json`: receipts with fixed keys and times, and what each verifier has to say. `python -m verifiers.make_vectors`."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.signer import Signature

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.receipt import Receipt
from agent_adapter.receipts.dsse import digest_of, dump_envelope, load_envelope
from agent_adapter.receipts.signer import kid_of
from agent_adapter.receipts.statement import dump_statement
from tests.support.receipts import Signing, listed, milliseconds, ring_text

VECTORS = Path(__file__).parent / "vectors.json"
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
BOT = Signing(bytes(range(32)), now=NOW)
OTHER = Signing(bytes(range(32, 64)), now=NOW)
RING = ring_text(listed(BOT))
ARGS = '{"to":"al","amount":1}'
PAY = BOT.receipt(ARGS)
Vector = dict[str, Any]


def vector(
    name: str,
    expected: str,
    receipt: Receipt | str = PAY,
    *,
    ring: str = RING,
    args: str | bytes = ARGS,
    **given: Any,
) -> Vector:
    """Make one vector. `expected` is `ok` or the code of the refusal."""
    raw = args if isinstance(args, bytes) else args.encode()
    inputs = {"audience": "billing", "tool": "pay", "namespace": "assent", "now": milliseconds(NOW)} | given
    return {
        "name": name, "expected": expected, "ring": ring,
        "receipt": receipt if isinstance(receipt, str) else receipt.dump(),
        "args": base64.b64encode(raw).decode(), **inputs,
    }  # fmt: skip


def of(*statements: Any, args: str = ARGS, index: int = 0) -> Receipt:
    return Receipt(tuple(BOT.sign(each) for each in statements), index, args)


def two(
    first: dict[str, Any], last: dict[str, Any], *, first_statement: dict[str, Any] | None = None
) -> Receipt:
    one = BOT.sign(
        BOT.statement(BOT.action(ARGS, **{"by": "U0BO", "quorum": 2} | first), **first_statement or {})
    )
    counts = (digest_of(load_envelope(one)),)
    return Receipt(
        (one, BOT.sign(BOT.statement(BOT.action(ARGS, **{"quorum": 2, "counts": counts} | last)))), 0, ARGS
    )


def signed_by(envelope: Envelope, *signatures: tuple[str, bytes]) -> Receipt:
    named = {kid: Signature(kid, signature.hex()) for kid, signature in signatures}
    return Receipt((dump_envelope(Envelope(envelope.payload, envelope.payload_type, named)),), 0, ARGS)


def vectors() -> Iterator[Vector]:
    """Give all vectors."""
    yield from approved()
    yield from arguments()
    yield from places_and_times()
    yield from people()
    yield from keys()
    yield from forms()


def approved() -> Iterator[Vector]:
    yield vector("an approved call", "ok")
    yield vector("an edited call", "ok", BOT.receipt(ARGS, kind="edit", position="edit:1", asked="0" * 64))
    yield vector("arguments outside of ASCII", "ok", BOT.receipt('{"to":"ål €😀"}'), args='{"to":"ål €😀"}')
    yield vector("an edit that several people agreed to", "ok", two({"kind": "edit"}, {"kind": "edit"}))
    yield vector("two people of two", "ok", BOT.agreed(["U0BO", "U0DANA"], quorum=2, args=decode(ARGS)))
    yield vector(
        "the second of two calls of one click",
        "ok",
        of(
            BOT.statement(
                BOT.action("{}", kind="reject", position="reject", runs=None), BOT.action(ARGS, i=1)
            ),
            index=1,
        ),
    )
    yield vector("a standing approval", "ok", BOT.receipt(ARGS, how="standing:billing.1:0"))
    yield vector("silence that approves", "ok", BOT.receipt(ARGS, by="expired", how="silence:nightly"))
    yield vector("the run that it belongs to", "ok", run="thread-1")


def arguments() -> Iterator[Vector]:
    yield vector("other arguments", "arguments", args='{"to":"bo","amount":1}')
    yield vector("another order of keys", "arguments", args='{"amount":1,"to":"al"}')
    yield vector("other spaces", "arguments", args='{"to": "al", "amount": 1}')
    yield vector("1.0 for 1", "arguments", args='{"to":"al","amount":1.0}')
    yield vector("true for 1", "arguments", args='{"to":"al","amount":true}')
    yield vector("a text for a number", "arguments", args='{"to":"al","amount":"1"}')
    yield vector("a key twice", "arguments", args='{"to":"al","amount":1,"amount":1}')
    yield vector("a line break at the end", "arguments", args=ARGS + "\n")
    yield vector("no bytes", "arguments", args="")
    yield vector("bytes that are not UTF-8", "arguments", args=b"\xff\xfe")
    yield vector(
        "exchanged arguments in the receipt",
        "arguments",
        replace(PAY, args='{"to":"bo"}'),
        args='{"to":"bo"}',
    )
    yield vector("exchanged arguments in the receipt alone", "arguments", replace(PAY, args='{"to":"bo"}'))


def places_and_times() -> Iterator[Vector]:
    use_by = milliseconds(NOW + timedelta(hours=25))
    yield vector("another tool", "tool", tool="delete")
    yield vector("another agent", "audience", audience="support")
    yield vector("another run", "run", run="thread-2")
    yield vector("another namespace", "namespace", namespace="staging")
    yield vector("within the tolerance of clocks", "ok", now=use_by + 29_999)
    yield vector("expired", "expired", now=use_by + 30_000)
    yield vector("another index", "action", replace(PAY, index=1))
    yield vector("an index below zero", "action", replace(PAY, index=-1))
    rejected = BOT.action(ARGS, kind="reject", position="reject", runs=None)
    yield vector("a rejected call", "kind", of(BOT.statement(rejected)))
    yield vector(
        "a rejected call that claims bytes", "kind", BOT.receipt(ARGS, kind="reject", position="reject")
    )
    yield vector("a call that was answered", "kind", BOT.receipt(ARGS, kind="respond", position="respond"))
    yield vector("an approval without bytes", "kind", of(BOT.statement(BOT.action(ARGS, runs=None))))
    late = milliseconds(NOW + timedelta(hours=1, days=30)) + 1
    yield vector("usable for too long", "use_by", of(BOT.statement(BOT.action(ARGS), use_by=late)))
    yield vector(
        "over before it was signed",
        "use_by",
        of(BOT.statement(BOT.action(ARGS), use_by=milliseconds(NOW) - 1)),
    )
    far = milliseconds(NOW + timedelta(days=30)) + 1
    yield vector("a deadline too far ahead", "deadline", of(BOT.statement(BOT.action(ARGS), deadline=far)))


def people() -> Iterator[Vector]:
    agreed = BOT.agreed(["U0BO", "U0DANA"], quorum=2, args=decode(ARGS))
    yield vector("the first of two people alone", "people", replace(agreed, envelopes=agreed.envelopes[:1]))
    yield vector("the last of two people alone", "people", replace(agreed, envelopes=agreed.envelopes[1:]))
    yield vector("two people in the wrong order", "people", replace(agreed, envelopes=agreed.envelopes[::-1]))
    yield vector("one person twice", "people", BOT.agreed(["U0DANA", "U0DANA"], quorum=2, args=decode(ARGS)))
    yield vector("one statement twice", "people", replace(agreed, envelopes=agreed.envelopes[:1] * 2))
    uncounted = [BOT.statement(BOT.action(ARGS, by=by, quorum=2)) for by in ("U0BO", "U0DANA")]
    yield vector("a vote that was not counted", "people", of(*uncounted))
    yield vector("a vote for something else", "people", two({"position": "edit:2"}, {}))
    yield vector("a vote for other arguments", "people", two({"runs": "1" * 64}, {}))
    yield vector("a first vote that asks for three", "people", two({"quorum": 3}, {}))
    yield vector(
        "a first vote of another record", "record", two({}, {}, first_statement={"rec": "billing.other"})
    )
    yield vector(
        "a first vote for another agent", "audience", two({}, {}, first_statement={"aud": "support"})
    )
    yield vector("more people than the tool asks for", "ok", agreed, min_people=2)
    yield vector("fewer people than the tool asks for", "people", min_people=2)
    yield vector(
        "silence where the tool asks for a person",
        "people",
        BOT.receipt(ARGS, by="expired", how="silence:nightly"),
        min_people=1,
    )


def keys() -> Iterator[Vector]:
    envelope = load_envelope(PAY.envelopes[0])
    raw = bytes.fromhex(envelope.signatures[BOT.kid].signature)
    yield vector("a key that the ring does not have", "key", OTHER.receipt(ARGS))
    yield vector(
        "another key under the name of this one",
        "signature",
        signed_by(envelope, (BOT.kid, OTHER.key.sign(envelope.pae()))),
    )
    yield vector(
        "a second signature that is unknown",
        "ok",
        signed_by(envelope, ("0" * 16, bytes(64)), (BOT.kid, raw)),
    )
    yield vector("a statement of another key", "key", of(BOT.statement(BOT.action(ARGS), kid=OTHER.kid)))
    other = dump_statement(BOT.statement(BOT.action("{}")))
    changed = signed_by(Envelope(other, envelope.payload_type, {}), (BOT.kid, raw))
    yield vector("a changed payload", "signature", replace(changed, args="{}"), args="{}")
    retyped = load_envelope(BOT.sign(envelope.payload, type="text/plain"))
    taken = bytes.fromhex(retyped.signatures[BOT.kid].signature)
    yield vector("a signature of another type", "signature", signed_by(envelope, (BOT.kid, taken)))
    yield vector("no bytes as a signature", "signature", signed_by(envelope, (BOT.kid, b"")))
    yield vector("a signature of 63 bytes", "signature", signed_by(envelope, (BOT.kid, raw[:-1])))
    yield vector("a signature of 65 bytes", "signature", signed_by(envelope, (BOT.kid, raw + b"\0")))
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(raw[32:], "little") + order
    yield vector(
        "a signature with a larger scalar",
        "signature",
        signed_by(envelope, (BOT.kid, raw[:32] + scalar.to_bytes(32, "little"))),
    )
    yield vector("a revoked key", "revoked", ring=ring_text(listed(BOT, revoked=True)))
    yield vector("a key for the log", "key", ring=ring_text(listed(BOT, purpose="log", team=None)))
    yield vector(
        "a key of an agent", "key", ring=ring_text(listed(BOT, purpose="agent", team=None, agent="billing"))
    )
    yield vector("a key of another namespace", "namespace", ring=ring_text(listed(BOT, namespace="staging")))
    yield vector("a key of another workspace", "team", ring=ring_text(listed(BOT, team="T0OTHER")))
    yield vector(
        "a key before its time", "key_time", ring=ring_text(listed(BOT, not_before="2026-11-23T12:00:01Z"))
    )
    yield vector(
        "a key after its time", "key_time", ring=ring_text(listed(BOT, not_after="2026-11-23T11:59:59Z"))
    )
    yield vector(
        "a key that was rotated since",
        "ok",
        ring=ring_text(listed(BOT, not_after="2026-11-23T12:00:00Z"), listed(OTHER)),
        now=milliseconds(NOW + timedelta(hours=2)),
    )
    yield vector("no keys", "key", ring=ring_text())
    yield vector("a field of a key that is not known", "ring", ring=ring_text(listed(BOT, revokd=True)))
    yield vector("a key with the name of another", "ring", ring=ring_text(listed(BOT, kid=OTHER.kid)))
    yield vector("a key that is listed twice", "ring", ring=ring_text(listed(BOT), listed(BOT)))
    yield vector("a ring of another version", "ring", ring=RING.replace('"version":1', '"version":2'))
    yield vector("a ring that is not JSON", "ring", ring=RING[:-1])
    yield vector(
        "revoked once and not revoked then",
        "ring",
        ring=RING.replace('"kid"', '"revoked":true,"revoked":false,"kid"'),
    )
    for name, y in (("identity", 1), ("order two", 2**255 - 20), ("order four", 0)):
        small = Signing(bytes(range(32)), now=NOW)
        small.public = y.to_bytes(32, "little")
        small.kid = kid_of(small.public)
        yield vector(f"a key of small order: {name}", "ring", _forged(small), ring=ring_text(listed(small)))


def _forged(small: Signing) -> Receipt:
    """Sign with nobody's key: valid under the identity for a verifier that does not look."""
    envelope = load_envelope(small.sign(small.statement(small.action(ARGS))))
    return signed_by(envelope, (small.kid, (1).to_bytes(32, "little") + bytes(32)))


def forms() -> Iterator[Vector]:
    statement = dump_statement(BOT.statement(BOT.action(ARGS)))
    fields = decode(statement)
    yield vector(
        "a request as a receipt",
        "type",
        Receipt((BOT.sign(statement, type="application/vnd.assent.request.v1+json"),), 0, ARGS),
    )
    yield vector("a statement of a later version", "version", of(encode(fields | {"v": 2}).encode()))
    yield vector(
        "a statement with an unknown field", "form", of(encode(fields | {"approved": True}).encode())
    )
    yield vector("a statement without actions", "form", of(encode(fields | {"actions": []}).encode()))
    yield vector(
        "a statement with an action twice",
        "form",
        of(encode(fields | {"actions": fields["actions"] * 2}).encode()),
    )
    yield vector(
        "a statement with a quorum of zero",
        "form",
        of(encode(fields | {"actions": [fields["actions"][0] | {"quorum": 0}]}).encode()),
    )
    yield vector("a statement that is not JSON", "form", of(b"{"))
    yield vector(
        "a statement with a key twice", "form", of(statement.replace(b'"aud"', b'"aud":"other","aud"'))
    )
    receipt = decode(PAY.dump())
    yield vector("a receipt of a later version", "version", encode(receipt | {"v": 2}))
    yield vector("a receipt without statements", "form", encode(receipt | {"envelopes": []}))
    yield vector("an index as text", "form", encode(receipt | {"index": "0"}))
    yield vector("an index that is true", "form", encode(receipt | {"index": True}))
    yield vector("arguments as an object", "form", encode(receipt | {"args": {}}))
    yield vector("a receipt that is not JSON", "form", "{")
    yield vector("a receipt with a key twice", "form", PAY.dump().replace('"index"', '"index":0,"index"'))
    own = receipt["envelopes"][0]
    (signature,) = own["signatures"]
    for name, wrong in {
        "without signatures": {"signatures": []},
        "with nine signatures": {
            "signatures": [signature, *({**signature, "keyid": f"{number:016}"} for number in range(8))]
        },
        "with two signatures of one key": {"signatures": [signature, signature]},
        "with signatures that are no list": {"signatures": {}},
        "with a key id that is a number": {"signatures": [{**signature, "keyid": 2}]},
        "with a type that is a number": {"payloadType": 1},
        "that is not base64": {"payload": "%"},
        "in base64 with spaces": {"payload": f"{own['payload']}\n"},
        "in base64 of another alphabet": {"signatures": [{**signature, "sig": _url_safe(signature["sig"])}]},
        "in base64 with bits that are left over": {
            "signatures": [{**signature, "sig": _left_over(signature["sig"])}]
        },
    }.items():
        yield vector(f"an envelope {name}", "form", encode(receipt | {"envelopes": [own | wrong]}))


def _url_safe(text: str) -> str:
    changed = text.replace("+", "-").replace("/", "_")
    assert changed != text
    return changed


def _left_over(text: str) -> str:
    """Write the same 64 bytes with other bits behind their end."""
    assert text.endswith("==")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:-3] + letters[letters.index(text[-3]) | 1] + "=="


def text() -> str:
    """Give the file."""
    return json.dumps(list(vectors()), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    VECTORS.write_text(text(), encoding="utf-8")
