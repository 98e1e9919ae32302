"""From measurements to figures: one object of plain values with stable names, medians where there are several.

Pure. The table, the plot and `--json` show what is here and nothing else.
"""

import os
import platform
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.calls import Recording, total
from bench.drill import Speed
from bench.earlier import ComparedVersions
from bench.league import MANAGER, LeagueRun
from bench.many_leagues import ComparedLeagues
from bench.memory import PlayerMemory
from bench.simulate import Compared, ComparedPeer, Spread
from bench.slow_peers import TROUBLES, SlowPeers
from bench.start import HelpCost
from bench.usage import Usage

Figures = dict[str, Any]
MICRO, MIB, KIB = 1e6, 1024 * 1024, 1024


@dataclass(frozen=True, slots=True)
class Turn:
    """The calls alone in three ways, the league, and that of strangers if it was played, one after the other."""

    limit: Speed
    floor: Speed
    stock: Speed
    league: LeagueRun
    strangers: LeagueRun | None = None


def machine() -> Figures:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def league_figures(calls: Recording, turns: Sequence[Turn]) -> Figures:
    """Leagues of one size beside the limit and the floor; a ratio is of two figures of one turn."""

    def usual(figure: Callable[[Turn], float], digits: int = 3) -> float:
        return round(median(map(figure, turns)), digits)

    first = turns[0].league
    per_match = total(calls) / first.matches

    def ratio(other: Callable[[Turn], Speed]) -> float:
        return usual(lambda turn: _rate(turn.league) * per_match / other(turn).calls_per_second)

    def cpu_ratio(other: Callable[[Turn], Speed]) -> float:
        return usual(lambda turn: other(turn).cpu_per_call * per_match / turn.league.cpu_per_match)

    def of_strangers(figure: Callable[[Turn, LeagueRun], float]) -> float | None:
        found = [figure(turn, turn.strangers) for turn in turns if turn.strangers]
        return round(median(found), 3) if found else None

    def by_process(figure: Callable[[LeagueRun, Usage], float]) -> dict[str, float]:
        def of(name: str) -> float:
            return usual(lambda turn: figure(turn.league, turn.league.used[name]), 1)

        return {name: of(name) for name in first.used}

    return {
        "players": first.players,
        "matches": first.matches,
        "calls": total(calls),
        "calls_per_match": round(per_match, 2),
        "runs": len(turns),
        "seconds": usual(lambda turn: turn.league.seconds),
        "seconds_to_start": usual(lambda turn: turn.league.seconds_to_start),
        "matches_per_second": usual(lambda turn: _rate(turn.league), 1),
        "calls_per_second": usual(lambda turn: _rate(turn.league) * per_match, 1),
        "cpu_us_per_match": usual(lambda turn: MICRO * turn.league.cpu_per_match, 1),
        "cpu_us_per_match_by_process": by_process(lambda league, used: MICRO * used.cpu_seconds / league.matches),
        "memory_mib_by_process": by_process(lambda _, used: used.memory / MIB),
        "manager_kib_per_match": usual(lambda turn: turn.league.growth / KIB, 2),
        "call_ms_p50": usual(lambda turn: turn.league.percentile(50)),
        "call_ms_p99": usual(lambda turn: turn.league.percentile(99)),
        "call_p99_to_p50": usual(lambda turn: turn.league.percentile(99) / max(turn.league.percentile(50), 0.5), 2),
        "limit_calls_per_second": usual(lambda turn: turn.limit.calls_per_second, 1),
        "limit_cpu_us_per_call": usual(lambda turn: MICRO * turn.limit.cpu_per_call, 1),
        "floor_calls_per_second": usual(lambda turn: turn.floor.calls_per_second, 1),
        "floor_cpu_us_per_call": usual(lambda turn: MICRO * turn.floor.cpu_per_call, 1),
        "stock_calls_per_second": usual(lambda turn: turn.stock.calls_per_second, 1),
        "stock_cpu_us_per_call": usual(lambda turn: MICRO * turn.stock.cpu_per_call, 1),
        "ratio_to_limit": ratio(lambda turn: turn.limit),
        "ratio_to_floor": ratio(lambda turn: turn.floor),
        "ratio_to_stock": ratio(lambda turn: turn.stock),
        "cpu_ratio_to_limit": cpu_ratio(lambda turn: turn.limit),
        "cpu_ratio_to_floor": cpu_ratio(lambda turn: turn.floor),
        "cpu_ratio_to_stock": cpu_ratio(lambda turn: turn.stock),
        "strangers_cpu_us_per_match": of_strangers(lambda _, league: MICRO * league.cpu_per_match),
        "strangers_cpu_ratio_to_stock": of_strangers(
            lambda turn, league: turn.stock.cpu_per_call * per_match / league.cpu_per_match
        ),
    }


def growth_figures(leagues: Sequence[Figures]) -> list[Figures]:
    """Every size against the smallest."""
    base = leagues[0]
    return [
        {
            "players": league["players"],
            "cpu_per_match": _over(league, base, lambda one: one["cpu_us_per_match"]),
            "cpu_of_calls_alone": _over(
                league, base, lambda one: one["limit_cpu_us_per_call"] * one["calls_per_match"]
            ),
            "manager_memory": _over(league, base, lambda one: one["memory_mib_by_process"][MANAGER]),
        }
        for league in leagues
    ]


def earlier_figures(compared: ComparedVersions) -> Figures:
    earlier, today = (median(column) for column in zip(*compared.turns, strict=True))
    return {
        "commit": compared.commit,
        "players": compared.players,
        "runs": len(compared.turns),
        "earlier_cpu_us_per_match": round(MICRO * earlier, 1),
        "cpu_us_per_match": round(MICRO * today, 1),
        "cpu_ratio": round(compared.ratio, 3),
    }


def slow_figures(slow: SlowPeers) -> Figures:
    timeout = slow.manner.move_timeout
    return {
        "players": slow.manner.players,
        "move_timeout_seconds": timeout,
        "slow_answer_seconds": slow.manner.delay,
        **{
            kind: {
                "added_seconds": round(slow.added(kind), 3),
                "added_move_timeouts": round(slow.added(kind) / timeout, 2),
                "passed_on": round(slow.passed_on(kind), 3),
            }
            for kind in TROUBLES
        },
    }


def help_figures(cost: HelpCost) -> Figures:
    return {
        "seconds": round(cost.help_seconds, 3),
        "python_seconds": round(cost.python_seconds, 3),
        "cpu_seconds": {name: round(seconds, 3) for name, seconds in cost.cpu_seconds.items()},
    }


def memory_figures(memory: PlayerMemory) -> Figures:
    return {
        "players": memory.many.players,
        "matches": memory.many.matches,
        "player_mib": round(memory.bytes_per_player / MIB, 3),
    }


def many_leagues_figures(turns: Sequence[ComparedLeagues]) -> Figures:
    first = turns[0]
    return {
        "leagues": len(first.many.whole.leagues),
        "matches": first.many.whole.matches,
        "cpu_us_per_match": round(MICRO * median(turn.many.cpu_per_match for turn in turns), 1),
        "one_league_matches": first.one.whole.matches,
        "one_league_cpu_us_per_match": round(MICRO * median(turn.one.cpu_per_match for turn in turns), 1),
        "cpu_ratio_to_one": round(median(turn.cpu_ratio for turn in turns), 3),
    }


def simulate_figures(compared: Sequence[Compared], peers: Sequence[ComparedPeer], spread: Spread) -> Figures:
    return {
        "games": [
            {
                "game": one.game,
                "strategies": list(one.strategies),
                "games_per_second": round(one.games_per_second),
                "plain_loop_per_second": round(one.plain_per_second),
                "ratio_to_plain_loop": round(one.ratio, 3),
            }
            for one in compared
        ],
        "peers": [
            {
                "library": one.library,
                "game": one.game,
                "strategies": list(one.strategies),
                "games_per_second": round(one.games_per_second),
                "peer_per_second": round(one.peer_per_second),
                "ratio_to_peer": round(one.ratio, 3),
                "least_ratio": one.least_ratio,
            }
            for one in peers
        ],
        "jobs": spread.jobs,
        "games_of_jobs": spread.games,
        "cpu_ratio_of_jobs_to_one": round(spread.cpu_ratio, 3),
        "ratio_of_jobs_to_one": round(spread.ratio, 3),
    }


def by_kind(by_process: dict[str, float]) -> dict[str, float]:
    """Processes of one kind together: manager, referees, players."""
    sums: dict[str, float] = defaultdict(float)
    for name, value in by_process.items():
        sums[name.split()[0]] += value
    return dict(sums)


def _rate(league: LeagueRun) -> float:
    return league.matches / league.seconds


def _over(league: Figures, base: Figures, figure: Callable[[Figures], float]) -> float:
    return round(figure(league) / figure(base), 3)
