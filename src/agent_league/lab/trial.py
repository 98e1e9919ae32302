"""A trial: games of one player against another by the rules alone, what came of them, and the worst loss.

Knows no command and no file; a match file of the worst loss is made as bytes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.games.base import CHANCE, Move, State, winning_seat
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.registry import Game, load_game
from agent_league.games.steps import StepMoves
from agent_league.lab.comparison import label_players
from agent_league.lab.game_series import Series, make_match_id
from agent_league.model.results import Outcome
from agent_league.players.strategies import load_strategy, strategy_games
from agent_league.ratings.statistics import estimate_rate
from agent_league.referee.match import SEAT_ROLES

MAX_DRAW_POSITIONS = 20_000
"""Positions that are tried to find what was drawn."""
WON, DRAWN, LOST = "won", "drawn", "lost"
FIRST_CHOICE, LAST_CHOICE = "tic_tac_toe", "even_odd"
"""Of the games that a player can be tried in: one of skill before all others, and the one of luck after them."""


@dataclass(frozen=True, slots=True)
class LostGame:
    """A game that the player lost."""

    number: int
    seat: int
    deficit: float
    """By how much the other one has more."""
    steps: int
    state: Any
    moves: Sequence[StepMoves]

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the worst first: by most, then the shortest."""
        return -self.deficit, self.steps

    def write_match_file(self, trial: "Trial") -> bytes:
        """Write the game in the form of a match file, which `league replay` reads."""
        game, names = trial.game, trial.names
        ids = (names[0], names[1]) if self.seat == 0 else (names[1], names[0])
        moves = [{ids[seat]: move for seat, move in step.items()} for step in self.moves]
        draws = find_draws(game, self.state, self.moves)
        reason = game.wire.reason(self.state, moves, ids, names[1])
        result = {"status": Outcome.WIN.value, "winner_player_id": names[1], "reason": reason}
        content = {
            "match_id": make_match_id(self.number),
            "round_id": self.number + 1,
            "game_type": game.game_type,
            "game_parameters": dict(game.parameters),
            "players": dict(zip(SEAT_ROLES, ids, strict=True)),
            "moves": moves,
            "transcript": [{"direction": "drawn", "outcome": outcome} for outcome in draws],
            "result": result,
        }
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"


class Trial:
    """Games of a player against an opponent, one after the other, with memory and sides alternating."""

    def __init__(self, game: Game, players: tuple[str, str], seed: str) -> None:
        """`players` are names of strategies or Python files. Raises ConfigError."""
        self.game = game
        self.names = label_players(players)
        self.seed = seed
        self.worst_loss: LostGame | None = None
        self._series = Series(game, (load_strategy(players[0]), load_strategy(players[1])), seed)
        self._results: Counter[tuple[int, str]] = Counter()
        """Games by the player's seat and what came of them."""
        self._faults = (0, 0)
        self._faulty_games = [0, 0]

    @property
    def title(self) -> str:
        return f"{self.names[0]} against {self.names[1]}"

    def play_game(self) -> None:
        """Play one more game. Raises BrokenGame if the rules fail."""
        number = self._results.total()
        try:
            self._series.play(1)
        except Exception as error:
            raise BrokenGame(describe_breakdown(self.game, error)) from error
        (returns,), faults = self._series.take()
        self._faults = (self._faults[0] + faults[0], self._faults[1] + faults[1])
        self._faulty_games = [known + bool(new) for known, new in zip(self._faulty_games, faults, strict=True)]
        seat, winner = number % 2, winning_seat(returns)
        self._results[seat, DRAWN if winner is None else LOST if winner else WON] += 1
        if winner != 1:
            return
        steps = self._series.last_steps
        state, moves = self._series.last_game
        lost = LostGame(number, seat, returns[1] - returns[0], steps, state, moves)
        if self.worst_loss is None or lost.rank < self.worst_loss.rank:
            self.worst_loss = lost

    @property
    def has_faults(self) -> bool:
        """Whether the player, not its opponent, failed or broke the rules."""
        return self._faults[0] > 0

    def count_results(self, seat: int | None = None) -> dict[str, int]:
        """Count the games won, drawn and lost; those in one seat, or all."""
        seats = (0, 1) if seat is None else (seat,)
        return {result: sum(self._results[one, result] for one in seats) for result in (WON, DRAWN, LOST)}

    def describe(self) -> Iterator[str]:
        """Say in a few lines what came of it, faults first."""
        counted, games = self.count_results(), self._results.total()
        faulty = zip(self.names, self._faults, self._faulty_games, self._series.first_faults, strict=True)
        for name, faults, faulty_games, first in faulty:
            if faults:
                what = f"in {faulty_games} of {games} games, {faults} times in all"
                yield f"{name} failed or broke the rules {what}; random moves were made instead. First: {first}"
        yield f"{self.title}: {games} games of {self.game.game_type}, seed {self.seed}."
        rate = estimate_rate(counted[WON], games)
        value, low, high = (f"{100 * end:.0f}" for end in (rate.value, rate.low, rate.high))
        yield f"{_describe_results(counted).capitalize()}: {value} % won, and 95 % sure that it wins {low} to {high} %."
        for seat, name in enumerate(("first", "second")):
            yield f"As the {name} player: {_describe_results(self.count_results(seat))}."

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "player": self.names[0],
            "against": self.names[1],
            "game": self.game.game_type,
            "parameters": dict(self.game.parameters),
            "seed": self.seed,
            "games": self._results.total(),
            **self.count_results(),
            "as_first": self.count_results(0),
            "as_second": self.count_results(1),
            "faults": self._faults[0],
            "faulty_games": self._faulty_games[0],
            "first_fault": self._series.first_faults[0] or None,
        }


@dataclass(frozen=True, slots=True)
class GameChoice:
    """A game to try a player in, and why that one, as the rest of a sentence."""

    game_type: str
    reason: str


def choose_game(players: tuple[str, str], installed: Sequence[str]) -> GameChoice:
    """Choose the game that both are made for; else one of skill, if the first of them plays it without a fault."""
    for name in players:
        made_for = [game for game in strategy_games(name) if game in installed]
        common = [game for game in made_for if all(game in (strategy_games(one) or (game,)) for one in players)]
        if common:
            return GameChoice(common[0], f"which {name} is made for")
    found: dict[str, str] = {}
    for game in sorted(installed, key=lambda game: (game != FIRST_CHOICE, game == LAST_CHOICE, game)):
        found[game] = find_fault(players, game)
        if not found[game]:
            break
    else:
        return GameChoice(next(iter(found)), f"as {players[0]} breaks the rules in every game")
    if len(found) == 1:
        return GameChoice(game, "a game of skill")
    first = next(iter(found))
    return GameChoice(game, f"the first that {players[0]} plays without a fault (in {first} it {found[first]})")


def find_fault(players: tuple[str, str], game_type: str) -> str:
    """Play a game from each side, and return the first fault of the first player; empty: it made none."""
    series = Series(load_game(game_type), (load_strategy(players[0]), load_strategy(players[1])), "probe")
    series.play(2)
    fault = series.first_faults[0]
    return fault if not fault or fault.startswith("chose ") else f"failed: {fault}"


def find_draws(game: Game, final: State, moves: Sequence[StepMoves]) -> list[Move]:
    """Find what chance drew in a game with this end and these moves; empty if that takes too many positions.

    Of several ways to the same end, any tells the same game.
    """
    rules, positions, end = game.rules, 0, orjson.dumps(final)

    def search(state: State, at: int) -> list[Move] | None:
        nonlocal positions
        positions += 1
        actors = rules.actors(state)
        if not actors or positions > MAX_DRAW_POSITIONS:
            return [] if orjson.dumps(state) == end else None
        if actors == (CHANCE,):
            for outcome, _weight in rules.legal(state, CHANCE):
                rest = search(rules.apply(state, {CHANCE: outcome}), at)
                if rest is not None:
                    return [outcome, *rest]
            return None
        made = moves[at] if at < len(moves) else {}
        if any(seat not in made or made[seat] not in rules.legal(state, seat) for seat in actors):
            return None  # the moves belong to another draw
        return search(rules.apply(state, made), at + 1)

    try:
        return search(rules.new(game.parameters), 0) or []
    except RecursionError:  # a long match
        return []


def _describe_results(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {result}" for result, count in counted.items())
