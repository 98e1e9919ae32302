"""The seat of a person, or of a program that polls for its turns: a player whose moves come from outside.

Events are kept in a numbered list, so that a client can ask again for those it missed. A turn that isn't answered in
time is played by a fallback strategy. Browser, terminal and MCP host are built on this; it knows none of them.
"""

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from agent_league.agent.peer_client import PeerClient
from agent_league.clock import Clock, SystemClock
from agent_league.errors import AgentLeagueError, CallFailed, ErrorCode, PortInUse, Refusal, UserError
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.model.results import StandingsRow
from agent_league.players.app import Player, PlayerSettings, to_standings_row
from agent_league.players.deadline import seconds_to_fall_back, seconds_to_think
from agent_league.players.decision import ask_strategy
from agent_league.players.events import (
    GameErrorReported,
    InvitationAnswered,
    LeagueJoined,
    LeagueOver,
    MatchOver,
    PlayerEvent,
    RoundAnnounced,
    StandingsChanged,
)
from agent_league.players.moves import describe_legal_moves, find_equal_moves, find_meant_moves
from agent_league.players.observation import GameRecord, Move, Observation, Strategy
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.v2.league import Standing
from agent_league.storage.credentials import CredentialsFile
from agent_league.text import quote, redact_tokens

MAX_EVENTS = 1000
MAX_CLOSED_TURNS = 1000
REMIND_SECONDS = 2.0
"""Longest wait for events while a turn is open."""
PATIENCE_SECONDS = 30.0
"""Assumed time limit of a referee that sends no deadline."""
JOIN_SECONDS = 8.0
"""How long a caller waits for registration; the player goes on trying after that."""
ASK_TIMEOUT = 2.0
PORT_RANGE = range(12_000, 32_000)
"""Below the ephemeral ports of common systems, since the port is needed again after a restart."""
PORT_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class ExternalTurn:
    """A question to be answered from outside; at `closes_at` the fallback plays."""

    turn_id: str
    observation: Observation
    closes_at: datetime
    deadline: datetime
    """The referee's deadline."""
    seconds: float = 0.0
    """The time it had when it was opened."""


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A turn is open for an answer."""

    turn: ExternalTurn


@dataclass(frozen=True, slots=True)
class FallbackPlayed:
    """A turn wasn't answered in time, and the fallback chose the move."""

    turn: ExternalTurn
    move: Move


@dataclass(frozen=True, slots=True)
class PlayerStopped:
    """The player has failed and can't go on."""

    why: str


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event with its number: 1, 2, 3, ..."""

    number: int
    payload: PlayerEvent | TurnOpened | FallbackPlayed | PlayerStopped


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """How a turn was closed: the move, and who chose it."""

    move: Move
    answered_by: str


URGENT_EVENTS = (TurnOpened, FallbackPlayed, MatchOver, GameErrorReported, LeagueOver, PlayerStopped)
"""Events that end an urgent wait; others are delivered together with the next of these."""
OUTSIDE, FALLBACK = "outside", "fallback"
TOO_LATE, ENDED = "nobody yet", "nobody"
"""Turns without a move: the fallback is still choosing; the match has ended."""


class ExternalStrategy:
    """Opens a turn for each question of the player, and takes its answer from outside; several may be open at once."""

    def __init__(self, fallback: Strategy, clock: Clock | None = None, patience: float = PATIENCE_SECONDS) -> None:
        self._fallback = fallback
        self._clock = clock or SystemClock()
        self._patience = patience
        self._events: deque[NumberedEvent] = deque(maxlen=MAX_EVENTS)
        self._event_added = asyncio.Event()
        self._open_answers: dict[str, tuple[ExternalTurn, asyncio.Future[Move]]] = {}
        self._closed_turns: dict[str, tuple[ExternalTurn, TurnAnswer]] = {}
        self._turn_count = 0
        self.last_number = 0
        """The number of the latest event."""

    @property
    def open_turns(self) -> list[ExternalTurn]:
        return [turn for turn, _ in self._open_answers.values()]

    def find_turn(self, turn_id: str) -> ExternalTurn | None:
        """Return an open or closed turn; None if there is none with this id."""
        known = self._open_answers.get(turn_id) or self._closed_turns.get(turn_id)
        return known[0] if known else None

    def last_observation(self, match_id: str) -> Observation | None:
        """Return what was seen at the latest turn of a match; None if it had none."""
        turns = [turn for turn, _ in (*self._closed_turns.values(), *self._open_answers.values())]
        return next((turn.observation for turn in reversed(turns) if turn.observation.match_id == match_id), None)

    def seconds_left(self, turn: ExternalTurn) -> float:
        """Seconds until the fallback plays."""
        return max(0.0, self._seconds_until(turn.closes_at))

    def add_event(self, event: PlayerEvent | TurnOpened | FallbackPlayed | PlayerStopped) -> None:
        """Append an event and wake all that wait for events."""
        if isinstance(event, MatchOver):
            self._close_match_turns(event.game.match_id)
        self.last_number += 1
        self._events.append(NumberedEvent(self.last_number, event))
        self._event_added.set()
        self._event_added = asyncio.Event()

    def events_after(self, after: int = 0) -> list[NumberedEvent]:
        """Return the stored events with numbers above `after`; the latest 1000 are stored."""
        return [event for event in self._events if event.number > after]

    async def wait_for_events(self, after: int, seconds: float, *, urgent: bool = False) -> list[NumberedEvent]:
        """Return the events after number `after`; if there are none, wait for the next, at most `seconds`.

        With `urgent`, only urgent events end the wait; while a turn is open it lasts 2 seconds at most. An `after`
        beyond the last event counts as the last one's number.
        """
        after = min(after, self.last_number)
        until = asyncio.get_running_loop().time() + (
            min(seconds, REMIND_SECONDS) if urgent and self._open_answers else seconds
        )
        while not (self._has_urgent_event(after) if urgent else self.last_number > after):
            try:
                async with asyncio.timeout_at(until):
                    await self._event_added.wait()
            except TimeoutError:
                break
        return self.events_after(after)

    def answer_turn(self, turn_id: str, move: Move) -> TurnAnswer:
        """Answer a turn; repeating the same answer is harmless. Raises Refusal for an illegal or late move."""
        if closed := self._closed_turns.get(turn_id):
            played = closed[1]
            if played.answered_by == OUTSIDE and find_meant_moves(move, [played.move]):
                return played
            raise _invalid_move(f"{_describe_answer(turn_id, played)}; {self._describe_open_turns()}")
        if turn_id not in self._open_answers:
            raise _invalid_move(f"there is no turn {quote(turn_id)}; {self._describe_open_turns()}")
        turn, answer = self._open_answers[turn_id]
        legal = turn.observation.legal_moves
        chosen = find_meant_moves(move, legal)
        if not chosen:
            raise _invalid_move(
                f"{quote(move)} is not legal in {turn_id}; expected one of {describe_legal_moves(legal)}"
            )
        answer.set_result(chosen[0])
        return self._close_turn(turn, TurnAnswer(chosen[0], OUTSIDE))

    def decline_turn(self, turn_id: str) -> None:
        """Let the fallback play now; does nothing if the turn isn't open."""
        if open_turn := self._open_answers.get(turn_id):
            open_turn[1].cancel()

    async def choose(self, observation: Observation) -> Move:
        """Open a turn and return the move from outside, or the fallback's when time is up."""
        turn, answer = self._create_turn(observation), asyncio.get_running_loop().create_future()
        self._open_answers[turn.turn_id] = (turn, answer)
        try:
            self.add_event(TurnOpened(turn))
            await asyncio.wait({answer}, timeout=self.seconds_left(turn))
        finally:
            self._open_answers.pop(turn.turn_id, None)
        if answer.done() and not answer.cancelled():
            return answer.result()
        self._close_turn(turn, TurnAnswer(None, TOO_LATE))
        move = await self._play_fallback(turn)
        self._close_turn(turn, TurnAnswer(move, FALLBACK))
        self.add_event(FallbackPlayed(turn, move))
        return move

    async def close(self) -> None:
        """Call the fallback strategy's `close` if it has one."""
        if close := getattr(self._fallback, "close", None):
            await close()

    def _create_turn(self, observation: Observation) -> ExternalTurn:
        self._turn_count += 1
        now = self._clock.now()
        deadline = observation.deadline or now + timedelta(seconds=self._patience)
        seconds = seconds_to_think(self._seconds_until(deadline))
        closes = now + timedelta(seconds=seconds)
        return ExternalTurn(f"T{self._turn_count}", observation, closes, deadline, seconds)

    async def _play_fallback(self, turn: ExternalTurn) -> Move:
        """Ask the fallback within the time left; if it fails, return a random move."""
        observation = turn.observation
        try:
            async with asyncio.timeout(seconds_to_fall_back(self._seconds_until(turn.deadline))):
                move = (await ask_strategy(self._fallback, observation)).move
        except Exception:  # noqa: BLE001 - a strategy may raise anything; a random move is played
            move = None
        legal = find_equal_moves(move, observation.legal_moves)
        return legal[0] if legal else observation.random.choice(observation.legal_moves)

    def _close_match_turns(self, match_id: str) -> None:
        """Close the open turns of a match that has ended."""
        for turn, answer in list(self._open_answers.values()):
            if turn.observation.match_id == match_id:
                answer.set_result(turn.observation.legal_moves[0])
                self._close_turn(turn, TurnAnswer(None, ENDED))

    def _close_turn(self, turn: ExternalTurn, played: TurnAnswer) -> TurnAnswer:
        self._open_answers.pop(turn.turn_id, None)
        self._closed_turns[turn.turn_id] = (turn, played)
        if len(self._closed_turns) > MAX_CLOSED_TURNS:
            del self._closed_turns[next(iter(self._closed_turns))]
        return played

    def _seconds_until(self, moment: datetime) -> float:
        return (moment - self._clock.now()).total_seconds()

    def _has_urgent_event(self, after: int) -> bool:
        return any(isinstance(event.payload, URGENT_EVENTS) for event in self.events_after(after))

    def _describe_open_turns(self) -> str:
        if not self._open_answers:
            return "no turn is open now: wait for the next one"
        return "open now: " + ", ".join(turn.turn_id for turn in self.open_turns)


class HumanSeat(ABC):
    """One player in one league, identified by `handle`; it lives as long as the process.

    To the league it is an ordinary player. It joins on request, and rejoins at the same port after a restart.
    """

    def __init__(
        self,
        settings: PlayerSettings,
        fallback: Strategy,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        remark: Callable[[str], None] | None = None,
        join_seconds: float = JOIN_SECONDS,
        credentials_file: CredentialsFile | None = None,
        public_url: str | None = None,
        dial_out: bool = False,
        seat_secret: str | None = None,
    ) -> None:
        """`credentials_file` stores its port (default: a file by display name and manager).

        With `dial_out` it needs no port: it keeps a connection to the league's server, at the seat of `seat_secret`.
        """
        self.settings = replace(settings, exit_when_done=True)
        self.handle = f"handle-{secrets.token_hex(8)}"
        self.mailbox = ExternalStrategy(fallback, patience=settings.system.timeouts.move_timeout_sec)
        self.player: Player | None = None
        self.names: dict[str, str] = {}
        self.is_over = False
        self.failure: Exception | None = None
        self.begins_after = 0
        """The number of the last event from before the latest join."""
        self._host = host
        self.public_url = public_url
        """The address by which the league calls it, if that isn't where it listens."""
        self._port = port
        self._dials_out = dial_out
        self._seat_secret = seat_secret
        self._remark = remark
        self._join_seconds = join_seconds
        self._credentials_file = credentials_file or CredentialsFile(
            settings.home, "seat", settings.display_name, "", settings.manager
        )
        self._early_events: list[PlayerEvent] = []
        self._standings_rows: tuple[StandingsRow, ...] = ()
        self._asked_ids: set[str] = set()
        self._registered = asyncio.Event()
        self._player_task: asyncio.Task[None] | None = None
        self._carrier: HttpCarrier | None = None

    @property
    def games(self) -> Sequence[GameRecord]:
        """The games of this league; ids of earlier leagues may belong to other players."""
        return self.player.league_games if self.player else ()

    @property
    def has_joined(self) -> bool:
        return self._registered.is_set()

    @property
    def own_id(self) -> str:
        """The player's id; empty before the first join."""
        return self.player.agent_id if self.player else ""

    def label_player(self, player_id: str | None) -> str:
        """Return a player's name and id, or the id alone if its name isn't known."""
        name = self.names.get(player_id or "")
        return f"{name} ({player_id})" if name else str(player_id)

    async def join_soon(self, most: float) -> bool:
        """Join, waiting at most `join_seconds` and `most` seconds; return whether the player is registered."""
        return await self.join(min(self._join_seconds, most))

    async def join(self, seconds: float | None = None) -> bool:
        """Join or rejoin the league; return whether the player is registered. Raises what made it fail."""
        if self._player_task is None or self._player_task.done():
            self._registered, self.is_over, self.failure = asyncio.Event(), False, None
            self._early_events, self.begins_after = [], self.mailbox.last_number
            self._player_task = asyncio.create_task(self._run_player())
        registered = asyncio.create_task(self._registered.wait())
        try:
            await asyncio.wait({registered, self._player_task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            registered.cancel()
        if self.failure and not self.has_joined:
            raise self.failure
        return self.has_joined

    async def leave(self) -> None:
        """Stop the player and close its connections."""
        if self._player_task:
            self._player_task.cancel()
            await asyncio.wait({self._player_task})
        if self._carrier:
            await self._carrier.close()

    async def fetch_standings(self) -> tuple[StandingsRow, ...]:
        """Fetch the standings from the manager; the last known ones if it doesn't answer."""
        with suppress(CallFailed, Refusal):
            answer = await self._ask_manager("get_standings", {})
            rows = answer.get("standings") if isinstance(answer, dict) else None
            if isinstance(rows, list):
                self._keep_standings(tuple(to_standings_row(parse_fields(Standing, row)) for row in rows))
        return self._standings_rows

    async def wait_for_events(self, after: int, seconds: float, *, urgent: bool = False) -> list[NumberedEvent]:
        """Wait for events as the mailbox does; then fetch the names of the players in them, once for each player."""
        events = await self.mailbox.wait_for_events(after, seconds, urgent=urgent)
        unknown = {one for event in events for one in _find_other_players(event.payload)} - self.names.keys()
        if unknown - self._asked_ids:
            self._asked_ids |= unknown
            await self.fetch_standings()
        return events

    async def rules(self, game_type: str | None) -> dict[str, Any]:
        """Return the rules of a game in our own words, for the manager's game and parameters; raises Refusal."""
        wanted = {"game_type": game_type} if game_type else {}
        told = None
        with suppress(CallFailed):
            told = await self._ask_manager("get_rules", wanted)
        return await self._describe_rules(wanted, told)

    def without_secrets(self, data: Any) -> Any:
        """Redact our token from data; referees know it and may have included it."""
        token = self.player.token if self.player else None
        return redact_tokens(data, (token,) if token else ())

    def _on_event(self, _player_id: str, happening: PlayerEvent) -> None:
        """Record an event; those before the registration's answer, as of a running league, are kept until then."""
        if isinstance(happening, LeagueJoined):
            self.mailbox.add_event(happening)
            early, self._early_events = self._early_events, []
            for one in early:
                self._record_event(one)
            self._registered.set()
        elif self.has_joined:
            self._record_event(happening)
        else:
            self._early_events.append(happening)

    def _record_event(self, happening: PlayerEvent) -> None:
        match happening:
            case StandingsChanged(_, rows):
                self._keep_standings(rows)
            case LeagueOver():
                self.is_over = True
        self.mailbox.add_event(happening)

    def _keep_standings(self, rows: tuple[StandingsRow, ...]) -> None:
        self._standings_rows = rows
        self.names.update((row.player_id, row.display_name) for row in rows)

    async def _run_player(self) -> None:
        """Run the player from registration to the end of the league; a failure becomes an event in the mailbox."""
        try:
            await self._serve_player()
        except Exception as error:  # noqa: BLE001 - the player ends here, and its owner must not wait for ever
            self.failure = error
            self.mailbox.add_event(PlayerStopped(str(error) if isinstance(error, AgentLeagueError) else repr(error)))

    async def _serve_player(self) -> None:
        """Make the player, serve it at its port or through a dial-out seat, and run it to its end."""
        if self._dials_out:
            await self._run_dialled_player()
            return
        server = self._make_server()
        try:
            await server.start()
            assert self.player is not None  # noqa: S101 - `_make_server` has made it
            await self.player.run()
        finally:
            await server.stop()

    def _make_server(self) -> HttpServer:
        """Make the player and its server at the stored port, so that the manager recognises it, else at a free one."""
        known = self._credentials_file.load()
        port = self._port or known.get("port")
        if isinstance(port, int):
            return self._make_server_at(port)
        for free in secrets.SystemRandom().sample(PORT_RANGE, PORT_ATTEMPTS):
            with suppress(PortInUse):
                server = self._make_server_at(free)
                self._credentials_file.save({**known, "port": free})
                return server
        raise UserError(f"No port from {PORT_RANGE[0]} to {PORT_RANGE[-1]} seems to be free; name one with --port.")

    @abstractmethod
    def _make_server_at(self, port: int) -> HttpServer:
        """Make the player, `self.player`, and its server at a port; raises PortInUse."""

    @abstractmethod
    async def _run_dialled_player(self) -> None:
        """Make the player, `self.player`, and run it through a dial-out seat to its end."""

    @abstractmethod
    async def _describe_rules(self, wanted: dict[str, str], told: Any) -> dict[str, Any]:
        """Describe a game's rules; `told` is the manager's answer, None if there was none. Raises Refusal."""

    async def _ask_manager(self, method: str, params: dict[str, str]) -> Any:
        client = PeerClient(self._get_carrier())
        return await client.call_method(self.settings.manager, method, params, ASK_TIMEOUT)

    def _get_carrier(self) -> HttpCarrier:
        if self._carrier is None:
            self._carrier = HttpCarrier()
        return self._carrier


def _find_other_players(event: PlayerEvent | TurnOpened | FallbackPlayed | PlayerStopped) -> Sequence[str]:
    """Return the ids of the players that an event names: the opponent, or the champions."""
    opponent: str | None = None
    match event:
        case LeagueOver(champion_ids):
            return champion_ids
        case RoundAnnounced() | InvitationAnswered():
            opponent = event.opponent_id
        case TurnOpened(turn) | FallbackPlayed(turn):
            opponent = turn.observation.opponent_id
        case MatchOver(game):
            opponent = game.opponent_id
    return (opponent,) if opponent else ()


def _describe_answer(turn_id: str, played: TurnAnswer) -> str:
    if played.answered_by == FALLBACK:
        return f"the time for {turn_id} ran out and the fallback strategy played {quote(played.move)}"
    if played.answered_by == TOO_LATE:
        return f"the time for {turn_id} ran out and the fallback strategy plays"
    if played.answered_by == ENDED:
        return f"{turn_id} is closed: its match has ended"
    return f"{turn_id} was answered with {quote(played.move)}, which can't be changed"


def _invalid_move(sentence: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_MOVE, sentence)
