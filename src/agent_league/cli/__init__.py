"""The command line. `main` is the one place that turns an error into a sentence and an exit code."""

import sys

from agent_league.cli.command_text import as_typed, spell_command
from agent_league.cli.exit_codes import FAILED, INTERRUPTED, WRONG_INPUT
from agent_league.errors import AgentLeagueError, UserError
from agent_league.model.names import printable


def main() -> None:
    try:
        from agent_league.cli.app import app

        app(prog_name=spell_command("").rstrip())
    except AgentLeagueError as error:
        sys.stderr.write(f"league: {_sentence(error)}\n")
        sys.exit(WRONG_INPUT if isinstance(error, UserError) else FAILED)
    except OSError as error:  # a folder that can't be written, a disk that is full
        sys.stderr.write(f"league: {_sentence(_explain(error))}\n")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("league: interrupted\n")
        sys.exit(INTERRUPTED)


def _explain(error: OSError) -> OSError | UserError:
    """Explain a folder in the place of a file, or a file in that of a folder; other errors stay as they are."""
    if not isinstance(error, IsADirectoryError | NotADirectoryError):
        return error
    found, wanted = ("folder", "file") if isinstance(error, IsADirectoryError) else ("file", "folder")
    place = error.filename2 or error.filename
    return UserError(f"{place}: a {found} is in the place of a {wanted}; move it away, and run the same command again")


def _sentence(error: Exception) -> str:
    """Make an error's text printable line by line: it may quote a manager or a file, whose control characters go."""
    return "\n".join(map(printable, as_typed(str(error)).split("\n")))
