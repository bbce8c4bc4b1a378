"""The ring: the public keys that a verifier trusts, each bound to what it may sign."""

import base64
import binascii
import logging
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from agent_adapter.contract.arguments import decode, encode_indented
from agent_adapter.contract.hitl import WireModel
from agent_adapter.contract.names import AgentName, Namespace
from agent_adapter.contract.numbers import whole
from agent_adapter.contract.record import milliseconds
from agent_adapter.contract.wire import to_model
from agent_adapter.errors import InvalidRequestError, ReceiptError
from agent_adapter.extras import needs
from agent_adapter.receipts.dsse import digest_of, load_envelope
from agent_adapter.receipts.signer import CREATE, kid_of
from agent_adapter.receipts.statement import LONGEST_USE, RECEIPT, Statement, load_statement

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

logger = logging.getLogger(__name__)

RING_VARIABLE = "ASSENT_RING"
REQUIRED_VARIABLE = "ASSENT_REQUIRE_SIGNED"

RING_VERSION: Final = 1
LONGEST_WAIT = timedelta(days=30)
"""How far the deadline may lie ahead when somebody decides."""
KEPT = 1024
"""How many checked envelopes are kept in memory."""
LOOK_EVERY = 1.0
"""Seconds between two looks at whether the file of the ring has changed."""

Purpose = Literal["receipts", "log", "agent"]
_OWNER = {"receipts": "the bot's public key", "agent": "the agent's public key"}

_P = 2**255 - 19
_Y8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_SMALL_ORDER = {0, 1, _P - 1, _Y8, _P - _Y8}
"""The y coordinates of the eight points of small order. Anybody can make signatures that verify under such a key."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def _read_time(value: object) -> object:
    # Numbers are refused: it is not clear whether they are seconds or milliseconds.
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("write a time with its zone, as in 2026-12-31T00:00:00Z") from None


_Time = Annotated[AwareDatetime, BeforeValidator(_read_time)]


class RingKey(WireModel):
    """One public key: what it may sign, for whom, and when."""

    # An unknown field is refused: a misspelt `revoked` must not be ignored. What stands in a wrong one could be a private key.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    kid: str
    """Its name: the first 16 hex digits of the SHA-256 of its 32 bytes."""
    public: str
    """Its 32 bytes in base64."""
    purpose: Purpose
    """What it may sign: statements about clicks and heads of the audit log, these heads alone, or what an agent asks."""
    namespace: Namespace
    """The namespace in Redis for which it signs."""
    team: Annotated[str, StringConstraints(pattern=r"^[TE][A-Z0-9]+$")] | None = None
    """The id of the Slack workspace in which people decide. Only a key for receipts has it."""
    agent: AgentName | None = None
    """The name of the agent. Only a key of an agent has it."""
    not_before: _Time | None = None
    """What is dated earlier was not signed with this key."""
    not_after: _Time | None = None
    """What is dated later was not signed with this key."""
    revoked: Annotated[bool, Field(strict=True)] = False
    """Whether nothing that it signed counts, whatever its date."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        raw = _public_bytes(self.public)
        if self.kid != kid_of(raw):
            raise ValueError(f"this public key is called {kid_of(raw)!r}, not {self.kid!r}")
        wanted = {"receipts": "team", "agent": "agent"}.get(self.purpose)
        for name in ("team", "agent"):
            if (getattr(self, name) is not None) != (name == wanted):
                raise ValueError(
                    f"a key of purpose {self.purpose!r} {'needs its' if name == wanted else 'has no'} {name!r}"
                )
        if self.not_before and self.not_after and self.not_before > self.not_after:
            raise ValueError("not_before is later than not_after")
        return self

    @classmethod
    def of(cls, public: bytes, purpose: Purpose, **fields: Any) -> Self:
        """Make the entry of a public key."""
        named = {"kid": kid_of(public), "public": base64.b64encode(public).decode(), "purpose": purpose}
        return to_model(cls.model_validate, named | fields, where="key")

    @cached_property
    def public_key(self) -> "SSlibKey":
        """What verifies its signatures."""
        try:
            from securesystemslib.signer import SSlibKey  # noqa: PLC0415  # an extra
        except ImportError as error:
            raise InvalidRequestError(needs("A ring of public keys", "receipts", error)) from error
        return SSlibKey(self.kid, "ed25519", "ed25519", {"public": base64.b64decode(self.public).hex()})

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether this key made this signature."""
        from securesystemslib.exceptions import UnverifiedSignatureError  # noqa: PLC0415  # an extra
        from securesystemslib.signer import Signature  # noqa: PLC0415  # likewise

        try:
            self.public_key.verify_signature(Signature(self.kid, signature.hex()), data)
        except UnverifiedSignatureError:
            return False
        return True

    def could_sign_at(self, at: int) -> bool:
        """Whether something of this date, in Unix milliseconds, may be signed with this key."""
        early = self.not_before and at < _unix(self.not_before)
        late = self.not_after and at > _unix(self.not_after)
        return not early and not late


class _RingFile(WireModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    version: Literal[1]
    keys: tuple[RingKey, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A statement that a trusted key has signed."""

    statement: Statement
    digest: str
    """Names the statement: `digest_of` its envelope."""
    key: RingKey


class Ring:
    """The public keys that a verifier trusts. A ring from a file follows the file.

    Args:
        keys: No two with the same public key.

    Raises:
        InvalidRequestError: when a key is there twice, or securesystemslib is not installed.
    """

    def __init__(self, keys: Iterable[RingKey] = ()) -> None:
        self._path: Path | None = None
        self._seen: object = None
        self._next_look = 0.0
        self._trust(keys)

    @classmethod
    def parse(cls, text: str, *, where: str = "ring") -> Self:
        """Read a ring from JSON."""
        return cls(parse_keys(text, where=where))

    @classmethod
    def load(cls, path: str | Path, *, where: str = "ring") -> Self:
        """Read a ring from a file, and again when it has changed; if it is broken then, the last ring stays. No key of a bot is a warning.

        Args:
            path: The file.
            where: What named the file, for errors.

        Raises:
            InvalidRequestError: when the file cannot be read or is not a ring.
        """
        seen = _stamp(Path(path))
        ring = cls(_read_file(Path(path), where))
        ring._path, ring._seen = Path(path), seen
        if not any(key.purpose == "receipts" and not key.revoked for key in ring.keys.values()):
            logger.warning(
                "The ring in %s does not have the bot's public key, so no decision counts: %s makes one",
                path,
                CREATE,
            )
        return ring

    @classmethod
    def from_environment(cls) -> Self | None:
        """Read the ring that `ASSENT_RING` names; `None` when it is not set."""
        path, required = os.environ.get(RING_VARIABLE), _is_on(REQUIRED_VARIABLE)
        if path:
            return cls.load(path, where=RING_VARIABLE)
        if required:
            raise InvalidRequestError(
                f"{REQUIRED_VARIABLE} is set, and {RING_VARIABLE} is not: name the file of public keys in it"
            )
        return None

    @property
    def keys(self) -> Mapping[str, RingKey]:
        """The keys by their names, as the file has them now."""
        self._look()
        return self._keys

    @property
    def state(self) -> object:
        """What stands for the keys of this moment. It is another object after each change of the file."""
        self._look()
        return self._open

    def check(self, envelope: "Envelope", *, purpose: Purpose, type: str) -> RingKey:
        """Return the key that signed a payload of this type. The caller compares what the key is for, and its times.

        Raises:
            ReceiptError: when it is of another type (`type`), or not signed by a key for this purpose (`key`, `revoked`,
                `signature`).
        """
        from securesystemslib.exceptions import UnverifiedSignatureError  # noqa: PLC0415  # an extra

        if envelope.payload_type != type:
            raise ReceiptError(
                f"a signed text is of type {envelope.payload_type!r}, not {type!r}", code="type"
            )
        keys = self.keys
        known = [key for kid in envelope.signatures if (key := keys.get(kid))]
        fit = [key for key in known if key.purpose == purpose]
        if not fit:
            raise _unknown(envelope, known[0] if known else None, purpose)
        usable = [key for key in fit if not key.revoked]
        if not usable:
            raise ReceiptError(
                f"the key {fit[0].kid} is revoked, so what it signed counts no more", code="revoked"
            )
        try:
            (kid,) = envelope.verify([key.public_key for key in usable], threshold=1)
        except UnverifiedSignatureError:
            raise ReceiptError(
                f"a signature is not from the key {usable[0].kid}: somebody changed what was signed",
                code="signature",
            ) from None
        return keys[kid]

    def open_statement(self, text: str, *, namespace: str) -> Opened:
        """Read a statement about a click that a bot of this namespace has signed. A second reading is fast."""
        self._look()
        opened = self._open(text)
        if opened.key.namespace != namespace:
            raise ReceiptError(
                f"a receipt was signed for the namespace {opened.key.namespace!r}, and this is {namespace!r}: "
                "give this process the namespace and the ring of its own bot",
                code="namespace",
            )
        return opened

    def _read_statement(self, text: str) -> Opened:
        envelope = load_envelope(text)
        key = self.check(envelope, purpose="receipts", type=RECEIPT)
        statement = load_statement(envelope.payload)
        _check_key(key, statement)
        _check_times(key, statement)
        return Opened(statement, digest_of(envelope), key)

    def _trust(self, keys: Iterable[RingKey]) -> None:
        listed = tuple(keys)
        found = {key.kid: key for key in listed if key.public_key}
        if len(found) < len(listed):
            raise InvalidRequestError("ring: a key is listed twice: keep one entry for each key")
        # First the keys: what is kept from now on was checked with them.
        self._keys = MappingProxyType(found)
        # By its text, so that no other text can meet a result. Errors are not kept.
        self._open = lru_cache(KEPT)(self._read_statement)

    def _look(self) -> None:
        if self._path is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_EVERY
        # First the stamp: what is written after it has another one, and is read at the next look.
        before, self._seen = self._seen, _stamp(self._path)
        if self._seen == before:
            return
        try:
            self._trust(_read_file(self._path, "ring"))
            logger.info("The ring in %s has changed: it has %d keys", self._path, len(self._keys))
        except InvalidRequestError as error:
            logger.error("The changed ring cannot be used, so the keys from before count: %s", error)  # noqa: TRY400  # a sentence is enough


def _read_file(path: Path, where: str) -> tuple[RingKey, ...]:
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        because = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidRequestError(
            f"{where}: cannot read {path}: {because}: name the file of public keys that "
            "`keys signing` keeps, and let this user read it"
        ) from error
    return parse_keys(text, where=str(path))


def _stamp(path: Path) -> object:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return None


def _unknown(envelope: "Envelope", other: RingKey | None, purpose: Purpose) -> ReceiptError:
    if other:
        sentence = f"the key {other.kid} is for {other.purpose}, not for {purpose}"
    else:
        # Only what looks like a name is repeated: anybody can write anything there.
        kid = next(iter(envelope.signatures))
        named = kid if len(kid) <= 64 and kid.isascii() and kid.isalnum() else "of another name"
        sentence = f"it is signed with a key {named}, and the ring does not have it: add {_OWNER[purpose]} to the ring"
    return ReceiptError(sentence, code="key")


def _check_key(key: RingKey, statement: Statement) -> None:
    if statement.kid != key.kid:
        raise ReceiptError(
            f"a receipt of {statement.rec} names the key {statement.kid!r} and is signed with {key.kid}",
            code="key",
        )
    for code, named, bound in (
        ("namespace", statement.ns, key.namespace),
        ("team", statement.team, key.team),
    ):
        if named != bound:
            raise ReceiptError(
                f"a receipt of {statement.rec} is for the {code} {named!r}, and the key {key.kid} signs for {bound!r}",
                code=code,
            )


def _check_times(key: RingKey, statement: Statement) -> None:
    if not key.could_sign_at(statement.at):
        raise ReceiptError(
            f"a receipt of {statement.rec} is dated {_written(statement.at)}, and the key {key.kid} signs only "
            "between its not_before and not_after",
            code="key_time",
        )
    if not statement.at <= statement.use_by <= statement.deadline + milliseconds(LONGEST_USE):
        raise ReceiptError(
            f"a receipt of {statement.rec} may be used until {_written(statement.use_by)}: that is before it was signed, "
            f"or more than {LONGEST_USE.days} days after its deadline",
            code="use_by",
        )
    if statement.deadline > statement.at + milliseconds(LONGEST_WAIT):
        raise ReceiptError(
            f"a receipt of {statement.rec} names the deadline {_written(statement.deadline)}, more than "
            f"{LONGEST_WAIT.days} days after the click",
            code="deadline",
        )


def parse_keys(text: str, *, where: str) -> tuple[RingKey, ...]:
    """Read the keys of a ring from JSON."""
    try:
        fields = decode(text)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where}: {error}") from error
    version = fields.get("version") if isinstance(fields, dict) else None
    if whole(version) != RING_VERSION:
        raise InvalidRequestError(
            f'{where}: this version of Assent reads rings with "version": {RING_VERSION}; make one with '
            f"{CREATE}"
        )
    return to_model(_RingFile.model_validate, fields, where=where).keys


def dump_keys(keys: Iterable[RingKey]) -> str:
    """Write a ring as JSON, in an order that does not depend on when a key was added."""
    ordered = sorted(keys, key=lambda key: (key.purpose, key.namespace, key.team or key.agent or "", key.kid))
    listed = [key.model_dump(mode="json", exclude_defaults=True) for key in ordered]
    return encode_indented({"version": RING_VERSION, "keys": listed}) + "\n"


def _is_on(variable: str) -> bool:
    text = os.environ.get(variable, "").strip().lower()
    if text not in _TRUE | _FALSE:
        raise InvalidRequestError(f"{variable}: {text!r} is neither true nor false")
    return text in _TRUE


def _public_bytes(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    # The text is not repeated: it could be a private key.
    if len(raw) != 32:
        raise ValueError("`public` is not a public key of Ed25519: 32 bytes in base64")
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER:
        raise ValueError("anybody can make signatures that are valid under this public key (small order)")
    return raw


def _unix(at: datetime) -> int:
    return milliseconds(at - _EPOCH)


def _written(at: int) -> str:
    try:
        return f"{_EPOCH + timedelta(milliseconds=at):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return "outside of the calendar"
