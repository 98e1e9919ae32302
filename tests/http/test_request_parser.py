"""Requests read from bytes, with and without an offer to go on in another protocol."""

import httptools
import pytest

from agent_league.http.request_parser import HeaderList, RequestParser, remove_upgrade_headers
from tests.http.wire import request

SOCKET = ["Connection: Upgrade", "Upgrade: websocket"]


class Told:
    """Keeps the requests that a parser tells of."""

    def __init__(self) -> None:
        self.url, self.headers, self.body = b"", HeaderList(), b""
        self.requests: list[tuple[bytes, HeaderList, bytes]] = []
        self.parser = RequestParser(self)

    def takes_upgrade(self) -> bool:
        return False

    def on_message_begin(self) -> None:
        self.url, self.headers, self.body = b"", [], b""

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        pass

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            self.requests.append((self.url, self.headers, self.body))


def test_a_request_with_an_offer_is_told_once_and_without_it() -> None:
    told = Told()
    told.parser.feed_data(request(b"hello", *SOCKET) * 2)
    assert told.requests == [(b"/mcp", [(b"host", b"localhost"), (b"content-length", b"5")], b"hello")] * 2


def test_what_is_said_of_a_connection_but_the_offer_is_kept() -> None:
    headers = [(b"connection", b"close, Upgrade , HTTP2-Settings"), (b"upgrade", b"h2c"), (b"http2-settings", b"x")]
    assert remove_upgrade_headers(headers) == [(b"connection", b"close")]
    assert remove_upgrade_headers([(b"connection", b"Upgrade"), (b"host", b"h")]) == [(b"host", b"h")]


def feed(told: Told, data: bytes, size: int) -> None:
    for start in range(0, len(data), size):
        told.parser.feed_data(data[start : start + size])


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("asked", "status"),
    [(b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\nx", 405), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)],
)
def test_what_is_no_http_1_is_told_apart_from_a_bad_request(asked: bytes, status: int, size: int) -> None:
    told = Told()
    with pytest.raises(httptools.HttpParserError):
        feed(told, asked, size)
    assert told.parser.rejection is not None
    assert told.parser.rejection[0] == status
    assert told.requests == []
