"""The command line. `main` is the one place that turns an error into a sentence and an exit code."""

import gc
import os
import sys
from collections.abc import Sequence

from agent_league.cli.terminal import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_WRONG_INPUT,
    rewrite_commands,
    spell_command,
)
from agent_league.errors import AgentLeagueError, UserError
from agent_league.text import redact_tokens, to_printable

GC_THRESHOLD = 50_000
"""What is imported stays; looking through it at the usual 700 takes a tenth of a command's start."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of this process; return its exit code."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        if instruction := os.environ.get("_LEAGUE_COMPLETE"):
            from agent_league.cli.completion import answer_shell

            return answer_shell(instruction)
        from agent_league.cli.app import app

        app(arguments, prog_name=spell_command("").rstrip())
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else EXIT_FAILED if end.code else 0
    except AgentLeagueError as error:
        return _print_error(error, EXIT_WRONG_INPUT if isinstance(error, UserError) else EXIT_FAILED)
    except OSError as error:  # a folder that can't be written, a disk that is full
        return _print_error(_explain_os_error(error), EXIT_FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("league: interrupted\n")
        return EXIT_INTERRUPTED
    return 0


def _print_error(error: Exception, code: int) -> int:
    """Print an error's text line by line: it may quote a manager or a file, whose control characters go."""
    sentence = "\n".join(map(to_printable, redact_tokens(rewrite_commands(str(error))).split("\n")))
    sys.stderr.write(f"league: {sentence}\n")
    return code


def _explain_os_error(error: OSError) -> OSError | UserError:
    """Explain a folder in the place of a file, or a file in that of a folder; other errors stay as they are."""
    if not isinstance(error, IsADirectoryError | NotADirectoryError):
        return error
    found, wanted = ("folder", "file") if isinstance(error, IsADirectoryError) else ("file", "folder")
    place = error.filename2 or error.filename
    return UserError(f"{place}: a {found} is in the place of a {wanted}; move it away, and run the same command again")
