"""Reads finished matches and their transcripts from match files in the manager's own SHARED folder.

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
from agent_league.league.state import LeagueState
from agent_league.model.results import MatchResult
from agent_league.storage.files import parse_json, parse_json_by_entries
from agent_league.storage.match_segments import find_match_size, read_appended_match, read_match_bytes
from agent_league.storage.paths import DataPaths
from agent_league.text import redact_addresses, redact_tokens

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_TRANSCRIPT_BYTES = 256 * 1024
"""Bytes of a transcript in an answer: MCP sends it twice, which is still below the message size limit."""
MAX_CACHED_TRANSCRIPTS = 32
"""Transcripts that are cached as they were answered last."""
TOKEN_MARKERS = (b"tok-", b"eyJ")
"""Every token contains one of these."""
ENTRY_DIRECTIONS = ("sent", "received", "failed", "drawn")
OMITTED_ENTRY = {"at": "", "direction": "sent"}
"""Stands for an entry that doesn't fit into the answer."""

REPORTED_FIELD = "reported"
"""Key of a flag in files that the manager wrote itself from a guest referee's report, without a transcript."""

ReadEntry = Callable[[bytes], Any]
"""Parses the JSON text of one transcript entry."""
ReadMatch = Callable[[Path, str | None], bytes]
"""Reads the file at this path, of a match that this referee has had."""
TranscriptAnswer = tuple[list[Any] | None, str | None]
"""The transcript, or None, and a note on what is missing or where it is kept."""


class BadMatchFile(Exception):
    """A file that is no match file, or of another match; the message says why in half a sentence."""


class MissingMatchFile(BadMatchFile):
    """There is no file of this match, or only one that an earlier league left."""


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """What a SHARED folder holds of a finished match."""

    relative_path: str
    """Where its file belongs, relative to the folder."""
    content: dict[str, Any] | None = None
    """The file's content, with an object as `result` and a list of entries as `transcript`; or None."""
    missing_reason: str = ""
    """Why there is no content: where else the file is, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class _CachedTranscript:
    """A transcript as it was answered, and what identifies the files it was read from."""

    source: tuple[Any, ...]
    transcript_json: bytes
    note: str | None


class MatchFiles:
    """Reads transcripts outside the event loop, one at a time, and caches them until their files change."""

    def __init__(self, home: Path, league_id: str, offload: Offload) -> None:
        self._paths = DataPaths(home)
        self._league_id = league_id
        self._offload = offload
        self._read_lock = asyncio.Lock()
        self._cached_transcripts: OrderedDict[str, _CachedTranscript] = OrderedDict()

    async def read_transcript(self, result: MatchResult, referee_id: str | None) -> TranscriptAnswer:
        """Read the transcript of a finished match; without one, the note says where it is kept."""
        async with self._read_lock:  # a file has up to 16 MB, and several times that while it is read
            found = await self._offload(self._find_transcript, result, referee_id)
        return (
            (orjson.loads(found.transcript_json), found.note) if isinstance(found, _CachedTranscript) else (None, found)
        )

    def _find_transcript(self, result: MatchResult, referee_id: str | None) -> _CachedTranscript | str:
        """Return the cached transcript, read again if its files have changed, or why there is none."""
        place = self._paths.match_file(self._league_id, result.match_id)
        source = (result, referee_id, _file_fingerprint(place))
        kept = self._cached_transcripts.pop(result.match_id, None)
        if kept is None or kept.source != source or source[-1] is None:  # yet to be written: nothing says it is new
            filed = read_match(self._paths, self._league_id, result, referee_id, _EntryReader().read_entry)
            if filed.content is None:
                return filed.missing_reason
            kept = _CachedTranscript(source, *_encode_excerpt(filed))
        self._cached_transcripts[result.match_id] = kept
        if len(self._cached_transcripts) > MAX_CACHED_TRANSCRIPTS:
            self._cached_transcripts.popitem(last=False)
        return kept


class _EntryReader:
    """Parses transcript entries and keeps as many as fit into an answer; the others become OMITTED_ENTRY."""

    def __init__(self) -> None:
        self._bytes_left = MAX_TRANSCRIPT_BYTES

    def read_entry(self, text: bytes) -> Any:
        entry = _parse_redacted(text)
        if not _is_transcript_entry(entry):
            return entry
        if self._bytes_left < 0:
            return OMITTED_ENTRY
        self._bytes_left -= len(orjson.dumps(_hide_addresses(entry)))
        return entry


def _encode_excerpt(filed: StoredMatch) -> tuple[bytes, str | None]:
    """Encode the entries that fit into an answer as a JSON list, with a note if some are missing."""
    entries = filed.content["transcript"] if filed.content else []
    shown = list(_encode_fitting_entries(entries))
    told = b"[%b]" % b",".join(shown)
    if len(shown) == len(entries):
        return told, None
    return (
        told,
        f"the first {len(shown)} of {len(entries)} entries; all are in {filed.relative_path} of the SHARED folder",
    )


def _file_fingerprint(path: Path) -> tuple[int, int, int] | None:
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
) -> StoredMatch:
    """Read the file of a finished match; `read_entry` parses one entry and may shorten it."""
    path = paths.match_file(league_id, result.match_id)
    place, wrong = path.relative_to(paths.home).as_posix(), ""
    for read in (read_match_bytes, read_appended_match):  # an earlier league may have left a file of the same name
        try:
            content = _load_recorded_match(path, read, result, referee_id, read_entry)
            if content.get(REPORTED_FIELD) is True:
                return StoredMatch(
                    place, None, f"{place} has what referee {referee_id}, which isn't ours, told the manager"
                )
            return StoredMatch(place, content)
        except MissingMatchFile:
            continue
        except BadMatchFile as error:
            wrong = wrong or f"{place} of this SHARED folder is of no use: {error}"
    keeper = f"referee {referee_id} keeps it" if referee_id else "its referee keeps it"
    return StoredMatch(place, None, wrong or f"not in this SHARED folder; {keeper} as {place} in its own")


def build_match_content(season: LeagueState, result: MatchResult) -> dict[str, Any]:
    """Build the content of a match file, without a transcript, from what the league knows of a finished match."""
    return {
        "round_id": result.round_id,
        "game_type": season.config.game_type,
        "game_parameters": dict(season.config.game_parameters),
        "referee_id": season.assigned_referees.get(result.match_id),
        "players": dict(zip(("PLAYER_A", "PLAYER_B"), result.players, strict=True)),
        "tolerated": {player_id: list(noted) for player_id, noted in result.tolerated.items()},
        "result": result.to_record(season.scoring),
    }


def load_match_file(path: Path, read_entry: ReadEntry | None = None) -> dict[str, Any]:
    """Load the JSON object in a match file, with tokens redacted; raises BadMatchFile."""
    return _load_match(path, read_match_bytes, None, read_entry)


def _load_match(path: Path, read: ReadMatch, referee_id: str | None, read_entry: ReadEntry | None) -> dict[str, Any]:
    try:
        if find_match_size(path) > MAX_FILE_BYTES:
            raise BadMatchFile(f"larger than {MAX_FILE_BYTES // 1024**2} MB")
        content = parse_json_by_entries(read(path, referee_id), "transcript", _parse_redacted, read_entry)
    except FileNotFoundError:
        raise MissingMatchFile("no such file") from None
    except OSError as error:
        raise BadMatchFile(f"can't be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise BadMatchFile(f"not JSON ({error})") from None
    except ValueError as error:
        raise BadMatchFile(str(error)) from None
    if not isinstance(content, dict):
        raise BadMatchFile("expected a JSON object")
    return content


def _parse_redacted(text: bytes) -> Any:
    if any(sign in text for sign in TOKEN_MARKERS):
        text = redact_tokens(text.decode()).encode()
    return parse_json(text)


def is_file_of_match(content: Mapping[str, Any], result: MatchResult, referee_id: str | None) -> bool:
    """Whether a file's content belongs to this recorded result."""
    told = content.get("result")
    if not isinstance(told, dict):
        return False
    found = (content.get("match_id"), content.get("referee_id"), told.get("status"), told.get("winner_player_id"))
    return found == (result.match_id, referee_id, *result.reported_outcome)


def _load_recorded_match(
    path: Path, read: ReadMatch, result: MatchResult, referee_id: str | None, read_entry: ReadEntry | None
) -> dict[str, Any]:
    content = _load_match(path, read, referee_id, read_entry)
    if not is_file_of_match(content, result, referee_id):
        raise MissingMatchFile("it tells of another match than the one that is recorded")
    entries = content.get("transcript")
    if not isinstance(entries, list) or not all(map(_is_transcript_entry, entries)):
        raise BadMatchFile("it has no transcript")
    return content


def _is_transcript_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("at"), str) and entry.get("direction") in ENTRY_DIRECTIONS


def _hide_addresses(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "error": redact_addresses(str(entry["error"]))} if entry.get("error") else entry


def _encode_fitting_entries(entries: list[Any]) -> Iterator[bytes]:
    """Encode entries as JSON until an answer has no more room."""
    room = MAX_TRANSCRIPT_BYTES
    for entry in entries:
        written = orjson.dumps(_hide_addresses(entry))
        room -= len(written)
        if room < 0:
            return
        yield written
