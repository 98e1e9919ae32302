"""The page on which a person takes a seat: the game, whether there is room, and a form for a name."""

from agent_league.games.registry import load_game
from agent_league.league.state import LeaguePhase
from agent_league.players.descriptions import rules_for_people
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData
from agent_league.web.play.seats import LONGEST_NAME


def read_play_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    free = max(0, season.config.participants.max_players - len(season.roster.players()))
    return {
        "league_id": season.league_id,
        "game_type": season.config.game_type,
        "offer": reader.seat_offer,
        "closed_because": _closed_reason(reader, free),
        "is_running": season.phase is LeaguePhase.RUNNING,
        "free": free,
        "players": len(season.roster.players()),
        "missing": reader.missing_agents,
        "longest_name": LONGEST_NAME,
    }


def complete_play_data(told: PageData) -> PageData:
    """Load the game's title and summary, which may take seconds."""
    try:
        game = load_game(told["game_type"])
    except Exception:  # noqa: BLE001 - not installed here, or somebody else's package that can't be loaded
        return {**told, "game_title": told["game_type"], "summary": ""}
    summary = next(iter(rules_for_people(game.how_to_play)), "")
    return {**told, "game_title": game.title or game.game_type, "summary": summary}


def _closed_reason(reader: LeagueReader, free: int) -> str:
    season = reader.state
    if reader.seat_offer is None:
        return "This manager offers no seats in the browser."
    if season.phase is LeaguePhase.RUNNING:
        return "The league is being played; it takes no new players."
    if season.phase is LeaguePhase.COMPLETED:
        return "The league is over."
    if not season.is_registration_open:
        return "Registration is closed at the moment."
    return "" if free else "The league is full."


PLAY_PAGE = Page("play", "play.html", read_play_data, complete_play_data, title="Play", is_exported=False)
