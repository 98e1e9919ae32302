"""The Typer application: all commands under their headings. A command's module is imported when the command is used."""

import builtins
from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agent_league.cli.old_spellings import Respelled, respell
from agent_league.cli.terminal import print_remark
from agent_league.version import __version__

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Play": {
        "run": "Start a manager, referees and players, play the league, show it live, print the table.",
        "demo": (
            "Watch a short cup: eight built-in players of Connect Four, a bracket, and the boards as they are played."
        ),
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
        "leagues": "List the leagues of a SHARED folder: their games, how far they are, and where they run.",
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
        "try": "Try a player of your own in seconds: no servers, a result, and its worst loss to look at.",
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
        "admin": (
            "Start a league, open or close registration, pause or resume, change times, suspend players, correct "
            "results, invite organisers."
        ),
        "verify": (
            "Check match files: the draw against its commitment, and the result against rules, moves and transcript."
        ),
    },
    "Tools": {
        "init": "Write a SHARED folder with the default configuration; files that are there stay as they are.",
        "config": "Check the configuration files of a SHARED folder, or show every setting that counts.",
        "doctor": "Look whether everything is here that a league needs, and say what to do where it isn't.",
        "backup": (
            "Write a backup of a SHARED folder, while leagues are played or not: configuration, data and database."
        ),
        "restore": "Write the SHARED folder that a backup holds. Its leagues go on from there with `league serve`.",
        "rebuild": (
            "Write the files of a league (standings, rounds, lost match files) anew from the manager's database."
        ),
        "help": "Tell what a command does and which options it has; without one, list the commands.",
        "completion": 'Print what makes a shell complete commands and options: `eval "$(league completion bash)"`.',
        "dev": "What the makers of the package use: tests, measurements, faults, schemas, the protocol's pages.",
    },
}
"""The commands by heading, with the first paragraph of their help, which is that of the function's docstring."""
GROUPS: Mapping[str, Mapping[str, str]] = {
    "config": {
        "check": "Check all configuration files of a SHARED folder, and say what is wrong in which.",
        "show": "Print every setting that counts, of system.json and of a league, in the form that --set takes.",
    },
    "dev": {
        "test": "Run the checks and the tests (needs a source checkout).",
        "bench": "Measure a league against the limit of this machine (needs a source checkout).",
        "simulate-faults": (
            "Play leagues on virtual time while frames get lost, agents are killed, disks fill and clocks jump."
        ),
        "schemas": "Write the JSON Schemas of all messages, one file a message; those of league.v1 in a folder v1.",
        "spec": "Write the protocol for readers: protocol-spec.md, and an example of every message in messageexamples.",
    },
}
"""Commands of two words, by the first one, with the first paragraph of their help."""
SHARED_MODULES = {
    "join": ("play",),
    "catalogue": ("games", "strategies", "formats"),
    "agents": ("referee", "player"),
    "backup": ("restore",),
    "config_files": ("config check", "config show"),
    "setup": ("init", "rebuild", "help", "dev test", "dev bench", "dev schemas", "dev spec"),
    "simulate_faults": ("dev simulate-faults",),
}
"""Modules with several commands, or with a command of another name; any other module is named after its command."""
PASSING_COMMANDS = ("dev bench", "dev test")
PASS_THROUGH_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Context settings of a command that passes all options, `--help` too, on to another program."""
MAX_HELP_LENGTH = 500
GROUP_SETTINGS: Mapping[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None}
HELP_SETTINGS = {"help_option_names": ["--help", "-h"]}


def load_command(name: str) -> Any:
    """Import a command's module and make the command, such as `run` or `dev bench`; it is named after its function."""
    if name in GROUPS:
        summary = next(listed[name] for listed in COMMANDS.values() if name in listed)
        return LazyCommandGroup(
            name=name, help=summary, prefix=f"{name} ", headings={"Commands": GROUPS[name]}, **GROUP_SETTINGS
        )
    from agent_league.cli.plain_command import PlainCommand

    word = name.rpartition(" ")[2]
    own_name = f"{word}_" if iskeyword(word) or word in dir(builtins) else word.replace("-", "_")
    module = next((module for module, names in SHARED_MODULES.items() if name in names), own_name)
    function = getattr(import_module(f"agent_league.cli.{module}"), own_name)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = PASS_THROUGH_SETTINGS if name in PASSING_COMMANDS else None
    alone.command(word, cls=PlainCommand, context_settings=settings)(function)
    return typer.main.get_command(alone)


class LazyCommandGroup(TyperGroup):
    """A Typer group that lists commands under headings, each with its first sentence, and imports only the one used."""

    def __init__(
        self, *, prefix: str = "", headings: Mapping[str, Mapping[str, str]] = COMMANDS, **settings: Any
    ) -> None:
        """`prefix` are the words before the names of these commands, with a blank."""
        super().__init__(**settings)
        self._prefix, self._headings = prefix, headings
        self._is_completing = False
        for listed in headings.values():
            for name, summary in listed.items():
                self.commands[name] = TyperCommand(name, help=summary)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        respelled = respell(args) if not self._prefix else Respelled(args, [])
        for hint in [] if ctx.resilient_parsing else respelled.hints:
            print_remark(hint)
        return super().parse_args(ctx, respelled.arguments)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._is_completing or cmd_name not in self.commands:
            return self.commands.get(cmd_name)
        return load_command(self._prefix + cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if not self._prefix and word not in self.commands and not ctx.resilient_parsing:
            from agent_league.cli.command_hints import find_meant_command

            if meant := find_meant_command(word):
                ctx.fail(f"No such command '{word}'. Did you mean '{meant}'?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        self._is_completing = True  # names and summaries are enough
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._is_completing = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        widest = max(map(len, self.commands))
        for heading, listed in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(widest), self.commands[name].get_short_help_str(MAX_HELP_LENGTH)) for name in listed]
                )


app = typer.Typer(
    name="league",
    cls=LazyCommandGroup,
    help="Leagues of autonomous agents that meet over an open protocol and play.",
    epilog="`league help COMMAND` tells more. In a source checkout, ./league test runs the checks.",
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
