"""Definition of a page: its path, its template, and how the template's data is read. `pages` has one module each."""

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
    """A page for a key that doesn't exist; the message names those that do. Answered with 404."""


def no_such(kind: str, key: str, known: Sequence[str], listed: str) -> NoSuchThing:
    """Build the error for an unknown key: it lists the known keys, or close matches and the page `listed` if many."""
    if len(known) <= MOST_NAMED:
        return NoSuchThing(f"There is no {kind} {quoted(key)} here. There are: {', '.join(known) or 'none yet'}.")
    spelled = {name.upper(): name for name in known}
    near = [spelled[name] for name in get_close_matches(key[:LONGEST_SHOWN].upper(), spelled)]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return NoSuchThing(f"There is no {kind} {quoted(key)} here.{meant} The page {listed} has all {len(known)}.")


def quoted(name: str) -> str:
    """Quote a name from outside, made printable and shortened."""
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
    """Read the template's data for a key out of the league's state; raises PageNotFound.

    Runs on the event loop, so that the state can't change meanwhile: must be quick and must not touch files.
    """
    work: Callable[[Told], Told] = _as_it_is
    """Complete the data with what takes longer, such as reading files. Runs in a thread."""
    title: str = ""
    """Its name in the menu; empty: not in the menu."""
    keys: Callable[[Reader], Iterable[str]] = _only_one
    """List all current keys."""
    is_settled: Callable[[Reader, str], bool] = _may_change
    """Whether the page for a key can't change any more."""
    is_exported: bool = True

    def at(self, key: str) -> str:
        """Return the path of the page for a key."""
        return self.path.replace("{key}", key)
