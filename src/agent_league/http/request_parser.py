"""A request parser on httptools that ignores offers to upgrade to another protocol.

Java's HTTP client and `curl --http2` offer HTTP/2 with every first request (`Upgrade: h2c`) and send its body all the
same; httptools stops before that body, and would parse it as the next request. RFC 9110 lets a server ignore the offer,
so its headers are removed and the head is parsed again. Uses only public names of httptools.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol

import httptools

HeaderList = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""
UpgradeCheck = Callable[[bytes, HeaderList], bool]
"""Whether to accept an upgrade, given the request target and the headers."""
UPGRADE_HEADERS = (b"upgrade", b"http2-settings")
"""Headers of an upgrade offer, which `Connection` lists as well."""
FORWARDED_CALLBACKS = (
    "on_message_begin",
    "on_url",
    "on_header",
    "on_body",
    "on_chunk_header",
    "on_chunk_complete",
    "on_status",
)


class UnsupportedRequest(httptools.HttpParserError):
    """A request that isn't HTTP/1, with the status and sentence to reject it with."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


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
    """A parser with the methods and callbacks of `httptools.HttpRequestParser` that ignores upgrades.

    If `is_upgrade_wanted` accepts one, `feed_data` raises HttpParserUpgrade as httptools does, with the number of bytes
    up to the end of the head. If an offer is ignored, `on_message_begin` is called twice for its request.
    """

    def __init__(self, target: RequestCallbacks, is_upgrade_wanted: UpgradeCheck | None = None) -> None:
        self._target = target
        self._is_upgrade_wanted = is_upgrade_wanted
        self._withholds_head = False
        """Whether callbacks are suppressed, because the head is parsed again or rejected."""
        self._callbacks: Any = SimpleNamespace(
            on_headers_complete=self._on_headers_complete,
            on_message_complete=self._on_message_complete,
            **{name: told for name in FORWARDED_CALLBACKS if (told := getattr(target, name, None))},
        )
        self._parser: httptools.HttpRequestParser = self._make_parser()

    def feed_data(self, data: bytes) -> None:
        """Parse more data; raises HttpParserError (UnsupportedRequest has details) and HttpParserUpgrade."""
        begin = 0
        while True:
            try:
                self._parser.feed_data(data[begin:] if begin else data)
            except httptools.HttpParserUpgrade as upgrade:
                begin += upgrade.args[0]
                if not self._withholds_head:
                    raise httptools.HttpParserUpgrade(begin) from None
                self._reparse_head()
                continue
            except httptools.HttpParserError:
                if self._parser.get_method() == b"PRI":
                    raise UnsupportedRequest(505, "this server speaks HTTP/1.1; expected no HTTP/2 preface") from None
                raise
            return

    def get_method(self) -> bytes:
        return self._parser.get_method()

    def get_http_version(self) -> str:
        return self._parser.get_http_version()

    def should_keep_alive(self) -> bool:
        return self._parser.should_keep_alive()

    def should_upgrade(self) -> bool:
        return self._parser.should_upgrade()

    def close(self) -> None:
        """Break the reference cycle with the callbacks' owner."""
        self._callbacks = self._parser = self._target = None  # type: ignore[assignment]

    def _make_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self._callbacks)
        # What a client sends after `Connection: close` is ignored; without this it would cost it its answer.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _on_headers_complete(self) -> None:
        parser = self._parser
        if parser.should_upgrade():
            is_wanted = self._is_upgrade_wanted
            self._withholds_head = is_wanted is None or not is_wanted(self._target.url, self._target.headers)
            if self._withholds_head:
                return
        self._target.on_headers_complete()

    def _on_message_complete(self) -> None:
        if not self._withholds_head:
            self._target.on_message_complete()

    def _reparse_head(self) -> None:
        """Parse the withheld head again without its upgrade headers; the body follows."""
        self._withholds_head = False
        method = self._parser.get_method()
        if method == b"CONNECT":
            raise UnsupportedRequest(405, "this server is no proxy; expected another method than CONNECT")
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
