"""The checks on an arriving message: in the order of the protocol, and with an error that helps."""

import json
from typing import Any

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol import v2
from agent_league.protocol.checks import SharedParams, check_envelope, describe_value, parse_fields
from agent_league.protocol.envelope import MessagePart
from tests.protocol.examples import requests_by_method

QUERY: dict[str, Any] = requests_by_method()["league_query"]["params"]
REQUIRED = ["protocol", "message_type", "sender", "timestamp", "conversation_id"]


def refused(message: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        check_envelope(message, "LEAGUE_QUERY")
    return caught.value


def without(message: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in names}


def test_a_right_envelope_passes() -> None:
    envelope = check_envelope(QUERY, "LEAGUE_QUERY")
    assert envelope.message_type == "LEAGUE_QUERY"
    assert str(envelope.sender) == "player:P01"
    assert envelope.auth_token == "tok-p01-xyz789"
    assert envelope.league_id == "league_2025_even_odd"


def test_the_envelope_of_a_broadcast_is_checked_once_for_each_type_that_is_expected() -> None:
    shared = SharedParams(QUERY)
    assert check_envelope(shared, "LEAGUE_QUERY") == check_envelope(QUERY, "LEAGUE_QUERY")
    assert check_envelope(shared, "LEAGUE_QUERY") is check_envelope(shared, "LEAGUE_QUERY")
    for _ in range(2):
        with pytest.raises(Refusal, match="'message_type' must be"):
            check_envelope(shared, "ROUND_ANNOUNCEMENT")
    broken = SharedParams({**QUERY, "sender": "somebody"})
    for _ in range(2):
        assert refused(broken).context["field"] == "sender"


@pytest.mark.parametrize("protocol", ["league.v1", "league.v3", "LEAGUE.V2", "", 2, ["league.v2"], {}, False])
def test_an_unknown_protocol_is_refused_with_e018(protocol: object) -> None:
    refusal = refused({**QUERY, "protocol": protocol})
    assert refusal.code is ErrorCode.PROTOCOL_VERSION_MISMATCH
    assert refusal.context["expected"] == "league.v2"
    assert refusal.context["received"] == describe_value(protocol)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_envelope_field_is_refused_with_e003_and_named(name: str) -> None:
    for message in (without(QUERY, name), {**QUERY, name: None}):
        refusal = refused(message)
        assert refusal.code is ErrorCode.MISSING_REQUIRED_FIELD
        assert refusal.context["missing_fields"] == [name]
        assert name in refusal.message


def test_all_missing_envelope_fields_are_named_at_once() -> None:
    assert refused({}).context["missing_fields"] == REQUIRED
    assert refused(without(QUERY, "sender", "timestamp")).context["missing_fields"] == ["sender", "timestamp"]


@pytest.mark.parametrize("name", ["message_type", "sender", "timestamp", "conversation_id", "auth_token", "match_id"])
@pytest.mark.parametrize("value", [7, 1.5, True, [], {}, ["x"]])
def test_a_field_of_another_type_is_refused_with_e002(name: str, value: object) -> None:
    refusal = refused({**QUERY, name: value})
    assert refusal.code is ErrorCode.INVALID_MESSAGE_FORMAT
    assert refusal.context["field"] == name


@pytest.mark.parametrize("value", ["1", 1.0, True, [1]])
def test_a_round_is_an_integer(value: object) -> None:
    refusal = refused({**QUERY, "round_id": value})
    assert (refusal.code, refusal.context["field"]) == (ErrorCode.INVALID_MESSAGE_FORMAT, "round_id")


@pytest.mark.parametrize("name", ["auth_token", "league_id", "round_id", "match_id"])
def test_what_a_message_may_leave_out_may_also_be_null(name: str) -> None:
    check_envelope({**QUERY, name: None}, "LEAGUE_QUERY")
    check_envelope(without(QUERY, name), "LEAGUE_QUERY")


def test_a_message_of_another_type_is_refused_with_e002_and_the_expected_one() -> None:
    refusal = refused({**QUERY, "message_type": "GAME_OVER"})
    assert refusal.code is ErrorCode.INVALID_MESSAGE_FORMAT
    assert "LEAGUE_QUERY" in refusal.context["expected"]
    assert refusal.context["received"] == "GAME_OVER"


def test_a_sender_without_a_role_is_refused_with_e002() -> None:
    refusal = refused({**QUERY, "sender": "P01"})
    assert (refusal.code, refusal.context["field"]) == (ErrorCode.INVALID_MESSAGE_FORMAT, "sender")


def test_a_local_time_is_refused_with_e021() -> None:
    refusal = refused({**QUERY, "timestamp": "2025-01-15T10:30:00+02:00"})
    assert refusal.code is ErrorCode.INVALID_TIMESTAMP
    assert refusal.context["received"] == "2025-01-15T10:30:00+02:00"


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("E018", {"protocol": "league.v9"}),
    ("E003", {"conversation_id": None}),
    ("E002", {"sender": 5}),
    ("E021", {"timestamp": "yesterday"}),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_a_message_with_several_faults_is_refused_for_the_first(first: int) -> None:
    code, _ = FAULTS[first]
    faulty = {**QUERY}
    for _, fault in FAULTS[first:]:
        faulty |= fault
    assert refused(faulty).code == ErrorCode(code)


def read(model: type[MessagePart], message: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_fields(model, message)
    return caught.value


REGISTRATION: dict[str, Any] = requests_by_method()["register_player"]["params"]
REPORT: dict[str, Any] = requests_by_method()["report_match_result"]["params"]
CHOICE = {**QUERY, "message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}
MOVE = {**QUERY, "message_type": "GAME_MOVE_RESPONSE"}


def test_all_missing_fields_of_a_message_are_named_with_their_paths() -> None:
    refusal = read(v2.LeagueRegisterRequest, {**REGISTRATION, "player_meta": {"version": "1.0.0"}})
    assert refusal.code is ErrorCode.MISSING_REQUIRED_FIELD
    assert refusal.context["missing_fields"] == [
        "player_meta.display_name",
        "player_meta.game_types",
        "player_meta.contact_endpoint",
    ]


def test_missing_fields_come_before_wrong_ones() -> None:
    refusal = read(v2.LeagueRegisterRequest, {**REGISTRATION, "player_meta": {"version": 1}})
    assert refusal.code is ErrorCode.MISSING_REQUIRED_FIELD


@pytest.mark.parametrize("name", ["", "x" * 101])
def test_a_name_without_or_with_too_many_letters_is_refused(name: str) -> None:
    meta = {**REGISTRATION["player_meta"], "display_name": name}
    refusal = read(v2.LeagueRegisterRequest, {**REGISTRATION, "player_meta": meta})
    assert (refusal.code, refusal.context["field"]) == (
        ErrorCode.INVALID_MESSAGE_FORMAT,
        "player_meta.display_name",
    )


@pytest.mark.parametrize("choice", ["EVEN", "Odd", " even", "", 1, None, ["even"]])
def test_a_choice_that_is_none_is_refused_with_e004(choice: object) -> None:
    refusal = read(v2.ChooseParityResponse, {**CHOICE, "parity_choice": choice})
    assert (refusal.code, refusal.context["field"]) == (ErrorCode.INVALID_PARITY_CHOICE, "parity_choice")
    assert refusal.context["received"] == describe_value(choice)


def test_a_missing_choice_is_a_missing_field() -> None:
    assert read(v2.ChooseParityResponse, without(CHOICE, "parity_choice")).code is ErrorCode.MISSING_REQUIRED_FIELD
    assert read(v2.GameMoveResponse, MOVE).code is ErrorCode.MISSING_REQUIRED_FIELD


def test_a_wrong_field_says_what_was_expected_and_what_came() -> None:
    refusal = read(v2.LeagueQuery, {**QUERY, "query_type": "GET_RICH"})
    assert refusal.code is ErrorCode.INVALID_MESSAGE_FORMAT
    assert refusal.context["field"] == "query_type"
    assert "GET_STANDINGS" in refusal.context["expected"]
    assert refusal.context["received"] == "GET_RICH"


def test_what_came_is_shown_short_and_large_things_only_by_their_kind() -> None:
    assert describe_value("x" * 1000) == "x" * 77 + "..."
    assert describe_value("short") == "short"
    assert [describe_value(value) for value in (None, True, 7, 1.5)] == [None, True, 7, 1.5]
    assert describe_value({"a": 1}) == "(dict)"
    assert describe_value([1, 2]) == "(list)"


@pytest.mark.parametrize("token", [123456789, 1.5, ["tok-p01-secret"], {"value": "tok-p01-secret"}])
def test_of_a_wrong_token_nothing_but_its_kind_is_shown(token: object) -> None:
    refusal = refused({**QUERY, "auth_token": token})
    assert refusal.code is ErrorCode.INVALID_MESSAGE_FORMAT
    assert refusal.context["received"] == f"({type(token).__name__})"


def test_a_wrong_token_inside_a_message_is_not_shown_either() -> None:
    refusal = read(v2.StartMatch, {**REPORT, "player_A": _player(), "player_B": _player(), "match_token": 123456789})
    assert refusal.context["field"] == "match_token"
    assert "123456789" not in json.dumps(dict(refusal.context)) + refusal.message


def test_a_long_list_of_wrong_items_gets_a_short_answer() -> None:
    update = {**REPORT, "message_type": "LEAGUE_STANDINGS_UPDATE", "standings": [{}] * 100_000}
    refusal = read(v2.LeagueStandingsUpdate, update)
    assert refusal.code is ErrorCode.MISSING_REQUIRED_FIELD
    assert {path.split(".")[1] for path in refusal.context["missing_fields"]} == {"0"}


def test_many_missing_fields_are_counted_rather_than_listed() -> None:
    class Wide(MessagePart):
        __annotations__ = {f"field_{number}": int for number in range(50)}

    refusal = read(Wide, {})
    assert len(refusal.context["missing_fields"]) == 20
    assert refusal.message.endswith("and 30 more")


def test_a_name_made_up_by_the_sender_is_cut_in_the_answer() -> None:
    result = {"winner": None, "score": {"P" * 100_000: "many"}}
    refusal = read(v2.MatchResultReport, {**REPORT, "result": result})
    assert refusal.code is ErrorCode.INVALID_MESSAGE_FORMAT
    assert len(refusal.message) < 400


def _player() -> dict[str, Any]:
    return {"player_id": "P01", "display_name": "A", "endpoint": "http://localhost:8101/mcp"}
