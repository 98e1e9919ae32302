"""What our agents send: at least the fields of the seeds, with the same types, in every message."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agent_league.protocol.v2 import MESSAGES
from tests.protocol.examples import EXAMPLES, Example, name_of
from tests.protocol.shapes import fields, is_entry, shape_of
from tests.protocol.test_golden import OF_THE_SEEDS
from tests.protocol.traffic import QUERIES, Exchange

Message = Mapping[str, Any]
Sent = list[dict[str, Any]]

NEVER_SENT = {
    "LEAGUE_QUERY": "our agents learn everything from notices",
    "START_LEAGUE": "the organiser's command sends it",
    "MANAGE_LEAGUE": "the organiser's command and page send it",
    "REQUEST_MATCH": "only players of a practice ladder ask for matches",
    "GAME_MOVE_CALL": "Even/Odd has a question of its own",
}


def _status(message: Message) -> Any:
    return message["game_result"]["status"] if "game_result" in message else message["result"]["status"]


def _rejected(message: Message) -> bool:
    return bool(message["status"] == "REJECTED")


def _no_winner(message: Message) -> bool:
    return _status(message) in ("DRAW", "TECHNICAL_LOSS")


def _technical(message: Message) -> bool:
    return bool(_status(message) == "TECHNICAL_LOSS")


def _no_more_attempts(message: Message) -> bool:
    return not message["retryable"]


MAY_BE_NULL: Mapping[tuple[str, str], Callable[[Message], bool]] = {
    ("LEAGUE_REGISTER_RESPONSE", "player_id"): _rejected,
    ("LEAGUE_REGISTER_RESPONSE", "auth_token"): _rejected,
    ("REFEREE_REGISTER_RESPONSE", "referee_id"): _rejected,
    ("REFEREE_REGISTER_RESPONSE", "auth_token"): _rejected,
    ("GAME_OVER", "game_result.winner_player_id"): _no_winner,
    ("GAME_OVER", "game_result.drawn_number"): _technical,
    ("GAME_OVER", "game_result.number_parity"): _technical,
    ("MATCH_RESULT_REPORT", "result.winner"): _no_winner,
    ("MATCH_RESULT_REPORT", "result.details.drawn_number"): _technical,
    ("ROUND_COMPLETED", "next_round_id"): lambda message: True,
    ("GAME_ERROR", "retry_info.next_retry_at"): _no_more_attempts,
}
"""Where protocol.md lets a field be null, and when."""

NULL_IN_THE_SEEDS = {"reason": "string"}
"""Fields that the examples only show as null, and their type when they are not."""


def of_type(sent: Sent, message_type: str) -> Sent:
    return [message for message in sent if message["message_type"] == message_type]


def test_every_message_type_occurs_in_the_recorded_traffic(sent: Sent) -> None:
    assert {message["message_type"] for message in sent} == set(MESSAGES) - set(NEVER_SENT)


@pytest.mark.parametrize("message_type", sorted(OF_THE_SEEDS - set(NEVER_SENT)))
def test_a_message_has_all_fields_of_its_examples_with_their_types(sent: Sent, message_type: str) -> None:
    required = shape_of(example.message for example in EXAMPLES if example.message_type == message_type)
    for message in of_type(sent, message_type):
        found = shape_of([message])
        for path, kinds in required.items():
            if path.startswith("context.") and message_type.endswith("_ERROR"):
                continue
            if path not in found:
                assert is_entry(path), f"{message_type} lacks {path}: {message}"
                continue
            allowed = kinds | {NULL_IN_THE_SEEDS[path]} if path in NULL_IN_THE_SEEDS else set(kinds)
            null_when = MAY_BE_NULL.get((message_type, path))
            if null_when and null_when(message):
                allowed.add("null")
            assert found[path] <= allowed, f"{path} of {message_type} is {found[path]}, not {allowed}: {message}"


ERRORS = [example for example in EXAMPLES if example.message_type == "LEAGUE_ERROR"]


@pytest.mark.parametrize("example", ERRORS, ids=name_of)
def test_the_context_of_a_league_error_has_all_fields_of_its_examples(sent: Sent, example: Example) -> None:
    code = example.message["error_code"]
    errors = [message for message in of_type(sent, "LEAGUE_ERROR") if message["error_code"] == code]
    assert errors
    for error in errors:
        assert set(example.message["context"]) <= set(error["context"])
        assert error["context"]["action"] == error["original_message_type"] == "LEAGUE_QUERY"
        assert error["context"].get("provided_token", "[redacted]") == "[redacted]"


def test_no_field_changes_its_type_between_messages(sent: Sent) -> None:
    for message_type in MESSAGES:
        for path, kinds in shape_of(of_type(sent, message_type)).items():
            if not path.startswith(("context.", "data.", "error.")):
                assert len(kinds - {"null"}) <= 1, f"{path} of {message_type} comes as {kinds}"


def test_every_timestamp_that_we_send_is_in_the_one_form(sent: Sent) -> None:
    names = re.compile(r"(timestamp|deadline|next_retry_at|arrival_timestamp)$")
    form = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    seen = 0
    for message in sent:
        flat = {**message, **message.get("retry_info", {})}
        for name, value in flat.items():
            if names.search(name) and value is not None:
                seen += 1
                assert form.fullmatch(value), f"{name} {value!r} in {message}"
    assert seen > len(sent)


def test_every_request_that_we_send_has_an_integer_id(traffic: list[Exchange]) -> None:
    frames = [exchange.frame for exchange in traffic if exchange.asked_by_us]
    assert frames
    for frame in frames:
        assert frame["jsonrpc"] == "2.0"
        assert type(frame["id"]) is int


def test_every_reply_repeats_the_conversation_of_its_request(traffic: list[Exchange]) -> None:
    compared = 0
    for exchange in traffic:
        if exchange.answered_by_us and exchange.reply:
            result = json.loads(exchange.reply)["result"]
            if "message_type" in result:
                compared += 1
                assert result["conversation_id"] == exchange.frame["params"]["conversation_id"]
    assert compared > 50


def test_notices_and_orders_are_answered_with_status_ok(traffic: list[Exchange]) -> None:
    answered_with_more = {
        "register_player",
        "register_referee",
        "league_query",
        "handle_game_invitation",
        "choose_parity",
        "make_move",
        "get_match_state",
    }
    for exchange in traffic:
        if exchange.answered_by_us and exchange.frame["method"] not in answered_with_more:
            assert json.loads(exchange.reply)["result"] == {"status": "ok"}


def test_both_kinds_of_a_registration_are_answered(sent: Sent) -> None:
    refused = {
        "LEAGUE_REGISTER_RESPONSE": "Registration closed",
        "REFEREE_REGISTER_RESPONSE": "Unsupported game type",
    }
    for message_type, reason in refused.items():
        answers = {message["status"]: message for message in of_type(sent, message_type)}
        assert answers["ACCEPTED"]["reason"] is None
        assert answers["REJECTED"]["reason"] == reason
        assert answers["REJECTED"]["auth_token"] is None


def test_only_the_referees_copy_of_a_round_carries_the_players_endpoints(traffic: list[Exchange]) -> None:
    copies = {"player": set[bool](), "referee": set[bool]()}
    for exchange in traffic:
        if exchange.frame["method"] == "notify_round":
            role = "referee" if ":800" in exchange.endpoint else "player"
            for match in exchange.frame["params"]["matches"]:
                copies[role].add("player_A_endpoint" in match and "player_B_endpoint" in match)
    assert copies == {"player": {False}, "referee": {True}}


def test_start_match_carries_all_that_a_referee_must_know(sent: Sent) -> None:
    player = {"player_id", "display_name", "endpoint", "protocol", "token_sha256", "standings"}
    flat = {"player_A_id", "player_A_endpoint", "player_B_id", "player_B_endpoint"}
    own = {"league_id", "round_id", "match_id", "game_type", "player_A", "player_B", "match_token", "conversation_id"}
    for message in of_type(sent, "START_MATCH"):
        assert own | flat <= set(message)
        for side in ("A", "B"):
            known = message[f"player_{side}"]
            assert player <= set(known)
            assert re.fullmatch(r"[0-9a-f]{64}", known["token_sha256"])
            assert known["player_id"] == message[f"player_{side}_id"]
            assert known["endpoint"] == message[f"player_{side}_endpoint"]


def test_after_a_technical_loss_the_other_player_has_won_and_nothing_was_drawn(sent: Sent) -> None:
    lost = [m["game_result"] for m in of_type(sent, "GAME_OVER") if m["game_result"]["status"] == "TECHNICAL_LOSS"]
    assert any(result["winner_player_id"] for result in lost)
    assert any(result["winner_player_id"] is None for result in lost)
    for result in lost:
        assert result["drawn_number"] is None
        assert result["number_parity"] is None
        assert result["choices"] is not None


def test_an_error_message_has_the_name_twice_and_the_sentence_beside_it(sent: Sent) -> None:
    errors = [*of_type(sent, "GAME_ERROR"), *of_type(sent, "LEAGUE_ERROR")]
    assert {error["error_code"] for error in errors} >= {"E001", "E002", "E003", "E004", "E011", "E012", "E018", "E021"}
    for error in errors:
        assert error["error_name"] == error["error_description"] != error["message"]
        assert isinstance(error["retryable"], bool)


def test_a_game_error_counts_the_attempts_in_both_forms(sent: Sent) -> None:
    for error in of_type(sent, "GAME_ERROR"):
        assert error["affected_player"] == error["player_id"]
        assert error["retry_count"] == error["retry_info"]["retry_count"]
        assert error["max_retries"] == error["retry_info"]["max_retries"] == 3
        assert 1 <= error["retry_count"] <= 3
        assert (error["retry_info"]["next_retry_at"] is None) == (not error["retryable"])


def test_a_round_completed_counts_its_matches_twice_and_names_the_next_round(sent: Sent) -> None:
    completed = of_type(sent, "ROUND_COMPLETED")
    assert {message["next_round_id"] is None for message in completed} == {True, False}
    for message in completed:
        assert message["matches_completed"] == message["matches_played"] == message["summary"]["total_matches"]


def test_all_four_queries_are_answered_and_standings_stand_at_the_top(sent: Sent) -> None:
    answers = of_type(sent, "LEAGUE_QUERY_RESPONSE")
    assert {answer["query_type"] for answer in answers} == set(QUERIES)
    update = shape_of(of_type(sent, "LEAGUE_STANDINGS_UPDATE"))
    for answer in answers:
        assert {"query_type", "success", "data", "error"} <= set(answer)
        assert answer["success"] == (answer["error"] is None) == (answer["data"] is not None)
        if answer["query_type"] == "GET_STANDINGS":
            assert {name for name, _ in fields(answer) if name.startswith("standings")} == {
                name for name in update if name.startswith("standings")
            }
    assert [answer["error"]["error_code"] for answer in answers if not answer["success"]] == ["E005"]


def test_a_referee_shows_its_league_token_to_nobody_but_the_manager(traffic: list[Exchange]) -> None:
    tokens = {
        json.loads(exchange.reply)["result"]["auth_token"]
        for exchange in traffic
        if exchange.frame["method"] == "register_referee"
    } - {None}
    assert len(tokens) == 4
    for exchange in traffic:
        if exchange.frame["method"] not in ("report_match_result", "register_referee"):
            assert not any(token.encode() in exchange.request + exchange.reply for token in tokens)
