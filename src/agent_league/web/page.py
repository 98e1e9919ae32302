"""What a page is: a path, a template, and what the template is told. `pages/` holds one module for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from agent_league.model.names import printable
from agent_league.web.league_reader import Reader

MOST_NAMED = 12
LONGEST_SHOWN = 80
Told = Mapping[str, Any]


class NoSuchThing(Exception):
    """What a page was asked about isn't there; the sentence says what is."""


def no_such(kind: str, key: str, known: Sequence[str], listed: str) -> NoSuchThing:
    """Names those that there are, or those most like it and the page on which all are `listed`."""
    if len(known) <= MOST_NAMED:
        return NoSuchThing(f"There is no {kind} {quoted(key)} here. There are: {', '.join(known) or 'none yet'}.")
    spelled = {name.upper(): name for name in known}
    near = [spelled[name] for name in get_close_matches(key[:LONGEST_SHOWN].upper(), spelled)]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return NoSuchThing(f"There is no {kind} {quoted(key)} here.{meant} The page {listed} has all {len(known)}.")


def quoted(name: str) -> str:
    """A word from outside, not too long."""
    shown = printable(name[:LONGEST_SHOWN])
    return f"“{shown}…”" if len(name) > LONGEST_SHOWN else f"“{shown}”"


def _as_it_is(told: Told) -> Told:
    return told


def _may_change(_: Reader, __: str) -> bool:
    return False


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
    is_settled: Callable[[Reader, str], bool] = _may_change
    """Whether a page will not change any more."""
    is_exported: bool = True

    def at(self, key: str) -> str:
        """Its path for a key."""
        return self.path.replace("{key}", key)
