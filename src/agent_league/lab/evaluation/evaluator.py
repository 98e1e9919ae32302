"""Evaluating a player: an experiment of it against simple opponents, whose games by messages are watched and judged.

The experiment plays and writes the rows; here stands what its rows don't tell: each message, each timeout, what becomes
of bad input. The results so far are available at any moment, so that an interruption loses nothing.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_league.check.check import normalise_agent_url
from agent_league.clock import SystemClock, format_utc
from agent_league.config import PlayerDefaults
from agent_league.config.models import TimeoutConfig
from agent_league.errors import ConfigError, UserError
from agent_league.games.registry import Game
from agent_league.lab.evaluation.game_table import FAIL_LIMIT
from agent_league.lab.evaluation.model import (
    Conformance,
    Evaluation,
    GameEnding,
    MoveCounts,
    OpponentSeries,
    PracticeGame,
)
from agent_league.lab.evaluation.opponents import chances_against_random, choose_opponents
from agent_league.lab.evaluation.practice_league import is_address
from agent_league.lab.evaluation.running_player import RunningPlayer
from agent_league.lab.experiment.calls import CalledGame, CallSettings
from agent_league.lab.experiment.experiment import Experiment
from agent_league.lab.experiment.resolution import NO_KEYS, may_hold_key
from agent_league.lab.experiment.running import ProgressListener, RunProgress
from agent_league.players.strategies import check_strategy, find_game_mismatch
from agent_league.protocol.version import PROTOCOL_V2

PLAYER_LABEL = "the player"
MODEL = "llm"
LEAST_SEEDS, MOST_SEEDS = 5, 10
OWN_PLAYER_NOTE = "a strategy plays inside a player of ours, which 'league check --self' judges"


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


def plan_seeds(games: int) -> tuple[int, int]:
    """Return how many seeds, and how many games on each side with each, make that many games, or a few more.

    Five seeds at least, if there are games for them, show how far results are apart.
    """
    pairs = -(-games // 2)
    numbers = range(min(MOST_SEEDS, pairs), min(LEAST_SEEDS, pairs) - 1, -1)
    seeds = min(numbers, key=lambda number: -pairs % number)
    return seeds, -(-pairs // seeds)


class Evaluator:
    """Runs one evaluation and holds its results so far. It watches the games of its experiment."""

    def __init__(self, request: EvaluationRequest, remark: Callable[[str], None] = lambda _: None) -> None:
        self._request = request
        self._remark = remark
        self._watch: ProgressListener = lambda _: None
        self._started_at = time.monotonic()
        self._first_game_at: float | None = None
        self._games: defaultdict[str, list[PracticeGame]] = defaultdict(list)
        """By opponent."""
        self._lost_in_a_row: Counter[str] = Counter()
        """Technical losses, by opponent."""
        self._cut_short: dict[str, str] = {}
        """By opponent, why there are fewer games."""
        self._is_running_player = is_address(request.player)
        if request.earlier is not None and is_address(request.earlier) and request.earlier == request.player:
            raise UserError("--earlier names the player itself; give the address of its earlier version")
        for argument, address in (("PLAYER", request.player), ("--earlier", request.earlier)):
            if address and is_address(address) and may_hold_key(normalise_agent_url(address)):
                raise UserError(f"{argument}: {NO_KEYS}")
        inside = [name for name in (request.player, request.earlier) if name and not is_address(name)]
        for name in inside:
            check_strategy(name, request.defaults)
        self._opponents = choose_opponents(request.game, request.earlier)
        seeds, rounds = plan_seeds(request.games)
        self.experiment = Experiment(
            name=f"evaluation in {request.game.game_type}",
            games=[{"game": request.game.game_type, "parameters": dict(request.game.parameters)}],
            players=[
                self._describe_player(request.player, PLAYER_LABEL),
                *(self._describe_player(one.strategy, one.name) for one in self._opponents if not one.left_out_reason),
            ],
            pairs="first",
            seeds=[f"{request.seed}-{number + 1}" for number in range(seeds)],
            rounds=rounds,
            messages=True,
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
            games_wanted=2 * seeds * rounds,
            started_at=format_utc(SystemClock().now()),
            moves=None if self._is_running_player else MoveCounts(),
            remarks=tuple(filter(None, (find_game_mismatch(name, request.game.game_type) for name in inside))),
            conformance=Conformance(
                unjudged="the evaluation ended before that" if self._is_running_player else OWN_PLAYER_NOTE
            ),
        )

    @property
    def started_at(self) -> str:
        return self._evaluation.started_at

    def run(self, folder: Path, watch: ProgressListener = lambda _: None) -> Evaluation:
        """Play the experiment in a folder; UserError if the player can't be evaluated.

        `watch` is told of each game, as a meeting may have hundreds.
        """
        request, self._watch = self._request, watch
        if self._evaluation.games_wanted != request.games:
            self._remark(
                f"{self._evaluation.games_wanted} games are played against each opponent, so that each seed has equally"
                " many on both sides."
            )
        calls = CallSettings(
            timeout=request.timeout,
            wait_seconds=request.wait_seconds,
            manager_port=request.manager_port,
            timeouts=request.timeouts,
            protocols={PLAYER_LABEL: request.protocol} if request.protocol else {},
            max_seconds=request.max_seconds,
            watcher=self,
        )
        began = time.monotonic()
        try:
            self.experiment.run(folder, remark=self._remark, calls=calls)
        finally:
            if not self._evaluation.playing_seconds:
                self._evaluation = replace(self._evaluation, playing_seconds=time.monotonic() - began)
        return self.current_evaluation()

    def current_evaluation(self, *, interrupted: bool = False) -> Evaluation:
        """Return the evaluation with the results so far."""
        wanted, series = self._evaluation.games_wanted, []
        for one in self._opponents:
            played, why = tuple(self._games[one.name]), one.left_out_reason or self._cut_short.get(one.name, "")
            if len(played) < wanted and not why and not interrupted:
                why = f"the time for all games, {self._request.max_seconds:.0f} s, was over (--minutes)"
            series.append(OpponentSeries(one.name, one.description, played, why))
        seconds = time.monotonic() - self._started_at
        return replace(self._evaluation, series=tuple(series), seconds=seconds, interrupted=interrupted)

    def add_game(self, called: CalledGame) -> bool:
        """Take note of a game; after too many failures in a row the rest against this opponent is left out."""
        game, opponent = called.game, called.opponent
        self._games[opponent].append(game)
        if called.moves and self._evaluation.moves:
            self._evaluation = replace(self._evaluation, moves=self._evaluation.moves.add(called.moves))
        is_lost = game.ending is GameEnding.TECHNICAL_LOSS
        self._lost_in_a_row[opponent] = self._lost_in_a_row[opponent] + 1 if is_lost else 0
        has_lost_all = self._lost_in_a_row[opponent] >= FAIL_LIMIT
        is_last = len(self._games[opponent]) == self._evaluation.games_wanted
        is_over = not is_last and (has_lost_all or called.is_failing)
        if is_over:
            what = "technical losses" if has_lost_all else "failed calls"
            why = f"after {FAIL_LIMIT} {what} in a row the rest was left out"
            self._cut_short[opponent] = f"{game.how.replace('_', ' ')}; {why}"
        self._watch(self._describe_progress())
        return is_over

    def _describe_progress(self) -> RunProgress:
        now = time.monotonic()
        self._first_game_at = self._first_game_at or now
        wanted = self._evaluation.games_wanted
        played = sum(map(len, self._games.values()))
        total = sum(
            len(self._games[one.name]) if one.name in self._cut_short else wanted
            for one in self._opponents
            if not one.left_out_reason
        )
        seconds = (now - self._first_game_at) / (played - 1) * (total - played) if played > 1 else None
        return RunProgress(played, total, seconds)

    async def end_games(self, players: Mapping[str, RunningPlayer]) -> None:
        """Judge the registration of a running player, and try bad input."""
        began = self._started_at
        judged = players.get(normalise_agent_url(self._request.player)) if self._is_running_player else None
        if judged is None:
            return
        self._evaluation = replace(
            self._evaluation,
            player=judged.display_name,
            protocol=judged.player.protocol,
            registration_faults=judged.registration_faults,
            playing_seconds=time.monotonic() - began,
        )
        self._remark("Trying bad input.")
        self._evaluation = replace(self._evaluation, conformance=await judged.check_bad_input())

    def _describe_player(self, text: str, label: str) -> dict[str, Any]:
        """Write a player as an experiment's file has it."""
        if is_address(text):
            return {"player": normalise_agent_url(text), "name": label}
        if text.partition(":")[0] != MODEL:
            return {"player": text, "name": label}
        llm = self._request.defaults.llm
        settings = llm.for_model(text.partition(":")[2]) if ":" in text else llm
        if settings.model is None:
            raise ConfigError("player", label, "names no model; say llm:MODEL")
        given = settings.model_dump(mode="json", exclude={"model", "models"}, exclude_defaults=True)
        return {"player": f"{MODEL}:{settings.model}", "name": label, "parameters": given}
