"""The Typer application: all commands under their headings. A command's module is imported when the command is used."""

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agent_league.version import __version__

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Play": {
        "run": "Start a manager, referees and players, play the league, show it live, print the table.",
        "play": "Play in a league yourself, in this terminal.",
        "join": "Let an MCP host play: a gateway with tools to join a league, wait for turns and move.",
        "games": "List the games that can be played here; with a name, tell its rules in full.",
        "strategies": "List the strategies that players can have; with a name, tell all about it.",
        "formats": "List the tournament formats that leagues can have; with a name, tell its settings.",
    },
    "Look": {
        "watch": (
            "Watch a league live, from anywhere, until it is over: its table, its matches, what happens, who is in "
            "trouble."
        ),
        "show": (
            "Show a league's standings, schedule, groups, bracket or ladder, a match, a player or the organisers' "
            "commands."
        ),
        "ratings": "Rate the players of several leagues together, over all their games, and say how sure that is.",
        "replay": "Show a finished match step by step: arrow keys, space, Home and End go through it, q ends.",
        "logs": (
            "Show the logs of the manager, the referees, the players and `league run` as one, in the order of time."
        ),
        "export": (
            "Write a league out of the manager's database: as a site to put anywhere, for spreadsheets, for programs."
        ),
    },
    "Build a player": {
        "new": (
            "Write a player to start from, with a test by `league check`; or a league for `league serve`, or its next "
            "season."
        ),
        "check": "Check a running player, referee, manager or A2A agent from outside, step by step.",
        "evaluate": (
            "Play a player against random, deterministic and mirror agents and its earlier version, and report on it."
        ),
        "assess": "Assess A2A agents: take roles and addresses over A2A, play a league, answer with ratings.",
        "compare": "Play two players against each other until it is clear whether A is better than B.",
        "simulate": (
            "Play strategies against each other, by the rules alone, and say who is better and how sure that is."
        ),
        "experiment": "Play every pair of players in every game with every seed, as a file says, and report on it.",
    },
    "Organise a league": {
        "serve": "Serve all leagues of a SHARED folder, each below its own path, with an index of them.",
        "servers": "Show the servers that share a PostgreSQL, and which of them has which league.",
        "manager": "Run a League Manager.",
        "referee": "Run a Referee. It waits for the manager where that isn't there yet.",
        "player": "Run a Player. It waits for the manager where that isn't there yet.",
        "connect": (
            "Carry any agent behind a router to a league: it dials out, and the league calls the agent through it."
        ),
        "invite-a2a": "Give an A2A agent a seat in a league: register it by its card, and ask it for its moves.",
        "class": (
            "Make a class of a roster: one sign-up address a team, on a sheet to print; without one, list the teams."
        ),
        "grades": "Grade a class by its league: for Canvas, Moodle, Gradescope, or as a table of everything.",
        "start": "Close registration and start the league now.",
        "admin": (
            "Open or close registration, pause or resume, change times, suspend players, correct results, "
            "invite organisers."
        ),
        "verify": (
            "Check match files: the draw against its commitment, and the result against rules, moves and transcript."
        ),
    },
    "Tools": {
        "init": "Write a SHARED folder with the default configuration; files that are there stay as they are.",
        "backup": (
            "Write a backup of a SHARED folder, while leagues are played or not: configuration, data and database."
        ),
        "restore": "Write the SHARED folder that a backup holds. Its leagues go on from there with `league serve`.",
        "rebuild": (
            "Write the files of a league (standings, rounds, lost match files) anew from the manager's database."
        ),
        "schemas": "Write the JSON Schemas of all messages, one file a message; those of league.v1 in a folder v1.",
        "spec": "Write the protocol for readers: protocol-spec.md, and an example of every message in messageexamples.",
        "simulate-faults": (
            "Play leagues on virtual time while frames get lost, agents are killed, disks fill and clocks jump."
        ),
        "bench": "Measure a league against the limit of this machine (needs a source checkout).",
        "version": "Print the version.",
    },
}
"""The commands by heading, with the first paragraph of their help, which is that of the function's docstring."""
SHARED_MODULES = {
    "join": ("play",),
    "catalogue": ("games", "strategies", "formats"),
    "agents": ("referee", "player"),
    "backup": ("restore",),
    "admin": ("start",),
    "setup": ("init", "rebuild", "schemas", "spec", "bench", "version"),
    "simulate_faults": ("simulate-faults",),
}
"""Modules with several commands, or with a command of another name; any other module is named after its command."""
PASS_THROUGH_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Context settings of a command that passes all options, `--help` too, on to another program."""
MAX_HELP_LENGTH = 500
HELP_SETTINGS = {"help_option_names": ["--help", "-h"]}


def load_command(name: str) -> Any:
    """Import a command's module and make the command; it is named after its function."""
    own_name = f"{name}_" if iskeyword(name) else name.replace("-", "_")
    module = next((module for module, names in SHARED_MODULES.items() if name in names), own_name)
    function = getattr(import_module(f"agent_league.cli.{module}"), own_name)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, context_settings=PASS_THROUGH_SETTINGS if name == "bench" else None)(function)
    return typer.main.get_command(alone)


class LazyCommandGroup(TyperGroup):
    """A Typer group that lists commands under headings, each with its first sentence, and imports only the one used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for listed in COMMANDS.values():
            for name, summary in listed.items():
                self.commands[name] = TyperCommand(name, help=summary)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in self.commands else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        widest = max(map(len, self.commands))
        for heading, listed in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(widest), self.commands[name].get_short_help_str(MAX_HELP_LENGTH)) for name in listed]
                )


app = typer.Typer(
    name="league",
    cls=LazyCommandGroup,
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
        typer.echo(f"agent-league {__version__}")
        raise typer.Exit
