"""The contract of a game in two depths: a quick trial before a league starts, and the base of the full contract test.

Plays random games by the rules alone and checks every state. What is wrong is described with the game, the function and
its line. An author tests the whole contract with `testing.game_contract`.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import PurePath
from random import Random
from types import CodeType
from typing import Any

import orjson

from agent_league.errors import UserError
from agent_league.games.base import CHANCE, REPEAT_PARAMETERS, Move, State, is_legal_move, is_long_range, winning_seat
from agent_league.games.game_messages import Moves
from agent_league.games.registry import Game
from agent_league.games.repeated import RepeatedRules
from agent_league.text import MAX_PHRASE, quote

SEEDS = 3
STEPS = 10_000
SECONDS = 1.0
"""Time limit of all random games together."""
MAX_CHECKED = 64
"""Moves checked in each state, and states whose messages are checked."""
RULES_FUNCTIONS = ("new", "actors", "legal", "apply", "view", "returns")
WIRE_FUNCTIONS = ("question", "move", "result", "details", "reason")
VALID_ACTORS = ((), (0,), (1,), (0, 1), (CHANCE,))
PLAYERS = ("P01", "P02")
ROLES = ("PLAYER_A", "PLAYER_B")
OWN_PACKAGE = "agent_league."

Options = Mapping[int, Sequence[Move]]
"""Legal moves by seat, or the outcomes of chance."""


class BrokenGame(UserError):
    """A game whose rules fail."""


class GameFlaw(Exception):
    """A function of a game returned something invalid."""


def try_random_games(game: Game) -> None:
    """Raise BrokenGame if one of a few random games fails. Built-in games and sources are not tried."""
    if all(type(owner).__module__.startswith(OWN_PACKAGE) for owner, _ in _list_authored_parts(game)):
        return
    deadline = time.monotonic() + SECONDS
    kinds = [game]
    if isinstance(game.rules, RepeatedRules):  # a flaw of the single game is described best by playing one
        kinds = [replace(game, parameters={**game.parameters, **dict.fromkeys(REPEAT_PARAMETERS)}), game]
    try:
        for kind, seed in product(kinds, range(SEEDS)):
            GameChecks(kind).try_random_game(seed, deadline)
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything
        raise BrokenGame(
            f"{describe_breakdown(game, error)}; check_game of agent_league.testing.game_contract tests a game in full"
        ) from None


def describe_breakdown(game: Game, error: BaseException, state: State = None) -> str:
    """Describe in a sentence which function of a game raised an error, or returned something invalid.

    If the error was raised elsewhere, `state` is checked for what may have caused it.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, GameFlaw):
        return f"the rules of {game.game_type!r} are wrong: {error}"
    if found := _find_failed_function(game, error):
        return f"the rules of {game.game_type!r} failed in {found[0]}: {quote(error, MAX_PHRASE)} ({found[1]})"
    try:
        checks = GameChecks(game)
        checks.check_functions()
        if state is not None:
            checks.check_state(state)
    except Exception as flaw:  # noqa: BLE001 - a third party's rules may raise anything
        return describe_breakdown(game, flaw)
    return f"a match of {game.game_type!r} broke down: {quote(error, MAX_PHRASE)}"


class GameChecks:
    """Checks the states and messages of one game; `in_full`, all moves, and that values come back from JSON alike."""

    def __init__(self, game: Game, *, in_full: bool = False) -> None:
        self.game = game
        self.rules = game.rules
        self._in_full = in_full

    def try_random_game(self, seed: int, deadline: float) -> None:
        """Play one game of random moves and check its states and, of the first ones, its messages."""
        self.check_functions()
        said = list[Mapping[str, Move]]()
        for step, (state, options, moves) in enumerate(self.play_random_game(seed, STEPS)):
            if step < MAX_CHECKED or not options:
                self._check_messages(state, said, options, step)
            is_long = isinstance(self.rules, RepeatedRules) and step + 1 == STEPS
            if is_long or time.monotonic() > deadline:
                return
            if CHANCE not in moves:
                said.append({PLAYERS[seat]: move for seat, move in moves.items()})

    def play_random_game(self, seed: int, most_steps: int) -> Iterator[tuple[State, Options, Mapping[int, Move]]]:
        """Yield each state with its options and the moves that are chosen, none at the end. Raises GameFlaw."""
        dice = Random(seed)  # noqa: S311 - a game, not a secret
        state, giver = self.rules.new(self.game.parameters), "new"
        for _ in range(most_steps + 1):
            options = self.check_state(state, giver)
            moves = {seat: dice.choice(legal) for seat, legal in options.items()}
            yield state, options, moves
            if not options:
                return
            state, giver = self.apply_moves(state, moves), "apply"
        raise GameFlaw(f"a game of random moves isn't over after {most_steps} of them")

    def apply_moves(self, state: State, moves: Mapping[int, Move]) -> State:
        before = orjson.dumps(state)
        after = self.rules.apply(state, moves)
        if orjson.dumps(state) != before:
            raise self.make_flaw("apply", "changed the state that it was given; expected a new one")
        return after

    def check_functions(self) -> None:
        for owner, names in _list_authored_parts(self.game):
            if missing := [name for name in names if not callable(getattr(owner, name, None))]:
                raise GameFlaw(f"{type(owner).__name__} has no {', '.join(missing)}")

    def check_state(self, state: State, giver: str = "apply") -> Options:
        """Check state, views, actors and returns; return the legal moves of each actor. Raises GameFlaw."""
        self.check_json(giver, state, "a state")
        for seat in (0, 1, None):
            self.check_json("view", self.rules.view(state, seat), "a view")
        actors = self.rules.actors(state)
        if actors not in VALID_ACTORS:
            raise self.make_flaw("actors", f"gave {quote(actors)}; expected (), (0,), (1,), (0, 1) or (CHANCE,)")
        if not actors and (problem := _find_returns_problem(self.rules.returns(state))):
            raise self.make_flaw("returns", problem)
        return {seat: self._check_options(state, seat) for seat in actors}

    def _check_options(self, state: State, seat: int) -> Sequence[Move]:
        """Return the legal moves of an actor, or the outcomes of chance."""
        legal: Any = self.rules.legal(state, seat)
        if not isinstance(legal, Sequence) or not legal:
            expected = "pairs of an outcome and its weight" if seat == CHANCE else "a list with at least one move"
            raise self.make_flaw("legal", f"gave {quote(legal)} for seat {seat}; expected {expected}")
        if seat == CHANCE:
            if not all(map(_is_chance_pair, legal)):
                pairs = "pairs of an outcome and its weight, above 0"
                raise self.make_flaw("legal", f"gave {quote(legal)} for chance; expected {pairs}")
            return [outcome for outcome, _ in legal]
        for move in () if isinstance(legal, range) else legal if self._in_full else legal[:MAX_CHECKED]:
            if move is None or not is_legal_move((move,), self.check_json("legal", move, "a move", in_full=False)):
                raise self.make_flaw("legal", f"gave the move {quote(move)}, which a player can't give back by JSON")
        return legal if is_long_range(legal) else list(legal)

    def _check_messages(self, state: State, said: Moves, options: Options, step: int) -> None:
        """Check the messages of a state: questions, result, details, and the reason if it is final."""
        wire, game_type = self.game.wire, self.game.game_type
        for seat, legal in options.items():
            if seat != CHANCE:
                asked = wire.question(game_type, self.rules.view(state, seat), legal, step, ROLES[seat])
                self.check_json("question", asked, "a question")
        self.check_result(state, said)
        if not options:
            self.check_json("reason", self.find_reason(state, said), "a reason")

    def check_result(self, state: State, said: Moves) -> None:
        """Check result and details of any state: a match may be aborted in any and still has a result."""
        self.check_json("result", self.game.result_fields(state, said, PLAYERS), "a result")
        self.check_json("details", self.game.wire.details(state, said, PLAYERS), "details")

    def find_reason(self, state: State, said: Moves) -> Any:
        seat = winning_seat(self.rules.returns(state))
        return self.game.wire.reason(state, said, PLAYERS, None if seat is None else PLAYERS[seat])

    def check_json(self, giver: str, value: Any, what: str, *, in_full: bool | None = None) -> Any:
        """Return a value as it comes back from JSON; raises GameFlaw if JSON can't hold it, or `in_full` changes it."""
        try:
            restored = orjson.loads(orjson.dumps(value))
        except TypeError as error:
            raise self.make_flaw(giver, f"gave {what} that JSON can't hold, {quote(value)}: {error}") from None
        if (self._in_full if in_full is None else in_full) and restored != value:
            raise self.make_flaw(
                giver, f"gave {what} that doesn't come back from JSON as it was: {quote(value, MAX_PHRASE)}"
            )
        return restored

    def make_flaw(self, function: str, problem: str) -> GameFlaw:
        code = next((code for code, name in _list_code_objects(self.game) if name == function), None)
        where = f" ({_format_location(code.co_filename, code.co_firstlineno)})" if code else ""
        return GameFlaw(f"{function} {problem}{where}")


def _is_chance_pair(pair: Any) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and _is_number(pair[1]) and pair[1] > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _find_returns_problem(returns: Any) -> str | None:
    if isinstance(returns, Sequence) and len(returns) == 2 and all(map(_is_number, returns)):
        return None
    return f"gave {quote(returns)}; expected two finite numbers, one for each seat"


def _find_failed_function(game: Game, error: BaseException) -> tuple[str, str] | None:
    """Find the outermost function of the game in a traceback, and the last line of it in the same file."""
    names = dict(_list_code_objects(game))
    name, file, line = "", "", 0
    trace = error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        if not name and code in names:
            name, file = names[code], code.co_filename
        if name and code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return (name, _format_location(file, line)) if name else None


def _list_code_objects(game: Game) -> Iterator[tuple[CodeType, str]]:
    """Yield code object and name of the game's functions that are written in Python."""
    for owner, names in _list_authored_parts(game):
        for name in names:
            if isinstance(code := getattr(getattr(owner, name, None), "__code__", None), CodeType):
                yield code, name


def _list_authored_parts(game: Game) -> tuple[tuple[Any, Sequence[str]], ...]:
    """The objects that the game's author wrote, with their functions: rules of the single game, and wire."""
    rules = game.rules.single if isinstance(game.rules, RepeatedRules) else game.rules
    return (rules, RULES_FUNCTIONS), (getattr(game.wire, "single", game.wire), WIRE_FUNCTIONS)


def _format_location(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}"
