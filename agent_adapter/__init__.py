"""A person between an AI agent's tool call and its execution: the library an agent imports."""

from agent_adapter.calls import approval_key
from agent_adapter.client import ApprovalClient, Asking
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.contract.interrupt import Context, Interrupt, Link, Resume
from agent_adapter.errors import (
    AgentAdapterError,
    InterruptEndedError,
    InterruptExpiredError,
    InterruptRefusedError,
    InterruptWithdrawnError,
    RejectedError,
)

__all__ = [
    "ActionRequest",
    "AgentAdapterError",
    "ApprovalClient",
    "Asking",
    "Context",
    "HITLRequest",
    "Interrupt",
    "InterruptEndedError",
    "InterruptExpiredError",
    "InterruptRefusedError",
    "InterruptWithdrawnError",
    "Link",
    "RejectedError",
    "Resume",
    "ReviewConfig",
    "approval_key",
]
