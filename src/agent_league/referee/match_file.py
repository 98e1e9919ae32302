"""The match file, `data/matches/<league_id>/<match_id>.json`: its model, and how a referee writes it.

Only the shape is checked here; whether the content is true is for `verify` to say.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from agent_league.errors import Refusal, UserError
from agent_league.log import JsonLogger
from agent_league.model.names import CHECK_LEAGUE
from agent_league.model.results import Termination
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.envelope import Items, MessagePart
from agent_league.protocol.v2.answers import TranscriptEntry
from agent_league.protocol.v2.match import MatchLimits, MatchScoring
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.storage.match_segments import MatchSegment, settle_left_segments
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import encode_match

QUIET_SECONDS = 0.25
BUSY_MATCHES = 2
"""A referee that ends more matches in `QUIET_SECONDS` has no time to write their files."""
FILES_AT_ONCE = 100
"""So many are written before others get their turn."""


class NotAMatchFile(UserError):
    """A file that doesn't have the shape of a match file."""


class MatchSeats(MessagePart):
    PLAYER_A: str
    PLAYER_B: str


class StateEntry(MessagePart):
    """A state that the match entered, and when."""

    state: str
    at: str


class AttemptLimits(MessagePart):
    """How often a player is asked: up to `max` times; files without `limits` stop at `failure_threshold` too."""

    max: int
    failure_threshold: int
    failures_before: dict[str, int]


class DrawSeed(MessagePart):
    commitment: str
    seed: str


class MatchFile(MessagePart):
    """The content of a match file."""

    league_id: str
    match_id: str
    league_uuid: str | None = None
    """The league's id where ids are UUIDs; not in older files."""
    limits: MatchLimits | None = None
    """Timeouts and attempts; not in older files, whose players weren't told of an opponent's invalid play."""
    round_id: int
    conversation_id: str | None = None
    game_type: str
    game_parameters: dict[str, Any]
    referee_id: str
    players: MatchSeats
    scoring: MatchScoring
    attempts: AttemptLimits
    lifecycle: Items[StateEntry]
    result: dict[str, Any] | None
    draw: DrawSeed
    moves: Items[dict[str, Any]]
    protocols: dict[str, str] = Field(default_factory=dict)
    """By player; our own for those that aren't named."""
    move_methods: dict[str, str] = Field(default_factory=dict)
    """Method that asked each player for moves; the game's own for those that aren't named."""
    strict: bool = False
    tolerated: dict[str, list[str]] = Field(default_factory=dict)
    transcript: Items[TranscriptEntry]

    @property
    def player_ids(self) -> tuple[str, str]:
        return (self.players.PLAYER_A, self.players.PLAYER_B)

    @property
    def effective_conversation_id(self) -> str:
        """The conversation id, taken from the first message in older files, which have no field for it."""
        said = (line.message.get("conversation_id") for line in self.transcript if isinstance(line.message, dict))
        return self.conversation_id or str(next(said, None))

    def protocol_of(self, player_id: str | None) -> str:
        return self.protocols.get(player_id or "", CURRENT_PROTOCOL)

    def termination_of(self, player_id: str) -> Any:
        """Return how the match ended for a player, as the result says; unchecked."""
        found = (self.result or {}).get("terminations")
        return found.get(player_id) if isinstance(found, dict) else None

    @property
    def is_void(self) -> bool:
        return all(self.termination_of(player_id) == Termination.VOID for player_id in self.player_ids)


def read_match_file(content: Mapping[str, Any]) -> MatchFile:
    """Parse the content of a match file; raises NotAMatchFile."""
    try:
        orjson.dumps(content)
        return parse_fields(MatchFile, content)
    except TypeError as error:
        raise NotAMatchFile(f"not a match file: {error}") from None
    except Refusal as refusal:
        raise NotAMatchFile(f"not a match file: {refusal.message}") from None


class MatchFileWriter:
    """Writes a referee's match files: appended to a segment first, and at their places once the results count.

    That is at once, unless matches end faster than `BUSY_MATCHES` in `QUIET_SECONDS`: then when it is quieter, and at
    the end. A write that fails is only logged, as a match goes on without its file.
    """

    def __init__(self, home: Path, log: JsonLogger) -> None:
        self._home = home
        self._log = log
        self._segments: dict[str, MatchSegment] = {}
        """By league id."""
        self._settled_count = 0
        self._timer: asyncio.TimerHandle | None = None

    def propose_file(self, league_id: str, match_id: str, referee_id: str, content: Mapping[str, Any]) -> bytes | None:
        """Append the file to the segment and return its content; None if JSON can't hold it."""
        try:
            encoded = encode_match(league_id, match_id, content)
        except TypeError as error:  # a game whose moves JSON can't hold
            self._log.error("write_failed", error=str(error))
            return None
        if league_id != CHECK_LEAGUE:
            self._try_write(lambda: self._open_segment(league_id, referee_id).add_match(match_id, referee_id, encoded))
        return encoded

    def settle_file(self, league_id: str, match_id: str, *, counts: bool) -> None:
        """Say whether the result of a match counts, whose file is written then, and else forgotten."""
        if (segment := self._segments.get(league_id)) is None:
            return
        self._try_write(lambda: segment.decide_match(match_id, counts=counts))
        self._settled_count += 1
        if self._timer is None:
            self._write_some_files()

    def close(self) -> None:
        """Write what is due, and close the segments."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for league_id, segment in [*self._segments.items()]:
            self._try_write(segment.write_files)
            self._close_segment(league_id)

    def _open_segment(self, league_id: str, referee_id: str) -> MatchSegment:
        if (segment := self._segments.get(league_id)) is None:
            folder = DataPaths(self._home).matches_folder(league_id)
            settle_left_segments(folder)
            segment = self._segments[league_id] = MatchSegment(folder, referee_id)
        return segment

    def _close_segment(self, league_id: str) -> None:
        self._try_write(self._segments.pop(league_id).close)

    def _write_some_files(self) -> None:
        """Write files unless it is a busy moment, and come again as long as there are some, or matches end."""
        self._timer = None
        is_busy, is_called_again = self._settled_count > BUSY_MATCHES, self._settled_count > 0
        self._settled_count = 0
        for league_id, segment in [*self._segments.items()]:
            if not is_busy:
                self._try_write(partial(segment.write_files, FILES_AT_ONCE))
            is_called_again = is_called_again or segment.has_due_files
            if segment.is_spent:
                self._close_segment(league_id)
        if is_called_again:
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._write_some_files)

    def _try_write(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            self._log.error("write_failed", error=str(error))
