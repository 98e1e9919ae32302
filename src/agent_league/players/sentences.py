"""Sentences about a player's events, for the person who plays it: the same in terminal and browser."""

from collections.abc import Callable

from agent_league.players.choices import format_move
from agent_league.players.events import GameErrorReported, LeagueOver, MatchOver, PlayerEvent, RoundAnnounced
from agent_league.players.human import FallbackPlayed, PlayerStopped, TurnOpened

OUTCOME_TEXTS = {
    "WIN": "You win",
    "DRAW": "A draw",
    "LOSS": "You lose",
    "TECHNICAL_LOSS": "Lost technically",
    "VOID": "No result",
}
VIEW_PARAGRAPH_STARTS = ("The view ", "Each view ")
"""Beginnings of those paragraphs of the rules that describe the view's fields, which only programs need."""

NameLookup = Callable[[str | None], str]
"""From a player's id to its display name."""


def describe_event(
    event: PlayerEvent | TurnOpened | FallbackPlayed | PlayerStopped, own_id: str, name_of: NameLookup
) -> str:
    """Describe an event in a sentence; empty for events that are shown in another way."""
    match event:
        case RoundAnnounced(round_id, match_id, opponent_id):
            return f"Round {round_id}: " + (f"you meet {name_of(opponent_id)}." if match_id else "you have a bye.")
        case MatchOver(game):
            why = f" {game.details['reason']}." if game.details.get("reason") else ""
            return (
                f"{game.match_id}: {OUTCOME_TEXTS.get(game.outcome, game.outcome)} against "
                f"{name_of(game.opponent_id)}.{why}"
            )
        case GameErrorReported(match_id, code, message, consequence):
            return f"{match_id}: the referee says {code}: {'; '.join(filter(None, (message, consequence)))}"
        case FallbackPlayed(turn, move):
            return f"Time is up in {turn.observation.match_id}: {describe_fallback(move)}"
        case LeagueOver(champion_id) if champion_id:
            return "You are the champion." if champion_id == own_id else f"The champion is {name_of(champion_id)}."
        case _:
            return ""


def describe_fallback(move: object) -> str:
    return f"the fallback strategy played {format_move(move)} for you."


def rules_for_people(how_to_play: str) -> list[str]:
    """Return the paragraphs of a game's rules that a person needs."""
    return [text for text in how_to_play.split("\n") if text.strip() and not text.startswith(VIEW_PARAGRAPH_STARTS)]
