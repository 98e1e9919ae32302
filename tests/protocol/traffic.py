"""Real traffic: whole leagues played in process, with every frame kept.

One league goes well. In the other, players hang, decline, answer rubbish and choose what isn't there; somebody is
refused, everything is queried, and wrong messages are sent: so every message that our agents can say is said.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_league.agent.runtime import Agent
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint, play_in_process, run_agents
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan
from agent_league.launch.serving import offer_links
from agent_league.league.app import LeagueManager
from agent_league.league.resume import open_store
from agent_league.players.app import Player
from agent_league.protocol.tokens import SigningKey
from agent_league.testing.peers import ScriptedPlayer, always_reply, never_reply, reply_garbage, utc_timestamp
from tests.conftest import BOUND, FAST
from tests.protocol.examples import merged, requests_by_method

QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")
LIMIT = BOUND


@dataclass(frozen=True)
class Exchange:
    """One call: who was called, what was sent, what came back, and which of both is ours."""

    endpoint: str
    request: bytes
    reply: bytes
    asked_by_us: bool
    answered_by_us: bool
    bearer: str | None = None
    """The token that went beside it."""

    @property
    def frame(self) -> dict[str, Any]:
        """The request; a bare message as one whose method has no name."""
        found: dict[str, Any] = json.loads(self.request)
        return found if "jsonrpc" in found else {"jsonrpc": "2.0", "method": "", "params": found, "id": 0}


class RecordingNetwork(MemoryNetwork):
    """The memory carrier with a memory of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []
        self.foreign_endpoints: set[str] = set()

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        return await self.carry(endpoint, frame, limit, bearer, ours=True)

    async def carry(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None, *, ours: bool
    ) -> tuple[int, bytes]:
        reply = b""
        try:
            status, reply = await super().exchange(endpoint, frame, limit, bearer)
        finally:
            answered_by_us = endpoint not in self.foreign_endpoints
            self.exchanges.append(Exchange(endpoint, frame, reply, ours, answered_by_us, bearer))
        return status, reply


class Outside:
    """The same network for those who are not ours: what they send is no message of our agents."""

    def __init__(self, network: RecordingNetwork) -> None:
        self._network = network

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        return await self._network.carry(endpoint, frame, limit, bearer, ours=False)

    async def close(self) -> None:
        """Nothing is held open."""


def record_traffic(folder: Path) -> list[Exchange]:
    """Plays both leagues; returns all that was said."""
    return [*asyncio.run(_good_league(folder / "good")), *asyncio.run(_bad_league(folder / "bad"))]


def record_good_league(folder: Path) -> list[Exchange]:
    """Plays the league in which nothing goes wrong."""
    return asyncio.run(_good_league(folder))


def sent_messages(exchanges: list[Exchange]) -> Iterator[dict[str, Any]]:
    """Every league message that an agent of ours sent, as a request or as a reply."""
    for exchange in exchanges:
        if exchange.asked_by_us:
            params = exchange.frame["params"]
            if "message_type" in params:
                yield params
        if exchange.answered_by_us and exchange.reply:
            result = json.loads(exchange.reply).get("result")
            if isinstance(result, dict) and "message_type" in result:
                yield result


def make_league(folder: Path, overrides: Mapping[str, Any] | None = None, **request: Any) -> LeaguePlan:
    make_home(folder)
    return make_league_plan(ConfigLoader(folder, dict(overrides or {})), LeagueRequest(home=folder, **request))


async def _good_league(folder: Path) -> list[Exchange]:
    network = RecordingNetwork()
    async with asyncio.timeout(LIMIT):
        await play_in_process(_with_links(make_league(folder, players=4, referees=2, seed="7")), network)
    return network.exchanges


def _with_links(plan: LeaguePlan) -> LeaguePlan:
    """The same league as `league run` plays it, each role in a process of its own."""
    (manager,) = offer_links([plan.manager])
    return replace(
        plan, manager=manager, referees=tuple(offer_links(plan.referees)), players=tuple(offer_links(plan.players))
    )


async def _bad_league(folder: Path) -> list[Exchange]:
    """Two of ours among five that fail, each in its own way."""
    network = RecordingNetwork()
    outside = Outside(network)
    plan = make_league(folder, FAST, players=7, referees=2, seed="7")
    manager = agent_endpoint(plan.manager)
    guests = _guests()
    async with asyncio.timeout(LIMIT), run_agents(network, [plan.manager, *plan.referees, *plan.players[:2]]) as agents:
        for guest in guests:
            network.foreign_endpoints.add(guest.endpoint)
            network.attach(guest.endpoint, guest.answer)
            await guest.register(outside, manager)
        league = agents[0]
        assert isinstance(league, LeagueManager)
        await league.completed.wait()
        await _come_too_late(outside, manager)
        await _ask_everything(outside, manager, guests[0])
        await _make_a_move(outside, agent_endpoint(plan.players[0]), _pass_for(agents[3], plan))
    return network.exchanges


def _guests() -> list[ScriptedPlayer]:
    declining: dict[str, Any] = {"message_type": "GAME_JOIN_ACK", "accept": False}
    scripts: dict[str, dict[str, Any]] = {
        "Hanging": {"choose_parity": never_reply},
        "Absent": {
            "handle_game_invitation": never_reply,
            "notify_match_result": never_reply,
            "notify_game_error": never_reply,
        },
        "Declining": {"handle_game_invitation": always_reply(declining)},
        "Rubbish": {"choose_parity": reply_garbage},
        "Shouting": {
            "choose_parity": always_reply({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "EVEN"})
        },
    }
    return [
        ScriptedPlayer(name, f"http://localhost:{8180 + number}/mcp", scripts=script)
        for number, (name, script) in enumerate(scripts.items())
    ]


async def _come_too_late(outside: Outside, manager: str) -> None:
    """A player that is refused, and a referee that would not be if it took the game."""
    await ScriptedPlayer("Latecomer", "http://localhost:8190/mcp").register(outside, manager)
    other = {"display_name": "Latecomer", "game_types": ["chess"]}
    frame = merged(requests_by_method()["register_referee"], {"params": {"referee_meta": other}})
    await outside.exchange(manager, json.dumps(frame).encode(), LIMIT)


async def _ask_everything(outside: Outside, manager: str, guest: ScriptedPlayer) -> None:
    """All queries, and one of each refusal that a manager can utter to a guest."""
    for query_type in QUERIES:
        await _post(outside, manager, "league_query", guest, query_type=query_type)
    await _post(
        outside, manager, "league_query", guest, query_type="GET_PLAYER_STATS", query_params={"player_id": "P99"}
    )
    wrong: list[dict[str, Any]] = [
        {"protocol": "league.v1"},
        {"timestamp": None},
        {"timestamp": "yesterday"},
        {"auth_token": None},
        {"auth_token": "tok-p01-stolen"},
        {"sender": "player:P99"},
        {"league_id": "another"},
        {"query_type": "GET_RICH"},
    ]
    for fields in wrong:
        await _post(outside, manager, "league_query", guest, **{"query_type": "GET_STANDINGS", **fields})


def _pass_for(player: Agent, plan: LeaguePlan) -> str:
    """What the manager would sign for a match of another game."""
    store = open_store(plan.home, None)
    saved = store.read_season(plan.league.league_id)
    store.close()
    assert saved is not None
    assert isinstance(player, Player)
    return SigningKey.load(saved.season.signing_key).sign_match_token(
        league_id=plan.league.league_id,
        match_id="R9M9",
        referee_id="REF01",
        players=(player.agent_id, "P99"),
        audience=[player.agent_id],
        now=datetime.now(UTC),
        lifetime=LIMIT,
    )


async def _make_a_move(outside: Outside, player: str, token: str) -> None:
    params = {
        **_envelope("GAME_MOVE_CALL", "referee:REF01"),
        "auth_token": token,
        "match_id": "R9M9",
        "game_type": "anything",
        "move_request": {"move_type": "pick", "valid_options": [1, 2], "step": 0, "your_role": "PLAYER_A"},
    }
    await _call(outside, player, "make_move", params)


async def _post(outside: Outside, endpoint: str, method: str, guest: ScriptedPlayer, **fields: Any) -> None:
    envelope = _envelope("LEAGUE_QUERY", f"player:{guest.player_id}")
    await _call(outside, endpoint, method, {**envelope, "auth_token": guest.token, **fields})


async def _call(outside: Outside, endpoint: str, method: str, params: Mapping[str, Any]) -> None:
    frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    await outside.exchange(endpoint, json.dumps(frame).encode(), LIMIT)


def _envelope(message_type: str, sender: str) -> dict[str, Any]:
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-guest-001",
    }
