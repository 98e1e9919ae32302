"""What was said in finished matches, as far as their files lie in the manager's own SHARED folder.

A file counts only where it tells of the match that the league has recorded; an earlier league may have left others.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from agent_league.league.journal import Offload
from agent_league.model.results import MatchResult
from agent_league.storage.files import read_object
from agent_league.storage.paths import DataPaths

LARGEST_FILE = 16 * 1024 * 1024
LARGEST_TRANSCRIPT = 256 * 1024
"""Bytes of a transcript in an answer: twice as much, as real MCP sends it, is still below a message's limit."""
DIRECTIONS = ("sent", "received", "failed", "drawn")

Told = tuple[list[Any] | None, str | None]
"""A transcript, and what there is to say of it."""


class MatchFiles:
    """Reads transcripts, off the event loop."""

    def __init__(self, home: Path, league_id: str, offload: Offload) -> None:
        self._paths = DataPaths(home)
        self._league_id = league_id
        self._offload = offload

    async def transcript(self, result: MatchResult, referee_id: str | None) -> Told:
        """What was said in a finished match, or where that is kept."""
        place = self._paths.match(self._league_id, result.match_id).relative_to(self._paths.home).as_posix()
        file = await self._offload(read_match, self._paths, self._league_id, result, referee_id)
        entries = None if file is None else file["transcript"]
        if entries is None:
            keeper = f"referee {referee_id} keeps it" if referee_id else "its referee keeps it"
            return None, f"not in this manager's SHARED folder; {keeper} as {place} in its own"
        shown = list(_first(entries))
        if len(shown) == len(entries):
            return shown, None
        return shown, f"the first {len(shown)} of {len(entries)} entries; all are in {place} of the SHARED folder"


def read_match(paths: DataPaths, league_id: str, result: MatchResult, referee_id: str | None) -> dict[str, Any] | None:
    """The file of a finished match, with a transcript; until its report is acknowledged it waits beside its place."""
    places = [paths.match(league_id, result.match_id)]
    if referee_id:
        places.append(paths.match_proposal(league_id, result.match_id, referee_id))
    return next((found for path in places if (found := _read(path, result, referee_id)) is not None), None)


def _read(path: Path, result: MatchResult, referee_id: str | None) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
    except OSError:
        return None
    file = read_object(path) or {}
    told, entries = file.get("result"), file.get("transcript")
    if not isinstance(told, dict) or not isinstance(entries, list) or not all(map(_is_entry, entries)):
        return None
    found = (file.get("match_id"), file.get("referee_id"), told.get("status"), told.get("winner_player_id"))
    return file if found == (result.match_id, referee_id, str(result.outcome), result.winner) else None


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("at"), str) and entry.get("direction") in DIRECTIONS


def _first(entries: list[Any]) -> Iterator[Any]:
    """As many entries as an answer has room for."""
    room = LARGEST_TRANSCRIPT
    for entry in entries:
        room -= len(orjson.dumps(entry))
        if room < 0:
            return
        yield entry
