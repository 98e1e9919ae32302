"""A league over real HTTP of a game that its guests know nothing of: they play the first move that they are told."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_league.http.client import HttpCarrier
from agent_league.model.results import Outcome
from agent_league.referee.verify import verify_match
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import PlanMaker, free_ports
from tests.launch.scripted_guests import hosted, served
from tests.protocol.examples_v1 import example as v1
from tests.referee.v1_player import ScriptedV1Player


async def register_v1(player: ScriptedV1Player, carrier: HttpCarrier, manager: str) -> dict[str, Any]:
    """The bare message of 001, with any game in it."""
    request = v1("LEAGUE_REGISTER_REQUEST")
    endpoint = player.endpoint.replace("http://", "mcp://").replace("/mcp", f"/{player.name}")
    meta = {"display_name": player.name, "version": "1.0.0", "game_types": ["*"], "contact_endpoint": endpoint}
    _, body = await carrier.exchange(manager, json.dumps({**request, "player_meta": meta}).encode(), 10)
    answer: dict[str, Any] = json.loads(body)
    return answer


@pytest.mark.parametrize("game", ["tic_tac_toe", "even_odd"])
async def test_players_of_either_protocol_play_a_game_that_they_know_nothing_of(
    home: Path, plan: PlanMaker, game: str
) -> None:
    port = free_ports(5)
    manager = f"http://localhost:{port}/mcp"
    made = plan(players=3, referees=1, game=game, manager_port=port, referee_port=port + 1, player_port=port + 2)
    new = ScriptedPlayer("New", f"http://localhost:{port + 3}/mcp")
    old = ScriptedV1Player("Old", f"http://localhost:{port + 4}/mcp")
    async with AsyncExitStack() as stack:
        carrier = HttpCarrier()
        stack.push_async_callback(carrier.close)
        for place, guest in ((3, new), (4, old)):
            await stack.enter_async_context(served(guest.answer, port + place))
        league = await stack.enter_async_context(hosted(made, guests=2))
        assert (await new.register(carrier, manager, game_types=["*"]))["status"] == "ACCEPTED"
        admitted = await register_v1(old, carrier, manager)
        assert (admitted["status"], admitted["player_id"]) == ("ACCEPTED", "player_003")
        old.player_id = "P03"
        completed = await league.completed()
    assert completed.matches == 3
    check_matches(MatchRepository(completed.league_id, home))
    assert not new.received_params("choose_parity")
    for asked in new.received_params("make_move"):
        assert asked["move_request"]["move_type"] == game
    for asked in old.received_params("PLAY_REQUEST"):
        assert asked["game_state"]["game_specific_state"]["game_type"] == game


def check_matches(matches: MatchRepository) -> None:
    """All were played to their end, that of the two guests too, and hold together."""
    records = [matches.load(match_id) or {} for match_id in matches.list()]
    for record in records:
        assert record["result"]["status"] in (Outcome.WIN, Outcome.DRAW)
        assert set(record["result"]["terminations"].values()) == {"normal"}
        assert [finding.sentence for finding in verify_match(record) if not finding.ok] == []
    pairs = [set(record["players"].values()) for record in records]
    assert sorted(map(sorted, pairs)) == [["P01", "P02"], ["P01", "P03"], ["P02", "P03"]]
