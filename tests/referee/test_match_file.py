"""The match file: lifecycle, transcript and result at the seed's path, and never a token."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.clock import parse_utc
from agent_league.log import JsonLogger
from agent_league.model.names import CHECK_LEAGUE
from agent_league.referee.match_file import QUIET_SECONDS, MatchFileWriter
from agent_league.storage.match_segments import list_match_paths
from agent_league.testing.peers import Params, RawReply, Script, always_reply, never_reply
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.referee.hall import SIGNED, Hall, accept_with_key, hall


def said(match: Hall, **wanted: Any) -> list[dict[str, Any]]:
    """The entries of the transcript with these values."""
    entries: list[dict[str, Any]] = match.record()["transcript"]
    return [entry for entry in entries if wanted.items() <= entry.items()]


@in_virtual_time
async def test_the_file_lies_at_the_seeds_path_and_holds_the_result(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        report = await match.play(round_id=4)
    path = home / "data/matches/league_2025_even_odd/R1M1.json"
    content = json.loads(path.read_text())
    assert {
        "schema_version": "1.0.0",
        "league_id": "league_2025_even_odd",
        "match_id": "R1M1",
        "round_id": 4,
        "game_type": "even_odd",
        "referee_id": "REF01",
        "players": {"PLAYER_A": "P01", "PLAYER_B": "P02"},
        "moves": [{"P01": "even", "P02": "odd"}],
    }.items() <= content.items()
    result = content["result"]
    assert result["status"] == "WIN"
    assert result["winner_player_id"] == report["result"]["winner"]
    assert result["score"] == report["result"]["score"]
    assert result["drawn_number"] == report["result"]["details"]["drawn_number"]
    assert result["terminations"] == {"P01": "normal", "P02": "normal"}
    assert [path.name for path in path.parent.iterdir()] == ["R1M1.json"]


@in_virtual_time
async def test_a_busy_referee_writes_its_files_when_it_is_quieter_and_at_the_end(home: Path) -> None:
    writer, folder = MatchFileWriter(home, JsonLogger("REF01", log_root=home / "logs")), home / "data/matches/league"

    def settle(*match_ids: str) -> None:
        for match_id in match_ids:
            writer.propose_file("league", match_id, "REF01", {"result": None})
            writer.settle_file("league", match_id, counts=True)

    def list_written() -> list[str]:
        return sorted(path.stem for path in folder.glob("*.json"))

    settle("R1M1")
    assert list_written() == ["R1M1"], "with time, it is written at once"
    settle("R1M2", "R1M3", "R1M4")
    await asyncio.sleep(1.1 * QUIET_SECONDS)
    settle("R1M5", "R1M6", "R1M7")
    await asyncio.sleep(QUIET_SECONDS)
    assert list_written() == ["R1M1"]
    assert [path.stem for path in list_match_paths(folder)] == [f"R1M{number}" for number in range(1, 8)]
    await asyncio.sleep(QUIET_SECONDS)
    assert list_written() == [f"R1M{number}" for number in range(1, 8)]
    settle("R2M1")
    writer.close()
    assert list_written()[-1] == "R2M1"
    assert len([*folder.iterdir()]) == 8


@in_virtual_time
async def test_the_lifecycle_has_a_time_for_each_state(home: Path) -> None:
    async def slow(_: Params) -> Any:
        raise RawReply(b"late")

    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b={"handle_game_invitation": never_reply, "notify_game_error": slow})
        await match.play()
    lifecycle = match.record()["lifecycle"]
    assert [entry["state"] for entry in lifecycle] == ["WAITING_FOR_PLAYERS", "FINISHED"]
    assert lifecycle[0]["at"] == "2025-01-15T10:00:00.000Z"
    assert lifecycle[1]["at"] > "2025-01-15T10:00:21"  # three limits of 5 s, waits of 2 s and 4 s
    assert all(parse_utc(entry["at"]) for entry in lifecycle)


@in_virtual_time
async def test_the_transcript_holds_every_message_in_order_with_latency_and_attempt(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        await match.play()
    entries = match.record()["transcript"]
    assert all(parse_utc(entry["at"]) for entry in entries)
    for player_id, player in match.players.items():
        sent = said(match, direction="sent", player_id=player_id)
        assert [entry["method"] for entry in sent] == [method for method, _ in player.received_calls]
        for entry, (_, params) in zip(sent, player.received_calls, strict=True):
            assert {**params, "auth_token": "[redacted]"} == entry["message"]
        assert [entry["attempt"] for entry in sent] == [1, 1, 1]
        received = said(match, direction="received", player_id=player_id)
        assert [entry["message"]["message_type"] for entry in received] == ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]
        assert all(entry["latency_ms"] == 0 for entry in received)
    (drawn,) = said(match, direction="drawn")
    assert drawn["outcome"] == match.record()["result"]["drawn_number"]


@in_virtual_time
async def test_the_transcript_holds_each_failure_with_its_evidence(home: Path) -> None:
    answers = iter([{"parity_choice": "Odd", "comment": "sure"}])

    async def wrong_then_silent(params: Params) -> Any:
        return next(answers, None) or await never_reply(params)

    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b={"choose_parity": wrong_then_silent})
        await match.play()
    asked = said(match, direction="sent", player_id="P02", method="choose_parity")
    assert [entry["attempt"] for entry in asked] == [1, 2, 3]
    failed = said(match, direction="failed", player_id="P02", method="choose_parity")
    assert [entry["error_code"] for entry in failed] == ["E004", "E001", "E001"]
    assert failed[0]["message"] == {"parity_choice": "Odd", "comment": "sure"}
    assert [entry["latency_ms"] for entry in failed] == [0, 30_000, 30_000]
    assert "parity_choice" in failed[0]["error"]
    assert len(said(match, direction="sent", method="notify_game_error")) == 3


def quoting(text: bytes) -> Script:
    async def script(_: Params) -> Any:
        raise RawReply(text)

    return script


TOKEN = "tok-p02-0123456789abcdef"
LEAKS: dict[str, Script] = {
    "where it belongs": always_reply({"parity_choice": "odd", "auth_token": TOKEN}),
    "in a field of its own": always_reply({"parity_choice": "odd", "my_secret": TOKEN}),
    "deep inside": always_reply({"parity_choice": "odd", "meta": {"list": [{"text": f"my token is {TOKEN}!"}]}}),
    "as a field's name": always_reply({"parity_choice": "odd", "meta": {TOKEN: 1}}),
    "in an error": always_reply({"message_type": "LEAGUE_ERROR", "message": f"{TOKEN} is mine"}),
    "in a JSON-RPC error": quoting(b'{"error": {"message": "bad: tok-p02-0123456789abcdef"}}'),
    "in no JSON at all": quoting(b"<p>you said tok-p02-0123456789abcdef</p>"),
    "the match's own, quoted": quoting(b"you said tok-match-R1M1"),
}


def written_under(home: Path) -> list[str]:
    """All data and logs, but for what the agent itself needs to come back."""
    apart = {"config", "credentials"}
    return [path.read_text() for path in home.rglob("*.json*") if not apart.intersection(path.parts)]


@pytest.mark.parametrize("leak", LEAKS)
@in_virtual_time
async def test_no_tokens_value_is_ever_written_down(home: Path, leak: str) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": LEAKS[leak]})
        await match.play()
        shown = await match.call("get_match_state", {"match_id": "R1M1"})
    assert "[redacted]" in json.dumps(match.record())
    assert all("tok-" not in text for text in (*written_under(home), json.dumps(shown)))


@in_virtual_time
async def test_a_match_played_again_has_one_file_with_the_last_play(home: Path) -> None:
    async with hall(home, SIGNED, manager={"register_referee": accept_with_key}) as match:
        match.pair(b={"handle_game_invitation": always_reply({"accept": False})})
        await match.play()
        await asyncio.gather(*match.referee._match_tasks.values())
        match.seat("P02", "odd")
        await match.start(match_token="tok-r1m1-given-out-again")
        await match.manager.wait_for_calls("report_match_result", 2)
    assert match.record()["result"]["status"] == "WIN"


async def test_a_match_of_a_check_leaves_no_file(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        match.referee._session.league_id = CHECK_LEAGUE
        await match.play(league_id=CHECK_LEAGUE)
    assert not list((home / "data" / "matches").rglob("*.json"))
