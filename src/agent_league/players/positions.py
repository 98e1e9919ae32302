"""Positions of matches as text for a person: at every turn, at the end of each round, and at the end of the match.

A result has the moves but no final position: in games of perfect information it is computed by the rules from the last
view.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from agent_league.games.base import Move, Rules, State, has_perfect_information, is_legal_move, winning_seat
from agent_league.games.shared_views import format_amount
from agent_league.games.text_view import render_last_round, render_view
from agent_league.players.choices import format_move
from agent_league.players.observation import GameRecord, Observation

MAX_MATCHES = 100
MAX_MOVES_AFTER = 3
"""Opponent's moves after the player's last one that are tried to reach the final position."""
PLAYED_OUTCOMES = ("WIN", "DRAW", "LOSS")
"""Outcomes of matches that were played to their end."""
MAX_SHOWN_MOVES = 12
MAX_MOVE_LENGTH = 40


class MatchPositions:
    """The latest observation of each match of one person."""

    def __init__(self) -> None:
        self._observations: dict[str, Observation] = {}
        self._rounds_shown: dict[str, int] = {}

    def record_observation(self, seen: Observation) -> None:
        """Store the latest observation of a match."""
        self._observations[seen.match_id] = seen
        if len(self._observations) > MAX_MATCHES:
            self._forget_match(next(iter(self._observations)))

    def describe_turn(self, seen: Observation) -> str:
        """Draw the position in which a move is wanted, after the end of the previous round if that is new."""
        parts = [render_view(seen.game_type, seen.view, seen.seat)]
        if seen.rounds_over > self._rounds_shown.get(seen.match_id, 0):
            self._rounds_shown[seen.match_id] = seen.rounds_over
            ended = render_last_round(seen.game_type, seen.view, seen.seat)
            parts = [f"Round {seen.rounds_over} ended so:", ended, *parts] if ended else parts
        return "\n".join(filter(None, parts))

    def describe_end(self, game: GameRecord) -> str:
        """Draw the final position, or list both players' moves if it isn't known; then the payoffs, if given."""
        seen = self._forget_match(game.match_id)
        view = compute_final_view(seen, game) if seen else None
        ending = _describe_moves(game) if seen is None or view is None else render_view(seen.game_type, view, seen.seat)
        return "\n".join(filter(None, (ending, describe_payoffs(game, seen))))

    def _forget_match(self, match_id: str) -> Observation | None:
        self._rounds_shown.pop(match_id, None)
        return self._observations.pop(match_id, None)


def compute_final_view(seen: Observation, game: GameRecord) -> Any:
    """Apply the player's last move and the opponent's after it to the last view; None if the result isn't reached."""
    rules, seat = seen.rules, seen.seat
    if rules is None or not has_perfect_information(rules) or not game.my_moves or game.outcome not in PLAYED_OUTCOMES:
        return None
    try:
        state = _apply_move(rules, seen.view, seat, game.my_moves[-1])
        for moves in ((), *(game.opponent_moves[-count:] for count in range(1, MAX_MOVES_AFTER + 1))):
            last = reduce(lambda at, one: _apply_move(rules, at, 1 - seat, one), moves, state)
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
            return rules.view(_apply_move(rules, seen.view, seen.seat, move), seen.seat)
    except Exception:  # noqa: BLE001 - as above
        return seen.view
    return seen.view


def _apply_move(rules: Rules, state: State, seat: int, move: Move) -> State:
    if rules.actors(state) != (seat,) or not is_legal_move(rules.legal(state, seat), move):
        raise ValueError(f"{move!r:.80} can't be played by seat {seat}")
    return rules.apply(state, {seat: move})


def _recorded_winner(game: GameRecord, seat: int) -> int | None:
    return None if game.outcome == "DRAW" else seat if game.outcome == "WIN" else 1 - seat


def _describe_moves(game: GameRecord) -> str:
    both = (("You:      ", game.my_moves), ("The other:", game.opponent_moves))
    return "\n".join(f"{who} {format_move_list(moves)}" for who, moves in both if moves)


def format_move_list(moves: tuple[Any, ...]) -> str:
    """Join moves with commas; of many, only the last ones."""
    shown = ", ".join(format_move(move)[:MAX_MOVE_LENGTH] for move in moves[-MAX_SHOWN_MOVES:])
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
