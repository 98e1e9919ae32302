"""Definition of a page: its path, its template, and how the template's data is read. `pages` has one module each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from agent_league.text import MAX_WORD, redact_keys, shorten, to_printable
from agent_league.web.league_reader import LeagueReader

MOST_NAMED = 12
PageData = Mapping[str, Any]


class PageNotFound(Exception):
    """A page for a key that doesn't exist; the message names those that do. Answered with 404."""


def build_not_found(kind: str, key: str, known: Sequence[str], listed: str) -> PageNotFound:
    """Build the error for an unknown key: it lists the known keys, or close matches and the page `listed` if many."""
    if len(known) <= MOST_NAMED:
        return PageNotFound(f"There is no {kind} {quote_name(key)} here. There are: {', '.join(known) or 'none yet'}.")
    spelled = {name.upper(): name for name in known}
    near = [spelled[name] for name in get_close_matches(shorten(key).upper(), spelled)]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return PageNotFound(f"There is no {kind} {quote_name(key)} here.{meant} The page {listed} has all {len(known)}.")


def quote_name(name: str) -> str:
    """Quote a name from outside, made printable and shortened, without the key of a mistyped address."""
    return f"“{to_printable(redact_keys(name), MAX_WORD)}”"


def _return_unchanged(told: PageData) -> PageData:
    return told


def _is_never_settled(_: LeagueReader, __: str) -> bool:
    return False


def _is_always_offered(_: LeagueReader) -> bool:
    return True


def _list_single_key(_: LeagueReader) -> Iterable[str]:
    return ("",)


@dataclass(frozen=True, slots=True)
class Page:
    """One kind of page."""

    path: str
    """`schedule`, or a folder of pages, one for each key: `matches/{key}`."""
    template: str
    read_data: Callable[[LeagueReader, str], PageData]
    """Read the template's data for a key out of the league's state; raises PageNotFound.

    Runs on the event loop, so that the state can't change meanwhile: must be quick and must not touch files.
    """
    complete_data: Callable[[PageData], PageData] = _return_unchanged
    """Complete the data with what takes longer, such as reading files. Runs in a thread."""
    title: str = ""
    """Its name among the pages of its section; empty: it is not listed there."""
    section: str = ""
    """The section of the site to which it belongs, by its name in `pages.MENU`; empty: to none."""
    list_keys: Callable[[LeagueReader], Iterable[str]] = _list_single_key
    """List all current keys."""
    is_settled: Callable[[LeagueReader, str], bool] = _is_never_settled
    """Whether the page for a key can't change any more."""
    is_exported: bool = True
    shows_ratings: bool = False
    """Whether its data has the players' ratings, which the first to ask has to wait for."""
    is_offered: Callable[[LeagueReader], bool] = _is_always_offered
    """Whether a league has such a page."""

    def path_for(self, key: str) -> str:
        """Return the path of the page for a key."""
        return self.path.replace("{key}", key)
