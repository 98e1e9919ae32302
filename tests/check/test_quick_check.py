"""The quick check of a ladder: every player gets findings within its time, whatever it answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from agent_league.agent.breaker import Breaker
from agent_league.check import quick_check
from agent_league.check.quick_check import check_ladder_player
from agent_league.config.models import LeagueConfig, SystemConfig, TimeoutConfig
from agent_league.league.ladder_conductor import CheckOrder
from agent_league.league.roster import Member
from agent_league.model.agents import AgentProfile, ProtocolProfile, Role
from agent_league.model.ladder import CheckSummary
from agent_league.protocol.tokens import SigningKey
from tests.check.faulty import faulty_player
from tests.conftest import BOUND, free_ports
from tests.foreign.stage import started
from tests.foreign.v1_player import V1Player
from tests.http.wire import Peer, raw_server

QUICK = TimeoutConfig(**dict.fromkeys(TimeoutConfig.model_fields, 0.3))
SECRET = "tok-p07-" + "x" * 40


def make_order(port: int, protocol: str = "league.v2", path: str = "/mcp") -> CheckOrder:
    profile = AgentProfile(Role.PLAYER, "P07", "Ann", f"http://127.0.0.1:{port}{path}", "1.2.0", ("even_odd",))
    member = Member(profile, "hash", datetime(2030, 1, 1, tzinfo=UTC), Breaker(5))
    member.protocol_profile = ProtocolProfile(protocol)
    league = LeagueConfig(league_id="practice", game_type="even_odd")
    return CheckOrder(member, league, SystemConfig(default_league_id="practice", timeouts=QUICK), SigningKey.generate())


@asynccontextmanager
async def answering(answer: Peer) -> AsyncIterator[int]:
    """A server that treats every connection in this way."""
    async with raw_server(answer) as url:
        yield urlsplit(url).port or 0


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the caller gives up


async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    pass


def reply_with(body: bytes, head: bytes = b"200 OK\r\nContent-Type: application/json") -> Peer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + head + b"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    return answer


async def check(order: CheckOrder) -> CheckSummary:
    async with asyncio.timeout(BOUND):
        return await check_ladder_player(order)


@pytest.fixture(autouse=True)
def _short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_check, "TOTAL_SECONDS", 20.0)


@pytest.mark.parametrize(
    "answer",
    [
        hang,
        break_off,
        reply_with(b"\x00\xff no JSON"),
        reply_with(b"<html>it works</html>", b"200 OK\r\nContent-Type: text/html"),
        reply_with(json.dumps({"jsonrpc": "2.0", "id": 1, "result": [SECRET] * 3}).encode()),
        reply_with(b"[" * 50_000),
        reply_with(b"{}", b"302 Found\r\nLocation: http://127.0.0.1:1/mcp"),
        reply_with(b"no", b"500 Oops"),
    ],
    ids=["hangs", "breaks off", "no JSON", "HTML", "nonsense", "deep", "redirects", "500"],
)
async def test_a_player_that_answers_nonsense_or_nothing_gets_findings_without_secrets(answer: Peer) -> None:
    async with answering(answer) as port:
        summary = await check(make_order(port))
    assert not summary.is_passed
    assert summary.findings or summary.unjudged
    told = json.dumps(summary.to_json())
    assert SECRET not in told
    assert str(port) not in told, "nothing public tells where an agent listens"
    assert len(told) < 12_000
    assert CheckSummary.from_json(json.loads(told)) == summary


async def test_a_player_that_is_down_could_not_be_checked() -> None:
    summary = await check(make_order(free_ports(1)))
    assert not summary.is_passed
    assert summary.findings or summary.unjudged


async def test_a_good_player_passes_and_an_illegal_move_is_named() -> None:
    port = free_ports(1)
    with faulty_player(port, None):
        summary = await check(make_order(port))
    assert summary.is_passed, summary
    with faulty_player(port, None, "nonsense"):
        summary = await check(make_order(port))
    assert not summary.is_passed
    assert any("parity_choice" in one["step"] + one["hint"] for one in summary.findings)


async def test_a_player_of_v1_alone_is_checked_in_its_own_words() -> None:
    port = free_ports(1)
    guest = V1Player(port, f"http://localhost:{port + 1}/mcp")
    async with started(guest):
        summary = await check(make_order(port, "league.v1", guest.route))
        assert summary.is_passed, summary
        assert not (await check(make_order(port, "league.v2", guest.route))).is_passed
