"""Our referee under a manager that isn't ours: what it takes, what it looks up, and what nobody can make it do."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.testing.peers import UNKNOWN_METHOD_REPLY, Params, RawReply, never_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import REFEREE, SIGNED, Hall, accept_with_key, hall

OK = {"status": "ok"}
EVIL = "http://evil.example/mcp"


def assignment(match: Hall, match_id: str = "R1M1", **fields: Any) -> dict[str, Any]:
    """MATCH_ASSIGNMENT, with nothing of an envelope; a field that is None is left out."""
    given = {
        "message_type": "MATCH_ASSIGNMENT",
        "match_id": match_id,
        "player1_id": "P01",
        "player1_endpoint": match.players["P01"].endpoint,
        "player2_id": "P02",
        "player2_endpoint": match.players["P02"].endpoint,
        **fields,
    }
    return {name: value for name, value in given.items() if value is not None}


async def run_match(match: Hall, body: Any) -> dict[str, Any]:
    """`POST /run_match` at the referee."""
    answer = await match.referee.answer_run_match(json.dumps(body).encode())
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found


@pytest.mark.parametrize("method", ["start_match", "assign_match", "run_match", "MATCH_ASSIGNMENT", "match_assignment"])
@in_virtual_time
async def test_a_start_without_envelope_is_completed_with_what_we_know(home: Path, method: str) -> None:
    async with hall(home) as match:
        match.pair()
        claimed = {"sender": "league_manager:LM01", "league_id": None}
        assert await match.call(method, assignment(match, "R3M2", **claimed)) == OK
        (report,) = await match.manager.wait_for_calls("report_match_result")
        (invited,) = match.players["P01"].received_params("handle_game_invitation")
    assert (report["match_id"], report["round_id"], report["game_type"]) == ("R3M2", 3, "even_odd")
    assert (invited["league_id"], invited["opponent_id"]) == ("league_2025_even_odd", "P02")
    assert "tok-" not in str(match.players["P01"].received_calls)


@in_virtual_time
async def test_a_posted_match_is_answered_with_its_result_and_without_our_token(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await run_match(match, assignment(match, message_type=None))
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert answer["status"] == "ok"
    assert (answer["message_type"], answer["match_id"]) == ("MATCH_RESULT_REPORT", "R1M1")
    assert answer["result"] == report["result"]
    assert "auth_token" not in answer


@in_virtual_time
async def test_a_posted_match_whose_manager_takes_no_reports_counts_once_it_is_answered(home: Path) -> None:
    async def unknown(params: Params) -> Any:
        raise RawReply(UNKNOWN_METHOD_REPLY)

    async with hall(home, manager={"report_match_result": unknown}) as match:
        match.pair()
        await run_match(match, assignment(match, message_type=None))
        await asyncio.gather(*match.referee._match_tasks.values())
    assert match.record()["result"]["score"].keys() == {"P01", "P02"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"match_id": 7}', b'{"jsonrpc": "2.0", "method": "x", "id": 1}']
)
@in_virtual_time
async def test_rubbish_that_is_posted_is_refused_and_starts_nothing(home: Path, body: bytes) -> None:
    async with hall(home) as match:
        answer = json.loads(await match.referee.answer_run_match(body) or b"null")
        assert answer.get("error") or answer["message_type"] == "LEAGUE_ERROR"
        assert match.referee.health()["running_matches"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"player1_endpoint": EVIL},
        {"player2_endpoint": "http://169.254.169.254/latest/meta-data/"},
        {"player1_endpoint": "file:///etc/passwd"},
        {"player1": {"player_id": "P01", "url": EVIL}, "player1_endpoint": None, "player1_id": None},
    ],
)
@in_virtual_time
async def test_players_outside_of_the_allowed_hosts_are_not_called(home: Path, fields: dict[str, Any]) -> None:
    async with hall(home) as match:
        match.pair()
        for side in ("player1", "player2"):
            fields.setdefault(f"{side}_endpoint", match.players["P01" if side == "player1" else "P02"].endpoint)
        refused = await match.call("assign_match", assignment(match, **fields))
        assert refused["error_code"] == "E002"
        assert "endpoint" in refused["message"]
        assert (await run_match(match, assignment(match, **fields)))["error_code"] == "E002"
        assert match.players["P01"].received_calls == match.players["P02"].received_calls == []


def stats(endpoint: str) -> Any:
    """A manager that tells an address to whoever asks for a player."""

    async def answer(params: Params) -> Any:
        about = {"player_id": params["query_params"]["player_id"], "contact_endpoint": endpoint}
        return {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": about}

    return answer


@in_virtual_time
async def test_an_address_is_looked_up_in_our_own_file_and_then_at_the_manager(home: Path) -> None:
    own = {"P01": "http://localhost/P01/mcp"}
    script = {"league_query": stats("http://localhost/P02/mcp")}
    async with hall(home, manager=script, player_addresses=own) as match:
        match.pair()
        assert await match.call("assign_match", assignment(match, player1_endpoint=None, player2_endpoint=None)) == OK
        await match.manager.wait_for_calls("report_match_result")
        asked = [query["query_params"]["player_id"] for query in match.manager.received_params("league_query")]
    assert asked == ["P02"]


@in_virtual_time
async def test_no_address_that_we_may_not_call_is_ever_used(home: Path) -> None:
    async with hall(home, manager={"league_query": stats(EVIL)}, player_addresses={"P01": EVIL}) as match:
        match.pair()
        refused = await match.call("assign_match", assignment(match, player1_endpoint=None))
        assert refused["error_code"] == "E003"
        assert refused["context"]["missing_fields"] == ["player_A.endpoint"]
        assert match.referee.health()["running_matches"] == 0


@in_virtual_time
async def test_each_match_id_is_taken_once(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        match.seat("P03")
        assert await match.call("assign_match", assignment(match)) == OK
        await match.manager.wait_for_calls("report_match_result")
        await asyncio.gather(*match.referee._match_tasks.values())
        match.referee._finished_matches._matches.clear()  # however long ago it was
        assert await match.call("assign_match", assignment(match)) == OK
        assert (await run_match(match, assignment(match))) == OK
        other = assignment(match, player2_id="P03", player2_endpoint=match.players["P03"].endpoint)
        refused = await match.call("assign_match", other)
        assert (refused["error_code"], refused["context"]["field"]) == ("E002", "match_id")
        assert (await match.call("assign_match", {**assignment(match), "round_id": 9}))["error_code"] == "E002"
        await asyncio.sleep(60)
    assert len(match.players["P01"].received_params("handle_game_invitation")) == 1
    assert match.players["P03"].received_calls == []


@in_virtual_time
async def test_a_flood_of_starts_runs_no_more_matches_than_there_is_room_for(home: Path) -> None:
    async with hall(home, max_concurrent_matches=3) as match:
        match.pair(a={"handle_game_invitation": never_reply}, b={"handle_game_invitation": never_reply})
        answers = await asyncio.gather(
            *(match.call("assign_match", assignment(match, f"R1M{number}")) for number in range(300))
        )
        assert match.referee.health()["running_matches"] == 3
        refused = [answer["error_code"] for answer in answers if answer != OK]
    assert refused == ["E016"] * 297


@in_virtual_time
async def test_a_call_from_elsewhere_starts_nothing_whatever_it_says(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        CALLER_ADDRESS.set(("203.0.113.9", 9))
        claims: dict[str, Any] = {
            "sender": "league_manager",
            "auth_token": "tok-ref01-of-the-scripted-manager",
            "public_key": {"x": "y"},
        }
        for method in ("start_match", "assign_match", "MATCH_ASSIGNMENT"):
            assert (await match.call(method, assignment(match, **claims)))["error_code"] == "E012"
        assert (await run_match(match, assignment(match, **claims)))["error_code"] == "E012"
        row = {**assignment(match), "referee_endpoint": REFEREE, "referee_id": "REF01"}
        round_ = {"round_id": 1, "matches": [row]}
        for method in ("notify_round", "update_standings", "notify_round_completed", "notify_league_completed"):
            assert (await match.call(method, {**round_, "standings": []}))["error_code"] == "E012"
        await asyncio.sleep(60)
        assert match.players["P01"].received_calls == []
        assert match.referee.health()["state"] == "REGISTERED"


FORMS: dict[str, dict[str, Any]] = {
    "start_match": {},
    "assign_match": {},
    "MATCH_ASSIGNMENT": {"sender": "league_manager:LM01"},
    "run_match": {"sender": "league_manager", "auth_token": "tok-ref01-x"},
}


@pytest.mark.parametrize("method", FORMS)
@in_virtual_time
async def test_under_a_manager_of_ours_every_form_of_a_start_needs_its_proof(home: Path, method: str) -> None:
    async with hall(home, manager={"register_referee": accept_with_key}) as match:
        match.pair()
        whole = match.manager.build_start_match("R1M1", match.players["P01"], match.players["P02"])
        half = assignment(match, **FORMS[method])
        assert (await match.call(method, half))["error_code"] in ("E003", "E011", "E002")
        assert (await match.call(method, {**whole, **half}))["error_code"] in ("E011", "E002")
        assert (await run_match(match, {**whole, **half}))["error_code"] in ("E011", "E002")
        await asyncio.sleep(60)
        assert match.players["P01"].received_calls == []
        assert match.manager.received_params("get_assigned_matches") == []


@in_virtual_time
async def test_a_manager_of_ours_is_never_polled(home: Path) -> None:
    async with hall(home, SIGNED, manager={"register_referee": accept_with_key}) as match:
        await asyncio.sleep(500)
        assert match.manager.received_params("get_assigned_matches") == []


@in_virtual_time
async def test_a_manager_that_answers_no_polls_is_asked_once(home: Path) -> None:
    async def unknown(params: Params) -> Any:
        raise RawReply(UNKNOWN_METHOD_REPLY)

    async with hall(home, manager={"get_assigned_matches": unknown}) as match:
        await asyncio.sleep(500)
        asked = [name for name, _ in match.manager.received_calls]
    assert asked.count("get_assigned_matches") == 2, "once in each form that has this name for it"


@in_virtual_time
async def test_polled_matches_are_played_once_and_the_unplayable_are_told_once(home: Path) -> None:
    async def poll(params: Params) -> Any:
        done = {"match_id": "R1M9", "player1_id": "P01", "player2_id": "P02", "status": "completed"}
        theirs = {**assignment(match, "R1M8"), "referee_id": "REF02"}
        bad = assignment(match, "R1M7", player1_endpoint=EVIL)
        return {"matches": [assignment(match, "R1M1"), "rubbish", done, theirs, bad, {"match_id": "R1M6"}]}

    async with hall(home, manager={"get_assigned_matches": poll}) as match:
        match.pair()
        await match.manager.wait_for_calls("report_match_result")
        await asyncio.sleep(60)
        assert [report["match_id"] for report in match.manager.received_params("report_match_result")] == ["R1M1"]
        assert len(match.manager.received_params("get_assigned_matches")) > 30
    assert sorted(remark[:21] for remark in match.remarks if "can't be played" in remark) == [
        "R1M6 can't be played:",
        "R1M7 can't be played:",
    ]


@in_virtual_time
async def test_a_poll_that_is_refused_for_now_is_asked_again(home: Path) -> None:
    answers: list[Any] = [{"message_type": "LEAGUE_ERROR", "error_code": "E016", "message": "not yet"}]

    async def poll(params: Params) -> Any:
        return answers.pop() if answers else {"matches": [assignment(match)]}

    async with hall(home, manager={"get_assigned_matches": poll}) as match:
        match.pair()
        assert await match.manager.wait_for_calls("report_match_result")


@in_virtual_time
async def test_a_manager_that_fails_polls_again_and_again_is_asked_less_often_until_it_answers(home: Path) -> None:
    loop = asyncio.get_running_loop()
    fails = [*[True] * 20, False, True]
    asked: list[float] = []

    async def poll(params: Params) -> Any:
        asked.append(loop.time())
        if fails and fails.pop(0):
            return {"message_type": "LEAGUE_ERROR", "error_code": "E016", "message": "not yet"}
        return {"matches": []}

    async with hall(home, manager={"get_assigned_matches": poll}) as match:
        await asyncio.sleep(400)
        assert not match.manager.received_params("report_match_result")
    waits = [after - before for before, after in pairwise(asked)]
    assert waits[0] < 2, "a single failure is asked about soon"
    assert 3 <= min(waits[7:20]) <= max(waits[7:20]) < 4, "one that lasts, every three seconds or so"
    assert max(waits[20:]) < 2, "and as before once it has answered, also after the next failure"


@in_virtual_time
async def test_a_strict_referee_completes_nothing(home: Path) -> None:
    async with hall(home, {"tolerance.strict": True}) as match:
        match.pair()
        whole = match.manager.build_start_match("R1M1", match.players["P01"], match.players["P02"])
        del whole["timestamp"]
        assert (await match.call("start_match", whole))["error_code"] == "E003"
