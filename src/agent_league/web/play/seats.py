"""Browser seats: a person takes one, gets its handle, and plays through it as a player of the league.

Owns the seats and their limits. `parts` renders them, `requests` handles HTTP; the players behind the seats come from
a SeatPlayerFactory, which knows about ports and files.
"""

import asyncio
import hashlib
import re
import secrets
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from agent_league.errors import AgentLeagueError, Refusal
from agent_league.model.events import (
    AgentRegistered,
    Event,
    LeagueResumed,
    LeagueStarted,
    PauseChanged,
    RegistrationChanged,
)
from agent_league.model.names import is_reserved, is_showable, likeness
from agent_league.players.app import Player
from agent_league.players.choices import named
from agent_league.players.events import MatchOver, RoundAnnounced
from agent_league.players.human import FallbackPlayed, Mailbox, Played, Turn, YourTurn
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.sentences import by_fallback, sentence
from agent_league.web.league_reader import Reader

MOST_SEATS = 16
MOST_OF_ONE = 8
"""Maximum seats per network address; a whole class may share one."""
LONGEST_NAME = 40
JOIN_SECONDS = 8.0
AWAY_SECONDS = 60.0
"""After this long without an open page, the fallback plays at once instead of making the league wait."""
WATCH_SECONDS = 3600.0
MOST_NEWS = 12
LONGEST_NEWS = 300
HANDLE = re.compile(r"tok-[A-Za-z0-9_-]{22}", re.ASCII)
"""128 random bits in the form of a token, because tokens are removed from every log."""


class NoSeat(Exception):
    """A seat can't be taken; the message says why, in words for people."""


class Chair(Protocol):
    """A player of the league whose moves are given through a mailbox."""

    mailbox: Mailbox
    player: Player | None
    is_over: bool
    failure: Exception | None

    @property
    def games(self) -> Sequence[GameRecord]: ...
    @property
    def has_joined(self) -> bool: ...
    async def join(self, seconds: float | None = None) -> bool: ...
    async def leave(self) -> None: ...
    async def rules(self, game_type: str | None) -> dict[str, Any]: ...
    def without_secrets(self, data: Any) -> Any: ...


class Chairs(Protocol):
    """Creates the players behind seats and restores those of an earlier process. `key` is the hash of a handle."""

    def new(self, key: str, name: str) -> Chair: ...
    def known(self) -> Sequence[str]: ...
    def again(self, key: str) -> tuple[str, Chair] | None:
        """Return the name and player of a seat that an earlier process created; None if there is none."""
        ...

    def forget(self, key: str) -> None: ...


class Guest:
    """A seat at which a person plays in the browser. `version` grows with every visible change."""

    def __init__(self, chair: Chair, name: str, reader: Reader, address: str = "") -> None:
        self.chair = chair
        self.name = name
        self.reader = reader
        self.address = address
        self.version = 0
        self.tabs = 0
        """Number of pages open on this seat."""
        self.round: RoundAnnounced | None = None
        self.answered: tuple[Turn, Move] | None = None
        """Latest move in the current match."""
        self.seen: Observation | None = None
        self.news: deque[str] = deque(maxlen=MOST_NEWS)
        self.is_closed = False
        self.rules: dict[str, Any] = {}
        self._spans: dict[str, float] = {}
        self._last: tuple[GameRecord, Observation | None] | None = None
        self._changed = asyncio.Event()
        self._left_at = asyncio.get_running_loop().time()
        self._tasks = [asyncio.create_task(self._sit())]

    @property
    def own_id(self) -> str:
        return self.chair.player.agent_id if self.chair.player else ""

    @property
    def last(self) -> tuple[GameRecord, Observation | None] | None:
        """The match that ended last, and its last observation."""
        games = self.chair.games
        return self._last or ((games[-1], None) if games else None)

    @property
    def turns(self) -> list[Turn]:
        """Turns that wait for a move, most urgent first."""
        return [] if self.is_closed else sorted(self.chair.mailbox.open_turns, key=lambda turn: turn.closes)

    @property
    def is_away(self) -> bool:
        return not self.tabs and asyncio.get_running_loop().time() - self._left_at >= AWAY_SECONDS

    def span(self, turn: Turn) -> float:
        """Return how many seconds a turn had in total."""
        return self._spans.get(turn.turn_id, self.chair.mailbox.seconds_left(turn))

    def called(self, player_id: str | None) -> str:
        name = self.reader.names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)

    def come(self) -> None:
        """Count a page as opened."""
        self.tabs += 1

    def go(self) -> None:
        self.tabs -= 1
        self._left_at = asyncio.get_running_loop().time()

    def move(self, turn_id: str, move: Move) -> Played:
        """Answer a turn with a move; raises Refusal."""
        played = self.chair.mailbox.move(turn_id, move)
        turn = self.chair.mailbox.turn(turn_id)
        if turn and (self.answered is None or self.answered[0] is not turn):
            self.answered = (turn, played.move)
            self._say(f"{turn.observation.match_id}: you play {named(played.move)}.")
            self.note_change()
        return played

    async def change(self, known: int, seconds: float) -> None:
        """Wait until the version differs from `known`, at most `seconds`."""
        if self.version == known and not self.is_closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()

    async def close(self) -> None:
        """End the player and let open pages show it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.chair.leave()
        self.is_closed = True
        self.note_change()

    def note_change(self) -> None:
        """Increase the version and wake all streams."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def _sit(self) -> None:
        """Join the league, then handle the player's events until cancelled."""
        after = 0
        if not self.chair.has_joined:
            with suppress(Exception):  # the player keeps its failure for the page
                await self.chair.join()
        self._tasks.append(asyncio.create_task(self._read_rules()))
        while True:
            self.note_change()
            for event in await self.chair.mailbox.wait(after, WATCH_SECONDS):
                after = event.number
                self._note(event.what)

    async def _read_rules(self) -> None:
        with suppress(Refusal):
            self.rules = await self.chair.rules(None)
            self.note_change()

    def _note(self, what: Any) -> None:
        match what:
            case YourTurn(turn):
                self._spans = {turn.turn_id: self.chair.mailbox.seconds_left(turn)}
                self.seen = turn.observation
                if self.is_away:
                    self.chair.mailbox.decline(turn.turn_id)
            case FallbackPlayed(turn, move):
                self.answered = (turn, move)
                if self.is_away:
                    self._say(f"{turn.observation.match_id}: you were away, and {by_fallback(move)}")
                    return
            case MatchOver(game):
                own = self.seen if self.seen and self.seen.match_id == game.match_id else None
                self._last, self.answered, self.seen = (game, own), None, None
            case RoundAnnounced():
                self.round = what
        self._say(sentence(what, self.own_id, self.called))

    def _say(self, text: str) -> None:
        if text:
            self.news.append(text if len(text) <= LONGEST_NEWS else f"{text[:LONGEST_NEWS]}...")


class Seats:
    """All browser seats of a league, by the hashes of their handles."""

    def __init__(self, reader: Reader, chairs: Chairs) -> None:
        self.reader = reader
        self._chairs = chairs
        self._guests: dict[str, Guest] = {}
        """Keyed by the hash of the handle: the timing of a lookup reveals nothing about a handle."""
        self._arriving: dict[str, str] = {}
        """Client addresses of seats whose player is still registering."""
        self._is_closed = False
        reader.chronicle.listen(self._hear)

    @property
    def tabs(self) -> int:
        """Number of pages open on all seats."""
        return sum(guest.tabs for guest in self._guests.values())

    async def take(self, name: str, address: str) -> str:
        """Take a seat and return its handle; raises SeatUnavailable."""
        name = name.strip()
        if not is_showable(name) or not 1 <= len(name) <= LONGEST_NAME:
            raise NoSeat(f"A name has 1 to {LONGEST_NAME} characters that people can see.")
        self._check_league(name)
        self._check_room(address)
        handle = f"tok-{secrets.token_urlsafe(16)}"
        key = _key(handle)
        self._arriving[key] = address
        try:
            chair = await self._joined(key, name)
        finally:
            del self._arriving[key]
        self._guests[key] = Guest(chair, name, self.reader, address)
        return handle

    def find(self, handle: str) -> Guest | None:
        """Find the seat of a handle, after a restart of the manager too; None if there is none."""
        return self._at(_key(handle)) if HANDLE.fullmatch(handle) else None

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(guest.close() for guest in self._guests.values()))
        for key, guest in self._guests.items():
            if guest.chair.is_over:
                self._chairs.forget(key)

    def _at(self, key: str) -> Guest | None:
        known = self._guests.get(key)
        if known or key in self._arriving or self._is_closed or self._busy() >= MOST_SEATS:
            return known
        if found := self._chairs.again(key):
            name, chair = found
            self._guests[key] = Guest(chair, name, self.reader)
        return self._guests.get(key)

    def _hear(self, event: Event) -> None:
        """Update the seats on league events; restores all known seats when a league starts or resumes."""
        match event:
            case LeagueStarted() | LeagueResumed():
                for key in self._chairs.known():
                    self._at(key)
            case AgentRegistered() | RegistrationChanged() | PauseChanged():
                pass
            case _:
                return
        for guest in self._guests.values():
            guest.note_change()

    async def _joined(self, key: str, name: str) -> Chair:
        chair = self._chairs.new(key, name)
        try:
            if await chair.join(JOIN_SECONDS) and not self._is_closed:
                return chair
            why = "The manager is busy; try again in a moment."
        except AgentLeagueError as error:
            why = str(error)
        await chair.leave()
        self._chairs.forget(key)
        raise NoSeat(why)

    def _check_league(self, name: str) -> None:
        """Check what the league would refuse before starting a player; raises SeatUnavailable."""
        season = self.reader.season
        if not season.is_open:
            raise NoSeat("The league takes no new players now.")
        players = season.roster.players().values()
        if len(players) >= season.league.participants.max_players:
            raise NoSeat("The league is full.")
        if is_reserved(name, "player"):
            raise NoSeat("That is the form of an id or a role; choose another name.")
        if any(likeness(player.display_name) == likeness(name) for player in players):
            raise NoSeat("Somebody in this league is called so already; choose another name.")

    def _check_room(self, address: str) -> None:
        if self._busy() >= MOST_SEATS:
            raise NoSeat(f"All {MOST_SEATS} seats for browsers are taken; an agent of your own can still register.")
        own = sum(guest.address == address for guest in self._guests.values() if _is_playing(guest))
        if own + list(self._arriving.values()).count(address) >= MOST_OF_ONE:
            raise NoSeat(f"{MOST_OF_ONE} people play from your address already; no more can.")

    def _busy(self) -> int:
        return len(self._arriving) + sum(map(_is_playing, self._guests.values()))


def _is_playing(guest: Guest) -> bool:
    return not (guest.chair.is_over or guest.chair.failure)


def _key(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()
