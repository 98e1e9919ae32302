"""Is one player better than another? Pairs of games with swapped sides, until a sequential test is sure.

`Comparison` counts pairs and says what they show; where they come from it doesn't know. Two strategies play by the
rules alone, each game from the beginning; running players, and strategies that wait for others, in a private league.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from agent_league.config import PlayerDefaults
from agent_league.errors import UserError
from agent_league.games.base import winning_seat
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.registry import Game, load_playable_game
from agent_league.lab.evaluation.game_table import FAIL_LIMIT, PracticeMatchRunner
from agent_league.lab.evaluation.in_process_players import InProcessPlayer, PracticePlayer, WatchedStrategy
from agent_league.lab.evaluation.model import MoveCounts
from agent_league.lab.evaluation.practice_league import (
    PrivateRoom,
    is_address,
    make_partner_ids,
)
from agent_league.lab.experiment.calls import CallSettings
from agent_league.lab.game_series import Series
from agent_league.model.result_words import format_count
from agent_league.players.strategies import can_choose, check_strategy, is_synchronous, load_strategy
from agent_league.ratings.sequential_test import PairCounts, SequentialState, SequentialTest, Verdict

ALIKE_PAIRS = 20
"""After so many pairs that were alike, move by move, chance and players are taken to be settled."""
PAIRS_PER_ITEM = 10
"""Pairs that a process plays between two results."""
ANNOUNCED_PAIRS = 50
ROUND_ID = 1
DRAWN_POINTS, WON_POINTS = 0.5, 1.0


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Two games of two players, each in the first seat once; in the first of them the first player."""

    number: int
    """That of the pair, from 0."""
    points: tuple[float, float] | None
    """The first player's in both games, 1, 0.5 or 0; None if a game has no result, as both players failed."""
    moves: bytes
    """A hash of all moves and draws."""
    payoffs: tuple[float, float] | None = None
    """What both players got in the two games together, where amounts count."""
    technical_losses: tuple[int, int] = (0, 0)
    faults: tuple[int, int] = (0, 0)
    """How often each strategy failed, so that another move was made."""
    first_faults: tuple[str, str] = ("", "")
    spoiled: bool = False
    """Whether one of the two changed the state of the game itself."""


@dataclass(slots=True)
class Comparison:
    """All pairs of two players so far, and what they say."""

    names: tuple[str, str]
    test: SequentialTest
    max_pairs: int
    counts: PairCounts = field(default_factory=PairCounts)
    lost_pairs: int = 0
    """Pairs that count for nothing, as both players failed in one of their games."""
    technical_losses: tuple[int, int] = (0, 0)
    faults: tuple[int, int] = (0, 0)
    first_faults: tuple[str, str] = ("", "")
    payoffs: tuple[float, float] = (0.0, 0.0)
    """The sums of both players' payoffs, where amounts count."""
    paid_pairs: int = 0
    """Pairs with payoffs."""
    spoiled: bool = False
    cut_short_reason: str = ""
    """Why there will be no more games though nothing is decided; empty: there is no reason."""
    _kinds: set[bytes] = field(default_factory=set)
    """The moves of pairs that differ; no more than two are kept."""
    _state: SequentialState | None = None

    def add_pair(self, pair: PairOutcome) -> None:
        """Count one more pair."""
        self._state = None
        self.technical_losses = _add(self.technical_losses, pair.technical_losses)
        self.faults = _add(self.faults, pair.faults)
        first, second = (known or new for known, new in zip(self.first_faults, pair.first_faults, strict=True))
        self.first_faults = (first, second)
        self.spoiled = self.spoiled or pair.spoiled
        if pair.points is None:
            self.lost_pairs += 1
            return
        self.counts = self.counts.add_pair(*pair.points)
        if len(self._kinds) < 2:
            self._kinds.add(pair.moves)
        if pair.payoffs is not None:
            self.payoffs = (self.payoffs[0] + pair.payoffs[0], self.payoffs[1] + pair.payoffs[1])
            self.paid_pairs += 1

    @property
    def state(self) -> SequentialState:
        """How far the sequential test has come."""
        self._state = self._state or self.test.evaluate(self.counts)
        return self._state

    @property
    def games(self) -> int:
        """The games that count."""
        return 2 * self.counts.pairs

    @property
    def mean_payoffs(self) -> tuple[float, float] | None:
        """What each player got a game; None where only winning counts."""
        games = 2 * self.paid_pairs
        return (self.payoffs[0] / games, self.payoffs[1] / games) if games else None

    @property
    def is_settled(self) -> bool:
        """Whether all pairs were alike and there were enough of them: more games would tell nothing new."""
        return self._are_alike and self.counts.pairs >= ALIKE_PAIRS

    @property
    def _are_alike(self) -> bool:
        return len(self._kinds) == 1

    @property
    def verdict(self) -> Verdict:
        """That of the test; if all pairs were alike, that of this one pair, once there are enough of them."""
        if self.is_settled:
            return Verdict.BETTER if self.state.elo.value > self.test.elo0 else Verdict.NOT_BETTER
        return Verdict.UNDECIDED if self._are_alike else self.state.verdict

    @property
    def is_over(self) -> bool:
        """Whether no more games are needed, or allowed."""
        played = self.counts.pairs + self.lost_pairs
        return self.verdict is not Verdict.UNDECIDED or played >= self.max_pairs or bool(self.cut_short_reason)

    def describe_progress(self) -> str:
        """Say in a line how far it has come."""
        state = self.state
        return (
            f"{format_count(self.games, 'game')}: log-likelihood ratio {state.log_likelihood_ratio:+.2f}"
            f" (ends at {state.lower:+.2f} or {state.upper:+.2f}), {state.elo.value:+.0f} Elo"
        )

    def describe(self) -> Iterator[str]:
        """Yield the sentences for a person, the answer first."""
        one, other = self.names
        if self.is_settled:
            yield self._describe_settled()
        elif self._are_alike and self.counts.pairs > 1:
            yield (
                f"It is open whether {one} is better than {other}: all {self.counts.pairs} pairs of games were alike,"
                f" move by move; {ALIKE_PAIRS} are needed to say that there is no other."
            )
        else:
            yield self.test.describe(self.state, one, other)
            if self.verdict is Verdict.NOT_BETTER and self.state.elo.high < 0 < self.test.elo1:
                yield f"{other} did better: exchange the two to ask whether it is."
        if self.cut_short_reason:
            yield f"It ended early: {self.cut_short_reason}."
        elif self.verdict is Verdict.UNDECIDED and self.is_over:
            yield self._describe_limit()
        yield from self._describe_trouble()
        if means := self.mean_payoffs:
            yield (
                f"In this game amounts count, and this told only who had more: mean payoff {means[0]:.2f} of {one},"
                f" {means[1]:.2f} of {other}."
            )

    def _describe_limit(self) -> str:
        """Say what may decide a question that was still open when the limit came."""
        if self.state.elo.low > self.test.elo1:
            coarser = 2 * round(max(self.test.elo1, 0)) + 100
            return (
                "The limit came first. As the difference is much larger than --elo1 asks for,"
                f" --elo1 {coarser} would decide it in fewer games."
            )
        return "The limit came first: more games (--limit), or a coarser question (a larger --elo1), may decide it."

    def _describe_trouble(self) -> Iterator[str]:
        """Yield what makes the results less trustworthy."""
        for name, lost in zip(self.names, self.technical_losses, strict=True):
            if lost:
                yield f"{name} lost {format_count(lost, 'game')} technically; they count as lost."
        if self.lost_pairs:
            yield f"{format_count(self.lost_pairs, 'pair')} of games don't count: both players failed."
        for name, faults, first in zip(self.names, self.faults, self.first_faults, strict=True):
            if faults:
                yield f"{name} failed {format_count(faults, 'time')}, and another move was made; first: {first}."
        if self.spoiled:
            one, other = self.names
            yield f"{one} or {other} changed the game's state instead of playing: what came of it means nothing."

    def _describe_settled(self) -> str:
        one, other = self.names
        score = next(place for place, count in enumerate(self.counts.counts) if count)
        found = (
            f"{one} loses both",
            f"{one} loses one and draws the other",
            "they are even",
            f"{one} wins one and draws the other",
            f"{one} wins both",
        )[score]
        if self.test.elo0:
            said = self.test.describe_verdict(self.verdict, one, other)
        elif score == 2:
            said = f"Neither of {one} and {other} is better"
        else:
            said = f"{one} is {'better' if score > 2 else 'weaker'} than {other}"
        return (
            f"{said}: they play the same two games again and again, and {found}. All {self.counts.pairs} pairs were"
            " alike, move by move, so they count as one: more games would tell nothing, and there is no interval."
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        one, other = self.names
        state = self.state.to_json()
        return {
            "players": [one, other],
            "verdict": str(self.verdict),
            "sentences": list(self.describe()),
            "games": self.games,
            "pair_counts": list(self.counts.counts),
            "always_the_same": self.is_settled,
            "log_likelihood_ratio": state["log_likelihood_ratio"],
            "lower": state["lower"],
            "upper": state["upper"],
            "elo": None if self.is_settled else state["elo"],
            "test": {name: getattr(self.test, name) for name in ("elo0", "elo1", "alpha", "beta")},
            "limit": 2 * self.max_pairs,
            "technical_losses": list(self.technical_losses),
            "lost_pairs": self.lost_pairs,
            "faults": list(self.faults),
            "first_faults": list(self.first_faults),
            "spoiled": self.spoiled,
            "mean_payoffs": self.mean_payoffs,
            "cut_short": self.cut_short_reason,
        }


def _add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


@dataclass(frozen=True, slots=True)
class PlannedPairs:
    """Some pairs of two strategies by the rules alone, as a work item for any process.

    Every game begins afresh: strategies are made anew and remember nothing of other games but of `warm_up` games that
    the same two play right before, which don't count. Both games of a pair have the same draws and the same dice.
    """

    game_type: str
    parameters: Mapping[str, Any]
    strategies: tuple[str, str]
    seed: str
    warm_up: int
    first: int
    """The number of the first pair."""
    pairs: int

    def __str__(self) -> str:
        return f"{self.game_type}: {' - '.join(self.strategies)}, seed {self.seed}"

    def run(self) -> Iterator[PairOutcome]:
        """Play the pairs, in order."""
        game = load_playable_game(self.game_type, self.parameters)
        for number in range(self.first, self.first + self.pairs):
            try:
                yield self._play_pair(game, number)
            except Exception as error:
                raise BrokenGame(describe_breakdown(game, error)) from error

    def _play_pair(self, game: Game, number: int) -> PairOutcome:
        moves = sha256()
        points: list[float] = []
        payoffs, faults, spoiled = (0.0, 0.0), (0, 0), False
        first_faults = ("", "")
        for swapped in (0, 1):
            one, other = (load_strategy(name) for name in self.strategies)
            first = (swapped + self.warm_up) % 2  # the seats of the game that counts are those of its number
            series = Series(game, (one, other), f"{self.seed}/{number}", first)
            series.play(self.warm_up)
            _, warm_up_faults = series.take()
            series.play(1)
            played, failed = series.take()
            (returns,) = played
            moves.update(repr(series.last_game).encode())
            winner = winning_seat(returns)
            points.append(DRAWN_POINTS if winner is None else WON_POINTS * (winner == 0))
            payoffs = (payoffs[0] + returns[0], payoffs[1] + returns[1])
            faults = _add(_add(faults, warm_up_faults), failed)
            first_faults = first_faults if any(first_faults) else series.first_faults
            spoiled = spoiled or series.is_start_changed
        return PairOutcome(
            number,
            (points[0], points[1]),
            moves.digest(),
            payoffs if game.payoffs else None,
            faults=faults,
            first_faults=first_faults,
            spoiled=spoiled,
        )


def plan_pairs(game: Game, strategies: tuple[str, str], seed: str, warm_up: int, pairs: int) -> Iterator[PlannedPairs]:
    """Yield work items for so many pairs."""
    for first in range(0, pairs, PAIRS_PER_ITEM):
        number = min(PAIRS_PER_ITEM, pairs - first)
        yield PlannedPairs(game.game_type, dict(game.parameters), strategies, seed, warm_up, first, number)


def count_pairs(comparison: Comparison, pairs: Iterable[PairOutcome], watch: Callable[[Comparison], None]) -> None:
    """Count pairs in the order of their numbers, in whatever order they come, until the comparison is over."""
    waiting: dict[int, PairOutcome] = {}
    number = 0
    for pair in pairs:
        waiting[pair.number] = pair
        while number in waiting:
            comparison.add_pair(waiting.pop(number))
            number += 1
            watch(comparison)
            if comparison.is_over:
                return


def plays_by_rules(players: tuple[str, str]) -> bool:
    """Whether two players can be compared by the rules alone: strategies that wait for nobody. UserError if unknown."""
    inside = [player for player in players if not is_address(player)]
    for player in inside:
        if not can_choose(player):
            raise UserError(f"{player} is no strategy: it has no method `choose`")
    return len(inside) == len(players) and all(map(is_synchronous, players))


def label_players(players: tuple[str, str]) -> tuple[str, str]:
    """Return names that tell two players apart."""
    one, other = players
    return (one, f"{other} #2") if one == other else (one, other)


@dataclass(frozen=True, slots=True)
class RunningComparison:
    """A comparison of players one of which runs elsewhere, or waits for others: games with all their messages.

    Each game has draws of its own, as those of a finished game are public. Players keep what they learn from game to
    game.
    """

    players: tuple[str, str]
    """Addresses, strategies or Python files."""
    game: Game
    seed: str
    calls: CallSettings
    defaults: PlayerDefaults
    remark: Callable[[str], None]

    async def run(self, comparison: Comparison, watch: Callable[[Comparison], None]) -> None:
        """Play pairs and count them until the comparison is over."""
        one, other = self.players
        outside = [player for player in self.players if is_address(player)]
        if is_address(one) and one == other:
            raise UserError(f"{one} is compared with itself; give another address for the second player")
        for player in self.players:
            if player not in outside:
                check_strategy(player, self.defaults)
        watched = {
            label: WatchedStrategy(load_strategy(player, self.defaults, self.remark))
            for label, player in zip(label_players(self.players), self.players, strict=True)
            if player not in outside
        }
        async with AsyncExitStack() as stack:
            room = await PrivateRoom.open(stack, self.calls, self.remark, has_addresses=bool(outside))
            for address in outside:
                await room.connect_player(address, address, self.game.game_type)
            if room.manager:
                room.manager.fix_league()
            planned = _plan_players(watched, room.taken_ids)
            table, started = await stack.enter_async_context(
                room.seat_players(self.game, self.seed, list(planned.values()))
            )
            visitors = room.visitors
            seated = {
                **{name: one.player for name, one in visitors.items()},
                **dict(zip(planned, started, strict=True)),
            }
            labels = label_players(self.players)
            pair = (seated[labels[0]], seated[labels[1]])
            if visitors:
                names = [visitors[label].display_name if label in visitors else label for label in labels]
                comparison.names = (names[0], names[1]) if names[0] != names[1] else labels
            try:
                await self._play_pairs(table, pair, comparison, watch)
            finally:
                _count_faults(comparison, [watched.get(label) for label in labels])

    async def _play_pairs(
        self,
        table: PracticeMatchRunner,
        players: tuple[PracticePlayer, PracticePlayer],
        comparison: Comparison,
        watch: Callable[[Comparison], None],
    ) -> None:
        one, other = players
        streaks: tuple[list[int], list[int]] = ([], [])  # technical losses in the last pairs that each had one
        for number in range(comparison.max_pairs):
            if number % ANNOUNCED_PAIRS == 0:
                numbers = range(2 * number + 1, 2 * min(number + ANNOUNCED_PAIRS, comparison.max_pairs) + 1)
                for receiver in players:
                    await table.announce_games(one, other, ROUND_ID, numbers, receiver)
            pair = await _play_running_pair(table, players, number)
            comparison.add_pair(pair)
            for place, (name, streak, player) in enumerate(zip(comparison.names, streaks, players, strict=True)):
                lost = pair.technical_losses[place]
                streak[:] = [*streak, lost] if lost else []
                if table.is_breaker_open(player):
                    failed = f"{FAIL_LIMIT} or more calls in a row to {name} failed"
                    comparison.cut_short_reason = f"{failed}, each attempt counted"
                elif sum(streak) >= FAIL_LIMIT:
                    games = format_count(sum(streak), "game")
                    comparison.cut_short_reason = f"{name} lost {games} technically in {len(streak)} pairs in a row"
            watch(comparison)
            if comparison.is_over:
                return
            await asyncio.sleep(0)


def _plan_players(strategies: Mapping[str, WatchedStrategy], taken: set[str]) -> Mapping[str, InProcessPlayer]:
    ids = make_partner_ids(taken)
    planned = {}
    for name, strategy in strategies.items():
        player_id = next(ids)
        planned[name] = InProcessPlayer(player_id, strategy, f"{name} {player_id}")
    return planned


def _count_faults(comparison: Comparison, watched: Sequence[WatchedStrategy | None]) -> None:
    counts = [one.move_counts if one else MoveCounts() for one in watched]
    comparison.faults = (counts[0].failed, counts[1].failed)
    comparison.first_faults = (counts[0].first_failure, counts[1].first_failure)


async def _play_running_pair(
    table: PracticeMatchRunner, players: tuple[PracticePlayer, PracticePlayer], number: int
) -> PairOutcome:
    """Play two matches, the first with the first player in the first seat."""
    moves = sha256()
    points: list[float | None] = []
    payoffs: list[tuple[float | None, float | None]] = []
    lost = [0, 0]
    for game_number in (2 * number + 1, 2 * number + 2):
        play = await table.play_match(*players, ROUND_ID, game_number)
        match = play.match
        moves.update(repr((match.position, match.moves)).encode())
        failed = [player.player_id in match.terminations for player in players]
        lost = [count + one for count, one in zip(lost, failed, strict=True)]
        seats = [match.players.index(player.player_id) for player in players]
        payoffs.append((table.read_payoff(match, seats[0]), table.read_payoff(match, seats[1])))
        if play.verdict is None or all(failed):
            points.append(None)
        elif any(failed):
            points.append(0.0 if failed[0] else WON_POINTS)
        else:
            winner = play.verdict.winner
            points.append(DRAWN_POINTS if winner is None else WON_POINTS * (winner == players[0].player_id))
    first, second = points
    (one, other), (more_one, more_other) = payoffs
    paid = None
    if one is not None and other is not None and more_one is not None and more_other is not None:
        paid = (one + more_one, other + more_other)
    return PairOutcome(
        number,
        None if first is None or second is None else (first, second),
        moves.digest(),
        paid,
        technical_losses=(lost[0], lost[1]),
    )
