"""Attacks by weight: too many, too long, too deep, too often. What is kept and what it costs stays bounded."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.jsonrpc import MAX_BATCH, MAX_BATCH_ANSWER
from agent_league.agent.runtime import Agent
from agent_league.http.server import HttpServer
from agent_league.launch.agent_app import make_agent_app
from agent_league.launch.agent_plan import AgentPlan, ManagerPlan
from agent_league.league.resume import open_store
from agent_league.league.roster import MAX_REFEREES
from agent_league.league.state_agents import MAX_FAILURE_COUNT
from agent_league.model.agents import AgentState
from agent_league.model.events import AgentStateChanged, Event, MatchFinished
from tests.http.wire import Connection, request
from tests.league.office import LEAGUE_ID, Office, open_office, within
from tests.league.scripted_referee import first_wins
from tests.security.stage import files_in, staged

ADDRESS = "http://localhost:8199/mcp"
FLOOD = 2000


@asynccontextmanager
async def manager(home: Path, overrides: dict[str, Any] | None = None) -> AsyncIterator[Office]:
    office = open_office(home, overrides)
    run = asyncio.create_task(office.manager.run())
    await asyncio.sleep(0)  # it has begun
    try:
        yield office
        assert not run.done(), "the manager has ended by itself"
    finally:
        for referee in office.referees:
            await referee.close()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await within(run)


async def goes_on(office: Office, players: int) -> None:
    """The league is played to its end by those who are in it."""
    assert await office.start() == {"status": "ok"}
    await office.completed()
    assert len(office.manager.state.results) == players * (players - 1) // 2


def registration(number: int) -> dict[str, Any]:
    meta = {
        "display_name": f"Mallory {number}",
        "version": "1",
        "game_types": ["even_odd"],
        "contact_endpoint": ADDRESS,
    }
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:mallory-{number}",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-flood",
        "player_meta": meta,
    }


def frames(method: str, params: Callable[[int], Mapping[str, Any]], count: int) -> bytes:
    batch = [{"jsonrpc": "2.0", "method": method, "params": params(number), "id": number} for number in range(count)]
    return json.dumps(batch).encode()


async def test_a_flood_of_players_fills_the_places_that_there_are_and_those_who_belong_come_back(home: Path) -> None:
    async with manager(home, {"participants.max_players": 10}) as office:
        honest = await office.seat_players(4)
        answers = [await office.register(f"Mallory {number}", ADDRESS) for number in range(FLOOD)]
        reasons = [answer["reason"] for answer in answers]
        assert reasons == [None] * 6 + ["League full"] * (FLOOD - 6)
        assert len(list(office.manager.state.roster)) == 10
        back = await office.register("Agent 1", "http://localhost:8101/mcp", token=honest[0].token)
        assert (back["status"], back["player_id"]) == ("ACCEPTED", "P01")
        await office.seat_referee()
        assert await office.start() == {"status": "ok"}


async def test_a_flood_of_referees_is_bounded_too(home: Path) -> None:
    async with manager(home) as office:
        answers = [
            await office.register(f"Mallory {number}", ADDRESS, role="referee") for number in range(MAX_REFEREES + 50)
        ]
        assert [answer["reason"] for answer in answers] == [None] * MAX_REFEREES + ["League full"] * 50
        assert len(await office.seat_players(4)) == 4


async def test_refused_registrations_take_nobodys_place(home: Path) -> None:
    async with manager(home, {"participants.max_players": 4}) as office:
        for number in range(FLOOD // 4):
            await office.register(f"Mallory {number}", "http://evil.example/mcp")
            await office.register(f"Mallory {number}", ADDRESS, game_types=["chess"])
            await office.register(f"Mallory\x1b{number}", ADDRESS)
        await office.seat_players(4)
        await office.seat_referee()
        await goes_on(office, 4)


async def test_a_batch_of_registrations_is_as_many_registrations(home: Path) -> None:
    async with manager(home, {"participants.max_players": 10}) as office:
        body = await office.manager.dispatcher.answer_request(frames("register_player", registration, MAX_BATCH))
        answers = [answer["result"] for answer in json.loads(body or b"")]
        assert [answer["status"] for answer in answers] == ["ACCEPTED"] * 10 + ["REJECTED"] * (MAX_BATCH - 10)
        assert len({answer["player_id"] for answer in answers[:10]}) == 10


async def test_the_answers_to_a_batch_have_a_bound_however_short_the_questions(home: Path) -> None:
    """A hundred schedules of a hundred players would be 90 MB for 6 kB, for anybody who asks."""
    async with manager(home) as office:
        for number in range(100):
            await office.register(f"Agent {number}", ADDRESS)
        body = await office.manager.dispatcher.answer_request(frames("create_schedule", lambda _: {}, MAX_BATCH))
        assert body is not None
        assert len(body) < MAX_BATCH_ANSWER + MAX_BATCH * 300
        answers = json.loads(body)
        answered = [answer for answer in answers if "result" in answer]
        assert [answer["id"] for answer in answers] == list(range(MAX_BATCH))
        assert 0 < len(answered) < MAX_BATCH
        assert {answer["error"]["code"] for answer in answers if answer not in answered} == {-32600}
        small = await office.manager.dispatcher.answer_request(frames("get_standings", lambda _: {}, MAX_BATCH))
        assert all("result" in answer for answer in json.loads(small or b""))


@pytest.mark.parametrize(
    "meta",
    [
        {"display_name": "M" * 101},
        {"display_name": "M" * 500_000},
        {"version": "1" * 500_000},
        {"game_types": ["even_odd", *["x"] * 100_000]},
        {"game_types": ["even_odd", "x" * 500_000]},
        {"contact_endpoint": "http://localhost:8199/" + "x" * 500_000},
    ],
    ids=lambda meta: f"{next(iter(meta))}",
)
@pytest.mark.parametrize("role", ["player", "referee"])
async def test_what_an_applicant_says_of_itself_is_no_longer_than_anybody_needs(
    home: Path, role: str, meta: dict[str, Any]
) -> None:
    async with manager(home) as office:
        answer = await office.register("Mallory", ADDRESS, role=role, **meta)
        assert (answer.get("error_code") or answer["reason"]) in ("E002", "Invalid MCP endpoint")
        assert len(json.dumps(answer)) < 5000
        assert list(office.manager.state.roster) == []
        log = (home / "logs" / "league" / LEAGUE_ID / "league.log.jsonl").read_text()
        assert max(map(len, log.splitlines())) < 5000


async def test_where_requests_are_limited_a_flood_is_told_e014_and_others_get_in(home: Path) -> None:
    """Over HTTP: the flood comes from one address, the honest player from another."""
    limits = {"security.rate_limit_per_sec": 0.001, "security.rate_limit_burst": 5}
    async with manager(home, limits) as office, AsyncExitStack() as stack:
        seat = ManagerPlan(office.manager._settings, 0)
        server = HttpServer(make_agent_app(seat, office.manager), "127.0.0.1", 0, "the manager")
        await server.start()
        stack.push_async_callback(server.stop)

        async def ask(source: str, number: int) -> Any:
            frame = {"jsonrpc": "2.0", "method": "register_player", "params": registration(number), "id": 1}
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, local_addr=(source, 0))
            try:
                connection = Connection(reader, writer)
                await connection.send(request(json.dumps(frame).encode(), "Content-Type: application/json"))
                return (await connection.response()).json()["result"]
            finally:
                writer.close()
                await writer.wait_closed()

        answers = [await ask("127.0.0.1", number) for number in range(50)]
        assert [answer.get("error_code") for answer in answers] == [None] * 5 + ["E014"] * 45
        assert (await ask("127.0.0.2", 50))["status"] == "ACCEPTED"
        assert len(list(office.manager.state.roster)) == 6


HEAVY: dict[str, dict[str, Any]] = {
    "a mountain of parameters": {"query_params": {str(number): "x" * 100 for number in range(8000)}},
    "a player of a long name": {"query_type": "GET_PLAYER_STATS", "query_params": {"player_id": "P" * 900_000}},
    "a player who is a list": {"query_type": "GET_PLAYER_STATS", "query_params": {"player_id": [["P01"] * 1000]}},
    "no such question": {"query_type": "x" * 900_000},
    "a deep one": {"query_params": {"player_id": json.loads("[" * 55 + "]" * 55)}},
}


@pytest.mark.parametrize("kind", HEAVY)
async def test_a_heavy_question_gets_a_light_answer(home: Path, kind: str) -> None:
    async with manager(home) as office:
        (asker, *_) = await office.seat_players(4)
        answer = await office.say(
            "league_query",
            "LEAGUE_QUERY",
            f"player:{asker.player_id}",
            auth_token=asker.token,
            **{"query_type": "GET_STANDINGS", **HEAVY[kind]},
        )
        assert len(json.dumps(answer)) < 5000
        await office.seat_referee()
        await goes_on(office, 4)


async def test_a_thousand_questions_hold_up_no_league(home: Path) -> None:
    async with manager(home) as office:
        (asker, *_) = await office.seat_players(6)
        await office.seat_referee()

        async def ask_on() -> None:
            for _ in range(1000):
                assert (await office.query(asker, "GET_SCHEDULE"))["success"]

        async with asyncio.TaskGroup() as group:
            asking = group.create_task(within(ask_on()))
            await goes_on(office, 6)
            await asking


async def one_match(office: Office, claim: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Any:
    """Two players, a referee that reports what it likes for their match, and what it was answered."""
    await office.seat_players(2)
    referee = await office.seat_referee(auto_report=False)
    assert await office.start() == {"status": "ok"}
    (order,) = await within(referee.wait_for_calls("start_match"))
    return await within(referee.report(order["match_id"], {**first_wins(order), **claim(order)}))


@pytest.mark.parametrize("failures", [2**31, 2**63 - 1, 2**64 - 1, -1, -(2**63)])
async def test_a_referee_may_claim_any_number_of_failures(home: Path, failures: int) -> None:
    """A number that no database takes would end the manager, and with it the league."""
    async with manager(home) as office:
        claimed = {"failures_in_a_row": {"P01": failures, "P02": failures, "P99": failures}}
        assert await one_match(office, lambda _: claimed) == {"status": "ok"}
        await office.completed()
        saved = open_store(home, None)
        found = saved.read_season(LEAGUE_ID)
        saved.close()
        assert found is not None
        assert {agent.failures for agent in found.agents if agent.role == "player"} == {
            min(max(failures, 0), MAX_FAILURE_COUNT)
        }


async def test_a_number_that_is_no_integer_any_more_is_refused(home: Path) -> None:
    async with manager(home) as office:
        answer = await one_match(office, lambda _: {"failures_in_a_row": {"P01": 10**30}})
        assert answer["error_code"] == "E002"
        assert (await office.referees[0].report("R1M1", first_wins(office.referees[0].orders[0]))) == {"status": "ok"}
        await office.completed()


async def test_a_megabyte_of_details_is_neither_kept_nor_told(home: Path) -> None:
    details = {"song": "la" * 400_000}
    async with manager(home) as office:
        assert await one_match(office, lambda _: {"details": details}) == {"status": "ok"}
        await office.completed()
        (result,) = office.manager.state.results.values()
        assert result.details == {"cut_from_bytes": len('{"song":""}') + 800_000}
        (finished,) = [event for event in office.events if isinstance(event, MatchFinished)]
        assert len(str(finished)) < 5000
    assert [path for path in files_in(home) if b"lala" in path.read_bytes()] == []


async def test_details_of_an_honest_length_are_kept(home: Path) -> None:
    details = {"moves": list(range(5000))}
    async with manager(home) as office:
        assert await one_match(office, lambda _: {"details": details}) == {"status": "ok"}
        (result,) = office.manager.state.results.values()
        assert result.details == details


@pytest.mark.parametrize(
    "claim",
    [
        {"terminations": {"P01": "\x1b[31mexploded", "P99": "void", "x" * 100_000: "normal"}},
        {"terminations": {"P01": "normal", "P02": "normal"}, "status": "TECHNICAL_LOSS"},
        {"score": {"P01": 10**15, "P02": -(10**15), "P99": 3}},
        {"reason": "x" * 500_000, "unheard_of": {"x": ["y"] * 1000}},
    ],
    ids=["terminations", "contradiction", "score", "more"],
)
async def test_a_report_with_strange_claims_changes_nothing_but_its_match(home: Path, claim: dict[str, Any]) -> None:
    async with manager(home) as office:
        assert await one_match(office, lambda _: claim) == {"status": "ok"}
        await office.completed()
        rows = office.manager.state.standings()
        assert {(row.player_id, row.played, row.points) for row in rows} == {("P01", 1, 3), ("P02", 1, 0)}
        (result,) = office.manager.state.results.values()
        assert set(result.terminations) <= {"P01", "P02"}


def is_back(player_id: str) -> Callable[[Event], bool]:
    back = AgentStateChanged(player_id, AgentState.ACTIVE, "answers again")
    return lambda event: event == back


async def test_players_whom_a_referee_had_suspended_without_cause_come_back(home: Path) -> None:
    """That it can cost them matches until then is not to be prevented: the league has nobody else to ask."""
    probing = {"circuit_breaker.probe_after_sec": 0.05}

    def nobody_answered(order: Mapping[str, Any]) -> dict[str, Any]:
        both = (order["player_A_id"], order["player_B_id"])
        return {
            "winner": None,
            "status": "TECHNICAL_LOSS",
            "score": {},
            "terminations": dict.fromkeys(both, "move_timeout"),
            "failures_in_a_row": dict.fromkeys(both, 99),
        }

    async with manager(home, probing) as office:
        players = await office.seat_players(4)
        referee = await office.seat_referee(auto_report=False)
        assert await office.start() == {"status": "ok"}
        for order in await within(referee.wait_for_calls("start_match", 2)):
            assert await referee.report(order["match_id"], nobody_answered(order)) == {"status": "ok"}
        for player in players:
            await office.event(is_back(player.player_id))
        for number in range(3, 7):
            order = (await within(referee.wait_for_calls("start_match", number)))[number - 1]
            await referee.report(order["match_id"], first_wins(order))
        await office.completed()


async def test_good_tokens_are_known_by_the_agents_to_whom_they_are_shown_and_by_nobody_else(tmp_path: Path) -> None:
    """Calls that show one don't wait for the hundreds of an opponent."""
    async with staged(tmp_path / "SHARED") as stage:
        plan, manager = stage.plan, stage.manager
        victim = stage.players[stage.victim]
        referee_id = stage.mallory.invitation["sender"].partition(":")[2]
        seats: dict[str, tuple[AgentPlan, Agent]] = {
            "manager": (plan.manager, manager),
            referee_id: (plan.referees[0], stage.referees[referee_id]),
            stage.victim: (plan.players[0], victim),
        }
        apps = {name: make_agent_app(seat, agent) for name, (seat, agent) in seats.items()}
        asked = stage.network.heard("choose_parity", stage.endpoints[stage.victim])[0]
        ordered = stage.network.heard("start_match", stage.endpoints[referee_id])[0]
        shown: dict[str, set[str | None]] = {
            "manager": {stage.admin_token, stage.token_of(stage.victim), stage.token_of(referee_id)},
            referee_id: {ordered.bearer, stage.token_of(stage.victim)},
            stage.victim: {asked.params["auth_token"]},
        }
        others = {"nonsense", stage.mallory.invitation["auth_token"]}
        for name, app in apps.items():
            is_good = app.call_limits._has_good_token
            assert is_good is not None
            assert [token for token in shown[name] if not is_good(token or "")] == []
            assert [token for token in others if is_good(token)] == []
