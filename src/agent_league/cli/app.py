"""The Typer application: all commands, grouped by purpose."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agent_league.cli import (
    admin,
    agents,
    check,
    evaluate,
    export,
    games,
    join,
    logs,
    new,
    play,
    replay,
    run,
    setup,
    show,
    simulate,
    simulate_faults,
    strategies,
    verify,
    watch,
)

COMMANDS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "Play": (run.run, play.play, join.join, games.games, strategies.strategies),
    "Look": (watch.watch, show.show, replay.replay, logs.logs, export.export),
    "Build a player": (new.new, check.check, evaluate.evaluate, simulate.simulate),
    "Organise a league": (agents.manager, agents.referee, agents.player, admin.start, admin.admin, verify.verify),
    "Tools": (
        setup.init,
        setup.rebuild,
        setup.schemas,
        setup.spec,
        simulate_faults.simulate_faults,
        setup.bench,
        setup.version,
    ),
}
"""Command functions by heading; a command is named after its function."""
PASS_THROUGH_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Context settings of a command that passes all options, `--help` too, on to another program."""
MAX_HELP_LENGTH = 500
HELP_SETTINGS = {"help_option_names": ["--help", "-h"]}


class HeadedCommandGroup(TyperGroup):
    """A Typer group whose help lists commands under headings, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        widest = max(map(len, self.commands))
        for heading, functions in COMMANDS.items():
            shown = [self.commands[_command_name(function)] for function in functions]
            with formatter.section(heading):
                formatter.write_dl(
                    [(str(one.name).ljust(widest), one.get_short_help_str(MAX_HELP_LENGTH)) for one in shown]
                )


def _command_name(function: Callable[..., None]) -> str:
    return function.__name__.replace("_", "-")


app = typer.Typer(
    name="league",
    cls=HeadedCommandGroup,
    help="Leagues of autonomous agents that meet over an open protocol and play.",
    epilog="`league COMMAND --help` tells more. In a source checkout, ./league test runs the checks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP_SETTINGS,
)


@app.callback(invoke_without_command=True)
def print_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        setup.version()
        raise typer.Exit


for command in chain.from_iterable(COMMANDS.values()):
    app.command(_command_name(command), context_settings=PASS_THROUGH_SETTINGS if command is setup.bench else None)(
        command
    )
