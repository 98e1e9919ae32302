"""The four queries, and the plain tools beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.answer_pages import MAX_AGENT_BYTES, MAX_HOST_BYTES, UNTRUSTED_NOTE
from agent_league.launch.in_process import play_in_process
from agent_league.league.match_file_reader import MAX_FILE_BYTES, MAX_TRANSCRIPT_BYTES
from agent_league.storage.match_segments import MatchSegment
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, within
from tests.league.scripted_referee import ScriptedReferee, won_by_lowest

ALL = ["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS"]


async def half_way(office: Office) -> tuple[list[ScriptedPlayer], ScriptedReferee]:
    """A league of four after its first match: P01 beat P02 in R1M1."""
    players = await office.seat_players(4)
    referee = await office.seat_referee(auto_report=False)
    await office.start()
    orders = await within(referee.wait_for_calls("start_match", 2))
    await referee.report("R1M1", won_by_lowest(orders[0]))
    return players, referee


@pytest.mark.parametrize("query_type", ALL)
async def test_an_answer_repeats_the_question_and_its_conversation(office: OfficeMaker, query_type: str) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    answer = await here.query(player, query_type)
    assert answer["message_type"] == "LEAGUE_QUERY_RESPONSE"
    assert (answer["query_type"], answer["conversation_id"]) == (query_type, "conv-test-001")
    assert (answer["success"], answer["error"]) == (True, None)
    assert answer["league_id"] == LEAGUE_ID
    assert isinstance(answer["data"], dict)


async def test_the_query_of_the_seed_without_parameters_is_answered(office: OfficeMaker) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    message = {"auth_token": player.token, "league_id": LEAGUE_ID, "query_type": "GET_STANDINGS"}
    answer = await here.say("league_query", "LEAGUE_QUERY", f"player:{player.player_id}", **message)
    assert answer["success"] is True


async def test_standings_stand_at_the_top_just_as_in_the_update(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(4)
    answer = await here.query(players[1], "GET_STANDINGS")
    update = players[1].received_params("update_standings")[-1]
    assert answer["standings"] == answer["data"]["standings"] == update["standings"]
    assert len(answer["standings"]) == 4


async def test_only_get_standings_has_standings_at_the_top(office: OfficeMaker) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    for query_type in ALL[1:]:
        assert "standings" not in await here.query(player, query_type)


async def test_standings_before_the_start_are_all_zero(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(2)
    answer = await here.query(players[0], "GET_STANDINGS")
    rows = [(row["rank"], row["player_id"], row["played"], row["points"]) for row in answer["standings"]]
    assert rows == [(1, "P01", 0, 0), (2, "P02", 0, 0)]


async def test_standings_follow_every_match(office: OfficeMaker) -> None:
    here = office()
    players, _ = await half_way(here)
    answer = await here.query(players[0], "GET_STANDINGS")
    assert sorted(
        (row["shared_rank"], row["player_id"], row["played"], row["points"]) for row in answer["standings"]
    ) == [
        (1, "P01", 1, 3),
        (2, "P02", 1, 0),
        (2, "P03", 0, 0),
        (2, "P04", 0, 0),
    ]
    assert (answer["data"]["round_id"], answer["data"]["rounds_completed"]) == (1, 0)


async def test_the_schedule_before_the_start_is_a_preview(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(4)
    data = (await here.query(players[0], "GET_SCHEDULE"))["data"]
    assert (data["total_rounds"], data["total_matches"]) == (3, 6)
    first = data["rounds"][0]["matches"][0]
    assert (first["match_id"], first["player_A_id"], first["player_B_id"]) == ("R1M1", "P01", "P02")
    assert (first["status"], first["referee_id"], first["winner_player_id"]) == ("PENDING", None, None)


async def test_the_schedule_tells_results_and_referees(office: OfficeMaker) -> None:
    here = office()
    players, _ = await half_way(here)
    data = (await here.query(players[0], "GET_SCHEDULE"))["data"]
    matches = {match["match_id"]: match for round_ in data["rounds"] for match in round_["matches"]}
    assert [matches["R1M1"][name] for name in ("status", "winner_player_id", "referee_id")] == ["WIN", "P01", "REF01"]
    assert [matches["R1M2"][name] for name in ("status", "winner_player_id")] == ["PENDING", None]
    assert [matches["R3M2"][name] for name in ("status", "referee_id")] == ["PENDING", None]


async def test_the_next_match_is_the_first_without_a_result(office: OfficeMaker) -> None:
    here = office()
    players, _ = await half_way(here)
    mine = (await here.query(players[0], "GET_NEXT_MATCH"))["data"]
    assert mine["player_id"] == "P01"
    assert (mine["next_match"]["match_id"], mine["next_match"]["opponent_id"]) == ("R2M1", "P03")
    theirs = (await here.query(players[0], "GET_NEXT_MATCH", player_id="P04"))["data"]
    assert (theirs["next_match"]["match_id"], theirs["next_match"]["opponent_id"]) == ("R1M2", "P03")


async def test_there_is_no_next_match_before_the_start_and_after_the_end(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(2)
    before = await here.query(players[0], "GET_NEXT_MATCH")
    assert (before["success"], before["data"]) == (True, {"player_id": "P01", "next_match": None})
    await here.seat_referee()
    await here.start()
    await here.completed()
    after = await here.query(players[0], "GET_NEXT_MATCH")
    assert after["data"] == {"player_id": "P01", "next_match": None}


async def test_player_stats_are_the_row_the_state_and_technical_losses(office: OfficeMaker) -> None:
    def both_fail(order: Any) -> dict[str, Any]:
        return {"winner": None, "score": {}, "status": "TECHNICAL_LOSS"}

    here = office()
    players = await here.seat_players(2)
    before = (await here.query(players[0], "GET_PLAYER_STATS"))["data"]
    assert (before["player_id"], before["played"], before["state"]) == ("P01", 0, "REGISTERED")
    await here.seat_referee(verdict=both_fail)
    await here.start()
    await here.completed()
    after = (await here.query(players[0], "GET_PLAYER_STATS", player_id="P02"))["data"]
    assert after == {
        "rank": after["rank"],
        "shared_rank": 1,
        "player_id": "P02",
        "display_name": "Agent 2",
        "played": 1,
        "wins": 0,
        "draws": 0,
        "losses": 1,
        "points": 0,
        "technical_losses": 1,
        "state": "SHUTDOWN",
        "tolerated": [],
    }


@pytest.mark.parametrize("query_type", ["GET_NEXT_MATCH", "GET_PLAYER_STATS"])
@pytest.mark.parametrize("player_id", ["P99", "", "REF01", 7, None, ["P01"], {"id": "P01"}, "x" * 500])
async def test_a_question_about_an_unknown_player_is_answered_with_e005(
    office: OfficeMaker, query_type: str, player_id: Any
) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    await here.seat_referee()
    answer = await here.query(player, query_type, player_id=player_id)
    assert answer["message_type"] == "LEAGUE_QUERY_RESPONSE"
    assert (answer["success"], answer["data"]) == (False, None)
    assert (answer["error"]["error_code"], answer["error"]["error_name"]) == ("E005", "PLAYER_NOT_REGISTERED")


async def test_a_referee_has_no_matches_of_its_own_but_may_ask_for_a_players(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    referee = await here.seat_referee()
    question = {"message_type": "LEAGUE_QUERY", "query_type": "GET_PLAYER_STATS"}
    assert (await referee.call("league_query", **question))["error"]["error_code"] == "E005"
    answer = await referee.call("league_query", **question, query_params={"player_id": "P02"})
    assert answer["data"]["player_id"] == "P02"


@pytest.mark.parametrize("query_type", ["GET_EVERYTHING", "get_standings", "", 3, None])
async def test_an_unknown_question_is_refused(office: OfficeMaker, query_type: Any) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    answer = await here.query(player, query_type)
    assert answer["error_code"] == ("E003" if query_type is None else "E002")


async def test_get_standings_needs_no_envelope_and_no_token(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(2)
    answer = await here.ask("get_standings")
    assert answer == (await here.query(players[0], "GET_STANDINGS"))["data"]
    assert (answer["league_id"], answer["phase"], answer["rounds_completed"]) == (LEAGUE_ID, "COMPLETED", 1)


@pytest.mark.parametrize("players", [0, 1, 4])
async def test_create_schedule_gives_the_schedule_at_any_time(office: OfficeMaker, players: int) -> None:
    here = office()
    await here.seat_players(players)
    answer = await here.ask("create_schedule")
    assert answer["total_matches"] == players * (players - 1) // 2
    assert sum(len(round_["matches"]) for round_ in answer["rounds"]) == answer["total_matches"]
    assert here.manager.state.schedule.rounds == ()


async def test_create_schedule_after_the_start_is_the_schedule_that_is_played(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(4)
    assert await here.ask("create_schedule") == (await here.query(players[0], "GET_SCHEDULE"))["data"]


async def test_a_round_tells_how_far_it_is_and_its_matches(office: OfficeMaker) -> None:
    here = office()
    await half_way(here)
    first, last = await here.ask("get_round", {"round_id": 1}), await here.ask("get_round", {"round_id": 3})
    assert (first["league_id"], first["round_id"], first["status"]) == (LEAGUE_ID, 1, "RUNNING")
    assert [(match["match_id"], match["status"]) for match in first["matches"]] == [
        ("R1M1", "WIN"),
        ("R1M2", "PENDING"),
    ]
    assert (last["status"], len(last["matches"])) == ("PENDING", 2)


async def test_a_round_before_the_start_is_a_preview_and_after_the_end_completed(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    assert (await here.ask("get_round", {"round_id": 1}))["status"] == "PENDING"
    await here.seat_referee()
    await here.start()
    await here.completed()
    assert (await here.ask("get_round", {"round_id": 1}))["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("method", "params", "code", "names"),
    [
        ("get_round", {}, "E003", "round_id"),
        ("get_round", {"round_id": "1"}, "E002", "round_id"),
        ("get_round", {"round_id": True}, "E002", "round_id"),
        ("get_round", {"round_id": 0}, "E002", "no round 0"),
        ("get_round", {"round_id": 4}, "E002", "no round 4"),
        ("get_match", {}, "E003", "match_id"),
        ("get_match", {"match_id": 5}, "E002", "match_id"),
        ("get_match", {"match_id": "R9M9"}, "E007", "R9M9"),
        ("get_match", {"match_id": "../../config/system"}, "E007", "no match"),
        ("get_match", {"match_id": "x" * 5000}, "E007", "no match"),
        ("get_player", {}, "E003", "player_id"),
        ("get_player", {"player_id": ["P01"]}, "E002", "player_id"),
        ("get_player", {"player_id": "P99"}, "E005", "player_id"),
        ("get_player", {"player_id": "REF01"}, "E005", "player_id"),
    ],
)
async def test_a_question_about_nobody_or_nothing_is_refused(
    office: OfficeMaker, method: str, params: dict[str, Any], code: str, names: str
) -> None:
    here = office()
    await half_way(here)
    answer = await here.ask(method, params)
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", code)
    assert names in answer["message"]
    assert len(str(answer)) < 2000


async def test_a_match_before_its_round_while_it_runs_and_after_it(office: OfficeMaker) -> None:
    here = office()
    await half_way(here)
    asked = {match_id: await here.ask("get_match", {"match_id": match_id}) for match_id in ("R1M1", "R1M2", "R3M2")}
    assert {match_id: match["state"] for match_id, match in asked.items()} == {
        "R1M1": "FINISHED",
        "R1M2": "RUNNING",
        "R3M2": "PENDING",
    }
    assert asked["R1M1"]["players"] == [
        {"player_id": "P01", "display_name": "Agent 1", "role_in_match": "PLAYER_A"},
        {"player_id": "P02", "display_name": "Agent 2", "role_in_match": "PLAYER_B"},
    ]
    result = asked["R1M1"]["result"]
    assert (result["status"], result["winner_player_id"], result["score"]) == ("WIN", "P01", {"P01": 3, "P02": 0})
    for match_id in ("R1M2", "R3M2"):
        assert (asked[match_id]["result"], asked[match_id]["transcript"]) == (None, None)
        assert asked[match_id]["transcript_note"] == "what was said is shown once the match is finished"
    assert asked["R1M2"]["referee_id"] == "REF01"
    assert asked["R3M2"]["referee_id"] is None


def match_file(home: Path, match_id: str = "R1M1", /, **changes: Any) -> None:
    """What a referee would have left."""
    told = {"status": "WIN", "winner_player_id": "P01", **changes.pop("result", {})}
    entry = {"at": "2025-01-15T10:15:00.000Z", "direction": "drawn", "step": 1, "outcome": 8}
    content = {"referee_id": "REF01", "result": told, "transcript": [entry], **changes}
    MatchRepository(LEAGUE_ID, home).save(match_id, content)


async def test_the_transcript_of_a_finished_match_comes_from_its_file(office: OfficeMaker, home: Path) -> None:
    here = office()
    await half_way(here)
    match_file(home)
    match = await here.ask("get_match", {"match_id": "R1M1"})
    assert [entry["outcome"] for entry in match["transcript"]] == [8]
    assert match["transcript_note"] is None


async def test_a_transcript_that_waits_for_its_report_to_be_acknowledged_is_told(
    office: OfficeMaker, home: Path
) -> None:
    here = office()
    await half_way(here)
    match_file(home)
    path = DataPaths(home).match_file(LEAGUE_ID, "R1M1")
    content = path.read_bytes()
    path.unlink()
    for referee_id, is_told in (("REF02", False), ("REF01", True)):
        segment = MatchSegment(path.parent, referee_id)
        segment.add_match("R1M1", referee_id, content)
        segment.close()
        assert ((await here.ask("get_match", {"match_id": "R1M1"}))["transcript"] is not None) is is_told


async def test_a_transcript_that_lies_elsewhere_is_named(office: OfficeMaker) -> None:
    here = office()
    await half_way(here)
    match = await here.ask("get_match", {"match_id": "R1M1"})
    assert match["transcript"] is None
    assert f"REF01 keeps it as data/matches/{LEAGUE_ID}/R1M1.json" in match["transcript_note"]


async def test_what_was_said_is_never_told_while_a_match_runs(office: OfficeMaker, home: Path) -> None:
    here = office()
    await half_way(here)
    match_file(home, "R1M2", result={"winner_player_id": "P03"})
    match = await here.ask("get_match", {"match_id": "R1M2"})
    assert (match["state"], match["transcript"]) == ("RUNNING", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"referee_id": "REF02"},
        {"result": {"winner_player_id": "P02"}},
        {"result": {"status": "DRAW", "winner_player_id": None}},
        {"result": None},
        {"transcript": None},
        {"transcript": ["not an entry"]},
        {"transcript": [{"direction": "sent"}]},
        {"match_id": "R1M2"},
    ],
)
async def test_a_file_that_tells_of_another_match_is_not_shown(
    office: OfficeMaker, home: Path, changes: dict[str, Any]
) -> None:
    here = office()
    await half_way(here)
    if changes.get("result", {}) is None:
        MatchRepository(LEAGUE_ID, home).save("R1M1", {"referee_id": "REF01", "result": None, "transcript": []})
    else:
        match_file(home, **changes)
    match = await here.ask("get_match", {"match_id": "R1M1"})
    assert match["transcript"] is None
    is_ours = "transcript" in changes
    said = "is of no use: it has no transcript" if is_ours else "not in this SHARED folder; referee REF01 keeps it"
    assert said in match["transcript_note"]


async def test_a_long_transcript_is_cut_and_says_so(office: OfficeMaker, home: Path) -> None:
    here = office()
    await half_way(here)
    entry = {"at": "2025-01-15T10:15:00.000Z", "direction": "received", "message": "x" * 10_000}
    match_file(home, transcript=[entry] * 300)
    match = await here.ask("get_match", {"match_id": "R1M1"})
    assert len(match["transcript"]) == MAX_TRANSCRIPT_BYTES // len(json.dumps(entry))
    assert f"the first {len(match['transcript'])} of 300 entries" in match["transcript_note"]
    assert 2 * len(json.dumps(match)) < 1024 * 1024


async def test_a_file_beyond_all_measure_is_not_read(office: OfficeMaker, home: Path) -> None:
    here = office()
    await half_way(here)
    match_file(home)
    path = DataPaths(home).match_file(LEAGUE_ID, "R1M1")
    with path.open("ab") as file:
        file.write(b" " * MAX_FILE_BYTES)
    assert (await here.ask("get_match", {"match_id": "R1M1"}))["transcript"] is None


async def test_a_player_is_told_with_its_row_state_and_matches(office: OfficeMaker) -> None:
    here = office()
    await half_way(here)
    player = await here.ask("get_player", {"player_id": "P02"})
    assert [player[name] for name in ("player_id", "display_name", "state", "losses", "points")] == [
        *("P02", "Agent 2", "ACTIVE", 1, 0)
    ]
    matches = [(match["match_id"], match["opponent_id"], match["status"]) for match in player["matches"]]
    assert matches == [("R1M1", "P01", "WIN"), ("R2M2", "P04", "PENDING"), ("R3M2", "P03", "PENDING")]
    assert "endpoint" not in str(player)


async def test_the_transcripts_of_a_whole_league_are_there_where_the_folder_is_shared(plan: PlanMaker) -> None:
    manager, _ = await within(play_in_process(plan(players=3, referees=1, seed="7")))
    for match_id in ("R1M1", "R2M1", "R3M1"):
        frame = {"jsonrpc": "2.0", "method": "get_match", "params": {"match_id": match_id}, "id": 1}
        answer = await within(manager.dispatcher.answer_request(json.dumps(frame).encode()))
        assert answer is not None
        match = json.loads(answer)["result"]
        assert {entry["direction"] for entry in match["transcript"]} == {"sent", "received", "drawn"}
        assert "tok-" not in str(match)


async def test_the_schedule_of_99_players_is_bounded_in_every_form(office: OfficeMaker) -> None:
    def size(value: Any) -> int:
        return len(json.dumps(value, separators=(",", ":")))

    here = office()
    for number in range(99):
        await here.register(f"Agent {number}", "http://localhost:8101/mcp", sender=f"player:a{number}")
    first = await here.ask("get_schedule")
    assert size(first) <= MAX_AGENT_BYTES + 100
    pages = [await here.ask("create_schedule", {"page": number}) for number in range(1, first["pages"] + 1)]
    assert sum(len(one["matches"]) for page in pages for one in page["rounds"]) == first["total_matches"] == 99 * 49
    asked: dict[str, Any] = {"name": "get_schedule", "arguments": {"page": "2"}}
    told = (await here.ask("tools/call", asked))["structuredContent"]
    assert (told["page"], told["untrusted"]["note"]) == (2, UNTRUSTED_NOTE)
    assert size(told) <= MAX_HOST_BYTES + 1000
    asked["arguments"] = {"protocol": "league.v2", "message_type": "GET_SCHEDULE", "round": 1}
    told = (await here.ask("tools/call", asked))["structuredContent"]
    assert told == first, "a message of the league is answered by the protocol's alone"
    refused = await here.ask("get_schedule", {"page": 99})
    assert (refused["error_code"], refused["context"]["field"]) == ("E002", "page")
