"""Reading `SHARED/config`: every mistake is named with its file and the path in it."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from agent_league.config.models import (
    AgentsConfig,
    GamesRegistry,
    LeagueConfig,
    PlayerDefaults,
    PlayerEntry,
    RefereeDefaults,
    RefereeEntry,
    Settings,
    SystemConfig,
)
from agent_league.config.overrides import apply_overrides
from agent_league.errors import ConfigError
from agent_league.model.names import is_safe_name

S = TypeVar("S", bound=Settings)
NOT_IN_IDS = re.compile(r"[^A-Za-z0-9]+")


class ConfigLoader:
    """The files of one SHARED folder; `overrides` ("timeouts.move_timeout_sec" -> 2) win over the files."""

    def __init__(self, root: Path | str = "SHARED", overrides: Mapping[str, Any] | None = None) -> None:
        self.root = Path(root)
        self.overrides = dict(overrides or {})

    def load_system(self) -> SystemConfig:
        system = self._load("system.json", SystemConfig, self._overrides_for(SystemConfig))
        interval, lease = system.heartbeat.interval_sec, system.heartbeat.lease_sec
        if lease <= interval:
            problem = f"expected more than heartbeat.interval_sec ({interval:g}), found {lease:g}"
            raise self.wrong("system.json", "heartbeat.lease_sec", problem)
        return system

    def load_agents(self) -> AgentsConfig:
        return self._load("agents/agents_config.json", AgentsConfig)

    def load_league(self, league_id: str | None = None, game_type: str | None = None) -> LeagueConfig:
        """A league's file; without an id, that of `default_league_id`.

        A league of a game that somebody names needs no file: its id follows from the game's, the rest is as the default
        league has it.
        """
        if game_type is None:
            return self._load_league_file(league_id)
        league_id = league_id or f"league_{NOT_IN_IDS.sub('_', game_type)}"[:100]
        if self.path(f"leagues/{league_id}.json").is_file() or not is_safe_name(league_id):
            league = self._load_league_file(league_id)
        else:
            own = {"league_id": league_id, "created_at": None}
            league = self._load_league_file(None).model_copy(update=own)
        if league.game_type == game_type:
            return league
        parameters = league.game_parameters if "game_parameters" in self.overrides else {}
        other = {"game_type": game_type, "game_parameters": parameters, "display_name": ""}
        return league.model_copy(update=other)

    def league_file(self, league_id: str) -> str:
        """Where what a league is made of can be changed."""
        own = f"leagues/{league_id}.json"
        return own if self.path(own).is_file() else f"leagues/{self.load_system().default_league_id}.json"

    def load_games_registry(self) -> GamesRegistry:
        return self._load("games/games_registry.json", GamesRegistry)

    def load_referee_defaults(self) -> RefereeDefaults:
        return self._load("defaults/referee.json", RefereeDefaults)

    def load_player_defaults(self) -> PlayerDefaults:
        return self._load("defaults/player.json", PlayerDefaults)

    def get_referee_by_id(self, referee_id: str) -> RefereeEntry:
        return self._entry("referees", referee_id, {entry.referee_id: entry for entry in self.load_agents().referees})

    def get_player_by_id(self, player_id: str) -> PlayerEntry:
        return self._entry("players", player_id, {entry.player_id: entry for entry in self.load_agents().players})

    def check_overrides(self) -> None:
        """Names every override that no file knows."""
        known = set(self._overrides_for(SystemConfig)) | set(self._overrides_for(LeagueConfig))
        for path in self.overrides:
            if path not in known:
                raise ConfigError("--set", path, "no such setting in system.json or the league file")

    def path(self, name: str) -> Path:
        return self.root / "config" / name

    def wrong(self, name: str, setting: str, problem: str) -> ConfigError:
        """The error for a setting that can't be used, named by where it came from: `--set` or the file."""
        return ConfigError("--set" if _is_set(setting, self.overrides) else self.path(name), setting, problem)

    def _load_league_file(self, league_id: str | None) -> LeagueConfig:
        if league_id is None:
            league_id = self.load_system().default_league_id
            unusable = self.wrong("system.json", "default_league_id", _no_file_name(league_id))
        else:
            unusable = ConfigError("league_id", "", _no_file_name(league_id))
        if not is_safe_name(league_id):  # it names files and folders
            raise unusable
        league = self._load(f"leagues/{league_id}.json", LeagueConfig, self._overrides_for(LeagueConfig))
        if league.league_id != league_id:
            raise self.wrong(
                f"leagues/{league_id}.json",
                "league_id",
                f"expected {league_id!r} (the file's name), found {league.league_id!r}",
            )
        least, most = league.participants.min_players, league.participants.max_players
        if least > most:
            setting = "max_players" if "participants.max_players" in self.overrides else "min_players"
            problem = f"min_players ({least}) is above max_players ({most})"
            raise self.wrong(f"leagues/{league_id}.json", f"participants.{setting}", problem)
        return league

    def _overrides_for(self, model: type[Settings]) -> dict[str, Any]:
        return {path: value for path, value in self.overrides.items() if _knows(model, path.split("."))}

    def _load(self, name: str, model: type[S], overrides: Mapping[str, Any] | None = None) -> S:
        path = self.path(name)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(path, "", self._missing(path)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(path, "", f"can't be read: {error}") from None
        except json.JSONDecodeError as error:
            raise ConfigError(path, "", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
        if not isinstance(data, dict):
            raise ConfigError(path, "", f"expected an object, found {type(data).__name__}")
        if overrides:
            data = apply_overrides(data, overrides)
        try:
            # As JSON again, because only there strict means: a list is a tuple, but "30" is no number.
            return model.model_validate_json(json.dumps(data), strict=True)
        except ValidationError as error:
            inside, problem = _first_mistake(data, error)
            raise self.wrong(name, inside, problem) from None

    def _missing(self, path: Path) -> str:
        """What to do about a file that isn't there: `league init` writes all but a league of one's own."""
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        if path.parent.name == "leagues" and known:
            return f"no such file (there are: {known})"
        return f"no such file; `league init {shlex.quote(str(self.root))}` writes it"

    def _entry(self, kind: str, agent_id: str, entries: Mapping[str, S]) -> S:
        if agent_id not in entries:
            known = ", ".join(entries) or "none"
            raise ConfigError(self.path("agents/agents_config.json"), kind, f"no {agent_id!r} (there are: {known})")
        return entries[agent_id]


def _no_file_name(league_id: str) -> str:
    return f"expected up to 100 letters, digits, '_', '-' and '.', found {league_id[:120]!r}"


def _knows(model: type[Settings], path: list[str]) -> bool:
    field = model.model_fields.get(path[0])
    if field is None:
        return False
    inner = field.annotation
    if len(path) == 1:
        return not (isinstance(inner, type) and issubclass(inner, Settings))
    return isinstance(inner, type) and issubclass(inner, Settings) and _knows(inner, path[1:])


def _is_set(setting: str, overrides: Mapping[str, Any]) -> bool:
    """Whether an override set this, or the list that it is in."""
    return any(setting == path or setting.startswith(f"{path}.") for path in overrides)


def _first_mistake(data: Any, error: ValidationError) -> tuple[str, str]:
    """The path of the first mistake that pydantic found, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    inside = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return inside, "is missing"
    found = data
    for part in first["loc"]:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            break
    problem = first["msg"].removeprefix("Value error, ").replace("Input should", "should", 1)
    return inside, f"{problem}, found {json.dumps(found)[:200]}"
