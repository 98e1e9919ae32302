"""Leagues over real HTTP with players that are not ours."""

import json
import random
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_league.http.client import HttpCarrier
from agent_league.model.events import AgentStateChanged
from agent_league.model.results import Outcome
from agent_league.storage.repositories import MatchRepository
from tests.conftest import PlanMaker, free_ports
from tests.launch.scripted_guests import hosted, served

NO_CODE = b'{"jsonrpc": "2.0", "error": {"message": "Unknown method"}, "id": 1}'
NO_JSON = b"<h1>Not Found</h1>"


def utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class SeedPlayer:
    """The sample player of seed 000, section "Player Agent Implementation", with plain dictionaries as there.

    It knows three methods and answers everything else with `unknown`.
    """

    def __init__(self, player_id: str, port: int, unknown: bytes, *, reads_its_token: bool) -> None:
        self.player_id = player_id
        self.port = port
        self.auth_token: str | None = None
        self.history: list[dict[str, Any]] = []
        self._unknown = unknown
        self._reads_its_token = reads_its_token

    async def register(self, manager: str) -> dict[str, Any]:
        params = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.player_id}",
            "timestamp": utc_now(),
            "conversation_id": f"conv-player-{self.player_id}-reg",
            "player_meta": {
                "display_name": f"Seed {self.player_id}",
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": f"http://localhost:{self.port}/mcp",
            },
        }
        carrier = HttpCarrier()
        frame = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}).encode()
        try:
            _, body = await carrier.exchange(manager, frame, 10)
        finally:
            await carrier.close()
        result: dict[str, Any] = json.loads(body)["result"]
        if self._reads_its_token:
            self.auth_token = result["auth_token"]
        return result

    async def answer(self, body: bytes, _: str | None = None) -> bytes:
        request = json.loads(body)
        method, params = request["method"], request["params"]
        if method == "handle_game_invitation":
            return self._reply(request, "GAME_JOIN_ACK", arrival_timestamp=utc_now(), accept=True)
        if method == "choose_parity":
            return self._reply(request, "CHOOSE_PARITY_RESPONSE", parity_choice=random.choice(["even", "odd"]))
        if method == "notify_match_result":
            self.history.append({"match_id": params.get("match_id"), "result": params.get("game_result", {})})
            return json.dumps({"jsonrpc": "2.0", "result": {"status": "ok"}, "id": request["id"]}).encode()
        return self._unknown

    def _reply(self, request: dict[str, Any], message_type: str, **fields: Any) -> bytes:
        params = request["params"]
        result = {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{self.player_id}",
            "timestamp": utc_now(),
            "conversation_id": params.get("conversation_id"),
            "auth_token": self.auth_token,
            "match_id": params.get("match_id"),
            "player_id": self.player_id,
            **fields,
        }
        return json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}).encode()


async def test_the_sample_player_of_the_seeds_plays_without_a_technical_loss(home: Path, plan: PlanMaker) -> None:
    port = free_ports(8)
    made = plan(players=5, referees=2, manager_port=port, referee_port=port + 1, player_port=port + 3)
    guests = [
        SeedPlayer("P04", port + 6, NO_CODE, reads_its_token=True),
        SeedPlayer("P05", port + 7, NO_JSON, reads_its_token=False),
    ]
    async with AsyncExitStack() as stack:
        for guest in guests:
            await stack.enter_async_context(served(guest.answer, guest.port))
        league = await stack.enter_async_context(hosted(made, guests=2))
        for guest in guests:
            admitted = await guest.register(f"http://localhost:{port}/mcp")
            assert (admitted["status"], admitted["player_id"]) == ("ACCEPTED", guest.player_id)
        completed = await league.completed()
    assert completed.matches == 10
    assert not [event for event in league.events if isinstance(event, AgentStateChanged)], "nobody is suspended"
    assert {row.played for row in completed.standings} == {4}
    matches = MatchRepository(completed.league_id, home)
    results = [matches.load(match_id) for match_id in matches.list()]
    assert len(results) == 10
    assert {result["result"]["status"] for result in results if result} <= {Outcome.WIN, Outcome.DRAW}
    for guest in guests:
        assert len(guest.history) == 4, "each result is told once"
        assert_told_what_is_recorded(guest, [result for result in results if result])


def assert_told_what_is_recorded(guest: SeedPlayer, matches: list[dict[str, Any]]) -> None:
    recorded = {match["match_id"]: match["result"] for match in matches}
    for game in guest.history:
        for name in ("status", "winner_player_id", "drawn_number", "number_parity", "choices"):
            assert game["result"][name] == recorded[game["match_id"]][name]
