"""The receipt of one approved call: what a tool needs to check by itself that people approved exactly this call."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.numbers import whole
from agent_adapter.errors import InvalidRequestError, ReceiptError

HEADER = "Assent-Receipt"
"""The HTTP header that carries a receipt."""
META = "io.assent/receipt"
"""The key of a receipt in the `_meta` of an MCP request."""
VERSION: Final = 1
MOST_BYTES = 1024 * 1024
"""Of a receipt as text."""
MOST_ENVELOPES = 64
MOST_IN_HEADER = 7_500
"""Characters of a header. Common servers refuse a line of more than 8 KB."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The signed statements that decide one call, and the arguments that may run. Nothing in it is checked yet."""

    envelopes: tuple[str, ...]
    """The signed statement of each person who agreed, as text. The last one counts the others."""
    index: int
    """The index of the call in its record."""
    args: str
    """The arguments that may run, in exactly the bytes that were approved."""

    def dump(self) -> str:
        """Write it as JSON."""
        return encode(self.meta()[META])

    @classmethod
    def load(cls, text: str | bytes) -> Self:
        """Read a receipt from JSON.

        Raises:
            ReceiptError: when it is too large (`size`), of another version (`version`), or not a receipt (`form`).
        """
        if len(text) > MOST_BYTES:
            raise ReceiptError(f"a receipt of {len(text):,} bytes is too large", code="size")
        try:
            return cls._read(decode(text))
        except (InvalidRequestError, RecursionError) as error:
            raise ReceiptError(f"a receipt cannot be read: {error}", code="form") from error

    def header(self) -> str:
        """Write it as the value of the HTTP header `Assent-Receipt`: its JSON in base64url.

        Raises:
            ReceiptError: when it is too long for a header (`size`).
        """
        value = base64.urlsafe_b64encode(self.dump().encode()).decode()
        if len(value) > MOST_IN_HEADER:
            raise ReceiptError(
                f"a receipt of {len(value):,} characters does not fit in an HTTP header: send `receipt.dump()` in the body",
                code="size",
            )
        return value

    @classmethod
    def from_header(cls, value: str | None) -> Self:
        """Read the value of the HTTP header `Assent-Receipt`.

        Raises:
            ReceiptError: as `load`; `missing` when there is no such header.
        """
        if value is None:
            raise ReceiptError(f"there is no header {HEADER}: send the receipt with the call", code="missing")
        if len(value) > MOST_BYTES:
            raise ReceiptError(f"a receipt of {len(value):,} characters is too large", code="size")
        try:
            text = base64.b64decode(value.translate({ord("-"): "+", ord("_"): "/"}), validate=True)
        except (ValueError, binascii.Error) as error:
            raise ReceiptError(f"the header {HEADER} is not base64url", code="form") from error
        return cls.load(text)

    def meta(self) -> dict[str, Any]:
        """Return it as the `_meta` of an MCP request, under `io.assent/receipt`."""
        return {
            META: {
                "v": VERSION,
                "envelopes": [decode(each) for each in self.envelopes],
                "index": self.index,
                "args": self.args,
            }
        }

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any] | None) -> Self | None:
        """Read the `_meta` of an MCP request; `None` when it has no receipt.

        Raises:
            ReceiptError: as `load`.
        """
        if not meta:
            return None
        try:
            found = meta.get(META)
            return None if found is None else cls.load(encode(found))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            raise ReceiptError("the _meta of an MCP request is not a JSON object", code="form") from error

    @classmethod
    def _read(cls, fields: Any) -> Self:
        version = whole(fields.get("v")) if type(fields) is dict else None
        if version not in {None, VERSION}:
            raise ReceiptError(
                f"a receipt has version {version}, and this version of Assent knows {VERSION}: update Assent here",
                code="version",
            )
        match fields:
            case {"envelopes": [_, *_] as envelopes, "index": index, "args": str() as args} if version:
                if len(envelopes) > MOST_ENVELOPES:
                    raise ReceiptError(f"a receipt of {len(envelopes)} statements is too large", code="size")
                index = whole(index)
                if index is not None and all(type(each) is dict for each in envelopes):
                    return cls(tuple(encode(each) for each in envelopes), index, args)
        raise ReceiptError(
            "this is not a receipt: pass what `Receipt.dump`, `header` or `meta` wrote", code="form"
        )
