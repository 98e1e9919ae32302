"""The league's limits at its referees: what START_MATCH says counts, whatever a referee's own files say."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.agent.outbox import Outboxes
from agent_league.agent.peer_client import PeerClient
from agent_league.clock import parse_utc
from agent_league.config.models import RetryPolicy, TimeoutConfig
from agent_league.http.memory import MemoryNetwork
from agent_league.protocol.v2.match import MatchLimits
from agent_league.referee.requests import RefereeContext
from agent_league.testing.peers import Script, never_reply
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.referee.hall import REFEREE, Hall, hall
from tests.referee.v1_player import seat_v1

LIMITS = {"join_sec": 3, "move_sec": 2, "attempts": 2, "base_delay_sec": 0}
V1 = {"protocol": "league.v1"}


def slow(seconds: float, answer: Script) -> Script:
    async def script(params: Any) -> Any:
        await asyncio.sleep(seconds)
        return await answer(params)

    return script


def slow_player(match: Hall, method: str, seconds: float) -> None:
    """P01 takes so long for each answer of one kind."""
    match.pair()
    player = match.players["P01"]
    player._scripts[method] = slow(seconds, player._scripts[method])


@pytest.mark.parametrize(
    ("limits", "how"), [(LIMITS, "move_timeout"), (None, "normal"), ({"move_sec": 2}, "move_timeout")]
)
@in_virtual_time
async def test_a_move_has_the_time_that_the_league_gives_or_else_the_referee(
    home: Path, limits: dict[str, float] | None, how: str
) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        slow_player(match, "choose_parity", 4)
        await match.play(limits=limits)
        question = match.players["P01"].received_params("choose_parity")[0]
    asked, until = (parse_utc(question[name]) for name in ("timestamp", "deadline"))
    assert asked
    assert until
    assert abs((until - asked).total_seconds() - (2 if limits else 30)) < 1.5, "what is announced is what is waited"
    record = match.record()
    assert record["result"]["terminations"] == {"P01": how, "P02": "normal"}
    assert record["attempts"]["max"] == (limits or {}).get("attempts", 3)
    failed = [line["latency_ms"] for line in record["transcript"] if line["direction"] == "failed"]
    assert len(failed) == (0 if how == "normal" else record["attempts"]["max"])
    assert all(1900 < latency < 2500 for latency in failed)


@pytest.mark.parametrize(("seconds", "how"), [(2.9, "normal"), (3.2, "join_timeout")])
@in_virtual_time
async def test_an_invitation_has_the_time_that_the_league_gives(home: Path, seconds: float, how: str) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        slow_player(match, "handle_game_invitation", seconds)
        await match.play(limits=LIMITS)
    assert match.record()["result"]["terminations"]["P01"] == how


@pytest.mark.parametrize(
    ("limits", "stated"),
    [
        (None, 30),
        ({"join_sec": 30}, 30),
        ({"join_sec": 5, "v1_join_sec": 12}, 12),
        ({"join_sec": 9}, 9),
    ],
)
@in_virtual_time
async def test_an_invitation_in_v1_says_how_long_is_waited_for_its_answer(
    home: Path, limits: dict[str, float] | None, stated: float
) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        guest = seat_v1(match, "P02", "odd", {"GAME_INVITATION": never_reply})
        await match.start(P02=V1, limits=limits)
        await match.manager.wait_for_calls("report_match_result")
    assert {m["game_info"]["timeout_seconds"] for m in guest.received_params("GAME_INVITATION")} == {stated}
    failed = [line["latency_ms"] for line in match.record()["transcript"] if line["direction"] == "failed"]
    assert len(failed) == 3
    assert all(1000 * stated <= latency < 1000 * (stated + 1) for latency in failed)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [-1, 1e9, "2", True, [2], {}, 2**70])
async def test_a_limit_that_nobody_can_keep_is_refused_by_its_name(home: Path, name: str, value: Any) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await match.start(limits={**LIMITS, name: value})
        assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E002")
        assert answer["context"]["field"] == f"limits.{name}"
        assert f"limits.{name}" in answer["message"]
        assert not match.players["P01"].received_calls


@pytest.mark.parametrize("name", ["join_sec", "move_sec", "attempts"])
async def test_no_time_and_no_attempt_at_all_is_refused_too(home: Path, name: str) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await match.start(limits={**LIMITS, name: 0})
        assert (answer["error_code"], answer["context"]["field"]) == ("E002", f"limits.{name}")


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
async def test_what_json_has_no_number_for_is_no_limit(home: Path, written: str) -> None:
    async with hall(home) as match:
        match.pair()
        order = json.dumps(match.order(limits={**LIMITS, "move_sec": "@"})).replace('"@"', written)
        frame = f'{{"jsonrpc": "2.0", "method": "start_match", "params": {order}, "id": 1}}'
        _, body = await match.network.exchange(REFEREE, frame.encode(), 10)
        assert json.loads(body)["error"]["code"] == -32700


@pytest.mark.parametrize("limits", [7, "fast", []])
async def test_limits_of_another_form_are_refused(home: Path, limits: Any) -> None:
    async with hall(home) as match:
        match.pair()
        answer = await match.start(limits=limits)
        assert (answer["error_code"], answer["context"]["field"]) == ("E002", "limits")


def test_a_context_under_limits_is_made_once_and_never_taken_for_another() -> None:
    own = RefereeContext(
        peer_client=PeerClient(MemoryNetwork()),
        outboxes=Outboxes(lambda *_: None),
        timeouts=TimeoutConfig(),
        retry=RetryPolicy(),
        failure_threshold=1,
        rng=Random(0),
    )
    first, second = MatchLimits(move_sec=2), MatchLimits(move_sec=3, attempts=1)
    assert own.with_limits(first) is own.with_limits(MatchLimits(move_sec=2))
    assert own.with_limits(first).timeouts.move_timeout_sec == 2
    assert own.with_limits(second).timeouts.move_timeout_sec == 3
    assert own.with_limits(second).retry.max_retries == 1
    assert own.with_limits(first).retry == own.retry
    stricter = replace(own, strict=True)
    assert stricter.with_limits(second).strict
    assert not own.with_limits(second).strict
    assert own.with_limits(None) is own
