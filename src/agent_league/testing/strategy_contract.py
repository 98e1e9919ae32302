"""The contract of a strategy, as a check for tests of your own strategy:

    from agent_league.testing.strategy_contract import check_strategy_contract
    check_strategy_contract(MyStrategy)

Plays every installed game against a random opponent, and tries observations that no game of ours has. A broken promise
raises an AssertionError that says which one.
"""

import asyncio
import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import orjson

from agent_league.errors import UserError
from agent_league.games.base import CHANCE, BadParameters, Move, Rules, State, winning_seat
from agent_league.games.contract import try_random_games
from agent_league.games.registry import Game, game_types, load_playable_game
from agent_league.players.observation import GameMemory, GameRecord, Observation, Strategy, Thought
from agent_league.text import MAX_PHRASE, quote

PLAYERS = ("P01", "P02")
LONGEST_MATCH = 300
"""Steps after which a match is stopped."""
STRANGE_OBSERVATIONS = 100
OBSERVATION_FIELDS = tuple(name for name in Observation.__slots__ if name not in ("random", "rules"))
STRANGE_WORDS = ("even", "odd", "cooperate", "defect", "rock", "x" * 1000)
STRANGE_MOVES: Sequence[Move] = (*STRANGE_WORDS, 0, 1, 2, True, 1.5, [0, 1], [], {"x": 1})

MakeStrategy = Callable[[], Strategy]


def check_strategy_contract(
    make_strategy: MakeStrategy, games: Iterable[Game] | None = None, seeds: Iterable[int] = range(2)
) -> None:
    """Check a strategy; raises AssertionError for the first promise that it doesn't keep.

    It must choose a legal move in every state, with and without the rules; the same move for the same random numbers;
    must not change the observation; and what it learned must survive a round trip through JSON. By default `games` are
    all that are installed and can be played; a warning names the others.
    """
    assert type(make_strategy()).__doc__, "the first line of the class's docstring must say what it does"
    known = tuple(games) if games is not None else tuple(_playable_games())
    for seed in seeds:
        for game in known:
            for seat in (0, 1):
                _MatchPair(make_strategy, game, seat, seed).check_matches()
    _check_strange_observations(make_strategy, known)
    _check_strange_memories(make_strategy)


def _playable_games() -> Iterator[Game]:
    for name in game_types():
        try:
            game = load_playable_game(name, {})
            try_random_games(game)
        except (UserError, BadParameters) as error:
            warnings.warn(f"left out: {error}", stacklevel=3)
        else:
            yield game


class _MatchPair:
    """Two matches of one game in one seat, by two instances of a strategy, which must choose the same moves.

    Between the matches the second is replaced by a new one with what the first has learned, if that can be saved.
    """

    def __init__(self, make_strategy: MakeStrategy, game: Game, seat: int, seed: int) -> None:
        self._make_strategy = make_strategy
        self._game = game
        self._seat = seat
        self._dice = Random(seed)  # noqa: S311 - a game, not a secret
        self._first, self._second = make_strategy(), make_strategy()
        self._memory = GameMemory()

    def check_matches(self) -> None:
        self._play_match("R1M1")
        if hasattr(self._first, "saved"):
            self._second = _restore_copy(self._first, self._make_strategy)
        self._play_match("R2M1")

    def _play_match(self, match_id: str) -> None:
        rules = self._game.rules
        state = rules.new(self._game.parameters)
        played: tuple[list[Move], list[Move]] = ([], [])
        for step in range(LONGEST_MATCH):
            actors = rules.actors(state)
            if not actors:
                break
            moves = {seat: self._choose_move(state, seat, step, match_id) for seat in actors}
            for seat in moves.keys() - {CHANCE}:
                played[seat].append(moves[seat])
            state = rules.apply(state, moves)
        self._finish_match(match_id, _match_outcome(rules, state, self._seat), played)

    def _choose_move(self, state: State, seat: int, step: int, match_id: str) -> Move:
        rules, legal = self._game.rules, self._game.rules.legal(state, seat)
        if seat == CHANCE:
            outcomes, weights = zip(*legal, strict=True)
            return self._dice.choices(outcomes, weights)[0]
        if seat != self._seat:
            return self._dice.choice(legal)
        observation = Observation(
            game_type=self._game.game_type,
            match_id=match_id,
            player_id=PLAYERS[seat],
            opponent_id=PLAYERS[1 - seat],
            legal_moves=legal,
            view=orjson.loads(orjson.dumps(rules.view(state, seat))),
            step=step,
            round_id=1,
            history=self._memory,
            seat=seat,
            rules=rules,
        )
        unknowing = copy.copy(observation)
        unknowing.rules = None
        _check_choice(self._make_strategy(), unknowing, step)
        move = _check_choice(self._first, observation, step)
        other = _check_choice(self._second, observation, step)
        game = self._game.game_type
        assert move == other, f"{game}: the same dice brought {move!r} and {other!r} in {quote(state, MAX_PHRASE)}"
        return move

    def _finish_match(self, match_id: str, outcome: str, played: Sequence[Sequence[Move]]) -> None:
        mine, theirs = tuple(played[self._seat]), tuple(played[1 - self._seat])
        game = GameRecord(match_id, self._game.game_type, PLAYERS[1 - self._seat], outcome, mine, theirs)
        self._memory.append(game)
        for strategy in (self._first, self._second):
            if learn := getattr(strategy, "learn", None):
                learn(game)


def _match_outcome(rules: Rules, state: State, seat: int) -> str:
    if rules.actors(state):
        return "TECHNICAL_LOSS"
    winner = winning_seat(rules.returns(state))
    if winner is None:
        return "DRAW"
    return "WIN" if winner == seat else "LOSS"


def _restore_copy(strategy: Strategy, make_strategy: MakeStrategy) -> Strategy:
    """Return a new strategy that is given what this one has learned."""
    revived = make_strategy()
    restore = getattr(revived, "restore", None)
    assert restore is not None, "a strategy with saved() needs restore(saved)"
    restore(_save_as_json(strategy))
    return revived


def _save_as_json(strategy: Any) -> Any:
    saved = strategy.saved()
    try:
        read = orjson.loads(orjson.dumps(saved))
    except TypeError as error:
        raise AssertionError(f"what it saves doesn't come back from JSON: {error}") from error
    assert read == saved, f"what it saves doesn't come back from JSON as it was: {quote(saved, MAX_PHRASE)}"
    return read


def _check_choice(strategy: Strategy, observation: Observation, seed: int) -> Move:
    """Return the strategy's move; asserts that it is legal and that the observation is unchanged."""
    observation.random = Random(seed)  # noqa: S311 - a game, not a secret
    before = _observation_fields(observation)
    where = f"{quote(observation.game_type)} with {quote(observation.legal_moves, MAX_PHRASE)}"
    try:
        move = _call_strategy(strategy, observation)
    except Exception as error:
        raise AssertionError(f"in {where} it raised {error!r}") from error
    assert observation.is_legal(move), f"in {where} it chose {quote(move)}: not legal"
    for name, shown in _observation_fields(observation).items():
        assert shown == before[name], f"in {where} it changed the observation's {name}: {before[name]} to {shown}"
    return move


def _observation_fields(observation: Observation) -> dict[str, str]:
    return {
        name: repr(list(value) if name == "history" else value)
        for name in OBSERVATION_FIELDS
        if (value := getattr(observation, name)) is not None
    }


def _call_strategy(strategy: Strategy, observation: Observation) -> Move:
    said: Any = strategy.choose(observation)
    if inspect.iscoroutine(said):
        said = asyncio.run(said)
    return said.move if isinstance(said, Thought) else said


def _check_strange_observations(make_strategy: MakeStrategy, games: Sequence[Game]) -> None:
    """Check observations that no game of ours produces, but a stranger's referee may."""
    kept = make_strategy()
    for seed in range(STRANGE_OBSERVATIONS):
        dice = Random(seed)  # noqa: S311 - a game, not a secret
        observation = _strange_observation(dice, games)
        first, second = (_check_choice(make_strategy(), observation, seed) for _ in range(2))
        assert first == second, f"the same dice brought {first!r} and {second!r} in {quote(observation, MAX_PHRASE)}"
        _check_choice(kept, observation, seed)
        if learn := getattr(kept, "learn", None):
            learn(_strange_record(dice, observation.game_type))
    if hasattr(kept, "saved"):
        _save_as_json(kept)


def _strange_observation(dice: Random, games: Sequence[Game]) -> Observation:
    game = dice.choice((*games, None))
    name = game.game_type if game else "never heard of"
    return Observation(
        game_type=name,
        match_id=dice.choice(("R1M1", "R2M1", "R3M1")),
        player_id="P01",
        opponent_id=dice.choice(("P02", "P03", None)),
        legal_moves=_strange_moves(dice),
        view=_strange_view(dice),
        step=dice.randrange(5),
        history=[_strange_record(dice, dice.choice((name, "another"))) for _ in range(dice.randrange(6))],
        seat=dice.randrange(2),
        rules=game.rules if game and dice.random() < 0.5 else None,
    )


def _strange_moves(dice: Random) -> Sequence[Move]:
    if dice.random() < 0.1:
        return range(1, 10**6)
    return [_strange_move(dice) for _ in range(dice.randrange(1, 5))]


def _strange_move(dice: Random) -> Move:
    return copy.deepcopy(dice.choice(STRANGE_MOVES))


def _strange_view(dice: Random) -> Any:
    """Return a strange view, often with the keys of a repeated game and unsuitable values."""
    if dice.random() < 0.3:
        return dice.choice((None, 7, "board", [1, 2], {"left": 3}, {"game": {"payoffs": 7}}))
    rounds = [dice.choice(([_strange_move(dice), _strange_move(dice)], [1], 7)) for _ in range(dice.randrange(5))]
    pays: Mapping[bool, Any] = {True: [dice.randrange(5), dice.randrange(5)], False: ["much", None]}
    table = [[_strange_move(dice), _strange_move(dice), *pays[dice.random() < 0.8]] for _ in range(dice.randrange(5))]
    game = dice.choice((None, {"payoffs": table}, {"board": ["X"] * 7, "turn": dice.randrange(3)}))
    return {"game": game, "rounds": dice.choice((rounds, rounds, {}, None)), "scores": [0, 0], "payoffs": None}


def _strange_record(dice: Random, game_type: str) -> GameRecord:
    return GameRecord(
        match_id=dice.choice(("R1M1", "R2M1", "R3M1")),
        game_type=game_type,
        opponent_id=dice.choice(("P02", "P03")),
        outcome=dice.choice(("WIN", "LOSS", "DRAW", "TECHNICAL_LOSS", "VOID")),
        my_moves=tuple(_strange_move(dice) for _ in range(dice.randrange(4))),
        opponent_moves=tuple(_strange_move(dice) for _ in range(dice.randrange(4))),
    )


def _check_strange_memories(make_strategy: MakeStrategy) -> None:
    """Check that a strategy plays on after restoring damaged data, whether it accepts or refuses that."""
    spoilt: Sequence[Any] = (None, 7, [], {}, {"even_odd/0": {"even": [1, 0.5]}}, {"a": {"b": [0, "x"]}}, {"a": 1})
    for saved in spoilt:
        strategy = make_strategy()
        restore = getattr(strategy, "restore", None)
        if restore is None:
            return
        with suppress(Exception):  # refusing damaged data is allowed
            restore(saved)
        _check_choice(strategy, Observation("even_odd", "R1M1", "P01", "P02", ("even", "odd")), 1)
