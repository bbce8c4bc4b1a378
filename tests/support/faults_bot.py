"""Runs one bot from its environment, as a process that a test can kill, on the loop that `python -m bot` runs on."""

import asyncio
import os
import sys
import threading

import uvloop

from bot.app import main
from bot.runtime.settings import load_settings


def end_with_parent() -> None:
    """End when whoever started this process is gone."""

    def watch() -> None:
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(load_settings(env_file=None)))
