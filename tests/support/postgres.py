"""A real PostgreSQL on a socket of its own, for threads that outlive their process."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

_DEBIAN = "/usr/lib/postgresql"


def binaries() -> Path | None:
    """Find the server's programs, on the PATH or where Debian puts them; the newest version."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    folders = sorted(Path(_DEBIAN).glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return folders[-1].parent if folders else None


class PostgresServer:
    """A server that ends with its tests. It does not survive a power cut, so it starts fast."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        # A socket's path has at most 107 bytes, and pytest's folders are readable for their owner alone.
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._databases = 0

    def start(self) -> None:
        if os.geteuid() == 0:
            # The server refuses to run as root; its Debian package brings a user for it.
            shutil.chown(self._folder, "postgres", "postgres")
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-N")
        options = f"-k {self._folder} -c listen_addresses='' -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")
        shutil.rmtree(self._folder)

    def new_database(self) -> str:
        """Give the address of an empty database."""
        self._databases += 1
        name = f"threads_{self._databases}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._address(name)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _address(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def _run(self, program: str, *arguments: str) -> None:
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run(
            [*as_postgres, str(self._binaries / program), *arguments],
            check=True,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
