"""A series played in the plainest way: the six functions of the rules, all built anew for every move.

What `Series` plays faster must be equal to it, move by move and fault by fault.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from agent_league.games.base import CHANCE, Move, State, winning_seat
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import GameRecord, Observation, Strategy, Thought

IDS = ("P01", "P02")


class PlainSeries:
    """Games of two strategies with memory, sides alternating."""

    def __init__(self, game: Game, strategies: tuple[Strategy, Strategy], seed: str) -> None:
        self.game = game
        self.strategies = strategies
        self.dice = [Random(f"{seed}/{player}") for player in IDS]
        self.chance = Random(f"{seed}/chance")
        self.records: tuple[list[GameRecord], list[GameRecord]] = ([], [])
        self.faults = [0, 0]

    def play(self) -> tuple[State, list[dict[int, Move]], tuple[float, float]]:
        """Play the next game; returns its final state, the moves of its steps and its returns, by seat."""
        rules, number = self.game.rules, len(self.records[0])
        state, moves, step = rules.new(self.game.parameters), list[dict[int, Move]](), 0
        while actors := rules.actors(state):
            if actors == (CHANCE,):
                made = {CHANCE: select_outcome(self.chance.random(), rules.legal(state, CHANCE))}
            else:
                made = {seat: self._choose((seat + number) % 2, seat, state, step) for seat in actors}
                moves.append(made)
            state = rules.apply(state, made)
            step += 1
        returns = rules.returns(state)
        for place in (0, 1):
            self._remember(place, state, moves, returns)
        return state, moves, returns

    def _choose(self, place: int, seat: int, state: State, step: int) -> Move:
        number = len(self.records[0])
        legal = self.game.rules.legal(state, seat)
        observation = Observation(
            self.game.game_type,
            f"R{number + 1}M1",
            IDS[place],
            IDS[1 - place],
            legal if isinstance(legal, range) else tuple(legal),
            self.game.rules.view(state, seat),
            step,
            number + 1,
            history=list(self.records[place]),
            random=self.dice[place],
            seat=seat,
            rules=self.game.rules,
        )
        said: Any = None
        try:
            said = self.strategies[place].choose(observation)
            said = said.move if isinstance(said, Thought) else said
            return find_equal_moves(said, legal)[0]
        except Exception:  # noqa: BLE001 - as in a series
            self.faults[place] += 1
            return self.dice[place].choice(legal)

    def _remember(
        self, place: int, state: State, moves: Sequence[dict[int, Move]], returns: tuple[float, float]
    ) -> None:
        number = len(self.records[place])
        seat, ids = (place + number) % 2, IDS if number % 2 == 0 else IDS[::-1]
        winner = winning_seat(returns)
        steps = [{ids[mover]: move for mover, move in made.items()} for made in moves]
        details = self.game.result_fields(state, steps, ids)
        details.pop("choices", None)
        details["reason"] = self.game.wire.reason(state, steps, ids, None if winner is None else ids[winner])
        record = GameRecord(
            f"R{number + 1}M1",
            self.game.game_type,
            IDS[1 - place],
            "DRAW" if winner is None else "WIN" if winner == seat else "LOSS",
            tuple(made[seat] for made in moves if seat in made),
            tuple(made[1 - seat] for made in moves if 1 - seat in made),
            round_id=number + 1,
            details=details,
        )
        self.records[place].append(record)
        if hasattr(self.strategies[place], "learn"):
            try:
                self.strategies[place].learn(record)  # type: ignore[attr-defined] # only where it has one
            except Exception:  # noqa: BLE001 - as in a series
                self.faults[place] += 1
