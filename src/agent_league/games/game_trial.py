"""Trial of a third-party game before a league starts, and descriptions of what failed in a game.

Plays a few random games by the rules alone. A description names the game, the function and its line. The whole contract
is tested by a game's author with `testing.game_contract`.
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
            _play_random_game(kind, Random(seed), deadline)  # noqa: S311 - a game, not a secret
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
        return f"the rules of {game.game_type!r} failed in {found[0]}: {error!r:.200} ({found[1]})"
    try:
        _check_functions(game)
        if state is not None:
            _check_state(game, state)
    except Exception as flaw:  # noqa: BLE001 - a third party's rules may raise anything
        return describe_breakdown(game, flaw)
    return f"a match of {game.game_type!r} broke down: {error!r:.200}"


def find_returns_problem(returns: Any) -> str | None:
    """Describe what is wrong with the returns of a finished game; None if nothing is."""
    if isinstance(returns, Sequence) and len(returns) == 2 and all(map(_is_number, returns)):
        return None
    return f"returns gave {returns!r:.100}; expected two finite numbers, one for each seat"


def _play_random_game(game: Game, dice: Random, deadline: float) -> None:
    """Play one game of random moves and check every state."""
    _check_functions(game)
    rules, said = game.rules, list[Mapping[str, Move]]()
    state, giver = rules.new(game.parameters), "new"
    for step in range(STEPS):
        options = _check_state(game, state, giver)
        if step < MAX_CHECKED or not options:
            _check_messages(game, state, said, options, step)
        if not options or time.monotonic() > deadline:
            return
        moves = {seat: dice.choice(legal) for seat, legal in options.items()}
        if CHANCE not in moves:
            said.append({PLAYERS[seat]: move for seat, move in moves.items()})
        before = orjson.dumps(state)
        after = rules.apply(state, moves)
        if orjson.dumps(state) != before:
            raise _create_flaw(game, "apply", "changed the state that it was given; expected a new one")
        state, giver = after, "apply"
    if not isinstance(rules, RepeatedRules):
        raise GameFlaw(f"a game of random moves isn't over after {STEPS} of them")


def _check_functions(game: Game) -> None:
    for owner, names in _list_authored_parts(game):
        if missing := [name for name in names if not callable(getattr(owner, name, None))]:
            raise GameFlaw(f"{type(owner).__name__} has no {', '.join(missing)}")


def _check_state(game: Game, state: State, giver: str = "apply") -> dict[int, Sequence[Move]]:
    """Check state, views, actors and returns; return the legal moves of each actor. Raises GameFlaw."""
    rules = game.rules
    _round_trip_json(game, giver, state, "a state")
    for seat in (0, 1, None):
        _round_trip_json(game, "view", rules.view(state, seat), "a view")
    actors = rules.actors(state)
    if actors not in VALID_ACTORS:
        raise _create_flaw(game, "actors", f"gave {actors!r:.100}; expected (), (0,), (1,), (0, 1) or (CHANCE,)")
    if not actors and (problem := find_returns_problem(rules.returns(state))):
        raise _create_flaw(game, "returns", problem.removeprefix("returns "))
    return {seat: _check_options(game, state, seat) for seat in actors}


def _check_options(game: Game, state: State, seat: int) -> Sequence[Move]:
    legal: Any = game.rules.legal(state, seat)
    if not isinstance(legal, Sequence) or not legal:
        expected = "pairs of an outcome and its weight" if seat == CHANCE else "a list with at least one move"
        raise _create_flaw(game, "legal", f"gave {legal!r:.100} for seat {seat}; expected {expected}")
    if seat == CHANCE:
        if not all(_is_chance_pair(pair) for pair in legal):
            raise _create_flaw(
                game, "legal", f"gave {legal!r:.100} for chance; expected pairs of an outcome and its weight"
            )
        return [outcome for outcome, _ in legal]
    for move in () if isinstance(legal, range) else legal[:MAX_CHECKED]:
        if move is None or not is_legal_move((move,), _round_trip_json(game, "legal", move, "a move")):
            raise _create_flaw(game, "legal", f"gave the move {move!r:.100}, which a player can't give back by JSON")
    return legal


def _check_messages(game: Game, state: State, said: Moves, options: Mapping[int, Sequence[Move]], step: int) -> None:
    """Check the messages of a state: questions, result, details, and the reason if it is final."""
    wire = game.wire
    for seat, legal in options.items():
        if seat != CHANCE:
            view = game.rules.view(state, seat)
            asked = legal if is_long_range(legal) else list(legal)
            _round_trip_json(
                game, "question", wire.question(game.game_type, view, asked, step, ROLES[seat]), "a question"
            )
    _round_trip_json(game, "result", game.result_fields(state, said, PLAYERS), "a result")
    _round_trip_json(game, "details", wire.details(state, said, PLAYERS), "details")
    if not options:
        winner = winning_seat(game.rules.returns(state))
        reason = wire.reason(state, said, PLAYERS, None if winner is None else PLAYERS[winner])
        _round_trip_json(game, "reason", reason, "a reason")


def _round_trip_json(game: Game, giver: str, value: Any, what: str) -> Any:
    """Encode a value as JSON and decode it; raises GameFlaw if that fails."""
    try:
        return orjson.loads(orjson.dumps(value))
    except TypeError as error:
        raise _create_flaw(game, giver, f"gave {what} that JSON can't hold, {value!r:.100}: {error}") from None


def _is_chance_pair(pair: Any) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and _is_number(pair[1]) and pair[1] > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _create_flaw(game: Game, function: str, problem: str) -> GameFlaw:
    code = next((code for code, name in _list_code_objects(game) if name == function), None)
    where = f" ({_format_location(code.co_filename, code.co_firstlineno)})" if code else ""
    return GameFlaw(f"{function} {problem}{where}")


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
