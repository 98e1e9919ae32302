"""The contract of a game, as a check for tests of your own game:

    from agent_league.testing.game_contract import check_game
    check_game(MY_GAME)

Plays random games from several seeds and checks every state on the way. A broken promise raises an AssertionError that
says which one. It is the deepest of the checks, and builds on those of the quick trial in `games.contract`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
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
    TurnRules,
    find_hidden_states,
    has_perfect_information,
    has_turn_runs,
    is_long_range,
)
from agent_league.games.contract import PLAYERS, ROLES, GameChecks, GameFlaw, Options, describe_breakdown
from agent_league.games.registry import Game
from agent_league.games.repeated import RepeatedRules
from agent_league.games.scene import find_scene_problem
from agent_league.players.actuators import Actuators
from agent_league.players.sensors import Sensors
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.envelope import Message
from agent_league.text import MAX_PHRASE, quote

BOTH_SEATS = (0, 1)
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
    assert isinstance(game, Game), f"expected a Game, such as Game('my_game', MyRules()); found {quote(game)}"
    contract = GameContract(game, max_steps, secret_until_drawn=secret_until_drawn)
    try:
        for seed in seeds:
            contract.check_seed(seed)
        contract.check_hidden_declaration()
        contract.check_parameters()
    except AssertionError:
        raise
    except GameFlaw as flaw:
        raise AssertionError(f"{game.game_type}: {flaw}") from None
    except Exception as error:
        raise AssertionError(f"{game.game_type}: {describe_breakdown(game, error)}") from error


class GameContract(GameChecks):
    """Checks the promises of one game, state by state."""

    def __init__(self, game: Game, max_steps: int, *, secret_until_drawn: bool) -> None:
        super().__init__(game, in_full=True)
        self._max_steps = max_steps
        self._secret_until_drawn = secret_until_drawn
        self._legal_by_view: dict[tuple[int, bytes], Sequence[Move]] = {}
        self._hides_something = False
        self._sensors = Sensors("contract", game.game_type)
        self._actuators = Actuators(SystemClock(), lambda: (PLAYERS[0], None))

    def check_seed(self, seed: int) -> None:
        """Check that a random game repeats exactly, by its seed and from its log, then check all its states."""
        steps = list(self.play_random_game(seed, self._max_steps))
        again = list(self.play_random_game(seed, self._max_steps))
        log, end = [moves for *_, moves in steps if moves], steps[-1][0]
        self._require(steps == again, f"seed {seed} gave two games, {log} and {[moves for *_, moves in again]}")
        self._require(self.replay_log(log) == end, f"the log {log}, replayed, doesn't lead to {end!r}")
        self.check_states(steps)
        if has_turn_runs(self.rules):
            self._check_turns(self.rules, steps)

    def check_hidden_declaration(self) -> None:
        """Check that rules with a method `hidden` have at least one hidden state."""
        single = self.rules.single if isinstance(self.rules, RepeatedRules) else self.rules
        idle = hasattr(single, "hidden") and not self._hides_something
        self._require(not idle, "`hidden` names no other state, in any state that was seen")

    def check_parameters(self) -> None:
        """Check that every value of a parameter makes a game or raises BadParameters."""
        for name in (*self.game.parameters, *REPEAT_PARAMETERS, "no_such_parameter"):
            for value in WRONG_PARAMETERS:
                self._check_parameter(name, value)

    def check_states(self, steps: Iterable[tuple[State, Options, Moves]]) -> None:
        """Check every state of a game further, with its moves, questions, answers, results and pictures."""
        said = list[Mapping[str, Move]]()
        last: Moves = {}
        for step, (state, options, moves) in enumerate(steps):
            if options:
                self._check_legal_moves(state, options)
                self._check_secrets(state, options)
                self._check_questions(state, options, step)
            self._check_state(state, said)
            self._check_pictures(state, last)
            if not options:
                self._check_end(state, said)
                return
            self._check_restored_state(state, moves)
            last = moves
            if CHANCE not in moves:
                said.append({PLAYERS[seat]: move for seat, move in moves.items()})

    def replay_log(self, log: Sequence[Moves]) -> State:
        state = self.rules.new(self.game.parameters)
        for moves in log:
            state = self.rules.apply(state, moves)
        return state

    def _check_parameter(self, name: str, value: Any) -> None:
        parameters = {**self.game.parameters, name: value}
        try:
            state = replace(self.game, parameters=parameters).rules.new(parameters)
        except BadParameters as error:
            self._require(bool(str(error)), f"BadParameters of {name} = {value!r} says nothing")
        except Exception as error:
            sentence = f"{name} = {value!r} must make a game or raise BadParameters, found {error!r}"
            raise AssertionError(f"{self.game.game_type}: {sentence}") from error
        else:
            self.check_json("new", state, f"with {name} = {value!r} a state")

    def _check_turns(self, rules: TurnRules, steps: Iterable[tuple[State, Options, Moves]]) -> None:
        """Check that the faster way through a game goes where the six functions go."""
        run = None
        for step, (state, options, moves) in enumerate(steps):
            run = rules.begin_turns(state) if run is None else run
            seat, legal = step % 2, [*options.get(step % 2, ())]
            found = (run.make_state(), [*run.legal])
            self._require(found == (state, legal), f"begin_turns leads to {found!r}, apply to {(state, legal)!r}")
            if options:
                run.make_move(moves[seat])
            else:
                found_returns, returns = run.returns, tuple(rules.returns(state))
                self._require(found_returns == returns, f"begin_turns ends with {found_returns!r}, not {returns!r}")

    def _require(self, kept: bool, sentence: str) -> None:
        assert kept, f"{self.game.game_type}: {sentence}"

    def _check_state(self, state: State, said: MovesByPlayer) -> None:
        """Check what holds in every state, including the last."""
        self.check_result(state, said)
        if has_perfect_information(self.rules):
            self._check_perfect_information(state)
        for seat in BOTH_SEATS:
            for other in find_hidden_states(self.rules, state, seat):
                self._hides_something = True
                self._check_hidden(state, other, seat, said)

    def _check_pictures(self, state: State, last: Moves) -> None:
        """Check that a game with its own views can draw every state; in a repeated game, that of the current round."""
        rules, game = self.rules, state
        if isinstance(rules, RepeatedRules):
            rules, game, last = rules.single, state["game"], last if any(state["moves"]) else {}
        for seat in (*BOTH_SEATS, None):
            view = rules.view(game, seat)
            if self.game.show:
                text = self.game.show(view, seat)
                self._require(
                    isinstance(text, str), f"show must give text, found {quote(text)} for {quote(view, MAX_PHRASE)}"
                )
            for moves in ({}, last) if self.game.scene else ():
                scene = self.game.scene(view, seat, moves) if self.game.scene else None
                problem = None if scene is None else find_scene_problem(scene)
                self._require(problem is None, f"scene of {quote(view, MAX_PHRASE)}: {problem}")

    def _check_perfect_information(self, state: State) -> None:
        """Check what perfect information means: every seat sees the whole state, and no two seats move at once."""
        for seat in BOTH_SEATS:
            view = self.rules.view(state, seat)
            self._require(view == state, f"perfect information, but seat {seat} sees {view!r} in {state!r}")
        at_once = self.rules.actors(state) == BOTH_SEATS
        self._require(not at_once, f"perfect information, but both choose at once in {state!r}")

    def _check_hidden(self, state: State, other: State, seat: int, said: MovesByPlayer) -> None:
        """Check that a seat can't tell two states apart by its view, its moves or the result."""
        self._require(other != state, f"`hidden` names the state itself: {state!r}")
        for what, told in (
            ("its view", lambda one: self.rules.view(one, seat)),
            ("who acts", self.rules.actors),
            ("its legal moves", lambda one: self._get_legal_moves(one, seat)),
            ("the result", lambda one: self.game.result_fields(one, said, PLAYERS)),
            ("the returns", lambda one: None if self.rules.actors(one) else self.rules.returns(one)),
            ("the reason", lambda one: None if self.rules.actors(one) else self.find_reason(one, said)),
        ):
            here, there = told(state), told(other)
            differ = f"seat {seat} can tell {state!r} from {other!r} by {what}: {here!r} and {there!r}"
            self._require(here == there, differ)

    def _get_legal_moves(self, state: State, seat: int) -> Sequence[Move]:
        return _comparable_moves(self.rules.legal(state, seat)) if seat in self.rules.actors(state) else ()

    def _check_restored_state(self, state: State, moves: Moves) -> None:
        """Check that a state restored from JSON behaves like the original."""
        restored = _round_trip_json(state)
        for what, told in (
            ("who acts", self.rules.actors),
            ("the legal moves", lambda one: [_comparable_moves(self.rules.legal(one, seat)) for seat in moves]),
            ("the views", lambda one: [self.rules.view(one, seat) for seat in (*BOTH_SEATS, None)]),
            (f"what comes of {moves}", lambda one: self.apply_moves(one, moves)),
        ):
            here, there = told(state), told(restored)
            self._require(here == there, f"a round trip of {state!r} through JSON changes {what}: {here!r}, {there!r}")

    def _check_legal_moves(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        for chosen in islice(product(*(legal[:MAX_TRIED_MOVES] for legal in options.values())), MAX_TRIED_MOVES):
            self.apply_moves(state, dict(zip(options, chosen, strict=True)))

    def apply_moves(self, state: State, moves: Moves) -> State:
        try:
            return super().apply_moves(state, moves)
        except GameFlaw:
            raise
        except Exception as error:
            name = self.game.game_type
            raise AssertionError(f"{name}: the legal moves {moves} are refused in {state!r}: {error!r}") from error

    def _check_secrets(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        """Check that legal moves depend only on the seat's view, and that simultaneous choices stay secret."""
        for seat, legal in options.items():
            if seat != CHANCE:
                view = self.rules.view(state, seat)
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
            after = [self.apply_moves(state, {seat: own, other: secret}) for secret in options[other][:MAX_TRIED_MOVES]]
            views = [self.rules.view(one, seat) for one in after if self.rules.actors(one) == (CHANCE,)]
            same = all(view == views[0] for view in views)
            self._require(same, f"before the draw seat {seat} sees what seat {other} chose: {quote(views, MAX_PHRASE)}")

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
        wire = self.game.wire
        own = wire.question(self.game.game_type, self.rules.view(state, seat), legal, step, ROLES[seat])
        call = wire.call.write(
            sender="referee:REF01",
            timestamp="2025-01-15T10:00:00Z",
            conversation_id="conv-r1m1-001",
            match_id="R1M1",
            game_type=self.game.game_type,
            **own,
        )
        return parse_fields(wire.call, orjson.loads(orjson.dumps(call.to_wire())))

    def _player_methods(self) -> tuple[Callable[..., Any], Callable[..., dict[str, Any]]]:
        """Return the functions with which our players read this game's question and write the answer."""
        known: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, Any]]]] = {
            "make_move": (self._sensors.observe_move_call, self._actuators.answer_move_call),
            "choose_parity": (self._sensors.observe_parity_call, self._actuators.answer_parity_call),
        }
        method = self.game.wire.method
        self._require(method in known, f"players answer {', '.join(known)}, not {method!r}")
        return known[method]

    def _check_answer(self, answer: Mapping[str, Any], move: Move) -> None:
        wire = self.game.wire
        try:
            heard = wire.move(parse_fields(wire.answer, orjson.loads(orjson.dumps(answer))))
        except Refusal as refusal:
            raise AssertionError(f"{self.game.game_type}: the answer {move!r} is refused: {refusal}") from refusal
        self._require(type(heard) is type(move) and heard == move, f"the answer {move!r} is read as {heard!r}")

    def _check_end(self, state: State, said: MovesByPlayer) -> None:
        returns, restored = self.rules.returns(state), self.rules.returns(_round_trip_json(state))
        self._require(restored == returns, f"a round trip of {state!r} through JSON changes the returns: {restored!r}")
        reason = self.find_reason(state, said)
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
