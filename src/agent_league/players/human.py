"""A strategy whose moves come from outside: from a person, or a program that polls for its turns.

Events are kept in a numbered list, so that a client can ask again for those it missed. A turn that isn't answered in
time is played by a fallback strategy. Knows no wire and no terminal.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_league.clock import Clock, SystemClock
from agent_league.errors import ErrorCode, Refusal
from agent_league.players.deadline import seconds_to_fall_back, seconds_to_think
from agent_league.players.decision import ask
from agent_league.players.events import Happening, LeagueOver, MatchOver, Trouble
from agent_league.players.legal_moves import listed, meant, spelled
from agent_league.players.observation import Move, Observation, Strategy

KEPT_EVENTS = 1000
KEPT_TURNS = 1000
REMIND_SECONDS = 2.0
"""Longest wait for events while a turn is open."""
PATIENCE_SECONDS = 30.0
"""Assumed time limit of a referee that sends no deadline."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question to be answered from outside; at `closes_at` the fallback plays."""

    turn_id: str
    observation: Observation
    closes: datetime
    deadline: datetime
    """The referee's deadline."""


@dataclass(frozen=True, slots=True)
class YourTurn:
    """A turn is open for an answer."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class FallbackPlayed:
    """A turn wasn't answered in time, and the fallback chose the move."""

    turn: Turn
    move: Move


@dataclass(frozen=True, slots=True)
class Stopped:
    """The player has failed and can't go on."""

    why: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its number: 1, 2, 3, ..."""

    number: int
    what: Happening | YourTurn | FallbackPlayed | Stopped


@dataclass(frozen=True, slots=True)
class Played:
    """How a turn was closed: the move, and who chose it."""

    move: Move
    by: str


URGENT = (YourTurn, FallbackPlayed, MatchOver, Trouble, LeagueOver, Stopped)
"""Events that end an urgent wait; others are delivered together with the next of these."""
OUTSIDE, FALLBACK = "outside", "fallback"
TOO_LATE, ENDED = "nobody yet", "nobody"
"""Turns without a move: the fallback is still choosing; the match has ended."""


class Mailbox:
    """Opens a turn for each question of the player, and takes its answer from outside; several may be open at once."""

    def __init__(self, fallback: Strategy, clock: Clock | None = None, patience: float = PATIENCE_SECONDS) -> None:
        self._fallback = fallback
        self._clock = clock or SystemClock()
        self._patience = patience
        self._events: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self._news = asyncio.Event()
        self._open: dict[str, tuple[Turn, asyncio.Future[Move]]] = {}
        self._closed: dict[str, tuple[Turn, Played]] = {}
        self._turns = 0
        self.last = 0
        """The number of the latest event."""

    @property
    def open_turns(self) -> list[Turn]:
        return [turn for turn, _ in self._open.values()]

    def turn(self, turn_id: str) -> Turn | None:
        """Return an open or closed turn; None if there is none with this id."""
        known = self._open.get(turn_id) or self._closed.get(turn_id)
        return known[0] if known else None

    def seconds_left(self, turn: Turn) -> float:
        """Seconds until the fallback plays."""
        return max(0.0, self._until(turn.closes))

    def add(self, what: Happening | YourTurn | FallbackPlayed | Stopped) -> None:
        """Append an event and wake all that wait for events."""
        if isinstance(what, MatchOver):
            self._withdraw(what.game.match_id)
        self.last += 1
        self._events.append(Event(self.last, what))
        self._news.set()
        self._news = asyncio.Event()

    def events(self, after: int = 0) -> list[Event]:
        """Return the stored events with numbers above `after`; the latest 1000 are stored."""
        return [event for event in self._events if event.number > after]

    async def wait(self, after: int, seconds: float, *, urgent: bool = False) -> list[Event]:
        """Return the events after number `after`; if there are none, wait for the next, at most `seconds`.

        With `urgent`, only urgent events end the wait; while a turn is open it lasts 2 seconds at most. An `after`
        beyond the last event counts as the last one's number.
        """
        after = min(after, self.last)
        until = asyncio.get_running_loop().time() + (min(seconds, REMIND_SECONDS) if urgent and self._open else seconds)
        while not (self._is_urgent(after) if urgent else self.last > after):
            try:
                async with asyncio.timeout_at(until):
                    await self._news.wait()
            except TimeoutError:
                break
        return self.events(after)

    def move(self, turn_id: str, move: Move) -> Played:
        """Answer a turn; repeating the same answer is harmless. Raises Refusal for an illegal or late move."""
        if closed := self._closed.get(turn_id):
            played = closed[1]
            if played.by == OUTSIDE and meant(move, [played.move]):
                return played
            raise _refused(f"{_fate(turn_id, played)}; {self._open_now()}")
        if turn_id not in self._open:
            raise _refused(f"there is no turn {turn_id!r:.80}; {self._open_now()}")
        turn, answer = self._open[turn_id]
        legal = turn.observation.legal_moves
        chosen = meant(move, legal)
        if not chosen:
            raise _refused(f"{move!r:.80} is not legal in {turn_id}; expected one of {listed(legal)}")
        answer.set_result(chosen[0])
        return self._close(turn, Played(chosen[0], OUTSIDE))

    def decline(self, turn_id: str) -> None:
        """Let the fallback play now; does nothing if the turn isn't open."""
        if open_turn := self._open.get(turn_id):
            open_turn[1].cancel()

    async def choose(self, observation: Observation) -> Move:
        """Open a turn and return the move from outside, or the fallback's when time is up."""
        turn, answer = self._new_turn(observation), asyncio.get_running_loop().create_future()
        self._open[turn.turn_id] = (turn, answer)
        try:
            self.add(YourTurn(turn))
            await asyncio.wait({answer}, timeout=self.seconds_left(turn))
        finally:
            self._open.pop(turn.turn_id, None)
        if answer.done() and not answer.cancelled():
            return answer.result()
        self._close(turn, Played(None, TOO_LATE))
        move = await self._fall_back(turn)
        self._close(turn, Played(move, FALLBACK))
        self.add(FallbackPlayed(turn, move))
        return move

    async def close(self) -> None:
        """Call the fallback strategy's `close` if it has one."""
        if close := getattr(self._fallback, "close", None):
            await close()

    def _new_turn(self, observation: Observation) -> Turn:
        self._turns += 1
        now = self._clock.now()
        deadline = observation.deadline or now + timedelta(seconds=self._patience)
        closes = now + timedelta(seconds=seconds_to_think(self._until(deadline)))
        return Turn(f"T{self._turns}", observation, closes, deadline)

    async def _fall_back(self, turn: Turn) -> Move:
        """Ask the fallback within the time left; if it fails, return a random move."""
        observation = turn.observation
        try:
            async with asyncio.timeout(seconds_to_fall_back(self._until(turn.deadline))):
                move = (await ask(self._fallback, observation)).move
        except Exception:  # noqa: BLE001 - a strategy may raise anything; a random move is played
            move = None
        legal = spelled(move, observation.legal_moves)
        return legal[0] if legal else observation.random.choice(observation.legal_moves)

    def _withdraw(self, match_id: str) -> None:
        """Close the open turns of a match that has ended."""
        for turn, answer in list(self._open.values()):
            if turn.observation.match_id == match_id:
                answer.set_result(turn.observation.legal_moves[0])
                self._close(turn, Played(None, ENDED))

    def _close(self, turn: Turn, played: Played) -> Played:
        self._open.pop(turn.turn_id, None)
        self._closed[turn.turn_id] = (turn, played)
        if len(self._closed) > KEPT_TURNS:
            del self._closed[next(iter(self._closed))]
        return played

    def _until(self, moment: datetime) -> float:
        return (moment - self._clock.now()).total_seconds()

    def _is_urgent(self, after: int) -> bool:
        return any(isinstance(event.what, URGENT) for event in self.events(after))

    def _open_now(self) -> str:
        if not self._open:
            return "no turn is open now: wait for the next one"
        return "open now: " + ", ".join(turn.turn_id for turn in self.open_turns)


def _fate(turn_id: str, played: Played) -> str:
    if played.by == FALLBACK:
        return f"the time for {turn_id} ran out and the fallback strategy played {played.move!r:.80}"
    if played.by == TOO_LATE:
        return f"the time for {turn_id} ran out and the fallback strategy plays"
    if played.by == ENDED:
        return f"{turn_id} is closed: its match has ended"
    return f"{turn_id} was answered with {played.move!r:.80}, which can't be changed"


def _refused(sentence: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_MOVE, sentence)
