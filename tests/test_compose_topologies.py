"""Sentinels and a cluster in containers: what the compose files start is started here without containers."""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml
from redis import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.cli.commands import lines, users_of
from playground.redis_server import find_executable, free_port, start_process
from playground.wait_until import wait_until
from tests.support.lanes import require
from tests.support.pages import page
from tests.support.redis_users import OLDEST
from tests.support.replicas import server_version

NAMES = ("sentinel", "cluster")
until = partial(wait_until, otherwise="the containers are not as they should be")


def services_of(name):
    return yaml.safe_load(page(f"deploy/compose.{name}.yaml"))["services"]


class Containers:
    """Processes in place of containers. What is a name and port 6379 there is 127.0.0.1 and another port here."""

    def __init__(self, name: str, folder: Path) -> None:
        self.services, self.folder, self.name = services_of(name), folder, name
        servers = [each for each in self.services if re.match(r"redis(-\d)?$|sentinel", each)]
        self.ports = dict(zip(servers, self._ports(), strict=False))
        self.started = {}
        users = lines(users_of(Keys("assent"), ["billing"], []), folder / "redis_passwords")
        (folder / "redis_users").write_text("".join(f"{line}\n" for line in users))
        (folder / "redis_servers").write_text("secret-of-servers\n")
        self.passwords = dict(line.split() for line in (folder / "redis_passwords").read_text().splitlines())

    def _ports(self) -> Iterator[int]:
        """Give free ports below those that the system gives to others. A server in a cluster takes a second one as well."""
        for port in random.sample(range(11_000, 20_000), k=9_000):
            if free_port(port) == port and free_port(port + 10_000) == port + 10_000:
                yield port

    def here(self, text: str) -> str:
        """Write a command or an address as it is here."""
        for name, service in self.services.items():
            if address := service.get("networks", {}).get("default", {}).get("ipv4_address"):
                text = text.replace(f"{address}:6379", f"127.0.0.1:{self.ports[name]}")
        for name, port in sorted(self.ports.items(), reverse=True):
            text = re.sub(rf"\b{name}([: ])(6379|26379)\b", rf"127.0.0.1\g<1>{port}", text)
        return text

    def run(self, name: str) -> None:
        """Start what a container would run."""
        (own := self.folder / name).mkdir(exist_ok=True)
        self.started[name] = start_process(["sh", "-euc", self.script(name, own)], {"NAME": name})

    def script(self, name: str, own: Path) -> str:
        service = self.services[name]
        assert service["entrypoint"] == ["sh", "-euc"]
        (text,) = service["command"]
        text = self.here(text.replace("$$", "$"))
        text = text.replace("/data", str(own)).replace("/run/secrets", str(self.folder))
        text = text.replace("announce-ip $NAME", "announce-ip 127.0.0.1")
        port = f'echo "port {self.ports.get(name, 0)}"; echo "bind 127.0.0.1"; echo "dir '
        return text.replace('echo "dir ', port).replace("exec redis-server", f"exec {find_executable()}")

    def connected(self, name: str) -> Redis:
        user = {} if name.startswith("sentinel") else {"username": "servers", "password": "secret-of-servers"}
        return Redis(port=self.ports[name], decode_responses=True, **user)

    def create(self) -> None:
        """Run the container that shares out the slots, to its end."""
        script = self.script("redis-create", self.folder).replace("-h redis ", f"-p {self.ports['redis']} ")
        done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def kill(self, name: str) -> None:
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for name in [*self.started]:
            self.kill(name)

    def address(self, user: str) -> str:
        """Give the address that the file's head tells, for a user."""
        told = re.search(r"redis_url: (\S+)", page(f"deploy/compose.{self.name}.yaml"))[1]
        return self.here(told.replace("assent-bot:PASSWORD", f"{user}:{self.passwords[user]}"))


@pytest.fixture
def containers(request, tmp_path):
    require("Redis with users", server_version() >= OLDEST, "this server is older than 7.0", possible=False)
    running = Containers(request.param, tmp_path)
    yield running
    running.stop()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_put_in_the_place_of_the_one_redis_keeps_approvals_too(name):
    """Every server writes an append-only file, evicts nothing, has a volume and users, and opens no port."""
    servers = {key: each for key, each in services_of(name).items() if re.fullmatch(r"redis(-\d)?", key)}

    assert len(servers) == {"sentinel": 3, "cluster": 6}[name]
    for key, each in servers.items():
        (script,) = each["command"]
        assert {'"appendonly yes"', '"maxmemory-policy noeviction"'} <= {*re.findall(r'"[^"\n]+"', script)}
        assert each["secrets"] == ["redis_users", "redis_servers"]
        assert "ports" not in each
        assert key == "redis" or each["volumes"] == [f"{key}:/data"]


@pytest.mark.nightly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("containers", ["sentinel"], indirect=True)
async def test_a_replica_takes_over_with_the_users_of_the_file(containers):
    """The Sentinels have the rights that they need, and the bot's user is on each server."""
    for name in containers.ports:
        containers.run(name)
        until(lambda name=name: containers.connected(name).ping())
    with containers.connected("sentinel-1") as sentinel:
        until(lambda: sentinel.sentinel_master("assent")["num-slaves"] == 2)
        until(lambda: sentinel.sentinel_master("assent")["num-other-sentinels"] == 2)
        until(lambda: containers.connected("redis").info("replication")["min_slaves_good_slaves"] == 2)
        async with open_redis(containers.address("assent-bot")) as bot:
            await freeze_meta(bot, "assent", begins=True)

            containers.kill("redis")
            until(lambda: sentinel.sentinel_master("assent")["port"] != containers.ports["redis"])
            containers.run("redis")

            await freeze_meta(bot, "assent", begins=True)
        with containers.connected("redis") as former:
            until(lambda: former.info("replication")["role"] == "slave")


@pytest.mark.nightly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("containers", ["cluster"], indirect=True)
async def test_the_cluster_is_made_once_and_serves_the_users_of_the_file(containers):
    """Its slots are shared out at the first start. At the next one, nothing is left to do."""
    require("redis-cli", shutil.which("redis-cli"), "it is not on the PATH")
    for name in containers.ports:
        containers.run(name)
        until(lambda name=name: containers.connected(name).ping())
    for _ in range(2):
        containers.create()
        until(lambda: containers.connected("redis").cluster("INFO")["cluster_state"] == "ok")

    async with open_redis(containers.address("assent-bot")) as bot:
        assert await freeze_meta(bot, "assent", begins=True) == Keys("assent")
