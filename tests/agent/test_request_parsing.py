"""Reception: what is asked, in whatever shape it arrives, and the answer in that shape."""

import json
from typing import Any

import pytest

from agent_league.agent.request_parsing import ACKNOWLEDGE_ONLY, CallParser, ParsedCall, repair_registration
from agent_league.errors import ErrorCode, JsonRpcError, JsonRpcErrorCode
from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, ProtocolProfile, Role
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import methods_served_by
from agent_league.protocol.tolerance import RUN_PATH, MessageFrame
from agent_league.protocol.version import PROTOCOL_V1
from tests.protocol.examples import requests_by_method
from tests.protocol.examples_v1 import MESSAGES as V1
from tests.protocol.test_tolerance import ROWS

INVITATION: dict[str, Any] = {
    "protocol": "league.v2",
    "message_type": "GAME_INVITATION",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
    "match_id": "R1M1",
}
UNTYPED = {name: value for name, value in INVITATION.items() if name != "message_type"}
META = {"display_name": "A", "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": "http://a:1/mcp"}
OK = {"status": "ok"}


def reception(role: Role = Role.PLAYER, *, strict: bool = False) -> CallParser:
    return CallParser(role, {method.name for method in methods_served_by(role)}, strict=strict)


def request(method: str, params: Any, request_id: Any = 7) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": request_id}


def tool(name: Any, arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": name, "arguments": arguments})


def server_of(method: str) -> Role:
    return next(role for role in Role if method in {served.name for served in methods_served_by(role)})


@pytest.mark.parametrize(("method", "name"), ROWS)
def test_a_method_is_served_under_each_of_its_names(method: str, name: str) -> None:
    asked = reception(server_of(method)).parse_frame(request(name, {"a": 1}))
    assert (asked.method, asked.params["a"], asked.request_id, asked.frame) == (method, 1, 7, MessageFrame.PARAMS)
    assert (f"method '{name}' for '{method}'" in asked.protocol_profile.deviations) is (name != method)


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("handle_game_invitation", "seeds"),
        ("game_invitation", "small"),
        ("receive_game_invitation", "receive"),
        ("GAME_INVITATION", "type"),
        ("anything_else", "type"),
    ],
)
def test_the_name_of_a_method_shows_the_style(name: str, style: str) -> None:
    assert reception().parse_frame(request(name, INVITATION)).protocol_profile.call_form == style


FRAMES: list[tuple[dict[str, Any], MessageFrame, ProtocolProfile]] = [
    (request("handle_game_invitation", INVITATION), MessageFrame.PARAMS, DEFAULT_PROTOCOL_PROFILE),
    (
        request("handle_message", {"message": INVITATION}),
        MessageFrame.MESSAGE,
        ProtocolProfile(call_form="handler", deviations=("message in params.message",)),
    ),
    (
        request("handle_game_invitation", {"message": INVITATION}),
        MessageFrame.MESSAGE,
        ProtocolProfile(call_form="message-seeds", deviations=("message in params.message",)),
    ),
    (
        request("receive_game_invitation", {"message": INVITATION}),
        MessageFrame.MESSAGE,
        ProtocolProfile(
            call_form="message-receive",
            deviations=("message in params.message", "method 'receive_game_invitation' for 'handle_game_invitation'"),
        ),
    ),
    (
        tool("receive_game_invitation", INVITATION),
        MessageFrame.ARGUMENTS,
        ProtocolProfile(
            call_form="tool-receive",
            deviations=("message in params.arguments", "method 'receive_game_invitation' for 'handle_game_invitation'"),
        ),
    ),
    (
        tool("handle_game_invitation", INVITATION),
        MessageFrame.ARGUMENTS,
        ProtocolProfile(call_form="tool", deviations=("message in params.arguments",)),
    ),
    (
        tool("handle_message", {"message": INVITATION}),
        MessageFrame.ARGUMENTS,
        ProtocolProfile(call_form="tool-handler", deviations=("message in params.arguments",)),
    ),
    (INVITATION, MessageFrame.BARE, ProtocolProfile(call_form="bare", deviations=("message in the bare body",))),
]


@pytest.mark.parametrize(("body", "frame", "how"), FRAMES)
def test_the_message_is_found_in_each_frame(body: dict[str, Any], frame: MessageFrame, how: ProtocolProfile) -> None:
    asked = reception().parse_frame(body)
    assert (asked.method, dict(asked.params)) == ("handle_game_invitation", INVITATION)
    assert (asked.frame, asked.protocol_profile) == (frame, how)
    assert asked.request_id == (None if frame is MessageFrame.BARE else 7)
    assert not asked.is_notification


@pytest.mark.parametrize("body", [request("anything", INVITATION), tool("anything", INVITATION)])
def test_a_message_under_an_unknown_name_is_known_by_its_type(body: dict[str, Any]) -> None:
    asked = reception().parse_frame(body)
    assert (asked.method, asked.params["message_type"]) == ("handle_game_invitation", "GAME_INVITATION")
    assert "no 'message_type'" not in asked.protocol_profile.deviations


@pytest.mark.parametrize(
    "wrap",
    [
        lambda message: request("handle_game_invitation", message),
        lambda message: tool("GAME_INVITATION", message),
        lambda message: request("receive_game_invitation", {"message": message}),
    ],
)
def test_a_message_without_a_type_is_known_by_the_name(wrap: Any) -> None:
    asked = reception().parse_frame(wrap(UNTYPED))
    assert (asked.method, dict(asked.params)) == ("handle_game_invitation", INVITATION)
    assert "no 'message_type'" in asked.protocol_profile.deviations
    poorer = {name: value for name, value in UNTYPED.items() if name != "timestamp"}
    assert "message_type" not in reception().parse_frame(wrap(poorer)).params  # all that is missing is named together


@pytest.mark.parametrize("meta", ["player_meta", "playerMeta", "referee_meta", "refereeMeta"])
@pytest.mark.parametrize(
    "wrap", [lambda body: body, lambda body: request("join_us", body), lambda body: tool("", body)]
)
def test_a_registration_is_known_by_its_metadata_alone(meta: str, wrap: Any) -> None:
    role = meta.partition("_")[0].removesuffix("Meta")
    asked = reception(Role.LEAGUE_MANAGER).parse_frame(wrap({meta: META}))
    assert asked.method == f"register_{role}"
    assert asked.params[f"{role}_meta"] == META


def test_what_is_posted_at_register_shows_nothing_of_the_style() -> None:
    manager = reception(Role.LEAGUE_MANAGER)
    asked = manager.parse_frame({"player_meta": META}, "/register")
    assert asked.protocol_profile == ProtocolProfile(deviations=("POST /register",))
    assert asked.frame is MessageFrame.BARE
    framed = manager.parse_frame(request("LEAGUE_REGISTER_REQUEST", {"player_meta": META}), "/register")
    assert framed.protocol_profile.call_form == "type"


FLAT = {"display_name": "A", "version": "1.0.0", "endpoint": "http://a:1/mcp"}


@pytest.mark.parametrize(("agent_type", "role"), [("player", "player"), ("REFEREE", "referee"), ("Player", "player")])
def test_a_flat_registration_is_taken_where_registrations_are_posted(agent_type: str, role: str) -> None:
    manager = reception(Role.LEAGUE_MANAGER)
    asked = manager.parse_frame({**FLAT, "agent_type": agent_type, "auth_token": "", "timestamp": "t"}, "/register")
    assert asked.method == f"register_{role}"
    assert asked.params == {"auth_token": "", "timestamp": "t", f"{role}_meta": META}
    noted = ("POST /register", "a flat body", "no 'game_types'", "'endpoint' for 'contact_endpoint'")
    assert (asked.protocol_profile, asked.frame) == (ProtocolProfile(deviations=noted), MessageFrame.BARE)
    named = manager.parse_frame({**FLAT, "agent_type": agent_type, "game_types": ["nim"]}, "/register")
    assert named.params[f"{role}_meta"]["game_types"] == ["nim"]
    assert "no 'game_types'" not in named.protocol_profile.deviations


@pytest.mark.parametrize("agent_type", [None, "", "manager", 5, ["player"]])
def test_a_flat_registration_must_say_what_it_registers(agent_type: Any) -> None:
    with pytest.raises(JsonRpcError, match="'agent_type' must be 'player' or 'referee', found"):
        reception(Role.LEAGUE_MANAGER).parse_frame({**FLAT, "agent_type": agent_type}, "/register")
    with pytest.raises(JsonRpcError, match="'agent_type' must be 'player' or 'referee', found None"):
        reception(Role.LEAGUE_MANAGER).parse_frame(FLAT, "/register")


def test_a_flat_registration_is_none_elsewhere() -> None:
    with pytest.raises(JsonRpcError, match="'jsonrpc'"):
        reception(Role.LEAGUE_MANAGER).parse_frame({**FLAT, "agent_type": "player"})


def test_other_names_of_fields_are_ours_when_they_reach_the_handler() -> None:
    message = {"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "odd"}
    asked = reception(Role.REFEREE).parse_frame(message)
    assert asked.params["parity_choice"] == "odd"
    assert asked.protocol_profile.deviations == ("message in the bare body", "'choice' for 'parity_choice'")


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("choose_parity_response", {"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "odd"}, "parity_choice"),
        ("game_join_ack", {"message_type": "GAME_JOIN_ACK", "accepted": True}, "accept"),
        ("game_join_ack", {"message_type": "GAME_JOIN_ACK", "status": "READY"}, "accept"),
    ],
)
def test_also_where_the_frame_is_that_of_the_seeds(method: str, params: dict[str, Any], field: str) -> None:
    asked = reception(Role.REFEREE).parse_frame(request(method, params))
    assert field in asked.params
    assert len(asked.protocol_profile.deviations) == 1
    whole = {**params, field: asked.params[field]}
    assert reception(Role.REFEREE).parse_frame(request(method, whole)).protocol_profile is DEFAULT_PROTOCOL_PROFILE


@pytest.mark.parametrize("name", ["start_match", "assign_match", "run_match", "START_MATCH"])
def test_the_order_of_a_match_may_call_itself_what_it_likes(name: str) -> None:
    asked = reception(Role.REFEREE).parse_frame(request(name, {"message_type": "RUN_MATCH", "match_id": "R1M1"}))
    assert (asked.method, asked.params["message_type"]) == ("start_match", "START_MATCH")
    assert "'message_type' 'RUN_MATCH' for 'START_MATCH'" in asked.protocol_profile.deviations


@pytest.mark.parametrize("frame", [{}, {"jsonrpc": "2.0", "id": 1, "method": "start_match"}], ids=["bare", "framed"])
def test_nothing_but_a_start_is_taken_where_starts_are_posted(frame: dict[str, Any]) -> None:
    error = {"message_type": "LEAGUE_ERROR", "match_id": "R1M1"}  # acknowledged elsewhere
    body = {**frame, "params": error} if frame else error
    with pytest.raises(JsonRpcError) as caught:
        reception(Role.REFEREE).parse_frame(body, RUN_PATH)
    assert caught.value.code is JsonRpcErrorCode.METHOD_NOT_FOUND


def test_no_other_message_may() -> None:
    asked = reception().parse_frame(request("choose_parity", INVITATION))
    assert (asked.method, asked.params["message_type"]) == ("choose_parity", "GAME_INVITATION")


@pytest.mark.parametrize(
    ("body", "frame"),
    [
        ({"message_type": "NOBODY_KNOWS"}, "for NOBODY_KNOWS"),
        ({"message_type": ["x"]}, "for ["),
        (request("nonsense", {}), "nonsense"),
        (request("nonsense", [1]), "nonsense"),
        (request("x" * 10_000, None), f"{'x' * 77}..."),
        (request("register_player", {"player_meta": META}), "register_player"),
        (tool("nonsense", {}), "nonsense"),
        (tool(["x"] * 1000, {}), "["),
        (tool(None, None), "None"),
        (request("tools/call", [1]), "tools/call"),
        (request("handle_message", {"message": {"message_type": "LEAGUE_QUERY"}}), "handle_message"),
    ],
)
def test_what_nobody_here_knows_is_no_method_and_the_known_ones_are_told(body: Any, frame: str) -> None:
    with pytest.raises(JsonRpcError) as caught:
        reception().parse_frame(body)
    assert caught.value.code is JsonRpcErrorCode.METHOD_NOT_FOUND
    assert frame in caught.value.message
    assert len(caught.value.message) < 200
    assert caught.value.data == {"methods": sorted(method.name for method in methods_served_by(Role.PLAYER))}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (request("choose_parity", [1]), "'params'"),
        (request("game_invitation", "x"), "'params'"),
        (tool("choose_parity", [1]), "'params.arguments'"),
        (tool("GAME_OVER", 5), "'params.arguments'"),
    ],
)
def test_a_message_that_is_no_object_is_refused_where_it_stands(body: Any, place: str) -> None:
    with pytest.raises(JsonRpcError, match=place) as caught:
        reception().parse_frame(body)
    assert caught.value.code is JsonRpcErrorCode.INVALID_PARAMS


@pytest.mark.parametrize(
    "body", [None, 5, "x", [], {}, {"a": 1}, {"id": 1}, {"method": "choose_parity"}, {"params": {}}]
)
def test_what_is_neither_a_request_nor_a_message_is_invalid(body: Any) -> None:
    with pytest.raises(JsonRpcError) as caught:
        reception().parse_frame(body)
    assert caught.value.code is JsonRpcErrorCode.INVALID_REQUEST


def test_a_message_inside_a_message_is_none() -> None:
    asked = reception().parse_frame(request("handle_game_invitation", {**INVITATION, "message": {"message_type": "X"}}))
    assert asked.params["message_type"] == "GAME_INVITATION"


def test_a_plain_request_is_passed_on_as_it_is() -> None:
    params = {**INVITATION, "odd": [1]}
    asked = reception().parse_frame(request("handle_game_invitation", params, "abc"))
    assert asked.params is params
    assert (asked.protocol_profile, asked.request_id) == (DEFAULT_PROTOCOL_PROFILE, "abc")


@pytest.mark.parametrize(("body", "_frame", "how"), FRAMES[1:])
def test_a_strict_one_takes_its_own_form_and_no_other(
    body: dict[str, Any], _frame: MessageFrame, how: ProtocolProfile
) -> None:
    strict = reception(strict=True)
    assert (
        strict.parse_frame(request("handle_game_invitation", INVITATION)).protocol_profile is DEFAULT_PROTOCOL_PROFILE
    )
    if body.get("method") == "handle_game_invitation":
        assert "message_type" not in strict.parse_frame(body).params  # and so it is refused for its envelope
        return
    with pytest.raises(JsonRpcError):
        strict.parse_frame(body)


@pytest.mark.parametrize(("method", "name"), [(method, name) for method, name in ROWS if name != method])
def test_a_strict_one_knows_no_other_names(method: str, name: str) -> None:
    with pytest.raises(JsonRpcError) as caught:
        reception(server_of(method), strict=True).parse_frame(request(name, {}))
    assert caught.value.code is JsonRpcErrorCode.METHOD_NOT_FOUND


@pytest.mark.parametrize("strict", [False, True])
def test_a_message_of_v1_is_taken_bare_and_answered_bare(strict: bool) -> None:
    asked = reception(strict=strict).parse_frame(V1["GAME_INVITATION"])
    assert (asked.method, asked.protocol_profile) == ("handle_game_invitation", ProtocolProfile(PROTOCOL_V1, "bare"))
    assert asked.build_answer(OK) == OK


@pytest.mark.parametrize(
    "wrap",
    [
        lambda message: request("handle_message", {"message": message}),
        lambda message: request("handle_game_invitation", message),
        lambda message: tool("handle_game_invitation", message),
    ],
)
def test_a_message_of_v1_in_a_frame_is_answered_in_it(wrap: Any) -> None:
    asked = reception().parse_frame(wrap(V1["GAME_INVITATION"]))
    assert (asked.method, asked.protocol_profile.protocol) == ("handle_game_invitation", PROTOCOL_V1)
    assert asked.build_answer(OK)["id"] == 7


@pytest.mark.parametrize("message_type", ["GAME_START", "PLAY_VALIDATION", "LEAGUE_START_ANNOUNCEMENT"])
def test_what_v2_has_no_word_for_is_only_acknowledged(message_type: str) -> None:
    assert reception().parse_frame(V1[message_type]).method == ACKNOWLEDGE_ONLY


@pytest.mark.parametrize("conversation_id", ["conv-1", None, 5])
def test_a_message_that_only_calls_itself_v1_is_none(conversation_id: Any) -> None:
    asked = reception().parse_frame({**INVITATION, "protocol": "league.v1", "conversation_id": conversation_id})
    assert (asked.foreign_message, asked.protocol_profile.protocol) == (None, "league.v2")


@pytest.mark.parametrize(
    "wrap", [lambda message: message, lambda message: request("handle_message", {"message": message})]
)
def test_a_broken_message_of_v1_is_understood_as_that(wrap: Any) -> None:
    asked = reception().parse_frame(wrap({**V1["GAME_INVITATION"], "timestamp": "soon"}))
    assert asked.refusal is not None
    assert asked.refusal.code is ErrorCode.INVALID_TIMESTAMP
    assert asked.params["conversation_id"] == V1["GAME_INVITATION"]["conversation_id"]


@pytest.mark.parametrize("notice", [False, True])
def test_a_request_without_an_id_is_a_notification_in_every_frame(notice: bool) -> None:
    for body, frame, _ in FRAMES:
        if frame is not MessageFrame.BARE:
            sent = {name: value for name, value in body.items() if not (notice and name == "id")}
            assert reception().parse_frame(sent).is_notification is notice


REPLY = {"message_type": "GAME_JOIN_ACK", "accept": True}
ERROR = {"message_type": "LEAGUE_ERROR", "error_code": "E012"}


@pytest.mark.parametrize("frame", [MessageFrame.PARAMS, MessageFrame.MESSAGE])
def test_a_framed_request_is_answered_with_a_result(frame: MessageFrame) -> None:
    asked = ParsedCall("choose_parity", {}, "abc", frame=frame)
    assert asked.build_answer(REPLY) == {"jsonrpc": "2.0", "result": REPLY, "id": "abc"}


def test_a_bare_message_is_answered_with_a_bare_one() -> None:
    assert ParsedCall("choose_parity", {}, frame=MessageFrame.BARE).build_answer(REPLY) == REPLY


@pytest.mark.parametrize(("reply", "failed"), [(REPLY, False), (ERROR, True), (OK, False), (None, False)])
def test_a_tool_is_answered_with_content_and_says_whether_it_failed(reply: Any, failed: bool) -> None:
    answer = ParsedCall("choose_parity", {}, 3, frame=MessageFrame.ARGUMENTS).build_answer(reply)
    (content,) = answer["result"].pop("content")
    assert answer == {"jsonrpc": "2.0", "result": {"structuredContent": reply, "isError": failed}, "id": 3}
    assert (content["type"], json.loads(content["text"])) == ("text", reply)


NOW = "2025-01-15T10:00:00Z"
ENVELOPE = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_REQUEST",
    "sender": "player:alpha",
    "timestamp": "2025-01-15T09:59:59Z",
    "conversation_id": "conv-1",
}


@pytest.mark.parametrize("left_out", ENVELOPE)
@pytest.mark.parametrize("how", ["missing", "null"])
def test_what_an_applicant_left_out_of_its_envelope_is_written_in_and_noted(left_out: str, how: str) -> None:
    whole = {**ENVELOPE, "player_meta": META}
    given = {name: value for name, value in whole.items() if name != left_out}
    params, noted = repair_registration(
        v2.LeagueRegisterRequest,
        {**given, **({left_out: None} if how == "null" else {})},
        DEFAULT_PROTOCOL_PROFILE,
        NOW,
    )
    filled = {**ENVELOPE, "sender": "player:A", "timestamp": NOW, "conversation_id": "conv-player-registration"}
    assert params == {**whole, left_out: filled[left_out]}
    assert noted == ProtocolProfile(deviations=(f"no '{left_out}'",))


@pytest.mark.parametrize("kind", [v2.LeagueRegisterRequest, v2.RefereeRegisterRequest])
def test_an_applicant_without_a_name_is_an_applicant(kind: type[Message]) -> None:
    params, _ = repair_registration(kind, {}, DEFAULT_PROTOCOL_PROFILE, NOW)
    role = "player" if kind is v2.LeagueRegisterRequest else "referee"
    assert params["sender"] == f"{role}:applicant"


def test_a_whole_application_is_passed_on_as_it_is() -> None:
    whole = {**ENVELOPE, "player_meta": META}
    params, how = repair_registration(v2.LeagueRegisterRequest, whole, DEFAULT_PROTOCOL_PROFILE, NOW)
    assert params is whole
    assert how is DEFAULT_PROTOCOL_PROFILE


def test_the_notes_of_an_application_follow_those_of_its_frame() -> None:
    how = ProtocolProfile(call_form="bare", deviations=("message in the bare body",))
    _, noted = repair_registration(v2.LeagueRegisterRequest, {**ENVELOPE, "playerMeta": {**META}}, how, NOW)
    assert noted == ProtocolProfile(
        call_form="bare", deviations=("message in the bare body", "'playerMeta' for 'player_meta'")
    )


def altered_frames(frame: dict[str, Any]) -> list[Any]:
    """A frame with each of its parts, and of its message's envelope, left out or of another kind."""
    values: tuple[Any, ...] = (None, 7, 1.5, True, "7", "LEAGUE_ERROR", "league.v1", [], {}, ["x"])
    frames = [{**frame, name: value} for name in frame for value in values]
    frames += [{part: frame[part] for part in frame if part != name} for name in frame]
    params = frame["params"]
    frames += [{**frame, "params": {**params, name: value}} for name in params for value in values]
    return [*frames, *({**frame, "params": {x: params[x] for x in params if x != name}} for name in params)]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", requests_by_method())
def test_a_call_understood_at_first_sight_is_what_a_closer_look_finds(name: str, strict: bool) -> None:
    frame = requests_by_method()[name]
    parser = reception(server_of(name), strict=strict)
    assert parser._parse_own_form(frame) is not None
    for altered in altered_frames(frame):
        if (asked := parser._parse_own_form(altered)) is not None:
            assert asked == parser._parse_any_form(altered)
