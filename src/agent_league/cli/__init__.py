"""The command line. `main` is the one place that turns an error into a sentence and an exit code."""

import sys

from agent_league.cli.command_text import rewrite_commands, spell_command
from agent_league.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_WRONG_INPUT
from agent_league.errors import AgentLeagueError, UserError
from agent_league.text import to_printable


def main() -> None:
    try:
        from agent_league.cli.app import app

        app(prog_name=spell_command("").rstrip())
    except AgentLeagueError as error:
        sys.stderr.write(f"league: {_error_sentence(error)}\n")
        sys.exit(EXIT_WRONG_INPUT if isinstance(error, UserError) else EXIT_FAILED)
    except OSError as error:  # a folder that can't be written, a disk that is full
        sys.stderr.write(f"league: {_error_sentence(_explain_os_error(error))}\n")
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("league: interrupted\n")
        sys.exit(EXIT_INTERRUPTED)


def _explain_os_error(error: OSError) -> OSError | UserError:
    """Explain a folder in the place of a file, or a file in that of a folder; other errors stay as they are."""
    if not isinstance(error, IsADirectoryError | NotADirectoryError):
        return error
    found, wanted = ("folder", "file") if isinstance(error, IsADirectoryError) else ("file", "folder")
    place = error.filename2 or error.filename
    return UserError(f"{place}: a {found} is in the place of a {wanted}; move it away, and run the same command again")


def _error_sentence(error: Exception) -> str:
    """Make an error's text printable line by line: it may quote a manager or a file, whose control characters go."""
    return "\n".join(map(to_printable, rewrite_commands(str(error)).split("\n")))
