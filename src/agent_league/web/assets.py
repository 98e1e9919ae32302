"""The files that pages are dressed in, read once. An address that carries a file's own tag can be kept for ever."""

import mimetypes
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agent_league.web.caching import Written, written


@cache
def assets() -> Mapping[str, Written]:
    """All of them by name."""
    folder = files("agent_league.web") / "static"
    return {file.name: written(file.read_bytes()) for file in folder.iterdir() if file.is_file()}


def tag_of(name: str) -> str:
    """What an address adds to a file's name, so that a changed file has another."""
    return assets()[name].tag


def type_of(name: str) -> str:
    """What a browser takes a file for."""
    if name.endswith(".js"):
        return "text/javascript; charset=utf-8"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
