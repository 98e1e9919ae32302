"""The match file, `data/matches/<league_id>/<match_id>.json`: its model, and how a referee writes it.

Only the shape is checked here; whether the content is true is for `verify` to say.
"""

from collections.abc import Callable, Mapping
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
from agent_league.storage.repositories import MatchRepository


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
    """Writes a referee's match files: beside their place first, and into it once the result counts.

    A write that fails is only logged, as a match goes on without its file.
    """

    def __init__(self, home: Path, log: JsonLogger) -> None:
        self._home = home
        self._log = log
        self._files = MatchRepository("", home)

    def propose_file(self, league_id: str, match_id: str, referee_id: str, content: Mapping[str, Any]) -> bytes | None:
        """Write the file beside its place and return its content; None if JSON can't hold it."""
        files = self._open_files(league_id)
        try:
            encoded = files.encode_match(match_id, content)
        except TypeError as error:  # a game whose moves JSON can't hold
            self._log.error("write_failed", error=str(error))
            return None
        if _has_match_files(league_id):
            self._try_write(lambda: files.save_proposal(match_id, encoded, referee_id))
        return encoded

    def settle_file(self, league_id: str, match_id: str, referee_id: str, *, counts: bool) -> None:
        """Put the file in its place if its result counts, else delete it."""
        files = self._open_files(league_id)
        if _has_match_files(league_id):
            settle = files.accept_proposal if counts else files.drop_proposal
            self._try_write(lambda: settle(match_id, referee_id))

    def _open_files(self, league_id: str) -> MatchRepository:
        if self._files.league_id != league_id:
            self._files = MatchRepository(league_id, self._home)
        return self._files

    def _try_write(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            self._log.error("write_failed", error=str(error))


def _has_match_files(league_id: str) -> bool:
    return league_id != CHECK_LEAGUE
