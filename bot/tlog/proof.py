"""A proof that entries are in a log, for somebody who has neither the log nor Assent. `verifiers/assent_log.py` checks it."""

import base64
from collections.abc import Iterable
from dataclasses import replace

from agent_adapter.contract.arguments import encode_indented
from bot.tlog.batch import Salted
from bot.tlog.tree import HashOf, inclusion_proof

PROOF_VERSION = 1


def dump_proof(note: str, size: int, entries: Iterable[tuple[int, Salted]], hash_of: HashOf) -> str:
    """Write a proof as JSON.

    Args:
        note: The signed checkpoint.
        size: How many entries it covers.
        entries: What to prove: the place of each entry, and the entry. An erased one proves only that something was there.
        hash_of: Gives the hashes of the tree of this size: see `subtree_reader`.
    """
    proven = [
        # Without the mark, which no path leads to.
        replace(each, mark="").fields
        | {
            "index": index,
            "path": [base64.b64encode(hash).decode() for hash in inclusion_proof(index, size, hash_of)],
        }
        for index, each in entries
    ]
    return encode_indented({"version": PROOF_VERSION, "checkpoint": note, "entries": proven})
