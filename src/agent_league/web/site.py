"""Links between pages, for the live site and for exported files; templates get every link from here.

Also loads the static assets, once. An asset URL with the asset's own etag can be cached forever.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol
from urllib.parse import quote

from agent_league.web.page_cache import ServedContent, encode_content


class Site(Protocol):
    """Turns a page's path, such as `matches/R1M1`, into a link; the overview is the empty path."""

    @property
    def is_live(self) -> bool: ...
    def to(self, path: str) -> str: ...
    def asset(self, name: str) -> str: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LiveSite:
    """Links of pages that the manager serves."""

    is_live: bool = True

    def to(self, path: str) -> str:
        return f"/{quote(path)}"

    def asset(self, name: str) -> str:
        return f"/static/{name}?{load_assets()[name].etag}"


@dataclass(frozen=True, slots=True)
class FileSite:
    """Relative links between exported files, from a file that is `depth` folders deep."""

    depth: int = 0
    note: str = ""
    """Notice at the top of every page if the league isn't over."""
    is_live: bool = False

    def to(self, path: str) -> str:
        return f"{'../' * self.depth}{quote(page_file(path))}"

    def asset(self, name: str) -> str:
        return f"{'../' * self.depth}static/{name}"


def page_file(path: str) -> str:
    """Return the file name of a page in an exported site."""
    return f"{path or 'index'}.html"


@cache
def load_assets() -> Mapping[str, ServedContent]:
    """Load all styles, scripts and images, by file name."""
    folder = files("agent_league.web") / "static"
    return {file.name: encode_content(file.read_bytes()) for file in folder.iterdir() if file.is_file()}


def guess_media_type(name: str) -> str:
    """Return the content type of an asset by its file name."""
    if name.endswith(".js"):
        return "text/javascript; charset=utf-8"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
