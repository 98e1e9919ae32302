"""The manager's notices: to whom, in which order, with what in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.model.agents import AgentState
from agent_league.model.events import AgentRegistered, AgentStateChanged
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.testing.peers import ScriptedPlayer, never_reply
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office, within
from tests.league.scripted_referee import first_wins, won_by_lowest

GOLDEN = Path(__file__).parent.parent / "golden" / "league.v2"
NOTICES = ("notify_round", "update_standings", "notify_round_completed", "notify_league_completed")
PER_ROUND = list(NOTICES[:3])
QUICK = {"timeouts.generic_response_timeout_sec": 0.05}


def notices(agent: Any) -> list[tuple[str, int | None]]:
    """What an agent was told, in order, with the round."""
    return [(method, params.get("round_id")) for method, params in agent.received_calls if method in NOTICES]


def whole_league(rounds: int) -> list[tuple[str, int | None]]:
    told: list[tuple[str, int | None]] = [
        (method, round_id) for round_id in range(1, rounds + 1) for method in PER_ROUND
    ]
    return [*told, ("notify_league_completed", None)]


def assert_like(golden: Any, sent: Any, path: str) -> None:
    """`sent` has at least the fields of the example, with the same types."""
    assert type(sent) is type(golden), path
    if isinstance(golden, dict):
        for name, value in golden.items():
            assert name in sent, f"{path}.{name}"
            assert_like(value, sent[name], f"{path}.{name}")
    elif isinstance(golden, list):
        assert sent, path
        for item in sent:
            assert_like(golden[0], item, f"{path}[]")


@pytest.mark.parametrize(("players", "rounds"), [(2, 1), (4, 3), (5, 5)])
async def test_everybody_is_told_everything_in_order(office: OfficeMaker, players: int, rounds: int) -> None:
    here = office()
    seated = await here.play(players, referees=({}, {}))
    for agent in (*seated, *here.referees):
        assert notices(agent) == whole_league(rounds)


async def test_split_rounds_are_told_like_any_others(office: OfficeMaker) -> None:
    here = office({"scheduling.matches_per_round": 1})
    seated = await here.play(4)
    assert notices(seated[0]) == whole_league(6)
    assert [len(message["matches"]) for message in seated[0].received_params("notify_round")] == [1] * 6


async def test_the_announcement_names_matches_players_and_the_referees_address(office: OfficeMaker) -> None:
    here = office()
    seated = await here.play(4, referees=({}, {}))
    announcement = seated[0].received_params("notify_round")[0]
    assert announcement["message_type"] == "ROUND_ANNOUNCEMENT"
    assert announcement["league_id"] == LEAGUE_ID
    addresses = [referee.endpoint for referee in here.referees]
    assert announcement["matches"] == [
        {
            "match_id": "R1M1",
            "game_type": "even_odd",
            "player_A_id": "P01",
            "player_B_id": "P02",
            "referee_endpoint": addresses[0],
        },
        {
            "match_id": "R1M2",
            "game_type": "even_odd",
            "player_A_id": "P03",
            "player_B_id": "P04",
            "referee_endpoint": addresses[1],
        },
    ]


async def test_only_the_referees_copy_carries_the_players_addresses(office: OfficeMaker) -> None:
    here = office()
    seated = await here.play(4)
    addresses = {player.player_id: player.endpoint for player in seated}
    for player in seated:
        for message in player.received_params("notify_round"):
            assert not [
                field for match in message["matches"] for field in match if field.endswith(("A_endpoint", "B_endpoint"))
            ]
            assert not [address for address in addresses.values() if address in str(message)]
    matches = [match for message in here.referees[0].received_params("notify_round") for match in message["matches"]]
    assert len(matches) == 6
    for match in matches:
        assert match["player_A_endpoint"] == addresses[match["player_A_id"]]
        assert match["player_B_endpoint"] == addresses[match["player_B_id"]]


async def test_the_announced_referee_is_the_one_who_gets_the_match(office: OfficeMaker) -> None:
    here = office()
    seated = await here.play(6, referees=({}, {"capacity": 1}))
    announced = {
        match["match_id"]: match["referee_endpoint"]
        for message in seated[0].received_params("notify_round")
        for match in message["matches"]
    }
    played = {order["match_id"]: referee.endpoint for referee in here.referees for order in referee.orders}
    assert played == announced
    assert len(played) == 15


async def test_standings_are_those_after_the_round(office: OfficeMaker) -> None:
    here = office()
    seated = await here.play(4, referees=({"verdict": won_by_lowest},))
    tables = [message["standings"] for message in seated[3].received_params("update_standings")]
    ranked = [sorted((row["shared_rank"], row["player_id"], row["points"]) for row in table) for table in tables]
    assert ranked == [
        [(1, "P01", 3), (1, "P03", 3), (3, "P02", 0), (3, "P04", 0)],
        [(1, "P01", 6), (2, "P02", 3), (2, "P03", 3), (4, "P04", 0)],
        [(1, "P01", 9), (2, "P02", 6), (3, "P03", 3), (4, "P04", 0)],
    ]
    assert [row["rank"] for row in tables[1]] == [1, 2, 3, 4]
    assert tables[2][0] == {
        "rank": 1,
        "player_id": "P01",
        "display_name": "Agent 1",
        "played": 3,
        "wins": 3,
        "draws": 0,
        "losses": 0,
        "points": 9,
        "shared_rank": 1,
    }


async def test_round_completed_has_both_counts_the_next_round_and_a_summary(office: OfficeMaker) -> None:
    verdicts = {
        "R1M1": {"winner": None, "score": {}, "status": "DRAW"},
        "R1M2": {"winner": "P03", "score": {}, "status": "TECHNICAL_LOSS"},
        "R2M1": {"winner": None, "score": {}, "status": "TECHNICAL_LOSS"},
    }
    here = office()
    seated = await here.play(
        4, referees=({"verdict": lambda order: verdicts.get(order["match_id"]) or first_wins(order)},)
    )
    told = seated[0].received_params("notify_round_completed")
    assert [message["next_round_id"] for message in told] == [2, 3, None]
    assert all(message["matches_completed"] == message["matches_played"] == 2 for message in told)
    assert [message["summary"] for message in told] == [
        {"total_matches": 2, "wins": 0, "draws": 1, "technical_losses": 1, "void": 0},
        {"total_matches": 2, "wins": 1, "draws": 0, "technical_losses": 1, "void": 0},
        {"total_matches": 2, "wins": 2, "draws": 0, "technical_losses": 0, "void": 0},
    ]


async def test_league_completed_names_the_champion_and_the_final_table(office: OfficeMaker) -> None:
    here = office()
    seated = await here.play(4, referees=({"verdict": won_by_lowest},))
    for agent in (*seated, *here.referees):
        (message,) = agent.received_params("notify_league_completed")
        assert (message["total_rounds"], message["total_matches"]) == (3, 6)
        assert message["champion"] == {"player_id": "P01", "display_name": "Agent 1", "points": 9}
        ranks = [(row["rank"], row["player_id"], row["points"]) for row in message["final_standings"]]
        assert ranks == [(1, "P01", 9), (2, "P02", 6), (3, "P03", 3), (4, "P04", 0)]


@pytest.mark.parametrize("method", NOTICES)
async def test_every_notice_has_at_least_the_fields_of_the_seeds_examples(office: OfficeMaker, method: str) -> None:
    here = office()
    seated = await here.play(4)
    sent = seated[0].received_params(method)[0]
    examples = sorted(GOLDEN.glob(f"{sent['message_type']}.*.json"))
    assert examples
    for example in examples:
        golden = json.loads(example.read_text())
        assert_like(golden.get("params", golden), sent, example.name)


async def test_a_player_that_takes_no_notices_holds_up_nobody(office: OfficeMaker) -> None:
    here = office(QUICK)
    deaf = ScriptedPlayer("Deaf", "http://localhost:8190/mcp", scripts=dict.fromkeys(NOTICES, never_reply))
    here.network.attach(deaf.endpoint, deaf.answer)
    await deaf.register(here.network, MANAGER)
    seated = await here.play(3)
    assert all(notices(player) == whole_league(3) for player in seated)
    assert len(here.manager.state.results) == 6


async def test_a_player_that_nobody_can_reach_holds_up_nobody_and_is_suspended(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.register("Gone", "http://localhost:8190/mcp")
    seated = await here.play(3)
    assert all(notices(player) == whole_league(3) for player in seated)
    assert AgentStateChanged("P01", AgentState.SUSPENDED, "5 failures in a row") in here.events


async def test_a_player_that_returns_with_a_new_address_is_told_there(office: OfficeMaker) -> None:
    here = office()
    seated = await here.seat_players(2)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    (order,) = await within(referee.wait_for_calls("start_match"))
    moved = ScriptedPlayer("Agent 1", "http://localhost:8190/mcp")
    here.network.attach(moved.endpoint, moved.answer)
    here.network.detach(seated[0].endpoint)
    answer = await here.register("Agent 1", moved.endpoint, token=seated[0].token)
    assert answer["player_id"] == "P01"
    assert isinstance(here.events[-1], AgentRegistered)
    await referee.report("R1M1", first_wins(order))
    await here.completed()
    assert notices(seated[0]) == [("notify_round", 1)]
    assert notices(moved) == whole_league(1)


async def test_whoever_answers_a_notice_with_an_error_still_gets_the_next(office: OfficeMaker) -> None:
    async def unknown(_: Any) -> Any:
        return {"message_type": "LEAGUE_ERROR", "error_code": "E002", "message": "no such method here"}

    here = office()
    grumbler = ScriptedPlayer("Grumbler", "http://localhost:8190/mcp", scripts=dict.fromkeys(NOTICES, unknown))
    here.network.attach(grumbler.endpoint, grumbler.answer)
    await grumbler.register(here.network, MANAGER)
    await here.play(3)
    assert notices(grumbler) == whole_league(3)
    assert state_of(here, grumbler.player_id) == "SHUTDOWN"
    assert not [event for event in here.events if getattr(event, "state", None) == "SUSPENDED"]


def state_of(office: Office, agent_id: str) -> str:
    member = office.manager.state.roster.get(agent_id)
    return str(member and member.state)


async def test_a_player_that_misses_one_kind_of_notice_is_not_suspended(office: OfficeMaker) -> None:
    here = office({"scheduling.matches_per_round": 1, "timeouts.generic_response_timeout_sec": 0.05})
    await here.seat_players(5)
    flaky = ScriptedPlayer("Flaky", "http://localhost:8190/mcp", scripts={"update_standings": never_reply})
    here.network.attach(flaky.endpoint, flaky.answer)
    await flaky.register(here.network, MANAGER)
    await here.seat_referee()
    await here.start()
    await here.completed()
    assert not [event for event in here.events if isinstance(event, AgentStateChanged)]


@pytest.mark.parametrize(
    ("method", "model"),
    [
        ("start_match", v2.StartMatch),
        ("notify_round", v2.RoundAnnouncement),
        ("update_standings", v2.LeagueStandingsUpdate),
        ("notify_round_completed", v2.RoundCompletedNotice),
        ("notify_league_completed", v2.LeagueCompletedNotice),
    ],
)
async def test_what_is_written_as_it_travels_is_what_its_model_would_write(
    office: OfficeMaker, method: str, model: type[Message]
) -> None:
    here = office({"game_parameters": {"rounds": 3}})
    versatile = ScriptedPlayer("Versatile", "http://localhost:8190/mcp")
    here.network.attach(versatile.endpoint, versatile.answer)
    await versatile.register(here.network, MANAGER, game_types=["*"])
    players = await here.play(3, referees=({}, {}))
    heard = [message for agent in (versatile, *players, *here.referees) for message in agent.received_params(method)]
    assert heard
    for message in heard:
        assert json.dumps(model.model_validate(message).to_wire()) == json.dumps(message)
