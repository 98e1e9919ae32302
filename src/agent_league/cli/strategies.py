"""`league strategies`: list the installed strategies, or describe one."""

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
import typer

from agent_league.cli.command_text import as_typed
from agent_league.cli.games import Json
from agent_league.cli.options import put_out
from agent_league.errors import AgentLeagueError


def strategies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The one to tell all about.")] = None,
    json: Json = False,
) -> None:
    """List the strategies that players can have; with a name, tell all about it."""
    from agent_league.errors import UserError
    from agent_league.players.strategies import not_installed, strategy_names

    if name is None:
        found = [_told(one) for one in strategy_names()]
        put_out(orjson.dumps({"strategies": found})) if json else _show_all(found)
        return
    if problem := not_installed(name):
        raise UserError(problem)
    told = _told(name)
    put_out(orjson.dumps(told)) if json else _show(told)


def _told(name: str) -> dict[str, Any]:
    """Describe a strategy as data; if another package's fails to load, the entry has its error."""
    from agent_league.players.strategies import (
        answers_at_once,
        has_settings,
        learns,
        strategy_games,
        strategy_sentence,
        strategy_words,
    )

    try:
        return {
            "strategy": name,
            "summary": strategy_sentence(name),
            "games": list(strategy_games(name)),
            "description": strategy_words(name),
            "at_once": answers_at_once(name),
            "settings": has_settings(name),
            "learns": learns(name),
        }
    except Exception as error:  # noqa: BLE001 - another package's, and no reason to hide the rest
        return {"strategy": name, "error": str(error) if isinstance(error, AgentLeagueError) else repr(error)}


def _show_all(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from agent_league.model.names import printable

    table = Table("Strategy", "In a sentence", "Games")
    for told in found:
        sentence = told["error"] if "error" in told else told["summary"]
        cells = (told["strategy"], sentence, _games(told))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console = Console(highlight=False)
    console.print(table)
    further = as_typed("`league player --strategy NAME` plays so; `league strategies NAME` tells more.")
    console.print(Text(further), soft_wrap=True)


def _show(told: Mapping[str, Any]) -> None:
    from agent_league.model.names import printable

    if "error" in told:
        lines = [told["error"]]
    else:
        lines = [f"{told['strategy']}, for {_games(told)}", "", *told["description"].split("\n"), "", *_habits(told)]
    for line in lines:
        typer.echo(printable(line))


def _habits(told: Mapping[str, Any]) -> list[str]:
    if told["at_once"]:
        pace = "It chooses by itself, so `league simulate` can play it thousands of times a second."
    else:
        pace = "It waits for others while it chooses, so `league simulate` doesn't take it."
    kept = "What it learns is kept in the SHARED folder, in data/learned, a file a player; a --seed keeps nothing."
    asks = "Its settings are in the SHARED folder, in config/defaults/player.json."
    return [pace, *([kept] if told["learns"] else []), *([asks] if told["settings"] else [])]


def _games(told: Mapping[str, Any]) -> str:
    return "" if "error" in told else ", ".join(told["games"]) or "any game"
