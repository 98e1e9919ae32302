"""`league completion`: what makes a shell complete commands and options, and the answers to a shell that asks."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

PROGRAM = "league"
"""The name that shells know the command by; bash completes `./league` by it, too."""
COMPLETION_VARIABLE = "_LEAGUE_COMPLETE"
"""A shell that asks what may follow sets it, to an instruction of Typer's."""


class Shell(StrEnum):
    """The shells that can ask."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell | None, typer.Argument(help="The shell (default: $SHELL).", show_default=False)] = None,
) -> None:
    """Print what makes a shell complete commands and options: `eval "$(league completion bash)"`.

    The line belongs into the file that the shell reads at its start: ~/.bashrc, or ~/.zshrc, there after compinit. For
    fish: league completion fish > ~/.config/fish/completions/league.fish
    """
    from agent_league.errors import UserError

    asked = shell or Path(os.environ.get("SHELL", "")).name
    if asked not in [*Shell]:
        raise UserError(f"which shell? expected one of {', '.join(Shell)}, such as `league completion bash`")
    answer_shell(f"source_{asked}")


def answer_shell(instruction: str) -> int:
    """Print what a shell asks for by an instruction of Typer's; return an exit code."""
    from typer.completion import get_completion_inspect_parameters, shell_complete
    from typer.main import get_command

    from agent_league.cli.app import app

    get_completion_inspect_parameters()  # makes Typer's shells known
    return shell_complete(get_command(app), {}, PROGRAM, COMPLETION_VARIABLE, instruction)
