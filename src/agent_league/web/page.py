"""What a page is: a path, a template, and what the template is told. `pages/` holds one module for each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.web.reader import Reader

Told = Mapping[str, Any]


class NoSuchThing(Exception):
    """What a page was asked about isn't there; the sentence says what is."""


def _as_it_is(told: Told) -> Told:
    return told


def _only_one(_: Reader) -> Iterable[str]:
    return ("",)


@dataclass(frozen=True, slots=True)
class Page:
    """One kind of page."""

    path: str
    """`schedule`, or a folder of pages, one for each key: `matches/{key}`."""
    template: str
    read: Callable[[Reader, str], Told]
    """What the template is told, by the key, as plain data; raises NoSuchThing.

    Called on the event loop, where the season stands still: quick, and without a look at a disk.
    """
    work: Callable[[Told], Told] = _as_it_is
    """What takes longer, files for one: from what was read to what the template is told. Runs in a thread."""
    title: str = ""
    """Its name in the menu; without one it is reached from other pages."""
    keys: Callable[[Reader], Iterable[str]] = _only_one
    """All keys that there are now."""
    is_exported: bool = True

    def at(self, key: str) -> str:
        """Its path for a key."""
        return self.path.replace("{key}", key)
