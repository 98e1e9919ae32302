"""A player that hangs, one that answers rubbish and one that dies, on virtual time: each costs itself, nobody else."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.model.agents import AgentState
from agent_league.model.events import AgentRegistered, AgentStateChanged, Event, LeagueCompleted, RoundCompleted
from agent_league.storage.repositories import MatchRepository, PlayerHistoryRepository
from agent_league.testing.peers import Script, ScriptedPlayer, never_reply, reply_garbage
from agent_league.testing.virtual_time import run_in_virtual_time
from tests.launch.virtual_league import virtual_league

SOUND = {"P01", "P02", "P03", "P04", "P05"}
RUBBISH, HUNG, DEAD = FAULTY = ("P06", "P07", "P08")
EVERYTHING = (
    "handle_game_invitation",
    "choose_parity",
    "notify_match_result",
    "notify_game_error",
    "notify_round",
    "update_standings",
    "notify_round_completed",
    "notify_league_completed",
    "get_player_state",
)


@dataclass(frozen=True)
class Story:
    """What happened in the league of eight."""

    events: list[Event]
    completed: LeagueCompleted
    matches: dict[str, dict[str, Any]]
    guests: dict[str, ScriptedPlayer]
    histories: dict[str, dict[str, Any]]
    """What our own players remember."""

    def of(self, player_id: str) -> list[dict[str, Any]]:
        """A player's matches, in the order of their rounds."""
        own = [match for match in self.matches.values() if player_id in match["players"].values()]
        return sorted(own, key=lambda match: int(match["round_id"]))

    def suspensions(self, player_id: str) -> list[AgentStateChanged]:
        changes = [event for event in self.events if isinstance(event, AgentStateChanged)]
        return [event for event in changes if (event.agent_id, event.state) == (player_id, AgentState.SUSPENDED)]

    def round_of(self, event: Event) -> int:
        """The round in which something happened."""
        before = self.events[: self.events.index(event)]
        return 1 + sum(isinstance(earlier, RoundCompleted) for earlier in before)


def sent(match: dict[str, Any], player_id: str, method: str | None = None) -> list[dict[str, Any]]:
    entries = [entry for entry in match["transcript"] if entry["direction"] == "sent"]
    return [entry for entry in entries if entry["player_id"] == player_id and method in (None, entry["method"])]


def failed(match: dict[str, Any], player_id: str) -> list[str]:
    entries = [entry for entry in match["transcript"] if entry["direction"] == "failed"]
    return [entry["error_code"] for entry in entries if entry["player_id"] == player_id]


async def play(home: Path) -> Story:
    scripts: dict[str, dict[str, Script]] = {
        HUNG: dict.fromkeys(EVERYTHING, never_reply),
        RUBBISH: dict.fromkeys(EVERYTHING, reply_garbage),
        DEAD: {},
    }
    guests = {
        player_id: ScriptedPlayer(f"Guest {player_id}", f"http://localhost:9{number}/mcp", scripts=scripts[player_id])
        for number, player_id in enumerate(FAULTY)
    }
    plan = make_league_plan(ConfigLoader(home), LeagueRequest(home=home, players=8, referees=2))
    network = MemoryNetwork()
    events: list[Event] = []
    our_own_are_in = asyncio.Event()

    def watch(event: Event) -> None:
        events.append(event)
        if sum(isinstance(one, AgentRegistered) for one in events) == len(SOUND) + 2:
            our_own_are_in.set()
        if isinstance(event, RoundCompleted) and event.round_id == 1:
            network.detach(guests[DEAD].endpoint)

    async with virtual_league(plan, network, watch, guests=len(FAULTY)) as manager:
        await our_own_are_in.wait()
        for guest in guests.values():
            network.attach(guest.endpoint, guest.answer)
            await guest.register(network, agent_endpoint(plan.manager))
        await manager.completed.wait()
    completed = next(event for event in events if isinstance(event, LeagueCompleted))
    repository = MatchRepository(completed.league_id, home)
    matches = {match_id: match for match_id in repository.list() if (match := repository.load(match_id))}
    histories = {player_id: PlayerHistoryRepository(player_id, home).load() for player_id in SOUND}
    return Story(events, completed, matches, guests, histories)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    home = tmp_path_factory.mktemp("home")
    make_home(home)
    return run_in_virtual_time(play(home))


def test_the_league_is_played_to_its_end(story: Story) -> None:
    assert (story.completed.matches, story.completed.rounds, len(story.matches)) == (28, 7, 28)
    assert {row.played for row in story.completed.standings} == {7}


def test_matches_of_the_others_are_played_normally(story: Story) -> None:
    normal = [match for match in story.matches.values() if SOUND.issuperset(match["players"].values())]
    assert len(normal) == 10
    for match in normal:
        assert match["result"]["status"] in ("WIN", "DRAW")
        assert set(match["result"]["terminations"].values()) == {"normal"}
        assert not [entry for entry in match["transcript"] if entry["direction"] == "failed"]


@pytest.mark.parametrize(
    ("player_id", "first_round", "endings"),
    [
        (HUNG, 1, {"join_timeout", "suspended"}),
        (RUBBISH, 1, {"unreadable_answer", "suspended"}),
        (DEAD, 2, {"disconnected", "suspended"}),
    ],
)
def test_a_faulty_player_loses_technically_from_then_on(
    story: Story, player_id: str, first_round: int, endings: set[str]
) -> None:
    for match in story.of(player_id):
        opponent = next(other for other in match["players"].values() if other != player_id)
        if opponent in SOUND and match["round_id"] >= first_round:
            assert match["result"]["status"] == "TECHNICAL_LOSS"
            assert match["result"]["winner_player_id"] == opponent
            assert match["result"]["terminations"][opponent] == "normal"
            assert match["result"]["terminations"][player_id] in endings
            assert match["result"]["score"] == {opponent: 3, player_id: 0}
            assert match["result"]["drawn_number"] is None


def test_the_one_who_dies_played_while_it_lived(story: Story) -> None:
    assert story.of(DEAD)[0]["result"]["terminations"][DEAD] == "normal"
    assert {match["match_id"] for match in story.guests[DEAD].received_params("handle_game_invitation")} == {
        story.of(DEAD)[0]["match_id"]
    }


@pytest.mark.parametrize(("player_id", "code"), [(HUNG, "E001"), (RUBBISH, "E002"), (DEAD, "E009")])
def test_every_failure_is_told_with_a_game_error(story: Story, player_id: str, code: str) -> None:
    codes = []
    for match in story.of(player_id):
        errors = [entry["message"] for entry in sent(match, player_id, "notify_game_error")]
        assert [error["error_code"] for error in errors] == failed(match, player_id)
        assert [error["retry_info"]["retry_count"] for error in errors] == list(range(1, len(errors) + 1))
        assert {error["affected_player"] for error in errors} <= {player_id}
        codes += failed(match, player_id)
    assert set(codes) == {code}
    assert len(codes) >= 2


def test_each_question_is_asked_three_times_at_most(story: Story) -> None:
    for match in story.matches.values():
        for player_id in match["players"].values():
            for method in ("handle_game_invitation", "choose_parity"):
                assert len(sent(match, player_id, method)) <= 3


def test_the_hung_player_is_suspended_after_five_failures_in_a_row(story: Story) -> None:
    (suspension,) = story.suspensions(HUNG)
    assert suspension.why.endswith("failures in a row")
    assert sum(len(failed(match, HUNG)) for match in story.of(HUNG)) <= 6, "each referee has asked it three times"
    assert story.round_of(suspension) <= 2
    assert not [event for event in story.events if isinstance(event, AgentStateChanged) and event.agent_id in SOUND]


def test_a_suspended_player_costs_no_calls_before_game_over(story: Story) -> None:
    (suspension,) = story.suspensions(HUNG)
    later = [match for match in story.of(HUNG) if match["round_id"] > story.round_of(suspension)]
    assert len(later) >= 5
    asked = {params["match_id"] for params in story.guests[HUNG].received_params("handle_game_invitation")}
    for match in later:
        assert [entry["method"] for entry in sent(match, HUNG)] == ["notify_match_result"]
        assert [step["state"] for step in match["lifecycle"]] == ["WAITING_FOR_PLAYERS", "FINISHED"]
        assert match["result"]["terminations"][HUNG] == "suspended"
        assert match["match_id"] not in asked


def test_every_opponent_has_its_id_in_the_history_also_one_that_was_suspended(story: Story) -> None:
    everybody = {row.player_id for row in story.completed.standings}
    for player_id, history in story.histories.items():
        assert {game["opponent_id"] for game in history["matches"]} == everybody - {player_id}


def test_both_players_hear_the_end_of_every_match(story: Story) -> None:
    for match in story.matches.values():
        for player_id in match["players"].values():
            (over,) = sent(match, player_id, "notify_match_result")
            assert over["message"]["game_result"]["status"] == match["result"]["status"]
