"""A meeting as a whole league over HTTP: a manager, a referee and both players, each a server at a port of its own.

All four are in this process and talk over loopback. Every match file is verified before its row counts. What is drawn
follows from the league's seed, so the rows are those of the meeting alone, wherever it is played.
"""

import asyncio
import io
import socket
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stderr, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import LeagueFailed, PortInUse
from agent_league.games.base import winning_seat
from agent_league.http.hosts import LOOPBACK
from agent_league.lab.experiment.contestants import GameSpec, PlayerSpec, make_series_seed
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.played_league import count_faults, read_verified_match
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.launch.serving import serve_agents
from agent_league.model.events import Event, LeagueCompleted, MatchFinished
from agent_league.storage.paths import DataPaths

PLAYER_IDS = ("P01", "P02")
AGENTS = 4
MAX_PORT_TRIES = 20
"""How often other ports are tried: somebody may take one between the choice and the start."""
WINNERS: dict[int | None, Winner] = {0: "first", 1: "second", None: "draw"}


def play_league_meeting(game: GameSpec, players: tuple[PlayerSpec, PlayerSpec], seed: str, games: int) -> list[GameRow]:
    """Play a meeting as a league; raises LeagueFailed if a match is missing or its file fails verification."""
    for tries_left in reversed(range(MAX_PORT_TRIES)):
        with TemporaryDirectory(prefix="league-") as folder:
            plan = _plan_league(Path(folder), game, players, seed, games)
            try:
                with redirect_stderr(io.StringIO()):  # faults of strategies are counted from the players' logs
                    events = _run(serve_league(plan))
            except PortInUse:
                if not tries_left:
                    raise
                continue
            name = f"The league of {players[0].label} and {players[1].label} in {game.label} with seed {seed}"
            return _make_rows(plan, events, game, players, seed, name, expected=games)
    raise AssertionError("the last try returns or raises")


async def serve_league(plan: LeaguePlan) -> list[Event]:
    """Serve all agents until the league is over, and return its events."""
    events: list[Event] = []
    is_over = asyncio.Event()

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, LeagueCompleted):
            is_over.set()

    await serve_agents(plan.agent_plans, is_over, AgentListeners(on_league_event=listen))
    return events


def _run(main: Coroutine[Any, Any, list[Event]]) -> list[Event]:
    """Run an event loop: in a thread of its own where this one has a loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main).result()


def _plan_league(
    home: Path, game: GameSpec, players: tuple[PlayerSpec, PlayerSpec], seed: str, games: int
) -> LeaguePlan:
    make_home(home)
    overrides = {"scheduling.format": "round_robin", "scheduling.settings.cycles": games, "logging.level": "ERROR"}
    port = find_free_ports(AGENTS)
    request = LeagueRequest(
        home=home,
        players=len(players),
        referees=1,
        seed=make_series_seed(game.label, [player.label for player in players], seed),
        manager_port=port,
        referee_port=port + 1,
        player_port=port + 2,
        game=game.game_type,
        parameters=game.parameters,
    )
    plan = make_league_plan(ConfigLoader(home, overrides), request).with_manager_options(web=False, stay=False)
    seats = [replace(seat, strategy=spec.make_strategy()) for seat, spec in zip(plan.players, players, strict=True)]
    return replace(plan, players=tuple(seats))


def find_free_ports(count: int) -> int:
    """Return the first of so many free ports in a row; the system chooses where, so that processes don't collide."""
    while True:
        with ExitStack() as stack, suppress(OSError, OverflowError):
            first = 0
            for number in range(count):
                probe = stack.enter_context(socket.socket())
                probe.bind((LOOPBACK, first + number if first else 0))
                first = first or probe.getsockname()[1]
            return first


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
