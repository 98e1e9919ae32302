"""Matches that are over: what is told of them later, how many are kept, and in how much room."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.registry import load_game
from agent_league.referee.finished_matches import FinishedMatches
from agent_league.testing.peers import always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import SIGNED, Hall, accept_with_key, hall
from tests.referee.test_tools import code


async def settled(match: Hall) -> None:
    await asyncio.gather(*match.referee._match_tasks.values())


@in_virtual_time
async def test_a_match_is_told_alike_before_and_after_its_report_is_acknowledged(home: Path) -> None:
    told: list[dict[str, Any]] = []

    async def report(_: Any) -> Any:
        told.append(await match.call("get_match_state", {"match_id": "R1M1"}))
        return {"status": "ok"}

    async with hall(home, manager={"report_match_result": report}) as match:
        match.pair()
        await match.play()
        await settled(match)
        told.append(await match.call("get_match_state", {"match_id": "R1M1"}))
        assert match.referee._running_matches == {}
    assert told[0] == told[1]
    assert told[1]["transcript"] == match.record()["transcript"]


@in_virtual_time
async def test_what_is_kept_of_matches_has_a_bound_in_bytes_and_the_newest_is_always_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hall(home) as match:
        match.pair()
        await match.play("R1M1")
        await settled(match)
        one = len(match.referee._finished_matches["R1M1"].content)
        monkeypatch.setattr("agent_league.referee.finished_matches.KEPT_BYTES", 3 * one)
        for number in range(2, 6):
            await match.play(f"R{number}M1")
            await settled(match)
        kept = match.referee._finished_matches
        assert sum(len(past.content) for past in kept.values()) == kept._total_bytes <= 3 * one
        assert len(kept) >= 2
        assert list(kept)[-1] == "R5M1"
        monkeypatch.setattr("agent_league.referee.finished_matches.KEPT_BYTES", 1)
        await match.play("R6M1")
        await settled(match)
        assert list(kept) == ["R6M1"]


class Unwritable(EvenOddWire):
    """A result that JSON can't hold, told from the second time on: once the players have theirs."""

    def __init__(self) -> None:
        self.told = 0

    def result(self, *args: Any) -> dict[str, Any]:
        self.told += 1
        return {**super().result(*args), **({"more": object()} if self.told > 1 else {})}


@in_virtual_time
async def test_of_a_match_that_json_cannot_hold_the_headlines_are_told(home: Path) -> None:
    game = load_game("even_odd")
    async with hall(home) as match:
        match.referee._orders.loaded_games["even_odd"] = type(game)(
            "even_odd", game.rules, Unwritable(), game.parameters
        )
        match.pair()
        await match.play()
        await settled(match)
        told = await match.call("get_match_state", {"match_id": "R1M1"})
        assert "write_failed" in {line["event_type"] for line in match.log()}
    assert told["state"] == "FINISHED"
    assert told["result"] is None
    assert [entry["direction"] for entry in told["transcript"]].count("received") == 4
    assert not any("message" in entry for entry in told["transcript"])


@pytest.mark.parametrize("token", ["tok-p01-0123456789abcdef", "tok-p01-somebody-elses", None])
@in_virtual_time
async def test_an_answer_to_a_match_that_is_over_must_still_be_a_players(home: Path, token: str | None) -> None:
    async with hall(home) as match:
        match.pair()
        own = hashlib.sha256(str(match.players["P01"].token).encode()).hexdigest()
        await match.play(P01={"token_sha256": own})
        await settled(match)
        answer = {
            "protocol": "league.v2",
            "message_type": "CHOOSE_PARITY_RESPONSE",
            "sender": "player:P01",
            "timestamp": "2025-01-15T10:15:00Z",
            "conversation_id": "conv-r1m1-001",
            "match_id": "R1M1",
            "parity_choice": "odd",
            "auth_token": token,
        }
        told = await match.call("choose_parity_response", answer)
    if token == match.players["P01"].token:
        assert told == {"status": "ok"}
    else:
        assert code(told) == ("E012" if token else "E011")


@in_virtual_time
async def test_a_match_that_is_played_again_is_kept_once(home: Path) -> None:
    async with hall(home, SIGNED, manager={"register_referee": accept_with_key}) as match:
        match.pair(b={"handle_game_invitation": always_reply({"accept": False})})
        await match.play()
        await settled(match)
        match.seat("P02", "odd")
        await match.start(match_token="tok-r1m1-given-out-again")
        await match.manager.wait_for_calls("report_match_result", 2)
        await settled(match)
        kept: FinishedMatches = match.referee._finished_matches
        assert kept._total_bytes == len(kept["R1M1"].content)
        assert (await match.call("get_match_state", {"match_id": "R1M1"}))["result"]["status"] == "WIN"
