"""Commands inside sentences, spelled so that they can be copied from the terminal and run unchanged."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from agent_league.config.home import find_home

COMMAND_VARIABLE = "AGENT_LEAGUE_COMMAND"
"""The variable in which the bootstrap script says how it was called, such as `./league`."""
_QUOTED_COMMAND = re.compile(r"`league (?=[a-z])")


def rewrite_commands(sentence: str) -> str:
    """Spell the commands of a sentence the way this program was started: `./league run` in a source checkout."""
    return _QUOTED_COMMAND.sub(lambda _: "`" + spell_command(""), sentence)


def spell_command(arguments: str) -> str:
    """Spell a command that stands by itself the way this program was started."""
    return f"{os.environ.get(COMMAND_VARIABLE) or 'league'} {arguments}"


def format_options(options: Mapping[str, object]) -> str:
    """Format options with their values, quoted for a shell, each after a blank; None is left out."""
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None)


def format_home_option(home: Path) -> str:
    """Format `--home`; empty if a command that runs here finds this folder by itself."""
    found = find_home(Path.cwd())
    is_found = found is not None and found.resolve() == home.resolve()
    return format_options({"--home": None if is_found else home})
