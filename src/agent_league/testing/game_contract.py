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
    REPEATING,
    BadParameters,
    Move,
    State,
    hidden,
    hides_nothing,
    is_long,
    winning_seat,
)
from agent_league.games.game_trial import breakdown, returns_problem
from agent_league.games.registry import Game
from agent_league.games.repeated import Repeated
from agent_league.games.scene import scene_problem
from agent_league.players.actuators import Actuators
from agent_league.players.sensors import Sensors
from agent_league.protocol.checks import read_fields
from agent_league.protocol.envelope import Message

BOTH = (0, 1)
PLAYERS = ("P01", "P02")
ROLES = ("PLAYER_A", "PLAYER_B")
MAX_STEPS = 1000
TRIED = 64
"""Maximum moves that are tried in one state."""
WRONG: tuple[Any, ...] = (None, "", "x", True, -1, 0, 1.5, math.nan, 2**70, [], [None], {}, {"x": 1})
"""Values to try for every parameter; most are wrong."""

Moves = Mapping[int, Move]
Said = Sequence[Mapping[str, Move]]


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
        contract.check_declaration()
        contract.check_parameters()
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{game.game_type}: {breakdown(game, error)}") from error


class GameContract:
    """Checks the promises of one game, state by state."""

    def __init__(self, game: Game, max_steps: int, *, secret_until_drawn: bool) -> None:
        self._game = game
        self._rules = game.rules
        self._max_steps = max_steps
        self._secret_until_drawn = secret_until_drawn
        self._seen: dict[tuple[int, bytes], Sequence[Move]] = {}
        self._hides = False
        self._sensors = Sensors("contract", game.game_type)
        self._actuators = Actuators(SystemClock(), lambda: (PLAYERS[0], None))

    def check_seed(self, seed: int) -> None:
        """Check that a random game repeats exactly, by its seed and from its log, then check all its states."""
        log, end = self.play(seed)
        again, same_end = self.play(seed)
        self._claim((log, end) == (again, same_end), f"seed {seed} gave two games, {log} and {again}")
        self._claim(self.replay(log) == end, f"the log {log}, replayed, doesn't lead to {end!r}")
        self.look_through(log)

    def check_declaration(self) -> None:
        """Check that rules with a method `hidden` have at least one hidden state."""
        single = self._rules.single if isinstance(self._rules, Repeated) else self._rules
        idle = hasattr(single, "hidden") and not self._hides
        self._claim(not idle, "`hidden` names no other state, in any state that was seen")

    def check_parameters(self) -> None:
        """Check that every value of a parameter makes a game or raises BadParameters."""
        for name in (*self._game.parameters, *REPEATING, "no_such_parameter"):
            for value in WRONG:
                self._check_parameter(name, value)

    def play(self, seed: int) -> tuple[list[Moves], State]:
        """Play a game of random legal moves; return its log and its final state."""
        dice = Random(seed)  # noqa: S311 - a game, not a secret
        state, log = self._start(), list[Moves]()
        while actors := self._actors(state):
            self._claim(len(log) < self._max_steps, f"it is not over after {self._max_steps} steps")
            self._claim_json(state, "a state")
            log.append({seat: dice.choice(self._options(state, seat)) for seat in actors})
            state = self._applied(state, log[-1])
        return log, state

    def look_through(self, log: Sequence[Moves]) -> None:
        """Replay a log and check every state, with its views, moves, questions, answers and results."""
        state, said = self._start(), list[Mapping[str, Move]]()
        last: Moves = {}
        for step, moves in enumerate(log):
            options = {seat: self._options(state, seat) for seat in moves}
            self._check_views(state)
            self._check_moves(state, options)
            self._check_secrets(state, options)
            self._check_questions(state, options, step)
            self._check_state(state, said)
            self._check_pictures(state, last)
            self._check_restored(state, moves)
            state, last = self._applied(state, moves), moves
            if CHANCE not in moves:
                said.append({PLAYERS[seat]: move for seat, move in moves.items()})
        self._claim_json(state, "a state")
        self._check_views(state)
        self._check_end(state, said)
        self._check_state(state, said)
        self._check_pictures(state, last)

    def replay(self, log: Sequence[Moves]) -> State:
        state = self._start()
        for moves in log:
            state = self._rules.apply(state, moves)
        return state

    def _start(self) -> State:
        return self._rules.new(self._game.parameters)

    def _check_parameter(self, name: str, value: Any) -> None:
        parameters = {**self._game.parameters, name: value}
        try:
            state = replace(self._game, parameters=parameters).rules.new(parameters)
        except BadParameters as error:
            self._claim(bool(str(error)), f"BadParameters of {name} = {value!r} says nothing")
        except Exception as error:
            sentence = f"{name} = {value!r} must make a game or raise BadParameters, found {error!r}"
            raise AssertionError(f"{self._game.game_type}: {sentence}") from error
        else:
            self._claim_json(state, f"the state made by {name} = {value!r}")

    def _claim(self, kept: bool, sentence: str) -> None:
        assert kept, f"{self._game.game_type}: {sentence}"

    def _claim_json(self, value: Any, what: str) -> None:
        try:
            same = _restored(value) == value
        except TypeError:
            same = False
        self._claim(same, f"{what} doesn't come back from JSON as it was: {value!r}")

    def _actors(self, state: State) -> tuple[int, ...]:
        actors = self._rules.actors(state)
        known = actors in ((), (0,), (1,), BOTH, (CHANCE,))
        self._claim(known, f"actors must be (), (0,), (1,), (0, 1) or (CHANCE,), found {actors!r} in {state!r}")
        return actors

    def _options(self, state: State, seat: int) -> Sequence[Move]:
        """Return the legal moves of an actor, or the outcomes of chance, after checking them."""
        legal = _listed(self._rules.legal(state, seat))
        self._claim(bool(legal), f"seat {seat} acts but has no legal move in {state!r}")
        if seat == CHANCE:
            weights = [weight for _, weight in legal]
            positive = all(math.isfinite(weight) and weight > 0 for weight in weights)
            self._claim(positive, f"chance needs weights above 0, found {weights!r} in {state!r}")
            legal = [outcome for outcome, _ in legal]
        for move in legal if isinstance(legal, list) else (legal[0], legal[-1]):
            self._claim(move is not None, f"None can't be a move (in {state!r}): an answer of null holds no move")
            self._claim_json(move, "a move")
        return legal

    def _check_views(self, state: State) -> None:
        for seat in (*BOTH, None):
            self._claim_json(self._rules.view(state, seat), f"the view of seat {seat}")

    def _check_state(self, state: State, said: Said) -> None:
        """Check what holds in every state, including the last; a match may be aborted in any and still has a result."""
        for words in (self._game.result, self._game.wire.details):
            self._claim_json(words(state, said, PLAYERS), "a result")
        if hides_nothing(self._rules):
            self._check_open(state)
        for seat in BOTH:
            for other in hidden(self._rules, state, seat):
                self._hides = True
                self._check_hidden(state, other, seat, said)

    def _check_pictures(self, state: State, last: Moves) -> None:
        """Check that a game with its own views can draw every state; in a repeated game, that of the current round."""
        rules, game = self._rules, state
        if isinstance(rules, Repeated):
            rules, game, last = rules.single, state["game"], last if any(state["moves"]) else {}
        for seat in (*BOTH, None):
            view = rules.view(game, seat)
            if self._game.show:
                text = self._game.show(view, seat)
                self._claim(isinstance(text, str), f"show must give text, found {text!r:.100} for {view!r:.200}")
            for moves in ({}, last) if self._game.scene else ():
                scene = self._game.scene(view, seat, moves) if self._game.scene else None
                problem = None if scene is None else scene_problem(scene)
                self._claim(problem is None, f"scene of {view!r:.200}: {problem}")

    def _check_open(self, state: State) -> None:
        """Check what perfect information means: every seat sees the whole state, and no two seats move at once."""
        for seat in BOTH:
            view = self._rules.view(state, seat)
            self._claim(view == state, f"perfect information, but seat {seat} sees {view!r} in {state!r}")
        at_once = self._rules.actors(state) == BOTH
        self._claim(not at_once, f"perfect information, but both choose at once in {state!r}")

    def _check_hidden(self, state: State, other: State, seat: int, said: Said) -> None:
        """Check that a seat can't tell two states apart by its view, its moves or the result."""
        self._claim(other != state, f"`hidden` names the state itself: {state!r}")
        for what, told in (
            ("its view", lambda one: self._rules.view(one, seat)),
            ("who acts", self._rules.actors),
            ("its legal moves", lambda one: self._legal_for(one, seat)),
            ("the result", lambda one: self._game.result(one, said, PLAYERS)),
            ("the returns", lambda one: None if self._rules.actors(one) else self._rules.returns(one)),
            ("the reason", lambda one: None if self._rules.actors(one) else self._reason(one, said)),
        ):
            here, there = told(state), told(other)
            differ = f"seat {seat} can tell {state!r} from {other!r} by {what}: {here!r} and {there!r}"
            self._claim(here == there, differ)

    def _legal_for(self, state: State, seat: int) -> Sequence[Move]:
        return _listed(self._rules.legal(state, seat)) if seat in self._rules.actors(state) else ()

    def _check_restored(self, state: State, moves: Moves) -> None:
        """Check that a state restored from JSON behaves like the original."""
        restored = _restored(state)
        for what, told in (
            ("who acts", self._rules.actors),
            ("the legal moves", lambda one: [_listed(self._rules.legal(one, seat)) for seat in moves]),
            ("the views", lambda one: [self._rules.view(one, seat) for seat in (*BOTH, None)]),
            (f"what comes of {moves}", lambda one: self._applied(one, moves)),
        ):
            here, there = told(state), told(restored)
            self._claim(here == there, f"a round trip of {state!r} through JSON changes {what}: {here!r}, {there!r}")

    def _check_moves(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        for chosen in islice(product(*(legal[:TRIED] for legal in options.values())), TRIED):
            self._applied(state, dict(zip(options, chosen, strict=True)))

    def _applied(self, state: State, moves: Moves) -> State:
        before = orjson.dumps(state)
        try:
            after = self._rules.apply(state, moves)
        except Exception as error:
            name = self._game.game_type
            raise AssertionError(f"{name}: the legal moves {moves} are refused in {state!r}: {error!r}") from error
        self._claim(orjson.dumps(state) == before, f"apply changed the old state {before.decode()} into {state!r}")
        return after

    def _check_secrets(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        """Check that legal moves depend only on the seat's view, and that simultaneous choices stay secret."""
        for seat, legal in options.items():
            if seat != CHANCE:
                view = self._rules.view(state, seat)
                known = self._seen.setdefault((seat, orjson.dumps(view)), legal)
                self._claim(
                    known == legal,
                    f"seat {seat} sees {view!r} and may play {known!r} or {legal!r}: it can't know which",
                )
        if tuple(options) == BOTH and self._secret_until_drawn:
            for seat in BOTH:
                self._check_secret_choice(state, options, seat)

    def _check_secret_choice(self, state: State, options: Mapping[int, Sequence[Move]], seat: int) -> None:
        """Check that before the draw a seat can't see what the other one chose simultaneously."""
        other = 1 - seat
        for own in options[seat][:TRIED]:
            after = [self._applied(state, {seat: own, other: secret}) for secret in options[other][:TRIED]]
            views = [self._rules.view(one, seat) for one in after if self._rules.actors(one) == (CHANCE,)]
            same = all(view == views[0] for view in views)
            self._claim(same, f"before the draw seat {seat} sees what seat {other} chose: {views!r:.300}")

    def _check_questions(self, state: State, options: Mapping[int, Sequence[Move]], step: int) -> None:
        """Check that every move can be requested, and every legal move sent as an answer."""
        for seat, legal in options.items():
            if seat == CHANCE:
                continue
            call = self._question(state, seat, legal, step)
            observe, answer = self._hearing()
            offered = _listed(observe(call, PLAYERS[seat], ()).legal_moves)
            self._claim(_alike(offered, legal), f"asked for one of {legal!r}, a player hears {offered!r}")
            for move in legal[:TRIED]:
                self._check_answer(answer(call, move), move)

    def _question(self, state: State, seat: int, legal: Sequence[Move], step: int) -> Message:
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
        return read_fields(wire.call, orjson.loads(orjson.dumps(call.to_wire())))

    def _hearing(self) -> tuple[Callable[..., Any], Callable[..., dict[str, Any]]]:
        """Return the functions with which our players read this game's question and write the answer."""
        known: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, Any]]]] = {
            "make_move": (self._sensors.see_move_call, self._actuators.make_move),
            "choose_parity": (self._sensors.see_parity_call, self._actuators.choose_parity),
        }
        method = self._game.wire.method
        self._claim(method in known, f"players answer {', '.join(known)}, not {method!r}")
        return known[method]

    def _check_answer(self, answer: Mapping[str, Any], move: Move) -> None:
        wire = self._game.wire
        try:
            heard = wire.move(read_fields(wire.answer, orjson.loads(orjson.dumps(answer))))
        except Refusal as refusal:
            raise AssertionError(f"{self._game.game_type}: the answer {move!r} is refused: {refusal}") from refusal
        self._claim(type(heard) is type(move) and heard == move, f"the answer {move!r} is read as {heard!r}")

    def _reason(self, state: State, said: Said) -> Any:
        seat = winning_seat(self._rules.returns(state))
        return self._game.wire.reason(state, said, PLAYERS, None if seat is None else PLAYERS[seat])

    def _check_end(self, state: State, said: Said) -> None:
        returns = self._rules.returns(state)
        problem = returns_problem(returns)
        self._claim(problem is None, problem or "")
        restored = self._rules.returns(_restored(state))
        self._claim(restored == returns, f"a round trip of {state!r} through JSON changes the returns: {restored!r}")
        reason = self._reason(state, said)
        self._claim(isinstance(reason, str) and bool(reason), f"a reason must be a sentence, found {reason!r}")


def _listed(moves: Sequence[Move]) -> Sequence[Move]:
    """Return moves as a list, for comparing, except a long range."""
    return moves if is_long(moves) else list(moves)


def _alike(heard: Sequence[Move], legal: Sequence[Move]) -> bool:
    """Whether two lists of moves are the same; a long range may be reversed or come as a list."""
    if isinstance(heard, range) and isinstance(legal, range):
        return heard in (legal, legal[::-1])
    return len(heard) == len(legal) and list(heard) == list(legal)


def _restored(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    return orjson.loads(orjson.dumps(value))
