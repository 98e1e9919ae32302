"""The HTTP carrier against servers that behave in every way but the right one."""

import asyncio
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from agent_league.errors import BadAnswer, PeerTimeout, PeerUnreachable
from agent_league.http.carrier import MAX_BODY
from agent_league.http.client import MAX_HEAD, ClientConnection, HttpCarrier
from agent_league.http.client import PeerConnectionPool as Place
from tests.conftest import free_port
from tests.http.wire import LIMIT, Peer, chunked, raw_server, read_request, response

OK = b'{"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}'


@pytest.fixture
async def carrier() -> AsyncIterator[HttpCarrier]:
    carrier = HttpCarrier()
    yield carrier
    await carrier.close()


def answering(*answers: bytes) -> Peer:
    """A server that answers the requests of a connection with these bytes, one after the other, and then closes it."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_request(reader)
            writer.write(answer)
            await writer.drain()

    return peer


class Counting:
    """Keeps the requests of each connection and leaves the answering to a script."""

    def __init__(self, *scripts: Peer) -> None:
        self._scripts = list(scripts)
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = self._scripts[min(self.connections, len(self._scripts) - 1)]
        self.connections += 1
        await script(reader, writer)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    await asyncio.Event().wait()


async def close_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)


async def test_status_and_body_come_back(carrier: HttpCarrier) -> None:
    async with raw_server(answering(response(OK))) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)


async def test_a_request_is_a_post_of_json_without_idle_headers(carrier: HttpCarrier) -> None:
    seen: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(response(OK))

    async with raw_server(peer) as endpoint:
        await carrier.exchange(endpoint, b'{"a": 1}', LIMIT)
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    assert lines[0] == "post /mcp http/1.1"
    assert "content-type: application/json" in lines
    assert not any(line.startswith(("user-agent", "accept-encoding", "cookie")) for line in lines)
    assert body == b'{"a": 1}'


@pytest.mark.parametrize(("bearer", "sent"), [("tok-1", ["authorization: bearer tok-1"]), (None, [])])
async def test_the_bearer_s_token_travels_in_its_header(
    carrier: HttpCarrier, bearer: str | None, sent: list[str]
) -> None:
    seen: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(response(OK))

    async with raw_server(peer) as endpoint:
        await carrier.exchange(endpoint, b"{}", LIMIT, bearer)
    lines = seen[0].decode().lower().split("\r\n")
    assert [line for line in lines if line.startswith("authorization")] == sent
    assert "content-type: application/json" in lines


@pytest.mark.parametrize("bearer", ["a\r\nX-Evil: 1", "a\nb", "a\x00b"])
async def test_a_token_that_would_be_two_headers_is_not_sent(carrier: HttpCarrier, bearer: str) -> None:
    server = Counting(answering(response(OK)))
    async with raw_server(server) as endpoint:
        with pytest.raises(PeerUnreachable) as failed:
            await carrier.exchange(endpoint, b"{}", LIMIT, bearer)
    assert server.connections <= 1
    assert "Evil" not in failed.value.message


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "202 Accepted", "422 What"])
async def test_another_status_comes_back_with_its_body(carrier: HttpCarrier, status: str) -> None:
    async with raw_server(answering(response(b"text", status=status))) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (int(status[:3]), b"text")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(carrier: HttpCarrier, status: str) -> None:
    elsewhere = Counting(answering(response(OK)))
    async with raw_server(elsewhere) as trap:
        redirect = response(b"", f"Location: {trap}", status=status)
        async with raw_server(answering(redirect)) as endpoint:
            assert await carrier.exchange(endpoint, b"{}", LIMIT) == (int(status[:3]), b"")
    assert elsewhere.connections == 0


async def test_a_cookie_is_not_sent_back(carrier: HttpCarrier) -> None:
    seen: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await read_request(reader))
            writer.write(response(OK, "Set-Cookie: a=b"))

    async with raw_server(peer) as endpoint:
        await carrier.exchange(endpoint, b"{}", LIMIT)
        await carrier.exchange(endpoint, b"{}", LIMIT)
    assert len(seen) == 2
    assert b"a=b" not in seen[1]


async def test_a_hung_server_is_cut_off_at_the_limit(carrier: HttpCarrier) -> None:
    async with raw_server(hang) as endpoint, asyncio.timeout(LIMIT):
        with pytest.raises(PeerTimeout, match=r"within 0\.2 s"):
            await carrier.exchange(endpoint, b"{}", 0.2)


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An answer that never ends, a byte at a time."""
    await read_request(reader)
    writer.write(response(b"", "Transfer-Encoding: chunked"))
    while True:
        writer.write(b"1\r\nx\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def half_a_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-")
    await asyncio.Event().wait()


async def half_a_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(response(b"half", "Content-Length: 100"))
    await asyncio.Event().wait()


@pytest.mark.parametrize("peer", [drip, half_a_head, half_a_body])
async def test_a_server_that_goes_on_for_ever_is_cut_off_too(carrier: HttpCarrier, peer: Peer) -> None:
    async with raw_server(peer) as endpoint, asyncio.timeout(LIMIT):
        with pytest.raises(PeerTimeout):
            await carrier.exchange(endpoint, b"{}", 0.2)


async def test_the_limit_holds_for_both_tries_together(carrier: HttpCarrier) -> None:
    """A kept connection that breaks off late doesn't start the time anew: then the second would break off in time."""

    async def break_off_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await asyncio.sleep(0.3)

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(response(OK))(reader, writer)
        await break_off_late(reader, writer)

    server = Counting(answer_once, break_off_late)
    async with raw_server(server) as endpoint, asyncio.timeout(LIMIT):
        await carrier.exchange(endpoint, b"{}", LIMIT)
        with pytest.raises(PeerTimeout):
            await carrier.exchange(endpoint, b"{}", 0.5)


async def test_nobody_at_the_port_is_unreachable(carrier: HttpCarrier) -> None:
    with pytest.raises(PeerUnreachable, match="can't reach"):
        await carrier.exchange(f"http://127.0.0.1:{free_port()}/mcp", b"{}", LIMIT)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "nonsense",
        "http://",
        "ftp://localhost/mcp",
        "http://localhost:99999/mcp",
        "http://[::1",
        "http://a b/",
        "/mcp",
    ],
)
async def test_an_address_that_is_none_is_unreachable(carrier: HttpCarrier, endpoint: str) -> None:
    with pytest.raises(PeerUnreachable):
        await carrier.exchange(endpoint, b"{}", LIMIT)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"\x00\xff" * 50 + b"\r\n\r\n",
        response(b"short", "Content-Length: 100"),
        response(b"5\r\nab", "Transfer-Encoding: chunked"),
        response(b"zz\r\nab\r\n", "Transfer-Encoding: chunked"),
        response(b"x", "Content-Length: -1"),
    ],
)
async def test_an_answer_that_is_not_http_or_breaks_off_is_unreachable(carrier: HttpCarrier, answer: bytes) -> None:
    async with raw_server(answering(answer)) as endpoint:
        with pytest.raises(PeerUnreachable):
            await carrier.exchange(endpoint, b"{}", LIMIT)


async def test_an_answer_of_exactly_one_mebibyte_is_read(carrier: HttpCarrier) -> None:
    body = b"x" * MAX_BODY
    for answer in (response(body), response(chunked(body), "Transfer-Encoding: chunked")):
        async with raw_server(answering(answer)) as endpoint:
            assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, body)


@pytest.mark.parametrize(
    "headers", [(), ("Transfer-Encoding: chunked",), ("Connection: close", "Content-Length: ignored")]
)
async def test_a_larger_answer_is_a_bad_answer_however_it_comes(carrier: HttpCarrier, headers: tuple[str, ...]) -> None:
    body = b"x" * (MAX_BODY + 1)
    if "Content-Length: ignored" in headers:
        answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
    else:
        answer = response(chunked(body) if headers else body, *headers)
    async with raw_server(answering(answer)) as endpoint:
        with pytest.raises(BadAnswer, match="more than 1048576 bytes"):
            await carrier.exchange(endpoint, b"{}", LIMIT)


async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends without end, as fast as it is taken."""
    await read_request(reader)
    writer.write(response(b"", "Transfer-Encoding: chunked"))
    while True:
        writer.write(b"%x\r\n%s\r\n" % (65536, b"x" * 65536))
        await writer.drain()


async def test_an_answer_without_end_is_left_at_the_limit(carrier: HttpCarrier) -> None:
    async with raw_server(flood) as endpoint:
        with pytest.raises(BadAnswer):
            await carrier.exchange(endpoint, b"{}", LIMIT)


async def test_a_body_longer_than_it_says_is_cut_and_poisons_no_later_call(carrier: HttpCarrier) -> None:
    """What a server sends in advance is not taken for the answer to the next call."""
    forged = response(b'{"forged": true}')
    server = Counting(answering(response(OK) + forged, response(OK)), answering(response(OK)))
    async with raw_server(server) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)


async def test_a_packed_answer_is_not_unpacked(carrier: HttpCarrier) -> None:
    """A mebibyte of zeros packs into a kilobyte; so does a hundred of them."""
    packed = gzip.compress(b"0" * (20 * MAX_BODY))
    async with raw_server(answering(response(packed, "Content-Encoding: gzip"))) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, packed)


async def test_a_connection_is_kept_for_the_next_call(carrier: HttpCarrier) -> None:
    server = Counting(answering(*[response(OK)] * 5))
    async with raw_server(server) as endpoint:
        for _ in range(5):
            await carrier.exchange(endpoint, b"{}", LIMIT)
    assert server.connections == 1


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Breaks the connection off the hard way."""
    await answering(response(OK))(reader, writer)
    await read_request(reader)
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def close_when_asked_again(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answering(response(OK))(reader, writer)
    await read_request(reader)


@pytest.mark.parametrize("idle", [close_when_asked_again, reset])
async def test_a_server_that_closes_a_kept_connection_is_asked_again_on_a_fresh_one(
    carrier: HttpCarrier, idle: Peer
) -> None:
    server = Counting(idle, answering(response(OK)))
    async with raw_server(server) as endpoint:
        for _ in range(2):
            assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)
    assert server.connections == 2


async def test_a_server_that_dies_on_a_fresh_connection_is_asked_once(carrier: HttpCarrier) -> None:
    server = Counting(close_at_once)
    async with raw_server(server) as endpoint:
        with pytest.raises(PeerUnreachable):
            await carrier.exchange(endpoint, b"{}", LIMIT)
    assert server.connections == 1


async def test_a_server_that_dies_after_it_had_answered_is_asked_once_more_and_then_believed(
    carrier: HttpCarrier,
) -> None:
    server = Counting(close_when_asked_again, close_at_once)
    async with raw_server(server) as endpoint:
        await carrier.exchange(endpoint, b"{}", LIMIT)
        for _ in range(2):
            with pytest.raises(PeerUnreachable):
                await carrier.exchange(endpoint, b"{}", LIMIT)
    assert server.connections == 3


async def test_many_calls_run_at_once(carrier: HttpCarrier) -> None:
    together = asyncio.Barrier(50)

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await together.wait()
        writer.write(response(OK))

    async with raw_server(peer) as endpoint:
        answers = await asyncio.gather(*(carrier.exchange(endpoint, b"{}", LIMIT) for _ in range(50)))
    assert answers == [(200, OK)] * 50


async def test_an_idle_connection_is_closed_before_the_server_would_close_it(
    carrier: HttpCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.http.client.KEEP_ALIVE_SECONDS", 0.05)
    closed = asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering(response(OK))(reader, writer)
        await reader.read()
        closed.set()

    async with raw_server(peer) as endpoint, asyncio.timeout(LIMIT):
        await carrier.exchange(endpoint, b"{}", LIMIT)
        await closed.wait()


async def test_a_call_that_is_given_up_ends_its_connection(carrier: HttpCarrier) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await reader.read()
        closed.set()

    async with raw_server(peer) as endpoint, asyncio.timeout(LIMIT):
        call = asyncio.create_task(carrier.exchange(endpoint, b"{}", LIMIT))
        await asked.wait()
        call.cancel()
        await closed.wait()


async def test_no_more_than_some_connections_are_kept_to_one_peer(
    carrier: HttpCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.http.client.MAX_IDLE_CONNECTIONS", 2)
    together, closed = asyncio.Barrier(5), asyncio.Semaphore(0)

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await together.wait()
        writer.write(response(OK))
        await reader.read()
        closed.release()

    async with raw_server(peer) as endpoint, asyncio.timeout(LIMIT):
        await asyncio.gather(*(carrier.exchange(endpoint, b"{}", LIMIT) for _ in range(5)))
        for _ in range(3):
            await closed.acquire()


async def test_a_hundred_interim_answers_are_no_answer(carrier: HttpCarrier) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
    async with raw_server(answering(interim + response(OK))) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)


async def test_headers_go_beside_the_frame_and_only_beside_that_one(carrier: HttpCarrier) -> None:
    seen: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await read_request(reader))
            writer.write(response(OK))

    async with raw_server(peer) as endpoint:
        await carrier.exchange(endpoint, b"{}", LIMIT, "tok-1", {"Mcp-Method": "tools/call"})
        await carrier.exchange(endpoint, b"{}", LIMIT, "tok-1")
    assert [b"Mcp-Method: tools/call" in request for request in seen] == [True, False]
    assert all(b"Authorization: Bearer tok-1" in request for request in seen)


@pytest.mark.parametrize(
    ("path", "target"),
    [("", b"/"), ("/mcp?a=b", b"/mcp?a=b"), ("/ü/%20", b"/%C3%BC/%20"), ("/mcp#part", b"/mcp")],
)
async def test_whatever_path_an_address_has_is_asked_for(carrier: HttpCarrier, path: str, target: bytes) -> None:
    seen: list[bytes] = []

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(response(OK))

    async with raw_server(peer) as endpoint:
        await carrier.exchange(endpoint.removesuffix("/mcp") + path, b"{}", LIMIT)
    assert seen[0].split()[1] == target


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(OK) + OK,
        b"HTTP/1.1 200 OK\r\nServer: a\x01b\r\nContent-Length: %d\r\n\r\n" % len(OK) + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x  \r\n%b\r\n0\r\n\r\n" % (len(OK), OK),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n" + OK,
        b"HTTP/1.0 200 OK\r\n\r\n" + OK,
    ],
    ids=["LF alone", "a control character", "blanks after a length", "up to the end", "an older version"],
)
async def test_an_answer_written_by_hand_is_understood(carrier: HttpCarrier, answer: bytes) -> None:
    async with raw_server(answering(answer)) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)


@pytest.mark.parametrize("head", [b"X: " + b"x" * 20 * MAX_HEAD, b"X: x\r\n" * MAX_HEAD], ids=["long", "many"])
async def test_headers_without_end_are_left_at_their_limit(carrier: HttpCarrier, head: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\n" + head + b"\r\nContent-Length: 2\r\n\r\n{}"
    async with raw_server(answering(answer)) as endpoint:
        with pytest.raises(PeerUnreachable, match="before its body"):
            await carrier.exchange(endpoint, b"{}", LIMIT)


async def test_an_answer_of_very_many_pieces_grows_in_place(carrier: HttpCarrier) -> None:
    link = ClientConnection(asyncio.get_running_loop())
    link.on_body(b"a")
    link.on_body(b"b")
    body = link._body
    link.on_body(b"c")
    assert link._body is body
    answer = response(chunked(*[b"x"] * 100_000), "Transfer-Encoding: chunked")
    async with raw_server(answering(answer)) as endpoint:
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, b"x" * 100_000)


async def test_a_carrier_that_is_closed_ends_the_calls_under_way_and_asks_nobody_again(carrier: HttpCarrier) -> None:
    asked = asyncio.Event()

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(OK))
        await read_request(reader)
        asked.set()
        await asyncio.Event().wait()

    server = Counting(answer_once, answering(response(OK)))
    async with raw_server(server) as endpoint:
        await carrier.exchange(endpoint, b"{}", LIMIT)
        call = asyncio.create_task(carrier.exchange(endpoint, b"{}", LIMIT))
        await asked.wait()
        await carrier.close()
        with pytest.raises(PeerUnreachable):
            await call
        with pytest.raises(PeerUnreachable, match="closed already"):
            await carrier.exchange(endpoint, b"{}", LIMIT)
    assert server.connections <= 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For localhost, signed by itself; with its key in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(key.private_bytes(*plain) + signed.public_bytes(Encoding.PEM))
    return file


@asynccontextmanager
async def secure_server(certificate: Path) -> AsyncIterator[int]:
    """The port of one that answers a call on each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async with raw_server(answering(response(OK, "Connection: close")), context=context) as url:
        yield urlsplit(url).port or 0


async def test_a_certificate_that_the_system_trusts_is_good(
    carrier: HttpCarrier, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr("agent_league.http.client.tls_context", lambda: trusted)
    async with secure_server(certificate) as port:
        assert await carrier.exchange(f"https://localhost:{port}/mcp", b"{}", LIMIT) == (200, OK)
        with pytest.raises(PeerUnreachable, match=r"not trusted \(.*127\.0\.0\.1.*\)"):
            await carrier.exchange(f"https://127.0.0.1:{port}/mcp", b"{}", LIMIT)


async def test_any_other_certificate_is_refused_with_a_reason(carrier: HttpCarrier, certificate: Path) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's: the handshake failed
    async with secure_server(certificate) as port:
        with pytest.raises(PeerUnreachable, match=r"not trusted \(self.signed certificate\); \$SSL_CERT_FILE can"):
            await carrier.exchange(f"https://localhost:{port}/mcp", b"{}", LIMIT)


async def test_a_server_without_tls_is_told_apart(carrier: HttpCarrier) -> None:
    async def speak_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(response(OK))
        await reader.read()

    async with raw_server(speak_first) as endpoint:
        with pytest.raises(PeerUnreachable, match=r"no TLS \("):
            await carrier.exchange(endpoint.replace("http:", "https:"), b"{}", LIMIT)


def test_port_0_is_not_taken_for_the_usual_one() -> None:
    assert Place("http://localhost:0/mcp").port == 0
    assert Place("http://localhost/mcp").port == 80


async def test_a_host_is_looked_up_once_for_all_who_call_it(
    carrier: HttpCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, asked = asyncio.get_running_loop(), []
    look_up = loop.getaddrinfo

    async def counted(host: str, *args: Any, **kind: Any) -> Any:
        asked.append(host)
        return await look_up(host, *args, **kind)

    monkeypatch.setattr(loop, "getaddrinfo", counted)
    async with raw_server(answering(response(OK))) as one, raw_server(answering(response(OK))) as other:
        places = [endpoint.replace("127.0.0.1", "localhost") for endpoint in (one, other, one)]
        calls = await asyncio.gather(*(carrier.exchange(place, b"{}", LIMIT) for place in places))
    assert calls == [(200, OK)] * 3
    assert asked == ["localhost"]


async def test_a_host_that_was_not_found_is_looked_up_again(
    carrier: HttpCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    look_up = loop.getaddrinfo

    async def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_AGAIN, "not now")

    async with raw_server(answering(response(OK))) as endpoint:
        monkeypatch.setattr(loop, "getaddrinfo", fail)
        with pytest.raises(PeerUnreachable, match="not now"):
            await carrier.exchange(endpoint, b"{}", LIMIT)
        monkeypatch.setattr(loop, "getaddrinfo", look_up)
        assert await carrier.exchange(endpoint, b"{}", LIMIT) == (200, OK)
