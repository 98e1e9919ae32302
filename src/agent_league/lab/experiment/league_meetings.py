"""A meeting as a whole league: a manager, a referee and both players, with every message, in one process.

Every match file is verified before its row counts. The rows are those of the meeting alone, as of one by the rules.
"""

import asyncio
import io
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import LeagueFailed
from agent_league.games.base import winning_seat
from agent_league.lab.experiment.contestants import GameSpec, PlayerSpec
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.full_league import count_faults, read_verified_match
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.model.events import Event, MatchFinished
from agent_league.storage.paths import DataPaths

PLAYER_IDS = ("P01", "P02")
WINNERS: dict[int | None, Winner] = {0: "first", 1: "second", None: "draw"}


def play_league_meeting(
    game: GameSpec, players: tuple[PlayerSpec, PlayerSpec], seed: str, rounds: int
) -> list[GameRow]:
    """Play a meeting as a league; raises LeagueFailed if a match is missing or its file fails verification."""
    with TemporaryDirectory(prefix="league-") as folder:
        plan = _plan_league(Path(folder), game, players, seed, rounds)
        with redirect_stderr(io.StringIO()), ThreadPoolExecutor(1) as thread:  # a notebook has a loop in its own
            _, events = thread.submit(asyncio.run, play_in_process(plan)).result()
        name = f"The league of {players[0].label} and {players[1].label} in {game.label} with seed {seed}"
        return _make_rows(plan, events, game, players, seed, name, expected=2 * rounds)


def _plan_league(
    home: Path, game: GameSpec, players: tuple[PlayerSpec, PlayerSpec], seed: str, rounds: int
) -> LeaguePlan:
    make_home(home)
    overrides = {
        "scheduling.format": "round_robin",
        "scheduling.settings.cycles": 2 * rounds,
        "logging.level": "ERROR",
    }
    request = LeagueRequest(
        home=home,
        players=len(players),
        referees=1,
        seed=f"{seed}/{game.label}/{players[0].label}/{players[1].label}",
        game=game.game_type,
        parameters=game.parameters,
    )
    plan = make_league_plan(ConfigLoader(home, overrides), request)
    seats = [replace(seat, strategy=spec.make_strategy()) for seat, spec in zip(plan.players, players, strict=True)]
    return replace(plan, players=tuple(seats))


def _make_rows(
    plan: LeaguePlan,
    events: list[Event],
    game: GameSpec,
    players: tuple[PlayerSpec, PlayerSpec],
    seed: str,
    name: str,
    *,
    expected: int,
) -> list[GameRow]:
    finished = [event.result.match_id for event in events if isinstance(event, MatchFinished)]
    if len(finished) != expected:
        raise LeagueFailed(f"{name}: {expected} matches were to be played, {len(finished)} were")
    paths = DataPaths(plan.home)
    faults = count_faults(paths, PLAYER_IDS)
    files = [read_verified_match(paths.match_file(plan.league.league_id, match_id), name) for match_id in finished]
    labels = dict(zip(PLAYER_IDS, (player.label for player in players), strict=True))
    rows = []
    for number, content in enumerate(sorted(files, key=lambda one: int(one["round_id"])), start=1):
        seats = (content["players"]["PLAYER_A"], content["players"]["PLAYER_B"])
        returns = _read_returns(content["result"], seats)
        one_faults, other_faults = (faults[player, content["match_id"]] for player in seats)
        row = GameRow(
            *(game.label, seed, number, labels[seats[0]], labels[seats[1]], *returns, WINNERS[winning_seat(returns)]),
            len(content["moves"]),
            one_faults,
            other_faults,
        )
        rows.append(row)
    return rows


def _read_returns(result: Mapping[str, Any], seats: tuple[str, str]) -> tuple[float, float]:
    """The payoffs of a match, where amounts count; else 1, 0 or -1 for who won, as also after a technical loss."""
    if payoffs := result.get("payoffs"):
        return float(payoffs[seats[0]]), float(payoffs[seats[1]])
    winner = result["winner_player_id"]
    one, other = ((0.0 if winner is None else 1.0 if winner == seat else -1.0) for seat in seats)
    return one, other
