"""A tournament played as whole leagues: manager, referee, players and their messages, in one process.

Each league has a temporary folder. Every match file is verified before its result counts.
"""

import asyncio
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import LeagueFailed
from agent_league.lab.scoreboard import GameTally, PairTallies
from agent_league.lab.tournament import Tournament
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.model.events import Event, MatchFinished
from agent_league.model.results import MatchResult, Outcome
from agent_league.referee.match_file import NotAMatchFile
from agent_league.referee.verify import verify_match
from agent_league.storage.paths import DataPaths

FAULT_EVENTS = ("strategy_failed", "strategy_chose_illegal_move")
"""Log events of a player that made a random move in place of its strategy's."""


def plan_leagues(tournament: Tournament, folder: Path) -> "Iterator[PlannedLeague]":
    """Yield leagues in which each pair plays two games, sides swapped; with an odd number of rounds the last has one.

    They are played in `folder`, which the caller removes: a killed process leaves its league there.
    """
    for first in range(0, tournament.rounds, 2):
        yield PlannedLeague(tournament, folder, first, is_double=first + 1 < tournament.rounds)


@dataclass(frozen=True, slots=True)
class PlannedLeague:
    """One league, as a work item for any process."""

    tournament: Tournament
    folder: Path
    first_round: int
    is_double: bool

    def run(self) -> Iterator[PairTallies]:
        """Play the league and yield the tallies of each match; LeagueFailed if a match file fails verification."""
        with TemporaryDirectory(dir=self.folder) as home:
            plan = self._make_league_plan(Path(home))
            with redirect_stderr(io.StringIO()):  # faults of strategies are counted from the players' logs
                _, events = asyncio.run(play_in_process(plan))
            yield from self._count_matches(plan, events)

    def _make_league_plan(self, home: Path) -> LeaguePlan:
        make_home(home)
        tournament = self.tournament
        overrides = {
            "scheduling.format": "double_round_robin" if self.is_double else "round_robin",
            "logging.level": "ERROR",
        }
        request = LeagueRequest(
            home=home,
            players=len(tournament.strategies),
            referees=1,
            seed=f"{tournament.seed}/{self.first_round}",
            strategies=tournament.strategies,
            game=tournament.game_type,
            parameters=tournament.parameters,
        )
        return make_league_plan(ConfigLoader(home, overrides), request)

    def _count_matches(self, plan: LeaguePlan, events: list[Event]) -> Iterator[PairTallies]:
        results = [event.result for event in events if isinstance(event, MatchFinished)]
        expected = len(self.tournament.pairs) * (1 + self.is_double)
        if len(results) != expected:
            raise LeagueFailed(f"{self._league_name}: {expected} matches were to be played, {len(results)} were")
        paths = DataPaths(plan.home)
        places = {f"P{place + 1:02}": place for place in range(len(plan.players))}
        faults = count_faults(paths, places)
        for result in results:
            content = read_verified_match(paths.match_file(plan.league.league_id, result.match_id), self._league_name)
            payoffs: Mapping[str, float] = content["result"].get("payoffs", {})
            one, other = (_tally_match(result, player, payoffs, faults) for player in result.players)
            pair = (places[result.players[0]], places[result.players[1]])
            yield PairTallies(pair, self.first_round // 2, (one, other))

    @property
    def _league_name(self) -> str:
        return f"The league of round {self.first_round + 1} with seed {self.tournament.seed}"


def read_verified_match(path: Path, league_name: str) -> dict[str, Any]:
    """Read a match file; raises LeagueFailed if it fails verification."""
    try:
        content: dict[str, Any] = orjson.loads(path.read_bytes())
        wrong = [finding.sentence for finding in verify_match(content) if not finding.ok]
    except (OSError, orjson.JSONDecodeError, NotAMatchFile) as error:
        wrong = [str(error)]
    if wrong:
        raise LeagueFailed(f"{league_name}, {path.stem}: {'; '.join(wrong)}")
    return content


def _tally_match(
    result: MatchResult, player_id: str, payoffs: Mapping[str, float], faults: Mapping[tuple[str, str], int]
) -> GameTally:
    drawn = result.outcome is Outcome.DRAW
    won = result.winner == player_id
    paid = Counter({payoffs[player_id]: 1}) if player_id in payoffs else Counter[float]()
    return GameTally(
        int(won), int(drawn), int(not won and not drawn), faults.get((player_id, result.match_id), 0), paid
    )


def count_faults(paths: DataPaths, player_ids: Iterable[str]) -> Counter[tuple[str, str]]:
    """Count faults of strategies in the players' logs, by player and match."""
    counts: Counter[tuple[str, str]] = Counter()
    for player_id in player_ids:
        log = paths.logs_folder / "agents" / f"{player_id}.log.jsonl"
        for line in log.read_bytes().splitlines() if log.is_file() else []:
            entry = orjson.loads(line)
            if entry["event_type"] in FAULT_EVENTS and "match_id" in entry:
                counts[player_id, entry["match_id"]] += 1
    return counts
