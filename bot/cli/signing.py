"""`python -m bot keys signing`: makes keys that sign, and keeps the ring of their public keys."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from agent_adapter.errors import AgentAdapterError
from agent_adapter.receipts.key_files import read_keys, write_keys, write_private_key
from agent_adapter.receipts.ring import RING_VARIABLE, Purpose, RingKey, dump_keys
from agent_adapter.receipts.signer import LocalSigner
from bot.domain.errors import SettingsError
from bot.policy.values import read_duration
from bot.runtime.settings import load_access

signing_cli = typer.Typer(
    help="Keys that sign what people decide, and the ring of their public keys.", no_args_is_help=True
)

_KeyFile = Annotated[Path, typer.Argument(help="the new file for the private key; only its owner can read it")]
_RingFile = Annotated[
    Path | None, typer.Option(help="the file of public keys; without it, the one that ASSENT_RING names")
]
_Overlap = Annotated[
    str, typer.Option(help="for how long the old key still signs: until every bot has the new one")
]
