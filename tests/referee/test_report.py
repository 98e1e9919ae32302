"""The report: sent again until the manager has it, and not after it said no."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.storage.match_segments import read_match_bytes
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import Params, RawReply, Script, never_reply, reply_garbage
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import LEAGUE, Hall, hall


def failing(count: int, fault: Script) -> Script:
    """Fails so often, then acknowledges."""
    left = count

    async def script(params: Params) -> Any:
        nonlocal left
        if left > 0:
            left -= 1
            return await fault(params)
        return {"status": "ok"}

    return script


def frame(**content: Any) -> Script:
    async def script(_: Params) -> Any:
        raise RawReply(json.dumps({"jsonrpc": "2.0", "id": None, **content}).encode())

    return script


def refusal(code: str) -> Script:
    return frame(result={"message_type": "LEAGUE_ERROR", "error_code": code, "message": "no"})


async def settled(match: Hall) -> None:
    """Waits until the referee has nothing more to do."""
    await asyncio.gather(*match.referee._match_tasks.values())


PASSING = {
    "silence": never_reply,
    "rubbish": reply_garbage,
    "its own fault": frame(error={"code": -32603, "message": "an error of ours"}),
    "neither result nor error": frame(),
    "too many calls": refusal("E014"),
    "an internal error": refusal("E015"),
    "not now": refusal("E016"),
}


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("failures", [1, 7])
@in_virtual_time
async def test_a_report_is_sent_again_until_it_is_acknowledged(home: Path, fault: str, failures: int) -> None:
    async with hall(home, manager={"report_match_result": failing(failures, PASSING[fault])}) as match:
        match.pair()
        await match.start()
        reports = await match.manager.wait_for_calls("report_match_result", failures + 1)
        await settled(match)
    assert len(match.manager.received_params("report_match_result")) == failures + 1
    assert all(report["result"] == reports[0]["result"] for report in reports)


@in_virtual_time
async def test_a_report_waits_for_a_manager_that_is_away(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        match.network.detach(match.manager.endpoint)
        await match.start()
        await match.players["P01"].wait_for_calls("notify_match_result")
        await asyncio.sleep(120)
        assert match.referee.health()["running_matches"] == 1
        match.network.attach(match.manager.endpoint, match.manager.answer)
        await match.manager.wait_for_calls("report_match_result")
        await settled(match)
    assert len(match.manager.received_params("report_match_result")) == 1


STANDING = {
    "a contradiction": refusal("E002"),
    "an unknown match": refusal("E007"),
    "an unknown method": frame(error={"code": -32601, "message": "no such method"}),
}


@pytest.mark.parametrize("fault", STANDING)
@in_virtual_time
async def test_a_report_that_was_refused_for_good_is_not_sent_again_and_logged(home: Path, fault: str) -> None:
    async with hall(home, manager={"report_match_result": failing(9, STANDING[fault])}) as match:
        match.pair()
        await match.start()
        await settled(match)
        await asyncio.sleep(60)
        assert (
            len([told for told in match.manager.received_params("report_match_result") if "message" not in told]) == 1
        )
        assert "report_refused" in {line["event_type"] for line in match.log()}


@pytest.mark.parametrize("code", ["E005", "E011", "E012", "E013"])
@in_virtual_time
async def test_where_the_manager_does_not_know_it_a_referee_registers_again_and_then_reports(
    home: Path, code: str
) -> None:
    async with hall(home, manager={"report_match_result": failing(1, refusal(code))}) as match:
        match.pair()
        await match.start()
        await settled(match)
    assert len(match.manager.received_params("register_referee")) == 2
    assert len(match.manager.received_params("report_match_result")) == 2


@in_virtual_time
async def test_a_token_that_is_refused_anew_is_not_renewed_for_ever(home: Path) -> None:
    async with hall(home, manager={"report_match_result": failing(9, refusal("E012"))}) as match:
        match.pair()
        await match.start()
        await settled(match)
        assert "report_refused" in {line["event_type"] for line in match.log()}
    assert len(match.manager.received_params("report_match_result")) == 4


@in_virtual_time
async def test_a_referee_with_an_unreported_match_takes_the_next(home: Path) -> None:
    async with hall(home, manager={"report_match_result": never_reply}, max_concurrent_matches=1) as match:
        match.pair()
        assert await match.start("R1M1") == {"status": "ok"}
        await match.manager.wait_for_calls("report_match_result")
        assert await match.start("R2M1") == {"status": "ok"}


@in_virtual_time
async def test_the_report_comes_after_game_over_and_what_will_be_the_match_file(home: Path) -> None:
    seen: list[str] = []
    files = MatchRepository(LEAGUE, home)

    async def report(_: Params) -> Any:
        waiting = json.loads(read_match_bytes(files.paths.match_file(LEAGUE, "R1M1"), "REF01"))
        seen.append(waiting["result"]["status"])
        seen.extend(method for player in match.players.values() for method, _ in player.received_calls[-1:])
        assert files.list() == []
        return {"status": "ok"}

    async with hall(home, manager={"report_match_result": report}) as match:
        match.pair()
        await match.play()
        await settled(match)
    assert seen == ["WIN", "notify_match_result", "notify_match_result"]
    assert match.record()["result"]["status"] == "WIN"


@in_virtual_time
async def test_a_match_whose_report_is_refused_leaves_the_file_of_the_one_that_counts(home: Path) -> None:
    files = MatchRepository(LEAGUE, home)
    files.save("R1M1", {"result": "of another referee"})
    async with hall(home, manager={"report_match_result": failing(1, refusal("E007"))}) as match:
        match.pair()
        await match.start()
        await settled(match)
    assert match.record()["result"] == "of another referee"
    assert [path.name for path in files.paths.matches_folder(LEAGUE).iterdir()] == ["R1M1.json"]


@in_virtual_time
async def test_a_file_that_cannot_be_written_costs_no_report(home: Path) -> None:
    (home / "data").mkdir(exist_ok=True)
    (home / "data/matches").write_text("a file where a folder should be")
    async with hall(home) as match:
        match.pair()
        report = await match.play()
        assert "write_failed" in {line["event_type"] for line in match.log()}
    assert report["result"]["status"] == "WIN"
