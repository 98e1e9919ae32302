"""A request parser on httptools that ignores offers to upgrade to another protocol.

Java's HTTP client and `curl --http2` offer HTTP/2 with every first request (`Upgrade: h2c`) and send its body all the
same; httptools stops before that body, and would parse it as the next request. RFC 9110 lets a server ignore the offer,
so its headers are removed and the head is parsed again. Uses only public names of httptools.
"""

from types import SimpleNamespace
from typing import NoReturn, Protocol

import httptools

HeaderList = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""
UPGRADE_HEADERS = (b"upgrade", b"http2-settings")
"""Headers of an upgrade offer, which `Connection` lists as well."""


class RequestCallbacks(Protocol):
    """Callbacks of the parser; their owner keeps `url` and `headers` of the current request."""

    url: bytes
    headers: HeaderList

    def on_message_begin(self) -> None: ...
    def on_url(self, url: bytes) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_headers_complete(self) -> None: ...
    def on_body(self, body: bytes) -> None: ...
    def on_message_complete(self) -> None: ...


class RequestParser:
    """Has the methods and callbacks of `httptools.HttpRequestParser` that uvicorn uses, and ignores upgrades.

    If an offer is ignored, `on_message_begin` is called twice for its request.
    """

    def __init__(self, target: RequestCallbacks) -> None:
        self.rejection: tuple[int, str] | None = None
        """Status and sentence for a request that can't be served; None for one that just isn't HTTP."""
        self._target = target
        self._has_offer = False
        """Whether the current head offers an upgrade; its callbacks are withheld, because it is parsed again."""
        self._callbacks = SimpleNamespace(
            on_message_begin=target.on_message_begin,
            on_url=target.on_url,
            on_header=target.on_header,
            on_headers_complete=self._on_headers_complete,
            on_body=target.on_body,
            on_message_complete=self._on_message_complete,
        )
        self._parser: httptools.HttpRequestParser = self._make_parser()

    def get_method(self) -> bytes:
        return self._parser.get_method()

    def get_http_version(self) -> str:
        return self._parser.get_http_version()

    def should_keep_alive(self) -> bool:
        return self._parser.should_keep_alive()

    def should_upgrade(self) -> bool:
        return False

    def feed_data(self, data: bytes) -> None:
        """Parse more data; raises HttpParserError."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self._reparse_head()
                data = data[upgrade.args[0] :]
                continue
            except httptools.HttpParserError:
                if self._parser.get_method() == b"PRI":
                    self.reject_request(505, "this server speaks HTTP/1.1; expected no HTTP/2 preface")
                raise
            return

    def reject_request(self, status: int, sentence: str) -> NoReturn:
        """Stop parsing; raises HttpParserError."""
        self.rejection = (status, sentence)
        raise httptools.HttpParserError(sentence)

    def close(self) -> None:
        """Break the reference cycle with the callbacks' owner."""
        self._callbacks = self._parser = self._target = None  # type: ignore[assignment]

    def _make_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self._callbacks)
        # What a client sends after `Connection: close` is ignored; without this it would cost it its answer.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _on_headers_complete(self) -> None:
        self._has_offer = self._parser.should_upgrade()
        if not self._has_offer:
            self._target.on_headers_complete()

    def _on_message_complete(self) -> None:
        if not self._has_offer:
            self._target.on_message_complete()

    def _reparse_head(self) -> None:
        """Parse the withheld head again without its upgrade headers; the body follows."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            self.reject_request(405, "this server is no proxy; expected another method than CONNECT")
        head = [b"%b %b HTTP/%b" % (method, self._target.url, self._parser.get_http_version().encode())]
        head += [b"%b: %b" % header for header in remove_upgrade_headers(self._target.headers)]
        self._parser = self._make_parser()
        self._parser.feed_data(b"\r\n".join((*head, b"", b"")))


def remove_upgrade_headers(headers: HeaderList) -> HeaderList:
    """Return the headers without those of an upgrade offer."""
    kept: HeaderList = []
    for name, value in headers:
        if name == b"connection":
            options = [option.strip() for option in value.split(b",")]
            value = b", ".join(option for option in options if option.lower() not in UPGRADE_HEADERS)  # noqa: PLW2901
            if not value:
                continue
        if name not in UPGRADE_HEADERS:
            kept.append((name, value))
    return kept
