"""Kills servers that share one PostgreSQL at random moments, starts them again, and judges all tables.

`python -m tests.reliability.servers --seed 1 --servers 3 --leagues 60 --kills 4`: nginx in front, players that know its
address alone, one of each league dialled out, a viewer of each, referees elsewhere that dial out. Every table must be
that of a league that nobody disturbed, without a technical loss.
"""

import argparse
import asyncio
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.agent_plan import AgentPlan, PlayerPlan, RefereePlan
from agent_league.launch.serving import serve_agents
from agent_league.players.app import PlayerSettings
from agent_league.players.observation import Move, Observation, Strategy
from agent_league.players.strategies import load_strategy
from agent_league.storage.base import SavedSeason
from agent_league.storage.directory import ServerDirectory
from agent_league.storage.match_files import list_kept_matches
from agent_league.storage.sql import SqlStore
from agent_league.storage.sql_access import SqlAccessStore
from tests.cli.command import LEAGUE, Running
from tests.reliability.visitors import GUEST_REFEREE, plan_guest_referee, watching
from tests.serve.nginx import running_nginx
from tests.serve.stage import write_league
from tests.storage.postgres import MISSING, postgres_server, programs

STRATEGIES = (
    "always_cooperate",
    "always_defect",
    "tit_for_tat",
    "grudger",
    "suspicious_tit_for_tat",
    "tit_for_two_tats",
)
"""Without chance, and in a game whose seats don't differ: each pair has one result, whoever referees it when."""
MATCHES = len(STRATEGIES) * (len(STRATEGIES) - 1) // 2
UNDISTURBED = "undisturbed"
PLAIN_HTTP = {
    "listen 443 ssl;": "listen {port};",
    "listen 80;": "listen {other};",
    "    ssl_certificate     /etc/ssl/league/fullchain.pem;\n": "",
    "    ssl_certificate_key /etc/ssl/league/privkey.pem;\n": "",
    "    ssl_protocols       TLSv1.2 TLSv1.3;\n": "",
}
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is to be killed."""

    seed: str = "1"
    servers: int = 3
    leagues: int = 60
    kills: int = 2
    """Each hits another server than the last one; one of the servers is never killed."""
    lease: float = 3.0
    thinking: float = 0.03
    """Seconds that a player takes for a move."""
    moves: int = 6
    guests: int = 2
    """Leagues in which a referee elsewhere judges beside that of the house."""
    limit: float = 600.0
    """Seconds after which the leagues count as hanging."""


@dataclass
class Verdict:
    """What came of it."""

    seconds: float = 0.0
    kills: int = 0
    longest_takeover: float = 0.0
    """Seconds from a kill until all leagues of the killed server had another owner."""
    moved: int = 0
    """How often a league went to another server."""
    reconnections: int = 0
    """How often a viewer came back."""
    complaints: list[str] = field(default_factory=list)


class SlowStrategy:
    """Plays as another strategy does, after a while."""

    asked: ClassVar[Counter[str]] = Counter()
    """How often players of each league were asked for a move."""

    def __init__(self, inner: Strategy, seconds: float, league_id: str = "") -> None:
        self._inner = inner
        self._seconds = seconds
        self._league_id = league_id

    async def choose(self, observation: Observation) -> Move:
        self.asked[self._league_id] += 1
        await asyncio.sleep(self._seconds)
        chosen = self._inner.choose(observation)
        return await chosen if asyncio.iscoroutine(chosen) else chosen


class Site:
    """Servers behind a proxy, each with a home of its own, and the store that they share."""

    def __init__(self, folder: Path, store: str, plan: Plan, proxy_port: int | None = None) -> None:
        """Without a proxy the last server's own address is the public one."""
        self._folder = folder
        self.store = store
        self._plan = plan
        first = find_port_run(2 * plan.servers)
        self.ports = [first + 2 * number for number in range(plan.servers)]
        self.public_url = (
            f"http://localhost:{proxy_port}/league" if proxy_port else f"http://localhost:{self.ports[-1]}"
        )
        self._running: dict[int, Running] = {}
        self._store = SqlStore(store)
        self.directory = ServerDirectory(self._store, plan.lease)
        for number in range(plan.servers):
            make_home(self.home(number))

    def home(self, number: int) -> Path:
        return self._folder / f"server{number}"

    def start(self, number: int) -> None:
        port = self.ports[number]
        settings = {
            "network.lease_sec": self._plan.lease,
            "network.trusted_proxies": '["127.0.0.1"]',
            "retry_policy.base_delay_sec": 0.05,
        }
        options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        addresses = ["--public-url", self.public_url, "--internal-url", f"http://127.0.0.1:{port + 1}"]
        words = [*addresses, *options]
        self._running[number] = Running(
            [*LEAGUE, "serve", "--home", self.home(number), "--port", port, "--store", self.store, *words],
            cwd=self._folder,
        )

    def wait_until_ready(self, number: int) -> None:
        self._running[number].prints("Serving ")

    def kill(self, number: int) -> None:
        self.signal(number, signal.SIGKILL)
        self._running[number].ends()
        self._running.pop(number).close()

    def signal(self, number: int, what: signal.Signals) -> None:
        self._running[number].signal(what)

    def close(self) -> None:
        for server in self._running.values():
            server.close()
        self._store.close()

    def write_leagues(self, leagues: Sequence[str]) -> None:
        """Write the files of leagues into the first server's home, from which they reach all others."""
        for league_id in leagues:
            write_league(
                self.home(0),
                league_id,
                game_type="prisoners_dilemma",
                game_parameters={"repeat": self._plan.moves},
                participants={"start_with": len(STRATEGIES)},
            )

    def owner_numbers(self) -> dict[str, int | None]:
        """By league: the number of the server that owns it; None if nobody does."""
        view = self.directory.read_view()
        numbers = {f"http://127.0.0.1:{port + 1}": number for number, port in enumerate(self.ports)}
        owners = {league_id: view.find_owner(league_id) for league_id in view.leagues}
        return {league_id: numbers[one.address] if one else None for league_id, one in owners.items()}

    def is_served(self, leagues: Sequence[str]) -> bool:
        view = self.directory.read_view()
        found = (view.leagues.get(league_id) for league_id in leagues)
        return all(lease is not None and lease.summary is not None for lease in found)

    def address(self, league_id: str) -> str:
        """Where everybody outside finds a league."""
        return f"{self.public_url}/leagues/{league_id}"

    def open_store(self) -> SqlStore:
        return self._store

    def read(self, league_id: str) -> SavedSeason | None:
        return self._store.read_season(league_id)

    def count_played(self, leagues: Sequence[str]) -> int:
        names = ", ".join(f"'{name}'" for name in leagues)
        with self._store.read_transaction("matches") as connection:
            if connection is None:
                return 0
            found = connection.exec_driver_sql(
                "SELECT count(*) FROM matches JOIN seasons USING (season_id)"
                f" WHERE result IS NOT NULL AND NOT put_aside AND league_id IN ({names})"
            )
            return int(found.scalar() or 0)

    def count_files(self, saved: SavedSeason) -> int:
        return len(list_kept_matches(self._store, saved.season.season_id))

    def is_over(self, league_id: str) -> bool:
        saved = self.read(league_id)
        return saved is not None and saved.season.phase in ("COMPLETED", "DISMISSED") and saved.season.announced


def find_port_run(count: int) -> int:
    """The first of many free ports in a row: below those that the system gives to callers, who would be in between."""
    for first in random.SystemRandom().sample(range(12_000, 32_000 - count), 100):
        with suppress(OSError), ExitStack() as probes:
            for port in range(first, first + count):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise RuntimeError(f"no run of {count} free ports")


def make_player_plans(site: Site, folder: Path, leagues: Sequence[str], seconds: float) -> list[PlayerPlan]:
    """Plan one player of each strategy for every league, which know nothing but the public address."""
    loader = ConfigLoader(site.home(0))
    system = loader.load_system()
    first = find_port_run(len(leagues) * len(STRATEGIES))
    wanted = [(league_id, strategy) for league_id in leagues for strategy in STRATEGIES]
    return [
        PlayerPlan(
            PlayerSettings(
                system=system,
                home=folder / f"players of {league_id}",
                manager=f"{site.address(league_id)}/mcp",
                endpoint=f"http://localhost:{port}/mcp",
                wanted_id=f"{league_id}-{strategy}",
                display_name=strategy,
                game_types=("*",),
                league_id=league_id,
            ),
            port,
            strategy=SlowStrategy(load_strategy(strategy), seconds, league_id),
            dial_out=strategy == STRATEGIES[-1] and seconds > 0,
        )
        for port, (league_id, strategy) in enumerate(wanted, start=first)
    ]


def make_guest_plans(site: Site, folder: Path, leagues: Sequence[str]) -> list[RefereePlan]:
    """Plan a referee elsewhere for each of these leagues."""
    access, home = SqlAccessStore(site.open_store()), site.home(0)
    return [plan_guest_referee(access, home, folder, f"{site.address(one)}/mcp", one) for one in leagues]


def read_table(saved: SavedSeason) -> Counter[str]:
    """Work out everybody's points from the rows of matches: 3 for a win, 1 for a draw."""
    names = {agent.agent_id: agent.display_name for agent in saved.agents}
    points = Counter(dict.fromkeys(STRATEGIES, 0))
    for match in saved.matches:
        result = match.result or {}
        for player in (match.player_a, match.player_b):
            points[names[player]] += 3 if result.get("winner") == player else int(result.get("outcome") == "DRAW")
    return points


def find_complaints(site: Site, leagues: Sequence[str], guests: int = 0) -> Iterator[str]:
    """Say all that doesn't hold of these leagues, of which so many have a referee elsewhere."""
    undisturbed = site.read(UNDISTURBED)
    assert undisturbed is not None
    expected = read_table(undisturbed)
    for league_id in leagues:
        saved = site.read(league_id)
        if saved is None or saved.season.phase not in ("COMPLETED", "DISMISSED"):
            yield f"{league_id} isn't over: {saved.season.phase if saved else 'never begun'}"
            continue
        results = {match.match_id: match.result for match in saved.matches}
        if len(results) != MATCHES or None in results.values():
            yield f"{league_id} has {len(results)} matches, {sum(map(bool, results.values()))} of them played"
        for match_id, result in results.items():
            terminations = (result or {}).get("terminations", {})
            if not {*terminations.values()} <= {"normal"}:
                yield f"{league_id} {match_id} ended technically: {terminations}"
        if read_table(saved) != expected:
            yield f"{league_id} has another table than the undisturbed league: {read_table(saved)}, not {expected}"
        expected_referees = ["REF01", GUEST_REFEREE] if league_id in leagues[:guests] else ["REF01"]
        if (referees := [agent.agent_id for agent in saved.agents if agent.role == "referee"]) != expected_referees:
            yield f"{league_id} has the referees {referees}"
        if {match.referee_id for match in saved.matches} != {*expected_referees}:
            yield f"{league_id}: not every referee has judged a match"
        judged_here = sum(match.referee_id != GUEST_REFEREE for match in saved.matches)
        if (kept := site.count_files(saved)) != judged_here:
            yield f"{league_id} has {kept} match files in the store, and {judged_here} matches of house referees"


class Killer:
    """Goes about among the servers while leagues are played."""

    def __init__(self, plan: Plan, site: Site, say: Say) -> None:
        self._plan = plan
        self._site = site
        self._say = say
        self._rng = random.Random(plan.seed)
        self.verdict = Verdict()

    async def play(self, leagues: Sequence[str]) -> None:
        """Kill and start servers until all leagues are over."""
        began = time.monotonic()
        spared = self._rng.randrange(self._plan.servers)
        victims = [number for number in range(self._plan.servers) if number != spared]
        self._rng.shuffle(victims)
        total = len(leagues) * MATCHES
        moments = sorted(self._rng.uniform(0.05, 0.75) for _ in range(self._plan.kills))
        for turn, moment in enumerate(moments):
            await self.wait_until(lambda due=moment * total: self._site.count_played(leagues) >= due)  # type: ignore[misc]
            await self._kill(victims[turn % len(victims)])
        await self.wait_until(lambda: all(map(self._site.is_over, leagues)))
        self.verdict.seconds = time.monotonic() - began

    async def _kill(self, number: int) -> None:
        before = self._site.owner_numbers()
        orphans = [league_id for league_id, owner in before.items() if owner == number]
        self._say(f"killing server {number}, which has {len(orphans)} leagues")
        await asyncio.to_thread(self._site.kill, number)
        killed_at = time.monotonic()
        self.verdict.kills += 1
        await asyncio.gather(self._watch_takeover(orphans, killed_at), self._start_again(number))
        after = self._site.owner_numbers()
        self.verdict.moved += sum(after[league_id] != number for league_id in orphans)

    async def _watch_takeover(self, orphans: Sequence[str], killed_at: float) -> None:
        """Wait until leagues of a killed server have been claimed, by another or by itself, started again."""
        epochs = {one: self._site.directory.read_view().leagues[one].epoch for one in orphans}

        def are_taken() -> bool:
            leagues = self._site.directory.read_view().leagues
            return all(leagues[one].epoch > epoch for one, epoch in epochs.items())

        await self.wait_until(are_taken)
        took = time.monotonic() - killed_at
        self.verdict.longest_takeover = max(self.verdict.longest_takeover, took)
        self._say(f"all of them had an owner {took:.1f} s later")

    async def _start_again(self, number: int) -> None:
        await asyncio.sleep(self._rng.uniform(0, 1.5 * self._plan.lease))
        self._site.start(number)
        await asyncio.to_thread(self._site.wait_until_ready, number)
        self._say(f"server {number} is back")

    async def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so in the store; raises TimeoutError after the plan's limit."""
        async with asyncio.timeout(self._plan.limit):
            while not await asyncio.to_thread(is_so):  # noqa: ASYNC110 - other processes tell nobody
                await asyncio.sleep(0.1)


async def kill_servers(plan: Plan, folder: Path, store: str, say: Say = lambda _: None) -> Verdict:
    """Play leagues on servers that are killed; returns what came of it."""
    leagues = [f"L{number:03}" for number in range(plan.leagues)]
    ports = find_port_run(2)
    with ExitStack() as stack:
        site = Site(folder, store, plan, ports)
        stack.callback(site.close)
        upstream = {f"10.0.0.{number + 1}:8000": f"127.0.0.1:{port}" for number, port in enumerate(site.ports)}
        plain = {old: new.format(port=ports, other=ports + 1) for old, new in PLAIN_HTTP.items()}
        stack.enter_context(running_nginx(folder, "nginx-servers.conf", {**upstream, **plain}))
        for number in range(plan.servers):
            site.start(number)
        for number in range(plan.servers):
            await asyncio.to_thread(site.wait_until_ready, number)
        site.write_leagues([UNDISTURBED, *leagues])
        killer = Killer(plan, site, say)
        await killer.wait_until(lambda: site.is_served([UNDISTURBED, *leagues]))
        say(f"{len(leagues) + 1} leagues on {plan.servers} servers: {Counter(site.owner_numbers().values())}")
        async with AsyncExitStack() as playing:
            await playing.enter_async_context(run_players(site, folder, [UNDISTURBED], 0.0))
            await killer.wait_until(lambda: site.is_over(UNDISTURBED))
            viewers = await playing.enter_async_context(watching([site.address(one) for one in leagues]))
            await playing.enter_async_context(run_agents(make_guest_plans(site, folder, leagues[: plan.guests])))
            await playing.enter_async_context(run_players(site, folder, leagues, plan.thinking))
            with suppress(TimeoutError):
                await killer.play(leagues)
                async with asyncio.timeout(plan.limit):
                    for viewer in viewers:
                        await viewer.is_over.wait()
        killer.verdict.reconnections = sum(viewer.connections - 1 for viewer in viewers)
        seen = [sentence for viewer in viewers for sentence in viewer.find_complaints(MATCHES)]
        killer.verdict.complaints = [*find_complaints(site, leagues, plan.guests), *seen]
        return killer.verdict


@asynccontextmanager
async def run_players(site: Site, folder: Path, leagues: Sequence[str], seconds: float) -> AsyncIterator[None]:
    """Run the players of leagues in this process as long as the context lasts."""
    async with run_agents(make_player_plans(site, folder, leagues, seconds)):
        yield


@asynccontextmanager
async def run_agents(plans: Sequence[AgentPlan]) -> AsyncIterator[None]:
    """Run agents in this process as long as the context lasts."""
    task = asyncio.create_task(serve_agents(plans, asyncio.Event()))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--leagues", type=int, default=60)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--lease", type=float, default=6.0, help="seconds")
    parser.add_argument("--keep", type=Path, help="an empty folder for homes, logs and match files, left as it is")
    asked = parser.parse_args()
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:6.1f} s  {text}\n")
        sys.stdout.flush()

    if (folder := programs()) is None:
        say(MISSING)
        return 2
    plan = Plan(asked.seed, asked.servers, asked.leagues, asked.kills, asked.lease)
    with postgres_server(folder) as postgres, tempfile.TemporaryDirectory(prefix="servers-") as place:
        verdict = asyncio.run(kill_servers(plan, asked.keep or Path(place), postgres.address(), say))
    say(
        f"{plan.leagues} leagues of {len(STRATEGIES)} on {plan.servers} servers in {verdict.seconds:.0f} s:"
        f" {verdict.kills} kills, {verdict.moved} moves of a league, at most {verdict.longest_takeover:.1f} s"
        f" without an owner; viewers came back {verdict.reconnections} times; {len(verdict.complaints)} complaints"
    )
    for sentence in verdict.complaints:
        say(f"- {sentence}")
    return int(bool(verdict.complaints))


if __name__ == "__main__":
    sys.exit(main())
