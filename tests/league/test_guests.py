"""Referees that aren't ours at our manager: how they are started, how they report, and how long they may be silent."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.league.journal import run_inline
from agent_league.league.roster import MAX_DEVIATIONS
from agent_league.league.supervision import max_match_seconds
from agent_league.model.events import AgentStateChanged, LeagueCompleted, MatchFinished
from agent_league.storage.memory import MemoryStore
from agent_league.testing.peers import Params, Script, ScriptedPlayer, always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.office import Office, at_work, open_office
from tests.league.scripted_referee import ScriptedReferee

OK = {"status": "ok"}
LEASE = 10
"""Seconds, as shipped."""
DAY = 86_400
NO_SUCH_METHOD = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 1}


class Guest:
    """A referee that knows some methods (`bare` among them), and no match tokens."""

    def __init__(self, office: Office, number: int, knows: Mapping[str, Script], unknown: Any = NO_SUCH_METHOD) -> None:
        self.name = f"Guest {number}"
        self.endpoint = f"http://localhost:{8050 + number}/mcp"
        self.office = office
        self.knows = dict(knows)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.referee_id = self.token = ""
        self._unknown = unknown

    async def register(self, **meta: Any) -> "Guest":
        self.office.network.attach(self.endpoint, self.answer)
        about = {"role": "referee", "sender": "referee:guest", "match_tokens": False, **meta}
        answer = await self.office.register(self.name, self.endpoint, **about)
        self.referee_id, self.token = answer["referee_id"], answer["auth_token"]
        return self

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes:
        frame = json.loads(body)
        method, params = frame.get("method", "bare"), frame.get("params", frame)
        if method not in self.knows:
            return json.dumps(self._unknown).encode()
        self.calls.append((method, params))
        result = await self.knows[method](params)
        framed = {"jsonrpc": "2.0", "result": result, "id": frame.get("id")}
        return json.dumps(result if method == "bare" else framed).encode()

    def received_params(self, method: str) -> list[dict[str, Any]]:
        return [params for name, params in self.calls if name == method]

    async def report(self, match_id: str, winner: str | None, **fields: Any) -> Any:
        result: dict[str, Any] = {"winner": winner, "score": {}, "details": {}}
        message = {"auth_token": self.token, "match_id": match_id, "result": result, **fields}
        return await self.office.say(
            "report_match_result", "MATCH_RESULT_REPORT", f"referee:{self.referee_id}", **message
        )


def virtual(home: Path, **overrides: Any) -> Office:
    return open_office(home, overrides, store=MemoryStore(), offload=run_inline)


def limit(home: Path) -> float:
    return max_match_seconds(ConfigLoader(home, {}).load_system())


async def completed(office: Office) -> LeagueCompleted:
    """The end of the league, within a day of virtual time."""
    async with asyncio.timeout(DAY):
        await office.manager.completed.wait()
    return next(event for event in office.events if isinstance(event, LeagueCompleted))


def passed() -> float:
    return asyncio.get_running_loop().time()


def message_of(params: Params) -> Params:
    """The order inside whatever frame it came in."""
    inner: Params = params.get("message") or params.get("arguments") or params
    return inner


def reporting(guests: list[Guest]) -> Script:
    """Acknowledges the start of a match and reports that player A has won it."""

    async def script(params: Params) -> Any:
        order = message_of(params)
        asyncio.get_running_loop().call_soon(lambda: tasks.append(asyncio.ensure_future(report(order))))
        return OK

    async def report(order: Params) -> None:
        answer = await guests[0].report(order["match_id"], order["player_A_id"])
        assert answer == OK

    tasks: list[Any] = []
    return script


@pytest.mark.parametrize(
    "method", ["start_match", "assign_match", "run_match", "START_MATCH", "handle_message", "tools/call", "bare"]
)
@in_virtual_time
async def test_a_guest_is_started_by_the_name_it_knows_and_reports(home: Path, method: str) -> None:
    async with at_work(virtual(home)) as here:
        players = await here.seat_players(4)
        guests: list[Guest] = []
        guests.append(await Guest(here, 1, {method: reporting(guests)}).register(max_concurrent_matches=2))
        assert await here.start() == OK
        end = await completed(here)
        orders = [message_of(params) for params in guests[0].received_params(method)]
        orders = [order for order in orders if order["message_type"] == "START_MATCH"]
        assert sorted(order["match_id"] for order in orders) == [f"R{r}M{m}" for r in (1, 2, 3) for m in (1, 2)]
        assert passed() < 10
        first = next(order for order in orders if order["match_id"] == "R1M1")
        assert (first["player_A_id"], first["player_A_endpoint"]) == ("P01", players[0].endpoint)
        assert (first["player_B_id"], first["player_B_endpoint"]) == ("P02", players[1].endpoint)
        noted = end.tolerated.get("REF01", ())
        assert any(note.startswith("called as") for note in noted) is (method != "start_match")


RESULTS: dict[str, Any] = {
    "the result itself": lambda order: {"winner": order["player_A_id"], "score": {}},
    "a report": lambda order: {"message_type": "MATCH_RESULT_REPORT", "result": {"winner": order["player_A_id"]}},
    "beside a status": lambda order: {"status": "completed", "result": {"winner": order["player_A_id"]}},
    "as a tool's text": lambda order: {"content": [{"text": json.dumps({"winner": order["player_A_id"]})}]},
}


@pytest.mark.parametrize("shape", RESULTS)
@in_virtual_time
async def test_a_guest_may_play_before_it_answers_and_tell_the_result_in_its_answer(home: Path, shape: str) -> None:
    async def run_match(order: Params) -> Any:
        await asyncio.sleep(limit(home) - 50)  # longer than any other call may take
        return RESULTS[shape](order)

    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"run_match": run_match}).register()
        await here.seat_referee()
        assert await here.start() == OK
        end = await completed(here)
        assert {match_id: result.winner for match_id, result in here.manager.state.results.items()} == {"R1M1": "P01"}
        assert len(guest.received_params("run_match")) == 1
        assert "result in the reply to the start" in end.tolerated["REF01"]


@in_virtual_time
async def test_a_guest_that_reports_and_answers_with_the_result_as_well_has_said_it_once(home: Path) -> None:
    async def run_match(order: Params) -> Any:
        assert await guest.report("R1M1", "P02") == OK
        return {"winner": "P02"}

    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"run_match": run_match}).register()
        assert await here.start() == OK
        await completed(here)
        assert len([event for event in here.events if isinstance(event, MatchFinished)]) == 1


@in_virtual_time
async def test_the_result_in_the_answer_of_a_referee_of_ours_is_not_taken(home: Path) -> None:
    """It reports, as it promised with the version that it declared."""
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        at_it = always_reply({"matches": {"R1M1": "RUNNING"}})
        ours = await here.seat_referee(
            auto_report=False, scripts={"start_match": always_reply({"winner": "P02"}), "get_match_state": at_it}
        )
        assert await here.start() == OK
        await ours.wait_for_calls("start_match")
        await asyncio.sleep(60)
        assert here.manager.state.results == {}


def copies(agent: ScriptedPlayer | ScriptedReferee | Guest, round_id: int = 1) -> list[dict[str, Any]]:
    """The matches in an agent's copies of an announcement, copy by copy."""
    told = [message for message in agent.received_params("notify_round") if message["round_id"] == round_id]
    return [{match["match_id"]: match for match in message["matches"]} for message in told]


def announced_to(guests: list[Guest]) -> Script:
    """Starts with the announcement: reports all matches that are its own."""
    tasks: list[Any] = []

    async def script(message: Params) -> Any:
        own = [match for match in message["matches"] if match["referee_endpoint"] == guests[0].endpoint]
        tasks.extend(asyncio.ensure_future(guests[0].report(match["match_id"], match["player_A_id"])) for match in own)
        return OK

    return script


UNKNOWN: dict[str, Any] = {
    "method not found": NO_SUCH_METHOD,
    "an error in words": {"error": "unknown"},
    "an internal error": {"jsonrpc": "2.0", "error": {"code": -32603, "message": "KeyError"}, "id": 1},
    "nothing to the point": {"jsonrpc": "2.0", "id": 1},
}


@pytest.mark.parametrize("unknown", UNKNOWN)
@in_virtual_time
async def test_a_guest_that_knows_no_order_starts_with_the_announcement(home: Path, unknown: str) -> None:
    async with at_work(virtual(home)) as here:
        players = await here.seat_players(4)
        guests: list[Guest] = []
        guests.append(await Guest(here, 1, {"notify_round": announced_to(guests)}, UNKNOWN[unknown]).register())
        assert await here.start() == OK
        end = await completed(here)
        assert len(here.manager.state.results) == 6
        assert passed() < 10
        (copy,) = copies(guests[0])
        for match_id, a, b in (("R1M1", 0, 1), ("R1M2", 2, 3)):
            assert copy[match_id]["player_A_endpoint"] == players[a].endpoint
            assert copy[match_id]["player_B_endpoint"] == players[b].endpoint
            assert copy[match_id]["match_token"]
        assert "matches started by ROUND_ANNOUNCEMENT" in end.tolerated["REF01"]


@pytest.mark.parametrize("unknown", UNKNOWN)
@in_virtual_time
async def test_a_guest_that_knows_no_order_and_plays_for_a_while_keeps_its_match(home: Path, unknown: str) -> None:
    reports: list[Any] = []

    async def notify_round(message: Params) -> Any:
        asyncio.get_running_loop().call_later(
            30, lambda: reports.append(asyncio.ensure_future(guest.report("R1M1", "P02")))
        )
        return OK

    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"notify_round": notify_round}, UNKNOWN[unknown]).register()
        other = await here.seat_referee()
        assert await here.start() == OK
        end = await completed(here)
        assert (other.orders, here.manager.state.results["R1M1"].winner) == ([], "P02")
        assert end.tolerated["REF01"] == ("matches started by ROUND_ANNOUNCEMENT",)


@in_virtual_time
async def test_a_guest_is_told_of_a_round_once_the_players_know_of_it(home: Path) -> None:
    known: list[int] = []

    async def notify_round(message: Params) -> Any:
        known.append(sum(bool(player.received_params("notify_round")) for player in players))
        return OK

    async with at_work(virtual(home)) as here:
        players = await here.seat_players(2)
        await Guest(here, 1, {"notify_round": notify_round}).register()
        assert await here.start() == OK
        await asyncio.sleep(5)
        assert known == [2]


async def hung(_: Params) -> Any:
    await asyncio.sleep(1e9)


SILENT: dict[str, dict[str, Script]] = {
    "acknowledges": {"start_match": always_reply(OK)},
    "hangs": {"start_match": hung, "get_match_state": hung},
    "takes the announcement alone": {"notify_round": always_reply(OK)},
    "has a result that nobody can read": {"start_match": always_reply({"winner": "P77"})},
}
"""Guests that take a match, in one way or another, and are not heard of again."""


@pytest.mark.parametrize("how", SILENT)
@in_virtual_time
async def test_a_guest_that_is_never_heard_of_has_the_time_of_a_match_and_then_another_gets_it(
    home: Path, how: str
) -> None:
    async with at_work(virtual(home)) as here:
        players = await here.seat_players(2)
        guest = await Guest(here, 1, SILENT[how]).register()
        other = await here.seat_referee()
        assert await here.start() == OK
        await asyncio.sleep(limit(home) - 5)
        assert (other.orders, here.manager.state.assigned_referees) == ([], {"R1M1": guest.referee_id})
        await completed(here)
        assert len(other.orders) == 1
        assert passed() <= limit(home) + 2 * LEASE
        late = await guest.report("R1M1", "P02")
        assert late["error_code"] == "E007"
        assert here.manager.state.results["R1M1"].winner == "P01"
        assert [copy["R1M1"]["referee_endpoint"] for copy in copies(players[0])] == [guest.endpoint, other.endpoint]


@in_virtual_time
async def test_a_guest_that_is_gone_loses_its_match_with_its_lease(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"start_match": always_reply(OK)}).register()
        other = await here.seat_referee()
        assert await here.start() == OK
        await asyncio.sleep(1)
        here.network.detach(guest.endpoint)
        await completed(here)
        assert (len(guest.received_params("start_match")), len(other.orders)) == (1, 1)
        assert passed() <= 3 * LEASE


@pytest.mark.parametrize("side_by_side", [False, True])
@in_virtual_time
async def test_the_more_matches_a_guest_has_the_more_time_it_gets(home: Path, side_by_side: bool) -> None:
    """It plays one after the other, or both a little at a time, and answers nothing meanwhile."""
    one_at_a_time = asyncio.Lock()

    async def run_match(order: Params) -> Any:
        if side_by_side:
            await asyncio.sleep(2 * (limit(home) - 20))
        else:
            async with one_at_a_time:
                await asyncio.sleep(limit(home) - 20)
        return {"winner": order["player_A_id"]}

    async with at_work(virtual(home)) as here:
        await here.seat_players(4)
        guest = await Guest(here, 1, {"run_match": run_match, "get_match_state": hung}).register(
            max_concurrent_matches=2
        )
        assert await here.start() == OK
        await completed(here)
        assert len(guest.received_params("run_match")) == len(here.manager.state.results) == 6


@in_virtual_time
async def test_a_guest_alone_that_lost_a_match_is_told_of_it_again(home: Path) -> None:
    heard: list[list[str]] = []

    async def notify_round(message: Params) -> Any:
        heard.append([match["match_id"] for match in message["matches"]])
        if len(heard) > 1:
            asyncio.get_running_loop().call_soon(
                lambda: tasks.append(asyncio.ensure_future(guest.report("R1M1", "P01")))
            )
        return OK

    tasks: list[Any] = []
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"notify_round": notify_round}).register()
        assert await here.start() == OK
        await completed(here)
        assert heard == [["R1M1"], ["R1M1"]]
        assert passed() <= limit(home) + LEASE


def own_token_hash(guest: Guest) -> str:
    return hashlib.sha256(guest.token.encode()).hexdigest()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, True),
        ({"security.allow_referee_tokens": False}, False),
        ({"network.allowed_hosts": ["localhost", "10.0.0.1"]}, False),
        ({"network.allowed_hosts": ["*"]}, False),
        ({"network.allowed_hosts": ["*"], "security.allow_referee_tokens": True}, True),
    ],
)
@in_virtual_time
async def test_players_are_told_how_a_guest_is_known_only_where_that_is_allowed(
    home: Path, settings: dict[str, Any], told: bool
) -> None:
    async with at_work(virtual(home, **settings)) as here:
        players = await here.seat_players(4)
        guest = await Guest(here, 1, {"start_match": always_reply(OK)}).register()
        ours = await here.seat_referee(auto_report=False)
        assert await here.start() == OK
        await asyncio.sleep(2)
        (copy,) = copies(players[0])
        by_referee = {match["referee_endpoint"]: match.get("referee_token_sha256") for match in copy.values()}
        assert by_referee == {guest.endpoint: own_token_hash(guest) if told else None, ours.endpoint: None}
        told_to = [agent.received_params("notify_round") for agent in (*players, ours)] + [
            guest.received_params("notify_round")
        ]
        assert guest.token not in str(told_to)


@in_virtual_time
async def test_a_match_token_is_in_the_copy_of_the_guest_whose_match_it_is_and_in_no_other(home: Path) -> None:
    async with at_work(virtual(home, **{"scheduling.matches_per_round": 50})) as here:
        players = await here.seat_players(6)
        acks = {"notify_round": always_reply(OK), "start_match": always_reply(OK)}
        guests = [await Guest(here, number, acks).register() for number in (1, 2)]
        ours = await here.seat_referee(auto_report=False)
        assert await here.start() == OK
        await asyncio.sleep(5)
        for guest in guests:
            (copy,) = copies(guest)
            with_token = {match_id for match_id, match in copy.items() if match.get("match_token")}
            assert with_token == {
                match_id for match_id, match in copy.items() if match["referee_endpoint"] == guest.endpoint
            }
            assert len(with_token) == 1
        for agent in (*players, ours):
            assert "match_token" not in str(agent.received_params("notify_round"))
        for player in players:
            assert "endpoint" not in str(copies(player)[0]["R1M1"].keys() - {"referee_endpoint"})


@in_virtual_time
async def test_a_guest_that_comes_back_in_mid_round_is_not_made_to_play_again(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        guest = await Guest(here, 1, {"notify_round": always_reply(OK)}).register()
        assert await here.start() == OK
        await asyncio.sleep(5)
        await here.register(
            guest.name,
            guest.endpoint,
            role="referee",
            sender=f"referee:{guest.referee_id}",
            token=guest.token,
            match_tokens=False,
        )
        await asyncio.sleep(5)
        assert len(guest.received_params("notify_round")) == 1


@in_virtual_time
async def test_who_says_that_it_knows_match_tokens_is_ours_whatever_version_it_declares(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        for number, ours in enumerate((False, True), 1):
            guest = await Guest(here, number, {}).register(protocol_version="2.1.0", match_tokens=ours)
            assert here.manager.state.roster[guest.referee_id].is_ours is ours


@in_virtual_time
async def test_a_guest_that_understands_nothing_is_suspended_and_holds_up_nobody(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(4)
        good: list[Guest] = []
        good.append(await Guest(here, 1, {"start_match": reporting(good)}).register(max_concurrent_matches=2))
        deaf = await Guest(here, 2, {}).register(max_concurrent_matches=2)
        assert await here.start() == OK
        end = await completed(here)
        assert passed() < 30
        assert deaf.referee_id not in end.tolerated
        suspended = [event for event in here.events if isinstance(event, AgentStateChanged)]
        assert {event.agent_id for event in suspended} == {deaf.referee_id}


@in_virtual_time
async def test_a_guest_without_a_match_is_told_of_the_round_too(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        await here.seat_players(2)
        takes: dict[str, Script] = {"start_match": always_reply(OK), "notify_round": always_reply(OK)}
        busy: list[Guest] = []
        busy.append(await Guest(here, 1, {**takes, "start_match": reporting(busy)}).register(match_tokens=True))
        idle = await Guest(here, 2, takes).register()
        assert await here.start() == OK
        await completed(here)
        assert [len(guest.received_params("notify_round")) for guest in (*busy, idle)] == [1, 1]


@in_virtual_time
async def test_notes_do_not_grow_with_every_registration(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        for number in range(2 * MAX_DEVIATIONS):
            assert (await here.register(name="X"))["status"] == "ACCEPTED"
            here.manager.state.note_deviations("P01", [f"note {number}"])
        member = here.manager.state.roster.get("P01")
        assert member is not None
        assert len(member.protocol_profile.deviations) == MAX_DEVIATIONS


@in_virtual_time
async def test_where_registrations_are_posted_nothing_else_is_answered(home: Path) -> None:
    async with at_work(virtual(home)) as here:
        frame = b'{"jsonrpc": "2.0", "id": 1, "method": "get_standings", "params": {}}'
        assert json.loads(await here.manager.dispatcher.answer_registration(frame) or b"")["error"]["code"] == -32601


@in_virtual_time
async def test_a_guest_that_asks_for_its_matches_gets_them_by_its_token_alone(home: Path) -> None:
    here = virtual(home)
    async with at_work(here):
        await here.seat_players(4)
        guest = await Guest(here, 1, {}).register(max_concurrent_matches=1)
        other = await Guest(here, 2, {}).register(max_concurrent_matches=1)

        async def poll(**params: Any) -> Any:
            return await here.ask("get_assigned_matches", params)

        for one in (guest, other):
            assert (await poll(auth_token=one.token))["matches"] == []
        assert await here.start() == OK
        await asyncio.sleep(10)
        answer = await poll(auth_token=guest.token, referee_id=other.referee_id)
        (match,) = answer["matches"]
        assert answer["referee_id"] == guest.referee_id
        assert (match["message_type"], match["player1_id"]) == ("START_MATCH", match["player_A_id"])
        assert here.manager.state.assigned_referees[match["match_id"]] == guest.referee_id
        assert (await poll())["error_code"] == "E011"
        assert (await poll(auth_token=""))["error_code"] == "E011"
        assert (await poll(auth_token="tok-ref01-guess"))["error_code"] == "E012"
        player = await here.register("Agent 1", "http://localhost:8101/mcp", sender="player:P01")
        assert (await poll(auth_token=player["auth_token"]))["error_code"] == "E013"
        here.manager.state.set_paused(is_paused=True)
        assert (await poll(auth_token=guest.token))["matches"] == [], "no match begins in a pause"
        here.manager.state.set_paused(is_paused=False)
        assert await guest.report(match["match_id"], match["player_A_id"]) == OK
        assert match["match_id"] not in [
            waiting["match_id"] for waiting in (await poll(auth_token=guest.token))["matches"]
        ]


async def test_a_strict_manager_has_no_matches_to_be_asked_for(home: Path) -> None:
    here = virtual(home, **{"tolerance.strict": True})
    async with at_work(here):
        frame = {"jsonrpc": "2.0", "method": "get_assigned_matches", "params": {}, "id": 1}
        _, body = await here.network.exchange("http://localhost:8000/mcp", json.dumps(frame).encode(), 10)
    assert json.loads(body)["error"]["code"] == -32601


@pytest.mark.parametrize("is_there", [True, False])
@in_virtual_time
async def test_a_guest_that_asks_plays_a_whole_league_also_without_a_server(home: Path, is_there: bool) -> None:
    here = virtual(home)
    async with at_work(here):
        await here.seat_players(4)
        guest = await Guest(here, 1, {}).register(max_concurrent_matches=2)
        if not is_there:
            here.network.detach(guest.endpoint)
        played: set[str] = set()

        async def poll() -> None:
            while True:
                for match in (await here.ask("get_assigned_matches", {"auth_token": guest.token}))["matches"]:
                    played.add(match["match_id"])
                    assert await guest.report(match["match_id"], match["player_A_id"]) == OK
                await asyncio.sleep(0.5)

        polling = asyncio.create_task(poll())
        await asyncio.sleep(1)
        assert await here.start() == OK
        over = await completed(here)
        polling.cancel()
    assert len(played) == over.matches == 6
    assert over.tolerated[guest.referee_id] == ("matches fetched by 'get_assigned_matches'",)
