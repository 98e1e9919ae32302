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
from agent_league.model.names import is_displayable, is_reserved_name, normalise_confusables
from agent_league.players.app import Player
from agent_league.players.choices import format_move
from agent_league.players.events import MatchOver, RoundAnnounced
from agent_league.players.human import ExternalStrategy, ExternalTurn, FallbackPlayed, TurnAnswer, TurnOpened
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.sentences import describe_event, describe_fallback
from agent_league.text import MAX_SENTENCE, shorten
from agent_league.web.league_reader import LeagueReader

MOST_SEATS = 16
MOST_OF_ONE = 8
"""Maximum seats per network address; a whole class may share one."""
LONGEST_NAME = 40
JOIN_SECONDS = 8.0
AWAY_SECONDS = 60.0
"""After this long without an open page, the fallback plays at once instead of making the league wait."""
WATCH_SECONDS = 3600.0
MOST_NEWS = 12
HANDLE_PATTERN = re.compile(r"tok-[A-Za-z0-9_-]{22}", re.ASCII)
"""128 random bits in the form of a token, because tokens are removed from every log."""


class SeatUnavailable(Exception):
    """A seat can't be taken; the message says why, in words for people."""


class SeatPlayer(Protocol):
    """A player of the league whose moves are given through a mailbox."""

    mailbox: ExternalStrategy
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


class SeatPlayerFactory(Protocol):
    """Creates the players behind seats and restores those of an earlier process. `key` is the hash of a handle."""

    def create_player(self, key: str, name: str) -> SeatPlayer: ...
    def list_keys(self) -> Sequence[str]: ...
    def restore_player(self, key: str) -> tuple[str, SeatPlayer] | None:
        """Return the name and player of a seat that an earlier process created; None if there is none."""
        ...

    def forget_player(self, key: str) -> None: ...


class BrowserSeat:
    """A seat at which a person plays in the browser. `version` grows with every visible change."""

    def __init__(self, chair: SeatPlayer, name: str, reader: LeagueReader, address: str = "") -> None:
        self.seat_player = chair
        self.name = name
        self.reader = reader
        self.client_address = address
        self.version = 0
        self.open_pages = 0
        """Number of pages open on this seat."""
        self.announced_round: RoundAnnounced | None = None
        self.last_answer: tuple[ExternalTurn, Move] | None = None
        """Latest move in the current match."""
        self.last_observation: Observation | None = None
        self.news: deque[str] = deque(maxlen=MOST_NEWS)
        self.is_closed = False
        self.rules: dict[str, Any] = {}
        self._seconds_by_turn: dict[str, float] = {}
        self._last_match: tuple[GameRecord, Observation | None] | None = None
        self._change_event = asyncio.Event()
        self._left_at = asyncio.get_running_loop().time()
        self._tasks = [asyncio.create_task(self._follow_events())]

    @property
    def player_id(self) -> str:
        return self.seat_player.player.agent_id if self.seat_player.player else ""

    @property
    def last_match(self) -> tuple[GameRecord, Observation | None] | None:
        """The match that ended last, and its last observation."""
        games = self.seat_player.games
        return self._last_match or ((games[-1], None) if games else None)

    @property
    def open_turns(self) -> list[ExternalTurn]:
        """Turns that wait for a move, most urgent first."""
        return [] if self.is_closed else sorted(self.seat_player.mailbox.open_turns, key=lambda turn: turn.closes_at)

    @property
    def is_away(self) -> bool:
        return not self.open_pages and asyncio.get_running_loop().time() - self._left_at >= AWAY_SECONDS

    def turn_seconds(self, turn: ExternalTurn) -> float:
        """Return how many seconds a turn had in total."""
        return self._seconds_by_turn.get(turn.turn_id, self.seat_player.mailbox.seconds_left(turn))

    def describe_player(self, player_id: str | None) -> str:
        name = self.reader.player_names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)

    def open_page(self) -> None:
        """Count a page as opened."""
        self.open_pages += 1

    def close_page(self) -> None:
        self.open_pages -= 1
        self._left_at = asyncio.get_running_loop().time()

    def play_move(self, turn_id: str, move: Move) -> TurnAnswer:
        """Answer a turn with a move; raises Refusal."""
        played = self.seat_player.mailbox.answer_turn(turn_id, move)
        turn = self.seat_player.mailbox.find_turn(turn_id)
        if turn and (self.last_answer is None or self.last_answer[0] is not turn):
            self.last_answer = (turn, played.move)
            self._add_news(f"{turn.observation.match_id}: you play {format_move(played.move)}.")
            self.notify_change()
        return played

    async def wait_for_change(self, known: int, seconds: float) -> None:
        """Wait until the version differs from `known`, at most `seconds`."""
        if self.version == known and not self.is_closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._change_event.wait()

    async def close(self) -> None:
        """End the player and let open pages show it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.seat_player.leave()
        self.is_closed = True
        self.notify_change()

    def notify_change(self) -> None:
        """Increase the version and wake all streams."""
        self.version += 1
        self._change_event.set()
        self._change_event = asyncio.Event()

    async def _follow_events(self) -> None:
        """Join the league, then handle the player's events until cancelled."""
        after = 0
        if not self.seat_player.has_joined:
            with suppress(Exception):  # the player keeps its failure for the page
                await self.seat_player.join()
        self._tasks.append(asyncio.create_task(self._read_rules()))
        while True:
            self.notify_change()
            for event in await self.seat_player.mailbox.wait_for_events(after, WATCH_SECONDS):
                after = event.number
                self._handle_event(event.payload)

    async def _read_rules(self) -> None:
        with suppress(Refusal):
            self.rules = await self.seat_player.rules(None)
            self.notify_change()

    def _handle_event(self, what: Any) -> None:
        match what:
            case TurnOpened(turn):
                self._seconds_by_turn = {turn.turn_id: self.seat_player.mailbox.seconds_left(turn)}
                self.last_observation = turn.observation
                if self.is_away:
                    self.seat_player.mailbox.decline_turn(turn.turn_id)
            case FallbackPlayed(turn, move):
                self.last_answer = (turn, move)
                if self.is_away:
                    self._add_news(f"{turn.observation.match_id}: you were away, and {describe_fallback(move)}")
                    return
            case MatchOver(game):
                own = (
                    self.last_observation
                    if self.last_observation and self.last_observation.match_id == game.match_id
                    else None
                )
                self._last_match, self.last_answer, self.last_observation = (game, own), None, None
            case RoundAnnounced():
                self.announced_round = what
        self._add_news(describe_event(what, self.player_id, self.describe_player))

    def _add_news(self, text: str) -> None:
        if text:
            self.news.append(shorten(text, MAX_SENTENCE))


class BrowserSeats:
    """All browser seats of a league, by the hashes of their handles."""

    def __init__(self, reader: LeagueReader, chairs: SeatPlayerFactory) -> None:
        self.reader = reader
        self._player_factory = chairs
        self._seats: dict[str, BrowserSeat] = {}
        """Keyed by the hash of the handle: the timing of a lookup reveals nothing about a handle."""
        self._joining_addresses: dict[str, str] = {}
        """Client addresses of seats whose player is still registering."""
        self._is_closed = False
        reader.history.add_listener(self._handle_event)

    @property
    def open_pages(self) -> int:
        """Number of pages open on all seats."""
        return sum(guest.open_pages for guest in self._seats.values())

    async def take_seat(self, name: str, address: str) -> str:
        """Take a seat and return its handle; raises SeatUnavailable."""
        name = name.strip()
        if not is_displayable(name) or not 1 <= len(name) <= LONGEST_NAME:
            raise SeatUnavailable(f"A name has 1 to {LONGEST_NAME} characters that people can see.")
        self._check_registration(name)
        self._check_capacity(address)
        handle = f"tok-{secrets.token_urlsafe(16)}"
        key = _hash_handle(handle)
        self._joining_addresses[key] = address
        try:
            chair = await self._join_league(key, name)
        finally:
            del self._joining_addresses[key]
        self._seats[key] = BrowserSeat(chair, name, self.reader, address)
        return handle

    def find_seat(self, handle: str) -> BrowserSeat | None:
        """Find the seat of a handle, after a restart of the manager too; None if there is none."""
        return self._get_seat(_hash_handle(handle)) if HANDLE_PATTERN.fullmatch(handle) else None

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(guest.close() for guest in self._seats.values()))
        for key, guest in self._seats.items():
            if guest.seat_player.is_over:
                self._player_factory.forget_player(key)

    def _get_seat(self, key: str) -> BrowserSeat | None:
        known = self._seats.get(key)
        if known or key in self._joining_addresses or self._is_closed or self._count_busy_seats() >= MOST_SEATS:
            return known
        if found := self._player_factory.restore_player(key):
            name, chair = found
            self._seats[key] = BrowserSeat(chair, name, self.reader)
        return self._seats.get(key)

    def _handle_event(self, event: Event) -> None:
        """Update the seats on league events; restores all known seats when a league starts or resumes."""
        match event:
            case LeagueStarted() | LeagueResumed():
                for key in self._player_factory.list_keys():
                    self._get_seat(key)
            case AgentRegistered() | RegistrationChanged() | PauseChanged():
                pass
            case _:
                return
        for guest in self._seats.values():
            guest.notify_change()

    async def _join_league(self, key: str, name: str) -> SeatPlayer:
        chair = self._player_factory.create_player(key, name)
        try:
            if await chair.join(JOIN_SECONDS) and not self._is_closed:
                return chair
            why = "The manager is busy; try again in a moment."
        except AgentLeagueError as error:
            why = str(error)
        await chair.leave()
        self._player_factory.forget_player(key)
        raise SeatUnavailable(why)

    def _check_registration(self, name: str) -> None:
        """Check what the league would refuse before starting a player; raises SeatUnavailable."""
        season = self.reader.state
        if not season.is_registration_open:
            raise SeatUnavailable("The league takes no new players now.")
        players = season.roster.players().values()
        if len(players) >= season.config.participants.max_players:
            raise SeatUnavailable("The league is full.")
        if is_reserved_name(name, "player"):
            raise SeatUnavailable("That is the form of an id or a role; choose another name.")
        if any(normalise_confusables(player.display_name) == normalise_confusables(name) for player in players):
            raise SeatUnavailable("Somebody in this league is called so already; choose another name.")

    def _check_capacity(self, address: str) -> None:
        if self._count_busy_seats() >= MOST_SEATS:
            raise SeatUnavailable(
                f"All {MOST_SEATS} seats for browsers are taken; an agent of your own can still register."
            )
        own = sum(guest.client_address == address for guest in self._seats.values() if _is_seat_playing(guest))
        if own + list(self._joining_addresses.values()).count(address) >= MOST_OF_ONE:
            raise SeatUnavailable(f"{MOST_OF_ONE} people play from your address already; no more can.")

    def _count_busy_seats(self) -> int:
        return len(self._joining_addresses) + sum(map(_is_seat_playing, self._seats.values()))


def _is_seat_playing(guest: BrowserSeat) -> bool:
    return not (guest.seat_player.is_over or guest.seat_player.failure)


def _hash_handle(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()
