"""What was said in finished matches, as far as their files lie in the manager's own SHARED folder.

A file counts only where it tells of the match that the league has recorded; an earlier league may have left others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agent_league.league.journal import Offload
from agent_league.league.season import Season
from agent_league.log import redacted
from agent_league.model.addresses import without_addresses
from agent_league.model.results import MatchResult, Termination
from agent_league.storage.files import read_json
from agent_league.storage.paths import DataPaths

LARGEST_FILE = 16 * 1024 * 1024
LARGEST_TRANSCRIPT = 256 * 1024
"""Bytes of a transcript in an answer: twice as much, as real MCP sends it, is still below a message's limit."""
DIRECTIONS = ("sent", "received", "failed", "drawn")

REPORTED = "reported"
"""True in the file of a match whose referee isn't ours: the manager wrote it from the report, without a transcript."""

Told = tuple[list[Any] | None, str | None]
"""A transcript, and what there is to say of it."""


class BadMatchFile(Exception):
    """Something that is no match file, or not the one that was looked for: why, in half a sentence."""


class NotThere(BadMatchFile):
    """There is no file, or only one that an earlier league left."""


@dataclass(frozen=True, slots=True)
class Filed:
    """What a SHARED folder has of a finished match."""

    place: str
    """Where its file belongs, inside the folder."""
    content: dict[str, Any] | None = None
    """With an object as `result`, and a transcript of entries."""
    shortfall: str = ""
    """Why there is none: where else it is, or what is wrong with it."""


class MatchFiles:
    """Reads transcripts, off the event loop."""

    def __init__(self, home: Path, league_id: str, offload: Offload) -> None:
        self._paths = DataPaths(home)
        self._league_id = league_id
        self._offload = offload

    async def transcript(self, result: MatchResult, referee_id: str | None) -> Told:
        """What was said in a finished match, or where that is kept."""
        filed = await self._offload(read_match, self._paths, self._league_id, result, referee_id)
        if filed.content is None:
            return None, filed.shortfall
        entries = [_public(entry) for entry in filed.content["transcript"]]
        shown = list(_first(entries))
        if len(shown) == len(entries):
            return shown, None
        return shown, f"the first {len(shown)} of {len(entries)} entries; all are in {filed.place} of the SHARED folder"


def read_match(paths: DataPaths, league_id: str, result: MatchResult, referee_id: str | None) -> Filed:
    """The file of a finished match; until its report is acknowledged it waits beside its place."""
    places = [paths.match(league_id, result.match_id)]
    if referee_id:
        places.append(paths.match_proposal(league_id, result.match_id, referee_id))
    place, wrong = places[0].relative_to(paths.home).as_posix(), ""
    for path in places:
        try:
            content = _recorded(path, result, referee_id)
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
    """What the league itself knows of a finished match, in the form of a match file without its transcript."""
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


def load_match_file(path: Path) -> dict[str, Any]:
    """The object in a match file, whatever it says but for tokens; raises BadMatchFile."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadMatchFile(f"larger than {LARGEST_FILE // 1024**2} MB")
        content = read_json(redacted(path.read_bytes().decode()).encode())
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


def tells_of(content: Mapping[str, Any], result: MatchResult, referee_id: str | None) -> bool:
    """Whether a file is that of the match that the league has recorded."""
    told = content.get("result")
    if not isinstance(told, dict):
        return False
    found = (content.get("match_id"), content.get("referee_id"), told.get("status"), told.get("winner_player_id"))
    return found == (result.match_id, referee_id, *result.reported)


def _recorded(path: Path, result: MatchResult, referee_id: str | None) -> dict[str, Any]:
    content = load_match_file(path)
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


def _first(entries: list[Any]) -> Iterator[Any]:
    """As many entries as an answer has room for."""
    room = LARGEST_TRANSCRIPT
    for entry in entries:
        room -= len(orjson.dumps(entry))
        if room < 0:
            return
        yield entry
