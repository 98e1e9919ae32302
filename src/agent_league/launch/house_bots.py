"""House bots: players of installed strategies that run in the process of a practice ladder's manager, as pass marks.

They register and play like any player, below the manager's own address, and prove with a key that they are the house's.
"""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.sign_up_team import SIGN_UP_TEAM
from agent_league.errors import AgentLeagueError
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.carrier import Carrier, FrameHandler, HttpReply, RequestRejected, make_timeout_error
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import NO_LISTENERS, PlayerPlan
from agent_league.league.settings import ManagerSettings
from agent_league.players.app import PlayerSettings

if TYPE_CHECKING:
    from agent_league.league.app import LeagueManager

BOTS_PATH = "bots"
CALM_SECONDS = 60.0
NO_PORT = 0
"""They are served at the manager's own port."""


def name_house_bot(strategy: str) -> str:
    """The display name of the house bot that plays a strategy."""
    return f"House {strategy}"


class ManagerCarrier:
    """Calls the manager of this process directly, and everybody else by another carrier."""

    def __init__(self, carrier: Carrier, endpoint: str, answer: FrameHandler) -> None:
        self._carrier = carrier
        self._endpoint = endpoint
        self._answer = answer

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        if endpoint != self._endpoint:
            return await self._carrier.exchange(endpoint, frame, limit, bearer, headers)
        address, team = CALLER_ADDRESS.set(None), SIGN_UP_TEAM.set(None)
        try:
            async with asyncio.timeout(limit):
                body = await self._answer(frame, bearer)
        except TimeoutError:
            raise make_timeout_error(endpoint, limit) from None
        finally:
            CALLER_ADDRESS.reset(address)
            SIGN_UP_TEAM.reset(team)
        return (202, b"") if body is None else (200, body)

    async def close(self) -> None:
        """Do nothing: the other carrier is its owner's to close."""


@runtime_checkable
class AttachingCarrier(Protocol):
    """A carrier that reaches agents of this process without sockets."""

    def attach(self, endpoint: str, answer: FrameHandler) -> None: ...
    def detach(self, endpoint: str) -> None: ...


class HouseBots:
    """The house bots of one league: runs them, and serves their paths below `/bots/`."""

    def __init__(self, manager: "LeagueManager", plans: Sequence[PlayerPlan], carrier: Carrier) -> None:
        self._manager = manager
        self._plans = plans
        self._carrier = carrier
        self._apps: dict[str, ASGIApp] = {}
        self._rng = Random()  # noqa: S311 - jitter

    async def run(self) -> None:
        """Run all of them, each again if it fails; never raises."""
        await asyncio.gather(*map(self._keep_bot, self._plans))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request to `/bots/random/mcp`; raises RequestRejected if there is no such bot."""
        name, _, rest = scope["path"].removeprefix(f"/{BOTS_PATH}/").partition("/")
        app = self._apps.get(name)
        if app is None:
            raise RequestRejected(404, "there is no such house bot")
        root = f"{scope.get('root_path', '')}/{BOTS_PATH}/{name}"
        await app({**scope, "path": f"/{rest}", "root_path": root}, receive, send)

    async def _keep_bot(self, plan: PlayerPlan) -> None:
        """Run a bot; after a failure make it anew, with longer and longer pauses."""
        failures, loop = 0, asyncio.get_running_loop()
        endpoint = plan.settings.endpoint
        name = endpoint.rsplit("/", 2)[1]
        while True:
            began = loop.time()
            try:
                player = plan.make_agent(
                    ManagerCarrier(self._carrier, plan.settings.manager, self._manager.dispatcher.answer_request),
                    NO_LISTENERS,
                )
                if isinstance(self._carrier, AttachingCarrier):
                    self._carrier.attach(endpoint, player.dispatcher.answer_request)
                self._apps[name] = make_agent_app(plan, player)
                await player.run()
            except (AgentLeagueError, OSError) as error:
                self._manager.log.warning("house_bot_failed", bot=name, error=repr(error))
            finally:
                if isinstance(self._carrier, AttachingCarrier):
                    self._carrier.detach(endpoint)
            failures = 1 if loop.time() - began > CALM_SECONDS else failures + 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))


def open_house_bots(manager: "LeagueManager", settings: ManagerSettings, carrier: Carrier) -> HouseBots | None:
    """Make the house bots that a league file asks for, and let the manager run them; None if it asks for none."""
    league, endpoint = settings.league, manager.endpoint
    if league.ladder is None or not league.ladder.house_bots:
        return None
    root = endpoint.removesuffix("/mcp")
    keys = manager.issue_house_keys(map(name_house_bot, league.ladder.house_bots))
    plans = [
        PlayerPlan(
            PlayerSettings(
                system=settings.system,
                home=settings.home,
                manager=endpoint,
                endpoint=f"{root}/{BOTS_PATH}/{strategy}/mcp",
                wanted_id=f"house-{strategy}",
                display_name=name_house_bot(strategy),
                game_types=(league.game_type,),
                league_id=league.league_id,
                application_key=keys[name_house_bot(strategy)],
            ),
            NO_PORT,
            strategy=strategy,
        )
        for strategy in league.ladder.house_bots
    ]
    bots = HouseBots(manager, plans, carrier)
    manager.companions.append(bots.run)
    return bots
