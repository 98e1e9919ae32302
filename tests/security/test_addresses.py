"""Attacks by address: endpoints that lead elsewhere, back to ourselves, or to a server that never comes to an end."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yarl

from agent_league.config import ConfigLoader
from agent_league.http.carrier import MAX_BODY
from agent_league.http.client import HttpCarrier
from agent_league.http.hosts import find_endpoint_problem, normalise_host
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.model.events import MatchFinished
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import FAST, NO_PAUSES, free_ports
from tests.http.wire import Peer, raw_server, read_request, response
from tests.launch.scripted_guests import hosted
from tests.security.stage import files_in, staged

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ELSEWHERE = [
    "http://evil.example/mcp",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost.evil.example/mcp",
    "http://evil.example.localhost/mcp",
    "http://localhost@evil.example/mcp",
    "http://localhost:8101@evil.example/mcp",
    "http://user:password@localhost:8101/mcp",
    "http://@localhost:8101/mcp",
    "http://localhost\\@evil.example/mcp",
    "http://localhost\\.evil.example/mcp",
    "http://localhost#@evil.example/mcp",
    "http://localhost%00.evil.example/mcp",
    "http://localhost%2eevil.example/mcp",
    "http://2130706433/mcp",
    "http://0x7f000001/mcp",
    "http://0x7f.1/mcp",
    "http://0177.0.0.1/mcp",
    "http://127.1/mcp",
    "http://127.0.0.2/mcp",
    "http://0.0.0.0:8101/mcp",
    "http://0/mcp",
    "http://[::]:8101/mcp",
    "http://[::1%25lo]:8101/mcp",
    "http://\uff4cocalhost/mcp",
    "http://127\u30020.0.1/mcp",
    "http://\u24db\u24de\u24d2alhost/mcp",
    "http://local\u00adhost/mcp",
    "http://localhost\n.evil.example/mcp",
    "http://localhost\t:8101/mcp",
    "//localhost:8101/mcp",
    "localhost:8101/mcp",
    "file:///etc/passwd",
    "gopher://localhost:8101/mcp",
    "unix:///run/docker.sock",
    "http+unix://localhost/mcp",
    "http://localhost:0/mcp",
    "http://localhost:99999/mcp",
    "http://localhost:-1/mcp",
    "http://localhost:8101/mcp\r\nX-Evil: 1",
    "http://localhost:8101/ mcp",
    "",
]


async def test_an_address_that_leads_elsewhere_is_refused_however_it_is_spelled(tmp_path: Path) -> None:
    async with staged(tmp_path, started=False) as stage:
        for endpoint in ELSEWHERE:
            for role in ("player", "referee"):
                answer = await stage.register(role, "Mallory", endpoint)
                assert (endpoint, answer.get("reason")) == (endpoint, "Invalid MCP endpoint")
        await stage.mallory.register(stage.network, stage.endpoints["manager"])
        await stage.start(stage.admin_token)
        await stage.ends_unharmed()


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"]
)
def test_what_is_allowed_is_what_our_client_calls(host: str) -> None:
    """The one who checks an address and the one who calls it must read it alike."""
    for rest in ("/mcp", ":8101/mcp", ":8101", "/a/b;c?d=e&f=@evil.example", "/%2e%2e//evil.example/"):
        endpoint = f"http://{host}{rest}"
        assert find_endpoint_problem(endpoint, LOOPBACK) is None
        assert normalise_host(str(yarl.URL(endpoint).host)) in LOOPBACK


@pytest.mark.parametrize("whose", ["manager", "REF01", "REF02", "P01"])
async def test_an_address_of_somebody_else_in_the_league_costs_its_owner_its_matches_and_goes_round_in_no_circle(
    tmp_path: Path, whose: str
) -> None:
    async with staged(tmp_path, NO_PAUSES, started=False) as stage:
        answer = await stage.register("player", "Mallory", stage.endpoints[whose])
        mallory = answer["player_id"]
        assert await stage.start(stage.admin_token) == {"status": "ok"}
        await stage.manager.completed.wait()
        results = list(stage.manager.state.results.values())
        lost = [result for result in results if mallory in result.players]
        assert [set(result.terminations) for result in lost] == [{mallory}] * 3
        assert [dict(result.terminations) for result in results if result not in lost] == [{}] * 3
        assert {row.player_id: row.played for row in stage.manager.state.standings()} == dict.fromkeys(
            [*stage.players, mallory], 3
        )
        for player_id, player in stage.players.items():
            assert len(player.games) == 3, player_id
        assert len(stage.network.calls) < 300


async def test_a_referee_at_the_managers_own_address_gets_matches_that_others_play(tmp_path: Path) -> None:
    async with staged(tmp_path, NO_PAUSES, started=False) as stage:
        answer = await stage.register("referee", "Mallory", stage.endpoints["manager"])
        assert answer["status"] == "ACCEPTED"
        await stage.mallory.register(stage.network, stage.endpoints["manager"])
        assert await stage.start(stage.admin_token) == {"status": "ok"}
        await stage.ends_unharmed()
        assert len(stage.network.calls) < 400


class Counted:
    """A server's way to count what it got rid of, and who came."""

    def __init__(self) -> None:
        self.visits = 0
        self.most = 0

    def pouring(self, head: bytes, piece: bytes, pause: float) -> Peer:
        """Answers with a head, and then without end."""

        async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.visits += 1
            sent = 0
            await read_request(reader)
            writer.write(head)
            while True:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
                self.most = max(self.most, sent)
                await asyncio.sleep(pause)

        return peer

    def saying(self, answer: Callable[[], bytes]) -> Peer:
        async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.visits += 1
            await read_request(reader)
            writer.write(answer())
            await writer.drain()

        return peer


LIMITS = {**FAST, "timeouts.game_join_ack_timeout_sec": 1, "timeouts.move_timeout_sec": 1}


async def play_with(home: Path, endpoint: str) -> tuple[list[Any], dict[str, str]]:
    """A league over HTTP of three players of ours and P04 at this address: its results in order, and how P04 lost."""
    port = free_ports(6)
    request = LeagueRequest(
        home=home, players=4, referees=2, manager_port=port, referee_port=port + 1, player_port=port + 3
    )
    carrier = HttpCarrier()
    try:
        async with hosted(make_league_plan(ConfigLoader(home, LIMITS), request), guests=1) as league:
            guest = ScriptedPlayer("Guest P04", endpoint)
            assert (await guest.register(carrier, f"http://localhost:{port}/mcp"))["status"] == "ACCEPTED"
            await league.completed()
    finally:
        await carrier.close()
    results = [event.result for event in league.events if isinstance(event, MatchFinished)]
    lost = {result.match_id: str(result.terminations.get("P04")) for result in results if "P04" in result.players}
    return results, lost


def assert_costs_only_itself(results: list[Any], lost: dict[str, str], endings: set[str]) -> None:
    assert len(results) == 6
    assert len(lost) == 3
    assert set(lost.values()) <= endings
    for result in results:
        others = {player for player in result.terminations if player != "P04"}
        assert others == set()
        if result.match_id in lost:
            assert result.winner != "P04"
    first_round = [result for result in results if result.round_id == 1]
    assert first_round[0].match_id not in lost, "nobody waited for the one who takes its time"


async def test_a_player_that_answers_with_100_mb_costs_itself_the_match_and_us_a_megabyte(home: Path) -> None:
    counted = Counted()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"
    async with raw_server(counted.pouring(head, b" " * 65536, 0)) as endpoint:
        results, lost = await play_with(home, endpoint)
    assert_costs_only_itself(results, lost, {"unreadable_answer", "suspended"})
    assert counted.visits > 0
    assert counted.most < 10 * MAX_BODY
    assert max(path.stat().st_size for path in files_in(home / "logs")) < MAX_BODY


async def test_a_player_that_answers_a_byte_at_a_time_costs_itself_the_match(home: Path) -> None:
    counted = Counted()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    async with raw_server(counted.pouring(head, b" ", 0.1)) as endpoint:
        results, lost = await play_with(home, endpoint)
    assert_costs_only_itself(results, lost, {"join_timeout", "suspended"})
    assert 0 < counted.most < 200


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(home: Path, status: str) -> None:
    there, here = Counted(), Counted()
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(raw_server(there.saying(lambda: response(b"{}"))))
        moved = response(b"", f"Location: {target}", "Connection: close", status=status)
        endpoint = await stack.enter_async_context(raw_server(here.saying(lambda: moved)))
        carrier = HttpCarrier()
        stack.push_async_callback(carrier.close)
        assert (await carrier.exchange(endpoint, b"{}", 10))[0] == int(status[:3])
    assert (here.visits, there.visits) == (1, 0)


async def test_a_player_that_sends_us_elsewhere_costs_itself_the_match(home: Path) -> None:
    there, here = Counted(), Counted()
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(raw_server(there.saying(lambda: response(b"{}"))))
        moved = response(b"", f"Location: {target}", "Connection: close", status="307 Temporary Redirect")
        endpoint = await stack.enter_async_context(raw_server(here.saying(lambda: moved)))
        results, lost = await play_with(home, endpoint)
    assert_costs_only_itself(results, lost, {"unreadable_answer", "suspended"})
    assert here.visits > 0
    assert there.visits == 0
