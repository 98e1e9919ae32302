"""A server of many leagues: finds the league files of a home, serves each league, and follows what changes.

Owns the set of leagues. `served_league` has one of them, `app` the paths and pages.
"""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent_league.check.quick_check import check_ladder_player
from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader, SystemConfig
from agent_league.config.models import LADDER_FORMAT
from agent_league.http.exposure import is_loopback_only
from agent_league.http.hosts import are_all_loopback, own_endpoint
from agent_league.launch.agent_plan import ManagerPlan
from agent_league.launch.config_checks import adapt_league_to_protocols, check_player_count, choose_league_config
from agent_league.launch.league_start import start_new_league
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeaguePhase
from agent_league.log import JsonLogger
from agent_league.serve.archive import SeasonArchive
from agent_league.serve.house_referee import plan_house_referees
from agent_league.serve.index_page import LEAGUES_PATH, LeagueIndex, hide_home, read_index, read_index_version
from agent_league.serve.index_summaries import add_others_leagues, read_summaries_version, summarise_leagues
from agent_league.serve.league_files import (
    FileStamp,
    NewLeague,
    drop_season_request,
    list_league_files,
    list_season_requests,
    write_league_file,
)
from agent_league.serve.lease import ServerLease, UnlimitedLease
from agent_league.serve.own_carrier import OwnCarrier
from agent_league.serve.ownership import LeagueOwnership
from agent_league.serve.served_league import LeagueHealth, ServedLeague, ServedPlan, ServerParts
from agent_league.serve.shared_leagues import SharedLeagues
from agent_league.serve.shared_store import SharedStore
from agent_league.storage.paths import DataPaths
from agent_league.storage.sql import find_database_file, resolve_store_address
from agent_league.storage.sql_access import SqlAccessStore
from agent_league.version import __version__

STARTS_AT_ONCE = 5
"""Claimed leagues that are started together, so that those that are played don't wait for them."""
START_SECONDS = 10.0
"""How long leagues that have been claimed may take to start before others are claimed beside them."""
SCAN_SECONDS = 2.0
"""How often the server looks for new, changed and deleted league files."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server is started with."""

    loader: ConfigLoader
    system: SystemConfig
    host: str
    port: int
    store: str | None = None
    referees: int = 1
    """House referees of each league."""
    offers_seats: bool = True
    internal_url: str | None = None
    """Where other servers of the same store pass calls on to this one; None: `server_links` chooses."""

    @property
    def store_address(self) -> str:
        return resolve_store_address(self.home, self.store)

    @property
    def shares_store(self) -> bool:
        """Whether other servers may have the same store: always, if that is a database server."""
        return find_database_file(self.store_address) is None

    @property
    def home(self) -> Path:
        return self.loader.root

    @property
    def local_root(self) -> str:
        """The server's address on this machine, without a slash at its end."""
        return own_endpoint(self.host, self.port, self.system.network.base_host).removesuffix("/mcp")

    @property
    def public_root(self) -> str:
        """The address by which others reach the server, without a slash at its end."""
        return self.system.network.public_url or self.local_root


class LeagueServer:
    """All leagues of one home, in this process."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.leagues: dict[str, ServedLeague] = {}
        self._dropped: set[ServedLeague] = set()
        """Leagues without a file that are being stopped."""
        self._stamps: dict[str, FileStamp] = {}
        self._scan_lock = asyncio.Lock()
        self.log = JsonLogger(
            "server",
            log_root=DataPaths(settings.home).logs_folder,
            folder="system",
            **settings.system.logging.logger_options,
        )
        lease = ServerLease() if settings.shares_store else UnlimitedLease()
        home = settings.home if settings.shares_store else None
        self._parts = ServerParts(
            OwnCarrier(settings.public_root, settings.local_root, lease),
            SharedStore(settings.store_address, lease, home),
            self.log,
            lease,
            settings.shares_store,
        )
        self.shared = self._share_leagues(lease) if settings.shares_store else None
        """The leagues of all servers that share the store; None if no other can."""

        public_path = settings.system.network.public_path
        self.access = SqlAccessStore(self._parts.store)
        self.archive = SeasonArchive(self._parts.store, settings.system, settings.home, public_path, self.log)

    def _share_leagues(self, lease: ServerLease) -> SharedLeagues:
        settings = self.settings
        address = settings.internal_url or settings.local_root
        seconds = settings.system.network.lease_sec
        owners = LeagueOwnership(settings.store_address, address, lease, seconds, self.log)
        return SharedLeagues(settings.home, owners, lease, self.log)

    @property
    def is_loopback_only(self) -> bool:
        """Whether only this machine can take part in any of the leagues."""
        settings = self.settings
        managers = [league.manager for league in self.leagues.values() if league.manager]
        return is_loopback_only(
            settings.system.network,
            listens_on_loopback=are_all_loopback([settings.host]),
            has_dial_out_seats=any(manager.state.roster.rules.has_dial_out_seats for manager in managers),
        )

    def find_league(self, league_id: str) -> ServedLeague | None:
        """Find a league that this server has."""
        return self.leagues.get(league_id)

    async def start(self) -> None:
        """Start all leagues that have a file; returns once each has begun or failed."""
        self.log.info("server_started", root=self.settings.public_root, version=__version__)
        if self.shared:
            await self.shared.enter()
        await self.follow_files()
        while self.shared and self.shared.owners.has_claimed_most:
            await self.follow_files()
        for league in self.leagues.values():
            await league.settled.wait()

    async def run(self) -> None:
        """Follow the league files until cancelled."""
        if self.shared:
            await self.shared.run(self.follow_files, self._give_up_leagues)
        while True:
            await asyncio.sleep(SCAN_SECONDS)
            try:
                await self.follow_files()
            except Exception as error:  # noqa: BLE001 - a folder that can't be read ends no league
                self.log.error("scan_failed", error=repr(error))

    def end_questions(self) -> None:
        """Let agents that dial out by plain HTTP know that this server stops, while it can still answer them."""
        for league in self.leagues.values():
            if league.manager is not None:
                league.manager.seats.end_questions()

    async def close(self) -> None:
        """Stop all leagues; each goes on where it stopped when the server is started again."""
        await asyncio.gather(*(league.stop() for league in (*self.leagues.values(), *self._dropped)))
        if self.shared:
            await self.shared.leave()
        await self.archive.close()
        await self._parts.carrier.close()
        await asyncio.to_thread(self._parts.store.shut_down)
        self.log.info("server_stopped")
        self.log.close()

    async def follow_files(self) -> None:
        """Serve leagues with a new file, start changed ones again, stop those whose file is gone."""
        async with self._scan_lock:
            await self._follow_files()

    async def _follow_files(self) -> None:
        found = await (self.shared.list_own() if self.shared else self._list_files())
        for league_id in self.leagues.keys() - found.keys():
            await self._drop_league(league_id)
        started = []
        for league_id, stamp in found.items():
            if league_id not in self.leagues:
                self.log.info("league_file_found", league_id=league_id)
                self.leagues[league_id] = ServedLeague(league_id, partial(self._make_plan, league_id), self._parts)
                self.leagues[league_id].start()
                started.append(self.leagues[league_id])
                if self.shared and len(started) % STARTS_AT_ONCE == 0:
                    await self._wait_for_starts(self.shared, started[-STARTS_AT_ONCE:])
            elif self._stamps.get(league_id) != stamp:
                await self._follow_change(self.leagues[league_id])
        self._stamps = found
        for league_id in await asyncio.to_thread(list_season_requests, self.settings.home):
            drop_season_request(self.settings.home, league_id)
            if league_id in self.leagues:
                await self._put_season_aside(self.leagues[league_id])
            elif self.shared and self.shared.owners.has_league(league_id):
                await self.shared.ask_for_season(league_id, wait=False)
        if self.shared:
            await self._answer_others(self.shared)
            await self._wait_for_starts(self.shared, started)

    async def _wait_for_starts(self, shared: SharedLeagues, started: Sequence[ServedLeague]) -> None:
        """Wait until claimed leagues have begun or failed, before others are claimed and tell how far they are."""
        if not started:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                for league in started:
                    await league.settled.wait()
        shared.owners.changed.set()

    async def _list_files(self) -> dict[str, FileStamp]:
        """List the league files of this home, with their stamps."""
        found = await asyncio.to_thread(list_league_files, self.settings.home)
        for league_id in self.leagues.keys() - found.keys():
            if self.settings.loader.has_league_file(league_id):  # a listing may miss a file that is replaced meanwhile
                found[league_id] = self._stamps.get(league_id, (0, 0))
        return found

    async def _drop_league(self, league_id: str) -> None:
        """Stop a league that has no file any more, or give up one that is another server's."""
        league = self.leagues.pop(league_id)
        self._dropped.add(league)  # a server that is stopped meanwhile waits for it too
        if self.shared is None or self.shared.is_removed(league_id):
            self.log.info("league_file_gone", league_id=league_id)
            await league.stop()
            if self.shared:
                await self.shared.owners.release(league_id)
        else:
            self.log.warning("league_lost", league_id=league_id)
            await league.abandon()
        self._dropped.discard(league)

    async def _give_up_leagues(self) -> None:
        """Give up all leagues, because the lease has ended."""
        leagues, self.leagues, self._stamps = self.leagues, {}, {}
        self.log.warning("leagues_given_up", leagues=sorted(leagues))
        await asyncio.gather(*(league.abandon() for league in leagues.values()))

    async def _answer_others(self, shared: SharedLeagues) -> None:
        """Do what other servers ask of this one's leagues, and tell them how far these are."""
        for league_id in shared.list_season_requests():
            league = self.leagues.get(league_id)
            if league and league.manager and league.manager.state.phase is LeaguePhase.COMPLETED:
                await self._put_season_aside(league)
            await shared.note_season_begun(league_id)
        await shared.save_admin_tokens()
        summaries = summarise_leagues(self.leagues.values(), self.settings.home, SystemClock().now())
        await self.wait_until_saved()
        await shared.tell_others(summaries)

    async def begin_season(self, league_id: str) -> None:
        """Put the season of a league aside, with its files, and begin another; raises UserError."""
        if league := self.leagues.get(league_id):
            async with self._scan_lock:  # or a scan could start it meanwhile
                await self._put_season_aside(league)
        elif self.shared:
            await self.shared.ask_for_season(league_id)

    async def _put_season_aside(self, league: ServedLeague) -> None:
        self.log.info("season_put_aside", league_id=league.league_id)
        await league.stop()
        try:
            await asyncio.to_thread(start_new_league, self.settings.home, league.league_id, self.settings.store)
        finally:
            league.start()
        await league.settled.wait()

    def is_completed(self, league_id: str) -> bool:
        """Whether a league, of this or another server, is over."""
        if league := self.leagues.get(league_id):
            return league.manager is not None and league.manager.state.phase is LeaguePhase.COMPLETED
        lease = self.shared.owners.view.leagues.get(league_id) if self.shared else None
        return lease is not None and (lease.summary or {}).get("phase") == LeaguePhase.COMPLETED

    async def _follow_change(self, league: ServedLeague) -> None:
        """Start a league again with its changed file; one that has started keeps the settings it started with."""
        self.log.info("league_file_changed", league_id=league.league_id)
        if league.manager is None or league.manager.state.phase is LeaguePhase.REGISTRATION:
            await league.restart()

    async def make_league(self, wanted: NewLeague) -> None:
        """Write the file of a new league; returns once it is served, here or by another server. Raises UserError."""
        await asyncio.to_thread(write_league_file, self.settings.loader, wanted)
        await self.follow_files()
        if league := self.leagues.get(wanted.league_id):
            await league.settled.wait()
        elif self.shared:
            await self.shared.wait_for_owner(wanted.league_id)

    def list_choices(self) -> Mapping[str, Any]:
        """Return the games and formats that a new league can have."""
        from agent_league.formats.registry import FORMATS  # noqa: PLC0415 - only organisers ask

        registry = self.settings.loader.load_games_registry()
        games = [(game.game_type, game.display_name or game.game_type) for game in registry.games if game.active]
        return {"games": games, "formats": (*FORMATS.names, LADDER_FORMAT)}

    def read_index(self) -> LeagueIndex:
        """Read where every league stands."""
        own = read_index(self.leagues.values(), self.settings.home, SystemClock().now())
        return add_others_leagues(own, self.shared.owners.view, [*self.leagues]) if self.shared else own

    async def wait_until_saved(self) -> None:
        """Wait until all that this server's leagues show now is in the store; raises a Refusal if it never will be."""
        managers = [league.manager for league in self.leagues.values() if league.manager]
        for manager in managers:
            await manager.wait_until_saved()

    def read_index_version(self) -> Hashable:
        """Return a value that changes with what the index shows."""
        own = read_index_version(self.leagues.values())
        return (own, read_summaries_version(self.shared.owners.view, [*self.leagues])) if self.shared else own

    def describe_problem(self, league: ServedLeague) -> str:
        """Say why a league isn't served, in words for strangers."""
        return hide_home(league.problem, self.settings.home)

    def health(self) -> dict[str, Any]:
        """The answer of the server's health endpoint; not `ok` if the store or a league has failed."""
        failed = sorted(one.league_id for one in self.leagues.values() if one.health is LeagueHealth.FAILED)
        answer = {
            "status": "ok" if self._is_store_up() else "store_unavailable",
            "role": "server",
            "version": __version__,
            "leagues": len(self.leagues),
            "failed": failed,
        }
        return {**answer, "servers": len(self.shared.owners.view.servers)} if self.shared else answer

    def _is_store_up(self) -> bool:
        """Whether the store can be written, by a look at it or by the lease that is renewed there."""
        return self._parts.store.trouble is None and self._parts.lease.is_held

    def read_samples(self) -> dict[str, dict[tuple[str, ...], float]]:
        """Read the server's metrics."""
        index = read_index(self.leagues.values(), self.settings.home, SystemClock().now())
        states = {name: one.manager.state for name, one in self.leagues.items() if one.manager}
        counts = {
            "running": index.now,
            "registration": index.soon,
            "completed": index.past,
            "failed": index.failed,
            "starting": index.starting,
        }
        return {
            "server_leagues": {(status,): len(found) for status, found in counts.items()},
            "server_players": {(name,): len(state.roster.players()) for name, state in states.items()},
            "server_matches_planned": {(name,): len(state.schedule.pairings) for name, state in states.items()},
            "server_matches_finished": {(name,): len(state.results) for name, state in states.items()},
            "server_league_starts": {(name,): one.starts for name, one in self.leagues.items()},
            "server_store_up": {(): self._is_store_up()},
        }

    def _make_plan(self, league_id: str) -> ServedPlan:
        """Plan a league by its file as it is now; raises UserError. Called in a thread."""
        settings = self.settings
        loader = ConfigLoader(settings.loader.root, settings.loader.overrides)
        system, registry = loader.load_system(), loader.load_games_registry()
        league = choose_league_config(loader, registry, league_id, None, {})
        if expected := league.participants.start_with or 0:
            check_player_count(loader, league, expected)
        manager = ManagerPlan(
            ManagerSettings(
                system,
                league,
                settings.home,
                expected,
                expected_referees=1,
                store=settings.store,
                offers_seats=settings.offers_seats,
                configs_by_protocol=adapt_league_to_protocols(loader, league, None, {}),
                moves_between_servers=settings.shares_store,
            ),
            settings.port,
            settings.host,
            path=f"/{LEAGUES_PATH}/{league_id}",
            check_player=check_ladder_player,
        )
        if not settings.referees:
            return ServedPlan(manager, ())
        referees = plan_house_referees(manager, settings.referees, registry, loader.load_referee_defaults())
        return ServedPlan(manager, tuple(referees))
