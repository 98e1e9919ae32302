"""Where the pages are: behind a server, or as files beside each other. Templates ask here for every link."""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from agent_league.web.assets import tag_of


class Site(Protocol):
    """Turns a path such as `matches/R1M1` into what a link says; the overview is the empty path."""

    @property
    def is_live(self) -> bool: ...
    def to(self, path: str) -> str: ...
    def asset(self, name: str) -> str: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LiveSite:
    """Behind the manager."""

    is_live: bool = True

    def to(self, path: str) -> str:
        return f"/{quote(path)}"

    def asset(self, name: str) -> str:
        return f"/static/{name}?{tag_of(name)}"


@dataclass(frozen=True, slots=True)
class FileSite:
    """As files, seen from one that lies so many folders deep."""

    depth: int = 0
    note: str = ""
    """What every page says first, where the league isn't over."""
    is_live: bool = False

    def to(self, path: str) -> str:
        return f"{'../' * self.depth}{quote(file_of(path))}"

    def asset(self, name: str) -> str:
        return f"{'../' * self.depth}static/{name}"


def file_of(path: str) -> str:
    """The file of a page within an exported site."""
    return f"{path or 'index'}.html"
