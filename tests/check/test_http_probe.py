"""The stranger's end of the line: what it shows of messages, and how it tells why nothing came."""

import asyncio
import json

import pytest

from agent_league.check.check import normalise_agent_url
from agent_league.check.http_probe import NOT_JSON, HttpProbe, ProbeReply, format_redacted
from agent_league.check.steps import NoReply
from agent_league.errors import UserError
from tests.check.faulty import faulty_player
from tests.conftest import BOUND, free_ports
from tests.http.wire import raw_server

TOKEN = "tok-p01-0123456789abcdef"


@pytest.mark.parametrize(
    "message",
    [
        json.dumps({"auth_token": "a secret of any form"}).encode(),
        {"result": {"text": f"my token is {TOKEN}"}},
        f"not JSON: {TOKEN}",
        f"not JSON: {TOKEN}".encode(),
    ],
)
def test_a_token_is_never_shown(message: object) -> None:
    assert "secret" not in format_redacted(message)
    assert TOKEN not in format_redacted(message)
    assert "[redacted]" in format_redacted(message)


def test_a_long_message_is_cut_and_says_how_long_it_was() -> None:
    assert format_redacted("x" * 5000, 10) == "xxxxxxxxxx... (5000 letters)"


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"{", b"[" * 100_000])
def test_a_reply_that_is_no_json_is_said_to_be_none(body: bytes) -> None:
    assert ProbeReply(200, "application/json", body, 0.1).json_value is NOT_JSON


async def test_a_call_that_finds_nobody_says_so() -> None:
    probe = HttpProbe(f"http://localhost:{free_ports(1)}/mcp")
    try:
        assert await probe.find_connect_problem() == "no connection: nobody listens there"
        assert await probe.wait_until_listening(0) == "no connection: nobody listens there"
        with pytest.raises(NoReply, match="nobody listens there") as nobody:
            await probe.post(b"{}", 5)
        assert not nobody.value.silent
    finally:
        await probe.close()


async def test_a_call_without_an_answer_in_time_is_silent_and_names_its_limit() -> None:
    port = free_ports(1)
    call = {"jsonrpc": "2.0", "method": "choose_parity", "params": {"sender": "referee:REF01"}, "id": 1}
    with faulty_player(port, None, "too slow"):
        probe = HttpProbe(f"http://localhost:{port}/mcp")
        try:
            with pytest.raises(NoReply, match=r"no answer within 0\.3 s") as silence:
                await probe.post(json.dumps(call).encode(), 0.3)
            assert silence.value.silent
        finally:
            await probe.close()


async def test_a_server_that_listens_is_seen_without_any_waiting() -> None:
    port = free_ports(1)
    with faulty_player(port, None):
        probe = HttpProbe(f"http://localhost:{port}/mcp")
        try:
            assert await probe.wait_until_listening(0) is None
        finally:
            await probe.close()


async def test_a_request_that_breaks_off_goes_to_the_path_that_is_checked() -> None:
    came: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set_result(await reader.read())

    async with raw_server(take) as url:
        probe = HttpProbe(url.replace("/mcp", "/agent"))
        try:
            await probe.send_partial_request(5)
            async with asyncio.timeout(BOUND):
                assert (await came).startswith(b"POST /agent HTTP/1.1\r\n")
        finally:
            await probe.close()


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8101", "http://localhost:8101/mcp"),
        ("http://localhost:8101", "http://localhost:8101/mcp"),
        ("https://example.org/agent", "https://example.org/agent"),
    ],
)
def test_a_missing_scheme_or_path_is_understood(typed: str, address: str) -> None:
    assert normalise_agent_url(typed) == address


@pytest.mark.parametrize("typed", ["", "http://", "two words", "ftp://localhost/mcp", "http://localhost:0/mcp"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(UserError, match="is no address to check"):
        normalise_agent_url(typed)
