"""Checks of a league's configuration before its start; errors name the file and setting."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from agent_league.agent.dialects import DIALECTS
from agent_league.config import ConfigLoader, GamesRegistry, LeagueConfig, PlayerDefaults
from agent_league.config.models import LADDER_FORMAT, LadderConfig
from agent_league.errors import ConfigError, UserError
from agent_league.formats.base import Entrant, TournamentRecord
from agent_league.formats.registry import FORMATS
from agent_league.games.base import REPEAT_PARAMETERS, BadParameters
from agent_league.games.contract import try_random_games
from agent_league.games.registry import Game, UnknownGame, load_playable_game
from agent_league.ladders.registry import load_ladder
from agent_league.league.tournament import make_format
from agent_league.model.agents import ANY_GAME
from agent_league.model.names import list_known_names
from agent_league.players.strategies import check_strategy, find_installation_problem
from agent_league.text import quote

MATCHES_PER_ROUND_SETTING = "scheduling.matches_per_round"
GAMES_REGISTRY_FILE = "games/games_registry.json"


def choose_league_config(
    loader: ConfigLoader,
    registry: GamesRegistry,
    league_id: str | None,
    game_type: str | None,
    parameters: Mapping[str, Any],
) -> LeagueConfig:
    """Load the requested league with its game and parameters; `game_type` and `parameters` override its file.

    `matches_per_round` is unset, which makes full rounds, unless `--set` or the file of a named league sets it.
    Raises UnknownGame and BadParameters for wrong arguments, ConfigError for wrong files.
    """
    league = loader.load_league(league_id, game_type)
    file = loader.league_file_name(league.league_id)
    with nullcontext() if game_type is not None else _blame_setting(loader, file, "game_type"):
        game = load_registered_game(loader, registry, league.game_type)
    if not registry.get_entry(league.game_type).active:
        raise UserError(
            f"{league.game_type} isn't offered here: {loader.file_path(GAMES_REGISTRY_FILE)} says `active: false` "
            "of it;"
            " `league games` lists what is"
        )
    with _blame_setting(loader, file, "game_parameters"):
        game = _with_known_parameters(game, league.game_parameters)
    game = _with_asked_parameters(game, parameters)
    title = league.display_name or f"{game.title or game.game_type} League"
    own: dict[str, Any] = {"display_name": title, "game_parameters": dict(game.parameters)}
    is_named = league_id is not None or game_type is not None
    if (
        not (is_named and loader.has_league_file(league.league_id))
        and MATCHES_PER_ROUND_SETTING not in loader.overrides
    ):
        own["scheduling"] = league.scheduling.model_copy(update={"matches_per_round": None})
    league = league.model_copy(update=own)
    if league.ladder:
        _check_ladder(loader, file, league.ladder)
        return league
    try:
        make_format(league.scheduling)
    except ConfigError as error:
        problem = str(error).removeprefix("format: ")
        raise loader.make_setting_error(file, "scheduling.format", problem) from None
    return league


def check_format_name(name: str, *, takes_ladder: bool) -> None:
    """Raise UserError unless `--format` names a format that is installed, or the ladder where that can be had."""
    if name == LADDER_FORMAT and not takes_ladder:
        raise UserError(
            "--format ladder: a practice ladder has no end to be played to; `league manager --format ladder` and "
            "`league new league NAME --format ladder` open one"
        )
    known = [*FORMATS.names, LADDER_FORMAT] if takes_ladder else [*FORMATS.names]
    if name not in known and name != LADDER_FORMAT:
        raise UserError(f"--format: no format {quote(name)} is installed {list_known_names(name, sorted(known))}")


def _check_ladder(loader: ConfigLoader, file: str, ladder: LadderConfig) -> None:
    """Check that the ladder and the strategies of the house bots are installed; raises ConfigError."""
    try:
        load_ladder(ladder.pairing, ladder.settings)
    except ConfigError as error:
        raise loader.make_setting_error(file, "ladder.pairing", str(error)) from None
    for name in ladder.house_bots:
        if problem := find_installation_problem(name):
            raise loader.make_setting_error(file, "ladder.house_bots", problem)


def adapt_league_to_protocols(
    loader: ConfigLoader, league: LeagueConfig, game_type: str | None, parameters: Mapping[str, Any]
) -> dict[str, LeagueConfig]:
    """Protocol -> the league if all players speak it; settings that were given explicitly are kept."""
    said = {*loader.load_league(league.league_id, game_type).game_parameters, *parameters}
    keep_format = "scheduling.format" in loader.overrides
    return {
        name: dialect.adapt_rules(league, explicit_parameters=said, keep_format=keep_format)
        for name, dialect in DIALECTS.items()
    }


def load_configured_game(loader: ConfigLoader | None, game_type: str, parameters: Mapping[str, Any]) -> Game:
    """Load the requested game with the parameters of the SHARED folder, if any; `parameters` override them.

    Raises UnknownGame and BadParameters for wrong arguments.
    """
    if loader is None:
        return _with_asked_parameters(load_playable_game(game_type, {}), parameters)
    return _with_asked_parameters(load_registered_game(loader, loader.load_games_registry(), game_type), parameters)


def check_games(loader: ConfigLoader, game_types: Iterable[str], file: str | None = None) -> None:
    """Check that all games are installed and work with the registry's parameters.

    `file` is the file that lists them, to be named in errors; None if they come from the command line.
    """
    registry = loader.load_games_registry()
    with _blame_setting(loader, file, "game_types") if file else nullcontext():
        for game_type in game_types:
            if game_type != ANY_GAME:
                try_random_games(load_registered_game(loader, registry, game_type))


def load_registered_game(loader: ConfigLoader, registry: GamesRegistry, game_type: str) -> Game:
    """Load a game with the registry's parameters; raises UnknownGame."""
    game = load_playable_game(game_type, {})
    index = next((index for index, entry in enumerate(registry.games) if entry.game_type == game_type), 0)
    with _blame_setting(loader, GAMES_REGISTRY_FILE, f"games.{index}.parameters"):
        return _with_known_parameters(game, registry.get_parameters(game_type))


def _with_asked_parameters(game: Game, parameters: Mapping[str, Any]) -> Game:
    """Set parameters that the game must know, and try the game out."""
    game = _with_known_parameters(game, parameters)
    try_random_games(game)
    return game


def _with_known_parameters(game: Game, parameters: Mapping[str, Any]) -> Game:
    """Set parameters that the game must know; games of a source, such as OpenSpiel's, check theirs themselves."""
    known = {**game.parameters, **dict.fromkeys(REPEAT_PARAMETERS)}
    unknown = next((name for name in parameters if name not in known), None)
    if unknown is not None and ":" not in game.game_type:
        raise BadParameters(f"{game.game_type} has no parameter {unknown!r} {list_known_names(unknown, [*known])}")
    return game.with_parameters(parameters)


@contextmanager
def _blame_setting(loader: ConfigLoader, file: str, setting: str) -> Iterator[None]:
    """Turn UnknownGame and BadParameters into errors that name this file and setting."""
    try:
        yield
    except (UnknownGame, BadParameters) as error:
        raise loader.make_setting_error(file, setting, str(error)) from None


def select_strategies(loader: ConfigLoader, asked_for: Sequence[str], defaults: PlayerDefaults) -> tuple[str, ...]:
    """Return the requested strategies, else that of `defaults/player.json`, after checking that each can be made."""
    for name in asked_for:
        if problem := find_installation_problem(name):
            raise UserError(f"--strategy: {problem}")
    if not asked_for and (problem := find_installation_problem(defaults.strategy)):
        raise loader.make_setting_error("defaults/player.json", "strategy", problem)
    usable = tuple(asked_for) or (defaults.strategy,)
    for name in dict.fromkeys(usable):
        check_strategy(name, defaults)
    return usable


def check_player_count(loader: ConfigLoader, league: LeagueConfig, players: int) -> None:
    """Check that the league may start with so many players, or it would wait for ever."""
    least, most = league.participants.min_players, league.participants.max_players
    file = loader.league_file_name(league.league_id)
    if players < least:
        raise loader.make_setting_error(
            file, "participants.min_players", f"{least} players are needed, and only {players} will come"
        )
    if players > most:
        raise loader.make_setting_error(
            file, "participants.max_players", f"there is room for {most} players, and {players} will come"
        )
    if league.ladder:
        return
    entrants = [Entrant(f"P{seed:02}", seed) for seed in range(1, players + 1)]
    try:
        make_format(league.scheduling).next_round(TournamentRecord(entrants))
    except ConfigError as error:
        raise loader.make_setting_error(file, "scheduling.settings", str(error)) from None
