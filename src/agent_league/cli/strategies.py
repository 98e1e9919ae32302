"""`league strategies`: list the installed strategies, or describe one."""

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
import typer

from agent_league.cli.command_text import rewrite_commands
from agent_league.cli.games import JsonOption
from agent_league.cli.options import write_to_stdout
from agent_league.errors import AgentLeagueError


def strategies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The one to tell all about.")] = None,
    json: JsonOption = False,
) -> None:
    """List the strategies that players can have; with a name, tell all about it."""
    from agent_league.errors import UserError
    from agent_league.players.strategies import find_installation_problem, strategy_names

    if name is None:
        found = [_describe_strategy(one) for one in strategy_names()]
        write_to_stdout(orjson.dumps({"strategies": found})) if json else _print_strategies(found)
        return
    if problem := find_installation_problem(name):
        raise UserError(problem)
    told = _describe_strategy(name)
    write_to_stdout(orjson.dumps(told)) if json else _print_strategy(told)


def _describe_strategy(name: str) -> dict[str, Any]:
    """Describe a strategy as data; if another package's fails to load, the entry has its error."""
    from agent_league.players.strategies import (
        can_learn,
        has_settings,
        is_synchronous,
        strategy_description,
        strategy_games,
        strategy_summary,
    )

    try:
        return {
            "strategy": name,
            "summary": strategy_summary(name),
            "games": list(strategy_games(name)),
            "description": strategy_description(name),
            "at_once": is_synchronous(name),
            "settings": has_settings(name),
            "learns": can_learn(name),
        }
    except Exception as error:  # noqa: BLE001 - another package's, and no reason to hide the rest
        return {"strategy": name, "error": str(error) if isinstance(error, AgentLeagueError) else repr(error)}


def _print_strategies(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from agent_league.text import to_printable

    table = Table("Strategy", "In a sentence", "Games")
    for told in found:
        sentence = told["error"] if "error" in told else told["summary"]
        cells = (told["strategy"], sentence, _games_text(told))
        table.add_row(*(Text(to_printable(cell)) for cell in cells))
    console = Console(highlight=False)
    console.print(table)
    further = rewrite_commands("`league player --strategy NAME` plays so; `league strategies NAME` tells more.")
    console.print(Text(further), soft_wrap=True)


def _print_strategy(told: Mapping[str, Any]) -> None:
    from agent_league.text import to_printable

    if "error" in told:
        lines = [told["error"]]
    else:
        lines = [
            f"{told['strategy']}, for {_games_text(told)}",
            "",
            *told["description"].split("\n"),
            "",
            *_describe_habits(told),
        ]
    for line in lines:
        typer.echo(to_printable(line))


def _describe_habits(told: Mapping[str, Any]) -> list[str]:
    if told["at_once"]:
        pace = "It chooses by itself, so `league simulate` can play it thousands of times a second."
    else:
        pace = "It waits for others while it chooses, so `league simulate` doesn't take it."
    kept = "What it learns is kept in the SHARED folder, in data/learned, a file a player; a --seed keeps nothing."
    asks = "Its settings are in the SHARED folder, in config/defaults/player.json."
    return [pace, *([kept] if told["learns"] else []), *([asks] if told["settings"] else [])]


def _games_text(told: Mapping[str, Any]) -> str:
    return "" if "error" in told else ", ".join(told["games"]) or "any game"
