"""A real player in its chair, among scripted peers on the memory carrier."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.rulebook import Rulebook
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.events import PlayerEvent
from agent_league.players.observation import Move, Observation, Strategy
from agent_league.players.strategies.random_choice import RandomChoice
from agent_league.testing.peers import Script, ScriptedManager
from tests.conftest import BOUND

PLAYER = "http://localhost:8101/mcp"
LEAGUE = "league_2025_even_odd"


class Fixed:
    """Plays what it is told, and keeps what it saw."""

    instant = True

    def __init__(self, move: Move = "even") -> None:
        self.move = move
        self.seen: list[Observation] = []

    def choose(self, observation: Observation) -> Move:
        self.seen.append(observation)
        return self.move


def from_referee(message_type: str, match_id: str = "R1M1", **fields: Any) -> dict[str, Any]:
    """A message of the referee's."""
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": "referee:REF01",
        "timestamp": "2025-01-15T10:15:00Z",
        "conversation_id": f"conv-{match_id.lower()}-001",
        "auth_token": "tok-match-token",
        "match_id": match_id,
        **fields,
    }


def invitation(match_id: str = "R1M1", opponent: str = "P02", **fields: Any) -> dict[str, Any]:
    own = {"league_id": LEAGUE, "round_id": 1, "game_type": "even_odd", "role_in_match": "PLAYER_A"}
    return from_referee("GAME_INVITATION", match_id, **{**own, "opponent_id": opponent, **fields})


def parity_call(match_id: str = "R1M1", opponent: str = "P02", **fields: Any) -> dict[str, Any]:
    standings = {"wins": 1, "losses": 2, "draws": 3}
    context = {"opponent_id": opponent, "round_id": 1, "your_standings": standings}
    own = {"player_id": "P01", "game_type": "even_odd", "context": context, "deadline": "2025-01-15T10:15:35Z"}
    return from_referee("CHOOSE_PARITY_CALL", match_id, **{**own, **fields})


def move_call(options: list[Any], step: int = 0, match_id: str = "R1M1", view: Any = None) -> dict[str, Any]:
    request = {
        "move_type": "nim",
        "valid_options": options,
        "context": view,
        "step": step,
        "your_role": "PLAYER_A",
    }
    return from_referee("GAME_MOVE_CALL", match_id, player_id="P01", game_type="nim", move_request=request)


def schema_call(schema: Any, **request: Any) -> dict[str, Any]:
    """A question that tells the moves as a schema."""
    call = move_call([])
    del call["move_request"]["valid_options"]
    call["move_request"] |= {"move_schema": schema, **request}
    return call


def game_over(match_id: str = "R1M1", winner: str | None = "P01", **result: Any) -> dict[str, Any]:
    own: dict[str, Any] = {
        "status": "WIN" if winner else "DRAW",
        "winner_player_id": winner,
        "drawn_number": 8,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
        "reason": "P01 chose even, number was 8 (even)",
    }
    return from_referee("GAME_OVER", match_id, game_type="even_odd", game_result={**own, **result})


@dataclass
class Chair:
    """A player and its surroundings."""

    home: Path
    network: MemoryNetwork
    manager: ScriptedManager
    player: Player
    told: list[Any] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    async def call(
        self, method: str, params: Mapping[str, Any], limit: float = 10, bearer: str | None = None
    ) -> dict[str, Any]:
        """Calls a tool of the player's."""
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        _, body = await self.network.exchange(PLAYER, json.dumps(request).encode(), limit, bearer)
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    async def choice(self, match_id: str = "R1M1", opponent: str = "P02") -> str:
        answer = await self.call("choose_parity", parity_call(match_id, opponent))
        chosen: str = answer["parity_choice"]
        return chosen

    async def move(self, options: list[Any], **fields: Any) -> Any:
        return (await self.call("make_move", move_call(options, **fields)))["move_data"]

    async def plays(self, match_id: str = "R1M1", opponent: str = "P02", **result: Any) -> None:
        """A whole match."""
        await self.call("handle_game_invitation", invitation(match_id, opponent))
        chosen = await self.choice(match_id, opponent)
        choices = {"P01": chosen, opponent: "odd"}
        assert await self.call("notify_match_result", game_over(match_id, choices=choices, **result)) == {
            "status": "ok"
        }

    async def state(self) -> dict[str, Any]:
        return await self.call("get_player_state", {})

    def log(self) -> list[dict[str, Any]]:
        path = self.home / "logs/agents/P01.log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def events(self) -> set[str]:
        return {line["event_type"] for line in self.log()}


def player_settings(home: Path, **settings: Any) -> PlayerSettings:
    made = PlayerSettings(
        system=ConfigLoader(home, {}).load_system(),
        home=home,
        manager="http://localhost:8000/mcp",
        endpoint=PLAYER,
        wanted_id="P01",
        display_name="Agent Alpha",
    )
    return replace(made, **settings)


@asynccontextmanager
async def chair(
    home: Path,
    strategy: Strategy | None = None,
    *,
    manager: Mapping[str, Script] | None = None,
    registered: bool = True,
    **settings: Any,
) -> AsyncIterator[Chair]:
    """A running player, registered unless told otherwise; leaving the context ends it."""
    network = MemoryNetwork()
    scripted = ScriptedManager(league_id=LEAGUE, scripts=manager)
    network.attach(scripted.endpoint, scripted.answer)
    told: list[Any] = []
    remarks: list[str] = []
    in_place = asyncio.Event()

    def watch(player_id: str, happening: PlayerEvent) -> None:
        told.append((player_id, happening))
        in_place.set()

    own = player_settings(home, **settings)
    player = Player(
        own,
        strategy or RandomChoice(),
        network,
        on_event=watch,
        remark=remarks.append,
        tools=Rulebook(own).handlers(),
    )
    network.attach(PLAYER, player.dispatcher.answer_request)
    run = asyncio.create_task(player.run())
    await asyncio.sleep(0)  # it has begun, and so will put away what it opens
    try:
        async with asyncio.timeout(BOUND):
            if registered:
                await in_place.wait()
            yield Chair(home, network, scripted, player, told, remarks)
    finally:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
