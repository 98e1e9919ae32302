"""Leagues in which foreign agents meet ours: over real HTTP, ours in the test's event loop, theirs in threads."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from agent_league.launch.agent_plan import AgentListeners, AgentPlan
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.serving import serve_agents
from agent_league.model.events import AgentStateChanged, Event, LeagueCompleted, MatchFinished
from agent_league.model.results import MatchResult, Outcome
from agent_league.storage.repositories import MatchRepository
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.foreign.players import ForeignPlayer
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.v1_player import V1Player
from tests.foreign.web import Agent, Message
from tests.launch.scripted_guests import hosted

PATIENT = {"timeouts.move_timeout_sec": BOUND, "timeouts.game_join_ack_timeout_sec": BOUND}
"""Where nobody is silent: on a busy machine nobody is too late."""

A = TypeVar("A", bound=Agent)


@dataclass(frozen=True, slots=True)
class Played:
    """A league of ours that is over."""

    events: Sequence[Event]
    files: Mapping[str, Message]
    """The match files of our referees, by match."""
    registrations: Sequence[Any]
    """What the guests heard when they registered."""

    @property
    def completed(self) -> LeagueCompleted:
        return next(event for event in self.events if isinstance(event, LeagueCompleted))

    @property
    def results(self) -> dict[str, MatchResult]:
        finished = [event.result for event in self.events if isinstance(event, MatchFinished)]
        return {result.match_id: result for result in finished}

    def id_of(self, guest: ForeignPlayer) -> str:
        """Under which id a guest played, whatever it calls itself."""
        return next(row.player_id for row in self.completed.standings if row.display_name == guest.name)

    def tolerated(self, player_id: str) -> set[str]:
        """What was tolerated in a player's matches; its own id is `*`."""
        notes = [note for match in self.files.values() for note in match["tolerated"].get(player_id, ())]
        return {note.replace(player_id, "*") for note in notes}

    def codes(self, player_id: str) -> set[str]:
        """The error codes in a player's matches."""
        lines = [line for match in self.files.values() for line in match["transcript"]]
        failed = [line for line in lines if line["direction"] == "failed" and line["player_id"] == player_id]
        return {line["error_code"] for line in failed}

    def assert_played(self, players: int, meetings: int = 1) -> None:
        """All matches were played, nobody was suspended, nobody lost technically."""
        assert len(self.results) == self.completed.matches == meetings * players * (players - 1) // 2
        assert {row.played for row in self.completed.standings} == {meetings * (players - 1)}
        assert not [event for event in self.events if isinstance(event, AgentStateChanged)]
        assert {result.outcome for result in self.results.values()} <= {Outcome.WIN, Outcome.DRAW}


@asynccontextmanager
async def started(agent: A) -> AsyncIterator[A]:
    """A foreign agent's server. It is stopped in a thread: what it still says to ours must find an ear."""
    agent.start()
    try:
        yield agent
    finally:
        await asyncio.to_thread(agent.stop)


@asynccontextmanager
async def serving(seats: Sequence[AgentPlan], watchers: AgentListeners | None = None) -> AsyncIterator[None]:
    """Agents of ours, without a manager of ours."""
    stop, ready = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(serve_agents(seats, stop, watchers or AgentListeners(), ready.set))
    try:
        async with asyncio.timeout(BOUND):
            await asyncio.wait({running, asyncio.ensure_future(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        stop.set()
        await running


def planned(plan: PlanMaker, players: int = 4, referees: int = 2, **more: Any) -> LeaguePlan:
    """A plan on free ports."""
    first = free_ports(1 + referees + players)
    ports = {"manager_port": first, "referee_port": first + 1, "player_port": first + 1 + referees}
    return plan(players=players, referees=referees, **ports, **more)


async def play_with_players(made: LeaguePlan, *kinds: type[ForeignPlayer]) -> tuple[Played, list[ForeignPlayer]]:
    """Our league, whose last players are these guests."""
    manager = f"http://localhost:{made.manager.port}/mcp"
    seats = made.players[-len(kinds) :]
    async with AsyncExitStack() as stack:
        guests = [
            await stack.enter_async_context(started(kind(seat.port, manager)))
            for kind, seat in zip(kinds, seats, strict=True)
        ]
        league = await stack.enter_async_context(hosted(made, guests=len(guests)))
        registrations = [await asyncio.to_thread(guest.register) for guest in guests]
        assert [answer.get("status") for answer in registrations] == ["ACCEPTED"] * len(guests), registrations
        await league.completed(BOUND + 5 * len(made.players))
        for guest in guests:
            assert not isinstance(guest, V1Player) or await asyncio.to_thread(guest.over.wait, BOUND)
    return Played(league.events, match_files(made), registrations), guests


async def play_with_referee(made: LeaguePlan, kind: type[SampleReferee]) -> tuple[Played, SampleReferee]:
    """Our league, whose first referee is this guest."""
    manager = f"http://localhost:{made.manager.port}/mcp"
    async with AsyncExitStack() as stack:
        guest = await stack.enter_async_context(started(kind(made.referees[0].port, manager)))
        league = await stack.enter_async_context(hosted(replace(made, referees=made.referees[1:]), guests=0))
        registration = await asyncio.to_thread(guest.register)
        await league.completed()
    return Played(league.events, match_files(made), [registration]), guest


def match_files(made: LeaguePlan) -> dict[str, Message]:
    matches = MatchRepository(made.league.league_id, Path(made.home))
    return {match_id: matches.load(match_id) or {} for match_id in matches.list()}
