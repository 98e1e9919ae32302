"""Sign-up through a team's key, within a league: one agent a key, replaced between matches until it is frozen."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.league.roster import MAX_VERSIONS
from agent_league.league.sign_up import SIGN_UP_BURST
from agent_league.league.stored_rows import agent_to_row, member_from_row
from agent_league.model.event_words import describe_event
from agent_league.model.events import AgentRegistered
from tests.league.conftest import OfficeMaker
from tests.league.office import Office, within
from tests.league.scripted_referee import first_wins

TEAMS = [SignUpTeam(f"T{number:02}", f"Team {number}") for number in (1, 2, 3)]


@contextmanager
def through(team: SignUpTeam) -> Iterator[None]:
    token = SIGN_UP_TEAM.set(team)
    try:
        yield
    finally:
        SIGN_UP_TEAM.reset(token)


async def sign_up(office: Office, team: SignUpTeam, name: str, port: int, **meta: Any) -> Any:
    with through(team):
        return await office.register(name, f"http://localhost:{port}/mcp", **meta)


async def test_a_replacement_counts_from_the_next_match_on(office: OfficeMaker) -> None:
    room = office()
    for number, team in enumerate(TEAMS, start=1):
        assert (await sign_up(room, team, f"Agent {number}", 8100 + number))["player_id"] == f"P0{number}"
    referee = await room.seat_referee(auto_report=False)
    assert await room.start() == {"status": "ok"}
    await within(referee.wait_for_calls("start_match"))
    order = referee.orders[0]
    playing = TEAMS[int(order["player_A_id"][1:]) - 1]
    answer = await sign_up(room, playing, "Second Try", 8200, version="2.0.0")
    assert (answer["status"], answer["player_id"]) == ("ACCEPTED", order["player_A_id"])
    assert room.manager.state.roster[order["player_A_id"]].versions[-1].number == 2
    assert order["player_A_endpoint"] != "http://localhost:8200/mcp", (
        "the match is played to its end with the earlier one"
    )
    await referee.report(order["match_id"], first_wins(order))
    assert room.manager.state.results[order["match_id"]].winner == order["player_A_id"]
    while not (
        later := [one for one in referee.orders[1:] if order["player_A_id"] in (one["player_A_id"], one["player_B_id"])]
    ):
        seen = len(referee.orders)
        last = referee.orders[-1]
        if last["match_id"] not in room.manager.state.results:
            await referee.report(last["match_id"], first_wins(last))
        await within(referee.wait_for_calls("start_match", seen + 1))
    side = "A" if later[0]["player_A_id"] == order["player_A_id"] else "B"
    assert later[0][f"player_{side}_endpoint"] == "http://localhost:8200/mcp"
    names = {row.player_id: (row.display_name, row.wins) for row in room.manager.state.standings()}
    assert names[order["player_A_id"]] == ("Second Try", 1), "under its id and with its points"


async def test_a_frozen_league_takes_agents_back_as_they_were_and_no_others(office: OfficeMaker) -> None:
    room = office()
    await sign_up(room, TEAMS[0], "Agent 1", 8101)
    room.manager.state.set_frozen(is_frozen=True, now=datetime.now(UTC))
    for name, port, version in (("Other", 8101, "1.0.0"), ("Agent 1", 8102, "1.0.1"), ("Agent 1", 8101, "1.0.1")):
        refused = await sign_up(room, TEAMS[0], name, port, version=version)
        assert refused["status"] == "REJECTED"
        assert "frozen" in str(refused)
    assert (await sign_up(room, TEAMS[0], "Agent 1", 8101))["status"] == "ACCEPTED"
    assert len(room.manager.state.roster["P01"].versions) == 1


async def test_a_frozen_league_takes_a_laptop_with_another_address_back(office: OfficeMaker) -> None:
    room = office()
    token = (await room.register("Agent 1", "http://localhost:8101/mcp"))["auth_token"]
    await sign_up(room, TEAMS[1], "Agent 2", 8102)
    room.manager.state.set_frozen(is_frozen=True, now=datetime.now(UTC))
    stranger = await room.register("Agent 1", "http://localhost:8201/mcp")
    assert stranger["status"] == "REJECTED", "without the token it is somebody else"
    assert (await room.register("Agent 1", "http://localhost:8201/mcp", token=token))["player_id"] == "P01"
    assert (await sign_up(room, TEAMS[1], "Agent 2", 8202))["player_id"] == "P02"
    for player_id, port in (("P01", 8201), ("P02", 8202)):
        assert room.manager.state.roster[player_id].agent.endpoint == f"http://localhost:{port}/mcp"
    assert len(room.manager.state.roster["P02"].versions) == 1
    told = [describe_event(one, {}).text for one in room.events if isinstance(one, AgentRegistered) and one.returned]
    assert told == ["is back, at another address"] * 2


async def test_who_comes_back_unchanged_is_no_new_version(office: OfficeMaker) -> None:
    room = office()
    for _ in range(3):
        assert (await sign_up(room, TEAMS[0], "Agent 1", 8101))["player_id"] == "P01"
    told = [(one.returned, one.new_version) for one in room.events if isinstance(one, AgentRegistered)]
    assert told == [(False, 0), (True, 0), (True, 0)]
    member = room.manager.state.roster["P01"]
    row = agent_to_row(member)
    assert (row.team_id, len(row.versions)) == ("T01", 1)
    assert member_from_row(row, 5).versions == member.versions


async def test_of_many_versions_the_first_and_the_latest_are_remembered(office: OfficeMaker) -> None:
    room = office()
    state = room.manager.state
    sign_up_limit = room.manager.sign_up._limit
    for number in range(MAX_VERSIONS + 10):
        sign_up_limit.burst, sign_up_limit.per_sec = 10_000, 10_000
        await sign_up(room, TEAMS[0], "Agent 1", 8101, version=f"{number}.0.0")
    versions = [one.number for one in state.roster["P01"].versions]
    assert (len(versions), versions[0], versions[1], versions[-1]) == (MAX_VERSIONS, 1, 12, MAX_VERSIONS + 10)
    assert SIGN_UP_BURST < MAX_VERSIONS
