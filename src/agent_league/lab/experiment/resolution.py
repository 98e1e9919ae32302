"""Resolving an experiment's file: which games and players it means, whether they can play, and what identifies them.

The hash covers all that decides the rows: games with all parameters, players with the content of their files, seeds,
rounds, who meets whom, the stopping rule and our version. Keys of model servers are known by the names of variables
alone.
"""

import hashlib
import inspect
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from agent_league.check.check import normalise_agent_url
from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.config.loader import describe_first_error, find_unknown_key
from agent_league.config.models import BASE_URL_PLACES
from agent_league.errors import ConfigError, UserError
from agent_league.games.base import BadParameters
from agent_league.games.registry import GAME_ENTRY_POINTS, UnknownGame
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec, hash_file
from agent_league.lab.experiment.experiment_file import (
    ContestantEntry,
    ExperimentFile,
    GameEntry,
    load_experiment_file,
    parse_experiment,
)
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.toml_text import format_toml
from agent_league.lab.tournament import MAX_PLAYERS
from agent_league.launch.config_checks import load_configured_game
from agent_league.model.names import list_known_names
from agent_league.players.strategies import (
    STRATEGY_ENTRY_POINTS,
    can_choose,
    check_strategy,
    find_game_mismatch,
    find_installation_problem,
    strategy_names,
)
from agent_league.text import quote
from agent_league.version import __version__

FORMAT = 1
RESOLVED_NAME = "experiment.toml"
MODEL_PREFIX = "llm:"
LIBRARIES = {"openspiel": "open-spiel", "pettingzoo": "pettingzoo", "llm": "pydantic-ai-slim"}
"""Packages that games and players come from, by what stands before the colon in their names."""
LEAGUE_KINDS = (PlayerKind.STRATEGY, PlayerKind.FILE)
"""Who plays whole leagues."""
FILE_PATTERN = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[^:/\\]+))?")
ADDRESS_PATTERN = re.compile(r"[a-z]+://\S+|(localhost|[\w.-]+\.[\w-]+):\d+(/\S*)?", re.ASCII | re.IGNORECASE)
VARIABLE_FORM = re.compile(r"([A-Za-z]+ )?\$[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
"""A header or variable of a model's tools: `$NAME` or `Bearer $NAME`. Anything else may be a key."""
VARIABLE_PARAMETERS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
NO_KEYS = "should be an address without a password and without a query, which may hold a key"
CHANGEABLE_SETTINGS = ("max_tokens", "max_cost_usd", "api_key_variable")
"""Settings of a model that decide how long it may play, not how: they may be changed between two runs."""


@dataclass(frozen=True, slots=True)
class ResolvedExperiment:
    """An experiment that can be played."""

    file: ExperimentFile
    plan: ExperimentPlan
    content_hash: str
    """SHA-256 of all that decides the rows."""
    file_hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each player's Python file, by its label."""
    remarks: tuple[str, ...] = ()
    """What a reader of the results should know, such as players that are made for other games."""

    def to_toml(self, folder: Path) -> str:
        """Write the file with all parameters, versions and the hash, for a place in `folder`: it can be run again."""
        plan, file = self.plan, self.file
        players = [
            {
                "player": _place_source(player, folder),
                "name": player.label,
                "parameters": dict(player.parameters) or None,
            }
            for player in plan.players
        ]
        return format_toml(
            {
                "name": file.name,
                "seeds": list(plan.seeds) if plan.seeds != _count_seeds(plan) else len(plan.seeds),
                "rounds": plan.rounds,
                **({"pairs": file.pairs} if plan.is_gauntlet else {}),
                **({"full": True} if plan.full else {}),
                **({"messages": True} if plan.by_messages else {}),
                "ranking": str(file.ranking),
                "games": [
                    {"game": game.game_type, "name": game.label, "parameters": dict(game.parameters) or None}
                    for game in plan.games
                ],
                "players": players,
                **({"stop": file.stop.model_dump()} if file.stop else {}),
                "resolved": {
                    "hash": self.content_hash,
                    "format": FORMAT,
                    "versions": _list_versions(plan),
                    "files": dict(self.file_hashes),
                },
            }
        )


def resolve_file(path: Path, *, full: bool = False) -> ResolvedExperiment:
    """Read an experiment's file and find its games and players; with `full`, of whole leagues. Raises ConfigError."""
    file = load_experiment_file(path)
    whole = file.model_copy(update={"full": True}) if full else file
    return resolve_experiment(whole, path, path.absolute().parent)


def resolve_data(data: Mapping[str, Any], home: Path) -> ResolvedExperiment:
    """The same of an experiment that is given as plain data; paths are relative to `home`."""
    return resolve_experiment(parse_experiment(data, "experiment"), "experiment", home)


def read_resolved_experiment(data: Mapping[str, Any], home: Path) -> ResolvedExperiment:
    """Return the experiment of a resolved file in `home` as it was, without looking for its games and players."""
    where = home / RESOLVED_NAME
    file = parse_experiment(data, where)
    games = tuple(GameSpec(entry.name or entry.game, entry.game, entry.parameters) for entry in file.games)
    players = tuple(
        replace(_classify_player(entry, where, f"players.{place}", home, must_exist=False), label=entry.name or "")
        for place, entry in enumerate(file.players)
    )
    known = file.resolved or {}
    plan = _make_plan(file, games, players)
    return ResolvedExperiment(file, plan, str(known.get("hash", "")), dict(known.get("files", {})))


def resolve_experiment(file: ExperimentFile, where: object, home: Path) -> ResolvedExperiment:
    """Find an experiment's games and players; raises ConfigError that names `where`."""
    if not file.games:
        raise ConfigError(where, "games", "should name at least one game, such as tic_tac_toe; found []")
    if not 2 <= len(file.players) <= MAX_PLAYERS:
        said = f"should be 2 to {MAX_PLAYERS} players, such as random; found {len(file.players)}"
        raise ConfigError(where, "players", said)
    games = tuple(_resolve_game(entry, where, f"games.{place}") for place, entry in enumerate(file.games))
    if twice := _find_double(game.label for game in games):
        raise ConfigError(where, "games", f"{twice} is there twice; give each a name of its own")
    found = [_resolve_player(entry, where, f"players.{place}", home) for place, entry in enumerate(file.players)]
    players = tuple(_label_players(found, [entry.name for entry in file.players], where))
    if file.full and file.messages:
        raise ConfigError(where, "messages", "whole leagues are played by messages anyway; leave it or full out")
    if file.full and (other := next((player for player in players if player.kind not in LEAGUE_KINDS), None)):
        said = f"whole leagues are played by strategies and Python files alone, and {other.label} is neither"
        raise ConfigError(where, "full", said)
    plan = _make_plan(file, games, players)
    hashes = {player.label: player.digest for player in players if player.kind is PlayerKind.FILE}
    remarks = tuple(dict.fromkeys(_list_remarks(plan)))
    return ResolvedExperiment(file, plan, _hash_content(file, plan, hashes), hashes, remarks)


def _make_plan(file: ExperimentFile, games: tuple[GameSpec, ...], players: tuple[PlayerSpec, ...]) -> ExperimentPlan:
    return ExperimentPlan(
        games, players, file.seeds, file.rounds, file.full, is_gauntlet=file.pairs == "first", by_messages=file.messages
    )


def _resolve_game(entry: GameEntry, where: object, setting: str) -> GameSpec:
    try:
        game = load_configured_game(None, entry.game, entry.parameters)
    except UnknownGame as error:
        raise ConfigError(where, setting, str(error)) from None
    except BadParameters as error:
        raise ConfigError(where, f"{setting}.parameters", str(error)) from None
    return GameSpec(entry.name or entry.game, game.game_type, dict(game.parameters))


def _resolve_player(entry: ContestantEntry, where: object, setting: str, home: Path) -> PlayerSpec:
    player = _classify_player(entry, where, setting, home)
    player = replace(player, label=entry.name or player.label)
    try:
        _check_player(player)
    except ConfigError as error:
        said = str(error).removeprefix("strategy: ").replace(BASE_URL_PLACES, "base_url in its parameters")
        raise ConfigError(where, setting, said) from None
    except UserError as error:
        raise ConfigError(where, setting, str(error)) from None
    return player


def _classify_player(
    entry: ContestantEntry, where: object, setting: str, home: Path, *, must_exist: bool = True
) -> PlayerSpec:
    text = entry.player
    if text in strategy_names() and text != "llm":
        return PlayerSpec(text, PlayerKind.STRATEGY, text, entry.parameters)
    if text in ("llm", MODEL_PREFIX):
        raise ConfigError(where, setting, f"should name a model, such as llm:openai:gpt-5-mini; found {text!r}")
    if text.startswith(MODEL_PREFIX):
        settings = _parse_model_settings(entry.parameters, text, where, f"{setting}.parameters")
        return PlayerSpec(text, PlayerKind.MODEL, text, entry.parameters, llm=settings)
    if (match := FILE_PATTERN.fullmatch(text)) and "://" not in text:
        place = Path(home, match["path"])
        if must_exist and not place.is_file():
            raise ConfigError(where, setting, f"there is no file {match['path']} in {home}")
        digest = hash_file(place) if must_exist else ""
        return PlayerSpec(text, PlayerKind.FILE, text, entry.parameters, str(home), digest)
    if ADDRESS_PATTERN.fullmatch(text):
        if entry.parameters:
            raise ConfigError(where, f"{setting}.parameters", "a player at an address takes no parameters")
        try:
            address = normalise_agent_url(text)
        except UserError as error:
            raise ConfigError(where, setting, str(error)) from None
        if may_hold_key(address):
            raise ConfigError(where, setting, NO_KEYS)
        return PlayerSpec(text, PlayerKind.ADDRESS, address)
    if not must_exist:
        return PlayerSpec(text, PlayerKind.STRATEGY, text, entry.parameters)
    known = list_known_names(text, strategy_names())
    expected = "expected a strategy, path/to/file.py:choose, an address such as http://localhost:8101/mcp, or llm:MODEL"
    raise ConfigError(where, setting, f"{expected}; found {text!r}, and no such strategy is installed {known}")


def _parse_model_settings(given: Mapping[str, Any], text: str, where: object, setting: str) -> LlmSettings:
    """Check the settings of a model: keys and headers may only be named by their variables."""
    if unknown := find_unknown_key(LlmSettings, given):
        name, known = unknown
        hint = "; keys come from the environment, see api_key_variable" if "key" in name else ""
        raise ConfigError(where, f"{setting}.{name}", f"no such setting {list_known_names(name, known)}{hint}")
    if "model" in given:
        raise ConfigError(where, f"{setting}.model", f"the model stands in the player's text: {text}")
    if "models" in given:
        raise ConfigError(where, f"{setting}.models", f"the settings of {text} are the parameters themselves")
    try:
        written = json.dumps({**given, "model": text.removeprefix(MODEL_PREFIX)})
        settings = LlmSettings.model_validate_json(written, strict=True)
    except ValidationError as error:
        inside, problem = describe_first_error(given, error)
        told = problem.partition(", found ")[0]  # what was found may hold a password
        raise ConfigError(where, f"{setting}.{inside}", told) from None
    for name, server in settings.mcp_servers.items():
        for kind, values in (("headers", server.headers), ("env", server.env)):
            for key, value in values.items():
                if not VARIABLE_FORM.fullmatch(value):
                    place = f"{setting}.mcp_servers.{name}.{kind}.{key}"
                    problem = "should be the name of an environment variable, such as $MY_KEY or Bearer $MY_KEY"
                    raise ConfigError(where, place, f"{problem}, as the file is no place for keys; found another text")
        if server.url and may_hold_key(server.url):
            raise ConfigError(where, f"{setting}.mcp_servers.{name}.url", NO_KEYS)
    return settings


def may_hold_key(address: str) -> bool:
    """Whether an address has parts in which keys are handed over."""
    parts = urlsplit(address)
    return "@" in parts.netloc or bool(parts.query or parts.fragment)


def _check_player(player: PlayerSpec) -> None:
    """Raise UserError if a player can't be made; nothing is called at an address or a model's server."""
    if player.kind is PlayerKind.ADDRESS:
        return
    if player.kind is PlayerKind.MODEL:
        check_strategy("llm", PlayerDefaults(llm=player.llm or LlmSettings()))
        return
    if player.kind is PlayerKind.STRATEGY and (problem := find_installation_problem(player.source)):
        raise UserError(problem)
    if player.kind is PlayerKind.STRATEGY and not can_choose(player.source):
        raise UserError(f"{player.source} is no strategy: it has no method `choose`")
    _check_parameters(player)
    player.make_strategy()


def _check_parameters(player: PlayerSpec) -> None:
    """Raise UserError if a player's class doesn't take its parameters, or says that they are of other types."""
    if not player.parameters:
        return
    made = player.load_class()
    known = inspect.signature(made).parameters if made.__init__ is not object.__init__ else {}
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values())
    taken = [name for name, one in known.items() if one.kind not in VARIABLE_PARAMETERS]
    unknown = next((name for name in player.parameters if name not in taken), None)
    if unknown is not None and not takes_any:
        names = list_known_names(unknown, taken) if taken else "(it has none)"
        raise UserError(f"{player.source} takes no parameter {unknown!r} {names}")
    types = _find_types(made)
    for name, value in player.parameters.items():
        if name in types and not _is_of_type(value, types[name]):
            expected = inspect.formatannotation(types[name])
            who = player.source if player.label == player.source else f"{player.label} ({player.source})"
            raise UserError(f"{who}: the parameter {name!r} should be {expected}; found {quote(value)}")


def _find_types(made: Any) -> dict[str, Any]:
    """Return the types that a class names for its parameters; those that can't be looked up are left out."""
    try:
        return get_type_hints(made.__init__)
    except Exception:  # noqa: BLE001 - a stranger's annotations may name anything
        return {}


def _is_of_type(value: Any, expected: Any) -> bool:
    """Whether a value of a file is of a type; one that isn't plain data is for the class itself to judge."""
    try:
        adapter = TypeAdapter(expected)
    except PydanticUserError:
        return True
    try:
        adapter.validate_json(json.dumps(value), strict=True)  # as JSON a list is a tuple, but "30" is no number
    except ValidationError:
        return False
    return True


def _label_players(players: Sequence[PlayerSpec], names: Sequence[str | None], where: object) -> Iterator[PlayerSpec]:
    """Give each player its name, or a short one that tells it from the others."""
    if twice := _find_double(name for name in names if name):
        raise ConfigError(where, "players", f"the name {twice!r} is there twice; give each one of its own")
    addresses = [player.source for player in players if player.kind is PlayerKind.ADDRESS]
    if twice := _find_double(addresses):
        raise ConfigError(where, "players", f"{twice} is there twice; a running player can't play against itself")
    short = {player.source: _shorten_source(player) for player in players}
    counts = Counter(short.values())
    used = {name for name in names if name}
    for player, name in zip(players, names, strict=True):
        label = name or (short[player.source] if counts[short[player.source]] == 1 else player.source)
        number, base = 1, label
        while name is None and label in used:
            number += 1
            label = f"{base} #{number}"
        used.add(label)
        yield replace(player, label=label)


def _shorten_source(player: PlayerSpec) -> str:
    """Return a short label: of `path/to/mine.py:choose` only `mine.py`, of an address the host and port."""
    if player.kind is PlayerKind.ADDRESS:
        return urlsplit(player.source).netloc
    match = FILE_PATTERN.fullmatch(player.source)
    if player.kind is not PlayerKind.FILE or match is None:
        return player.source
    name = match["name"]
    return Path(match["path"]).name + (f":{name}" if name and name != "choose" else "")


def _find_double(names: "Iterator[str] | Sequence[str]") -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _list_remarks(plan: ExperimentPlan) -> Iterator[str]:
    for player in plan.players:
        if player.kind is PlayerKind.STRATEGY:
            yield from filter(None, (find_game_mismatch(player.source, game.game_type) for game in plan.games))
        if not player.is_synchronous:
            yield f"The games of {player.label} differ from run to run: it doesn't play by the seed alone."


def _hash_content(file: ExperimentFile, plan: ExperimentPlan, hashes: Mapping[str, str]) -> str:
    content = {
        "format": FORMAT,
        "agent-league": __version__,
        "games": [[game.label, game.game_type, dict(game.parameters)] for game in plan.games],
        "players": [
            [
                player.label,
                str(player.kind),
                hashes.get(player.label) or player.source,
                _name_in_file(player),
                {name: value for name, value in player.parameters.items() if name not in CHANGEABLE_SETTINGS},
            ]
            for player in plan.players
        ],
        "seeds": plan.seeds,
        "rounds": plan.rounds,
        "stop": file.stop.model_dump() if file.stop else None,
        **({"full": True} if plan.full else {}),
        **({"messages": True} if plan.by_messages else {}),
        **({"pairs": file.pairs} if plan.is_gauntlet else {}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _count_seeds(plan: ExperimentPlan) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(plan.seeds) + 1)))


def _name_in_file(player: PlayerSpec) -> str:
    match = FILE_PATTERN.fullmatch(player.source) if player.kind is PlayerKind.FILE else None
    return (match["name"] or "") if match else ""


def _place_source(player: PlayerSpec, folder: Path) -> str:
    """Write where a player comes from, seen from a folder."""
    match = FILE_PATTERN.fullmatch(player.source)
    if player.kind is not PlayerKind.FILE or match is None:
        return player.source
    place = os.path.relpath(Path(player.home, match["path"]), folder.absolute())
    return Path(place).as_posix() + (f":{match['name']}" if match["name"] else "")


def _list_versions(plan: ExperimentPlan) -> dict[str, str]:
    """List the versions of Python, of us and of the packages that games and strategies come from."""
    versions = {"python": platform.python_version(), "agent-league": __version__}
    wanted = {
        GAME_ENTRY_POINTS: {game.game_type for game in plan.games},
        STRATEGY_ENTRY_POINTS: {player.source for player in plan.players},
    }
    for group, names in wanted.items():
        for point in entry_points(group=group):
            if point.name in names and point.dist and point.dist.name != "agent-league":
                versions[point.dist.name] = point.dist.version
    for name in sorted(set.union(*wanted.values())):
        library = LIBRARIES.get(name.partition(":")[0])
        if library and ":" in name:
            with suppress(PackageNotFoundError):
                versions[library] = version(library)
    return versions
