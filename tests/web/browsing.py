"""Looking at pages without a browser: a page's elements, and requests to an application in this process."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from starlette.types import ASGIApp, Message, Scope

from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.rendering import LiveSite, Site

NOTHING = "\N{EN DASH}"
"""What a cell says that has no number."""
EMPTY = ("meta", "link", "br", "img", "input", "hr", "col")


@dataclass(slots=True)
class Element:
    """One element of a page."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list["Element | str"] = field(default_factory=list)

    def all(self, tag: str, kind: str = "") -> list["Element"]:
        """Those inside with this tag and, where it is named, this class."""
        return [one for one in self._below() if one.tag == tag and (not kind or kind in one.kinds)]

    def one(self, tag: str, kind: str = "") -> "Element":
        (found,) = self.all(tag, kind)
        return found

    @property
    def kinds(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        """What is read, with single blanks."""
        parts = (part if isinstance(part, str) else f" {part.text} " for part in self.inside)
        return " ".join("".join(parts).split())

    def _below(self) -> Iterator["Element"]:
        for part in self.inside:
            if isinstance(part, Element):
                yield part
                yield from part._below()

    def table(self, caption: str) -> list[list["Element"]]:
        """The cells of the rows below the head, of the table whose caption has this in it."""
        found = next(table for table in self.all("table") if any(caption in one.text for one in table.all("caption")))
        return [[*cells(row)] for row in found.one("tbody").all("tr")]


def cells(row: Element) -> Iterator[Element]:
    return (part for part in row.inside if isinstance(part, Element) and part.tag in ("th", "td"))


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("document")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].inside.append(element)
        if tag not in EMPTY:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            closed = self._open.pop()
            assert closed.tag == tag, f"<{closed.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


def parsed(text: str) -> Element:
    """A page's elements; whatever is opened must be closed, in order."""
    reading = _Reading()
    reading.feed(text)
    reading.close()
    assert reading._open == [reading.root], f"never closed: {reading._open[-1].tag}"
    return reading.root


def text_of(page: Page, reader: LeagueReader, key: str = "", site: Site | None = None) -> str:
    """A page as it is sent."""
    site = site or LiveSite()
    return render_page(page, read_page_data(page, key, reader, site), site)


def shown(page: Page, reader: LeagueReader, key: str = "") -> Element:
    return parsed(text_of(page, reader, key))


async def get(app: ASGIApp, path: str) -> tuple[int, str]:
    """Status and body of an answer; `path` may have a query."""
    path, _, query = path.partition("?")
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], body.decode()
