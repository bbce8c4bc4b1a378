"""The hosts in an address that names several: `host1:6379,host2,[::1]:6380`."""

from collections.abc import Iterable
from urllib.parse import urlsplit

Host = tuple[str, int]


def read_hosts(text: str, *, port: int) -> tuple[Host, ...]:
    """Read hosts that are separated by commas. One without a port has this one.

    Raises:
        ValueError: when one of them is missing or wrong.
    """
    return tuple(_read(each, port) for each in text.split(","))


def shown_hosts(hosts: Iterable[Host]) -> str:
    """Write hosts as an address has them."""
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in hosts)


def _read(text: str, port: int) -> Host:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.port == 0:
        raise ValueError("no host")
    return parts.hostname, parts.port or port
