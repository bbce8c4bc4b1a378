"""The commands: `python -m bot` runs the bot; `demo`, `doctor` and `manifest` stand after it."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, NoReturn

import typer

from agent_adapter.errors import AgentAdapterError
from bot.errors import BotError, SettingsError
from bot.logs import set_up_logging
from bot.manifest import Mode, build_manifest, to_yaml
from bot.policy_commands import policy_cli
from bot.settings import load_settings

cli = typer.Typer(
    name="bot",
    help="Assent: a person between an AI agent's tool call and its execution, in Slack.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cli.add_typer(policy_cli, name="policy")


@cli.callback(invoke_without_command=True)
def run(context: typer.Context) -> None:
    """Run the bot with the settings of the environment and of .env."""
    if context.invoked_subcommand:
        return
    with _told_plainly():
        settings = load_settings()
        set_up_logging(settings.log_level)
        # Slack's libraries are slow to import; `manifest` and a wrong setting do not wait for them.
        from bot.app import main  # noqa: PLC0415

        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(main(settings))


@cli.command()
def demo() -> None:
    """Show the main job without Slack: a page to click at a terminal, a played tour without one."""
    try:
        from bot.playground.demo import main  # noqa: PLC0415  # a deployed bot has no packages for it
    except ImportError as error:
        _fail(f"{error}: `make demo` installs what the demo needs, and shows it", code=1)
    with _told_plainly():
        raise typer.Exit(main())


@cli.command()
def doctor() -> None:
    """Check settings, Redis, Slack, the channel and the approvers; exit 1 when something has to be mended."""
    from bot.doctor import main  # noqa: PLC0415  # as in `run`

    raise typer.Exit(main())


@cli.command()
def manifest(
    mode: Annotated[
        Mode, typer.Option(help="socket needs no public address; with http Slack calls the bot")
    ] = "socket",
    url: Annotated[
        str | None, typer.Option(help="where Slack reaches the bot in HTTP mode: https://…")
    ] = None,
    *,
    groups: Annotated[bool, typer.Option("--groups", help="user groups may be approvers")] = False,
    direct: Annotated[
        bool, typer.Option("--direct-messages", help="people may be asked in direct messages")
    ] = False,
) -> None:
    """Print the manifest from which Slack makes the app: api.slack.com/apps, Create New App, From a manifest."""
    try:
        found = build_manifest(mode, url, groups=groups, direct=direct)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(to_yaml(found), nl=False)


@contextlib.contextmanager
def _told_plainly() -> Iterator[None]:
    """End with one sentence for each thing to mend: exit code 2 for settings, 1 for everything else."""
    try:
        yield
    except SettingsError as error:
        _fail(str(error), code=2)
    except (BotError, AgentAdapterError) as error:
        _fail(str(error), code=1)
    except OSError as error:
        # Redis and Slack have errors of their own, so this is about our own address.
        _fail(f"{error.strerror}: may the bot listen on ASSENT_HTTP_HOST and ASSENT_HTTP_PORT?", code=1)


def _fail(sentences: str, *, code: int) -> NoReturn:
    sys.stderr.write(f"{sentences}\n")
    raise typer.Exit(code)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # not there on Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
