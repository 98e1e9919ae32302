"""The mailbox: moves from outside, in time or not, and a list of events from which nothing is lost."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from agent_league.errors import Refusal
from agent_league.players.events import InvitationAnswered, LeagueOver, MatchOver, RoundAnnounced
from agent_league.players.human import (
    MAX_EVENTS,
    REMIND_SECONDS,
    ExternalStrategy,
    ExternalTurn,
    FallbackPlayed,
    NumberedEvent,
    PlayerStopped,
    TurnAnswer,
    TurnOpened,
)
from agent_league.players.observation import GameRecord, Move, Observation, Thought
from agent_league.players.strategies.always import AlwaysOdd
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time


class Asked:
    """A mailbox on virtual time, and the questions put to it."""

    def __init__(self, fallback: Any = None, patience: float = 30) -> None:
        self.clock = VirtualClock()
        self.mailbox = ExternalStrategy(fallback or AlwaysOdd(), self.clock, patience)

    async def ask(
        self, match_id: str = "R1M1", seconds: float | None = 30, legal: Sequence[Move] = ("even", "odd")
    ) -> asyncio.Task[Move]:
        """A question that is being thought about."""
        deadline = None if seconds is None else self.clock.now() + timedelta(seconds=seconds)
        observation = Observation("even_odd", match_id, "P01", "P02", legal, deadline=deadline)
        thought = asyncio.ensure_future(self.mailbox.choose(observation))
        await asyncio.sleep(0)
        return thought

    @property
    def turn(self) -> ExternalTurn:
        return self.mailbox.open_turns[-1]


def kinds(events: Sequence[NumberedEvent]) -> list[str]:
    return [type(event.payload).__name__ for event in events]


def time() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_a_move_from_outside_is_the_answer_at_once() -> None:
    asked = Asked()
    thought = await asked.ask()
    assert asked.mailbox.answer_turn("T1", "even") == TurnAnswer("even", "outside")
    assert await thought == "even"
    assert time() == 0
    assert asked.mailbox.open_turns == []
    assert kinds(asked.mailbox.events_after()) == ["TurnOpened"]


@pytest.mark.parametrize(
    ("limit", "patience", "plays_at"), [(30, 30, 28), (10, 30, 8), (3, 30, 1.5), (0, 30, 0), (None, 12, 10)]
)
def test_without_a_move_the_fallback_plays_two_seconds_before_the_deadline(
    limit: float | None, patience: float, plays_at: float
) -> None:
    @in_virtual_time
    async def play() -> None:
        asked = Asked(patience=patience)
        thought = await asked.ask(seconds=limit)
        turn = asked.turn
        assert asked.mailbox.seconds_left(turn) == plays_at
        assert await thought == "odd"
        assert time() == plays_at
        assert asked.mailbox.events_after(1) == [NumberedEvent(2, FallbackPlayed(turn, "odd"))]

    play()


class Fails:
    instant = True

    def choose(self, observation: Observation) -> Move:
        raise RuntimeError("no idea")


class Cheats:
    instant = True

    def choose(self, observation: Observation) -> Move:
        return "neither"


class Dawdles:
    async def choose(self, observation: Observation) -> Move:
        await asyncio.sleep(3600)


class Thinks:
    async def choose(self, observation: Observation) -> Thought:
        return Thought("even")


@pytest.mark.parametrize("fallback", [Fails, Cheats, Dawdles, Thinks])
def test_whatever_the_fallback_does_a_legal_move_is_there_before_the_deadline(fallback: type) -> None:
    @in_virtual_time
    async def play() -> None:
        asked = Asked(fallback())
        move = await (await asked.ask(seconds=30))
        assert time() < 30
        (event,) = asked.mailbox.events_after(1)
        assert isinstance(event.payload, FallbackPlayed)
        assert event.payload.move == move
        assert move == "even" if fallback is Thinks else move in ("even", "odd")

    play()


@in_virtual_time
async def test_the_same_move_again_has_the_same_answer_and_another_is_refused() -> None:
    asked = Asked()
    await asked.ask()
    first = asked.mailbox.answer_turn("T1", "even")
    assert asked.mailbox.answer_turn("T1", "even") == first
    with pytest.raises(Refusal, match="T1 was answered with 'even', which can't be changed; no turn is open now"):
        asked.mailbox.answer_turn("T1", "odd")


@in_virtual_time
async def test_a_late_move_is_refused_and_told_what_was_played_and_what_is_open() -> None:
    asked = Asked()
    await (await asked.ask("R1M1"))
    await asked.ask("R2M2")
    for move in ("even", "odd"):  # the same as the fallback's is late as well
        with pytest.raises(Refusal) as refused:
            asked.mailbox.answer_turn("T1", move)
        assert "time for T1 ran out and the fallback strategy played 'odd'" in refused.value.message
        assert "open now: T2" in refused.value.message


@in_virtual_time
async def test_a_turn_that_is_declined_is_played_by_the_fallback_at_once() -> None:
    asked = Asked()
    thought = await asked.ask()
    turn = asked.turn
    for _ in range(2):
        asked.mailbox.decline_turn("T1")
    assert await thought == "odd"
    asked.mailbox.decline_turn("T1")
    assert time() == 0
    assert asked.mailbox.events_after(1) == [NumberedEvent(2, FallbackPlayed(turn, "odd"))]


@in_virtual_time
async def test_a_move_that_comes_while_the_fallback_thinks_is_told_that_time_ran_out() -> None:
    asked = Asked(Dawdles())
    thought = await asked.ask(seconds=30)
    await asyncio.sleep(28.5)
    with pytest.raises(Refusal, match="the time for T1 ran out and the fallback strategy plays; no turn is open now"):
        asked.mailbox.answer_turn("T1", "even")
    await thought
    with pytest.raises(Refusal, match=r"the time for T1 ran out and the fallback strategy played '(even|odd)'"):
        asked.mailbox.answer_turn("T1", "even")


@pytest.mark.parametrize("limit", [1, 4, 30])
def test_a_fallback_without_end_is_cut_with_time_for_the_way_back(limit: float) -> None:
    @in_virtual_time
    async def play() -> None:
        await (await Asked(Dawdles()).ask(seconds=limit))
        assert limit - time() == min(1, limit / 4)

    play()


@in_virtual_time
async def test_an_unknown_turn_and_an_illegal_move_are_refused_and_the_turn_stays_open() -> None:
    asked = Asked()
    thought = await asked.ask()
    with pytest.raises(Refusal, match=r"there is no turn 'T9'; open now: T1$"):
        asked.mailbox.answer_turn("T9", "even")
    for illegal in ("Even", " even", "1", 1, None, ["even"], {"move": "even"}):
        with pytest.raises(Refusal, match=r"is not legal in T1; expected one of 'even', 'odd'"):
            asked.mailbox.answer_turn("T1", illegal)
    asked.mailbox.answer_turn("T1", "odd")
    assert await thought == "odd"


@pytest.mark.parametrize(("said", "meant"), [(2, 2), ("2", 2), ([0, 1], [0, 1]), ("[0, 1]", [0, 1]), ("x", "x")])
def test_a_move_that_is_no_text_may_be_written_as_one(said: Any, meant: Any) -> None:
    @in_virtual_time
    async def play() -> None:
        asked = Asked()
        thought = await asked.ask(legal=(1, 2, [0, 1], "x"))
        assert asked.mailbox.answer_turn("T1", said) == asked.mailbox.answer_turn("T1", said)
        assert await thought == meant

    play()


@in_virtual_time
async def test_several_matches_at_once_have_turns_of_their_own() -> None:
    asked = Asked()
    thoughts = [await asked.ask(f"R1M{number}", seconds=10 * number) for number in (1, 2, 3)]
    assert [turn.observation.match_id for turn in asked.mailbox.open_turns] == ["R1M1", "R1M2", "R1M3"]
    asked.mailbox.answer_turn("T2", "even")
    assert await thoughts[1] == "even"
    assert await thoughts[0] == "odd"
    assert time() == 8
    asked.mailbox.answer_turn("T3", "even")
    assert await thoughts[2] == "even"


@in_virtual_time
async def test_a_turn_whose_match_has_ended_is_closed() -> None:
    asked = Asked()
    thought, other = await asked.ask("R1M1"), await asked.ask("R1M2")
    asked.mailbox.add_event(MatchOver(GameRecord("R1M1", "even_odd", "P02", "WIN")))
    assert [turn.turn_id for turn in asked.mailbox.open_turns] == ["T2"]
    with pytest.raises(Refusal, match="T1 is closed: its match has ended; open now: T2"):
        asked.mailbox.answer_turn("T1", "even")
    await thought
    assert not other.done()
    assert "FallbackPlayed" not in kinds(asked.mailbox.events_after())


@in_virtual_time
async def test_a_question_that_is_given_up_leaves_no_open_turn() -> None:
    asked = Asked()
    thought = await asked.ask()
    thought.cancel()
    await asyncio.wait({thought})
    assert asked.mailbox.open_turns == []


@in_virtual_time
async def test_a_long_poll_returns_with_the_next_event_or_empty_when_time_is_up() -> None:
    mailbox = Asked().mailbox
    waiting = asyncio.ensure_future(mailbox.wait_for_events(0, 50))
    await asyncio.sleep(7)
    mailbox.add_event(RoundAnnounced(1))
    assert kinds(await waiting) == ["RoundAnnounced"]
    assert time() == 7
    assert await mailbox.wait_for_events(1, 50) == []
    assert time() == 57


@in_virtual_time
async def test_whoever_waits_for_a_turn_isn_t_woken_by_what_can_wait_but_learns_it_then() -> None:
    asked = Asked()
    waiting = asyncio.ensure_future(asked.mailbox.wait_for_events(0, 50, urgent=True))
    asked.mailbox.add_event(RoundAnnounced(1, "R1M1", "P02"))
    asked.mailbox.add_event(InvitationAnswered("R1M1", "even_odd", "P02", accepted=True))
    await asyncio.sleep(1)
    assert not waiting.done()
    await asked.ask()
    assert kinds(await waiting) == ["RoundAnnounced", "InvitationAnswered", "TurnOpened"]
    assert await asked.mailbox.wait_for_events(3, 50, urgent=True) == [], "an open turn waits for no news"
    assert time() == 1 + REMIND_SECONDS


@pytest.mark.parametrize(
    "what", [LeagueOver(), PlayerStopped("lost"), MatchOver(GameRecord("R1M1", "even_odd", "P02", "WIN"))]
)
def test_an_end_wakes_whoever_waits_for_a_turn(what: Any) -> None:
    @in_virtual_time
    async def play() -> None:
        mailbox = Asked().mailbox
        waiting = asyncio.ensure_future(mailbox.wait_for_events(0, 50, urgent=True))
        await asyncio.sleep(1)
        mailbox.add_event(what)
        assert await waiting == [NumberedEvent(1, what)]

    play()


@in_virtual_time
async def test_a_lost_answer_is_read_again_from_the_same_cursor() -> None:
    asked = Asked()
    await asked.ask()
    first = await asked.mailbox.wait_for_events(0, 50)
    assert await asked.mailbox.wait_for_events(0, 50) == first
    assert isinstance(first[0].payload, TurnOpened)


@pytest.mark.parametrize("urgent", [True, False])
def test_whoever_asks_from_a_number_beyond_the_latest_still_hears_the_next_event(urgent: bool) -> None:
    @in_virtual_time
    async def play() -> None:
        mailbox = Asked().mailbox
        mailbox.add_event(RoundAnnounced(1))
        waiting = asyncio.ensure_future(mailbox.wait_for_events(1000, 50, urgent=urgent))
        await asyncio.sleep(1)
        assert not waiting.done()
        mailbox.add_event(LeagueOver())
        assert await waiting == [NumberedEvent(2, LeagueOver())]
        assert time() == 1

    play()


@in_virtual_time
async def test_the_list_of_events_is_bounded_and_keeps_the_latest() -> None:
    mailbox = Asked().mailbox
    for number in range(MAX_EVENTS + 10):
        mailbox.add_event(RoundAnnounced(number))
    kept = mailbox.events_after(0)
    assert [kept[0].number, kept[-1].number, len(kept)] == [11, MAX_EVENTS + 10, MAX_EVENTS]
    assert mailbox.last_number == MAX_EVENTS + 10


@pytest.mark.parametrize("said", [10**12, "1000000000000", 1e12])
def test_one_of_more_moves_than_can_be_gone_through_is_taken(said: Any) -> None:
    @in_virtual_time
    async def play() -> None:
        asked = Asked()
        thought = await asked.ask(legal=range(0, 10**15, 10))
        for illegal in (3, "3", "ten", None, [10], 10**15):
            with pytest.raises(Refusal, match="expected one of the whole numbers from 0 to 999999999999990 in steps"):
                asked.mailbox.answer_turn("T1", illegal)
        assert asked.mailbox.answer_turn("T1", said) == TurnAnswer(10**12, "outside")
        assert asked.mailbox.answer_turn("T1", said) == TurnAnswer(10**12, "outside")
        assert await thought == 10**12

    play()


@in_virtual_time
async def test_the_fallback_plays_among_more_moves_than_can_be_gone_through() -> None:
    asked = Asked()
    thought = await asked.ask(legal=range(10**15))
    asked.mailbox.decline_turn("T1")
    assert await thought in range(10**15)
