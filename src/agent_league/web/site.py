"""Where the pages are: behind a server, or as files beside each other. Templates ask here for every link.

Also the files that pages are dressed in, read once. An address that carries a file's own tag can be kept for ever.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol
from urllib.parse import quote

from agent_league.web.page_cache import Written, written


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
        return f"/static/{name}?{assets()[name].tag}"


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


@cache
def assets() -> Mapping[str, Written]:
    """Styles, scripts and pictures by name."""
    folder = files("agent_league.web") / "static"
    return {file.name: written(file.read_bytes()) for file in folder.iterdir() if file.is_file()}


def type_of(name: str) -> str:
    """What a browser takes a file for."""
    if name.endswith(".js"):
        return "text/javascript; charset=utf-8"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
