"""What a person who plays is told: sentences about events, positions as text, the rules; the same in every skin.

A result has the moves but no final position: in games of perfect information it is computed by the rules from the last
view.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_league.games.base import Move, has_perfect_information, winning_seat
from agent_league.games.steps import StepMoves, apply_moves
from agent_league.games.view import format_amount, render_last_round, render_view
from agent_league.model.result_words import join_names
from agent_league.players.events import GameErrorReported, LeagueOver, MatchOver, PlayerEvent, RoundAnnounced
from agent_league.players.human import FallbackPlayed, PlayerStopped, TurnOpened
from agent_league.players.observation import GameRecord, Observation
from agent_league.text import format_move

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
MAX_MOVES_AFTER = 3
"""Opponent's moves after the player's last one that are tried to reach the final position."""
PLAYED_OUTCOMES = ("WIN", "DRAW", "LOSS")
"""Outcomes of matches that were played to their end."""
MAX_SHOWN_MOVES = 12
MAX_MOVE_LENGTH = 40


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
        case LeagueOver(champion_ids) if champion_ids:
            return _describe_champions(champion_ids, own_id, name_of)
        case _:
            return ""


def _describe_champions(champion_ids: Sequence[str], own_id: str, name_of: NameLookup) -> str:
    others = [name_of(player_id) for player_id in champion_ids if player_id != own_id]
    if not others:
        return "You are the champion."
    if own_id in champion_ids:
        return f"You share the first place with {join_names(others)}."
    if len(others) == 1:
        return f"The champion is {others[0]}."
    return f"The champions, who share the first place, are {join_names(others)}."


def describe_fallback(move: object) -> str:
    return f"the fallback strategy played {format_move(move)} for you."


def rules_for_people(how_to_play: str) -> list[str]:
    """Return the paragraphs of a game's rules that a person needs."""
    return [text for text in how_to_play.split("\n") if text.strip() and not text.startswith(VIEW_PARAGRAPH_STARTS)]


class MatchPositions:
    """Draws the positions of one person's matches; the end of each round is drawn once."""

    def __init__(self) -> None:
        self._rounds_shown: dict[str, int] = {}

    def describe_turn(self, seen: Observation) -> str:
        """Draw the position in which a move is wanted, after the end of the previous round if that is new."""
        parts = [render_view(seen.game_type, seen.view, seen.seat)]
        if seen.rounds_over > self._rounds_shown.get(seen.match_id, 0):
            self._rounds_shown[seen.match_id] = seen.rounds_over
            ended = render_last_round(seen.game_type, seen.view, seen.seat)
            parts = [f"Round {seen.rounds_over} ended so:", ended, *parts] if ended else parts
        return "\n".join(filter(None, parts))

    def describe_end(self, game: GameRecord, seen: Observation | None) -> str:
        """Draw the final position, or list both players' moves if it isn't known; then the payoffs, if given.

        `seen` is what was seen at the player's last turn.
        """
        self._rounds_shown.pop(game.match_id, None)
        view = compute_final_view(seen, game) if seen else None
        ending = _describe_moves(game) if seen is None or view is None else render_view(seen.game_type, view, seen.seat)
        return "\n".join(filter(None, (ending, describe_payoffs(game, seen))))


def compute_final_view(seen: Observation, game: GameRecord) -> Any:
    """Apply the player's last move and the opponent's after it to the last view; None if the result isn't reached."""
    rules, seat = seen.rules, seen.seat
    if rules is None or not has_perfect_information(rules) or not game.my_moves or game.outcome not in PLAYED_OUTCOMES:
        return None
    try:
        own: list[StepMoves] = [{seat: game.my_moves[-1]}]
        for moves in ((), *(game.opponent_moves[-count:] for count in range(1, MAX_MOVES_AFTER + 1))):
            last = apply_moves(rules, seen.view, own + [{1 - seat: move} for move in moves])
            if not rules.actors(last) and winning_seat(rules.returns(last)) == _recorded_winner(game, seat):
                return rules.view(last, seat)
    except Exception:  # noqa: BLE001 - anybody's rules, on anybody's view
        return None
    return None


def compute_view_after(seen: Observation, move: Move) -> Any:
    """Compute what a seat sees after its move; without perfect information, the view before it."""
    rules = seen.rules
    try:
        if rules is not None and has_perfect_information(rules):
            return rules.view(apply_moves(rules, seen.view, [{seen.seat: move}]), seen.seat)
    except Exception:  # noqa: BLE001 - as above
        return seen.view
    return seen.view


def _recorded_winner(game: GameRecord, seat: int) -> int | None:
    return None if game.outcome == "DRAW" else seat if game.outcome == "WIN" else 1 - seat


def _describe_moves(game: GameRecord) -> str:
    both = (("You:      ", game.my_moves), ("The other:", game.opponent_moves))
    return "\n".join(f"{who} {format_move_list(moves)}" for who, moves in both if moves)


def format_move_list(moves: tuple[Any, ...]) -> str:
    """Join moves with commas; of many, only the last ones."""
    shown = ", ".join(format_move(move, MAX_MOVE_LENGTH) for move in moves[-MAX_SHOWN_MOVES:])
    return shown if len(moves) <= MAX_SHOWN_MOVES else f"{len(moves)} moves, at last {shown}"


def describe_payoffs(game: GameRecord, seen: Observation | None) -> str:
    """Describe both payoffs in a sentence; empty if the result has none."""
    payoffs = game.details.get("payoffs")
    if seen is None or not isinstance(payoffs, Mapping):
        return ""
    own, other = payoffs.get(seen.player_id), payoffs.get(game.opponent_id)
    if not isinstance(own, int | float) or not isinstance(other, int | float):
        return ""
    return f"You get {format_amount(own)}, the other {format_amount(other)}."
