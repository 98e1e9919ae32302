"""The page of the league's game: its rules, its parameters, and the messages that ask for moves."""

from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.errors import ConfigError
from agent_league.games.base import BadParameters
from agent_league.games.registry import Game, UnknownGame, load_playable_game
from agent_league.text import to_printable
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.protocol.messages import mark_code

NO_DESCRIPTION = (
    "This game brings no description of its own. Each question says what the seat may see and which moves are legal."
)


def read_game_data(reader: LeagueReader, _: str) -> PageData:
    league = reader.state.config
    return {
        "game_type": league.game_type,
        "own_parameters": dict(league.game_parameters),
        "home": reader.home,
        "scoring": reader.state.scoring,
        "tiebreakers": [tiebreaker.replace("_", " ") for tiebreaker in league.scoring.tiebreakers],
        "form": league.scheduling.format.replace("_", " "),
    }


def complete_game_data(told: PageData) -> PageData:
    """Load the game, which may be slow, and add its rules and parameters."""
    game_type = told["game_type"]
    parameters = {**_registry_parameters(told["home"], game_type), **told["own_parameters"]}
    try:
        game = load_playable_game(game_type, parameters)
    except (UnknownGame, BadParameters) as error:
        return {**told, "rules": None, "problem": to_printable(str(error)), "parameters": parameters}
    return {
        **told,
        "coded": mark_code,
        "rules": _describe_rules(game),
        "problem": "",
        "parameters": dict(game.parameters),
    }


def _registry_parameters(home: Path, game_type: str) -> dict[str, Any]:
    """Return the game's parameters from the games registry of the SHARED folder."""
    try:
        return ConfigLoader(home).load_games_registry().get_parameters(game_type)
    except ConfigError:
        return {}


def _describe_rules(game: Game) -> dict[str, Any]:
    words = game.how_to_play.strip() or NO_DESCRIPTION
    summary, _, rest = words.partition("\n\n")
    return {
        "title": game.title or game.game_type,
        "summary": summary,
        "paragraphs": [part for part in rest.split("\n\n") if part.strip()],
        "method": game.wire.method,
        "question": game.wire.call.TYPE,
        "answer": game.wire.answer.TYPE,
        "illegal": game.wire.illegal.value,
    }


GAME_PAGE = Page("game", "game.html", read_game_data, complete_game_data, title="Game")
