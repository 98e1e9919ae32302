"""Where the pages are: behind a server, or as files beside each other. Templates ask here for every link."""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote


class Site(Protocol):
    """Turns a path such as `matches/R1M1` into what a link says; the overview is the empty path."""

    @property
    def is_live(self) -> bool: ...
    def to(self, path: str) -> str: ...
    def asset(self, name: str) -> str: ...


@dataclass(frozen=True, slots=True)
class LiveSite:
    """Behind the manager."""

    is_live: bool = True

    def to(self, path: str) -> str:
        return f"/{quote(path)}"

    def asset(self, name: str) -> str:
        return f"/static/{name}"


@dataclass(frozen=True, slots=True)
class FileSite:
    """As files, seen from one that lies so many folders deep."""

    depth: int = 0
    is_live: bool = False

    def to(self, path: str) -> str:
        return f"{'../' * self.depth}{quote(file_of(path))}"

    def asset(self, name: str) -> str:
        return f"{'../' * self.depth}static/{name}"


def file_of(path: str) -> str:
    """The file of a page within an exported site."""
    return f"{path or 'index'}.html"
