"""Which resources an event changes; and that a whole league tells of each of its resources."""

import asyncio
from pathlib import Path

import pytest

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import run_agents
from agent_league.league import app
from agent_league.league.app import LeagueManager
from agent_league.league.changed_resources import list_changed_resources
from agent_league.model.agents import AgentState, Role
from agent_league.model.audit import AuditEntry
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    CommandCarriedOut,
    Event,
    FreezeChanged,
    LadderNews,
    LeagueCompleted,
    LeagueReopened,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    MatchPaired,
    MatchReplaced,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCalled,
    RoundCompleted,
    RoundScheduled,
    RoundStarted,
    StartDelayed,
    StartedLate,
    StoreChanged,
    TimesChanged,
)
from agent_league.model.results import MatchResult, Outcome, StandingsRow
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.players.app import Player
from agent_league.referee.app import Referee
from tests.conftest import BOUND, PlanMaker
from tests.players.chair import chair, game_over
from tests.referee.hall import hall

ROW = StandingsRow(1, "P01", "Agent", 1, 1, 0, 0, 3, 1)
ENDPOINT = "http://localhost:8101/mcp"
CHANGED: list[tuple[Event, set[str]]] = [
    (AgentRegistered(Role.PLAYER, "P01", "Agent", ENDPOINT), {"standings", "schedule", "players/P01"}),
    (AgentRegistered(Role.REFEREE, "REF01", "Referee", ENDPOINT), set()),
    (RegistrationRefused("Agent", "League full"), set()),
    (AgentStateChanged("P02", AgentState.SUSPENDED, "silent"), {"players/P02"}),
    (AgentStateChanged("REF01", AgentState.SUSPENDED, "silent"), set()),
    (StoreChanged(is_there=False, why="away"), set()),
    (RegistrationChanged(is_open=False), set()),
    (StartDelayed("Wed 15 Jan 2025, 18:00", "no referee is registered"), set()),
    (StartedLate("Wed 15 Jan 2025, 18:00", 300), set()),
    (RoundScheduled(2, "Wed 15 Jan 2025, 18:00"), set()),
    (RoundCalled(2), set()),
    (TimesChanged("start: Wed 15 Jan 2025, 18:00"), set()),
    (QuietHoursChanged(is_quiet=True, until="07:00"), set()),
    (FreezeChanged(is_frozen=True), set()),
    (PauseChanged(is_paused=True), set()),
    (RefereeWaitChanged(is_waiting=True), set()),
    (ReachabilityChanged("P01", True, "http://10.0.0.1:8101/mcp"), set()),
    (MatchNotTaken("R1M1", "REF01", "E016 full"), set()),
    (MatchOverdue("R1M1", "REF01", 1), set()),
    (LeagueStarted("league", 3, 1, 3, 3), {"standings", "schedule", "rounds/1", "rounds/2", "rounds/3"}),
    (LeagueResumed("league", 2, 1, 1, 1, {}, ()), {"standings", "schedule", "rounds/1"}),
    (RoundStarted(LeagueRound(2, (Pairing("R2M1", 2, "P01", "P02"),))), {"standings", "rounds/2", "matches/R2M1"}),
    (MatchAssigned("R2M1", "REF01"), {"matches/R2M1"}),
    (MatchPaired(Pairing("R1M7", 1, "P01", "P02")), {"schedule", "rounds/1"}),
    (LadderNews("P01", "asks for a match against P02"), {"players/P01"}),
    (
        MatchFinished(MatchResult("R1M1", 1, ("P01", "P02"), Outcome.WIN, "P01")),
        {"standings", "schedule", "rounds/1", "matches/R1M1", "players/P01", "players/P02"},
    ),
    (RoundCompleted(1, (ROW,)), {"standings", "rounds/1"}),
    (LeagueCompleted("league", 1, 1, (ROW,)), {"standings", "players/P01"}),
    (
        MatchReplaced("R1M1", Pairing("R1M1-2", 1, "P01", "P02", replaces="R1M1")),
        {"standings", "schedule", "rounds/1", "matches/R1M1", "matches/R1M1-2", "players/P01", "players/P02"},
    ),
    (LeagueReopened("league"), set()),
    (CommandCarriedOut(AuditEntry(1, "2025-01-15T12:00:00Z", "Ada", "PAUSE")), set()),
]
STATES = 4
"""Through which a match of Even/Odd goes, and each is told by its referee."""


@pytest.mark.parametrize(("event", "resources"), CHANGED, ids=lambda part: type(part).__name__)
def test_an_event_changes_these_resources(event: Event, resources: set[str]) -> None:
    changed = list_changed_resources(event)
    assert set(changed) == {f"league://{resource}" for resource in resources}
    assert len(changed) == len(resources)


def test_no_kind_of_event_is_forgotten() -> None:
    assert {type(event) for event, _ in CHANGED} == set(Event.__args__)


async def test_a_whole_league_tells_of_each_of_its_resources(plan: PlanMaker) -> None:
    league = plan(players=4, referees=1, seed="7")
    heard: dict[str, list[str]] = {}
    async with asyncio.timeout(BOUND), run_agents(MemoryNetwork(), league.agent_plans) as agents:
        for agent in agents:
            agent.changes.add_listener(heard.setdefault(agent.health()["id"], []).append)
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()
    matches = {f"league://matches/R{round_}M{number}" for round_ in (1, 2, 3) for number in (1, 2)}
    players = {f"league://players/P0{number}" for number in (1, 2, 3, 4)}
    rounds = {f"league://rounds/{number}" for number in (1, 2, 3)}
    assert set(heard["league_manager"]) == {"league://standings", "league://schedule", *matches, *players, *rounds}
    assert {uri: heard["REF01"].count(uri) for uri in matches} == dict.fromkeys(matches, STATES)
    assert len(heard["REF01"]) == len(matches) * STATES
    for number in (1, 2, 3, 4):
        assert heard[f"P0{number}"] == [f"league://players/P0{number}"] * 3


async def test_what_is_told_is_already_there_to_be_read(plan: PlanMaker) -> None:
    league = plan(players=2, referees=1, seed="7")
    states: list[tuple[str, str | None]] = []
    async with asyncio.timeout(BOUND), run_agents(MemoryNetwork(), league.agent_plans) as agents:
        manager = agents[0]
        assert isinstance(manager, LeagueManager)

        def look(uri: str) -> None:
            if uri == "league://matches/R1M1":
                match = manager._projections._queries.get_match("R1M1")
                states.append((match["state"], match["referee_id"]))

        manager.changes.add_listener(look)
        await manager.completed.wait()
    assert states == [("RUNNING", None), ("RUNNING", "REF01"), ("FINISHED", "REF01")]


async def test_as_long_as_nobody_listens_nothing_is_worked_out(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(event: Event) -> tuple[str, ...]:
        raise AssertionError(f"nobody asked what {event} changes")

    monkeypatch.setattr(app, "list_changed_resources", fail)
    league = plan(players=2, referees=1)
    async with asyncio.timeout(BOUND), run_agents(MemoryNetwork(), league.agent_plans) as agents:
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()


async def test_a_referee_tells_of_each_state_of_a_match_once_it_can_be_read(home: Path) -> None:
    told: list[tuple[str, str]] = []
    async with asyncio.timeout(BOUND), hall(home) as match:
        referee: Referee = match.referee
        referee.changes.add_listener(lambda uri: told.append((uri, str(referee._running_matches["R1M1"].match.state))))
        match.pair()
        await match.play()
    states = ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
    assert told == [("league://matches/R1M1", state) for state in states]


async def test_a_player_tells_of_itself_once_for_each_game_that_it_remembers(home: Path) -> None:
    told: list[tuple[str, int]] = []
    async with asyncio.timeout(BOUND), chair(home) as seat:
        player: Player = seat.player
        player.changes.add_listener(lambda uri: told.append((uri, len(player.games))))
        await seat.plays("R1M1")
        await seat.plays("R2M1", "P03")
        again = game_over("R2M1", choices={"P01": "even", "P03": "odd"})
        assert await seat.call("notify_match_result", again) == {"status": "ok"}
    assert told == [("league://players/P01", 1), ("league://players/P01", 2)]
