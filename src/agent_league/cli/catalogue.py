"""`league games`, `league strategies` and `league formats`: list what is installed, or tell all about one.

A game or strategy of another package that fails to load is listed with its error.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from agent_league.cli.options import HomeOption, JsonOption, find_config
from agent_league.cli.terminal import make_rich_table, print_json, print_lines, rewrite_commands, spell_command
from agent_league.errors import AgentLeagueError, UserError
from agent_league.text import to_printable

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader, GamesRegistry
    from agent_league.games.registry import Game


def games(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A game, whose rules to tell, or a source of games.")
    ] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List the games that can be played here; with a name, tell its rules in full.

    Games of other packages are among them, and the sources of many games, such as openspiel.
    """
    from agent_league.config import GamesRegistry
    from agent_league.games.registry import source_names
    from agent_league.launch.config_checks import load_configured_game

    loader = find_config(home)
    registry = loader.load_games_registry() if loader else GamesRegistry(games=())
    if name is None:
        found = _list_games(loader, registry)
        print_json(found) if json else _print_games(found)
    elif name in source_names():
        listed = _list_source_games(name)
        print_json({"source": name, "games": listed}) if json else _print_text(listed)
    else:
        told = _describe_game(load_configured_game(loader, name, {}), registry)
        print_json(told) if json else _print_text(_game_lines(told))


def strategies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The one to tell all about.")] = None,
    json: JsonOption = False,
) -> None:
    """List the strategies that players can have; with a name, tell all about it."""
    from agent_league.players.strategies import find_installation_problem, strategy_names

    if name is None:
        found = [_describe_strategy(one) for one in strategy_names()]
        print_json({"strategies": found}) if json else _print_strategies(found)
        return
    if problem := find_installation_problem(name):
        raise UserError(problem)
    told = _describe_strategy(name)
    print_json(told) if json else _print_text(_strategy_lines(told))


def formats(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The one to tell all about.")] = None,
    json: JsonOption = False,
) -> None:
    """List the tournament formats that leagues can have; with a name, tell its settings."""
    from agent_league.formats.registry import FORMATS

    if name is None:
        found = [_or_error({"format": one}, _describe_format, one) for one in FORMATS.names]
        print_json({"formats": found}) if json else _print_formats(found)
        return
    told = _describe_format(name)
    print_json(told) if json else _print_text(_format_lines(told))


def _describe_format(name: str) -> dict[str, Any]:
    from dataclasses import MISSING, fields

    from agent_league.formats.registry import FORMATS

    kind = FORMATS.load_class(name)
    summary, _, more = (kind.__doc__ or "").strip().partition("\n\n")
    return {
        "format": name,
        "summary": " ".join(summary.split()),
        "description": " ".join(more.split()),
        "settings": {part.name: None if part.default is MISSING else part.default for part in fields(kind)},
    }


def _print_formats(found: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (one["format"], one["error"], "")
        if "error" in one
        else (one["format"], one["summary"], _format_parameters(one["settings"]))
        for one in found
    ]
    further = "`league run --format NAME` plays one; --set scheduling.settings.SETTING=VALUE changes it."
    _print_list(("Format", "In short", "Settings"), rows, [further])


def _format_lines(told: Mapping[str, Any]) -> list[str]:
    return [
        f"{told['format']}: {told['summary']}",
        *([told["description"]] if told["description"] else []),
        f"Settings: {_format_parameters(told['settings']) or 'none'}",
        f"`league run --format {told['format']}` plays one.",
    ]


def _list_games(loader: "ConfigLoader | None", registry: "GamesRegistry") -> dict[str, Any]:
    from agent_league.games.registry import game_types, load_source, source_names
    from agent_league.launch.config_checks import load_configured_game

    def load_nothing_more(source: str) -> dict[str, Any]:
        load_source(source)  # how many games it has would load its library, which may take seconds
        return {}

    return {
        "games": [
            _or_error(
                {"game_type": one}, lambda one: _summarise_game(load_configured_game(loader, one, {}), registry), one
            )
            for one in game_types()
        ],
        "sources": [_or_error({"source": one}, load_nothing_more, one) for one in source_names()],
    }


def _or_error(named: dict[str, Any], describe: Callable[[str], dict[str, Any]], name: str) -> dict[str, Any]:
    """Add a description to the entry, or the error of another package, which is no reason to hide the rest."""
    try:
        return named | describe(name)
    except Exception as error:  # noqa: BLE001 - another package's
        return named | {"error": str(error) if isinstance(error, AgentLeagueError) else repr(error)}


def _summarise_game(game: "Game", registry: "GamesRegistry") -> dict[str, Any]:
    entry = registry.get_entry(game.game_type)
    return {
        "game_type": game.game_type,
        "title": entry.display_name or game.title or game.game_type,
        "summary": next(iter(game.how_to_play.splitlines()), entry.description),
        "parameters": dict(game.parameters),
        "active": entry.active,
    }


def _describe_game(game: "Game", registry: "GamesRegistry") -> dict[str, Any]:
    from agent_league.launch.rulebook import describe_rules

    start = {"start": f"league run --game {game.game_type} --players 4"}
    return _summarise_game(game, registry) | describe_rules(game) | start


def _list_source_games(source: str) -> list[str]:
    from agent_league.games.registry import load_source

    try:
        return [f"{source}:{name}" for name in load_source(source).names()]
    except AgentLeagueError:
        raise
    except Exception as error:  # noqa: BLE001 - another package's, at the end of a command
        raise UserError(f"the source {source!r} can't be used: {error!r}") from None


def _print_games(found: Mapping[str, Any]) -> None:
    rows = [
        (
            game["game_type"] + ("" if game.get("active", True) else " (not offered)"),
            f"can't be used: {game['error']}" if "error" in game else game["summary"],
            _format_parameters(game.get("parameters", {})),
        )
        for game in found["games"]
    ]
    sources = [
        f"{one['source']}:NAME, can't be used: {one['error']}"
        if "error" in one
        else f"{one['source']}:NAME, `league games {one['source']}` lists them"
        for one in found["sources"]
    ]
    further = "`league games NAME` tells the rules; `league run --game NAME` plays a league."
    _print_list(("Game", "In short", "Parameters"), rows, [*sources, further])


def _game_lines(told: Mapping[str, Any]) -> list[str]:
    own = _format_parameters(told["parameters"]) or ("those above" if ":" in told["game_type"] else "none")
    return [
        f"{told['title']} ({told['game_type']})",
        "",
        *told["how_to_play"].rstrip().split("\n"),
        "",
        f"Parameters: {own}; and, as for every game, repeat and first_to.",
        f"Players are asked with {told['question']} ({told['method']}).",
        *([] if told["active"] else ["It isn't offered here: games_registry.json says `active: false`."]),
        f"Start a league: {spell_command(told['start'].removeprefix('league '))}",
    ]


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={orjson.dumps(value).decode()}" for name, value in parameters.items())


def _describe_strategy(name: str) -> dict[str, Any]:
    from agent_league.players import strategies as installed

    def describe(name: str) -> dict[str, Any]:
        return {
            "summary": installed.strategy_summary(name),
            "games": list(installed.strategy_games(name)),
            "description": installed.strategy_description(name),
            "at_once": installed.is_synchronous(name),
            "settings": installed.has_settings(name),
            "learns": installed.can_learn(name),
        }

    return _or_error({"strategy": name}, describe, name)


def _print_strategies(found: Iterable[Mapping[str, Any]]) -> None:
    rows = [(told["strategy"], told.get("error") or told["summary"], _games_text(told)) for told in found]
    further = "`league player --strategy NAME` plays so; `league strategies NAME` tells more."
    _print_list(("Strategy", "In a sentence", "Games"), rows, [further])


def _strategy_lines(told: Mapping[str, Any]) -> list[str]:
    if "error" in told:
        return [told["error"]]
    if told["at_once"]:
        pace = "It chooses by itself, so `league simulate` can play it thousands of times a second."
    else:
        pace = "It waits for others while it chooses, so `league simulate` doesn't take it."
    kept = "What it learns is kept in the SHARED folder, in data/learned, a file a player; a --seed keeps nothing."
    asks = "Its settings are in the SHARED folder, in config/defaults/player.json."
    return [
        f"{told['strategy']}, for {_games_text(told)}",
        "",
        *told["description"].split("\n"),
        "",
        pace,
        *([kept] if told["learns"] else []),
        *([asks] if told["settings"] else []),
    ]


def _games_text(told: Mapping[str, Any]) -> str:
    return "" if "error" in told else ", ".join(told["games"]) or "any game"


def _print_list(columns: Sequence[str], rows: Sequence[Sequence[str]], lines: Iterable[str]) -> None:
    """Print a table fitted to the terminal, and sentences below it."""
    from rich.console import Console

    from agent_league.model.tables import DataTable

    console = Console(highlight=False)
    console.print(make_rich_table(DataTable(columns, rows)))
    print_lines(console, map(rewrite_commands, lines))


def _print_text(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(to_printable(line))
