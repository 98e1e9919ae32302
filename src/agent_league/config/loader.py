"""Reading `SHARED/config`: every mistake is named with its file and the path in it."""

import json
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

S = TypeVar("S", bound=Settings)


class ConfigLoader:
    """The files of one SHARED folder; `overrides` ("timeouts.move_timeout_sec" -> 2) win over the files."""

    def __init__(self, root: Path | str = "SHARED", overrides: Mapping[str, Any] | None = None) -> None:
        self.root = Path(root)
        self.overrides = dict(overrides or {})

    def load_system(self) -> SystemConfig:
        return self._load("system.json", SystemConfig, self._overrides_for(SystemConfig))

    def load_agents(self) -> AgentsConfig:
        return self._load("agents/agents_config.json", AgentsConfig)

    def load_league(self, league_id: str | None = None) -> LeagueConfig:
        """A league's file; without an id, that of `default_league_id`."""
        league_id = league_id or self.load_system().default_league_id
        if Path(league_id).name != league_id or league_id.startswith("."):
            raise ConfigError(f"leagues/{league_id}.json", "league_id", "is not a file name")
        league = self._load(f"leagues/{league_id}.json", LeagueConfig, self._overrides_for(LeagueConfig))
        if league.league_id != league_id:
            raise ConfigError(
                self.path(f"leagues/{league_id}.json"),
                "league_id",
                f"expected {league_id!r} (the file's name), found {league.league_id!r}",
            )
        if league.participants.min_players > league.participants.max_players:
            raise ConfigError(
                self.path(f"leagues/{league_id}.json"), "participants", "min_players is above max_players"
            )
        return league

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

    def _overrides_for(self, model: type[Settings]) -> dict[str, Any]:
        return {path: value for path, value in self.overrides.items() if _knows(model, path.split("."))}

    def _load(self, name: str, model: type[S], overrides: Mapping[str, Any] | None = None) -> S:
        path = self.path(name)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(path, "", "no such file; `league init` writes one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(path, "", f"can't be read: {error}") from error
        except json.JSONDecodeError as error:
            raise ConfigError(path, "", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
        if not isinstance(data, dict):
            raise ConfigError(path, "", f"expected an object, found {type(data).__name__}")
        if overrides:
            data = apply_overrides(data, overrides)
        try:
            return model.model_validate(data)
        except ValidationError as error:
            raise _named(path, data, error, overrides or {}) from None

    @staticmethod
    def _entry(kind: str, agent_id: str, entries: Mapping[str, S]) -> S:
        if agent_id not in entries:
            known = ", ".join(entries) or "none"
            raise ConfigError("agents/agents_config.json", kind, f"no {agent_id!r} (there are: {known})")
        return entries[agent_id]


def _knows(model: type[Settings], path: list[str]) -> bool:
    field = model.model_fields.get(path[0])
    if field is None:
        return False
    inner = field.annotation
    if len(path) == 1:
        return not (isinstance(inner, type) and issubclass(inner, Settings))
    return isinstance(inner, type) and issubclass(inner, Settings) and _knows(inner, path[1:])


def _named(path: Path, data: Any, error: ValidationError, overrides: Mapping[str, Any]) -> ConfigError:
    """The first mistake that pydantic found, with its file and the path in it."""
    first = error.errors()[0]
    inside = ".".join(str(part) for part in first["loc"])
    found = data
    for part in first["loc"]:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            break
    problem = first["msg"] if first["type"] == "missing" else f"{first['msg']}, found {found!r}"
    return ConfigError("--set" if inside in overrides else path, inside, problem)
