"""A hundred small leagues on one server: `python -m bench.many_leagues [--leagues 100]`.

A `league serve` of its own in a folder that is deleted afterwards, and all players in one other process. Prints how
long it took to start and to play, what the index cost meanwhile, and what the server used; every league must be whole.
"""

import argparse
import asyncio
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from urllib.request import urlopen

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import PortInUse
from agent_league.http.server import bind_socket
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.launch.serving import run_async, serve_agents
from agent_league.league.resume import open_store
from agent_league.players.app import PlayerSettings
from bench.plans import matches_of
from bench.usage import Usage, usage_of, used_by_ended_children

LIMIT_SECONDS = 600
GAMES = ("even_odd", "tic_tac_toe", "rock_paper_scissors", "nim")
SIZES = (4, 5, 6, 7, 8)
FIRST_PLAYER_PORT = 21000
FIRST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class SmallLeague:
    """One of the leagues."""

    league_id: str
    game: str
    players: int
    rounds: int | None = None
    """How many of its rounds are played; None: all."""

    @property
    def matches(self) -> int:
        return matches_of(self.players) if self.rounds is None else self.rounds * (self.players // 2)


@dataclass(frozen=True, slots=True)
class ServedRun:
    """Leagues that one server had at once, from its start to the last result."""

    leagues: list[SmallLeague]
    matches: int
    technical: int
    """Matches that were lost technically."""
    seconds_to_start: float
    seconds: float
    cpu_seconds: float
    """Of server and players, once it served."""
    server: Usage
    index_seconds: list[float]
    """How long the index took, whenever it was asked for meanwhile."""
    most_files: int
    """How many files the server had open at most."""


@dataclass(frozen=True, slots=True)
class ServedLeagues:
    """The same leagues twice: with their first rounds, and with all of them."""

    first_rounds: ServedRun
    whole: ServedRun

    @property
    def cpu_per_match(self) -> float:
        """CPU seconds of a match, without start and registration, which both have."""
        more = self.whole.cpu_seconds - self.first_rounds.cpu_seconds
        return more / (self.whole.matches - self.first_rounds.matches)


@dataclass(frozen=True, slots=True)
class ComparedLeagues:
    """Many leagues beside one of about as many matches."""

    many: ServedLeagues
    one: ServedLeagues

    @property
    def cpu_ratio(self) -> float:
        return self.many.cpu_per_match / self.one.cpu_per_match


def plan_leagues(count: int) -> list[SmallLeague]:
    return [
        SmallLeague(f"small_{number:03}", GAMES[number % len(GAMES)], SIZES[number % len(SIZES)])
        for number in range(1, count + 1)
    ]


def write_leagues(home: Path, leagues: list[SmallLeague]) -> None:
    folder = home / "config" / "leagues"
    for league in leagues:
        content = {
            "league_id": league.league_id,
            "game_type": league.game,
            "participants": {"start_with": league.players, "max_players": league.players},
            "scheduling": {"rounds": league.rounds},
        }
        (folder / f"{league.league_id}.json").write_text(json.dumps(content))


@contextmanager
def running_server(home: Path, port: int, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `league serve` as a process; yields once it has said that it serves."""
    command = [sys.executable, "-m", "agent_league", "serve", "--home", str(home), "--port", str(port), "--no-seats"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as server:
        try:
            for line in server.stderr or ():
                if line.startswith("Ctrl-C"):
                    break
            yield server
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


def play(home: Path, root: str, leagues: list[SmallLeague]) -> None:
    """Run all players of all leagues in this process until each has heard of its league's end."""
    system, ports = ConfigLoader(home).load_system(), find_free_ports()
    plans = [
        PlayerPlan(
            PlayerSettings(
                system=system,
                home=home.parent / "players" / league.league_id,
                manager=f"{root}/leagues/{league.league_id}/mcp",
                endpoint=f"http://localhost:{port}/mcp",
                wanted_id=f"P{number:02}",
                display_name=f"Player {number}",
                game_types=(league.game,),
                exit_when_done=True,
                seed="bench",
            ),
            port,
        )
        for league in leagues
        for number, port in zip(range(1, league.players + 1), ports, strict=False)
    ]
    run_async(serve_agents(plans, asyncio.Event(), AgentListeners()))


def find_free_ports() -> Iterator[int]:
    """Yield ports that nobody listens on."""
    for port in range(FIRST_PLAYER_PORT, 65000):
        try:
            bind_socket("127.0.0.1", port, "the bench").close()
        except PortInUse:
            continue
        yield port


def ask_index(root: str) -> float:
    """Return how many seconds the index took."""
    began = time.perf_counter()
    with urlopen(f"{root}/", timeout=60) as answer:
        answer.read()
    return time.perf_counter() - began


def check_leagues(home: Path, leagues: list[SmallLeague]) -> tuple[int, int]:
    """Return the results and the technical losses in the store; raises SystemExit if a league isn't whole."""
    store = open_store(home, None)
    played = technical = 0
    for league in leagues:
        saved = store.read_season(league.league_id)
        results = [match.result for match in saved.matches if match.result is not None] if saved else []
        if len(results) != league.matches:
            raise SystemExit(f"{league.league_id}: {len(results)} of {league.matches} matches")
        played += len(results)
        technical += sum("TECHNICAL" in json.dumps(result).upper() for result in results)
    store.close()
    return played, technical


def run_server(leagues: list[SmallLeague], folder: Path, *, asks_index: bool = False) -> ServedRun:
    """Play leagues on a server of their own, with all players in one other process; every league must be whole."""
    home = folder / "SHARED"
    make_home(home)
    write_leagues(home, leagues)
    probe = bind_socket("127.0.0.1", 0, "the bench")
    port = probe.getsockname()[1]
    probe.close()
    root = f"http://localhost:{port}"
    began = time.perf_counter()
    with running_server(home, port) as server:
        started, cpu_before = time.perf_counter(), usage_of(server.pid).cpu_seconds
        players = get_context("spawn").Process(target=play, args=(home, root, leagues))
        players_before = used_by_ended_children()
        players.start()
        index = []
        most_files = 0
        while players.is_alive() and time.perf_counter() - started < LIMIT_SECONDS:
            if asks_index:
                index.append(ask_index(root))
            most_files = max(most_files, len(list(Path(f"/proc/{server.pid}/fd").iterdir())))
            players.join(timeout=0.5)
        ended = time.perf_counter()
        if players.is_alive():
            players.terminate()
            raise SystemExit(f"not over after {LIMIT_SECONDS} s")
        used = usage_of(server.pid)
        cpu = used.cpu_seconds - cpu_before + used_by_ended_children() - players_before
    played, technical = check_leagues(home, leagues)
    return ServedRun(leagues, played, technical, started - began, ended - started, cpu, used, index, most_files)


def measure_playing(leagues: list[SmallLeague], folder: Path) -> ServedLeagues:
    """Play the first rounds of leagues, and all of them, so that start and registration can be told from playing."""
    begun = [replace(one, rounds=FIRST_ROUNDS) for one in leagues]
    return ServedLeagues(run_server(begun, folder / "first-rounds"), run_server(leagues, folder / "whole"))


def compare_to_one_league(count: int, folder: Path) -> ComparedLeagues:
    """Leagues of eight players at once, then one league of about as many matches."""
    eight = [SmallLeague(f"small_{number:03}", GAMES[0], 8) for number in range(1, count + 1)]
    matches = sum(league.matches for league in eight)
    players = round((1 + math.sqrt(1 + 8 * matches)) / 2)
    one = [SmallLeague("large", GAMES[0], players)]
    return ComparedLeagues(measure_playing(eight, folder / "many"), measure_playing(one, folder / "one"))


def measure(count: int) -> None:
    """Play small leagues of several games and sizes, and print what was found."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_server(plan_leagues(count), Path(folder), asks_index=True)
    everybody = sum(league.players for league in run.leagues)
    print(f"{count} leagues, {everybody} players, {run.matches} matches, {run.technical} lost technically")
    rate = run.matches / run.seconds
    print(f"started in {run.seconds_to_start:.1f} s; played in {run.seconds:.1f} s, {rate:.0f} matches/s")
    index = run.index_seconds
    print(f"index meanwhile: {sorted(index)[len(index) // 2] * 1000:.0f} ms median, {max(index) * 1000:.0f} ms at most")
    memory = run.server.memory / 2**20
    print(f"server: {run.server.cpu_seconds:.1f} s of CPU, {memory:.0f} MiB, {run.most_files} open files at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=100)
    measure(parser.parse_args().leagues)


if __name__ == "__main__":
    main()
