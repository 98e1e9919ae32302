"""`league games`: list the installed games and sources, or print a game's rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from agent_league.cli.command_text import rewrite_commands, spell_command
from agent_league.cli.options import HomeOption, find_config, write_to_stdout
from agent_league.config import ConfigLoader, GamesRegistry
from agent_league.errors import AgentLeagueError, UserError

if TYPE_CHECKING:
    from agent_league.games.registry import Game

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


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
    from agent_league.games.registry import source_names
    from agent_league.launch.config_checks import load_configured_game

    loader = find_config(home)
    registry = loader.load_games_registry() if loader else GamesRegistry(games=())
    if name is None:
        found = _list_games(loader, registry)
        write_to_stdout(orjson.dumps(found)) if json else _print_games(found)
    elif name in source_names():
        listed = _list_source_games(name)
        write_to_stdout(orjson.dumps({"source": name, "games": listed})) if json else _print_text("\n".join(listed))
    else:
        told = _describe_game(load_configured_game(loader, name, {}), registry)
        write_to_stdout(orjson.dumps(told)) if json else _print_game(told)


def _list_games(loader: ConfigLoader | None, registry: GamesRegistry) -> dict[str, Any]:
    """List all games and sources as data; if another package's fails to load, the entry has its error."""
    from agent_league.games.registry import game_types, load_source, source_names
    from agent_league.launch.config_checks import load_configured_game

    found: list[dict[str, Any]] = []
    for game_type in game_types():
        try:
            found.append(_summarise_game(load_configured_game(loader, game_type, {}), registry))
        except Exception as error:  # noqa: BLE001 - another package's, and no reason to hide the rest
            found.append({"game_type": game_type, "error": _error_text(error)})
    sources: list[dict[str, Any]] = []
    for source in source_names():
        try:
            load_source(source)  # how many games it has would load its library, which may take seconds
            sources.append({"source": source})
        except Exception as error:  # noqa: BLE001 - as above
            sources.append({"source": source, "error": _error_text(error)})
    return {"games": found, "sources": sources}


def _summarise_game(game: "Game", registry: GamesRegistry) -> dict[str, Any]:
    entry = registry.get_entry(game.game_type)
    return {
        "game_type": game.game_type,
        "title": entry.display_name or game.title or game.game_type,
        "summary": next(iter(game.how_to_play.splitlines()), entry.description),
        "parameters": dict(game.parameters),
        "active": entry.active,
    }


def _describe_game(game: "Game", registry: GamesRegistry) -> dict[str, Any]:
    from agent_league.launch.rulebook import describe_rules

    return (
        _summarise_game(game, registry)
        | describe_rules(game)
        | {"start": f"league run --game {game.game_type} --players 4"}
    )


def _list_source_games(source: str) -> list[str]:
    from agent_league.games.registry import load_source

    try:
        return [f"{source}:{name}" for name in load_source(source).names()]
    except AgentLeagueError:
        raise
    except Exception as error:  # noqa: BLE001 - another package's, at the end of a command
        raise UserError(f"the source {source!r} can't be used: {error!r}") from None


def _print_games(found: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from agent_league.text import to_printable

    console = Console(highlight=False)
    table = Table("Game", "In short", "Parameters")
    for game in found["games"]:
        told = f"can't be used: {game['error']}" if "error" in game else game["summary"]
        name = game["game_type"] + ("" if game.get("active", True) else " (not offered)")
        cells = (name, told, _format_parameters(game.get("parameters", {})))
        table.add_row(*(Text(to_printable(cell)) for cell in cells))
    console.print(table)
    for source in found["sources"]:
        name = source["source"]
        told = f"can't be used: {source['error']}" if "error" in source else f"`league games {name}` lists them"
        console.print(Text(to_printable(rewrite_commands(f"{name}:NAME, {told}"))), soft_wrap=True)
    further = rewrite_commands("`league games NAME` tells the rules; `league run --game NAME` plays a league.")
    console.print(Text(further), soft_wrap=True)


def _print_game(told: Mapping[str, Any]) -> None:
    offered = [] if told["active"] else ["It isn't offered here: games_registry.json says `active: false`."]
    _print_text(
        "\n".join(
            [
                f"{told['title']} ({told['game_type']})",
                "",
                told["how_to_play"].rstrip(),
                "",
                _parameters_line(told),
                f"Players are asked with {told['question']} ({told['method']}).",
                *offered,
                f"Start a league: {spell_command(told['start'].removeprefix('league '))}",
            ]
        )
    )


def _parameters_line(told: Mapping[str, Any]) -> str:
    """Format the line of parameters; a source's game describes its own in its rules."""
    own = _format_parameters(told["parameters"]) or ("those above" if ":" in told["game_type"] else "none")
    return f"Parameters: {own}; and, as for every game, repeat and first_to."


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={orjson.dumps(value).decode()}" for name, value in parameters.items())


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, AgentLeagueError) else repr(error)


def _print_text(text: str) -> None:
    from agent_league.text import to_printable

    for line in text.split("\n"):
        typer.echo(to_printable(line))
