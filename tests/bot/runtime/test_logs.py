"""What is logged: one JSON object per line, never what an agent sent."""

import json
import logging
from pathlib import Path

import pytest

from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.errors import ServerUnreachableError
from bot.runtime.logs import set_up_logging


@pytest.fixture(autouse=True)
def _as_it_was():
    """Leave the process's logging as it was found."""
    root = logging.getLogger()
    handlers, levels = (
        root.handlers[:],
        {name: logging.getLogger(name).level for name in ("", "bot", "agent_adapter")},
    )
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def logged(capsys):
    return capsys.readouterr().err


def test_fields_stand_beside_the_event(capsys):
    """What the code gives as `extra` can be searched for."""
    set_up_logging("INFO", pretty=False)

    logging.getLogger("bot.jobs.presenter").info(
        "card.posted", extra={"interrupt_id": "billing.1", "channel": "C1"}
    )

    line = json.loads(logged(capsys))
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "card.posted",
        "interrupt_id": "billing.1",
        "channel": "C1",
        "level": "info",
        "logger": "bot.jobs.presenter",
    }


@pytest.mark.parametrize("hostile", ["a\nb", "\x1b[31mred", "a\r{}", "\u202eright", "\u2028", "\ud800"])
def test_a_logged_text_cannot_forge_a_line(capsys, hostile):
    """Control and invisible characters are escaped in both forms."""
    for pretty in (False, True):
        set_up_logging("INFO", pretty=pretty)
        logging.getLogger("bot").info("refused", extra={"reason": f"x{hostile}y"})
        logging.getLogger("bot").info("x%sy", hostile)

        text = logged(capsys)
        assert text.count("\n") == 2
        assert hostile not in text
        assert "\r" not in text
    set_up_logging("INFO", pretty=False)
    logging.getLogger("bot").info("refused", extra={"reason": hostile})
    assert json.loads(logged(capsys))["reason"] == hostile


@pytest.mark.parametrize("pretty", [True, False])
def test_a_logged_error_does_not_quote_what_the_agent_sent(capsys, pretty):
    """pydantic quotes its input, and a traceback could show variables: neither is logged, the place is."""
    set_up_logging("DEBUG", pretty=pretty)
    password = {"password": "hunter2"}
    try:
        ActionRequest.model_validate({"name": password, "args": {}})
    except ValueError:
        logging.getLogger("bot.jobs.leased_loop").exception("work.broken")

    text = logged(capsys)
    assert "ValidationError" in text
    assert "test_a_logged_error_does_not_quote_what_the_agent_sent" in text
    assert "hunter2" not in text


def test_errors_of_our_own_keep_their_words(capsys):
    """They quote nothing, and say what to do; what caused them stands before them."""
    set_up_logging("INFO", pretty=False)
    try:
        try:
            Path("/nowhere").read_text()
        except OSError as error:
            raise ServerUnreachableError("Redis does not answer") from error
    except ServerUnreachableError:
        logging.getLogger("bot").exception("failed")

    said = json.loads(logged(capsys))["exception"]
    assert said.endswith("ServerUnreachableError: Redis does not answer")
    assert said.index("FileNotFoundError: ") < said.index("ServerUnreachableError")


@pytest.mark.parametrize(
    "library", ["slack_sdk.web.async_client", "slack_sdk.socket_mode.aiohttp", "aiohttp.access", "redis"]
)
def test_libraries_are_never_heard_below_warning(capsys, library):
    """slack_sdk logs whole messages at DEBUG."""
    set_up_logging("DEBUG", pretty=False)
    logger = logging.getLogger(library)
    # A bot that ran in this process keeps some of them at ERROR.
    logger.setLevel(logging.NOTSET)

    logger.info("body: secret")
    logger.debug("body: secret")
    assert logged(capsys) == ""
    logger.warning("odd")
    assert json.loads(logged(capsys))["event"] == "odd"


def test_the_level_is_that_of_our_own_loggers(capsys):
    """DEBUG shows ours; ERROR silences warnings of all."""
    set_up_logging("DEBUG", pretty=False)
    logging.getLogger("bot.app").debug("detail")
    assert json.loads(logged(capsys))["event"] == "detail"

    set_up_logging("ERROR", pretty=False)
    logging.getLogger("bot.app").warning("odd")
    logging.getLogger("slack_sdk").warning("odd")
    assert logged(capsys) == ""
