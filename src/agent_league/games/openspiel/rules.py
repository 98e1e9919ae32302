"""The rules of any OpenSpiel game for two, over a state that is the list of actions so far.

OpenSpiel's state objects are cached, so that a game isn't replayed for every question. A move is OpenSpiel's name of
the action, or its number if names of legal actions are equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

from agent_league.games.base import CHANCE, REPEAT_PARAMETERS, BadParameters, Move, State, check_parameter_names
from agent_league.games.parameter_trial import LibraryRules, ParameterKey, convert_parameter, make_parameter_key
from agent_league.text import quote

PLAYER_COUNT_PARAMETERS = ("players", "num_players", "numPlayers")
"""Names of the parameter for the number of players; here it is always 2."""
FIXED_PARAMETERS = {**dict.fromkeys(PLAYER_COUNT_PARAMETERS, 2), "ansi_color_output": False}
MAX_POSITIONS = 1024
MAX_GAMES = 64
MAX_TABLE_ROWS = 256


def load_library() -> Any:
    """Import OpenSpiel; raises ImportError."""
    return import_module("pyspiel")


@cache
def load_game_kinds() -> dict[str, Any]:
    """Return OpenSpiel's description (GameType) of each of its games, by name."""
    return {kind.short_name: kind for kind in load_library().registered_games()}


class OpenSpielPosition:
    """An immutable OpenSpiel state with its legal moves."""

    __slots__ = ("_moves", "at")

    def __init__(self, at: Any) -> None:
        self.at = at
        self._moves: dict[int, dict[Move, int]] = {}

    def actors(self) -> tuple[int, ...]:
        if self.at.is_terminal():
            return ()
        return (0, 1) if self.at.is_simultaneous_node() else (self.at.current_player(),)

    def legal_moves(self, seat: int) -> dict[Move, int]:
        """Return the legal moves of an actor, with their action numbers."""
        found = self._moves.get(seat)
        if found is None:
            numbers = _legal_actions(self.at, seat)
            names = [self.at.action_to_string(seat, number) for number in numbers]
            told_apart = all(names) and len(set(names)) == len(names)
            found = self._moves[seat] = dict(zip(names if told_apart else numbers, numbers, strict=True))
        return found

    def apply_actions(self, numbers: Iterable[int]) -> "OpenSpielPosition":
        """Return the position after these actions; raises ValueError if one isn't legal."""
        at, rest = self.at.clone(), iter(numbers)
        for number in rest:
            if at.is_simultaneous_node():
                other = next(rest)
                _check_action(at, 0, number)
                _check_action(at, 1, other)
                at.apply_actions([number, other])
            else:
                _check_action(at, at.current_player(), number)
                at.apply_action(number)
        return OpenSpielPosition(at)


class OpenSpielRules(LibraryRules):
    """The rules of one game of OpenSpiel."""

    library = "OpenSpiel"

    def __init__(self, name: str, *, tried: bool = False) -> None:
        super().__init__(name, tried=tried)
        self._kind = load_game_kinds()[name]
        self._positions: dict[tuple[ParameterKey, tuple[int, ...]], OpenSpielPosition] = {}
        self._starts: dict[ParameterKey, OpenSpielPosition] = {}
        self._tables: dict[ParameterKey, list[list[Any]]] = {}
        known, kind = load_library().GameType, self._kind
        self._is_matrix = kind.information == known.Information.ONE_SHOT
        by_turns = kind.dynamics == known.Dynamics.SEQUENTIAL
        self.public_moves = kind.information != known.Information.IMPERFECT_INFORMATION
        self.perfect_information = by_turns and kind.information == known.Information.PERFECT_INFORMATION

    def new(self, config: Mapping[str, Any]) -> State:
        parameters = dict(self._read_parameters(config))
        return self._build_state(parameters, [], self._find_start(tuple(parameters.items())))

    def actors(self, state: State) -> tuple[int, ...]:
        return self._find_position(state).actors()

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        position = self._find_position(state)
        if seat not in position.actors():
            return []
        if seat != CHANCE:
            return list(position.legal_moves(seat))
        weights = dict(position.at.chance_outcomes())
        return [(move, weights[number]) for move, number in position.legal_moves(CHANCE).items() if weights[number] > 0]

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        before = self._find_position(state)
        numbers = [before.legal_moves(seat)[move] for seat, move in sorted(moves.items())]
        actions, after = [*state["actions"], *numbers], before.apply_actions(numbers)
        self._store_position((make_parameter_key(state["parameters"]), tuple(actions)), after)
        return self._build_state(state["parameters"], actions, after)

    def view(self, state: State, seat: int | None) -> Any:
        """Return the state itself with perfect information; else OpenSpiel's text of what this seat knows."""
        if self.perfect_information:
            return state
        at = self._find_position(state).at
        if seat is None:
            return {**state, "board": str(at)}
        if self._kind.provides_information_state_string:
            seen = {"information_state": at.information_state_string(seat)}
        else:
            seen = {"observation": at.observation_string(seat)}
        if self._is_matrix:
            seen["payoffs"] = self._find_payoff_table(make_parameter_key(state["parameters"]))
        return seen

    def returns(self, state: State) -> tuple[float, float]:
        a, b = self._find_position(state).at.returns()
        return (a, b)

    def _build_state(self, parameters: Mapping[str, Any], actions: list[int], position: OpenSpielPosition) -> State:
        state = {"parameters": parameters, "actions": actions}
        return {**state, "board": str(position.at)} if self.perfect_information else state

    def _read_parameters(self, config: Mapping[str, Any]) -> ParameterKey:
        """Read the parameters that differ from OpenSpiel's defaults; raises BadParameters."""
        own = self._kind.parameter_specification
        check_parameter_names(config, *own)
        given = {}
        for name in sorted(set(config).difference(REPEAT_PARAMETERS)):
            value = convert_parameter(name, config[name], own[name])
            if name in PLAYER_COUNT_PARAMETERS:
                if value != 2:
                    raise BadParameters(f"{name} must be 2, as a match has two players; found {value!r}")
            elif value != own[name]:
                given[name] = value
        return tuple(given.items())

    def _find_start(self, given: ParameterKey) -> OpenSpielPosition:
        """Return the first position, cached; parameters are tried in a subprocess first. Raises BadParameters."""
        found = self._starts.get(given)
        if found is None:
            self.try_parameters(dict(given))
            ours = {
                name: value for name, value in FIXED_PARAMETERS.items() if name in self._kind.parameter_specification
            }
            found = OpenSpielPosition(load_library().load_game(self._name, ours | dict(given)).new_initial_state())
            if len(self._starts) >= MAX_GAMES:
                self._starts.clear()
                self._tables.clear()
            self._starts[given] = found
        return found

    def _find_position(self, state: State) -> OpenSpielPosition:
        key = (make_parameter_key(state["parameters"]), tuple(state["actions"]))
        found = self._positions.get(key)
        if found is None:
            found = self._find_start(key[0]).apply_actions(key[1])
            self._store_position(key, found)
        return found

    def _store_position(self, key: tuple[ParameterKey, tuple[int, ...]], position: OpenSpielPosition) -> None:
        if len(self._positions) >= MAX_POSITIONS:
            self._positions.clear()
        self._positions[key] = position

    def _find_payoff_table(self, given: ParameterKey) -> list[list[Any]]:
        """Return the payoffs of every pair of moves, cached; empty if there are too many."""
        if given not in self._tables:
            start = self._find_start(given)
            a, b = start.legal_moves(0), start.legal_moves(1)
            pairs = product(a, b) if len(a) * len(b) <= MAX_TABLE_ROWS else ()
            self._tables[given] = [[x, y, *start.apply_actions([a[x], b[y]]).at.returns()] for x, y in pairs]
        return self._tables[given]


def _legal_actions(at: Any, seat: int) -> list[int]:
    numbers: list[int] = at.legal_actions(seat) if at.is_simultaneous_node() else at.legal_actions()
    return numbers


def _check_action(at: Any, seat: int, number: int) -> None:
    if number not in _legal_actions(at, seat):
        raise ValueError(f"{quote(number)} is no legal action of seat {seat}")
