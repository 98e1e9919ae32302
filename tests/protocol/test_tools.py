"""The methods as tools: words that a model can act on, and schemas that are true of what really comes and goes."""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_league.errors import ErrorCode
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint, run_agents
from agent_league.league.app import LeagueManager
from agent_league.mcp.server.tools import ToolDefinition, define_tool
from agent_league.protocol.envelope import StatusReply
from agent_league.protocol.methods import METHODS, Caller, Method
from agent_league.protocol.v2.errors import ERROR_MEANINGS
from agent_league.testing.peers import always_reply, utc_timestamp
from tests.conftest import BOUND, PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.conftest import office as office  # noqa: PLC0414 - a fixture
from tests.league.office import Office, within
from tests.league.scripted_referee import won_by_lowest
from tests.protocol.examples import REQUESTS, Example, name_of
from tests.protocol.traffic import Exchange
from tests.referee.hall import hall
from tests.referee.test_tools import held_until

ENVELOPE = {"protocol", "message_type", "sender", "timestamp", "conversation_id"}
FORMS = {name: define_tool(method) for name, method in METHODS.items()}
STEPS = ("register_to_league", "collect_choices", "draw_number", "finalize_match")
PUSHED: Mapping[str, Mapping[str, Any]] = {
    "game_join_ack": {"accept": True},
    "game_move_response": {"move_data": 1},
    "choose_parity_response": {"parity_choice": "even"},
}
PLAIN_METHODS = {name for name, method in METHODS.items() if method.request is None and method.reply is None}
by_name = pytest.mark.parametrize("name", sorted(METHODS))


def valid(schema: Mapping[str, Any], value: Any) -> None:
    Draft202012Validator(schema).validate(value)


def is_answer(method: str, answer: Any) -> None:
    """Whether an answer is what the tool promises; refusals promise nothing."""
    assert answer.get("message_type") != "LEAGUE_ERROR", answer
    valid(FORMS[method].output_schema, answer)


def schemas(form: ToolDefinition) -> Iterator[Mapping[str, Any]]:
    yield form.input_schema
    yield form.output_schema


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (part["$ref"],) if isinstance(part.get("$ref"), str) else ()
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_a_method_without_a_message_has_an_answer_of_its_own() -> None:
    own = {name for name, method in METHODS.items() if method.answer is not StatusReply and method.reply is None}
    assert own == PLAIN_METHODS | {"manage_league", "request_match"}


@by_name
def test_a_tool_says_what_it_does_who_may_and_what_errors_mean(name: str) -> None:
    form, method = FORMS[name], METHODS[name]
    assert (form.name, form.title != name) == (name, True)
    assert f"Who may call it: {method.caller}." in form.description
    assert 60 < len(form.description) < 2000
    for code in METHODS[name].errors:
        assert f"{code.value} {ERROR_MEANINGS[code]}" in form.description
    if method.caller not in (Caller.ANYBODY, Caller.APPLICANT):
        assert ErrorCode.AUTH_TOKEN_INVALID.value in form.description


def test_what_only_reads_is_said_to() -> None:
    assert {name for name, form in FORMS.items() if form.reads_only} == {
        *PLAIN_METHODS,
        "league_query",
    }
    assert all(form.idempotent for form in FORMS.values() if form.reads_only)


@by_name
def test_the_schemas_are_whole_and_of_objects(name: str) -> None:
    for schema in schemas(FORMS[name]):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert {reference.rpartition("/")[0] for reference in references(schema)} <= {"#/$defs"}
        assert {reference.rpartition("/")[2] for reference in references(schema)} <= set(schema.get("$defs", {}))


@by_name
def test_every_argument_is_described(name: str) -> None:
    undescribed = [field for field, part in FORMS[name].input_schema["properties"].items() if "description" not in part]
    assert undescribed == []


@by_name
def test_a_tool_needs_what_its_message_needs_but_no_envelope(name: str) -> None:
    schema, request = FORMS[name].input_schema, METHODS[name].request
    required = set(schema.get("required", ()))
    if request is None:
        assert not ENVELOPE & required
        return
    fields = request.model_fields
    assert required == {field for field in fields if fields[field].is_required()} - ENVELOPE
    assert {*ENVELOPE, "auth_token"} <= set(schema["properties"])


@pytest.mark.parametrize("example", REQUESTS, ids=name_of)
def test_an_example_of_the_seeds_can_be_said_with_and_without_its_envelope(example: Example) -> None:
    schema = FORMS[example.frame["method"]].input_schema
    bare = {name: value for name, value in example.message.items() if name not in ENVELOPE}
    valid(schema, example.message)
    valid(schema, bare)
    for name in schema.get("required", ()):
        assert not Draft202012Validator(schema).is_valid({**bare, name: None})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("choose_parity_response", {"parity_choice": "EVEN"}),
        ("league_query", {"query_type": "GET_RICH"}),
        ("get_match", {}),
        ("get_round", {"round_id": "1"}),
        ("start_league", {"protocol": "league.v1"}),
        ("manage_league", {}),
        ("manage_league", {"action": "EXPEL_EVERYBODY"}),
        ("register_player", {"player_meta": {"display_name": ""}}),
    ],
)
def test_what_would_be_refused_is_not_valid(name: str, arguments: dict[str, Any]) -> None:
    assert not Draft202012Validator(FORMS[name].input_schema).is_valid(arguments)


def test_everything_that_was_asked_and_answered_in_whole_leagues_is_valid(traffic: list[Exchange]) -> None:
    answered = set()
    for exchange in traffic:
        method = exchange.frame["method"]
        if method not in FORMS:
            continue  # another spelling, for a guest that may know no other
        if exchange.asked_by_us:
            valid(FORMS[method].input_schema, exchange.frame["params"])
        result = json.loads(exchange.reply).get("result") if exchange.answered_by_us and exchange.reply else None
        if isinstance(result, dict) and result.get("message_type") != "LEAGUE_ERROR":
            is_answer(method, result)
            answered.add(method)
    assert answered >= {
        *("register_player", "register_referee", "report_match_result", "league_query", "start_match"),
        *("handle_game_invitation", "choose_parity", "make_move", "notify_match_result", "notify_round"),
        *("update_standings", "notify_round_completed", "notify_league_completed"),
    }


async def ask(network: MemoryNetwork, endpoint: str, method: str, **params: Any) -> Any:
    frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    _, body = await network.exchange(endpoint, json.dumps(frame).encode(), 10)
    return json.loads(body)["result"]


async def test_plain_answers_of_a_whole_league_are_valid_before_and_after_it(plan: PlanMaker) -> None:
    league, network = plan(players=4, referees=2, seed="7"), MemoryNetwork()
    places = [(seat, agent_endpoint(seat)) for seat in league.agent_plans]
    manager = places[0][1]
    async with asyncio.timeout(BOUND), run_agents(network, league.agent_plans) as agents:
        for _, place in places:
            is_answer("get_rules", await ask(network, place, "get_rules"))
            is_answer("get_protocol", await ask(network, place, "get_protocol"))
        for _, place in places[3:]:
            is_answer("get_player_state", await ask(network, place, "get_player_state"))
        for method in ("get_standings", "create_schedule"):
            is_answer(method, await ask(network, manager, method))
        assert isinstance(agents[0], LeagueManager)
        await agents[0].completed.wait()
        schedule = await ask(network, manager, "create_schedule")
        is_answer("create_schedule", schedule)
        is_answer("get_standings", await ask(network, manager, "get_standings"))
        for round_ in schedule["rounds"]:
            is_answer("get_round", await ask(network, manager, "get_round", round_id=round_["round_id"]))
            for match in round_["matches"]:
                match_id, referee = match["match_id"], int(match["referee_id"][-1])
                is_answer("get_match", await ask(network, manager, "get_match", match_id=match_id))
                state = await ask(network, places[referee][1], "get_match_state", match_id=match_id)
                is_answer("get_match_state", state)
        states = await ask(network, places[1][1], "get_match_state", match_ids=["R1M1", "R9M9"])
        is_answer("get_match_state", states)
        for number, (_, place) in enumerate(places[3:], start=1):
            is_answer("get_player", await ask(network, manager, "get_player", player_id=f"P{number:02}"))
            remembered = await ask(network, place, "get_player_state")
            assert len(remembered["matches"]) == 3
            is_answer("get_player_state", remembered)
        is_answer("get_protocol", await ask(network, manager, "get_protocol", schemas=True))


async def test_a_refusal_is_valid_too_and_an_answer_that_lacks_something_is_not(office: OfficeMaker) -> None:
    here = office()
    refused = await here.ask("get_match", {"match_id": "R9M9"})
    assert refused["error_code"] == "E007"
    schedule = await here.ask("create_schedule")
    for method, form in FORMS.items():
        validator = Draft202012Validator(form.output_schema)
        assert validator.is_valid(refused), method
        assert not validator.is_valid({**refused, "message_type": "SOMETHING"}), method
        assert not validator.is_valid({}), method
    for name in schedule:
        less = {key: value for key, value in schedule.items() if key != name}
        assert not Draft202012Validator(FORMS["create_schedule"].output_schema).is_valid(less)


async def half_way(office: Office) -> None:
    await office.seat_players(4)
    referee = await office.seat_referee(auto_report=False)
    is_answer("start_league", await office.start())
    orders = await within(referee.wait_for_calls("start_match", 2))
    is_answer("report_match_result", await referee.report("R1M1", won_by_lowest(orders[0])))


async def test_plain_answers_of_a_manager_are_valid_while_a_league_is_played(office: OfficeMaker) -> None:
    here = office()
    await half_way(here)
    for method in ("get_standings", "create_schedule"):
        is_answer(method, await here.ask(method))
    for match_id in ("R1M1", "R1M2", "R3M2"):
        is_answer("get_match", await here.ask("get_match", {"match_id": match_id}))
    for round_id in (1, 2):
        is_answer("get_round", await here.ask("get_round", {"round_id": round_id}))
    is_answer("get_player", await here.ask("get_player", {"player_id": "P01"}))


async def test_plain_answers_of_a_referee_are_valid_while_a_match_runs(home: Path) -> None:
    go = asyncio.Event()
    async with asyncio.timeout(BOUND), hall(home) as match:
        match.pair(a={"choose_parity": held_until(go, {"parity_choice": "even"})})
        digest = hashlib.sha256(str(match.players["P01"].token).encode()).hexdigest()
        await match.start(P01={"token_sha256": digest})
        await match.players["P01"].wait_for_calls("choose_parity")
        running = await match.call("get_match_state", {"match_id": "R1M1"})
        assert (running["state"], running["result"]) == ("COLLECTING_CHOICES", None)
        is_answer("get_match_state", running)
        for step in STEPS:
            is_answer(step, await match.call(step, {"sender": "league_manager"}))
            is_answer(step, await match.call(step, {"sender": "league_manager", "match_id": "R1M1"}))
        envelope = {
            "protocol": "league.v2",
            "sender": "player:P01",
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-1",
        }
        for method, fields in PUSHED.items():
            request = METHODS[method].request
            assert request is not None
            own = {"message_type": request.TYPE, "match_id": "R1M1", "auth_token": match.players["P01"].token}
            is_answer(method, await match.call(method, {**envelope, **own, **fields}))
        go.set()
        await match.manager.wait_for_calls("report_match_result")


async def test_the_state_of_a_technical_loss_is_valid(home: Path) -> None:
    declining = {"message_type": "GAME_JOIN_ACK", "accept": False}
    async with asyncio.timeout(BOUND), hall(home) as match:
        match.pair(a={"handle_game_invitation": always_reply(declining)})
        await match.play()
        state = await match.call("get_match_state", {"match_id": "R1M1"})
        assert state["result"]["status"] == "TECHNICAL_LOSS"
        is_answer("get_match_state", state)


@pytest.mark.parametrize(
    "method", [method for method in METHODS.values() if method.reply is None], ids=lambda m: m.name
)
def test_a_plain_answer_holds_nothing_that_its_schema_doesn_t_name(method: Method) -> None:
    answer, _ = define_tool(method).output_schema["anyOf"]
    assert answer["additionalProperties"] is False


def test_an_agent_that_is_never_asked_for_tools_never_makes_them() -> None:
    code = (
        "import sys, agent_league.launch.agent_plan; print([name for name in sys.modules if 'protocol.tool' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND, check=True)
    assert done.stdout.strip() == "[]"
