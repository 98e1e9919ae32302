"""The table of spellings: every row of it, written out once more from the protocol."""

import json
from typing import Any

import pytest

from agent_league.protocol.json_limits import MAX_DEPTH
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tolerance import (
    ANSWER_PLACES,
    CALL_FORMS,
    FIELD_SPELLINGS,
    FORM_BY_NAME,
    FORMS_ON_EVIDENCE,
    METHOD_OF_META,
    METHOD_OF_NAME,
    METHOD_OF_TYPE,
    find_candidates,
    get_key_field,
    is_message_of_type,
    normalise,
    order_forms,
)
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

NAMES = {
    "handle_game_invitation": ("game_invitation", "receive_game_invitation", "GAME_INVITATION"),
    "choose_parity": ("parity_choose", "choose_parity_call", "receive_parity_call", "CHOOSE_PARITY_CALL"),
    "notify_match_result": ("game_over", "receive_game_over", "GAME_OVER"),
    "register_player": ("league_register", "LEAGUE_REGISTER_REQUEST"),
    "register_referee": ("referee_register", "REFEREE_REGISTER_REQUEST"),
    "start_match": ("assign_match", "run_match", "START_MATCH"),
    "report_match_result": ("match_result_report", "MATCH_RESULT_REPORT"),
    "notify_round": ("round_announcement", "receive_round_announcement", "ROUND_ANNOUNCEMENT"),
}
"""Section 6 of the protocol: our method, and its other names."""
ROWS = [(method, name) for method, names in NAMES.items() for name in (method, *names)]
ACK = "GAME_JOIN_ACK"
CHOICE = "CHOOSE_PARITY_RESPONSE"
ADMISSIONS = [("LEAGUE_REGISTER_RESPONSE", "player_id"), ("REFEREE_REGISTER_RESPONSE", "referee_id")]


@pytest.mark.parametrize(("method", "name"), ROWS)
def test_a_method_is_known_by_each_of_its_names(method: str, name: str) -> None:
    assert METHOD_OF_NAME[name] == method


@pytest.mark.parametrize(("method", "name"), ROWS)
def test_an_agent_that_knows_one_of_the_names_is_called_by_it_sooner_or_later(method: str, name: str) -> None:
    calls = [json.loads(style.encode_request(method, {"a": 1}, 7)) for style in order_forms(method, PROTOCOL_V2)]
    assert {"jsonrpc": "2.0", "method": name, "params": {"a": 1}, "id": 7} in calls


def test_no_name_stands_for_two_methods() -> None:
    for style in CALL_FORMS:
        for method, name in style.method_names.items():
            assert METHOD_OF_NAME.get(name, method) == method


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.request])
def test_a_message_is_known_by_its_type(method: str) -> None:
    request = METHODS[method].request
    assert request is not None
    assert METHOD_OF_TYPE[request.TYPE] == method


def test_a_registration_is_known_by_its_metadata() -> None:
    assert METHOD_OF_META == {
        "player_meta": "register_player",
        "playerMeta": "register_player",
        "referee_meta": "register_referee",
        "refereeMeta": "register_referee",
    }


FRAMES = {
    "seeds": {"jsonrpc": "2.0", "method": "choose_parity", "params": {"a": 1}, "id": 7},
    "small": {"jsonrpc": "2.0", "method": "choose_parity_call", "params": {"a": 1}, "id": 7},
    "short": {"jsonrpc": "2.0", "method": "parity_choose", "params": {"a": 1}, "id": 7},
    "receive": {"jsonrpc": "2.0", "method": "receive_parity_call", "params": {"a": 1}, "id": 7},
    "type": {"jsonrpc": "2.0", "method": "CHOOSE_PARITY_CALL", "params": {"a": 1}, "id": 7},
    "handler": {"jsonrpc": "2.0", "method": "handle_message", "params": {"message": {"a": 1}}, "id": 7},
    "tool": {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "choose_parity", "arguments": {"a": 1}},
        "id": 7,
    },
    "bare": {"a": 1},
    "mcp": {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {
            "name": "choose_parity",
            "arguments": {"a": 1},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
        "id": 7,
    },
}


def test_a_question_is_put_in_each_style_in_this_order() -> None:
    styles = [style for style in _styles() if not style.is_combined]
    tried = {style.name: json.loads(style.encode_request("choose_parity", {"a": 1}, 7)) for style in styles}
    assert tried == FRAMES
    assert list(tried) == list(FRAMES)
    assert _styles()[: len(FRAMES)] == tuple(styles), "the combined ones come last"


CALLED = ("choose_parity", "choose_parity_call", "parity_choose", "receive_parity_call", "CHOOSE_PARITY_CALL")


def test_every_name_is_put_into_every_frame() -> None:
    calls = [json.loads(style.encode_request("choose_parity", {"a": 1}, 7)) for style in _styles()]
    for name in CALLED:
        for method, params in (
            (name, {"a": 1}),
            (name, {"message": {"a": 1}}),
            ("tools/call", {"name": name, "arguments": {"a": 1}}),
        ):
            assert {"jsonrpc": "2.0", "method": method, "params": params, "id": 7} in calls
    one = {"name": "handle_message", "arguments": {"message": {"a": 1}}}
    assert {"jsonrpc": "2.0", "method": "tools/call", "params": one, "id": 7} in calls
    assert len(calls) == 19


def test_a_match_is_started_in_the_words_of_others_too() -> None:
    message = {"message_type": "START_MATCH", "match_id": "R1M1"}
    other = {"message_type": "MATCH_ASSIGNMENT", "match_id": "R1M1"}
    styles = [style for style in order_forms("start_match", PROTOCOL_V2) if style.message_type or style.path]
    calls = [(style.path, json.loads(style.encode_request("start_match", message, 7))) for style in styles]
    assert [(path, body.get("method"), body.get("params", body)) for path, body in calls] == [
        (None, "match_assignment", other),
        (None, "MATCH_ASSIGNMENT", other),
        (None, "assign_match", other),
        ("/run_match", None, message),
        (None, "handle_message", {"message": other}),
        (None, None, other),
    ]
    assert not [style for style in styles if style.has_method("register_player")]


def _styles() -> tuple[Any, ...]:
    return order_forms("choose_parity", PROTOCOL_V2)


def test_the_style_that_an_agent_is_known_by_comes_first_then_its_frame_and_the_others_keep_their_order() -> None:
    names = [style.name for style in order_forms("choose_parity", PROTOCOL_V2, "tool")]
    alike = ["tool-small", "tool-short", "tool-receive", "tool-type", "tool-handler"]
    assert names[:15] == ["tool", *alike, *(name for name in FRAMES if name != "tool"), "message-seeds"]


def test_a_call_of_mcp_has_the_headers_that_the_revision_asks_for_and_no_other_call_has_any() -> None:
    told = {style.name: style.build_headers("choose_parity") for style in CALL_FORMS}
    assert told.pop("mcp") == {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "choose_parity",
    }
    of_mcp = {style.name for style in CALL_FORMS if style.is_mcp}
    assert {name for name, headers in told.items() if headers} == of_mcp - {"mcp"}


def test_what_only_few_agents_have_is_tried_on_a_sign_of_it_alone() -> None:
    tried = {style.name for style in order_forms("choose_parity", PROTOCOL_V2)}
    assert not tried & FORMS_ON_EVIDENCE
    known = order_forms("choose_parity", PROTOCOL_V2, "mcp-short-argument")
    assert known[0].name == "mcp-short-argument"
    call = json.loads(known[0].encode_request("choose_parity", {"a": 1}, 7))
    assert (call["params"]["name"], call["params"]["arguments"]) == ("parity_choose", {"message": {"a": 1}})


def test_a_style_that_has_no_name_for_a_method_is_not_tried() -> None:
    assert "short" not in {style.name for style in order_forms("handle_game_invitation", PROTOCOL_V2, "short")}
    plain = [style for style in order_forms("league_query", PROTOCOL_V2) if not style.is_combined]
    assert [style.name for style in plain] == [
        "seeds",
        "type",
        "handler",
        "tool",
        "bare",
        "mcp",
    ]


@pytest.mark.parametrize("method", METHODS)
def test_the_same_call_is_never_made_twice(method: str) -> None:
    calls = [(style.path, style.encode_request(method, {}, 1)) for style in order_forms(method, PROTOCOL_V2)]
    assert len(set(calls)) == len(calls)


def test_only_a_registration_is_also_posted_at_register() -> None:
    register = FORM_BY_NAME["register"]
    assert (register.path, json.loads(register.encode_request("register_player", {"a": 1}, 7))) == (
        "/register",
        {"a": 1},
    )
    assert [method for method in METHODS if register.has_method(method)] == ["register_referee", "register_player"]
    plain = [style.name for style in order_forms("register_player", PROTOCOL_V2) if not style.is_combined]
    assert plain[-2:] == ["register", "register-flat"]


def test_a_flat_registration_says_who_the_agent_is_and_nothing_else() -> None:
    flat = FORM_BY_NAME["register-flat"]
    about = {"display_name": "Alpha", "version": "1.0.0", "contact_endpoint": "http://localhost:8101/mcp"}
    message = {"protocol": "league.v2", "sender": "referee:REF01", "referee_meta": about, "auth_token": None}
    assert (flat.path, json.loads(flat.encode_request("register_referee", message, 7))) == (
        "/register",
        {**about, "endpoint": "http://localhost:8101/mcp", "agent_type": "referee"},
    )


@pytest.mark.parametrize("method", ["choose_parity", "GAME_START", "LEAGUE_START_ANNOUNCEMENT"])
def test_a_message_of_v1_goes_bare_or_to_the_one_handler(method: str) -> None:
    assert [style.name for style in order_forms(method, PROTOCOL_V1)] == ["bare", "handler"]
    assert [style.name for style in order_forms(method, PROTOCOL_V1, "handler")] == ["handler", "bare"]
    assert [style.name for style in order_forms(method, PROTOCOL_V1, "tool")] == ["bare", "handler"]


def test_a_method_that_a_game_brought_along_has_its_own_name_and_no_other() -> None:
    (style,) = order_forms("roll_dice", PROTOCOL_V2)
    assert json.loads(style.encode_request("roll_dice", {}, 1))["method"] == "roll_dice"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short", "'parity_choose'"),
        ("handler", "'handle_message'"),
        ("tool", "'tools/call'"),
        ("mcp", "'tools/call' of MCP"),
        ("bare", "a bare message"),
        ("tool-receive", "'tools/call' of 'receive_parity_call'"),
        ("tool-handler", "'tools/call' of 'handle_message'"),
        ("message-small", "'choose_parity_call' with params.message"),
    ],
)
def test_a_style_is_shown_as_it_was_called(name: str, shown: str) -> None:
    assert FORM_BY_NAME[name].describe_call("choose_parity") == shown
    assert FORM_BY_NAME["register"].describe_call("register_player") == "POST /register"
    assert FORM_BY_NAME["run"].describe_call("start_match") == "POST /run_match"
    assert FORM_BY_NAME["assignment-short"].describe_call("start_match") == "'assign_match', a MATCH_ASSIGNMENT"


MESSAGE = {"message_type": ACK, "accept": True}
REPLIES: dict[str, Any] = {
    "result": {"jsonrpc": "2.0", "result": MESSAGE, "id": 1},
    "result.structuredContent": {"result": {"structuredContent": MESSAGE, "isError": False}},
    "result.content[0].text": {"result": {"content": [{"type": "text", "text": json.dumps(MESSAGE)}]}},
    "result.message": {"result": {"status": "ok", "message": MESSAGE}},
    "result.response": {"result": {"status": "ok", "response": MESSAGE}},
    "params": {"jsonrpc": "2.0", "method": ACK, "params": MESSAGE, "id": 1},
    "the bare body": MESSAGE,
}


@pytest.mark.parametrize("place", REPLIES)
def test_an_answer_is_found_in_each_of_its_places(place: str) -> None:
    found = [(where, message) for where, message in find_candidates(REPLIES[place]) if is_message_of_type(ACK, message)]
    assert found == [(place, MESSAGE)]


def test_the_places_are_searched_in_this_order() -> None:
    assert list(ANSWER_PLACES) == list(REPLIES)


@pytest.mark.parametrize(
    "body",
    [
        None,
        5,
        "ok",
        [],
        [MESSAGE],
        {"result": None},
        {"result": []},
        {"result": {"content": []}},
        {"result": {"content": "text"}},
        {"result": {"content": [MESSAGE]}},
        {"result": {"content": [{"text": 5}]}},
        {"result": {"content": [{"text": "{"}]}},
        {"result": {"content": [{"text": "[1]"}]}},
        {"result": {"message": "text", "response": 7, "structuredContent": True}},
        {"params": [MESSAGE]},
    ],
)
def test_where_there_is_no_answer_none_is_found(body: Any) -> None:
    assert not [message for _, message in find_candidates(body) if is_message_of_type(ACK, message)]


@pytest.mark.parametrize(("depth", "count"), [(MAX_DEPTH - 1, 1), (MAX_DEPTH, 0), (900, 0), (100_000, 0)])
def test_a_text_that_is_nested_too_deep_is_no_answer(depth: int, count: int) -> None:
    text = '{"message_type": "GAME_JOIN_ACK", "x": ' + "[" * depth + "]" * depth + "}"
    found = [
        message
        for _, message in find_candidates({"result": {"content": [{"text": text}]}})
        if is_message_of_type(ACK, message)
    ]
    assert len(found) == count


@pytest.mark.parametrize(
    ("message_type", "answer"),
    [
        (ACK, {"accept": False}),
        (ACK, {"accepted": True}),
        *(
            (ACK, {"status": status})
            for status in ("ACK", "ACCEPTED", "READY", "joined", "NACK", "DECLINED", "rejected")
        ),
        (CHOICE, {"parity_choice": None}),
        (CHOICE, {"choice": "odd"}),
        ("GAME_MOVE_RESPONSE", {"move_data": 0}),
        ("GAME_MOVE_RESPONSE", {"move": 0}),
        ("PLAY_RESPONSE", {"play": {}}),
        ("PLAY_RESPONSE", {"move": {}}),
        ("GAME_INVITATION_RESPONSE", {"status": "READY"}),
        ("GAME_INVITATION_RESPONSE", {"status": "Declined"}),
        ("LEAGUE_QUERY_RESPONSE", {"success": False}),
        *((message_type, {name: "X"}) for message_type, name in ADMISSIONS),
        *(
            (message_type, {"status": status})
            for message_type, _ in ADMISSIONS
            for status in ("REGISTERED", "rejected")
        ),
        ("A_GAME_S_OWN", {"message_type": "A_GAME_S_OWN"}),
        *((message_type, {"message_type": message_type}) for message_type in FIELD_SPELLINGS),
    ],
)
def test_an_answer_is_known_by_its_type_its_field_or_its_status(message_type: str, answer: dict[str, Any]) -> None:
    assert is_message_of_type(message_type, answer)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "even",
        [],
        {},
        {"status": "ok"},
        {"status": "received"},
        {"status": ["READY"]},
        {"message_type": ["GAME_JOIN_ACK"]},
        {"message_type": "LEAGUE_ERROR", "player_id": "P01", "choice": "even", "accept": True, "status": "ACCEPTED"},
    ],
)
def test_a_status_an_error_or_rubbish_is_no_answer(answer: Any) -> None:
    for message_type in [*FIELD_SPELLINGS, "A_GAME_S_OWN"]:
        assert not is_message_of_type(message_type, answer), message_type


@pytest.mark.parametrize(
    ("message_type", "field"),
    [(ACK, "accept"), (CHOICE, "parity_choice"), ("GAME_INVITATION_RESPONSE", "status"), ("OWN", "message_type")],
)
def test_what_an_answer_lacks_is_named(message_type: str, field: str) -> None:
    assert get_key_field(message_type) == field


SPELLED: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    (CHOICE, {"choice": "odd"}, {"parity_choice": "odd"}, ["'choice' for 'parity_choice'"]),
    (CHOICE, {"parity_choice": "odd", "choice": "even"}, {"parity_choice": "odd", "choice": "even"}, []),
    (CHOICE, {"parity_choice": "odd"}, {"parity_choice": "odd"}, []),
    (ACK, {"accepted": False}, {"accept": False}, ["'accepted' for 'accept'"]),
    *(
        (ACK, {"status": said}, {"status": said, "accept": comes}, [f"'status' '{said}' for 'accept'"])
        for comes, words in ((True, ("ACK", "ACCEPTED", "READY", "joined")), (False, ("NACK", "DECLINED", "REJECTED")))
        for said in words
    ),
    (ACK, {"status": "ACK", "accept": False}, {"status": "ACK", "accept": False}, []),
    ("GAME_MOVE_RESPONSE", {"move": 3}, {"move_data": 3}, ["'move' for 'move_data'"]),
    ("PLAY_RESPONSE", {"move": {"value": 1}}, {"play": {"value": 1}}, ["'move' for 'play'"]),
    ("GAME_INVITATION_RESPONSE", {"status": "ready"}, {"status": "READY"}, ["'status' 'ready' for 'READY'"]),
    ("GAME_INVITATION_RESPONSE", {"status": "READY"}, {"status": "READY"}, []),
    *(
        (message_type, {"status": "REGISTERED"}, {"status": "ACCEPTED"}, ["'status' 'REGISTERED' for 'ACCEPTED'"])
        for message_type, _ in ADMISSIONS
    ),
    (
        "LEAGUE_REGISTER_RESPONSE",
        {"status": "accepted"},
        {"status": "ACCEPTED"},
        ["'status' 'accepted' for 'ACCEPTED'"],
    ),
    ("LEAGUE_REGISTER_RESPONSE", {"status": "REJECTED"}, {"status": "REJECTED"}, []),
    ("GAME_OVER", {"choice": "odd", "status": "READY"}, {"choice": "odd", "status": "READY"}, []),
]


@pytest.mark.parametrize(("message_type", "said", "meant", "noted"), SPELLED)
def test_other_names_and_values_become_ours_and_are_noted(
    message_type: str, said: dict[str, Any], meant: dict[str, Any], noted: list[str]
) -> None:
    before = dict(said)
    assert normalise(message_type, said) == (meant, noted)
    assert said == before


@pytest.mark.parametrize("role", ["player", "referee"])
def test_metadata_may_be_in_camel_case(role: str) -> None:
    message_type = "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST"
    meta = {"displayName": "A", "version": "1", "gameTypes": ["even_odd"], "endpoint": "http://x/mcp"}
    tidy, noted = normalise(
        message_type, {f"{role}Meta": {**meta, "protocolVersion": "2.0.0", "maxConcurrentMatches": 3}}
    )
    assert tidy == {
        f"{role}_meta": {
            "display_name": "A",
            "version": "1",
            "game_types": ["even_odd"],
            "contact_endpoint": "http://x/mcp",
            "protocol_version": "2.0.0",
            "max_concurrent_matches": 3,
        }
    }
    assert set(noted) == {
        f"'{role}Meta' for '{role}_meta'",
        "'displayName' for 'display_name'",
        "'gameTypes' for 'game_types'",
        "'endpoint' for 'contact_endpoint'",
        "'protocolVersion' for 'protocol_version'",
        "'maxConcurrentMatches' for 'max_concurrent_matches'",
    }


def test_of_two_names_for_the_address_the_first_is_taken_and_ours_always() -> None:
    for meta in ({"contactEndpoint": "a", "contact_endpoint": "b"}, {"endpoint": "a", "contact_endpoint": "b"}):
        tidy, noted = normalise("LEAGUE_REGISTER_REQUEST", {"player_meta": meta})
        assert (tidy["player_meta"]["contact_endpoint"], noted) == ("b", [])


def test_a_thousand_odd_keys_leave_no_thousand_notes() -> None:
    odd = {f"oddKey{number}": number for number in range(1000)}
    tidy, noted = normalise("LEAGUE_REGISTER_REQUEST", {"player_meta": odd, **odd})
    assert (tidy["player_meta"], noted) == (odd, [])


@pytest.mark.parametrize("meta", [None, 5, "x", ["displayName"]])
def test_metadata_that_is_none_stays_what_it_is(meta: Any) -> None:
    assert normalise("LEAGUE_REGISTER_REQUEST", {"player_meta": meta}) == ({"player_meta": meta}, [])
