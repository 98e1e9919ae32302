"""Reading `SHARED/config`: every mistake is named with its file and the path in it."""

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent_league.config.base import ConfigModel
from agent_league.config.models import (
    AgentsConfig,
    GamesRegistry,
    LeagueConfig,
    PlayerDefaults,
    PlayerEntry,
    RefereeDefaults,
    RefereeEntry,
    SystemConfig,
    port_of,
    replace_port,
)
from agent_league.errors import ConfigError
from agent_league.model.names import is_safe_name, list_known_names
from agent_league.text import MAX_PHRASE, quote, shorten

S = TypeVar("S", bound=ConfigModel)
AGENTS_FILE = "agents/agents_config.json"
MANAGER_PORT_SETTING = "network.default_league_manager_port"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
CUSTOM_KEY_PREFIX = "x_"
"""Prefix of the user's own keys, which are allowed everywhere and ignored."""
OVERRIDE_FORM = "PATH=VALUE, such as timeouts.move_timeout_sec=2"
NON_ID_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")
OPEN_SETTINGS = ("scheduling.settings", "scheduling.ratings")
"""Settings that hold others, whose names the configuration doesn't know."""


class ConfigLoader:
    """Loads the files of one SHARED folder; `overrides` ("timeouts.move_timeout_sec" -> 2) win over the files."""

    def __init__(self, root: Path | str = "SHARED", overrides: Mapping[str, Any] | None = None) -> None:
        self.root = Path(root)
        self.overrides = dict(overrides or {})

    def load_system(self) -> SystemConfig:
        system = self._load_file("system.json", SystemConfig, self._overrides_for(SystemConfig))
        interval, lease = system.heartbeat.interval_sec, system.heartbeat.lease_sec
        if lease <= interval:
            problem = f"expected more than heartbeat.interval_sec ({interval:g}), found {lease:g}"
            raise self.make_setting_error("system.json", "heartbeat.lease_sec", problem)
        return system

    def load_agents(self) -> AgentsConfig:
        """Read the agents; a manager on this machine must be at the port that system.json says."""
        agents = self._load_file(AGENTS_FILE, AgentsConfig)
        network = self.load_system().network
        manager, port = agents.league_manager, network.default_league_manager_port
        host = urlsplit(manager.endpoint).hostname
        if port_of(manager.endpoint) == port or host not in (*LOOPBACK_HOSTS, network.base_host):
            return agents
        if MANAGER_PORT_SETTING in self.overrides:
            moved = manager.model_copy(update={"endpoint": replace_port(manager.endpoint, port)})
            return agents.model_copy(update={"league_manager": moved})
        said = f"{self.file_path('system.json')} says {port} ({MANAGER_PORT_SETTING})"
        problem = f"port {port_of(manager.endpoint)}, but {said}; the manager has one address, so change one of the two"
        raise ConfigError(self.file_path(AGENTS_FILE), "league_manager.endpoint", problem)

    def load_league(self, league_id: str | None = None, game_type: str | None = None) -> LeagueConfig:
        """Load a league's file; without an id, that of `default_league_id`.

        With a `game_type` no file is needed: the id is derived from the game, all else is as in the default league.
        """
        if game_type is None:
            return self._load_league_file(league_id)
        league_id = league_id or f"league_{NON_ID_CHARACTERS.sub('_', game_type)}"[:100]
        if self.has_league_file(league_id) or not is_safe_name(league_id):
            league = self._load_league_file(league_id)
        else:
            own = {"league_id": league_id, "created_at": None}
            league = self._load_league_file(None).model_copy(update=own)
        if league.game_type == game_type:
            return league
        parameters = league.game_parameters if "game_parameters" in self.overrides else {}
        other = {"game_type": game_type, "game_parameters": parameters, "display_name": ""}
        return league.model_copy(update=other)

    def has_league_file(self, league_id: str) -> bool:
        """Tell whether a league has a file of its own."""
        return self.file_path(f"leagues/{league_id}.json").is_file()

    def league_file_name(self, league_id: str) -> str:
        """Name of the file in which a league's settings can be changed: its own, or the default league's."""
        return f"leagues/{league_id if self.has_league_file(league_id) else self.load_system().default_league_id}.json"

    def load_games_registry(self) -> GamesRegistry:
        return self._load_file("games/games_registry.json", GamesRegistry)

    def load_referee_defaults(self) -> RefereeDefaults:
        return self._load_file("defaults/referee.json", RefereeDefaults)

    def load_player_defaults(self) -> PlayerDefaults:
        return self._load_file("defaults/player.json", PlayerDefaults)

    def get_referee_by_id(self, referee_id: str) -> RefereeEntry:
        return self._find_entry(
            "referees", referee_id, {entry.referee_id: entry for entry in self.load_agents().referees}
        )

    def get_player_by_id(self, player_id: str) -> PlayerEntry:
        return self._find_entry("players", player_id, {entry.player_id: entry for entry in self.load_agents().players})

    def check_overrides(self) -> None:
        """Raise ConfigError for an override that is no setting of any file."""
        known = [*_list_setting_paths(SystemConfig), *_list_setting_paths(LeagueConfig)]
        for path in self.overrides:
            if not _is_known_path(path, known):
                near = get_close_matches(path, known, n=1)
                meant = f"; did you mean {near[0]}?" if near else ""
                raise ConfigError("--set", path, f"no such setting in system.json or the league file{meant}")

    def file_path(self, name: str) -> Path:
        return self.root / "config" / name

    def make_setting_error(self, name: str, setting: str, problem: str) -> ConfigError:
        """Build the error for a bad setting, naming where it came from: `--set` or the file."""
        return ConfigError(
            "--set" if _is_overridden(setting, self.overrides) else self.file_path(name), setting, problem
        )

    def _load_league_file(self, league_id: str | None) -> LeagueConfig:
        if league_id is None:
            league_id = self.load_system().default_league_id
            unusable = self.make_setting_error("system.json", "default_league_id", _describe_bad_league_id(league_id))
        else:
            unusable = ConfigError("league_id", "", _describe_bad_league_id(league_id))
        if not is_safe_name(league_id):  # it names files and folders
            raise unusable
        league = self._load_file(f"leagues/{league_id}.json", LeagueConfig, self._overrides_for(LeagueConfig))
        if league.league_id != league_id:
            raise self.make_setting_error(
                f"leagues/{league_id}.json",
                "league_id",
                f"expected {league_id!r} (the file's name), found {league.league_id!r}",
            )
        least, most = league.participants.min_players, league.participants.max_players
        if least > most:
            setting = "max_players" if "participants.max_players" in self.overrides else "min_players"
            problem = f"min_players ({least}) is above max_players ({most})"
            raise self.make_setting_error(f"leagues/{league_id}.json", f"participants.{setting}", problem)
        return league

    def _overrides_for(self, model: type[ConfigModel]) -> dict[str, Any]:
        known = set(_list_setting_paths(model))
        return {path: value for path, value in self.overrides.items() if _is_known_path(path, known)}

    def _load_file(self, name: str, model: type[S], overrides: Mapping[str, Any] | None = None) -> S:
        path = self.file_path(name)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(path, "", self._missing_file_hint(path)) from None
        except IsADirectoryError:
            raise ConfigError(path, "", f"a folder is in the place of the file; {self._rewrite_hint(path)}") from None
        except OSError as error:
            raise ConfigError(path, "", f"can't be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(path, "", f"not text in UTF-8; {self._rewrite_hint(path)}") from None
        except json.JSONDecodeError as error:
            empty = f"; the file is empty: {self._rewrite_hint(path)}" if not error.doc.strip() else ""
            place = f"(line {error.lineno}, column {error.colno})"
            raise ConfigError(path, "", f"not JSON: {error.msg} {place}{empty}") from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(path, "", f"not JSON that can be read: {shorten(error, MAX_PHRASE)}") from None
        if not isinstance(data, dict):
            raise ConfigError(path, "", f"expected an object, found {type(data).__name__}")
        if unknown := find_unknown_key(model, data):
            setting, known = unknown
            name_of_key = setting.rpartition(".")[2]
            hint = (
                f"no such setting {list_known_names(name_of_key, known)}; a key of your own begins with "
                f"{CUSTOM_KEY_PREFIX}"
            )
            raise ConfigError(path, setting, hint)
        if overrides:
            data = apply_overrides(data, overrides)
        try:
            # As JSON again, because only there strict means: a list is a tuple, but "30" is no number.
            return model.model_validate_json(json.dumps(data), strict=True)
        except ValidationError as error:
            inside, problem = describe_first_error(data, error)
            raise self.make_setting_error(name, inside, problem) from None

    def _rewrite_hint(self, path: Path) -> str:
        """Advice for a file that can't be used."""
        return f"move it away and run `league init {self.root}`, which writes {path.name} anew"

    def _missing_file_hint(self, path: Path) -> str:
        """Advice for a missing file: `league init` writes all but the user's own league files."""
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        if path.parent.name == "leagues" and known:
            return f"no such file (there are: {known})"
        return f"no such file; `league init {shlex.quote(str(self.root))}` writes it"

    def _find_entry(self, kind: str, agent_id: str, entries: Mapping[str, S]) -> S:
        if agent_id not in entries:
            known = ", ".join(entries) or "none"
            raise ConfigError(self.file_path(AGENTS_FILE), kind, f"no {agent_id!r} (there are: {known})")
        return entries[agent_id]


def parse_overrides(settings: Iterable[str], option: str = "--set", expected: str = OVERRIDE_FORM) -> dict[str, Any]:
    """Parse settings such as `timeouts.move_timeout_sec=2`; a value that isn't JSON is text. Raises ConfigError."""
    overrides: dict[str, Any] = {}
    for setting in settings:
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise ConfigError(option, setting, f"expected {expected}")
        try:
            overrides[path.strip()] = json.loads(text)
        except json.JSONDecodeError:
            overrides[path.strip()] = text
    return overrides


def apply_overrides(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the data with values set by path; missing objects on the way are created."""
    result = dict(data)
    for path, value in overrides.items():
        name, _, rest = path.partition(".")
        inner = result.get(name, {})
        if not rest:
            result[name] = value
        elif isinstance(inner, dict):  # anything else is a mistake in the file, which validation reports
            result[name] = apply_overrides(inner, {rest: value})
    return result


def _describe_bad_league_id(league_id: str) -> str:
    return f"expected up to 100 letters, digits, '_', '-' and '.', found {quote(league_id)}"


def _is_known_path(path: str, known: Collection[str]) -> bool:
    """Whether a path is a setting, or a key in one whose keys are the user's."""
    return path in known or any(path.startswith(f"{parent}.") and parent in known for parent in OPEN_SETTINGS)


def _list_setting_paths(model: type[ConfigModel]) -> Iterator[str]:
    """List the paths of all settings of a file."""
    for name, field in model.model_fields.items():
        inner = _unwrap_optional(field.annotation)
        if isinstance(inner, type) and issubclass(inner, ConfigModel):
            yield from (f"{name}.{path}" for path in _list_setting_paths(inner))
        else:
            yield name


def _unwrap_optional(annotation: Any) -> Any:
    """Return the model of a part of a file that may be left out or null; other annotations as they are."""
    models = [part for part in get_args(annotation) if isinstance(part, type) and issubclass(part, ConfigModel)]
    return models[0] if models and type(None) in get_args(annotation) else annotation


def find_unknown_key(annotation: Any, data: Any) -> tuple[str, list[str]] | None:
    """Find the path of the first key in a file's data that its model doesn't know, and the keys it knows there."""
    inside: Iterator[tuple[str, Any, Any]] = iter(())
    annotation = _unwrap_optional(annotation)
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        if not isinstance(data, dict):
            return None
        fields = annotation.model_fields
        unknown = next((key for key in data if key not in fields and not key.startswith(CUSTOM_KEY_PREFIX)), None)
        if unknown is not None:
            return unknown, [*fields]
        inside = ((key, fields[key].annotation, data[key]) for key in data if key in fields)
    elif get_origin(annotation) is tuple and isinstance(data, list):
        inside = ((str(index), get_args(annotation)[0], item) for index, item in enumerate(data))
    elif get_origin(annotation) is dict and isinstance(data, dict):
        inside = ((key, get_args(annotation)[1], item) for key, item in data.items())
    for key, inner, value in inside:
        if found := find_unknown_key(inner, value):
            return f"{key}.{found[0]}", found[1]
    return None


def _is_overridden(setting: str, overrides: Mapping[str, Any]) -> bool:
    """Whether an override set this setting or one that contains it."""
    return any(setting == path or setting.startswith(f"{path}.") for path in overrides)


def describe_first_error(data: Any, error: ValidationError) -> tuple[str, str]:
    """Return the path of the first error that pydantic found, and a sentence about it."""
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
    return inside, f"{problem}, found {shorten(json.dumps(found), MAX_PHRASE)}"
