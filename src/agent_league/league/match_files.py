"""Transcripts of finished matches, read from match files in the manager's own SHARED folder.

A file counts only if it matches the recorded result; an earlier league may have left files of the same name.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agent_league.league.journal import Offload
from agent_league.league.state import Season
from agent_league.log import redacted
from agent_league.model.addresses import without_addresses
from agent_league.model.results import MatchResult, Termination
from agent_league.storage.files import read_by_entries, read_json
from agent_league.storage.paths import DataPaths

LARGEST_FILE = 16 * 1024 * 1024
LARGEST_TRANSCRIPT = 256 * 1024
"""Bytes of a transcript in an answer: MCP sends it twice, which is still below the message size limit."""
MOST_KEPT = 32
"""Transcripts that are cached as they were answered last."""
SIGNS_OF_TOKENS = (b"tok-", b"eyJ")
"""Every token contains one of these."""
DIRECTIONS = ("sent", "received", "failed", "drawn")
LEFT_OUT = {"at": "", "direction": "sent"}
"""Stands for an entry that doesn't fit into the answer."""

REPORTED = "reported"
"""Key of a flag in files that the manager wrote itself from a guest referee's report, without a transcript."""

ReadEntry = Callable[[bytes], Any]
"""Parses the JSON text of one transcript entry."""
Told = tuple[list[Any] | None, str | None]
"""The transcript, or None, and a note on what is missing or where it is kept."""


class BadMatchFile(Exception):
    """A file that is no match file, or of another match; the message says why in half a sentence."""


class NotThere(BadMatchFile):
    """There is no file of this match, or only one that an earlier league left."""


@dataclass(frozen=True, slots=True)
class Filed:
    """What a SHARED folder holds of a finished match."""

    place: str
    """Where its file belongs, relative to the folder."""
    content: dict[str, Any] | None = None
    """The file's content, with an object as `result` and a list of entries as `transcript`; or None."""
    shortfall: str = ""
    """Why there is no content: where else the file is, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A transcript as it was answered, and what identifies the files it was read from."""

    source: tuple[Any, ...]
    shown: bytes
    note: str | None


class MatchFiles:
    """Reads transcripts outside the event loop, one at a time, and caches them until their files change."""

    def __init__(self, home: Path, league_id: str, offload: Offload) -> None:
        self._paths = DataPaths(home)
        self._league_id = league_id
        self._offload = offload
        self._reading = asyncio.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def transcript(self, result: MatchResult, referee_id: str | None) -> Told:
        """Read the transcript of a finished match; without one, the note says where it is kept."""
        async with self._reading:  # a file has up to 16 MB, and several times that while it is read
            found = await self._offload(self._find, result, referee_id)
        return (orjson.loads(found.shown), found.note) if isinstance(found, _Kept) else (None, found)

    def _find(self, result: MatchResult, referee_id: str | None) -> _Kept | str:
        """Return the cached transcript, read again if its files have changed, or why there is none."""
        places = _places(self._paths, self._league_id, result.match_id, referee_id)
        source = (result, referee_id, *map(_state_of, places))
        kept = self._kept.pop(result.match_id, None)
        if kept is None or kept.source != source:
            filed = read_match(self._paths, self._league_id, result, referee_id, _FirstEntries().read)
            if filed.content is None:
                return filed.shortfall
            kept = _Kept(source, *_shown(filed))
        self._kept[result.match_id] = kept
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return kept


class _FirstEntries:
    """Parses transcript entries and keeps as many as fit into an answer; the others become OMITTED_ENTRY."""

    def __init__(self) -> None:
        self._room = LARGEST_TRANSCRIPT

    def read(self, text: bytes) -> Any:
        entry = _read_without_tokens(text)
        if not _is_entry(entry):
            return entry
        if self._room < 0:
            return LEFT_OUT
        self._room -= len(orjson.dumps(_public(entry)))
        return entry


def _shown(filed: Filed) -> tuple[bytes, str | None]:
    """Encode the entries that fit into an answer as a JSON list, with a note if some are missing."""
    entries = filed.content["transcript"] if filed.content else []
    shown = list(_first(entries))
    told = b"[%b]" % b",".join(shown)
    if len(shown) == len(entries):
        return told, None
    return told, f"the first {len(shown)} of {len(entries)} entries; all are in {filed.place} of the SHARED folder"


def _places(paths: DataPaths, league_id: str, match_id: str, referee_id: str | None) -> list[Path]:
    """Where the file of a match may be: at its place or, until its report is acknowledged, as a proposal beside it."""
    proposal = [paths.match_proposal(league_id, match_id, referee_id)] if referee_id else []
    return [paths.match(league_id, match_id), *proposal]


def _state_of(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and mtime, which change with every write; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_match(
    paths: DataPaths,
    league_id: str,
    result: MatchResult,
    referee_id: str | None,
    read_entry: ReadEntry | None = None,
) -> Filed:
    """Read the file of a finished match; `read_entry` parses one entry and may shorten it."""
    places = _places(paths, league_id, result.match_id, referee_id)
    place, wrong = places[0].relative_to(paths.home).as_posix(), ""
    for path in places:
        try:
            content = _recorded(path, result, referee_id, read_entry)
            if content.get(REPORTED) is True:
                return Filed(place, None, f"{place} has what referee {referee_id}, which isn't ours, told the manager")
            return Filed(place, content)
        except NotThere:
            continue
        except BadMatchFile as error:
            wrong = wrong or f"{path.relative_to(paths.home).as_posix()} of this SHARED folder is of no use: {error}"
    keeper = f"referee {referee_id} keeps it" if referee_id else "its referee keeps it"
    return Filed(place, None, wrong or f"not in this SHARED folder; {keeper} as {place} in its own")


def recorded_match(season: Season, result: MatchResult) -> dict[str, Any]:
    """Build the content of a match file, without a transcript, from what the league knows of a finished match."""
    status, winner = result.reported
    return {
        "round_id": result.round_id,
        "game_type": season.league.game_type,
        "game_parameters": dict(season.league.game_parameters),
        "referee_id": season.assigned.get(result.match_id),
        "players": dict(zip(("PLAYER_A", "PLAYER_B"), result.players, strict=True)),
        "tolerated": {player_id: list(noted) for player_id, noted in result.tolerated.items()},
        "result": {
            **result.details,
            "status": status,
            "winner_player_id": winner,
            "score": {player_id: season.scoring.points(result, player_id) for player_id in result.players},
            "terminations": {
                player_id: str(result.terminations.get(player_id, Termination.NORMAL)) for player_id in result.players
            },
        },
    }


def load_match_file(path: Path, read_entry: ReadEntry | None = None) -> dict[str, Any]:
    """Load the JSON object in a match file, with tokens redacted; raises BadMatchFile."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadMatchFile(f"larger than {LARGEST_FILE // 1024**2} MB")
        content = read_by_entries(path.read_bytes(), "transcript", _read_without_tokens, read_entry)
    except FileNotFoundError:
        raise NotThere("no such file") from None
    except OSError as error:
        raise BadMatchFile(f"can't be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise BadMatchFile(f"not JSON ({error})") from None
    except ValueError as error:
        raise BadMatchFile(str(error)) from None
    if not isinstance(content, dict):
        raise BadMatchFile("expected a JSON object")
    return content


def _read_without_tokens(text: bytes) -> Any:
    if any(sign in text for sign in SIGNS_OF_TOKENS):
        text = redacted(text.decode()).encode()
    return read_json(text)


def tells_of(content: Mapping[str, Any], result: MatchResult, referee_id: str | None) -> bool:
    """Whether a file's content belongs to this recorded result."""
    told = content.get("result")
    if not isinstance(told, dict):
        return False
    found = (content.get("match_id"), content.get("referee_id"), told.get("status"), told.get("winner_player_id"))
    return found == (result.match_id, referee_id, *result.reported)


def _recorded(path: Path, result: MatchResult, referee_id: str | None, read_entry: ReadEntry | None) -> dict[str, Any]:
    content = load_match_file(path, read_entry)
    if not tells_of(content, result, referee_id):
        raise NotThere("it tells of another match than the one that is recorded")
    entries = content.get("transcript")
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise BadMatchFile("it has no transcript")
    return content


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("at"), str) and entry.get("direction") in DIRECTIONS


def _public(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "error": without_addresses(str(entry["error"]))} if entry.get("error") else entry


def _first(entries: list[Any]) -> Iterator[bytes]:
    """Encode entries as JSON until an answer has no more room."""
    room = LARGEST_TRANSCRIPT
    for entry in entries:
        written = orjson.dumps(_public(entry))
        room -= len(written)
        if room < 0:
            return
        yield written
