"""Running an evaluation: connect the player and its opponents, play a series against each, try bad input.

The results so far are available at any moment, so that an interruption loses nothing.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from agent_league.clock import SystemClock, format_utc
from agent_league.config import PlayerDefaults
from agent_league.config.models import TimeoutConfig
from agent_league.errors import UserError
from agent_league.games.registry import Game
from agent_league.lab.evaluation.evaluation_rows import EvaluationRows
from agent_league.lab.evaluation.game_table import FAIL_LIMIT, PracticeMatchRunner
from agent_league.lab.evaluation.in_process_players import InProcessPlayer, PracticePlayer, WatchedStrategy
from agent_league.lab.evaluation.model import Conformance, Evaluation, GameEnding, OpponentSeries, PracticeGame
from agent_league.lab.evaluation.opponents import (
    EARLIER_VERSION,
    PracticeOpponent,
    chances_against_random,
    choose_opponents,
)
from agent_league.lab.evaluation.practice_league import (
    PracticeSettings,
    is_address,
    make_partner_ids,
    open_practice_league,
)
from agent_league.players.strategies import check_strategy, find_game_mismatch, load_strategy
from agent_league.protocol.version import PROTOCOL_V2

ANNOUNCED_GAMES = 100
"""Games in one announcement to a player."""
PLAYER_KEY = "the player"
OWN_PLAYER_NOTE = "a strategy plays inside a player of ours, which 'league check --self' judges"
GameListener = Callable[[str, PracticeGame | None], None]
"""Called with the opponent's name and each finished game, and with None when a series begins."""


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """Which player to evaluate, and how."""

    player: str
    """The address of a running player, the name of a strategy, or a Python file with one."""
    game: Game
    seed: str
    games: int = 100
    earlier: str | None = None
    protocol: str | None = None
    """`league.v1` or `league.v2`; None: detect it."""
    timeout: float | None = None
    """Upper bound in seconds for every call; None: the timeouts alone."""
    timeouts: TimeoutConfig = field(default_factory=TimeoutConfig)
    wait_seconds: float = 5.0
    """Seconds for a running player to appear and to register."""
    manager_port: int | None = None
    max_seconds: float = 1800.0
    """Seconds for all games together."""
    defaults: PlayerDefaults = field(default_factory=PlayerDefaults)

    @property
    def practice(self) -> PracticeSettings:
        return PracticeSettings(
            game=self.game,
            seed=self.seed,
            timeout=self.timeout,
            timeouts=self.timeouts,
            wait_seconds=self.wait_seconds,
            manager_port=self.manager_port,
        )


class Evaluator:
    """Runs one evaluation and holds its results so far."""

    def __init__(
        self,
        request: EvaluationRequest,
        watch: GameListener = lambda *_: None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._request = request
        self._on_game = watch
        self._remark = tell
        self._started_at = time.monotonic()
        self.rows: EvaluationRows | None = None
        """The games as rows of an experiment; None if they can't be."""
        self._is_running_player = is_address(request.player)
        if request.earlier is not None and is_address(request.earlier) and request.earlier == request.player:
            raise UserError("--earlier names the player itself; give the address of its earlier version")
        inside = [name for name in (request.player, request.earlier) if name and not is_address(name)]
        for name in inside:
            check_strategy(name, request.defaults)
        self._games_by_opponent: defaultdict[str, list[PracticeGame]] = defaultdict(list)
        """By opponent."""
        self._watched_strategy = (
            None if self._is_running_player else WatchedStrategy(load_strategy(request.player, request.defaults, tell))
        )
        self._evaluation = Evaluation(
            player=request.player,
            location=request.player if self._is_running_player else "in this process",
            protocol=request.protocol or PROTOCOL_V2,
            game_type=request.game.game_type,
            title=request.game.title or request.game.game_type,
            parameters=dict(request.game.parameters),
            chances=chances_against_random(request.game),
            has_amounts=request.game.payoffs,
            seed=request.seed,
            earlier=request.earlier or "",
            games_wanted=request.games,
            started_at=format_utc(SystemClock().now()),
            remarks=tuple(filter(None, (find_game_mismatch(name, request.game.game_type) for name in inside))),
            conformance=Conformance(
                unjudged="the evaluation ended before that" if self._is_running_player else OWN_PLAYER_NOTE
            ),
        )

    def current_evaluation(self, *, interrupted: bool = False) -> Evaluation:
        """Return the evaluation with the results so far."""
        series = tuple(
            replace(one, games=tuple(self._games_by_opponent[one.opponent])) for one in self._evaluation.series
        )
        seconds = time.monotonic() - self._started_at
        moves = self._watched_strategy.move_counts if self._watched_strategy else None
        return replace(self._evaluation, series=series, seconds=seconds, moves=moves, interrupted=interrupted)

    async def run(self) -> Evaluation:
        """Play all series; UserError if the player can't be evaluated."""
        async with AsyncExitStack() as stack:
            await self._run_evaluation(stack)
        return self.current_evaluation()

    async def _run_evaluation(self, stack: AsyncExitStack) -> None:
        request = self._request
        opponents = choose_opponents(request.game, request.earlier)
        self.rows = self._plan_rows(opponents)
        outside = {
            name: request.protocol if name == request.player else None
            for name in (request.player, request.earlier)
            if name and is_address(name)
        }
        league = await open_practice_league(
            stack, request.practice, outside, lambda taken: self._plan_players(opponents, taken), self._remark
        )
        if league.remark:
            self._evaluation = replace(self._evaluation, remarks=(*self._evaluation.remarks, league.remark))
        seated = dict(league.inside)
        for name, visitor in league.visitors.items():
            seated[PLAYER_KEY if name == request.player else EARLIER_VERSION] = visitor.player
        player = seated[PLAYER_KEY]
        if len({one.player_id for one in seated.values()}) < len(seated):
            raise UserError("the player and its earlier version have the same id; start both with this manager")
        judged = league.visitors.get(request.player)
        if judged:
            self._evaluation = replace(
                self._evaluation,
                player=judged.display_name,
                protocol=player.protocol,
                registration_faults=judged.registration_faults,
            )
        await self._play_all_series(league.table, seated, opponents)
        if judged:
            self._remark("Trying bad input.")
            self._evaluation = replace(self._evaluation, conformance=await judged.check_bad_input())

    def _plan_players(self, opponents: Sequence[PracticeOpponent], taken: set[str]) -> dict[str, InProcessPlayer]:
        """Plan the players in this process, by name."""
        request = self._request
        ids = make_partner_ids(taken)
        partners: dict[str, InProcessPlayer] = {}
        if self._watched_strategy:
            player_id = "P01" if "P01" not in taken else next(ids)
            name = f"{request.player} {player_id}"
            partners[PLAYER_KEY] = InProcessPlayer(
                player_id, self._watched_strategy, name, request.protocol or PROTOCOL_V2
            )
        for opponent in opponents:
            if not opponent.left_out_reason and not (
                opponent.name == EARLIER_VERSION and is_address(opponent.strategy)
            ):
                # Its id is part of its name, from which its random numbers follow: no two play alike.
                player_id, loaded = next(ids), load_strategy(opponent.strategy, request.defaults, self._remark)
                partners[opponent.name] = InProcessPlayer(player_id, loaded, f"{opponent.strategy} {player_id}")
        return partners

    async def _play_all_series(
        self, table: PracticeMatchRunner, seated: Mapping[str, PracticePlayer], opponents: Sequence[PracticeOpponent]
    ) -> None:
        left = self._request.max_seconds
        for round_id, opponent in enumerate(opponents, 1):
            if opponent.name not in seated:
                why = opponent.left_out_reason
                self._add_series(OpponentSeries(opponent.name, opponent.description, cut_short_reason=why))
                continue
            share = left / sum(later.name in seated for later in opponents[round_id - 1 :])
            began = time.monotonic()
            self._on_game(opponent.name, None)
            self._add_series(OpponentSeries(opponent.name, opponent.description))
            try:
                await self._play_series(table, seated, opponent.name, round_id, share)
            finally:
                took = time.monotonic() - began
                self._evaluation = replace(self._evaluation, playing_seconds=self._evaluation.playing_seconds + took)
            left = max(left - took, 0.0)

    async def _play_series(
        self,
        table: PracticeMatchRunner,
        seated: Mapping[str, PracticePlayer],
        opponent: str,
        round_id: int,
        seconds: float,
    ) -> None:
        """Play the games against one opponent; stops after repeated failures or when its time is over."""
        player, other, wanted = seated[PLAYER_KEY], seated[opponent], self._request.games
        lost_in_a_row = 0
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                for number in range(1, wanted + 1):
                    if number % ANNOUNCED_GAMES == 1:
                        await table.announce_games(
                            player, other, round_id, range(number, min(number + ANNOUNCED_GAMES, wanted + 1))
                        )
                    failed = self._count_failures()
                    play = await table.play_match(player, other, round_id, number)
                    game = table.describe_game(play, player)
                    self._games_by_opponent[opponent].append(game)
                    if self.rows:
                        self.rows.add_game(opponent, number, (player, other), play, self._count_failures() - failed)
                    self._on_game(opponent, game)
                    lost_in_a_row = lost_in_a_row + 1 if game.ending is GameEnding.TECHNICAL_LOSS else 0
                    if number < wanted and (table.is_breaker_open(player) or lost_in_a_row >= FAIL_LIMIT):
                        what = "technical losses" if lost_in_a_row >= FAIL_LIMIT else "failed calls"
                        why = f"after {FAIL_LIMIT} {what} in a row the rest was left out"
                        self._mark_cut_short(f"{game.how.replace('_', ' ')}; {why}")
                        return
        except TimeoutError:
            if not limit.expired():
                raise
            self._mark_cut_short(f"its share of the time, {seconds:.0f} s, was over (--minutes)")

    def _count_failures(self) -> int:
        """How often the player's strategy failed, if it is in this process."""
        return self._watched_strategy.move_counts.failed if self._watched_strategy else 0

    def _plan_rows(self, opponents: Sequence[PracticeOpponent]) -> EvaluationRows | None:
        request = self._request
        try:
            return EvaluationRows.plan(request.player, request.game, request.seed, request.games, opponents)
        except UserError as error:
            self._remark(f"The games are written as numbers alone, not as an experiment: {error}")
            return None

    def _add_series(self, series: OpponentSeries) -> None:
        self._evaluation = replace(self._evaluation, series=(*self._evaluation.series, series))

    def _mark_cut_short(self, why: str) -> None:
        *before, last = self._evaluation.series
        self._evaluation = replace(self._evaluation, series=(*before, replace(last, cut_short_reason=why)))
