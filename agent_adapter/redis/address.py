"""The address of Redis as one setting: of one server, of Sentinels, or of a Cluster."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from agent_adapter.errors import WrongArgumentError

Host = tuple[str, int]
Kind = Literal["server", "sentinel", "cluster"]

_PORTS = {"sentinel": 26379, "cluster": 6379}
_LOGIN = {"sentinel_username": "username", "sentinel_password": "password"}
_DATABASE = re.compile(r"(/[0-9]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart: `redis://`, `rediss://`, `unix://`, `redis+sentinel://`, `redis+cluster://`.

    `redis+sentinel://user:password@host1:26379,host2/service/0?sentinel_password=…`: user and password are those of the
    servers. The Sentinels have their own, as `sentinel_username` and `sentinel_password`. Other options are redis-py's, such
    as `ssl_ca_certs`.
    """

    kind: Kind
    server_url: str
    """A server, in the form that redis-py reads. Behind Sentinels and in a cluster, its host says nothing."""
    hosts: tuple[Host, ...] = ()
    """The Sentinels, or servers of the cluster that say where the others are."""
    service: str = ""
    """What the Sentinels call the primary."""
    login: dict[str, str] = field(default_factory=dict)
    """User and password of the Sentinels."""

    @classmethod
    def of(cls, url: str) -> "Address":
        """Take an address apart."""
        scheme = url.partition("://")[0]
        match scheme.partition("+"):
            case ("redis" | "rediss" as server, _, "sentinel"):
                return cls._of_several("sentinel", server, url)
            case ("redis" | "rediss" as server, _, "cluster"):
                return cls._of_several("cluster", server, url)
        return cls("server", url)

    @classmethod
    def _of_several(cls, kind: Literal["sentinel", "cluster"], scheme: str, url: str) -> "Address":
        parts = urlsplit(url)
        user, at, hosts = parts.netloc.rpartition("@")
        service, _, database = parts.path.strip("/").partition("/") if kind == "sentinel" else ("", "", "")
        if kind == "sentinel" and not (service and re.fullmatch(r"[0-9]*", database, re.ASCII)):
            raise ValueError("the service is missing, or the database is not a number")
        if kind == "cluster" and parts.path not in {"", "/", "/0"}:
            raise ValueError("a cluster has no database of this number")
        options = dict(parse_qsl(parts.query))
        login = {name: options.pop(option) for option, name in _LOGIN.items() if option in options}
        server = f"{scheme}://{user}{at}primary/{database}" + (f"?{urlencode(options)}" if options else "")
        found = tuple(_host(each, _PORTS[kind]) for each in hosts.split(","))
        return cls(kind, server, found, unquote(service), login)

    @property
    def shown(self) -> str:
        """The address of Sentinels or of a cluster without passwords, for errors and logs."""
        scheme = f"{urlsplit(self.server_url).scheme}+{self.kind}"
        return f"{scheme}://{shown_hosts(self.hosts)}" + (f"/{self.service}" if self.service else "")


def shown_hosts(hosts: Iterable[Host]) -> str:
    """Write hosts as an address has them."""
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in hosts)


def _host(text: str, port: int) -> Host:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.port == 0:
        raise ValueError("no host")
    return parts.hostname, parts.port or port


def is_cluster(url: str) -> bool:
    """Whether an address is one of a cluster."""
    return url.partition("://")[0] in {"redis+cluster", "rediss+cluster"}


def address_of(url: str, *, where: str = "this") -> str:
    """Return the address of a server without its password, for errors and logs. An error calls a wrong one `where`."""
    scheme = url.partition("://")[0]
    try:
        address = Address.of(url)
    except ValueError:
        # Not with the cause: a misspelt address may hold a password.
        if scheme.endswith("+sentinel"):
            raise WrongArgumentError(
                f"{where} is not the address of Sentinels: write redis+sentinel://host1:26379,host2:26379/service, "
                "and after the service the number of a database, if it is not 0"
            ) from None
        raise WrongArgumentError(
            f"{where} is not the address of a Redis Cluster: write redis+cluster://host1:6379,host2:6379, "
            "and no number of a database"
        ) from None
    shown = address.shown if address.hosts else _server_of(url, where)
    try:
        ConnectionPool.from_url(address.server_url).make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, RedisError) as error:
        raise WrongArgumentError(f"{where} has an option to correct or to leave out: {error}") from None
    return shown


def _server_of(url: str, where: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"redis", "rediss", "unix"} and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise WrongArgumentError(f"{where} is not the address of a Redis: write redis://host:6379/0")
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    # redis-py would use database 0 for anything that is not a number.
    if not _DATABASE.fullmatch(parts.path):
        raise WrongArgumentError(
            f"{where} is not the address of a Redis, because the part after the host is not the number of a database: "
            "write redis://host:6379/0"
        )
    host = parts.hostname or "localhost"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or 6379}{parts.path}"
