"""Keys that sign, for a demo and for tests."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_adapter.receipts.key_files import read_keys, write_keys, write_seal_key, write_secret
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import new_signer, public_of

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner


@dataclass(frozen=True, slots=True)
class Signing:
    """A private key and a ring, in two files, and the key for the seal of the bots."""

    signer: "CryptoSigner"
    key_path: Path
    ring_path: Path
    seal_path: Path

    @property
    def kid(self) -> str:
        """The name of the key."""
        return str(self.signer.public_key.keyid)

    @property
    def ring(self) -> Ring:
        """The ring as it is in its file; each time another object."""
        return Ring.load(self.ring_path)


def make_signing(
    folder: Path, *, team: str, namespace: str = "assent", name: str = "signing-key.pem"
) -> Signing:
    """Make a key for receipts and a ring with it in a folder.

    A second call with another name adds a second key to the same ring.
    """
    signer, key_path, ring_path = new_signer(), folder / name, folder / "ring.json"
    write_secret(key_path, signer.private_bytes)
    key = RingKey.of(public_of(signer), "receipts", namespace=namespace, team=team)
    write_keys(ring_path, [*read_keys(ring_path), key])
    seal_path = folder / "seal-key"
    if not seal_path.exists():
        write_seal_key(seal_path)
    return Signing(signer, key_path, ring_path, seal_path)
