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
from agent_league.players.decision import ask_strategy
from agent_league.players.events import GameErrorReported, LeagueOver, MatchOver, PlayerEvent
from agent_league.players.legal_moves import describe_legal_moves, find_equal_moves, find_meant_moves
from agent_league.players.observation import Move, Observation, Strategy

MAX_EVENTS = 1000
MAX_CLOSED_TURNS = 1000
REMIND_SECONDS = 2.0
"""Longest wait for events while a turn is open."""
PATIENCE_SECONDS = 30.0
"""Assumed time limit of a referee that sends no deadline."""


@dataclass(frozen=True, slots=True)
class ExternalTurn:
    """A question to be answered from outside; at `closes_at` the fallback plays."""

    turn_id: str
    observation: Observation
    closes_at: datetime
    deadline: datetime
    """The referee's deadline."""


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
            raise _invalid_move(f"there is no turn {turn_id!r:.80}; {self._describe_open_turns()}")
        turn, answer = self._open_answers[turn_id]
        legal = turn.observation.legal_moves
        chosen = find_meant_moves(move, legal)
        if not chosen:
            raise _invalid_move(
                f"{move!r:.80} is not legal in {turn_id}; expected one of {describe_legal_moves(legal)}"
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
        closes = now + timedelta(seconds=seconds_to_think(self._seconds_until(deadline)))
        return ExternalTurn(f"T{self._turn_count}", observation, closes, deadline)

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


def _describe_answer(turn_id: str, played: TurnAnswer) -> str:
    if played.answered_by == FALLBACK:
        return f"the time for {turn_id} ran out and the fallback strategy played {played.move!r:.80}"
    if played.answered_by == TOO_LATE:
        return f"the time for {turn_id} ran out and the fallback strategy plays"
    if played.answered_by == ENDED:
        return f"{turn_id} is closed: its match has ended"
    return f"{turn_id} was answered with {played.move!r:.80}, which can't be changed"


def _invalid_move(sentence: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_MOVE, sentence)
