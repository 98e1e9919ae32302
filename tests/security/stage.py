"""A stage for attacks: a real manager, real referees and players, and Mallory, who registers like anybody else.

Everything that is said is listened to, with the tokens beside it, so that an attack can use what its author would have.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint, run_agents
from agent_league.launch.plan import LeaguePlan
from agent_league.league.app import LeagueManager
from agent_league.league.resume import open_store
from agent_league.league.settings import ManagerSettings
from agent_league.players.app import Player
from agent_league.protocol.tokens import SigningKey
from agent_league.referee.app import Referee
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import Params, ScriptedPlayer, utc_timestamp
from tests.conftest import BOUND
from tests.protocol.traffic import make_league

HONEST = 3
MATCHES = 6


@dataclass(frozen=True)
class Call:
    """One call: whom, what, and with which token beside it."""

    endpoint: str
    frame: bytes
    bearer: str | None
    method: str
    params: dict[str, Any]


class Wiretap(MemoryNetwork):
    """The memory carrier; keeps every call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        said = json.loads(frame)
        self.calls.append(Call(endpoint, frame, bearer, said.get("method", ""), said.get("params", {})))
        return await super().exchange(endpoint, frame, limit, bearer)

    def heard(self, method: str, endpoint: str | None = None) -> list[Call]:
        return [call for call in self.calls if call.method == method and endpoint in (None, call.endpoint)]


class Mallory(ScriptedPlayer):
    """A player in good standing that keeps its referee waiting, and so its match open, until it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        super().__init__("Mallory", "http://localhost:8190/mcp")

    async def _answer_choice(self, params: Params) -> Any:
        await self.released.wait()
        return self.chosen(params)

    def chosen(self, params: Params) -> Any:
        """Her answer, once she gives one."""
        return self.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="odd")

    @property
    def invitation(self) -> dict[str, Any]:
        return self.received_params("handle_game_invitation")[0]


@dataclass
class Stage:
    """Who is there."""

    plan: LeaguePlan
    network: Wiretap
    manager: LeagueManager
    referees: dict[str, Referee]
    players: dict[str, Player]
    mallory: Mallory
    endpoints: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.plan.home

    @property
    def league_id(self) -> str:
        return self.plan.league.league_id

    @property
    def admin_token(self) -> str:
        return DataPaths(self.home).admin_token_file(self.league_id).read_text().strip()

    @property
    def victim(self) -> str:
        """Whom Mallory plays against right now."""
        return str(self.mallory.invitation["opponent_id"])

    def signing_key(self) -> SigningKey:
        """The manager's own key, which nobody else has."""
        store = open_store(self.home, None)
        saved = store.read_season(self.league_id)
        store.close()
        assert saved is not None
        return SigningKey.load(saved.season.signing_key)

    def token_of(self, agent_id: str) -> str:
        agent = self.referees.get(agent_id) or self.players[agent_id]
        token = agent._session.token
        assert token is not None
        return token

    async def call(self, agent: str, method: str, params: Mapping[str, Any], bearer: str | None = None) -> Any:
        """The `result` of a call that an attacker makes; `agent` is an id or `manager`."""
        frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        return await self.send(self.endpoints[agent], json.dumps(frame).encode(), bearer)

    async def send(self, endpoint: str, frame: bytes, bearer: str | None = None) -> Any:
        _, body = await self.network.exchange(endpoint, frame, BOUND, bearer)
        return json.loads(body)["result"]

    async def say(
        self, agent: str, method: str, message_type: str, sender: str, bearer: str | None = None, **fields: Any
    ) -> Any:
        return await self.call(agent, method, message(message_type, sender, **fields), bearer)

    async def report(self, sender: str, token: str | None, match_id: str, **result: Any) -> Any:
        told = {"winner": None, "score": {}, **result}
        return await self.say(
            "manager",
            "report_match_result",
            "MATCH_RESULT_REPORT",
            sender,
            auth_token=token,
            match_id=match_id,
            result=told,
        )

    async def register(self, role: str, name: str, endpoint: str, sender: str = "", **fields: Any) -> Any:
        meta = {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
        kind = "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST"
        fields[f"{role}_meta"] = {**meta, **fields.pop("meta", {})}
        return await self.say("manager", f"register_{role}", kind, sender or f"{role}:mallory", **fields)

    async def start(self, token: str | None) -> Any:
        return await self.say("manager", "start_league", "START_LEAGUE", "player:organiser", auth_token=token)

    async def ends_unharmed(self, matches: int = MATCHES) -> None:
        """The league comes to its end, and every match in it was played as if nobody had attacked."""
        self.mallory.released.set()
        await self.manager.completed.wait()
        results = self.manager.state.results
        assert len(results) == matches
        assert [
            result for result in results.values() if result.terminations or result.outcome == "TECHNICAL_LOSS"
        ] == []
        winners = [result.winner for result in results.values() if result.winner]
        rows = self.manager.state.standings()
        assert {row.player_id: row.wins for row in rows} == {
            row.player_id: winners.count(row.player_id) for row in rows
        }


def message(message_type: str, sender: str, **fields: Any) -> dict[str, Any]:
    """A message with a whole envelope; a field that is None is left out."""
    whole = {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-attack-001",
        **fields,
    }
    return {name: value for name, value in whole.items() if value is not None}


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def unsigned(token: str) -> str:
    """A signed token with its claims, but `alg: none`."""
    head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return ".".join((head, token.split(".")[1], "AAAA"))


@asynccontextmanager
async def staged(
    folder: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    guest: type[Mallory] = Mallory,
    started: bool = True,
    **request: Any,
) -> AsyncIterator[Stage]:
    """Three honest players, two referees and Mallory in the middle of her first match, or before the start."""
    plan = make_league(folder, overrides, players=HONEST + 1, referees=2, **request)
    assert isinstance(plan.manager.settings, ManagerSettings)
    manager = plan.manager
    if not started:
        manager = replace(manager, settings=replace(plan.manager.settings, expected_players=0, expected_referees=0))
    seats = [manager, *plan.referees, *plan.players[:HONEST]]
    network, mallory = Wiretap(), guest()
    network.attach(mallory.endpoint, mallory.answer)
    async with asyncio.timeout(BOUND), run_agents(network, seats) as agents:
        referees = [agent for agent in agents if isinstance(agent, Referee)]
        players = [agent for agent in agents if isinstance(agent, Player)]
        for session in (*(agent._session for agent in referees), *(agent._session for agent in players)):
            await session.registered.wait()
        assert isinstance(agents[0], LeagueManager)
        stage = Stage(
            plan,
            network,
            agents[0],
            {agent.agent_id: agent for agent in referees},
            {agent.agent_id: agent for agent in players},
            mallory,
        )
        ids = ["manager", *stage.referees, *stage.players]
        stage.endpoints = dict(zip(ids, map(agent_endpoint, seats), strict=True))
        if started:
            assert (await mallory.register(network, stage.endpoints["manager"]))["status"] == "ACCEPTED"
            await mallory.wait_for_calls("choose_parity")
        yield stage
