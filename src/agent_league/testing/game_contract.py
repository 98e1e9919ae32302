"""The contract of a game, as a check for tests of your own game:

    from agent_league.testing.game_contract import check_game
    check_game(MY_GAME)

Plays random games from several seeds and checks every state on the way. A broken promise raises an AssertionError that
says which one.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from random import Random
from typing import Any

import orjson

from agent_league.clock import SystemClock
from agent_league.errors import Refusal
from agent_league.games.base import (
    CHANCE,
    REPEAT_PARAMETERS,
    BadParameters,
    Move,
    State,
    find_hidden_states,
    has_perfect_information,
    is_long_range,
    winning_seat,
)
from agent_league.games.game_trial import describe_breakdown, find_returns_problem
from agent_league.games.registry import Game
from agent_league.games.repeated import RepeatedRules
from agent_league.games.scene import find_scene_problem
from agent_league.players.actuators import Actuators
from agent_league.players.sensors import Sensors
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.envelope import Message

BOTH_SEATS = (0, 1)
PLAYERS = ("P01", "P02")
ROLES = ("PLAYER_A", "PLAYER_B")
MAX_STEPS = 1000
MAX_TRIED_MOVES = 64
"""Maximum moves that are tried in one state."""
WRONG_PARAMETERS: tuple[Any, ...] = (None, "", "x", True, -1, 0, 1.5, math.nan, 2**70, [], [None], {}, {"x": 1})
"""Values to try for every parameter; most are wrong."""

Moves = Mapping[int, Move]
MovesByPlayer = Sequence[Mapping[str, Move]]


def check_game(
    game: Game, seeds: Iterable[int] = range(20), max_steps: int = MAX_STEPS, *, secret_until_drawn: bool = True
) -> None:
    """Check a game; raises AssertionError for the first promise of the game interface that it doesn't keep.

    `secret_until_drawn=False` is for a game that shows simultaneous choices before chance acts on them.
    """
    assert isinstance(game, Game), f"expected a Game, such as Game('my_game', MyRules()); found {game!r:.100}"
    contract = GameContract(game, max_steps, secret_until_drawn=secret_until_drawn)
    try:
        for seed in seeds:
            contract.check_seed(seed)
        contract.check_hidden_declaration()
        contract.check_parameters()
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{game.game_type}: {describe_breakdown(game, error)}") from error


class GameContract:
    """Checks the promises of one game, state by state."""

    def __init__(self, game: Game, max_steps: int, *, secret_until_drawn: bool) -> None:
        self._game = game
        self._rules = game.rules
        self._max_steps = max_steps
        self._secret_until_drawn = secret_until_drawn
        self._legal_by_view: dict[tuple[int, bytes], Sequence[Move]] = {}
        self._hides_something = False
        self._sensors = Sensors("contract", game.game_type)
        self._actuators = Actuators(SystemClock(), lambda: (PLAYERS[0], None))

    def check_seed(self, seed: int) -> None:
        """Check that a random game repeats exactly, by its seed and from its log, then check all its states."""
        log, end = self.play_random_game(seed)
        again, same_end = self.play_random_game(seed)
        self._require((log, end) == (again, same_end), f"seed {seed} gave two games, {log} and {again}")
        self._require(self.replay_log(log) == end, f"the log {log}, replayed, doesn't lead to {end!r}")
        self.check_states(log)

    def check_hidden_declaration(self) -> None:
        """Check that rules with a method `hidden` have at least one hidden state."""
        single = self._rules.single if isinstance(self._rules, RepeatedRules) else self._rules
        idle = hasattr(single, "hidden") and not self._hides_something
        self._require(not idle, "`hidden` names no other state, in any state that was seen")

    def check_parameters(self) -> None:
        """Check that every value of a parameter makes a game or raises BadParameters."""
        for name in (*self._game.parameters, *REPEAT_PARAMETERS, "no_such_parameter"):
            for value in WRONG_PARAMETERS:
                self._check_parameter(name, value)

    def play_random_game(self, seed: int) -> tuple[list[Moves], State]:
        """Play a game of random legal moves; return its log and its final state."""
        dice = Random(seed)  # noqa: S311 - a game, not a secret
        state, log = self._new_state(), list[Moves]()
        while actors := self._get_actors(state):
            self._require(len(log) < self._max_steps, f"it is not over after {self._max_steps} steps")
            self._require_json(state, "a state")
            log.append({seat: dice.choice(self._get_options(state, seat)) for seat in actors})
            state = self._apply_moves(state, log[-1])
        return log, state

    def check_states(self, log: Sequence[Moves]) -> None:
        """Replay a log and check every state, with its views, moves, questions, answers and results."""
        state, said = self._new_state(), list[Mapping[str, Move]]()
        last: Moves = {}
        for step, moves in enumerate(log):
            options = {seat: self._get_options(state, seat) for seat in moves}
            self._check_views(state)
            self._check_legal_moves(state, options)
            self._check_secrets(state, options)
            self._check_questions(state, options, step)
            self._check_state(state, said)
            self._check_pictures(state, last)
            self._check_restored_state(state, moves)
            state, last = self._apply_moves(state, moves), moves
            if CHANCE not in moves:
                said.append({PLAYERS[seat]: move for seat, move in moves.items()})
        self._require_json(state, "a state")
        self._check_views(state)
        self._check_end(state, said)
        self._check_state(state, said)
        self._check_pictures(state, last)

    def replay_log(self, log: Sequence[Moves]) -> State:
        state = self._new_state()
        for moves in log:
            state = self._rules.apply(state, moves)
        return state

    def _new_state(self) -> State:
        return self._rules.new(self._game.parameters)

    def _check_parameter(self, name: str, value: Any) -> None:
        parameters = {**self._game.parameters, name: value}
        try:
            state = replace(self._game, parameters=parameters).rules.new(parameters)
        except BadParameters as error:
            self._require(bool(str(error)), f"BadParameters of {name} = {value!r} says nothing")
        except Exception as error:
            sentence = f"{name} = {value!r} must make a game or raise BadParameters, found {error!r}"
            raise AssertionError(f"{self._game.game_type}: {sentence}") from error
        else:
            self._require_json(state, f"the state made by {name} = {value!r}")

    def _require(self, kept: bool, sentence: str) -> None:
        assert kept, f"{self._game.game_type}: {sentence}"

    def _require_json(self, value: Any, what: str) -> None:
        try:
            same = _round_trip_json(value) == value
        except TypeError:
            same = False
        self._require(same, f"{what} doesn't come back from JSON as it was: {value!r}")

    def _get_actors(self, state: State) -> tuple[int, ...]:
        actors = self._rules.actors(state)
        known = actors in ((), (0,), (1,), BOTH_SEATS, (CHANCE,))
        self._require(known, f"actors must be (), (0,), (1,), (0, 1) or (CHANCE,), found {actors!r} in {state!r}")
        return actors

    def _get_options(self, state: State, seat: int) -> Sequence[Move]:
        """Return the legal moves of an actor, or the outcomes of chance, after checking them."""
        legal = _comparable_moves(self._rules.legal(state, seat))
        self._require(bool(legal), f"seat {seat} acts but has no legal move in {state!r}")
        if seat == CHANCE:
            weights = [weight for _, weight in legal]
            positive = all(math.isfinite(weight) and weight > 0 for weight in weights)
            self._require(positive, f"chance needs weights above 0, found {weights!r} in {state!r}")
            legal = [outcome for outcome, _ in legal]
        for move in legal if isinstance(legal, list) else (legal[0], legal[-1]):
            self._require(move is not None, f"None can't be a move (in {state!r}): an answer of null holds no move")
            self._require_json(move, "a move")
        return legal

    def _check_views(self, state: State) -> None:
        for seat in (*BOTH_SEATS, None):
            self._require_json(self._rules.view(state, seat), f"the view of seat {seat}")

    def _check_state(self, state: State, said: MovesByPlayer) -> None:
        """Check what holds in every state, including the last; a match may be aborted in any and still has a result."""
        for words in (self._game.result_fields, self._game.wire.details):
            self._require_json(words(state, said, PLAYERS), "a result")
        if has_perfect_information(self._rules):
            self._check_perfect_information(state)
        for seat in BOTH_SEATS:
            for other in find_hidden_states(self._rules, state, seat):
                self._hides_something = True
                self._check_hidden(state, other, seat, said)

    def _check_pictures(self, state: State, last: Moves) -> None:
        """Check that a game with its own views can draw every state; in a repeated game, that of the current round."""
        rules, game = self._rules, state
        if isinstance(rules, RepeatedRules):
            rules, game, last = rules.single, state["game"], last if any(state["moves"]) else {}
        for seat in (*BOTH_SEATS, None):
            view = rules.view(game, seat)
            if self._game.show:
                text = self._game.show(view, seat)
                self._require(isinstance(text, str), f"show must give text, found {text!r:.100} for {view!r:.200}")
            for moves in ({}, last) if self._game.scene else ():
                scene = self._game.scene(view, seat, moves) if self._game.scene else None
                problem = None if scene is None else find_scene_problem(scene)
                self._require(problem is None, f"scene of {view!r:.200}: {problem}")

    def _check_perfect_information(self, state: State) -> None:
        """Check what perfect information means: every seat sees the whole state, and no two seats move at once."""
        for seat in BOTH_SEATS:
            view = self._rules.view(state, seat)
            self._require(view == state, f"perfect information, but seat {seat} sees {view!r} in {state!r}")
        at_once = self._rules.actors(state) == BOTH_SEATS
        self._require(not at_once, f"perfect information, but both choose at once in {state!r}")

    def _check_hidden(self, state: State, other: State, seat: int, said: MovesByPlayer) -> None:
        """Check that a seat can't tell two states apart by its view, its moves or the result."""
        self._require(other != state, f"`hidden` names the state itself: {state!r}")
        for what, told in (
            ("its view", lambda one: self._rules.view(one, seat)),
            ("who acts", self._rules.actors),
            ("its legal moves", lambda one: self._get_legal_moves(one, seat)),
            ("the result", lambda one: self._game.result_fields(one, said, PLAYERS)),
            ("the returns", lambda one: None if self._rules.actors(one) else self._rules.returns(one)),
            ("the reason", lambda one: None if self._rules.actors(one) else self._end_reason(one, said)),
        ):
            here, there = told(state), told(other)
            differ = f"seat {seat} can tell {state!r} from {other!r} by {what}: {here!r} and {there!r}"
            self._require(here == there, differ)

    def _get_legal_moves(self, state: State, seat: int) -> Sequence[Move]:
        return _comparable_moves(self._rules.legal(state, seat)) if seat in self._rules.actors(state) else ()

    def _check_restored_state(self, state: State, moves: Moves) -> None:
        """Check that a state restored from JSON behaves like the original."""
        restored = _round_trip_json(state)
        for what, told in (
            ("who acts", self._rules.actors),
            ("the legal moves", lambda one: [_comparable_moves(self._rules.legal(one, seat)) for seat in moves]),
            ("the views", lambda one: [self._rules.view(one, seat) for seat in (*BOTH_SEATS, None)]),
            (f"what comes of {moves}", lambda one: self._apply_moves(one, moves)),
        ):
            here, there = told(state), told(restored)
            self._require(here == there, f"a round trip of {state!r} through JSON changes {what}: {here!r}, {there!r}")

    def _check_legal_moves(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        for chosen in islice(product(*(legal[:MAX_TRIED_MOVES] for legal in options.values())), MAX_TRIED_MOVES):
            self._apply_moves(state, dict(zip(options, chosen, strict=True)))

    def _apply_moves(self, state: State, moves: Moves) -> State:
        before = orjson.dumps(state)
        try:
            after = self._rules.apply(state, moves)
        except Exception as error:
            name = self._game.game_type
            raise AssertionError(f"{name}: the legal moves {moves} are refused in {state!r}: {error!r}") from error
        self._require(orjson.dumps(state) == before, f"apply changed the old state {before.decode()} into {state!r}")
        return after

    def _check_secrets(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        """Check that legal moves depend only on the seat's view, and that simultaneous choices stay secret."""
        for seat, legal in options.items():
            if seat != CHANCE:
                view = self._rules.view(state, seat)
                known = self._legal_by_view.setdefault((seat, orjson.dumps(view)), legal)
                self._require(
                    known == legal,
                    f"seat {seat} sees {view!r} and may play {known!r} or {legal!r}: it can't know which",
                )
        if tuple(options) == BOTH_SEATS and self._secret_until_drawn:
            for seat in BOTH_SEATS:
                self._check_secret_choice(state, options, seat)

    def _check_secret_choice(self, state: State, options: Mapping[int, Sequence[Move]], seat: int) -> None:
        """Check that before the draw a seat can't see what the other one chose simultaneously."""
        other = 1 - seat
        for own in options[seat][:MAX_TRIED_MOVES]:
            after = [
                self._apply_moves(state, {seat: own, other: secret}) for secret in options[other][:MAX_TRIED_MOVES]
            ]
            views = [self._rules.view(one, seat) for one in after if self._rules.actors(one) == (CHANCE,)]
            same = all(view == views[0] for view in views)
            self._require(same, f"before the draw seat {seat} sees what seat {other} chose: {views!r:.300}")

    def _check_questions(self, state: State, options: Mapping[int, Sequence[Move]], step: int) -> None:
        """Check that every move can be requested, and every legal move sent as an answer."""
        for seat, legal in options.items():
            if seat == CHANCE:
                continue
            call = self._build_question(state, seat, legal, step)
            observe, answer = self._player_methods()
            offered = _comparable_moves(observe(call, PLAYERS[seat], ()).legal_moves)
            self._require(_are_same_moves(offered, legal), f"asked for one of {legal!r}, a player hears {offered!r}")
            for move in legal[:MAX_TRIED_MOVES]:
                self._check_answer(answer(call, move), move)

    def _build_question(self, state: State, seat: int, legal: Sequence[Move], step: int) -> Message:
        wire = self._game.wire
        own = wire.question(self._game.game_type, self._rules.view(state, seat), legal, step, ROLES[seat])
        call = wire.call.write(
            sender="referee:REF01",
            timestamp="2025-01-15T10:00:00Z",
            conversation_id="conv-r1m1-001",
            match_id="R1M1",
            game_type=self._game.game_type,
            **own,
        )
        return parse_fields(wire.call, orjson.loads(orjson.dumps(call.to_wire())))

    def _player_methods(self) -> tuple[Callable[..., Any], Callable[..., dict[str, Any]]]:
        """Return the functions with which our players read this game's question and write the answer."""
        known: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, Any]]]] = {
            "make_move": (self._sensors.observe_move_call, self._actuators.answer_move_call),
            "choose_parity": (self._sensors.observe_parity_call, self._actuators.answer_parity_call),
        }
        method = self._game.wire.method
        self._require(method in known, f"players answer {', '.join(known)}, not {method!r}")
        return known[method]

    def _check_answer(self, answer: Mapping[str, Any], move: Move) -> None:
        wire = self._game.wire
        try:
            heard = wire.move(parse_fields(wire.answer, orjson.loads(orjson.dumps(answer))))
        except Refusal as refusal:
            raise AssertionError(f"{self._game.game_type}: the answer {move!r} is refused: {refusal}") from refusal
        self._require(type(heard) is type(move) and heard == move, f"the answer {move!r} is read as {heard!r}")

    def _end_reason(self, state: State, said: MovesByPlayer) -> Any:
        seat = winning_seat(self._rules.returns(state))
        return self._game.wire.reason(state, said, PLAYERS, None if seat is None else PLAYERS[seat])

    def _check_end(self, state: State, said: MovesByPlayer) -> None:
        returns = self._rules.returns(state)
        problem = find_returns_problem(returns)
        self._require(problem is None, problem or "")
        restored = self._rules.returns(_round_trip_json(state))
        self._require(restored == returns, f"a round trip of {state!r} through JSON changes the returns: {restored!r}")
        reason = self._end_reason(state, said)
        self._require(isinstance(reason, str) and bool(reason), f"a reason must be a sentence, found {reason!r}")


def _comparable_moves(moves: Sequence[Move]) -> Sequence[Move]:
    """Return moves as a list, for comparing, except a long range."""
    return moves if is_long_range(moves) else list(moves)


def _are_same_moves(heard: Sequence[Move], legal: Sequence[Move]) -> bool:
    """Whether two lists of moves are the same; a long range may be reversed or come as a list."""
    if isinstance(heard, range) and isinstance(legal, range):
        return heard in (legal, legal[::-1])
    return len(heard) == len(legal) and list(heard) == list(legal)


def _round_trip_json(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    return orjson.loads(orjson.dumps(value))
