"""Browser seats: a person takes one, gets its handle, and plays through it as a player of the league.

Owns the seats and their limits. `parts` renders them, `requests` handles HTTP. The players are in the manager's
process, registered over HTTP; in a league of more than this machine they dial out, so that referees elsewhere reach
them and no further port is open. After a restart a seat is found again by the hash of its handle; only the hash is
stored, in a private file. Leagues that move between servers have `moving_players` instead.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import AgentLeagueError, ErrorCode, Refusal
from agent_league.http.hosts import own_endpoint
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeagueState
from agent_league.model.events import (
    AgentRegistered,
    Event,
    LeagueResumed,
    LeagueStarted,
    PauseChanged,
    RegistrationChanged,
)
from agent_league.model.names import is_displayable, is_reserved_name, normalise_confusables
from agent_league.players.app import PlayerSettings
from agent_league.players.descriptions import describe_event, describe_fallback
from agent_league.players.events import MatchOver, RoundAnnounced
from agent_league.players.human import ExternalTurn, FallbackPlayed, HumanSeat, TurnAnswer, TurnOpened
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.strategies import load_strategy
from agent_league.protocol.dial_out import is_seat_address
from agent_league.storage.credentials import CredentialsFile
from agent_league.storage.files import read_json_object
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_SENTENCE, format_move, shorten
from agent_league.web.league_reader import LeagueReader

FALLBACK = "random"
OWN_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - where we are called who listen everywhere
CREDENTIALS_ROLE = "visitor"
MOST_SEATS = 16
MOST_OF_ONE = 8
"""Maximum seats per network address; a whole class may share one."""
LONGEST_NAME = 40
JOIN_SECONDS = 8.0
AWAY_SECONDS = 60.0
"""After this long without an open page, the fallback plays at once instead of making the league wait."""
WATCH_SECONDS = 3600.0
MOST_NEWS = 12
HANDLE_PREFIX, HANDLE_LENGTH = "tok-", 22
HANDLE_PATTERN = re.compile(rf"{HANDLE_PREFIX}[A-Za-z0-9_-]{{{HANDLE_LENGTH}}}", re.ASCII)
"""128 random bits in the form of a token, because tokens are removed from every log."""


class SeatUnavailable(Exception):
    """A seat can't be taken; the message says why, in words for people."""


class BrowserPlayers:
    """Makes and restores browser players in the league of one manager, which listens at this host, port and path."""

    def __init__(
        self,
        settings: ManagerSettings,
        season: LeagueState,
        host: str,
        port: int,
        seat_type: type[HumanSeat],
        path: str = "",
    ) -> None:
        self._settings = settings
        self._seat_type = seat_type
        self._league_state = season
        self._host = host
        self._manager = f"http://{OWN_HOSTS.get(host, f'[{host}]' if ':' in host else host)}:{port}{path}/mcp"

    def make_handle(self, name: str) -> str:
        """Make the handle by which somebody of this name will play."""
        return f"{HANDLE_PREFIX}{secrets.token_urlsafe(16)}"

    def create_player(self, key: str, name: str) -> HumanSeat:
        """Make a player; where others than this machine take part it dials out, so that referees elsewhere reach it."""
        self._credentials_file(key).save({"handle_sha256": key, "display_name": name})
        return self._make_player(key, name, dial_out=not self._league_state.roster.rules.is_loopback_only)

    def list_keys(self) -> list[str]:
        """Return the keys of all browser players of this manager."""
        files = sorted(DataPaths(self._settings.home).credentials_folder.glob(f"{CREDENTIALS_ROLE}-*.json"))
        keys = [(file, str((read_json_object(file) or {}).get("handle_sha256"))) for file in files]
        return [key for file, key in keys if self._credentials_file(key).path == file]

    def restore_player(self, key: str) -> HumanSeat | None:
        """Return the player of a key, at its stored port or its seat; None if it is none of this league any more."""
        known = self._credentials_file(key).load()
        name, port = known.get("display_name"), known.get("port")
        is_ours = hmac.compare_digest(str(known.get("handle_sha256")), key)
        if not is_ours or not isinstance(name, str):
            return None
        endpoint = own_endpoint(self._host, port, self._settings.system.network.base_host) if port else None
        found = [one.endpoint for one in self._league_state.roster.players().values() if one.display_name == name]
        is_there = found == [endpoint] if endpoint else any(map(is_seat_address, found))
        if self._league_state.is_end_announced or not is_there:
            self.forget_player(key)
            return None
        return self._make_player(key, name, dial_out=endpoint is None)

    def forget_player(self, key: str) -> None:
        self._credentials_file(key).delete_file()

    def _make_player(self, key: str, name: str, *, dial_out: bool = True, seat_secret: str | None = None) -> HumanSeat:
        settings = self._settings
        player = PlayerSettings(
            system=settings.system,
            home=settings.home,
            manager=self._manager,
            endpoint="",
            wanted_id="player",
            display_name=name,
            game_types=(settings.league.game_type,),
        )
        return self._seat_type(
            player,
            load_strategy(FALLBACK),
            host=self._host,
            credentials_file=self._credentials_file(key),
            dial_out=dial_out,
            seat_secret=seat_secret,
        )

    def _credentials_file(self, key: str) -> CredentialsFile:
        return CredentialsFile(self._settings.home, CREDENTIALS_ROLE, "", key, self._manager)


class BrowserSeat:
    """A seat at which a person plays in the browser. `version` grows with every visible change."""

    def __init__(self, seat: HumanSeat, reader: LeagueReader, address: str = "") -> None:
        self.seat = seat
        self.name = seat.settings.display_name
        self.reader = reader
        self.client_address = address
        self.version = 0
        self.open_pages = 0
        """Number of pages open on this seat."""
        self.announced_round: RoundAnnounced | None = None
        self.last_answer: tuple[ExternalTurn, Move] | None = None
        """Latest move in the current match."""
        self.news: deque[str] = deque(maxlen=MOST_NEWS)
        self.is_closed = False
        self._turn_mark = secrets.token_hex(4)
        """In the ids of its turns, so that an answer to an earlier server of the league hits no other turn."""
        self.rules: dict[str, Any] = {}
        self._last_match: tuple[GameRecord, Observation | None] | None = None
        self._change_event = asyncio.Event()
        self._left_at = asyncio.get_running_loop().time()
        self._tasks = BackgroundTasks()
        self._tasks.start(self._follow_events())

    @property
    def last_match(self) -> tuple[GameRecord, Observation | None] | None:
        """The match that ended last, and its last observation."""
        games = self.seat.games
        return self._last_match or ((games[-1], None) if games else None)

    @property
    def open_turns(self) -> list[ExternalTurn]:
        """Turns that wait for a move, most urgent first."""
        return [] if self.is_closed else sorted(self.seat.mailbox.open_turns, key=lambda turn: turn.closes_at)

    @property
    def is_away(self) -> bool:
        return not self.open_pages and asyncio.get_running_loop().time() - self._left_at >= AWAY_SECONDS

    def describe_player(self, player_id: str | None) -> str:
        self.seat.names.update(self.reader.player_names)
        return self.seat.label_player(player_id)

    def open_page(self) -> None:
        """Count a page as opened."""
        self.open_pages += 1

    def close_page(self) -> None:
        self.open_pages -= 1
        self._left_at = asyncio.get_running_loop().time()

    def name_turn(self, turn: ExternalTurn) -> str:
        """The id by which a page answers a turn."""
        return f"{turn.turn_id}-{self._turn_mark}"

    def find_turn(self, name: str) -> ExternalTurn | None:
        """Find an open or closed turn by the id that pages have of it."""
        turn_id, _, mark = name.partition("-")
        return self.seat.mailbox.find_turn(turn_id) if mark == self._turn_mark else None

    def play_move(self, name: str, move: Move) -> TurnAnswer:
        """Answer the turn of this id with a move; raises Refusal."""
        turn = self.find_turn(name)
        if turn is None:
            raise Refusal(ErrorCode.INVALID_MOVE, "the league has gone on meanwhile; look what it asks now")
        played = self.seat.mailbox.answer_turn(turn.turn_id, move)
        if self.last_answer is None or self.last_answer[0] is not turn:
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
        await self._tasks.close()
        await self.seat.leave()
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
        if not self.seat.has_joined:
            with suppress(Exception):  # the player keeps its failure for the page
                await self.seat.join()
        self._tasks.start(self._read_rules())
        while True:
            self.notify_change()
            for event in await self.seat.mailbox.wait_for_events(after, WATCH_SECONDS):
                after = event.number
                self._handle_event(event.payload)

    async def _read_rules(self) -> None:
        with suppress(Refusal):
            self.rules = await self.seat.rules(None)
            self.notify_change()

    def _handle_event(self, what: Any) -> None:
        match what:
            case TurnOpened(turn):
                if self.is_away:
                    self.seat.mailbox.decline_turn(turn.turn_id)
            case FallbackPlayed(turn, move):
                self.last_answer = (turn, move)
                if self.is_away:
                    self._add_news(f"{turn.observation.match_id}: you were away, and {describe_fallback(move)}")
                    return
            case MatchOver(game):
                self._last_match = (game, self.seat.mailbox.last_observation(game.match_id))
                self.last_answer = None
            case RoundAnnounced():
                self.announced_round = what
        self._add_news(describe_event(what, self.seat.own_id, self.describe_player))

    def _add_news(self, text: str) -> None:
        if text:
            self.news.append(shorten(text, MAX_SENTENCE))


class BrowserSeats:
    """All browser seats of a league, by the hashes of their handles."""

    def __init__(
        self,
        reader: LeagueReader,
        players: BrowserPlayers,
        needs_key: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`needs_key` tells whether players come in by sign-up addresses alone."""
        self._needs_key = needs_key
        self.reader = reader
        self._players = players
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
        if self._needs_key and await self._needs_key():
            raise SeatUnavailable("This league takes players by the sign-up address of their team alone.")
        self._check_registration(name)
        self._check_capacity(address)
        handle = self._players.make_handle(name)
        key = hash_handle(handle)
        if key in self._joining_addresses:
            raise SeatUnavailable("Somebody is taking a seat by that name at this moment; choose another name.")
        self._joining_addresses[key] = address
        try:
            seat = await self._join_league(key, name)
        finally:
            del self._joining_addresses[key]
        self._seats[key] = BrowserSeat(seat, self.reader, address)
        return handle

    def find_seat(self, handle: str) -> BrowserSeat | None:
        """Find the seat of a handle, after a restart of the manager too; None if there is none."""
        return self._get_seat(hash_handle(handle)) if HANDLE_PATTERN.fullmatch(handle) else None

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(guest.close() for guest in self._seats.values()))
        for key, guest in self._seats.items():
            if guest.seat.is_over:
                self._players.forget_player(key)

    def _get_seat(self, key: str) -> BrowserSeat | None:
        known = self._seats.get(key)
        if known or key in self._joining_addresses or self._is_closed or self._count_busy_seats() >= MOST_SEATS:
            return known
        if seat := self._players.restore_player(key):
            self._seats[key] = BrowserSeat(seat, self.reader)
        return self._seats.get(key)

    def _handle_event(self, event: Event) -> None:
        """Update the seats on league events; restores all known seats when a league starts or resumes."""
        match event:
            case LeagueStarted() | LeagueResumed():
                for key in self._players.list_keys():
                    self._get_seat(key)
            case AgentRegistered() | RegistrationChanged() | PauseChanged():
                pass
            case _:
                return
        for guest in self._seats.values():
            guest.notify_change()

    async def _join_league(self, key: str, name: str) -> HumanSeat:
        seat = self._players.create_player(key, name)
        try:
            if await seat.join(JOIN_SECONDS) and not self._is_closed:
                return seat
            why = "The manager is busy; try again in a moment."
        except AgentLeagueError as error:
            why = str(error)
        await seat.leave()
        self._players.forget_player(key)
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
    return not (guest.seat.is_over or guest.seat.failure)


def hash_handle(handle: str) -> str:
    """The key of a seat, which tells nothing of its handle."""
    return hashlib.sha256(handle.encode()).hexdigest()
