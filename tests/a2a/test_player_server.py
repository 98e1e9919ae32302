"""Our own players answer A2A at their port: asked by the SDK's own client, over HTTP."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import ClientCallContext, ClientConfig, create_client
from a2a.helpers import get_data_parts, new_data_part, new_text_part
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest

import agent_league.launch.agent_app
import agent_league.launch.agent_plan
from agent_league.a2a.agent_card import find_a2a_agent, parse_card_url
from agent_league.a2a.player_card import build_player_card
from agent_league.http.server import HttpServer
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import PlayerPlan
from agent_league.players.app import PlayerSettings
from tests.a2a.test_league import LOCAL
from tests.conftest import BOUND, free_port
from tests.players.chair import Fixed, chair, player_settings
from tests.players.test_player import FORGED_MATCH, SIGNED, match_token

QUESTION = {
    "kind": "move_request",
    "match_id": "R1M1",
    "game_type": "nim",
    "step": 2,
    "seat": 1,
    "opponent_id": "P02",
    "view": {"heaps": [3, 4]},
    "legal_moves": [[0, 1], [1, 4]],
}


@asynccontextmanager
async def served_player(home: Path, strategy: Fixed, *, practice: bool) -> AsyncIterator[str]:
    """A registered player with its whole HTTP application, and its address."""
    own = player_settings(home)
    own = replace(own, system=own.system.without_caller_checks()) if practice else own
    async with chair(home, strategy, manager=SIGNED, system=own.system) as seat:
        port = free_port()
        plan = PlayerPlan(replace(own, endpoint=f"http://localhost:{port}/mcp"), port)
        server = HttpServer(make_agent_app(plan, seat.player), "127.0.0.1", port, "the player")
        await server.start()
        try:
            yield f"http://localhost:{port}"
        finally:
            await server.stop()


async def ask(agent: str | AgentCard, part: Part, token: str | None = None) -> list[Part]:
    """Asks by the SDK's client; a str is the address of the agent, whose card is fetched."""
    async with httpx.AsyncClient(timeout=BOUND) as http:
        client = await create_client(agent, ClientConfig(httpx_client=http))
        message = Message(message_id="1", role=Role.ROLE_USER, parts=[part])
        headers = {"authorization": f"Bearer {token}"} if token else {}
        context = ClientCallContext(service_parameters=headers)
        [event] = [event async for event in client.send_message(SendMessageRequest(message=message), context=context)]
    assert event.HasField("message")
    return list(event.message.parts)


async def test_a_player_in_practice_answers_anybody_with_its_strategy_s_move(home: Path) -> None:
    strategy = Fixed([1, 4])
    async with served_player(home, strategy, practice=True) as url:
        parts = await ask(url, new_data_part(QUESTION))
    assert get_data_parts(parts) == [{"move": [1.0, 4.0]}]
    assert [part.text for part in parts if part.text] == ["[1, 4]"]
    [seen] = strategy.seen
    assert (seen.game_type, seen.seat, seen.step, seen.view) == ("nim", 1, 2, {"heaps": [3, 4]})
    assert list(seen.legal_moves) == [[0, 1], [1, 4]]
    assert repr(seen.legal_moves[1]) == "[1, 4]"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_it_answers_a2a_of_both_versions(home: Path, version: str) -> None:
    async with served_player(home, Fixed([0, 1]), practice=True) as url:
        found = await find_a2a_agent(parse_card_url(url), LOCAL)
        found.card.supported_interfaces[0].protocol_version = version
        assert get_data_parts(await ask(found.card, new_data_part(QUESTION))) == [{"move": [0.0, 1.0]}]


async def test_whoever_has_the_match_s_token_is_answered_and_the_card_asks_for_it(home: Path) -> None:
    async with served_player(home, Fixed([0, 1]), practice=False) as url:
        found = await find_a2a_agent(parse_card_url(url), LOCAL)
        parts = await ask(url, new_data_part(QUESTION), match_token())
    assert [list(one.schemes) for one in found.card.security_requirements] == [["match_token"]]
    assert get_data_parts(parts) == [{"move": [0.0, 1.0]}]


@pytest.mark.parametrize("forgery", [name for name in FORGED_MATCH if name != "a token of another referee"])
async def test_an_opponent_that_asks_in_advance_learns_nothing(home: Path, forgery: str) -> None:
    strategy = Fixed([0, 1])
    async with served_player(home, strategy, practice=False) as url:
        parts = await ask(url, new_data_part(QUESTION), FORGED_MATCH[forgery])
    [answer] = get_data_parts(parts)
    assert answer["error_code"] in ("E011", "E012")
    assert answer["error"].startswith("No move: ")
    assert strategy.seen == []


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (new_text_part("hello"), "I choose moves in games: send a data part"),
        (new_data_part([1, 2]), "I choose moves in games"),
        (new_data_part({"kind": "match_over"}), "Thank you"),
        (new_data_part({"kind": "move_request"}), "No move: "),
        (new_data_part({**QUESTION, "legal_moves": "x"}), "No move: "),
        (new_data_part({**QUESTION, "seat": 7}), "No move: "),
    ],
)
async def test_what_is_no_question_is_answered_with_a_sentence(home: Path, part: Part, sentence: str) -> None:
    async with served_player(home, Fixed([0, 1]), practice=True) as url:
        parts = await ask(url, part)
    assert any(one.text.startswith(sentence) for one in parts)


async def test_a_data_part_that_json_can_t_hold_is_no_question(home: Path) -> None:
    message = b'{"messageId": "1", "role": "ROLE_USER", "parts": [{"data": 1e999}]}'
    frame = b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": %b}}' % message
    async with served_player(home, Fixed([0, 1]), practice=True) as url, httpx.AsyncClient(timeout=BOUND) as http:
        answer = await http.post(f"{url}/a2a", content=frame, headers={"content-type": "application/json"})
    assert answer.json()["result"]["message"]["parts"][0]["text"].startswith("I choose moves in games")


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"7", b'{"method": 7}', b'{"jsonrpc": "2.0", "method": "GetTask"}'])
async def test_any_bytes_get_an_error_of_json_rpc(home: Path, body: bytes) -> None:
    async with served_player(home, Fixed([0, 1]), practice=True) as url, httpx.AsyncClient(timeout=BOUND) as http:
        answer = await http.post(f"{url}/a2a", content=body, headers={"content-type": "application/json"})
        page = await http.post(f"{url}/a2a", content=b"{}", headers={"origin": "http://evil.example"})
        large = await http.post(f"{url}/a2a", content=b" " * (1024**2 + 1))
    assert answer.json()["error"]["code"] < 0
    assert (page.status_code, large.status_code) == (403, 413)


async def test_the_card_is_the_only_page_of_its_folder(home: Path) -> None:
    async with served_player(home, Fixed(), practice=True) as url, httpx.AsyncClient(timeout=BOUND) as http:
        card = await http.get(f"{url}/.well-known/agent-card.json")
        other = await http.get(f"{url}/.well-known/openid-configuration")
        posted = await http.post(f"{url}/.well-known/agent-card.json")
    assert card.json()["name"] == "Agent Alpha"
    assert (other.status_code, posted.status_code) == (404, 405)


async def test_without_the_extra_nothing_changes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (agent_league.launch.agent_app, agent_league.launch.agent_plan):
        monkeypatch.setattr(module, "has_a2a_sdk", lambda: False)
    async with served_player(home, Fixed(), practice=True) as url, httpx.AsyncClient(timeout=BOUND) as http:
        card = await http.get(f"{url}/.well-known/agent-card.json")
        call = await http.post(f"{url}/a2a", json={})
        health = await http.get(f"{url}/health")
    assert (card.status_code, call.status_code, health.status_code) == (404, 404, 200)


def test_a_player_imports_the_sdk_with_the_first_call_and_not_before() -> None:
    program = (
        "import sys, agent_league.launch.agent_app; print([n for n in ('a2a', 'httpx', 'google') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_card_names_what_a_player_plays(home: Path) -> None:
    settings: PlayerSettings = player_settings(home, game_types=("nim", "even_odd"))
    card: dict[str, Any] = build_player_card(settings)
    assert card["skills"][0]["tags"] == ["games", "nim", "even_odd"]
    assert card["supportedInterfaces"][0]["url"] == "http://localhost:8101/a2a"


async def test_wrong_calls_are_answered_and_leave_the_terminal_as_it_was(home: Path) -> None:
    script = """
import asyncio, json, sys
from agent_league.a2a.player_server import make_frame_handler
answer = make_frame_handler(json.loads(sys.argv[1]), None)
print(asyncio.run(answer(b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{}]}}}')))
"""
    card = json.dumps(build_player_card(player_settings(home)))
    ran = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, card, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    told, printed = await ran.communicate()
    assert (b"Invalid Request" in told, printed) == (True, b"")
