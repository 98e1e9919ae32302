"""Whatever is posted to an agent gets the error of the protocol, and the agent goes on as if nothing had been.

The agents are real: a manager, a referee and players in one process, called through their dispatchers and, less often,
over real HTTP. The league waits for its start, so that nothing changes unless a message changes it.
"""

import asyncio
import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent_league.agent.app import AgentApp
from agent_league.agent.runtime import Agent
from agent_league.errors import ErrorCode
from agent_league.http.memory import MemoryNetwork
from agent_league.http.server import HttpServer
from agent_league.launch.in_process import agent_endpoint, run_agents
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.results import Outcome
from agent_league.players.app import Player
from agent_league.protocol.methods import METHODS, Caller
from agent_league.protocol.schemas import build_message_schemas
from agent_league.referee.app import Referee
from agent_league.testing.peers import RawReply, ScriptedPlayer, utc_timestamp
from tests.conftest import BOUND, NO_PAUSES
from tests.http.wire import fetch, request
from tests.protocol.examples import requests_by_method
from tests.protocol.traffic import RecordingNetwork, make_league

LIMIT = BOUND
ROLES = ("manager", "referee", "player")
FRAME_ERRORS = {-32700, -32600, -32601, -32602}
CORRECT_CALL: dict[str, tuple[str, str, Any]] = {
    "manager": ("league_query", "success", True),
    "referee": ("notify_round", "status", "ok"),
    "player": ("choose_parity", "message_type", "CHOOSE_PARITY_RESPONSE"),
}
"""For each role a method, and what the answer to a correct call holds."""
LEAGUE_ERROR = Draft202012Validator(build_message_schemas()["LEAGUE_ERROR"])
Json = Any
Frame = dict[str, Any]


def bounded(max_examples: int) -> settings:
    """The same examples on every machine, and not too many."""
    return settings(max_examples=max_examples, deadline=None, derandomize=True, database=None)


class Arena:
    """A manager, a referee and two players, registered and waiting, on a loop that runs when it is asked to."""

    def __init__(self, folder: Path, *, verify_callers: bool) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        overrides = {**NO_PAUSES, "security.verify_callers": verify_callers}
        self._plan = make_league(folder, overrides, players=2, referees=1, referee_port=8401, player_port=8501)
        self.agents: dict[str, Agent] = {}
        self.ports: dict[str, int] = {}
        self.run(self._open())
        self.correct = self._correct_requests()

    def run(self, coroutine: Any) -> Any:
        async def within() -> Any:
            async with asyncio.timeout(LIMIT):
                return await coroutine

        return self._runner.run(within())

    def close(self) -> None:
        self.run(self._stack.aclose())
        self._runner.close()

    async def _open(self) -> None:
        manager = self._plan.manager
        assert isinstance(manager.settings, ManagerSettings)
        waiting = replace(manager, settings=replace(manager.settings, expected_players=0, expected_referees=0))
        seats = [waiting, *self._plan.referees, *self._plan.players]
        agents = await self._stack.enter_async_context(run_agents(MemoryNetwork(), seats))
        self.agents = dict(zip((*ROLES, "other player"), agents, strict=True))
        for agent in agents[1:]:
            assert isinstance(agent, Referee | Player)
            await agent._session.registered.wait()
        for role in ROLES:
            agent = self.agents[role]
            server = HttpServer(AgentApp(agent.dispatcher.answer_request, agent.health), "127.0.0.1", 0, role)
            await server.start()
            self._stack.push_async_callback(server.stop)
            self.ports[role] = server.port

    def post(self, role: str, body: bytes, bearer: str | None = None) -> bytes | None:
        answer: bytes | None = self.run(self.agents[role].dispatcher.answer_request(body, bearer))
        return answer

    def call(self, role: str, frame: Json) -> Json:
        """Posts a frame as JSON; the parsed answer, checked to be one."""
        return well_formed(self.post(role, json.dumps(frame).encode()))

    def token(self, name: str) -> str:
        agent = self.agents[name]
        assert isinstance(agent, Referee | Player)
        token = agent._session.token
        assert token
        return token

    def health(self, role: str) -> Json:
        """What the agent says of itself, asked in its loop."""

        async def ask() -> Json:
            return self.agents[role].health()

        return self.run(ask())

    def state(self, role: str) -> Json:
        """All that a message to this agent could change."""
        agent = self.agents[role]
        health = {name: value for name, value in self.health(role).items() if name != "running_matches"}
        if isinstance(agent, LeagueManager):
            season = agent.state
            members = [
                (asdict(member.agent), member.token_sha256, member.state, member.breaker.failures)
                for member in season.roster
            ]
            return copy.deepcopy((health, season.standings(), season.results, season.assigned_referees, members))
        if isinstance(agent, Referee):
            if agent._league_over.is_set():
                health["state"] = "over"  # ACTIVE while a match is played, which ends by itself
            steps = {"jsonrpc": "2.0", "method": "draw_number", "params": {"sender": "league_manager"}, "id": 1}
            return health, sorted(self.call(role, steps)["result"]["matches"])
        told = self.call(role, {"jsonrpc": "2.0", "method": "get_player_state", "id": 1})["result"]
        return health, {name: value for name, value in told.items() if name != "refusals"}

    def registrations(self) -> Json:
        """The agents that registered before anything bad was said."""
        manager = self.agents["manager"]
        assert isinstance(manager, LeagueManager)
        members = [manager.state.roster.get(agent_id) for agent_id in ("REF01", "P01", "P02")]
        return [(asdict(member.agent), member.token_sha256, member.state) for member in members if member]

    def assert_alive(self, role: str) -> None:
        """Health and a correct call are answered as ever."""
        assert self.health(role)["status"] == "ok"
        method, field, value = CORRECT_CALL[role]
        answer = self.call(role, self.correct[role][method])
        assert answer["result"].get(field) == value, answer

    def _correct_requests(self) -> dict[str, dict[str, Frame]]:
        """A correct request for every method of every role."""
        examples = {**requests_by_method(), **_our_own_requests(self._plan.league.league_id)}
        mine: dict[str, dict[str, Json]] = {
            "league_query": {"sender": "player:P01", "auth_token": self.token("player")},
            "report_match_result": {"sender": "referee:REF01", "auth_token": self.token("referee")},
            "request_match": {"auth_token": self.token("player")},
        }
        correct: dict[str, dict[str, Frame]] = {}
        for role in ROLES:
            correct[role] = {}
            for method in self.agents[role].dispatcher.methods:
                frame = copy.deepcopy(examples.get(method)) or {"jsonrpc": "2.0", "method": method, "id": 1}
                frame["params"] = {**frame.get("params", {}), **mine.get(method, {})}
                correct[role][method] = frame
        return correct


def _our_own_requests(league_id: str) -> dict[str, Frame]:
    """The requests that the seeds leave open."""
    player = {"display_name": "A", "endpoint": "http://localhost:8501/mcp", "protocol": "league.v2"}
    move = {"move_type": "pick", "valid_options": [1, 2], "context": None, "step": 0, "your_role": "PLAYER_A"}
    messages: dict[str, Frame] = {
        "start_league": _message("START_LEAGUE", "player:P01", auth_token="tok-admin-unknown"),
        "manage_league": _message("MANAGE_LEAGUE", "player:P01", auth_token="tok-admin-unknown", action="PAUSE"),
        "request_match": _message("REQUEST_MATCH", "player:P01", opponent_id="P02"),
        "start_match": _message(
            "START_MATCH",
            "league_manager",
            league_id=league_id,
            round_id=1,
            match_id="R1M1",
            game_type="even_odd",
            player_A={**player, "player_id": "P01"},
            player_B={**player, "player_id": "P02"},
        ),
        "make_move": _message(
            "GAME_MOVE_CALL", "referee:REF01", match_id="R1M1", game_type="even_odd", move_request=move
        ),
        "get_match_state": {"match_id": "R1M1"},
        "game_join_ack": _message("GAME_JOIN_ACK", "player:P01", match_id="R1M1", accept=True),
        "choose_parity_response": _message(
            "CHOOSE_PARITY_RESPONSE", "player:P01", match_id="R1M1", parity_choice="even"
        ),
        "game_move_response": _message("GAME_MOVE_RESPONSE", "player:P01", match_id="R1M1", move_data=1),
    }
    for step in ("register_to_league", "collect_choices", "draw_number", "finalize_match"):
        messages[step] = {"sender": "league_manager"}
    return {
        method: {"jsonrpc": "2.0", "method": method, "params": params, "id": 1} for method, params in messages.items()
    }


def _message(message_type: str, sender: str, **fields: Json) -> Frame:
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-bad-001",
        **fields,
    }


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Agents that answer anybody, so that what is wrong with a message is found in the message."""
    arena = Arena(tmp_path_factory.mktemp("bad") / "SHARED", verify_callers=False)
    yield arena
    arena.close()


@pytest.fixture(scope="module")
def wary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Agents as they are by default: they want the manager's signature."""
    arena = Arena(tmp_path_factory.mktemp("wary") / "SHARED", verify_callers=True)
    yield arena
    arena.close()


def well_formed(answer: bytes | None) -> Json:
    """The parsed answer; fails unless it is silence or JSON-RPC without a fault of ours."""
    if answer is None:
        return None
    parsed = json.loads(answer)
    for frame in parsed if isinstance(parsed, list) else [parsed]:
        assert frame["jsonrpc"] == "2.0"
        assert isinstance(frame["id"], int | str | None)
        assert ("result" in frame) != ("error" in frame)
        if "error" in frame:
            assert frame["error"]["code"] in FRAME_ERRORS, frame
            assert isinstance(frame["error"]["message"], str)
            assert frame["error"]["code"] != -32601 or frame["error"]["data"]["methods"]
        elif isinstance(frame["result"], dict) and frame["result"].get("message_type") == "LEAGUE_ERROR":
            _check_league_error(frame["result"])
    return parsed


def _check_league_error(error: Mapping[str, Json]) -> None:
    LEAGUE_ERROR.validate(error)
    code = ErrorCode(error["error_code"])
    assert code is not ErrorCode.INTERNAL_SERVER_ERROR
    assert error["error_name"] == error["error_description"] == code.name
    assert error["message"]
    assert isinstance(error["context"], dict)
    assert isinstance(error["conversation_id"], str)
    assert len(json.dumps(error["context"])) < 5000


def was_refused(answer: Json) -> bool:
    """Whether nothing that was asked for was done."""
    if answer is None:
        return False
    if isinstance(answer, list):
        return all(was_refused(one) for one in answer)
    result = answer.get("result")
    refused = isinstance(result, dict) and (
        result.get("message_type") == "LEAGUE_ERROR" or result.get("status") == "REJECTED"
    )
    return "error" in answer or refused


def post_anything(arena: Arena, role: str, body: bytes) -> Json:
    """Posts a body; fails unless the answer is right, the agent lives, and a refusal has changed nothing."""
    before, registered = arena.state(role), arena.registrations()
    answer = well_formed(arena.post(role, body))
    if was_refused(answer):
        assert arena.state(role) == before
    assert arena.registrations() == registered
    arena.assert_alive(role)
    return answer


def code_of(answer: Json) -> Json:
    """The code of an error of either kind; None where there is none."""
    if "error" in answer:
        return answer["error"]["code"]
    return answer["result"].get("error_code")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**30, 10**400])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        ["", "league_manager", "player:P01", "P01", "REF01", "R1M1", "even", "..", "a/b", "\x00", "\ud800"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
KNOWN_METHODS = st.sampled_from(sorted(METHODS))
ANY_ROLE = st.sampled_from(ROLES)


def test_the_agents_answer_correct_calls_to_begin_with(arena: Arena) -> None:
    for role in ROLES:
        arena.assert_alive(role)


@bounded(80)
@given(role=ANY_ROLE, body=st.binary(max_size=300))
def test_arbitrary_bytes(arena: Arena, role: str, body: bytes) -> None:
    answer = post_anything(arena, role, body)
    assert code_of(answer) in (-32700, -32600)


@bounded(80)
@given(role=ANY_ROLE, value=JSON_VALUES)
def test_arbitrary_json(arena: Arena, role: str, value: Json) -> None:
    answer = post_anything(arena, role, json.dumps(value).encode())
    assert was_refused(answer)


@bounded(150)
@given(
    role=ANY_ROLE,
    frame=st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.just("2.0") | JSON_VALUES,
            "method": KNOWN_METHODS | st.text(max_size=20) | JSON_VALUES,
            "params": st.dictionaries(st.text(max_size=10), JSON_VALUES, max_size=5) | JSON_VALUES,
            "id": st.integers(-(2**63), 2**63) | st.text(max_size=5) | JSON_VALUES,
            "result": JSON_VALUES,
        },
    ),
)
def test_arbitrary_frames(arena: Arena, role: str, frame: Frame) -> None:
    post_anything(arena, role, json.dumps(frame).encode())


@bounded(40)
@given(role=ANY_ROLE, batch=st.lists(st.builds(dict, jsonrpc=st.just("2.0"), method=KNOWN_METHODS, id=JSON_VALUES)))
def test_arbitrary_batches(arena: Arena, role: str, batch: list[Frame]) -> None:
    answer = post_anything(arena, role, json.dumps(batch).encode())
    if isinstance(answer, list):
        assert len(answer) == len(batch)


@bounded(100)
@given(data=st.data(), role=ANY_ROLE)
def test_correct_requests_with_damaged_bytes(arena: Arena, data: st.DataObject, role: str) -> None:
    frame = data.draw(st.sampled_from(sorted(arena.correct[role])))
    body = bytearray(json.dumps(arena.correct[role][frame]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=4))
        if not body:
            body += b"["
    post_anything(arena, role, bytes(body))


def paths(value: Json, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*above, key)
        yield from paths(inner, (*above, key))


def damaged(message: Frame, path: tuple[Any, ...], deed: str, value: Json) -> Frame:
    """The message with the value at a path removed or replaced, or with another one beside it."""
    message = copy.deepcopy(message)
    place: Any = message
    for key in path[:-1]:
        place = place[key]
    if deed == "remove":
        del place[path[-1]]
    elif deed == "replace" or not isinstance(place, dict):
        place[path[-1]] = value
    else:
        place[f"x_{path[-1]}"] = value
    return message


@bounded(500)
@given(data=st.data(), role=ANY_ROLE)
def test_correct_requests_with_fields_removed_replaced_or_added(arena: Arena, data: st.DataObject, role: str) -> None:
    method = data.draw(st.sampled_from(sorted(arena.correct[role])))
    frame = arena.correct[role][method]
    for _ in range(data.draw(st.integers(1, 3))):
        found = list(paths(frame["params"]))
        if not found:
            break
        path = data.draw(st.sampled_from(found))
        deed = data.draw(st.sampled_from(["remove", "replace", "add"]))
        frame = {**frame, "params": damaged(frame["params"], path, deed, data.draw(JSON_VALUES))}
    answer = post_anything(arena, role, json.dumps(frame).encode())
    assert "error" not in answer or code_of(answer) == -32700


def expected_code(name: str, value: Json) -> str | None:
    """What the protocol says of one wrong envelope field in an otherwise correct message."""
    if value is None:
        return "E003"
    if name == "protocol":
        return "E018"
    if not isinstance(value, str) or name == "message_type":
        return "E002"
    return {"sender": "E002", "timestamp": "E021"}.get(name)


ENVELOPE = ["protocol", "message_type", "sender", "timestamp", "conversation_id"]
REGISTRATIONS = ("register_player", "register_referee")
RESULT = "notify_match_result"
WRONG_VALUES: list[Json] = [None, 7, -1, 1.5, True, [], {}, ["league.v2"], "", "nonsense", "x" * 5000]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ENVELOPE)
def test_a_wrong_envelope_field_gets_its_code_from_every_method(arena: Arena, role: str, name: str) -> None:
    for method, frame in arena.correct[role].items():
        if METHODS[method].request is None:
            continue
        for value in WRONG_VALUES:
            expected = expected_code(name, value)
            if expected is None or (value is None and (name == "message_type" or method in REGISTRATIONS)):
                continue  # who registers may leave it out, and the method says what type it is
            if (name, method) == ("message_type", "start_match") and isinstance(value, str):
                continue  # the seeds have no word for it
            if method == RESULT and value in (None, ""):
                continue  # a referee that isn't ours may leave it out; its proof is asked for all the same
            wrong = {**frame, "params": {**frame["params"], name: value}}
            answer = post_anything(arena, role, json.dumps(wrong).encode())
            assert code_of(answer) == expected, (method, name, value, answer)
            assert answer["id"] == frame["id"]


@pytest.mark.parametrize("role", ROLES)
def test_all_missing_envelope_fields_are_named_by_every_method(arena: Arena, role: str) -> None:
    for method, frame in arena.correct[role].items():
        if METHODS[method].request is not None and method not in (*REGISTRATIONS, RESULT):
            answer = post_anything(arena, role, json.dumps({**frame, "params": {}}).encode())
            assert answer["result"]["context"]["missing_fields"] == ENVELOPE


@pytest.mark.parametrize("role", ROLES)
def test_a_message_under_the_method_of_another_is_refused_with_e002(arena: Arena, role: str) -> None:
    with_message = [method for method in arena.correct[role] if METHODS[method].request]
    for method in with_message:
        for other in with_message:
            if other != method:
                frame = {**arena.correct[role][method], "method": other}
                assert code_of(post_anything(arena, role, json.dumps(frame).encode())) == "E002"


@pytest.mark.parametrize("role", ROLES)
def test_methods_of_other_roles_are_not_found(arena: Arena, role: str) -> None:
    for other in ROLES:
        for method in set(arena.correct[other]) - set(arena.correct[role]):
            answer = post_anything(arena, role, json.dumps(arena.correct[other][method]).encode())
            assert code_of(answer) == -32601
            assert answer["error"]["data"]["methods"] == sorted(arena.correct[role])


@pytest.mark.parametrize("role", ROLES)
def test_a_message_for_another_league_is_refused_with_e008(arena: Arena, role: str) -> None:
    tried = 0
    for method, frame in arena.correct[role].items():
        if METHODS[method].request is None or METHODS[method].caller is Caller.ADMIN:
            continue
        wrong = {**frame, "params": {**frame["params"], "league_id": "league_of_others"}}
        answer = post_anything(arena, role, json.dumps(wrong).encode())
        assert code_of(answer) == "E008", (method, answer)
        tried += 1
    assert tried >= 4


def test_a_token_of_somebody_else_is_refused_with_e012(arena: Arena) -> None:
    others = {"player:P02": "other player", "referee:REF01": "referee", "player:P01": "player"}
    for method in ("league_query", "report_match_result"):
        for sender, rightful in others.items():
            for owner in set(others.values()) - {rightful}:
                frame = copy.deepcopy(arena.correct["manager"][method])
                frame["params"] |= {"sender": sender, "auth_token": arena.token(owner)}
                answer = post_anything(arena, "manager", json.dumps(frame).encode())
                assert code_of(answer) == "E012", (method, sender, owner)


def test_a_token_of_somebody_else_opens_no_registration(arena: Arena) -> None:
    for method, owner, sender in [
        ("register_player", "other player", "player:P01"),
        ("register_player", "referee", "player:newcomer"),
        ("register_referee", "player", "referee:newcomer"),
        ("register_referee", "player", "referee:REF01"),
    ]:
        frame = copy.deepcopy(arena.correct["manager"][method])
        frame["params"] |= {"sender": sender, "auth_token": arena.token(owner)}
        assert code_of(post_anything(arena, "manager", json.dumps(frame).encode())) == "E012"


def test_nobodys_token_is_that_of_the_organiser(arena: Arena) -> None:
    tokens = (arena.token("referee"), arena.token("player"), "", "x", "tok-admin-", "ä" * 1000)
    for method, token in itertools.product(("start_league", "manage_league"), tokens):
        frame = copy.deepcopy(arena.correct["manager"][method])
        frame["params"]["auth_token"] = token
        assert code_of(post_anything(arena, "manager", json.dumps(frame).encode())) == "E012"


@pytest.mark.parametrize(
    "method", ["league_query", "report_match_result", "start_league", "manage_league", "request_match"]
)
def test_without_a_token_nothing_is_told_or_taken(arena: Arena, method: str) -> None:
    frame = copy.deepcopy(arena.correct["manager"][method])
    for deed in ("null", "missing"):
        frame["params"]["auth_token"] = None
        if deed == "missing":
            del frame["params"]["auth_token"]
        assert code_of(post_anything(arena, "manager", json.dumps(frame).encode())) == "E011"


def test_a_token_never_comes_back_in_an_error(arena: Arena) -> None:
    token = arena.token("player")
    for fields in (
        {"sender": "player:P02"},
        {"query_type": "GET_RICH"},
        {"auth_token": [token]},
        {"round_id": token[:4]},
    ):
        frame = copy.deepcopy(arena.correct["manager"]["league_query"])
        frame["params"] |= {"auth_token": token, **fields}
        answer = arena.post("manager", json.dumps(frame).encode())
        assert was_refused(well_formed(answer))
        assert answer is not None
        assert token.encode() not in answer


TOKEN_FAULTS: list[tuple[str, dict[str, Json]]] = [
    ("E018", {"protocol": "league.v9"}),
    ("E003", {"conversation_id": None}),
    ("E002", {"message_type": "SOMETHING"}),
    ("E021", {"timestamp": "yesterday"}),
    ("E011", {"auth_token": None}),
    ("E012", {"auth_token": "tok-p01-stolen"}),
    ("E013", {"sender": "player:P01"}),
    ("E003", {"result": None}),
]


def test_the_first_of_several_faults_is_told_in_the_order_of_the_protocol(arena: Arena) -> None:
    """Each round mends the first fault; the token that is wrong only shows once one is there."""
    report = arena.correct["manager"]["report_match_result"]
    for first, (code, fault) in enumerate(TOKEN_FAULTS):
        faulty = dict(report["params"])
        for _, later in reversed(TOKEN_FAULTS[first:]):
            faulty |= later
        faulty |= fault
        if first == 6:
            faulty["auth_token"] = arena.token("player")
        if "result" in fault:
            del faulty["result"]
        answer = post_anything(arena, "manager", json.dumps({**report, "params": faulty}).encode())
        assert code_of(answer) == code, (first, answer)


VERIFIED = [
    ("referee", "start_match"),
    ("referee", "notify_round"),
    ("player", "choose_parity"),
    ("player", "notify_round"),
]


@bounded(100)
@given(
    call=st.sampled_from(VERIFIED),
    token=st.text(max_size=40) | st.from_regex(r"[\w-]{0,20}\.[\w-]{0,20}\.[\w-]{0,20}", fullmatch=True) | st.none(),
    beside=st.booleans(),
)
def test_no_token_that_somebody_made_up_opens_a_wary_agent(
    wary: Arena, call: tuple[str, str], token: str | None, beside: bool
) -> None:
    role, method = call
    frame = copy.deepcopy(wary.correct[role][method])
    frame["params"]["auth_token"] = None if beside else token
    before = wary.agents[role].health()
    answer = well_formed(wary.post(role, json.dumps(frame).encode(), token if beside else None))
    assert code_of(answer) in ("E011", "E012")
    assert wary.agents[role].health() == before


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


NASTY = {
    "nothing": b"",
    "blanks": b" \n\t" * 1000,
    "zeros": b"\x00" * 1000,
    "latin-1": '{"jsonrpc": "2.0", "method": "ä", "id": 1}'.encode("latin-1"),
    "utf-16": '{"jsonrpc": "2.0", "method": "x", "id": 1}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "100k brackets": b"[" * 100_000,
    "100k closed brackets": nested(100_000).encode(),
    "100k objects": b'{"a":' * 100_000,
    "1000 brackets": nested(1000).encode(),
    "300 brackets": nested(300).encode(),
    "a huge integer": b"9" * 100_000,
    "a huge exponent": b"1e" + b"9" * 1000,
    "a huge string": b'"' + b"x" * 1_000_000 + b'"',
    "a lone surrogate": b'"\\ud800"',
    "many empty objects": b"[" + b"{}," * 99 + b"{}]",
    "too many objects": b"[" + b"{}," * 300_000 + b"{}]",
    "two bodies": b"{}{}",
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("body", NASTY.values(), ids=NASTY)
def test_nasty_bodies(arena: Arena, role: str, body: bytes) -> None:
    answer = post_anything(arena, role, body)
    assert was_refused(answer)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("levels", [60, 100, 250, 300, 900, 1000])
def test_deep_values_in_every_field_of_every_message(arena: Arena, role: str, levels: int) -> None:
    for frame in arena.correct[role].values():
        for name in [*frame["params"], "x_new"]:
            marked = json.dumps({**frame, "params": {**frame["params"], name: "@@"}})
            post_anything(arena, role, marked.replace('"@@"', nested(levels)).encode())


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("value", ["9" * 400, "-" + "9" * 400, "1e308", "-1e-400", str(2**64), str(2**63 - 1), "-0.0"])
def test_huge_numbers_in_every_field_of_every_message(arena: Arena, role: str, value: str) -> None:
    for frame in arena.correct[role].values():
        for path in paths(frame["params"]):
            marked = json.dumps({**frame, "params": damaged(frame["params"], path, "replace", "@@")})
            post_anything(arena, role, marked.replace('"@@"', value).encode())


LONG_VALUES: list[Json] = ["x" * 50_000, [{}] * 10_000, {str(number): None for number in range(5_000)}]


@pytest.mark.parametrize("role", ROLES)
def test_very_long_values_in_every_field_of_every_message(arena: Arena, role: str) -> None:
    for frame in arena.correct[role].values():
        for path in paths(frame["params"]):
            for value in LONG_VALUES:
                wrong = {**frame, "params": damaged(frame["params"], path, "replace", value)}
                answer = well_formed(arena.post(role, json.dumps(wrong).encode()))
                if was_refused(answer):
                    kept = {
                        name: answer["result"].get(name) for name in ("message", "context", "original_message_type")
                    }
                    assert len(json.dumps(kept)) < 5000
    arena.assert_alive(role)


@bounded(25)
@given(role=ANY_ROLE, body=st.binary(max_size=300) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_anything_over_http(arena: Arena, role: str, body: bytes) -> None:
    before = arena.state(role)
    answer = arena.run(fetch(arena.ports[role], request(body)))
    assert answer.status == 200
    assert was_refused(well_formed(answer.body))
    assert arena.state(role) == before


@pytest.mark.parametrize("role", ROLES)
def test_nasty_bodies_over_http_and_health_after_each(arena: Arena, role: str) -> None:
    for body in [*NASTY.values(), b"x" * (2**20 + 1)]:
        answer = arena.run(fetch(arena.ports[role], request(body)))
        assert answer.status == (413 if len(body) > 2**20 else 200)
        assert answer.status == 413 or was_refused(well_formed(answer.body))
        health = arena.run(fetch(arena.ports[role], request(method="GET", path="/health")))
        assert health.json()["status"] == "ok"
    arena.assert_alive(role)


@pytest.mark.parametrize("role", ROLES)
def test_correct_calls_over_http_are_answered_as_ever(arena: Arena, role: str) -> None:
    frame = arena.correct[role][CORRECT_CALL[role][0]]
    answer = arena.run(fetch(arena.ports[role], request(json.dumps(frame).encode())))
    assert answer.status == 200
    assert not was_refused(answer.json())
    notice = {name: value for name, value in frame.items() if name != "id"}
    answer = arena.run(fetch(arena.ports[role], request(json.dumps(notice).encode())))
    assert (answer.status, answer.body) == (202, b"")


DEEP = (
    '{"jsonrpc": "2.0", "id": 1, "result": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even", "x": @}}'
)


@pytest.mark.parametrize("levels", [70, 300, 1000])
def test_an_answer_nested_too_deep_costs_its_player_the_match_and_the_league_goes_on(
    tmp_path: Path, levels: int
) -> None:
    async def answer_deeply(_: Any) -> Any:
        raise RawReply(DEEP.replace("@", nested(levels)).encode())

    async def play() -> LeagueManager:
        plan = make_league(tmp_path / "SHARED", NO_PAUSES, players=2, referees=1)
        network = MemoryNetwork()
        guest = ScriptedPlayer("Deep", "http://localhost:8180/mcp", scripts={"choose_parity": answer_deeply})
        network.attach(guest.endpoint, guest.answer)
        async with asyncio.timeout(LIMIT), run_agents(network, plan.agent_plans[:-1]) as agents:
            await guest.register(network, agent_endpoint(plan.manager))
            manager = agents[0]
            assert isinstance(manager, LeagueManager)
            await manager.completed.wait()
        assert [error["error_code"] for error in guest.received_params("notify_game_error")] == ["E002"] * 3
        return manager

    (result,) = asyncio.run(play()).state.results.values()
    assert result.outcome is Outcome.TECHNICAL_LOSS
    assert result.winner is not None


@pytest.mark.parametrize("order", ["as recorded", "backwards"])
def test_a_whole_recorded_league_said_again_changes_nothing(tmp_path: Path, order: str) -> None:
    """Everything is posted once more after the end, to whom it was posted before."""
    asyncio.run(_play_and_replay(tmp_path / "SHARED", backwards=order == "backwards"))


async def _play_and_replay(home: Path, *, backwards: bool) -> None:
    plan = make_league(home, NO_PAUSES, players=4, referees=2, seed="7")
    assert isinstance(plan.manager.settings, ManagerSettings)
    manager_seat = replace(plan.manager, settings=replace(plan.manager.settings, exit_when_done=False))
    network = RecordingNetwork()
    async with asyncio.timeout(LIMIT), run_agents(network, [manager_seat, *plan.referees, *plan.players]) as agents:
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()
        by_endpoint = dict(zip(map(agent_endpoint, plan.agent_plans), agents, strict=True))
        recorded = list(network.exchanges)
        assert len(recorded) > 60
        before, memories = _league_state(manager), _memories(agents)
        if backwards:
            recorded.reverse()
        for exchange in recorded:
            answer = well_formed(
                await by_endpoint[exchange.endpoint].dispatcher.answer_request(exchange.request, exchange.bearer)
            )
            assert "error" not in answer
            if backwards and exchange.frame["method"] == "report_match_result":
                assert answer["result"] == {"status": "ok"}  # before the replayed registration ends the token
        assert _memories(agents) == memories
        assert _league_state(manager) == before


def _league_state(manager: LeagueManager) -> Json:
    season = manager.state
    members = [(asdict(member.agent), member.state) for member in season.roster]
    return copy.deepcopy((season.standings(), season.results, season.assigned_referees, season.phase, members))


def _memories(agents: list[Agent]) -> Json:
    return [copy.deepcopy(agent.games) for agent in agents if isinstance(agent, Player)]
