"""Repeated games, round by round: the rounds so far are one list that grows, and views are made for those who look.

So a match of many rounds takes time and memory in proportion to them. It gives what the rules of repeated games give.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agent_league.games.base import Move, State, winning_seat
from agent_league.games.positions import Position, PositionGraph, Question, copy_json
from agent_league.games.repeated import RepeatedRules, hide_other_move, without_payoffs
from agent_league.lab.game_loop import ChanceDice, FinishedGame, Seated, StepMoves
from agent_league.lab.series_player import NOT_SHOWN, SeriesPlayer


class RoundsLoop:
    """Any repeated game whose single games are played by positions; its record has the places of all moves."""

    def __init__(self, rules: RepeatedRules, start: State, graph: PositionGraph) -> None:
        self._rules = rules
        self._start = start
        self._graph = graph

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        match = RepeatedMatch(self._rules, self._start, self._graph)
        match.play(MatchQuestions(match, seated, chance).find_place)
        return self._rules.returns(match.make_state()), len(match.moves), tuple(match.record)

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        match, places = RepeatedMatch(self._rules, self._start, self._graph), iter(record)
        match.play(lambda _: next(places))
        return match.make_state(), match.moves


class RepeatedMatch:
    """A repeated game: its rounds, what they paid, and the places of all moves and draws."""

    def __init__(self, rules: RepeatedRules, start: State, graph: PositionGraph) -> None:
        self.rules = rules
        self.start = start
        self.graph = graph
        self.record: list[int] = []
        self.moves: list[StepMoves] = []
        self.rounds: list[list[Move]] = []
        self.scores, self.wins = [0.0, 0.0], [0, 0]
        self.last: Position | None = None
        """The end of the last round."""
        self.shown_rounds: list[list[list[Move]]] = []
        """Further lists of rounds that grow with them, by seat."""

    def play(self, find_place: Callable[[Position], int]) -> None:
        """Play to the end; `find_place` gives the place of each move or draw."""
        repeat, first_to, graph = self.start["repeat"], self.start["first_to"], self.graph
        while len(self.rounds) < repeat and (first_to is None or max(self.wins) < first_to):
            position, first = graph.start, len(self.moves)
            while position.returns is None:
                place = find_place(position)
                self.record.append(place)
                if not position.draw:
                    self.moves.append(position.find_moves(place))
                position = graph.find_next(position, place)
            self._add_round(self.moves[first:], position)

    def make_state(self) -> State:
        """Make the state that the rules of repeated games have at this point, between two rounds."""
        return {
            **self.start,
            "last": self.last and self.last.state,
            "rounds": self.rounds,
            "scores": self.scores,
            "wins": self.wins,
        }

    def _add_round(self, steps: list[StepMoves], end: Position) -> None:
        if len(steps) == 1 and len(steps[0]) == 2:
            made = [steps[0][0], steps[0][1]]
        else:
            own = [[step[seat] for step in steps if seat in step] for seat in (0, 1)]
            made = [moves[0] if len(moves) == 1 else moves for moves in own]
        self.rounds.append(made)
        for seat, shown in enumerate(self.shown_rounds):
            if shown is not self.rounds:
                shown.append(copy_json(made if self.rules.public_moves else hide_other_move(made, seat)))
        a, b = returns = end.returns or (0.0, 0.0)
        self.scores[0] += a
        self.scores[1] += b
        winner = winning_seat(returns)
        if winner is not None:
            self.wins[winner] += 1
        self.last = end


class MatchQuestions:
    """Asks both players of a repeated game for their moves, and chance for its draws."""

    def __init__(self, match: RepeatedMatch, seated: Seated, chance: ChanceDice) -> None:
        self._match = match
        self._seated = seated
        self._chance = chance
        self._question: Question | None = None
        match.shown_rounds = [match.rounds if self._sees_all(player) else [] for player in seated]
        for seat, player in enumerate(seated):
            player.observation.live_rounds = match.shown_rounds[seat]
            player.observation.make_view = partial(self._make_view, seat)

    def find_place(self, position: Position) -> int:
        """Return the place of the next move, of both moves, or of the outcome that is drawn."""
        if both := position.both:
            return self._ask(0, both[0]) * both[1].count + self._ask(1, both[1])
        if position.seat is not None:
            return self._ask(position.seat, position)
        return position.select_outcome(self._chance.random())

    def _ask(self, seat: int, question: Question) -> int:
        player = self._seated[seat]
        observation = player.observation
        self._question = question
        observation.shown = NOT_SHOWN
        observation.legal_moves = question.legal if player.is_trusted else copy_json(question.legal)
        observation.step = len(self._match.record)
        return player.choose_place(question.legal)

    def _make_view(self, seat: int) -> Any:
        match, game = self._match, self._question and self._question.view
        last = None if match.last is None else without_payoffs(match.graph.view_end(match.last)[seat])
        rounds = match.shown_rounds[seat]
        if not self._seated[seat].is_trusted:
            game, last, rounds = copy_json(game), copy_json(last), rounds.copy()
        return match.rules.compose_view(game, last, rounds, match.start, match.scores.copy(), match.wins.copy())

    def _sees_all(self, player: SeriesPlayer) -> bool:
        """Whether a player may be shown the rounds themselves, and not a list of its own."""
        return player.is_trusted and self._match.rules.public_moves
