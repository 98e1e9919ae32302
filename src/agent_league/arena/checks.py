"""Whether a league can be played as it is configured; what is wrong is named where it stands, before the start."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from agent_league.config import ConfigLoader, LeagueConfig, LlmSettings, PlayerDefaults
from agent_league.errors import ConfigError, UserError
from agent_league.games.base import REPEATING, BadParameters
from agent_league.games.registry import Game, game_types, load_game, source_names
from agent_league.players.strategies import check_strategy, strategy_names

REGISTRY = "games/games_registry.json"


def chosen_league(
    loader: ConfigLoader, league_id: str | None, game_type: str | None, parameters: Mapping[str, Any]
) -> LeagueConfig:
    """The league that somebody asks for, which can be played; a game and parameters win over its file."""
    if game_type is None:
        league = loader.load_league(league_id)
        check_game(loader, league.game_type, loader.league_file(league.league_id), "game_type")
    else:
        check_game_option(loader, game_type)
        league = loader.load_league(league_id, game_type)
    registry = loader.load_games_registry()
    if not registry.entry(league.game_type).active:
        raise UserError(
            f"{league.game_type} isn't offered here: {loader.path(REGISTRY)} says `active: false` of it;"
            " `league games` lists what is"
        )
    game = load_game(league.game_type)
    ours = {**registry.parameters(game.game_type), **league.game_parameters}
    if problem := _mistake(game, ours):
        raise loader.wrong(loader.league_file(league.league_id), "game_parameters", problem)
    if problem := _unknown(game, parameters) or _mistake(game, {**ours, **parameters}):
        raise UserError(f"--param: {problem}")
    title = league.display_name or f"{game.title or game.game_type} League"
    update = {"display_name": title, "game_parameters": {**league.game_parameters, **parameters}}
    return league.model_copy(update=update)


def check_game(loader: ConfigLoader, game_type: str, file: str, setting: str) -> None:
    """A game that a file names must be installed, and the registry's parameters must make one."""
    if problem := not_playable(game_type):
        raise loader.wrong(file, setting, problem)
    _check_registry(loader, game_type)


def check_game_option(loader: ConfigLoader, game_type: str) -> None:
    """A game that was asked for by name must be installed, and the registry's parameters must make one."""
    if problem := not_playable(game_type):
        raise UserError(f"--game: {problem}")
    _check_registry(loader, game_type)


def game_with(game_type: str, parameters: Mapping[str, Any]) -> Game:
    """A game that was asked for by name, under parameters that were too."""
    if problem := not_playable(game_type):
        raise UserError(f"--game: {problem}")
    game = load_game(game_type)
    if problem := _unknown(game, parameters) or _mistake(game, parameters):
        raise UserError(f"--param: {problem}")
    return game.with_parameters(parameters)


def _check_registry(loader: ConfigLoader, game_type: str) -> None:
    for index, entry in enumerate(loader.load_games_registry().games):
        if entry.game_type == game_type and (problem := _mistake(load_game(game_type), entry.parameters)):
            raise loader.wrong(REGISTRY, f"games.{index}.parameters", problem)


def _mistake(game: Game, parameters: Mapping[str, Any]) -> str | None:
    """Why these parameters make no game."""
    merged = {**game.parameters, **parameters}
    try:
        replace(game, parameters=merged).rules.new(merged)
    except BadParameters as error:
        return str(error)
    return None


def _unknown(game: Game, parameters: Mapping[str, Any]) -> str | None:
    """What a game doesn't know; only a source can tell what its own games take."""
    known = {**game.parameters, **dict.fromkeys(REPEATING)}
    unknown = next((name for name in parameters if name not in known), None)
    if unknown is None or ":" in game.game_type:
        return None
    return f"{game.game_type} has no parameter {unknown!r} (there are: {', '.join(known)})"


def not_playable(game_type: str) -> str | None:
    """Why a game can't be played here."""
    source, colon, _ = game_type.partition(":")
    known = (*game_types(), *(f"{name}:NAME" for name in source_names()))
    if not (colon and source in source_names()) and (problem := _not_installed("game", game_type, known)):
        return problem
    try:
        load_game(game_type)
    except ConfigError as error:
        return str(error).removeprefix("game_type: ")
    except Exception as error:  # noqa: BLE001 - somebody else's package, at the end of a command
        return f"the game {game_type!r} can't be loaded: {error!r}"
    return None


def usable_strategies(loader: ConfigLoader, asked_for: Sequence[str], defaults: PlayerDefaults) -> tuple[str, ...]:
    """The strategies that were asked for, or that of `defaults/player.json`; all must be installed, and can be made."""
    for name in asked_for:
        if problem := _not_installed("strategy", name, strategy_names()):
            raise UserError(f"--strategy: {problem}")
    if not asked_for and (problem := _not_installed("strategy", defaults.strategy, strategy_names())):
        raise loader.wrong("defaults/player.json", "strategy", problem)
    usable = tuple(asked_for) or (defaults.strategy,)
    for name in dict.fromkeys(usable):
        check_strategy(name, defaults)
    return usable


def with_model(defaults: PlayerDefaults, model: str | None, base_url: str | None) -> PlayerDefaults:
    """The defaults with what a command line says of the model."""
    said = {name: value for name, value in (("model", model), ("base_url", base_url)) if value is not None}
    try:
        llm = LlmSettings.model_validate({**defaults.llm.model_dump(), **said})
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, Input ")
        raise UserError(f"--base-url {base_url!r} {problem}") from None
    return defaults.model_copy(update={"llm": llm})


def check_size(loader: ConfigLoader, league: LeagueConfig, players: int) -> None:
    """So many players must be allowed to start a league, or it would wait for ever."""
    least, most = league.participants.min_players, league.participants.max_players
    file = loader.league_file(league.league_id)
    if players < least:
        raise loader.wrong(
            file, "participants.min_players", f"{least} players are needed, and only {players} will come"
        )
    if players > most:
        raise loader.wrong(
            file, "participants.max_players", f"there is room for {most} players, and {players} will come"
        )


def _not_installed(kind: str, name: str, known: Sequence[str]) -> str | None:
    if name in known:
        return None
    return f"no {kind} {name!r} is installed (there are: {', '.join(known) or 'none'})"
