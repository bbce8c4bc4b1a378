"""The processes of a measurement."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.conftest import until

MEASURES = """
import asyncio
from benchmarks.processes import child

async def main():
    async with child("-c", "import time; time.sleep(600)") as measured:
        print(measured._process.pid, flush=True)
        await measured.ended()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
async def test_a_measurement_that_is_killed_leaves_none_of_its_processes_running():
    """It has no chance to end them."""
    measurement = await asyncio.create_subprocess_exec(sys.executable, "-c", MEASURES, stdout=PIPE)
    measured = int(await measurement.stdout.readline())

    measurement.kill()
    await measurement.wait()

    await until(lambda: not is_running(measured))


def is_running(process: int) -> bool:
    """Whether a process has not ended. One that nobody waits for has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
