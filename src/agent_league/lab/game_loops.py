"""Loops that play one game by rules and strategies: one that serves every game, and faster ones that give the same.

A loop asks the players in the order and with the step numbers that the rules give, so moves, dice and faults are those
of `RulesLoop`, whichever is taken. What it leaves of a game is small, as players remember many.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from agent_league.games.base import CHANCE, Move, Rules, State, TurnRules, has_turn_runs
from agent_league.games.draw import select_outcome
from agent_league.games.matrix import MatrixRules
from agent_league.games.positions import PositionGraph, find_positions
from agent_league.games.repeated import RepeatedRules
from agent_league.lab.game_loop import ChanceDice, FinishedGame, GameLoop, Seated, StepMoves
from agent_league.lab.reply_tables import TableLoop, find_pair_table, has_short_memory
from agent_league.lab.rounds_loop import RoundsLoop
from agent_league.lab.series_player import NOT_SHOWN, SeriesPlayer


class RulesLoop:
    """Any game, by the six functions of its rules alone.

    Views are not copied, as that would cost more than the game, so a strategy that writes into its view can change the
    state of the game; `is_start_changed` finds most of these. Other loops show copies to strategies that aren't ours.
    """

    def __init__(self, rules: Rules, start: State) -> None:
        self._rules = rules
        self._start = start
        self._start_copy = deepcopy(start)

    @property
    def is_start_changed(self) -> bool:
        """Whether a strategy has changed the state that every game begins with."""
        return bool(self._start != self._start_copy)

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        rules, state, step = self._rules, self._start, 0
        moves: list[StepMoves] = []
        while actors := rules.actors(state):
            made: dict[int, Move] = {}
            if actors[0] == CHANCE:
                made[CHANCE] = select_outcome(chance.random(), rules.legal(state, CHANCE))
            else:
                for seat in actors:
                    player, legal = seated[seat], rules.legal(state, seat)
                    legal = tuple(legal) if type(legal) is list else legal
                    player.observation.view = rules.view(state, seat)
                    player.observation.legal_moves = legal
                    player.observation.step = step
                    made[seat] = legal[player.choose_place(legal)]
                moves.append(made)
            state = rules.apply(state, made)
            step += 1
        a, b = rules.returns(state)
        return (a, b), len(moves), (state, moves)

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        state, moves = record
        return state, moves


class PositionLoop:
    """Any game whose states JSON can hold, by positions that are made once; its record has the places of all moves."""

    def __init__(self, graph: PositionGraph) -> None:
        self._graph = graph

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        graph, position = self._graph, self._graph.start
        record: list[int] = []
        drawn = 0
        for player in seated:
            player.observation.live_rounds = None
        while (returns := position.returns) is None:
            seat = position.seat
            if seat is not None:
                place = seated[seat].answer(position, len(record))
            elif both := position.both:
                a = seated[0].answer(both[0], len(record))
                place = a * both[1].count + seated[1].answer(both[1], len(record))
            else:
                place = position.select_outcome(chance.random())
                drawn += 1
            record.append(place)
            position = position.after[place] or graph.find_next(position, place)
        return returns, len(record) - drawn, tuple(record)

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        position = self._graph.start
        moves: list[StepMoves] = []
        for place in record:
            if not position.draw:
                moves.append(position.find_moves(place))
            position = self._graph.find_next(position, place)
        return position.state, moves


class TurnsLoop:
    """A game of turns whose rules have a faster way through them; its record has the moves."""

    def __init__(self, rules: TurnRules, start: State) -> None:
        self._rules = rules
        self._start = start

    def play(self, seated: Seated, chance: ChanceDice) -> FinishedGame:
        run = self._rules.begin_turns(self._start)
        for player in seated:
            player.observation.make_view = run.make_state
            player.observation.live_rounds = None
        record: list[Move] = []
        make_move, player, waiting = run.make_move, *seated
        while legal := run.legal:
            observation = player.observation
            observation.shown = NOT_SHOWN
            observation.legal_moves = legal
            observation.step = len(record)
            move = legal[player.choose_place(legal)]
            record.append(move)
            make_move(move)
            player, waiting = waiting, player
        return run.returns, len(record), tuple(record)

    def replay(self, record: Any) -> tuple[State, Sequence[StepMoves]]:
        run = self._rules.begin_turns(self._start)
        for move in record:
            run.make_move(move)
        return run.make_state(), [{step % 2: move} for step, move in enumerate(record)]


def choose_loop(rules: Rules, start: State, players: Sequence[SeriesPlayer]) -> GameLoop:
    """Choose the fastest loop that plays the game as `RulesLoop` does."""
    if has_turn_runs(rules):
        return TurnsLoop(rules, start)
    if not isinstance(rules, RepeatedRules):
        graph = find_positions(rules, start)
        return PositionLoop(graph) if graph else RulesLoop(rules, start)
    graph = find_positions(rules.single, start["start"])
    if not graph:
        return RulesLoop(rules, start)
    if isinstance(rules.single, MatrixRules) and all(has_short_memory(player.strategy) for player in players):
        table = find_pair_table(graph)
        if table.fits:
            return TableLoop(rules, start, table, players)
    return RoundsLoop(rules, start, graph)
