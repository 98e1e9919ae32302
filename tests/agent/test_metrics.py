"""What an agent counts: its calls, those of others, and how its peers answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent import metrics as meters
from agent_league.agent.metrics import BUCKET_BOUNDS, AgentMetrics
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.errors import CallFailed, ErrorCode, PeerTimeout, PeerUnreachable, Refusal
from agent_league.http.memory import MemoryNetwork
from tests.agent.answering_agent import QUERY, Desk, call, refuse

HERE = "http://localhost:8101/mcp"
REFUSED = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "message": "no"}


def framed(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": None, **fields}).encode()


def network(answer: bytes) -> MemoryNetwork:
    made = MemoryNetwork()

    async def say(_: bytes, __: str | None) -> bytes:
        return answer

    made.attach(HERE, say)
    return made


def served(desk: Desk) -> dict[tuple[str, ...], int]:
    return {what[1:]: count for what, count in desk.meter.counts.items() if what[0] == "calls_served"}


def made(meter: AgentMetrics) -> dict[tuple[str, ...], int]:
    return {what[1:]: count for what, count in meter.counts.items() if what[0] == "calls_made"}


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (BUCKET_BOUNDS[0], 0), (0.0011, 1), (30.0, 13), (31.0, 14)])
def test_a_bucket_counts_what_took_up_to_its_bound(seconds: float, bucket: int) -> None:
    meter = AgentMetrics()
    meter.histograms["thinking",].add_duration(seconds)
    timing = meter.histograms["thinking",]
    assert [index for index, count in enumerate(timing.buckets) if count] == [bucket]
    assert timing.seconds == seconds


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (framed(result={"status": "ok"}), "ok"),
        (framed(result=REFUSED), "E012"),
        (framed(error={"code": -32601, "message": "no such method"}), "-32601"),
        (framed(error={"code": 7, "message": "a code of its own"}), "E002"),
        (framed(error="a sentence"), "E002"),
        (framed(error={"code": [], "message": "no code at all"}), "E002"),
        (b"not JSON", "E002"),
    ],
)
async def test_a_call_is_counted_by_what_came_of_it(answer: bytes, outcome: str) -> None:
    meter = AgentMetrics()
    line = PeerClient(network(answer), metrics=meter)
    try:
        await line.send_frame(HERE, b"{}", 1, method="notify_round")
    except CallFailed:
        assert outcome != "ok"
    assert made(meter) == {("notify_round", outcome): 1}
    assert sum(meter.histograms["call_made_seconds", "notify_round"].buckets) == 1
    peer = meter.peer_stats(HERE)
    assert peer is not None
    assert peer.failures == 0
    assert peer.smoothed is not None  # whoever refuses has answered


async def test_asking_and_telling_with_manners_are_counted_once_whatever_styles_are_tried() -> None:
    meter = AgentMetrics()
    manners = PeerClient(network(framed(error={"code": -32601, "message": "no such method"})), metrics=meter)
    with pytest.raises(CallFailed):
        await manners.send_notice(HERE, PeerCall("notify_match_result", {"protocol": "league.v2"}), 1)
    with pytest.raises(CallFailed):
        await manners.request_answer(
            HERE, PeerCall("choose_parity", {"protocol": "league.v2"}, "CHOOSE_PARITY_RESPONSE"), 1
        )
    assert made(meter) == {("notify_match_result", "-32601"): 1, ("choose_parity", "-32601"): 1}


@pytest.mark.parametrize(
    ("error", "code"), [(PeerTimeout("silent"), ErrorCode.TIMEOUT_ERROR), (PeerUnreachable("gone"), "E009")]
)
async def test_a_peer_without_an_answer_has_a_failure_and_keeps_its_latency(error: CallFailed, code: str) -> None:
    meter = AgentMetrics()

    async def answer() -> None: ...

    async def fail() -> None:
        raise error

    await meter.track_call(HERE, "notify_round", answer())
    peer = meter.peer_stats(HERE)
    assert peer is not None
    before = peer.smoothed
    with pytest.raises(type(error)):
        await meter.track_call(HERE, "notify_round", fail())
    assert made(meter)["notify_round", str(code)] == 1
    assert peer.failures == 1
    assert peer.smoothed == before is not None


def test_the_smoothed_latency_follows_the_answers_slowly() -> None:
    meter = AgentMetrics()
    for seconds in (1.0, 0.0):
        meter.record_made_call(HERE, "make_move", "ok", seconds, answered=True)
    peer = meter.peer_stats(HERE)
    assert peer is not None
    assert peer.smoothed == pytest.approx(0.8)


async def test_a_call_that_is_given_up_is_not_counted() -> None:
    meter, began = AgentMetrics(), asyncio.Event()

    async def never() -> None:
        began.set()
        await asyncio.Event().wait()

    calling = asyncio.create_task(meter.track_call(HERE, "notify_round", never()))
    await began.wait()
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    assert not meter.counts
    assert meter.peer_stats(HERE) is None


async def test_peers_beyond_the_bound_take_the_place_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meters, "MOST_PEERS", 2)
    meter = AgentMetrics()

    async def answer() -> None: ...

    for number in range(3):
        await meter.track_call(f"{HERE}{number}", "notify_round", answer())
    assert [meter.peer_stats(f"{HERE}{number}") is None for number in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "counted"),
    [
        (QUERY, {("league_query", "ok"): 1}),
        (call("create_schedule"), {("create_schedule", "-32603"): 1}),
        (b"{", {("other", "-32700"): 1}),
        ([], {("other", "-32600"): 1}),
        (call("get_standings", params=[]), {("other", "-32602"): 1}),
        ([QUERY, QUERY, call("drop_table")], {("league_query", "ok"): 2, ("other", "-32601"): 1}),
        (call("tools/call", params={"name": "drop_table"}), {("other", "-32601"): 1}),
    ],
)
async def test_a_call_of_others_is_counted_by_what_we_answered(
    desk: Desk, body: Any, counted: dict[tuple[str, ...], int]
) -> None:
    await desk.post(body)
    assert served(desk) == counted


async def test_what_is_refused_counts_with_its_code(desk: Desk) -> None:
    desk.refusal = refuse()
    await desk.post(QUERY)
    assert served(desk) == {("league_query", "E012"): 1}
    assert sum(desk.meter.histograms["call_served_seconds", "league_query"].buckets) == 1


async def test_made_up_methods_are_one_label_and_no_latency(desk: Desk) -> None:
    for number in range(50):
        await desk.post(call(f"method_{number}"))
    assert served(desk) == {("other", "-32601"): 50}
    assert not desk.meter.histograms


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "resources/read"])
async def test_a_request_of_mcp_is_no_failure(desk: Desk, method: str) -> None:
    """It is answered behind the door, once the dispatcher has said that it doesn't know it."""
    await desk.post(call(method))
    assert served(desk) == {}


async def test_who_is_turned_away_is_counted(desk: Desk) -> None:
    refusal = Refusal(ErrorCode.RATE_LIMIT_EXCEEDED, "too many")
    desk.dispatcher.refuse_requests(json.dumps([QUERY, call()]).encode(), refusal)
    assert served(desk) == {("other", "E014"): 2}


async def test_a_call_by_name_alone_is_counted_like_another(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    await desk.dispatcher.call_method("get_standings", {})
    assert served(desk) == {("get_standings", "ok"): 1}
