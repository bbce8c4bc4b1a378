"""What the parameters of sentences may be."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Deadline = Literal["approves", "as_said", "rejects", "raises"]
"""What happens at a deadline to what nobody has decided; `as_said`: what each call says."""
Outsider = Literal["bot", "stranger", "guest"]
"""Who may not decide, unless the policy names them."""


class Lost(NamedTuple):
    """What somebody decided before a technical fault lost it."""

    person: str
    actions: Sequence[int]
    decision: str
    """`approve`, `edit`, `reject` or `respond`; empty for several of them."""
    is_vote: bool
    """Whether more people had to agree."""
