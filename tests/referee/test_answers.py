"""Reading answers: what is tolerated and noted, what is never tolerated, and what a strict reader takes."""

from typing import Any

import pytest

from agent_league.agent.answers import AnswerParser, JoinAnswer, ParsedAnswer
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.errors import BadAnswer, ErrorCode
from agent_league.games.even_odd import EVEN_ODD
from agent_league.protocol.version import PROTOCOL_V1
from tests.games.sticks import STICKS
from tests.protocol.examples_v1 import example as v1

ENVELOPE: dict[str, Any] = {
    "protocol": "league.v2",
    "sender": "player:P01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
}
EXPECTED = {"sender": "player:P01", "conversation_id": "conv-r1m1-001", "match_id": "R1M1", "player_id": "P01"}
ABOUT = {"match_id": "R1M1", "player_id": "P01"}
ACK = {**ENVELOPE, "message_type": "GAME_JOIN_ACK", **ABOUT, "accept": True}
CHOICE = {**ENVELOPE, "message_type": "CHOOSE_PARITY_RESPONSE", **ABOUT, "parity_choice": "odd"}
MOVE = {**ENVELOPE, "message_type": "GAME_MOVE_RESPONSE", **ABOUT, "move_data": 2}
COMES, DECLINES = JoinAnswer(accepts=True), JoinAnswer(accepts=False)
V1_EXPECTED = {
    "sender": "player_001",
    "conversation_id": v1("PLAY_RESPONSE")["conversation_id"],
    "match_id": "R1M1",
}


def reader(*, strict: bool = False) -> AnswerParser:
    return AnswerParser(strict=strict, expected=EXPECTED)


def v1_reader(*, strict: bool = False) -> AnswerParser:
    return match_dialect_of(PROTOCOL_V1).make_answer_parser(strict=strict, expected=V1_EXPECTED)


def without(message: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in names}


@pytest.mark.parametrize("strict", [False, True])
def test_an_answer_in_the_seeds_form_is_read_without_a_note(strict: bool) -> None:
    assert reader(strict=strict).parse_join_answer(ACK) == ParsedAnswer(COMES)
    assert reader(strict=strict).parse_join_answer({**ACK, "accept": False}) == ParsedAnswer(DECLINES)
    assert reader(strict=strict).parse_move_answer(EVEN_ODD.wire, CHOICE) == ParsedAnswer("odd")
    assert reader(strict=strict).parse_move_answer(STICKS.wire, MOVE) == ParsedAnswer(2)


@pytest.mark.parametrize("strict", [False, True])
def test_unknown_extra_fields_are_no_deviation(strict: bool) -> None:
    more = {"mood": "good", "reasoning": {"deep": [1]}}
    assert reader(strict=strict).parse_move_answer(EVEN_ODD.wire, {**CHOICE, **more}) == ParsedAnswer("odd")


BARE_ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({"accept": True}, ""),
    ({"accepted": True}, "'accepted' for 'accept'"),
    ({"status": "ACK"}, "'status' 'ACK' for 'accept'"),
    ({"status": "ACCEPTED"}, "'status' 'ACCEPTED' for 'accept'"),
    ({"status": "READY"}, "'status' 'READY' for 'accept'"),
    ({"status": "joined"}, "'status' 'joined' for 'accept'"),
]
MISSING = ("no 'protocol'", "no 'message_type'", "no 'sender'", "no 'timestamp'", "no 'conversation_id'")


@pytest.mark.parametrize(("answer", "note"), BARE_ANSWERS)
def test_a_join_is_read_in_each_of_its_spellings(answer: dict[str, Any], note: str) -> None:
    assert reader().parse_join_answer(answer) == ParsedAnswer(COMES, (*([note] if note else []), *MISSING))
    with pytest.raises(BadAnswer) as caught:
        reader(strict=True).parse_join_answer(answer)
    assert caught.value.code is ErrorCode.MISSING_REQUIRED_FIELD


@pytest.mark.parametrize("strict", [False, True])
def test_a_player_that_keeps_rounds_says_so_when_it_joins(strict: bool) -> None:
    keeps = JoinAnswer(accepts=True, keeps_rounds=True)
    assert reader(strict=strict).parse_join_answer({**ACK, "rounds_since": True}) == ParsedAnswer(keeps)


@pytest.mark.parametrize("said", [False, 1, "true", [True], {"a": 1}])
def test_anything_else_that_it_says_of_rounds_means_nothing(said: Any) -> None:
    for strict in (False, True):
        assert reader(strict=strict).parse_join_answer({**ACK, "rounds_since": said}) == ParsedAnswer(COMES)


@pytest.mark.parametrize("status", ["DECLINED", "REJECTED", "nack"])
def test_a_refusal_to_join_is_one_in_any_spelling(status: str) -> None:
    assert reader().parse_join_answer({"status": status}).value == DECLINES


def test_a_choice_may_be_called_choice_and_is_noted() -> None:
    answer = {**without(CHOICE, "parity_choice"), "choice": "even"}
    assert reader().parse_move_answer(EVEN_ODD.wire, answer) == ParsedAnswer("even", ("'choice' for 'parity_choice'",))
    answer_by_turn = {**without(MOVE, "move_data"), "move": 1}
    assert reader().parse_move_answer(STICKS.wire, answer_by_turn) == ParsedAnswer(1, ("'move' for 'move_data'",))
    with pytest.raises(BadAnswer, match="missing: parity_choice") as caught:
        reader(strict=True).parse_move_answer(EVEN_ODD.wire, answer)
    assert caught.value.code is ErrorCode.MISSING_REQUIRED_FIELD


def test_an_object_that_is_a_legal_move_is_never_unwrapped() -> None:
    whole = {"move": 1, "cells": [2]}
    answer = {**MOVE, "move_data": whole}
    assert reader().parse_move_answer(STICKS.wire, answer, lambda move: move in (whole, 1)) == ParsedAnswer(whole)
    assert reader().parse_move_answer(STICKS.wire, answer, lambda move: move == 1).value == 1
    assert reader(strict=True).parse_move_answer(STICKS.wire, answer, lambda move: move == 1).value == whole


@pytest.mark.parametrize("name", ["protocol", "message_type", "sender", "timestamp", "conversation_id"])
@pytest.mark.parametrize("how", ["missing", "null"])
def test_what_an_envelope_lacks_is_noted_and_an_error_for_a_strict_reader(name: str, how: str) -> None:
    answer = {**without(CHOICE, name), **({name: None} if how == "null" else {})}
    assert reader().parse_move_answer(EVEN_ODD.wire, answer) == ParsedAnswer("odd", (f"no '{name}'",))
    with pytest.raises(BadAnswer, match=f"missing in the envelope: {name}") as caught:
        reader(strict=True).parse_move_answer(EVEN_ODD.wire, answer)
    assert caught.value.code is ErrorCode.MISSING_REQUIRED_FIELD


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sender", "player:alpha"),
        ("conversation_id", "conv-of-another-kind"),
        ("match_id", "R9M9"),
        ("player_id", "alpha"),
    ],
)
def test_an_answer_belongs_to_its_call_whatever_it_claims_and_that_is_noted(name: str, value: str) -> None:
    answer = {**CHOICE, name: value}
    of_the_match = name in ("conversation_id", "match_id")
    note = f"another '{name}'" if of_the_match else f"'{name}' {value!r} for {EXPECTED[name]!r}"
    assert reader().parse_move_answer(EVEN_ODD.wire, answer) == ParsedAnswer("odd", (note,))
    with pytest.raises(BadAnswer, match=name) as caught:
        reader(strict=True).parse_move_answer(EVEN_ODD.wire, answer)
    assert caught.value.code is ErrorCode.INVALID_MESSAGE_FORMAT


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "choice", ["Even", "EVEN", " even", "even ", "", "evn", None, 0, True, ["even"], {"x": "even"}]
)
@pytest.mark.parametrize("name", ["parity_choice", "choice"])
def test_a_choice_in_another_case_or_with_blanks_is_never_tolerated(choice: Any, name: str, strict: bool) -> None:
    if strict and name == "choice":
        return
    with pytest.raises(BadAnswer) as caught:
        reader(strict=strict).parse_move_answer(EVEN_ODD.wire, {**without(CHOICE, "parity_choice"), name: choice})
    missing = choice is None and not strict
    assert caught.value.code is (ErrorCode.MISSING_REQUIRED_FIELD if missing else ErrorCode.INVALID_PARITY_CHOICE)


def test_a_move_that_is_null_is_a_missing_one() -> None:
    with pytest.raises(BadAnswer, match="missing: move_data"):
        reader().parse_move_answer(STICKS.wire, {**MOVE, "move_data": None})


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("timestamp", ["2025-01-15T10:15:00", "2025-01-15T10:15:00+02:00", "yesterday", ""])
def test_a_timestamp_in_local_time_is_never_tolerated(timestamp: str, strict: bool) -> None:
    for answer in ({**CHOICE, "timestamp": timestamp},):
        with pytest.raises(BadAnswer) as caught:
            reader(strict=strict).parse_move_answer(EVEN_ODD.wire, answer)
        assert caught.value.code is ErrorCode.INVALID_TIMESTAMP


def test_neither_is_the_time_of_arrival_in_local_time() -> None:
    with pytest.raises(BadAnswer) as caught:
        reader().parse_join_answer({**ACK, "arrival_timestamp": "2025-01-15T10:15:00"})
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert reader().parse_join_answer({**ACK, "arrival_timestamp": "2025-01-15T10:15:00.5+00:00"}).value == COMES


WRONG: list[tuple[dict[str, Any], ErrorCode]] = [
    ({"protocol": "league.v1"}, ErrorCode.PROTOCOL_VERSION_MISMATCH),
    ({"protocol": "league.v3"}, ErrorCode.PROTOCOL_VERSION_MISMATCH),
    ({"message_type": "GAME_MOVE_RESPONSE"}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"message_type": ["CHOOSE_PARITY_RESPONSE"]}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"sender": 5}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"timestamp": 1736936100}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"conversation_id": ["x"]}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"player_id": 1}, ErrorCode.INVALID_MESSAGE_FORMAT),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("fields", "code"), WRONG)
def test_a_field_that_says_something_else_is_an_error_for_every_reader(
    fields: dict[str, Any], code: ErrorCode, strict: bool
) -> None:
    with pytest.raises(BadAnswer) as caught:
        reader(strict=strict).parse_move_answer(EVEN_ODD.wire, {**CHOICE, **fields})
    assert caught.value.code is code
    assert caught.value.answer == {**CHOICE, **fields}


@pytest.mark.parametrize("answer", [None, "even", 5, True, [], [CHOICE]])
@pytest.mark.parametrize("make", [reader, v1_reader])
def test_what_is_no_object_is_no_answer(answer: Any, make: Any) -> None:
    for strict in (False, True):
        with pytest.raises(BadAnswer, match="found no object in 'result'"):
            make(strict=strict).parse_move_answer(EVEN_ODD.wire, answer)
        with pytest.raises(BadAnswer, match="found no object in 'result'"):
            make(strict=strict).parse_join_answer(answer)


def test_an_accept_that_is_no_boolean_is_an_error() -> None:
    for accept in ("true", 1, "yes"):
        with pytest.raises(BadAnswer, match="accept"):
            reader().parse_join_answer({"accept": accept})


def test_a_note_is_short_and_shows_no_token() -> None:
    token = "tok-p01-" + "a" * 64
    signed = "eyJ" + "a" * 40 + "." + "b" * 40 + "." + "c" * 40
    for secret in (token, signed):
        (note,) = reader().parse_move_answer(EVEN_ODD.wire, {**CHOICE, "sender": secret}).deviations
        assert "aaaaaaaa" not in note
    (note,) = reader().parse_move_answer(EVEN_ODD.wire, {**CHOICE, "sender": "x" * 10_000}).deviations
    assert len(note) < 120


PLAY = v1("PLAY_RESPONSE")
READY = v1("GAME_INVITATION_RESPONSE")


@pytest.mark.parametrize("strict", [False, True])
def test_the_answers_of_001_are_read_without_a_note(strict: bool) -> None:
    assert v1_reader(strict=strict).parse_join_answer(READY) == ParsedAnswer(COMES)
    assert v1_reader(strict=strict).parse_join_answer({**READY, "status": "DECLINED"}) == ParsedAnswer(DECLINES)
    assert v1_reader(strict=strict).parse_move_answer(EVEN_ODD.wire, PLAY) == ParsedAnswer("even")


V1_SPELLINGS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({**without(PLAY, "play"), "move": PLAY["play"]}, ("'move' for 'play'",)),
    ({**PLAY, "message_type": "MOVE_RESPONSE"}, ("'message_type' 'MOVE_RESPONSE' for 'PLAY_RESPONSE'",)),
    (without(PLAY, "timestamp", "round_id"), ("no 'round_id'", "no 'timestamp'")),
    ({**PLAY, "message_type": None}, ("no 'message_type'",)),
    ({**PLAY, "league_id": "not a uuid", "round_id": "one"}, ()),
    ({**PLAY, "sender": "player_candidate"}, ("'sender' 'player_candidate' for 'player_001'",)),
    ({**PLAY, "match_id": "R9M9"}, ("another 'match_id'",)),
]


@pytest.mark.parametrize(("answer", "noted"), V1_SPELLINGS)
def test_other_spellings_of_a_play_are_read_and_noted(answer: dict[str, Any], noted: tuple[str, ...]) -> None:
    assert v1_reader().parse_move_answer(EVEN_ODD.wire, answer) == ParsedAnswer("even", noted)
    with pytest.raises(BadAnswer):
        v1_reader(strict=True).parse_move_answer(EVEN_ODD.wire, answer)


def test_a_status_of_001_may_be_in_small_letters() -> None:
    assert v1_reader().parse_join_answer({**READY, "status": "ready"}) == ParsedAnswer(
        COMES, ("'status' 'ready' for 'READY'",)
    )
    with pytest.raises(BadAnswer):
        v1_reader(strict=True).parse_join_answer({**READY, "status": "ready"})


V1_WRONG: list[tuple[dict[str, Any], ErrorCode]] = [
    ({"protocol": "league.v2"}, ErrorCode.PROTOCOL_VERSION_MISMATCH),
    ({"protocol": ["league.v1"]}, ErrorCode.PROTOCOL_VERSION_MISMATCH),
    ({"message_type": "PLAY_REQUEST"}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"message_type": ["PLAY_RESPONSE"]}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"message_type": {"a": 1}}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"timestamp": "2025-12-13T22:05:05.000"}, ErrorCode.INVALID_TIMESTAMP),
    ({"play": "even"}, ErrorCode.INVALID_MESSAGE_FORMAT),
    ({"play": {"action": "choose"}}, ErrorCode.MISSING_REQUIRED_FIELD),
    ({"play": None}, ErrorCode.INVALID_MESSAGE_FORMAT),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("fields", "code"), V1_WRONG)
def test_a_wrong_answer_of_001_is_an_error_for_every_reader(
    fields: dict[str, Any], code: ErrorCode, strict: bool
) -> None:
    with pytest.raises(BadAnswer) as caught:
        v1_reader(strict=strict).parse_move_answer(EVEN_ODD.wire, {**PLAY, **fields})
    assert caught.value.code is code


@pytest.mark.parametrize("make", [reader, v1_reader])
def test_only_a_strict_reader_looks_at_the_envelope_before_the_token(make: Any) -> None:
    with pytest.raises(BadAnswer) as caught:
        make(strict=True).check_envelope({"status": "received"}, "GAME_JOIN_ACK")
    assert caught.value.code is ErrorCode.MISSING_REQUIRED_FIELD
