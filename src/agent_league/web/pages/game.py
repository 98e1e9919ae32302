"""The page of the league's game: its rules, its parameters, and the messages that ask for moves."""

from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.errors import ConfigError
from agent_league.games.base import BadParameters
from agent_league.games.registry import Game, UnknownGame, playable
from agent_league.model.names import printable
from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told
from agent_league.web.protocol.messages import coded

WITHOUT_WORDS = (
    "This game brings no description of its own. Each question says what the seat may see and which moves are legal."
)


def read(reader: Reader, _: str) -> Told:
    league = reader.season.league
    return {
        "game_type": league.game_type,
        "own_parameters": dict(league.game_parameters),
        "home": reader.home,
        "scoring": reader.season.scoring,
        "tiebreakers": [tiebreaker.replace("_", " ") for tiebreaker in league.scoring.tiebreakers],
        "form": league.scheduling.format.replace("_", " "),
    }


def work(told: Told) -> Told:
    """Load the game, which may be slow, and add its rules and parameters."""
    game_type = told["game_type"]
    parameters = {**_registered(told["home"], game_type), **told["own_parameters"]}
    try:
        game = playable(game_type, parameters)
    except (UnknownGame, BadParameters) as error:
        return {**told, "rules": None, "problem": printable(str(error)), "parameters": parameters}
    return {**told, "coded": coded, "rules": _rules(game), "problem": "", "parameters": dict(game.parameters)}


def _registered(home: Path, game_type: str) -> dict[str, Any]:
    """Return the game's parameters from the games registry of the SHARED folder."""
    try:
        return ConfigLoader(home).load_games_registry().parameters(game_type)
    except ConfigError:
        return {}


def _rules(game: Game) -> dict[str, Any]:
    words = game.how_to_play.strip() or WITHOUT_WORDS
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


GAME = Page("game", "game.html", read, work, title="Game")
