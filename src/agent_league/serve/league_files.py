"""League files of a home: which there are, when they change, and how a new one is written."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.models import LADDER_FORMAT
from agent_league.errors import ConfigError, UserError
from agent_league.games.base import BadParameters
from agent_league.launch.config_checks import check_format_name, check_player_count, choose_league_config
from agent_league.model.names import is_displayable, is_safe_name
from agent_league.storage.paths import DataPaths
from agent_league.text import quote

LEAGUES_FOLDER = "leagues"
MAX_TITLE_LENGTH = 100
NON_ID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
FileStamp = tuple[int, int]
"""Time of the last change and size of a file."""


def list_league_files(home: Path) -> dict[str, FileStamp]:
    """Return the stamps of all league files of a home, by league id."""
    found = {}
    for path in sorted((home / "config" / LEAGUES_FOLDER).glob("*.json")):
        try:
            state = path.stat()
        except OSError:  # deleted meanwhile
            continue
        if not path.name.startswith("."):
            found[path.stem] = (state.st_mtime_ns, state.st_size)
    return found


def request_new_season(home: Path, league_id: str) -> None:
    """Ask the server that serves this home to begin a new season of a league."""
    folder = DataPaths(home).season_requests_folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / league_id).touch()


def list_season_requests(home: Path) -> list[str]:
    """Return the leagues of which a new season is asked for."""
    folder = DataPaths(home).season_requests_folder
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def drop_season_request(home: Path, league_id: str) -> None:
    (DataPaths(home).season_requests_folder / league_id).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class NewLeague:
    """What somebody who makes a league wants; None or empty means as the defaults have it."""

    league_id: str
    title: str = ""
    game: str | None = None
    format: str | None = None
    players: int | None = None
    """So many players take part, and the league starts with the last of them; None: it starts on command."""
    rounds: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise UserError for a name, a title or a format that no league can have, wherever it is to be played."""
        if not is_safe_name(self.league_id):
            near = NON_ID_CHARACTERS.sub("_", self.league_id).strip("_.-")[:100]
            hint = f"; {near} would do" if is_safe_name(near) else ""
            raise UserError(
                f"{quote(self.league_id)} can't be a league's name, which stands in its address: expected up to 100"
                f" letters, digits, '_', '-' and '.'{hint}. --title takes any other words."
            )
        if self.title and (not is_displayable(self.title) or len(self.title) > MAX_TITLE_LENGTH):
            raise UserError(
                f"--title {quote(self.title)}: expected at most {MAX_TITLE_LENGTH} characters that people can see"
            )
        if self.format:
            check_format_name(self.format, takes_ladder=True)

    def to_json(self, default_game: str) -> dict[str, Any]:
        """Return the content of the league's file."""
        is_ladder = self.format == LADDER_FORMAT
        scheduling = {"format": None if is_ladder else self.format, "rounds": self.rounds}
        participants = {"max_players": self.players, "start_with": self.players}
        content = {
            "schema_version": "1.0.0",
            "league_id": self.league_id,
            "display_name": self.title,
            "game_type": self.game or default_game,
            "game_parameters": dict(self.parameters),
            "scheduling": {name: value for name, value in scheduling.items() if value is not None},
            "participants": {name: value for name, value in participants.items() if value is not None},
        }
        told = {name: value for name, value in content.items() if value not in ("", {})}
        return {**told, "ladder": {}} if is_ladder else told


def write_league_file(loader: ConfigLoader, wanted: NewLeague) -> Path:
    """Write the file of a new league; raises UserError, and leaves no file, if such a league can't be played."""
    wanted.check()
    path = loader.file_path(f"{LEAGUES_FOLDER}/{wanted.league_id}.json")
    content = json.dumps(wanted.to_json(loader.load_league().game_type), indent=2, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise UserError(f"There is a league {wanted.league_id} already, in {path}; choose another name.") from None
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}") from None
    try:
        league = choose_league_config(loader, loader.load_games_registry(), wanted.league_id, None, {})
        if wanted.players:
            check_player_count(loader, league, wanted.players)
    except (ConfigError, BadParameters) as error:
        path.unlink(missing_ok=True)
        raise _name_option(error) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


OPTIONS = {
    "game_type": "--game",
    "game_parameters": "--param",
    "scheduling": "--format",
    "participants": "--players",
    "display_name": "--title",
}


def _name_option(error: Exception) -> UserError:
    """Name the option instead of the setting in a file that is gone again."""
    if not isinstance(error, ConfigError):
        return UserError(f"--param: {error}")
    option = OPTIONS.get(error.path.partition(".")[0])
    problem = str(error).partition(f"{error.path}: ")[2] if error.path else str(error)
    if problem.startswith("no format "):
        problem = f"{problem}; {LADDER_FORMAT} makes a practice ladder"
    return UserError(f"{option}: {problem}") if option else error
