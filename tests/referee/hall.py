"""A real referee among scripted peers, on the memory carrier."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_league.clock import Clock
from agent_league.config import ConfigLoader
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.rulebook import Rulebook
from agent_league.protocol.tokens import SigningKey
from agent_league.referee.app import Referee
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import Params, Script, ScriptedManager, ScriptedPlayer, utc_timestamp

REFEREE = "http://localhost:8001/mcp"
LEAGUE = "league_2025_even_odd"
SIGNED = {"security.verify_callers": False}
"""With `accept_with_key`: a manager of ours, whose signatures nobody asks for."""
BOUND_SECONDS = 600
"""Of virtual time where a test runs in it."""


async def accept_with_key(params: Params) -> Any:
    """The registration at a manager of ours."""
    given = {"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok-ref01-x", "league_id": LEAGUE}
    return {**given, "timestamp": utc_timestamp(), "public_key": SigningKey.generate().public_jwk}


@dataclass
class Hall:
    """Who is there."""

    home: Path
    network: MemoryNetwork
    manager: ScriptedManager
    referee: Referee
    players: dict[str, ScriptedPlayer] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    """What the referee tells whoever started it."""

    def seat(self, player_id: str, choice: str = "even", **scripts: Script) -> ScriptedPlayer:
        """A player at an address of its own."""
        player = ScriptedPlayer(player_id, f"http://localhost/{player_id}/mcp", choice=choice, scripts=scripts)
        player.token = f"tok-{player_id.lower()}-0123456789abcdef"
        self.players[player_id] = player
        self.network.attach(player.endpoint, player.answer)
        return player

    def pair(self, a: Mapping[str, Script] | None = None, b: Mapping[str, Script] | None = None) -> None:
        """P01, who plays even, and P02, who plays odd."""
        self.seat("P01", "even", **(a or {}))
        self.seat("P02", "odd", **(b or {}))

    async def call(self, method: str, params: Mapping[str, Any], bearer: str | None = None) -> dict[str, Any]:
        """Calls a tool of the referee's."""
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        _, body = await self.network.exchange(REFEREE, json.dumps(request).encode(), 10, bearer)
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def order(self, match_id: str = "R1M1", **fields: Any) -> dict[str, Any]:
        """START_MATCH; `P01={...}` adds to what it says of a player."""
        about = {name: fields.pop(name) for name in list(fields) if name in self.players}
        a, b = (self.players[player_id] for player_id in fields.pop("who", ("P01", "P02")))
        order = self.manager.build_start_match(match_id, a, b, **fields)
        for player in (order["player_A"], order["player_B"]):
            player.update(about.get(player["player_id"], {}))
        return order

    async def start(self, match_id: str = "R1M1", **fields: Any) -> dict[str, Any]:
        return await self.call("start_match", self.order(match_id, **fields))

    async def play(self, match_id: str = "R1M1", **fields: Any) -> dict[str, Any]:
        """A whole match: its report, once everybody has been told."""
        assert await self.start(match_id, **fields) == {"status": "ok"}
        reported = {report["match_id"]: report for report in self.manager.received_params("report_match_result")}
        while match_id not in reported:
            count = len(self.manager.received_params("report_match_result"))
            reports = await self.manager.wait_for_calls("report_match_result", count + 1)
            reported = {report["match_id"]: report for report in reports}
        report: dict[str, Any] = reported[match_id]
        for player_id in report["result"]["score"]:
            await self.players[player_id].wait_for_calls("notify_match_result")
        return report

    def record(self, match_id: str = "R1M1") -> dict[str, Any]:
        """The match file."""
        found = MatchRepository(LEAGUE, self.home).load(match_id)
        assert found is not None
        return found

    def log(self) -> list[dict[str, Any]]:
        path = self.home / "logs/agents/REF01.log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


@asynccontextmanager
async def hall(
    home: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    clock: Clock | None = None,
    manager: Mapping[str, Script] | None = None,
    **settings: Any,
) -> AsyncIterator[Hall]:
    """A registered referee; leaving the context ends it."""
    network = MemoryNetwork()
    scripted = ScriptedManager(league_id=LEAGUE, scripts=manager)
    network.attach(scripted.endpoint, scripted.answer)
    own = replace(referee_settings(home, overrides), **settings)
    remarks: list[str] = []
    referee = Referee(own, network, clock, remarks.append, tools=Rulebook(own).handlers())
    network.attach(REFEREE, referee.dispatcher.answer_request)
    run = asyncio.create_task(referee.run())
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            await referee._session.registered.wait()
            yield Hall(home, network, scripted, referee, remarks=remarks)
    finally:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


def referee_settings(home: Path, overrides: Mapping[str, Any] | None = None) -> RefereeSettings:
    loader = ConfigLoader(home, dict(overrides or {}))
    return RefereeSettings(
        system=loader.load_system(),
        games=loader.load_games_registry(),
        home=home,
        manager="http://localhost:8000/mcp",
        endpoint=REFEREE,
        wanted_id="REF01",
        display_name="Referee Alpha",
    )
