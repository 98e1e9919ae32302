"""One league of a server: its manager and house referees, started again with back-off when they fail.

Knows its own league alone. What goes wrong here is told in `problem` and leaves the other leagues as they are.
"""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.agent.app import AgentApp
from agent_league.agent.tasks import run_until_first
from agent_league.errors import AgentLeagueError
from agent_league.http.carrier import RequestRejected
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import NO_LISTENERS, ManagerPlan, RefereePlan
from agent_league.launch.league_start import lock_league, record_endpoint
from agent_league.launch.serving import make_manager_app
from agent_league.league.app import LeagueManager
from agent_league.log import JsonLogger
from agent_league.serve.house_referee import HOUSE_PATH
from agent_league.serve.league_home import prepare_league_home
from agent_league.serve.lease import ServerLease, UnlimitedLease
from agent_league.serve.own_carrier import OwnCarrier
from agent_league.serve.shared_store import SharedStore
from agent_league.text import MAX_SENTENCE, shorten

FIRST_RETRY_SECONDS = 0.5
MAX_RETRY_SECONDS = 60.0
"""Longest pause before a league that fails is tried again."""
JITTER = 0.2
MAX_TRACE = 4000
CALM_SECONDS = 300.0
"""A league that ran so long before it failed begins with the shortest pause again."""


@dataclass(frozen=True, slots=True)
class ServedPlan:
    """What a league file asks for: the manager, and the referees of the house."""

    manager: ManagerPlan
    referees: tuple[RefereePlan, ...]


class LeagueHealth(StrEnum):
    """Whether a league is served."""

    STARTING = "starting"
    SERVED = "served"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What all leagues of a server share."""

    carrier: OwnCarrier
    store: SharedStore
    log: JsonLogger
    lease: ServerLease = field(default_factory=UnlimitedLease)
    shares_store: bool = False
    """Whether leagues come from other servers, and go to them."""


class ServedLeague:
    """A league that is served until it is stopped, whatever happens to it."""

    def __init__(self, league_id: str, make_plan: Callable[[], ServedPlan], parts: ServerParts) -> None:
        """`make_plan` reads the league's file; it is called in a thread, and again for every start."""
        self.league_id = league_id
        self._make_plan = make_plan
        self._parts = parts
        self.manager: LeagueManager | None = None
        self.plan: ServedPlan | None = None
        """The latest plan that could be made."""
        self.problem = ""
        """Why it isn't served now, in a sentence."""
        self.starts = 0
        self._app: AgentApp | None = None
        self._referee_apps: dict[str, ASGIApp] = {}
        self._rng = Random()  # noqa: S311 - jitter
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False
        self.settled = asyncio.Event()
        """Set once the first start has succeeded or failed."""

    @property
    def title(self) -> str:
        """The league's title, or its id while it isn't served."""
        return (self.manager.state.config.display_name if self.manager else "") or self.league_id

    @property
    def health(self) -> LeagueHealth:
        if self._app is not None and self._parts.lease.is_held:
            return LeagueHealth.SERVED
        return LeagueHealth.FAILED if self.problem else LeagueHealth.STARTING

    def start(self) -> None:
        """Begin to serve the league, in a task of its own."""
        self.settled.clear()
        self._is_stopping = False
        self._task = asyncio.create_task(self._serve_for_ever(), name=f"league {self.league_id}")

    async def stop(self) -> None:
        """End manager and referees; what they had to save is saved. May be called again if nobody waited for it."""
        if self._task is not None:
            if not self._is_stopping:  # a second cancellation would cut short what is being saved
                self._is_stopping = True
                self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def abandon(self) -> None:
        """End manager and referees without writing or calling anything: the league is another server's."""
        if self.manager is not None:
            self.manager.abandon()
        await self.stop()

    async def restart(self) -> None:
        """Stop the league and start it with its file as it is now."""
        await self.stop()
        self.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose path is the league's own; raises RequestRejected while it isn't served."""
        if self._app is None or not self._parts.lease.is_held:
            why = f"can't be served now: {self.problem}" if self.problem else "is starting; try again in a moment"
            raise RequestRejected(503, f"The league {self.league_id} {why}")
        await self._app(scope, receive, send)

    async def _serve_for_ever(self) -> None:
        failures = 0
        now = asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                await self._serve_once()
                self.problem = "its manager has ended."
            except AgentLeagueError as error:
                self.problem = shorten(str(error), 2 * MAX_SENTENCE)
            except Exception as error:  # noqa: BLE001 - no league may end the others
                self.problem = f"our own fault, {shorten(repr(error), MAX_SENTENCE)}; the server's log has more."
                trace = "".join(traceback.format_exception(error))[-MAX_TRACE:]
                self._parts.log.error("league_crashed", league_id=self.league_id, trace=trace)
            self._parts.log.warning("league_failed", league_id=self.league_id, problem=self.problem)
            self.settled.set()
            if self._is_stopping:  # its manager failed as it was cancelled, and that took the cancellation's place
                return
            failures = 1 if now() - began > CALM_SECONDS else failures + 1
            await asyncio.sleep(self._retry_delay(failures))

    def _retry_delay(self, failures: int) -> float:
        """Seconds before the next try: doubled with every failure, up to a minute."""
        seconds = min(MAX_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 10))
        return float(seconds * (1 + JITTER * self._rng.random()))

    async def _serve_once(self) -> None:
        """Serve the league until its manager ends or fails."""
        plan = self.plan = await asyncio.to_thread(self._make_plan)
        store = self._parts.store
        # read in its thread first, so that a database that is away doesn't hold up the other leagues
        saved = await store.offload(store.read_season, self.league_id)
        if self._parts.shares_store:
            await prepare_league_home(store, plan.manager.settings.home, self.league_id, saved)
        endpoint, carrier = plan.manager.endpoint, self._parts.carrier
        async with AsyncExitStack() as ending:
            ending.enter_context(lock_league(plan.manager.settings.home, self.league_id, plan.manager.local_endpoint))
            record_endpoint(plan.manager.settings.home, self.league_id, endpoint)
            manager = plan.manager.make_agent(carrier, NO_LISTENERS, store, store.offload)
            ending.callback(manager.log.close)
            app = make_manager_app(plan.manager, manager, carrier)
            app.add_path_app(HOUSE_PATH, self._serve_referee)
            carrier.attach(endpoint, manager.dispatcher.answer_request)
            ending.callback(carrier.detach, endpoint)
            ending.push_async_callback(app.close)
            ending.callback(self._set_manager, None, None)
            self._set_manager(manager, app)
            self.starts += 1
            self.problem = ""
            self.settled.set()
            seats = [_add_house_key(seat, manager) for seat in plan.referees]
            await run_until_first(manager.run(), *(self._keep_referee(seat) for seat in seats))

    def _set_manager(self, manager: LeagueManager | None, app: AgentApp | None) -> None:
        self.manager, self._app = manager, app

    async def _keep_referee(self, seat: RefereePlan) -> None:
        """Run a house referee, again and again if it fails; the league goes on with other referees meanwhile."""
        failures = 0
        carrier, endpoint = self._parts.carrier, seat.settings.endpoint
        name = endpoint.rsplit("/", 2)[1]
        while True:
            logs = []
            try:
                referee = seat.make_agent(carrier, NO_LISTENERS)
                logs.append(referee.log)
                carrier.attach(endpoint, referee.dispatcher.answer_request)
                self._referee_apps[name] = make_agent_app(seat, referee)
                await referee.run()
            except Exception as error:  # noqa: BLE001 - as above
                self._parts.log.warning("referee_failed", league_id=self.league_id, referee=name, error=repr(error))
            finally:
                carrier.detach(endpoint)
                for log in logs:
                    log.close()
                if isinstance(app := self._referee_apps.pop(name, None), AgentApp):
                    await app.close()
            failures += 1
            await asyncio.sleep(self._retry_delay(failures))

    async def _serve_referee(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request to `/house/REF01/...`; raises RequestRejected if there is no such referee."""
        name, _, rest = scope["path"].removeprefix(f"/{HOUSE_PATH}").removeprefix("/").partition("/")
        app = self._referee_apps.get(name)
        if app is None:
            raise RequestRejected(404, "there is no such referee of the house")
        prefix = f"/{HOUSE_PATH}/{name}"
        inner = {**scope, "path": f"/{rest}", "root_path": f"{scope.get('root_path', '')}{prefix}"}
        await app(inner, receive, send)


def _add_house_key(seat: RefereePlan, manager: LeagueManager) -> RefereePlan:
    """Let a house referee apply with a key of its league, which is the same on every server that runs it."""
    name = seat.settings.display_name
    return replace(seat, settings=replace(seat.settings, application_key=manager.derive_house_key(name)))
