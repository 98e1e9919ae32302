"""The page on which a person takes a seat: the game, whether there is room, and a form for a name."""

from agent_league.games.registry import load_game
from agent_league.league.state import Phase
from agent_league.players.sentences import for_people
from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told
from agent_league.web.play.seats import LONGEST_NAME


def read(reader: Reader, _: str) -> Told:
    season = reader.season
    free = max(0, season.league.participants.max_players - len(season.roster.players()))
    return {
        "league_id": season.league_id,
        "game_type": season.league.game_type,
        "offer": reader.seats,
        "closed_because": _closed_because(reader, free),
        "is_running": season.phase is Phase.RUNNING,
        "free": free,
        "players": len(season.roster.players()),
        "missing": reader.missing,
        "longest_name": LONGEST_NAME,
    }


def work(told: Told) -> Told:
    """Load the game's title and summary, which may take seconds."""
    try:
        game = load_game(told["game_type"])
    except Exception:  # noqa: BLE001 - not installed here, or somebody else's package that can't be loaded
        return {**told, "game_title": told["game_type"], "summary": ""}
    summary = next(iter(for_people(game.how_to_play)), "")
    return {**told, "game_title": game.title or game.game_type, "summary": summary}


def _closed_because(reader: Reader, free: int) -> str:
    season = reader.season
    if reader.seats is None:
        return "This manager offers no seats in the browser."
    if season.phase is Phase.RUNNING:
        return "The league is being played; it takes no new players."
    if season.phase is Phase.COMPLETED:
        return "The league is over."
    if not season.is_open:
        return "Registration is closed at the moment."
    return "" if free else "The league is full."


PLAY = Page("play", "play.html", read, work, title="Play", is_exported=False)
