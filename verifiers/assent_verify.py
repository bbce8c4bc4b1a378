"""Check the receipt of an approved call, with nothing of Assent installed: one file, and `pip install cryptography`.

    python assent_verify.py --ring ring.json --receipt receipt.json --audience billing --tool pay --args args.json

It prints one sentence. Exit code 0: people approved exactly these arguments for this tool. 1: not proven. 2: wrong usage.

As a module: `verify(ring, receipt, audience=…, tool=…, args=…)`. Both take texts, and `args` takes the bytes that the tool
runs with. What this file does not do is remember: take `proof["id"]` once in a store of your own before the tool runs.
"""

import argparse
import base64
import binascii
import hashlib
import json
import math
import re
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TYPE = "application/vnd.assent.receipt.v1+json"
MOST_RECEIPT, MOST_ENVELOPE, MOST_ENVELOPES, MOST_SIGNATURES = 1024 * 1024, 256 * 1024, 64, 8
DAY = 24 * 60 * 60 * 1000
TOLERANCE = 30 * 1000
LAST, DEEPEST = 253_402_300_799_999, 96
KEY_FIELDS = {"kid", "public", "purpose", "namespace", "team", "agent", "not_before", "not_after", "revoked"}
TEXTS, NUMBERS = {"kid", "ns", "team", "rec", "run", "aud", "body", "policy"}, {"at", "deadline", "use_by"}
STATEMENT_FIELDS = TEXTS | NUMBERS | {"v", "requester", "message", "silence", "actions"}
ACTION_TEXTS = {"pause", "tool", "asked", "stored", "kind", "position", "by", "how"}
ACTION_FIELDS = ACTION_TEXTS | {"i", "quorum", "runs", "rule", "counts"}
KINDS = {"approve", "edit", "reject", "respond"}
NAMESPACE = "[A-Za-z0-9_.:-]{1,64}"
OWNERS = {"receipts": "team", "agent": "agent", "log": ""}
P = 2**255 - 19
Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER = {0, 1, P - 1, Y8, P - Y8}


class Refused(Exception):
    """The receipt does not prove that this call may run."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def verify(
    ring: str,
    receipt: str,
    *,
    audience: str,
    tool: str,
    args: bytes,
    namespace: str = "assent",
    min_people: int = 0,
    run: str | None = None,
    now: int | None = None,
) -> dict[str, Any]:
    """Check a receipt, and return what it proves: `id`, `people`, `kind`, `how`, `at`, `use_by`, `key`. Times are in milliseconds.

    Raises:
        Refused: when a check fails; `code` says which. With the code `ring`, the file of public keys is wrong.
    """
    keys = read_ring(ring)
    envelopes, index, carried = read_receipt(receipt)
    moment = int(time.time() * 1000) if now is None else now
    opened = [open_statement(each, keys, namespace) for each in envelopes]
    last = opened[-1][0]
    for statement, _, _ in opened:
        if statement["aud"] != audience:
            raise Refused("audience", f"it is for the agent {statement['aud']!r}, not for {audience!r}")
        if run is not None and statement["run"] != digest_of_run(run):
            raise Refused("run", "it belongs to another run")
        if moment - TOLERANCE >= statement["use_by"]:
            raise Refused("expired", f"it could be used until {written(statement['use_by'])}")
        if statement["rec"] != last["rec"]:
            raise Refused("record", "it mixes statements of two records")
    votes = [vote_on(statement, index) for statement, _, _ in opened]
    decided = votes[-1]
    if decided["tool"] != tool:
        raise Refused("tool", f"it is for the tool {decided['tool']!r}, not for {tool!r}")
    people = people_who_agreed(opened, votes, min_people)
    for given in (carried.encode(errors="surrogatepass"), args):
        if hashlib.sha256(given).hexdigest() != decided["runs"]:
            raise Refused("arguments", "these arguments are not those that were approved")
    return {
        "id": f"{last['rec']}:{index}",
        "people": people,
        "kind": decided["kind"],
        "how": decided["how"],
        "at": last["at"],
        "use_by": min(statement["use_by"] for statement, _, _ in opened),
        "key": last["kid"],
    }


def read_ring(text: str) -> dict[str, dict[str, Any]]:
    """Read the file of public keys."""
    try:
        ring = parse(text)
        if set(ring) != {"version", "keys"} or whole(ring["version"]) != 1:
            raise ValueError("it is not a ring of version 1")
        if type(ring["keys"]) is not list:
            raise TypeError("its keys are no list")
        keys = {each["kid"]: read_key(each) for each in ring["keys"]}
        if len(keys) != len(ring["keys"]):
            raise ValueError("a key is listed twice")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused("ring", f"the file of public keys cannot be read: {error}") from error
    return keys


def read_key(fields: dict[str, Any]) -> dict[str, Any]:
    if unknown := set(fields) - KEY_FIELDS:
        raise ValueError(f"there is no {min(unknown)!r}")
    public = base64.b64decode(fields["public"], validate=True)
    y = int.from_bytes(public, "little") & (2**255 - 1)
    if len(public) != 32 or y >= P or y in SMALL_ORDER:
        raise ValueError("a public key is not one that can be trusted")
    if hashlib.sha256(public).hexdigest()[:16] != fields["kid"]:
        raise ValueError("a key has a name that is not its own")
    if not re.fullmatch(NAMESPACE, fields["namespace"]) or type(fields.get("revoked", False)) is not bool:
        raise ValueError("`namespace` is a name, and `revoked` is true or false")
    owner = OWNERS[fields["purpose"]]
    for name, form in (("team", "[TE][A-Z0-9]+"), ("agent", "[a-z0-9-]{1,40}")):
        found = fields.get(name)
        if (found is not None) != (name == owner) or (found is not None and not re.fullmatch(form, found)):
            raise ValueError(
                "a key for receipts has a `team`, one of an agent has its `agent`, no other has one"
            )
    early, late = milliseconds(fields.get("not_before"), 0), milliseconds(fields.get("not_after"), 2**63)
    if early > late:
        raise ValueError("`not_before` is later than `not_after`")
    return {
        **fields,
        "verifier": Ed25519PublicKey.from_public_bytes(public),
        "from": early,
        "until": late,
    }


def read_receipt(text: str) -> tuple[list[dict[str, Any]], int, str]:
    """Read a receipt: its envelopes, the index of the action, and the arguments."""
    if len(text) > MOST_RECEIPT:
        raise Refused("size", "it is too large")
    try:
        fields = parse(text)
        version = whole(fields["v"])
        if version not in {None, 1}:
            raise Refused("version", f"it has version {version}, and this file knows 1")
        envelopes, index, args = fields["envelopes"], whole(fields["index"]), fields["args"]
    except (ValueError, TypeError, KeyError) as error:
        raise Refused("form", f"it is not a receipt: {error}") from error
    if (
        version is None
        or index is None
        or type(args) is not str
        or type(envelopes) is not list
        or not envelopes
    ):
        raise Refused("form", "it is not a receipt")
    if len(envelopes) > MOST_ENVELOPES:
        raise Refused("size", "it has too many statements")
    return envelopes, index, args


def open_statement(
    envelope: Any, keys: dict[str, dict[str, Any]], namespace: str
) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return a statement, its digest and the key that signed it (DSSE with Ed25519)."""
    if len(json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))) > MOST_ENVELOPE:
        raise Refused("size", "a statement is too large")
    try:
        kind, payload = envelope["payloadType"], decode(envelope["payload"])
        signatures = [(each["keyid"], decode(each["sig"])) for each in envelope["signatures"]]
        name = kind.encode(errors="surrogatepass")
        signed = b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused("form", "a statement is not in a signed envelope") from error
    if not 0 < len(signatures) <= MOST_SIGNATURES or not all(isinstance(kid, str) for kid, _ in signatures):
        raise Refused("form", "a statement is not in a signed envelope")
    if len({kid for kid, _ in signatures}) < len(signatures):
        raise Refused("form", "a statement is not in a signed envelope")
    if kind != TYPE:
        raise Refused("type", f"something else was signed: {kind!r}")
    key = signer_of(signatures, signed, keys)
    statement = read_statement(payload)
    check_statement(statement, key, namespace)
    return statement, hashlib.sha256(signed).hexdigest(), key


def signer_of(
    signatures: Iterable[tuple[str, bytes]], signed: bytes, keys: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    fit = [(keys[kid], sig) for kid, sig in signatures if kid in keys and keys[kid]["purpose"] == "receipts"]
    if not fit:
        raise Refused("key", "it is signed with a key that the ring does not have for receipts")
    usable = [(key, sig) for key, sig in fit if not key.get("revoked")]
    if not usable:
        raise Refused("revoked", "its key is revoked")
    for key, signature in usable:
        try:
            key["verifier"].verify(signature, signed)
        except InvalidSignature:
            continue
        return key
    raise Refused("signature", "somebody changed what was signed")


def read_statement(payload: bytes) -> dict[str, Any]:
    try:
        fields = parse(payload.decode())
        version = whole(fields["v"])
    except (ValueError, TypeError, KeyError) as error:
        raise Refused("form", "what was signed is not a statement") from error
    if version not in {None, 1}:
        raise Refused("version", f"a statement has version {version}, and this file knows 1")
    actions = fields.get("actions")
    is_whole = (
        version is not None
        and set(fields) <= STATEMENT_FIELDS
        and all(type(fields.get(name)) is str for name in TEXTS)
        and all(whole(fields.get(name), 0, LAST) is not None for name in NUMBERS)
        and type(fields.get("message", "")) is str
        and fields.get("silence", "reject") in ("reject", "raise", "approve")
        and is_requester(fields.get("requester"))
        and type(actions) is list
        and actions
        and all(map(is_action, actions))
        and len({whole(each["i"]) for each in actions}) == len(actions)
    )
    if not is_whole:
        raise Refused("form", "what was signed is not a statement")
    return fields | {name: whole(fields[name]) for name in NUMBERS}


def is_requester(fields: Any) -> bool:
    return fields is None or (
        type(fields) is dict
        and "user" in fields
        and set(fields) <= {"user", "vouched_by"}
        and all(type(each) is str for each in fields.values())
    )


def is_action(fields: Any) -> bool:
    return (
        type(fields) is dict
        and set(fields) <= ACTION_FIELDS
        and all(type(fields.get(name)) is str for name in ACTION_TEXTS)
        and whole(fields.get("i"), 0) is not None
        and whole(fields.get("quorum"), 1) is not None
        and type(fields.get("runs")) in {str, type(None)}
        and type(fields.get("rule", "")) is str
        and type(fields.get("counts", [])) is list
        and all(type(each) is str for each in fields.get("counts", []))
        and fields["kind"] in KINDS
    )


def check_statement(statement: dict[str, Any], key: dict[str, Any], namespace: str) -> None:
    """Compare a statement with what its key may sign."""
    if statement["kid"] != key["kid"]:
        raise Refused("key", "a statement names another key than the one that signed it")
    if statement["ns"] != key["namespace"]:
        raise Refused("namespace", "its key signs for another namespace")
    if statement["team"] != key["team"]:
        raise Refused("team", "its key signs for another workspace")
    at, deadline, use_by = (statement[name] for name in ("at", "deadline", "use_by"))
    if not key["from"] <= at <= key["until"]:
        raise Refused("key_time", f"its key did not sign at {written(at)}")
    if not at <= use_by <= deadline + 30 * DAY:
        raise Refused(
            "use_by", "it may be used for longer than 30 days after its deadline, or was over before"
        )
    if deadline > at + 30 * DAY:
        raise Refused("deadline", "its deadline is more than 30 days after the click")
    if statement["ns"] != namespace:
        raise Refused("namespace", f"it is for the namespace {statement['ns']!r}, not for {namespace!r}")


def vote_on(statement: dict[str, Any], index: int) -> dict[str, Any]:
    found = next((each for each in statement["actions"] if whole(each["i"]) == index), None)
    if found is None:
        raise Refused("action", f"a statement says nothing about action {index}")
    if found["kind"] not in {"approve", "edit"} or found.get("runs") is None:
        raise Refused("kind", f"people decided {found['kind']!r}, so nothing may run")
    return found | {"quorum": whole(found["quorum"])}


def people_who_agreed(opened: list[Any], votes: list[dict[str, Any]], least: int) -> list[str]:
    """Name who agreed. The last statement counts the others; all are about the same thing."""
    decided = votes[-1]
    for (_, digest, _), vote in zip(opened[:-1], votes[:-1], strict=True):
        is_same = all(vote[name] == decided[name] for name in ("position", "tool", "runs"))
        if digest not in decided.get("counts", []) or not is_same:
            raise Refused("people", f"the last statement does not count the one of {vote['by']}")
    people = list(
        dict.fromkeys([vote["by"] for vote in votes if vote["by"] != decided["by"]] + [decided["by"]])
    )
    needed = max(least, *(vote["quorum"] for vote in votes))
    if len(people) < needed:
        raise Refused("people", f"it names {len(people)} of {needed} people who have to agree")
    if least and any(vote["how"].startswith("silence:") for vote in votes):
        raise Refused("people", "nobody decided it, and a person is needed")
    return people


def parse(text: str) -> Any:
    """Read strict JSON: no key twice, no NaN."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise ValueError("a key appears twice in one object")
        return dict(found)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    def number(digits: str) -> float:
        if not math.isfinite(float(digits)):
            raise ValueError("a number is too large")
        return float(digits)

    depth = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*+"|[\[{\]}]', text, re.DOTALL):
        depth += (bracket in "[{") - (bracket in "]}")
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole(value: Any, least: int = -(2**53) + 1, most: int = 2**53 - 1) -> int | None:
    """Return the integer that a JSON number is, if it is whole: 1, 1.0 and 1e0 are the same, and true is none."""
    if type(value) not in {int, float} or not least <= value <= most or value != int(value):
        return None
    return int(value)


def decode(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise ValueError("the same bytes are written in another way")
    return raw


def digest_of_run(run: str) -> str:
    text = json.dumps(["assent/run/v1", run], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def milliseconds(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time has no zone")
    return round(moment.timestamp() * 1000)


def written(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def bytes_of(option: str, path: Path, *, code: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Refused(code, f"--{option}: there is no file {path}") from None
    except OSError as error:
        raise Refused(code, f"--{option}: {path} cannot be read: {error.strerror}") from None


def text_of(option: str, path: Path, *, code: str) -> str:
    try:
        return bytes_of(option, path, code=code).decode()
    except UnicodeDecodeError:
        raise Refused(code, f"--{option}: {path} is not UTF-8 text") from None


def main(given: list[str] | None = None) -> int:
    """Check one receipt from the command line."""
    parser = argparse.ArgumentParser(description="Check that people approved exactly this call.")
    parser.add_argument("--ring", required=True, type=Path, help="the file of public keys")
    parser.add_argument("--receipt", required=True, type=Path, help="the receipt, as JSON")
    parser.add_argument("--audience", required=True, help="the name of the agent")
    parser.add_argument("--tool", required=True, help="the name of the tool")
    parser.add_argument(
        "--args", required=True, type=Path, help="the arguments, in exactly the bytes that run"
    )
    parser.add_argument("--namespace", default="assent")
    parser.add_argument("--min-people", type=int, default=0)
    parser.add_argument("--run", help="the id of the run, if you know it")
    options = parser.parse_args(given)
    try:
        proof = verify(
            text_of("ring", options.ring, code="ring"),
            text_of("receipt", options.receipt, code="form"),
            audience=options.audience,
            tool=options.tool,
            args=bytes_of("args", options.args, code="arguments"),
            namespace=options.namespace,
            min_people=options.min_people,
            run=options.run,
        )
    except Refused as error:
        print(f"Not proven ({error.code}): {error}.")
        return 1
    people = " and ".join(proof["people"])
    print(
        f"Proven: {people} decided {proof['kind']!r} for {options.tool} on {written(proof['at'])}. "
        f"{proof['id']} may run once until {written(proof['use_by'])}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
