"""Leases: a referee has its matches as long as it shows that it is at them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_league.league.journal import run_inline
from agent_league.model.events import AgentStateChanged
from agent_league.storage.memory import MemoryStore
from agent_league.testing.peers import Params, RawReply, Script, always_reply, never_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.office import Office, at_work, open_office, within
from tests.league.scripted_referee import ScriptedReferee, first_wins

INTERVAL, LEASE = 2, 10
"""Seconds, as shipped."""
OK = {"status": "ok"}


async def not_found(_: Params) -> Any:
    raise RawReply(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 0}')


async def e007(_: Params) -> Any:
    return {"message_type": "LEAGUE_ERROR", "error_code": "E007", "message": "no such match here"}


async def one_at_a_time(params: Params) -> Any:
    """A referee that knows `match_id` and no `match_ids`."""
    return {"match_id": "R1M1", "state": "RUNNING"} if "match_id" in params else {"error": "which match?"}


def at(*match_ids: str) -> Script:
    """A referee that is at these matches."""

    async def script(params: Params) -> Any:
        return {"matches": {match_id: "RUNNING" if match_id in match_ids else None for match_id in params["match_ids"]}}

    return script


def virtual_office(home: Path, **overrides: Any) -> Office:
    """Of six players, REF01 gets R1M1 and R1M3, REF02 gets R1M2."""
    split = {"scheduling.matches_per_round": 50}
    return open_office(home, {**split, **overrides}, store=MemoryStore(), offload=run_inline)


async def given(office: Office, players: int = 2, **scripts: Script) -> tuple[ScriptedReferee, ScriptedReferee]:
    """A league under way: the first referee has matches and reports nothing, the second would."""
    await office.seat_players(players)
    first = await office.seat_referee(auto_report=False, capacity=5, scripts=scripts)
    second = await office.seat_referee(capacity=5)
    assert await office.start() == OK
    await within(first.wait_for_calls("start_match", 1 if players == 2 else 2))
    return first, second


def ids(referee: ScriptedReferee) -> list[str]:
    return [order["match_id"] for order in referee.orders]


def changes(office: Office) -> list[tuple[str, str]]:
    """Who became what."""
    events = [event for event in office.events if isinstance(event, AgentStateChanged)]
    return [(event.agent_id, str(event.state)) for event in events]


@pytest.mark.parametrize("how", ["hangs", "is gone"])
@in_virtual_time
async def test_a_referee_without_a_sign_of_life_loses_all_its_matches_and_is_suspended(home: Path, how: str) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, 6, get_match_state=never_reply)
        if how == "is gone":
            here.network.detach(first.endpoint)
        await within(second.wait_for_calls("start_match", 3))
        assert LEASE <= asyncio.get_running_loop().time() <= LEASE + 3 * INTERVAL
        assert sorted(ids(first)) == ["R1M1", "R1M3"]
        assert sorted(ids(second)) == ["R1M1", "R1M2", "R1M3"]
        assert changes(here) == [("REF01", "SUSPENDED")]
        before = dict(here.manager.state.results)
        late = await first.report("R1M1", {"winner": None, "score": {}})
        assert late["error_code"] == "E007"
        assert {match_id: here.manager.state.results[match_id] for match_id in before} == before


@in_virtual_time
async def test_one_that_misses_a_question_or_two_keeps_its_matches(home: Path) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, get_match_state=at("R1M1"))
        for _ in range(5):
            here.network.detach(first.endpoint)
            await asyncio.sleep(LEASE - 2 * INTERVAL)
            here.network.attach(first.endpoint, first.answer)
            await asyncio.sleep(2 * INTERVAL)
        assert (ids(first), ids(second), changes(here)) == (["R1M1"], [], [])
        assert await first.report("R1M1", first_wins(first.orders[0])) == OK
        await here.completed()


@in_virtual_time
async def test_a_match_that_its_referee_knows_nothing_of_goes_to_another_and_only_that(home: Path) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, 6, get_match_state=at("R1M3"))
        await within(second.wait_for_calls("start_match", 2))
        assert asyncio.get_running_loop().time() <= 3 * INTERVAL
        assert sorted(ids(second)) == ["R1M1", "R1M2"]
        assert changes(here) == []
        assert (await first.report("R1M1", {"winner": None, "score": {}}))["error_code"] == "E007"
        kept = next(order for order in first.orders if order["match_id"] == "R1M3")
        assert await first.report("R1M3", first_wins(kept)) == OK
        asked = first.received_params("get_match_state")
        assert asked[0] == {"sender": "league_manager", "match_ids": ["R1M1", "R1M3"]}


FOREIGN: dict[str, Script] = {
    "no such method": not_found,
    "an answer without matches": always_reply(OK),
    "null": always_reply(None),
    "a list": always_reply([]),
    "one match at a time": one_at_a_time,
    "another refusal": always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E002", "message": "match_id?"}),
}


@pytest.mark.parametrize("kind", FOREIGN)
@in_virtual_time
async def test_a_referee_that_does_not_know_the_question_keeps_its_matches(home: Path, kind: str) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, get_match_state=FOREIGN[kind])
        await asyncio.sleep(10 * LEASE)
        assert (ids(first), ids(second), changes(here)) == (["R1M1"], [], [])
        assert await first.report("R1M1", first_wins(first.orders[0])) == OK
        await here.completed()


@in_virtual_time
async def test_a_referee_that_says_e007_of_a_single_match_has_lost_it(home: Path) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, get_match_state=e007)
        await here.completed()
        assert (ids(first), ids(second)) == (["R1M1"], ["R1M1"])


@in_virtual_time
async def test_a_match_that_takes_longer_than_any_match_may_goes_to_another(home: Path) -> None:
    async with at_work(virtual_office(home, **{"heartbeat.match_sec": 100})) as here:
        first, second = await given(here, get_match_state=at("R1M1"))
        await asyncio.sleep(99)
        assert ids(second) == []
        await here.completed()
        assert asyncio.get_running_loop().time() >= 100
        assert (ids(first), ids(second)) == (["R1M1"], ["R1M1"])
        late = await first.report("R1M1", {"winner": None, "score": {}})
        assert late["error_code"] == "E007"


@pytest.mark.parametrize(
    ("states", "is_at_it"), [(at("R1M1"), True), (at(), False), (never_reply, False), (not_found, False)]
)
@in_virtual_time
async def test_a_referee_whose_answer_to_an_order_was_lost_is_asked_whether_it_has_the_match(
    home: Path, states: Script, is_at_it: bool
) -> None:
    async with at_work(virtual_office(home)) as here:
        first, second = await given(here, start_match=never_reply, get_match_state=states)
        await asyncio.sleep(4 * LEASE)
        assert ids(first) == ["R1M1"]
        assert ids(second) == ([] if is_at_it else ["R1M1"])
        answer = await first.report("R1M1", first_wins(first.orders[0]))
        assert answer == OK if is_at_it else answer["error_code"] == "E007"
        await here.completed()


@in_virtual_time
async def test_nobody_is_asked_once_its_matches_are_reported(home: Path) -> None:
    async with at_work(virtual_office(home)) as here:
        first, _ = await given(here, get_match_state=at("R1M1"))
        await asyncio.sleep(INTERVAL / 2)
        assert await first.report("R1M1", first_wins(first.orders[0])) == OK
        await asyncio.sleep(10 * LEASE)
        assert first.received_params("get_match_state") == []
