"""Positions of matches as text for a person: at every turn, at the end of each round, and at the end of the match.

A result has the moves but no final position: in games of perfect information it is computed by the rules from the last
view.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from agent_league.games.base import Move, Rules, State, allows, hides_nothing, winning_seat
from agent_league.games.shared_views import amount
from agent_league.games.text_view import drawn, last_round
from agent_league.players.choices import named
from agent_league.players.observation import GameRecord, Observation

MOST_MATCHES = 100
MOST_MOVES_AFTER = 3
"""Opponent's moves after the player's last one that are tried to reach the final position."""
OUTCOMES = ("WIN", "DRAW", "LOSS")
"""Outcomes of matches that were played to their end."""
SHOWN_MOVES = 12
LONGEST_MOVE = 40


class Positions:
    """The latest observation of each match of one person."""

    def __init__(self) -> None:
        self._seen: dict[str, Observation] = {}
        self._rounds_told: dict[str, int] = {}

    def note(self, seen: Observation) -> None:
        """Store the latest observation of a match."""
        self._seen[seen.match_id] = seen
        if len(self._seen) > MOST_MATCHES:
            self._forget(next(iter(self._seen)))

    def at_turn(self, seen: Observation) -> str:
        """Draw the position in which a move is wanted, after the end of the previous round if that is new."""
        parts = [drawn(seen.game_type, seen.view, seen.seat)]
        if seen.rounds_over > self._rounds_told.get(seen.match_id, 0):
            self._rounds_told[seen.match_id] = seen.rounds_over
            ended = last_round(seen.game_type, seen.view, seen.seat)
            parts = [f"Round {seen.rounds_over} ended so:", ended, *parts] if ended else parts
        return "\n".join(filter(None, parts))

    def at_end(self, game: GameRecord) -> str:
        """Draw the final position, or list both players' moves if it isn't known; then the payoffs, if given."""
        seen = self._forget(game.match_id)
        view = last_view(seen, game) if seen else None
        ending = _moves(game) if seen is None or view is None else drawn(seen.game_type, view, seen.seat)
        return "\n".join(filter(None, (ending, paid(game, seen))))

    def _forget(self, match_id: str) -> Observation | None:
        self._rounds_told.pop(match_id, None)
        return self._seen.pop(match_id, None)


def last_view(seen: Observation, game: GameRecord) -> Any:
    """Apply the player's last move and the opponent's after it to the last view; None if the result isn't reached."""
    rules, seat = seen.rules, seen.seat
    if rules is None or not hides_nothing(rules) or not game.my_moves or game.outcome not in OUTCOMES:
        return None
    try:
        state = _led_on(rules, seen.view, seat, game.my_moves[-1])
        for moves in ((), *(game.opponent_moves[-count:] for count in range(1, MOST_MOVES_AFTER + 1))):
            last = reduce(lambda at, one: _led_on(rules, at, 1 - seat, one), moves, state)
            if not rules.actors(last) and winning_seat(rules.returns(last)) == _winner(game, seat):
                return rules.view(last, seat)
    except Exception:  # noqa: BLE001 - anybody's rules, on anybody's view
        return None
    return None


def view_after(seen: Observation, move: Move) -> Any:
    """Compute what a seat sees after its move; without perfect information, the view before it."""
    rules = seen.rules
    try:
        if rules is not None and hides_nothing(rules):
            return rules.view(_led_on(rules, seen.view, seen.seat, move), seen.seat)
    except Exception:  # noqa: BLE001 - as above
        return seen.view
    return seen.view


def _led_on(rules: Rules, state: State, seat: int, move: Move) -> State:
    if rules.actors(state) != (seat,) or not allows(rules.legal(state, seat), move):
        raise ValueError(f"{move!r:.80} can't be played by seat {seat}")
    return rules.apply(state, {seat: move})


def _winner(game: GameRecord, seat: int) -> int | None:
    return None if game.outcome == "DRAW" else seat if game.outcome == "WIN" else 1 - seat


def _moves(game: GameRecord) -> str:
    both = (("You:      ", game.my_moves), ("The other:", game.opponent_moves))
    return "\n".join(f"{who} {in_a_line(moves)}" for who, moves in both if moves)


def in_a_line(moves: tuple[Any, ...]) -> str:
    """Join moves with commas; of many, only the last ones."""
    shown = ", ".join(named(move)[:LONGEST_MOVE] for move in moves[-SHOWN_MOVES:])
    return shown if len(moves) <= SHOWN_MOVES else f"{len(moves)} moves, at last {shown}"


def paid(game: GameRecord, seen: Observation | None) -> str:
    """Describe both payoffs in a sentence; empty if the result has none."""
    payoffs = game.details.get("payoffs")
    if seen is None or not isinstance(payoffs, Mapping):
        return ""
    own, other = payoffs.get(seen.player_id), payoffs.get(game.opponent_id)
    if not isinstance(own, int | float) or not isinstance(other, int | float):
        return ""
    return f"You get {amount(own)}, the other {amount(other)}."
