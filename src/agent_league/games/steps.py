"""Walking through a match by its rules: position after position, from moves that were recorded, drawn or chosen.

The rules' own answers are trusted here; `contract` checks them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from agent_league.games.base import CHANCE, Move, Rules, State, is_legal_move
from agent_league.text import quote

StepMoves = Mapping[int, Move]
"""The moves of one step by seat, with CHANCE for a draw."""
NextMoves = Callable[[State, tuple[int, ...], int], StepMoves | None]
"""From a position, who acts there and the number of the step, from 0 on, to its moves; None ends the walk."""


class IllegalStep(ValueError):
    """A recorded move that the rules don't allow in its position."""

    def __init__(self, seat: int, move: Move) -> None:
        super().__init__(f"{quote(move)} can't be played by seat {seat}")
        self.seat = seat
        self.move = move


def walk_positions(rules: Rules, state: State, next_moves: NextMoves) -> Iterator[tuple[StepMoves, State]]:
    """Yield the moves of each step and the position after it, until the match or its moves are over.

    Raises IllegalStep for a move that isn't legal, and for moves of others than those who act.
    """
    step = 0
    while actors := rules.actors(state):
        moves = next_moves(state, actors, step)
        if moves is None:
            return
        for seat in {*actors, *moves}:
            move = moves.get(seat)
            if seat not in actors or not (seat == CHANCE or is_legal_move(rules.legal(state, seat), move)):
                raise IllegalStep(seat, move)
        state = rules.apply(state, moves)
        yield moves, state
        step += 1


def apply_moves(rules: Rules, state: State, steps: Iterable[StepMoves]) -> State:
    """Return the position after these steps. Raises IllegalStep, also for moves after the match's end."""
    rest = iter(steps)
    for _, after in walk_positions(rules, state, lambda *_: next(rest, None)):
        state = after
    for left in rest:
        raise IllegalStep(*next(iter(left.items())))
    return state
