"""The transparency log: a Merkle tree over the audit trail, in tiles, under a signed checkpoint.

RFC 6962 has the tree; c2sp.org/tlog-tiles, /tlog-checkpoint and /signed-note have the files.
"""
