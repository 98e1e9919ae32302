"""The contract of a game, as a test that anybody can call on a game of their own:

    from agent_league.testing.game_contract import check_game
    check_game(MY_GAME)

Plays the game at random from several seeds and looks at every state on the way. A broken promise is an AssertionError
with a sentence.
"""

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, product
from random import Random
from typing import Any

import orjson

from agent_league.clock import SystemClock
from agent_league.errors import Refusal
from agent_league.games.base import CHANCE, Move, State, winning_seat
from agent_league.games.registry import Game
from agent_league.players.actuators import Actuators
from agent_league.players.sensors import Sensors
from agent_league.protocol.checks import read_fields
from agent_league.protocol.envelope import Message

BOTH = (0, 1)
PLAYERS = ("P01", "P02")
ROLES = ("PLAYER_A", "PLAYER_B")
MAX_STEPS = 1000
TRIED = 64
"""So many moves of one state are tried; more of them teach nothing new."""

Moves = Mapping[int, Move]
Said = Sequence[Mapping[str, Move]]


def check_game(
    game: Game, seeds: Iterable[int] = range(20), max_steps: int = MAX_STEPS, *, secret_until_drawn: bool = True
) -> None:
    """Raises AssertionError with a sentence for the first promise of the seam that a game doesn't keep.

    `secret_until_drawn=False` is for a game that shows simultaneous choices before chance acts on them.
    """
    contract = GameContract(game, max_steps, secret_until_drawn=secret_until_drawn)
    for seed in seeds:
        log, end = contract.play(seed)
        again, same_end = contract.play(seed)
        assert (log, end) == (again, same_end), f"{game.game_type}: seed {seed} gave two games, {log} and {again}"
        assert contract.replay(log) == end, f"{game.game_type}: the log {log}, replayed, doesn't lead to {end!r}"


class GameContract:
    """The promises of one game, looked at state by state."""

    def __init__(self, game: Game, max_steps: int, *, secret_until_drawn: bool) -> None:
        self._game = game
        self._rules = game.rules
        self._max_steps = max_steps
        self._secret_until_drawn = secret_until_drawn
        self._seen: dict[tuple[int, bytes], list[Move]] = {}
        self._sensors = Sensors("contract", game.game_type)
        self._actuators = Actuators(SystemClock(), lambda: (PLAYERS[0], None))

    def play(self, seed: int) -> tuple[list[Moves], State]:
        """One game of random legal moves: its log and its end."""
        dice = Random(seed)  # noqa: S311 - a game, not a secret
        state = self._rules.new(self._game.parameters)
        log: list[Moves] = []
        said: list[Mapping[str, Move]] = []
        while actors := self._actors(state):
            self._claim(len(log) < self._max_steps, f"it is not over after {self._max_steps} steps")
            self._check_state(state)
            options = {seat: self._options(state, seat) for seat in actors}
            self._check_moves(state, options)
            self._check_secrets(state, options)
            self._check_questions(state, options, len(log))
            self._check_results(state, said)
            moves = {seat: dice.choice(legal) for seat, legal in options.items()}
            state = self._applied(state, moves)
            log.append(moves)
            if CHANCE not in moves:
                said.append({PLAYERS[seat]: move for seat, move in moves.items()})
        self._check_state(state)
        self._check_results(state, said)
        self._check_end(state, said)
        return log, state

    def replay(self, log: Sequence[Moves]) -> State:
        state = self._rules.new(self._game.parameters)
        for moves in log:
            state = self._rules.apply(state, moves)
        return state

    def _claim(self, kept: bool, sentence: str) -> None:
        assert kept, f"{self._game.game_type}: {sentence}"

    def _claim_json(self, value: Any, what: str) -> None:
        try:
            same = orjson.loads(orjson.dumps(value)) == value
        except TypeError:
            same = False
        self._claim(same, f"{what} doesn't come back from JSON as it was: {value!r}")

    def _actors(self, state: State) -> tuple[int, ...]:
        actors = self._rules.actors(state)
        known = actors in ((), (0,), (1,), BOTH, (CHANCE,))
        self._claim(known, f"actors must be (), (0,), (1,), (0, 1) or (CHANCE,), found {actors!r} in {state!r}")
        return actors

    def _options(self, state: State, seat: int) -> list[Move]:
        """The legal moves of an actor; for chance, its outcomes."""
        legal = list(self._rules.legal(state, seat))
        self._claim(bool(legal), f"seat {seat} acts but has no legal move in {state!r}")
        if seat == CHANCE:
            weights = [weight for _, weight in legal]
            positive = all(math.isfinite(weight) and weight > 0 for weight in weights)
            self._claim(positive, f"chance needs weights above 0, found {weights!r} in {state!r}")
            legal = [outcome for outcome, _ in legal]
        for move in legal:
            self._claim(move is not None, f"None can't be a move (in {state!r}): an answer of null holds no move")
            self._claim_json(move, "a move")
        return legal

    def _check_state(self, state: State) -> None:
        self._claim_json(state, "a state")
        for seat in (*BOTH, None):
            self._claim_json(self._rules.view(state, seat), f"the view of seat {seat}")

    def _check_moves(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        for chosen in islice(product(*options.values()), TRIED):
            self._applied(state, dict(zip(options, chosen, strict=True)))

    def _applied(self, state: State, moves: Moves) -> State:
        before = copy.deepcopy(state)
        try:
            after = self._rules.apply(state, moves)
        except Exception as error:
            name = self._game.game_type
            raise AssertionError(f"{name}: the legal moves {moves} are refused in {before!r}: {error!r}") from error
        self._claim(state == before, f"apply changed the old state {before!r} into {state!r}")
        return after

    def _check_secrets(self, state: State, options: Mapping[int, Sequence[Move]]) -> None:
        """What a seat may do follows from what it sees, and what it sees is not the other's secret."""
        for seat, legal in options.items():
            if seat != CHANCE:
                view = self._rules.view(state, seat)
                known = self._seen.setdefault((seat, orjson.dumps(view)), list(legal))
                self._claim(
                    known == legal,
                    f"seat {seat} sees {view!r} and may play {known!r} or {legal!r}: it can't know which",
                )
        if tuple(options) == BOTH and self._secret_until_drawn:
            for seat in BOTH:
                self._check_secret_choice(state, options, seat)

    def _check_secret_choice(self, state: State, options: Mapping[int, Sequence[Move]], seat: int) -> None:
        """As long as the draw is still to come, a seat can't tell what the other one chose at the same time."""
        other = 1 - seat
        for own in options[seat][:TRIED]:
            after = [self._applied(state, {seat: own, other: secret}) for secret in options[other][:TRIED]]
            views = [self._rules.view(one, seat) for one in after if self._rules.actors(one) == (CHANCE,)]
            same = all(view == views[0] for view in views)
            self._claim(same, f"before the draw seat {seat} sees what seat {other} chose: {views!r:.300}")

    def _check_questions(self, state: State, options: Mapping[int, Sequence[Move]], step: int) -> None:
        """Every step can be asked, and every legal move can be said in answer."""
        for seat, legal in options.items():
            if seat == CHANCE:
                continue
            call = self._question(state, seat, legal, step)
            observe, answer = self._hearing()
            offered = list(observe(call, PLAYERS[seat], ()).legal_moves)
            self._claim(offered == legal, f"asked for one of {legal!r}, a player hears {offered!r}")
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

    def _hearing(self) -> tuple[Callable[..., Any], Callable[..., Message]]:
        """How a player of ours hears this game's question, and how it answers."""
        known: dict[str, tuple[Callable[..., Any], Callable[..., Message]]] = {
            "make_move": (self._sensors.see_move_call, self._actuators.make_move),
            "choose_parity": (self._sensors.see_parity_call, self._actuators.choose_parity),
        }
        method = self._game.wire.method
        self._claim(method in known, f"players answer {', '.join(known)}, not {method!r}")
        return known[method]

    def _check_answer(self, answer: Message, move: Move) -> None:
        wire = self._game.wire
        try:
            heard = wire.move(read_fields(wire.answer, orjson.loads(orjson.dumps(answer.to_wire()))))
        except Refusal as refusal:
            raise AssertionError(f"{self._game.game_type}: the answer {move!r} is refused: {refusal}") from refusal
        self._claim(type(heard) is type(move) and heard == move, f"the answer {move!r} is read as {heard!r}")

    def _check_results(self, state: State, said: Said) -> None:
        """A match may break off in any state, and still has a result."""
        for words in (self._game.result, self._game.wire.details):
            self._claim_json(words(state, said, PLAYERS), "a result")

    def _check_end(self, state: State, said: Said) -> None:
        returns: tuple[Any, ...] = tuple(self._rules.returns(state))
        numbers = [isinstance(value, int | float) and math.isfinite(value) for value in returns]
        self._claim(numbers == [True, True], f"returns must be a finite number for each seat, found {returns!r}")
        seat = winning_seat(returns)
        winner = None if seat is None else PLAYERS[seat]
        reason: Any = self._game.wire.reason(state, said, PLAYERS, winner)
        self._claim(isinstance(reason, str) and bool(reason), f"a reason must be a sentence, found {reason!r}")
