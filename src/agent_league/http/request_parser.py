"""A request parser on httptools that ignores offers to upgrade to another protocol, unless its target takes them.

Java's HTTP client and `curl --http2` offer HTTP/2 with every first request (`Upgrade: h2c`) and send its body all the
same; httptools stops before that body, and would parse it as the next request. RFC 9110 lets a server ignore the offer,
so its headers are removed and the head is parsed again. Uses only public names of httptools.
"""

from typing import NoReturn, Protocol

import httptools

HeaderList = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""
UPGRADE_HEADERS = (b"upgrade", b"http2-settings")
"""Headers of an upgrade offer, which `Connection` lists as well."""


class RequestTarget(Protocol):
    """Has httptools' callbacks, and keeps its parser, and `url` and `headers` of the current request.

    While `parser.should_upgrade()`, it ignores the end of the head and of the message: both come again.
    """

    parser: "RequestParser"
    url: bytes
    headers: HeaderList

    def takes_upgrade(self) -> bool:
        """Whether the offer of the current request is taken: then HttpParserUpgrade is raised."""
        ...


class RequestParser(httptools.HttpRequestParser):
    """Parses one connection's requests, until one has an offer; then it makes another parser that goes on."""

    def __init__(self, target: RequestTarget) -> None:
        super().__init__(target)
        self.rejection: tuple[int, str] | None = None
        """Status and sentence for a request that can't be served; None for one that just isn't HTTP."""
        self._target = target
        # What a client sends after `Connection: close` is ignored; without this it would cost it its answer.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # asyncio gives nothing but bytes
        """Parse more data; raises HttpParserError, or HttpParserUpgrade for an offer that is taken."""
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._target.takes_upgrade():
                raise
            self._continue_without_offer(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            if self.get_method() == b"PRI":
                self.reject_request(505, "this server speaks HTTP/1.1; expected no HTTP/2 preface")
            raise

    def reject_request(self, status: int, sentence: str) -> NoReturn:
        """Stop parsing; raises HttpParserError."""
        self.rejection = (status, sentence)
        raise httptools.HttpParserError(sentence)

    def _continue_without_offer(self, rest: bytes) -> None:
        """Parse the head again without its upgrade headers, and then its body."""
        method = self.get_method()
        if method == b"CONNECT":
            self.reject_request(405, "this server is no proxy; expected another method than CONNECT")
        head = [b"%b %b HTTP/%b" % (method, self._target.url, self.get_http_version().encode())]
        head += [b"%b: %b" % header for header in remove_upgrade_headers(self._target.headers)]
        self._target.parser = parser = RequestParser(self._target)
        parser.feed_data(b"\r\n".join((*head, b"", b"")))
        parser.feed_data(rest)


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
