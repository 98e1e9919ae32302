"""Whether a league can be played as it is configured; what is wrong is named where it stands, before the start."""

from collections.abc import Sequence

from pydantic import ValidationError

from agent_league.config import ConfigLoader, LeagueConfig, LlmSettings, PlayerDefaults
from agent_league.errors import UserError
from agent_league.games.base import BadParameters
from agent_league.games.registry import game_types, load_game
from agent_league.players.strategies import check_strategy, strategy_names

REGISTRY = "games/games_registry.json"


def check_game(loader: ConfigLoader, game_type: str, file: str, setting: str) -> None:
    """A game that a file names must be installed, and the registry's parameters must make one."""
    if problem := _not_installed("game", game_type, game_types()):
        raise loader.wrong(file, setting, problem)
    game = load_game(game_type)
    for index, entry in enumerate(loader.load_games_registry().games):
        if entry.game_type == game_type:
            try:
                game.rules.new({**game.parameters, **entry.parameters})
            except BadParameters as error:
                raise loader.wrong(REGISTRY, f"games.{index}.parameters", str(error)) from None


def check_game_option(game_type: str) -> None:
    """A game that was asked for by name must be installed."""
    if problem := _not_installed("game", game_type, game_types()):
        raise UserError(f"--game: {problem}")


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
    file = f"leagues/{league.league_id}.json"
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
