"""What the parameters of sentences may be."""

from typing import Literal

Deadline = Literal["approves", "as_said", "rejects", "tells", "raises"]
"""What happens at a deadline to what nobody has decided; `as_said`: what each call says, `tells`: the agent hears just that."""
Outsider = Literal["bot", "stranger", "guest"]
"""Who may not decide, unless the policy names them."""
