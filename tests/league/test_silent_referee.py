"""A referee that is there, takes matches and never reports them: the league goes on, and says why."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_league.league.journal import run_inline
from agent_league.league.match_runner import MAX_OVERDUE_TIMES
from agent_league.league.supervision import max_match_seconds, parse_refusals
from agent_league.model.event_words import describe_event
from agent_league.model.events import LeagueCompleted, MatchFinished, MatchNotTaken, MatchOverdue, RefereeWaitChanged
from agent_league.model.results import MatchResult
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.peers import Params, Script, always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.office import Office, at_work, open_office
from tests.league.scripted_referee import first_wins, refusing

OK = {"status": "ok"}
MATCH_SECONDS = 100
DAY = 86_400
E011 = {"error_code": "E011", "method": "handle_game_invitation", "message": "'auth_token' must hold the match token"}


def virtual(home: Path, store: MemoryStore | None = None, match_seconds: float = MATCH_SECONDS) -> Office:
    overrides = {"heartbeat.match_sec": match_seconds, "scheduling.matches_per_round": 50}
    return open_office(home, overrides, store=store or MemoryStore(), offload=run_inline)


async def at_it(params: Params) -> Any:
    """A referee that is at whatever it is asked for."""
    return {"matches": dict.fromkeys(params.get("match_ids", ()), "RUNNING")}


def text_of(home: Path, name: str) -> str:
    """The files of this name, whatever folder they are in."""
    return "\n".join(path.read_text() for path in home.rglob(name))


def told(office: Office, kind: type) -> list[Any]:
    return [event for event in office.events if isinstance(event, kind)]


async def completed(office: Office) -> None:
    """Waits for the end of the league, for a day of virtual time."""
    async with asyncio.timeout(DAY):
        await office.manager.completed.wait()


async def first_result(office: Office) -> MatchResult:
    """The first result, within a day of virtual time."""
    async with asyncio.timeout(DAY):
        while not (found := told(office, MatchFinished)):
            office.news.clear()
            await office.news.wait()
    result: MatchResult = found[0].result
    return result


async def silent_league(office: Office, players: int = 2, **referee: Any) -> list[Any]:
    """A league of players that refuse, whose only referee takes every match and reports none."""
    seated = await office.seat_players(players)
    for player in seated:
        refusals = [{"match_id": f"R{n}M{m}", **E011} for n in (1, 2, 3) for m in (1, 2)]
        player._scripts["get_player_state"] = always_reply({"player_id": player.player_id, "refusals": refusals})
    settings: dict[str, Any] = {"auto_report": False, "scripts": {"get_match_state": at_it}, **referee}
    await office.seat_referee(**settings)
    assert await office.start() == OK
    return seated


@in_virtual_time
async def test_a_match_that_the_only_referee_never_reports_is_void_after_it_was_overdue_twice(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        players = await silent_league(here)
        await first_result(here)
        assert (
            MAX_OVERDUE_TIMES * MATCH_SECONDS
            <= asyncio.get_running_loop().time()
            < (MAX_OVERDUE_TIMES + 1) * MATCH_SECONDS
        )
        assert [event.times for event in told(here, MatchOverdue)] == [1, 2]
        assert len(here.referees[0].orders) == MAX_OVERDUE_TIMES
        await completed(here)
        result = here.manager.state.results["R1M1"]
        assert (result.is_void, result.winner, result.status) == (True, None, "void")
        rows = here.manager.state.standings()
        assert [(row.played, row.losses, row.points) for row in rows] == [(0, 0, 0)] * 2
        (over,) = players[0].received_params("notify_round_completed")
        assert (over["matches_completed"], over["matches_played"]) == (1, 1)
        assert (over["summary"]["void"], over["summary"]["technical_losses"]) == (1, 0)
        assert players[0].received_params("notify_match_result") == []
        (end,) = told(here, LeagueCompleted)
        assert end.is_void
    assert '"status": "void"' in text_of(home, "rounds.json")


@in_virtual_time
async def test_what_the_players_refused_is_asked_for_and_shown(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await silent_league(here)
        await completed(here)
        sentence = "P01 refused handle_game_invitation with E011 ('auth_token' must hold the match token)"
        assert sentence in describe_event(told(here, MatchOverdue)[0], {}).text
        assert sentence in here.manager.state.results["R1M1"].fault
    overdue = [line for line in text_of(home, "league.log.jsonl").splitlines() if '"match_overdue"' in line]
    assert len(overdue) == MAX_OVERDUE_TIMES
    assert all("P01 refused" in line and "P02 refused" in line for line in overdue)


@in_virtual_time
async def test_a_report_that_was_refused_is_told_where_the_match_goes_overdue(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await silent_league(here)
        referee = here.referees[0]
        await referee.wait_for_calls("start_match")
        for _ in range(5):
            refused = await referee.report("R1M1", {"details": {}})
            assert refused["error_code"] == "E003"
        await completed(here)
        why = f"a report of it was refused with E003 ({refused['message']})"
        sentence = describe_event(told(here, MatchOverdue)[0], {}).text
        assert sentence.count(why) == 1
        assert why in here.manager.state.results["R1M1"].fault


@in_virtual_time
async def test_a_guest_that_never_reports_gets_the_time_of_a_guest_and_no_more(home: Path) -> None:
    async with at_work(virtual(home, match_seconds=3600)) as here:
        limit = max_match_seconds(here.manager._settings.system)
        await here.seat_players(2)
        answer = await here.register("Guest", "http://localhost:8051/mcp", role="referee", match_tokens=False)
        assert answer["status"] == "ACCEPTED"

        async def acknowledge(body: bytes, bearer: str | None = None) -> bytes:
            return orjson.dumps({"jsonrpc": "2.0", "result": OK, "id": orjson.loads(body).get("id")})

        here.network.attach("http://localhost:8051/mcp", acknowledge)
        assert await here.start() == OK
        await completed(here)
        assert 2 * limit <= asyncio.get_running_loop().time() < 3 * limit
        assert here.manager.state.results["R1M1"].is_void


@pytest.mark.parametrize("after", [0, MATCH_SECONDS - 1], ids=["at once", "just before its match is overdue"])
@in_virtual_time
async def test_a_referee_that_is_gone_is_waited_for_and_nothing_is_void(home: Path, after: float) -> None:
    async with at_work(virtual(home)) as here:
        await silent_league(here)
        referee = here.referees[0]
        await referee.wait_for_calls("start_match")
        await asyncio.sleep(after)
        here.network.detach(referee.endpoint)
        await asyncio.sleep(10 * MATCH_SECONDS)
        assert here.manager.state.is_waiting_for_referee
        assert (told(here, MatchFinished), told(here, MatchOverdue)) == ([], [])
        assert [event.is_waiting for event in told(here, RefereeWaitChanged)] == [True]
        assert "no referee: waiting" in describe_event(told(here, RefereeWaitChanged)[0], {}).text
        here.network.attach(referee.endpoint, referee.answer)
        await referee.wait_for_calls("start_match", 2)
        assert not here.manager.state.is_waiting_for_referee
        assert await referee.report("R1M1", first_wins(referee.orders[0])) == OK
        await completed(here)
        assert not here.manager.state.results["R1M1"].is_void


@in_virtual_time
async def test_where_there_is_another_referee_it_gets_the_match_and_nothing_is_void(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        silent = await here.seat_referee(auto_report=False, scripts={"get_match_state": at_it})
        other = await here.seat_referee()
        assert await here.start() == OK
        await completed(here)
        assert (len(silent.orders), len(other.orders)) == (1, 1)
        assert here.manager.state.results["R1M1"].winner == "P01"


@in_virtual_time
async def test_two_silent_referees_are_tried_twice_each(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        for _ in range(2):
            await here.seat_referee(auto_report=False, scripts={"get_match_state": at_it})
        assert await here.start() == OK
        await completed(here)
        assert [len(referee.orders) for referee in here.referees] == [2, 2]
        assert here.manager.state.results["R1M1"].is_void


@in_virtual_time
async def test_a_late_report_is_taken_until_the_round_is_completed_and_refused_after(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(4)
        referee = await here.seat_referee(auto_report=False, capacity=1, scripts={"get_match_state": at_it})
        assert await here.start() == OK
        late = (await first_result(here)).match_id
        order = next(order for order in referee.orders if order["match_id"] == late)
        assert await referee.report(late, first_wins(order)) == OK
        result = here.manager.state.results[late]
        assert (result.winner, result.is_void) == (order["player_A_id"], False)
        assert here.manager.state.standings_table.get_tally(order["player_A_id"]).points == 3
        different = await referee.report(late, {"winner": order["player_B_id"], "score": {}})
        assert different["error_code"] == "E002"
        second = next(one for one in ("R1M1", "R1M2") if one != late)
        await asyncio.sleep(2 * MATCH_SECONDS + 10)
        assert here.manager.state.rounds_completed == 1
        assert here.manager.state.results[second].is_void
        order = next(order for order in referee.orders if order["match_id"] == second)
        refused = await referee.report(second, first_wins(order))
        assert (refused["error_code"], refused["context"]["void"]) == ("E002", True)


@in_virtual_time
async def test_void_matches_survive_a_manager_that_is_replaced(home: Path) -> None:
    memory = MemoryDatabase()
    async with at_work(virtual(home, MemoryStore(memory))) as here:
        await silent_league(here, 3)
        await first_result(here)
        await here.manager._journal.wait_for_commit()
    again = virtual(home, MemoryStore(memory))
    (void, *_) = again.manager.state.results.values()
    assert (void.is_void, void.is_unreported) == (True, True)
    assert {row.played for row in again.manager.state.standings()} == {0}
    await again.manager._journal.close()


@in_virtual_time
async def test_a_referee_that_forgets_whatever_it_takes_does_not_hold_the_league_up_for_ever(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        forgets: Script = always_reply({"matches": {}})
        await silent_league(here, scripts={"get_match_state": forgets})
        await asyncio.sleep(4 * MATCH_SECONDS)
        await completed(here)
        assert here.manager.state.results["R1M1"].is_void


@in_virtual_time
async def test_a_referee_that_takes_no_match_is_news(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        takes_none = refusing("E012", "AUTH_TOKEN_INVALID", message="who at http://localhost:8000/mcp is that?")
        await silent_league(here, scripts={"start_match": takes_none})
        await asyncio.sleep(60)
        (news,) = told(here, MatchNotTaken)
        sentence = describe_event(news, {}).text
        assert sentence.startswith("R1M1 waits: REF01 doesn't take it: E012")
        assert "8000" not in sentence


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"refusals": "E011"},
        {"refusals": [None, 7, "x", {}, {"match_id": "R1M1"}]},
        {"refusals": [{"match_id": "R1M1", "error_code": "E011", "message": 7}]},
        {"refusals": [{"match_id": "R1M1", "error_code": "\x1b[31m", "message": "x"}]},
        {"refusals": [{"match_id": "R1M2", "error_code": "E011", "message": "of another match"}]},
    ],
)
def test_what_is_no_refusal_is_left_out(answer: Any) -> None:
    assert parse_refusals(answer, "R1M1") == []


def test_strangers_words_are_made_safe_and_bounded() -> None:
    said = {"match_id": "R1M1", "error_code": "E011", "method": "rm -rf"}
    rude = [{**said, "message": f"\x1b[31m http://10.0.0.1:99/ tok-p01-{'a' * 40} {number}"} for number in range(200)]
    shown = parse_refusals({"refusals": [*rude, {**said, "message": "x" * 10_000_000}]}, "R1M1")
    assert len(shown) == 3
    assert all(len(sentence) < 600 for sentence in shown)
    assert shown[0].startswith("a call with E011 (\\x1b[31m its address [redacted] ")
