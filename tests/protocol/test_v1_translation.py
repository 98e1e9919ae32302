"""From `league.v1` to `league.v2` and back: each message asks for the right method, and nothing is made up."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.errors import ErrorCode, Refusal
from agent_league.http.hosts import find_endpoint_problem
from agent_league.league.roster import RejectReason
from agent_league.model.agents import Role
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import check_envelope, parse_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v1.ids import derive_league_uuid
from agent_league.protocol.v1.messages import build_game_summary
from agent_league.protocol.v1.translation import (
    TranslatedCall,
    translate_registration_to_v1,
    translate_reply_to_v1,
    translate_to_v2,
)
from tests.protocol.examples_v1 import BASE, MESSAGES, example

LEAGUE = example("GAME_RESULT")["league_id"]
OTHER_LEAGUE = "9e107d9d-372b-4b68-8f2a-0c1e5a3f4b6d"
ENVELOPE = {"sender": "player:player_001", "timestamp": "2025-12-13T22:05:01Z", "conversation_id": "conv-1"}
NOW = datetime(2025, 12, 13, 22, 5, 1, 234567, UTC)
WRITTEN = "2025-12-13T22:05:01.234Z"
NOTICES = ["LEAGUE_START_ANNOUNCEMENT", "GAME_START", "PLAY_VALIDATION"]
ASKED_OF = {
    Role.PLAYER: {
        "GAME_INVITATION": "handle_game_invitation",
        "PLAY_REQUEST": "choose_parity",
        "GAME_RESULT": "notify_match_result",
        "ROUND_COMPLETE": "notify_round_completed",
        "LEAGUE_COMPLETE": "notify_league_completed",
    },
    Role.LEAGUE_MANAGER: {"LEAGUE_REGISTER_REQUEST": "register_player", "GAME_RESULT": "report_match_result"},
}
ASKED = [(role, kind, method) for role, asked in ASKED_OF.items() for kind, method in asked.items()]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """An example in which one value, at whatever depth, is another."""
    message = deepcopy(example(draw(st.sampled_from(sorted(MESSAGES)))))
    where: Any = message
    while True:
        key = draw(st.sampled_from(list(where) if isinstance(where, dict) else range(len(where))))
        inner = where[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            where[key] = draw(JSON)
            return message
        where = inner


def read(call: TranslatedCall) -> Message:
    """The translated message, once it has passed the checks of v2."""
    assert call.method is not None
    model = METHODS[call.method].request
    assert model is not None
    check_envelope(call.params, model.TYPE)
    return parse_fields(model, call.params)


def asked(message: dict[str, Any], role: Role = Role.PLAYER) -> Any:
    return read(translate_to_v2(message, role))


def result(**changes: Any) -> dict[str, Any]:
    return example("GAME_RESULT", result={**example("GAME_RESULT")["result"], **changes})


def replied(reply: Message, request: dict[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = translate_reply_to_v1(reply.to_wire(), request, NOW)
    BASE.validate(written)
    v1.MESSAGES[written["message_type"]].model_validate(written)
    return written


@pytest.mark.parametrize(("role", "message_type", "method"), ASKED)
def test_a_message_asks_for_its_method_and_passes_the_checks_of_v2(role: Role, message_type: str, method: str) -> None:
    message = example(message_type)
    call = translate_to_v2(message, role)
    assert call.method == method
    translated = read(call)
    assert role in METHODS[method].served_by
    for name in ("timestamp", "conversation_id", "round_id", "match_id"):
        assert getattr(translated, name) == message[name]


@pytest.mark.parametrize("message_type", NOTICES)
def test_a_notice_for_which_v2_has_no_word_is_only_acknowledged(message_type: str) -> None:
    assert translate_to_v2(example(message_type), Role.PLAYER) == TranslatedCall(None, {})


@pytest.mark.parametrize("role", Role)
def test_what_isnt_asked_of_a_role_is_refused_with_e002(role: Role) -> None:
    served = {*ASKED_OF.get(role, {}), *(NOTICES if role is Role.PLAYER else ())}
    for message_type in set(MESSAGES) - served:
        with pytest.raises(Refusal) as caught:
            translate_to_v2(example(message_type), role)
        assert caught.value.code is ErrorCode.INVALID_MESSAGE_FORMAT
        assert caught.value.context["field"] == "message_type"
        assert all(kind in str(caught.value.context["expected"]) for kind in served)


@pytest.mark.parametrize("message_type", [*ASKED_OF[Role.PLAYER], *NOTICES])
def test_a_wrong_envelope_is_refused_before_anything_else(message_type: str) -> None:
    with pytest.raises(Refusal) as caught:
        translate_to_v2(example(message_type, sender=None, timestamp=None), Role.PLAYER)
    assert caught.value.context["missing_fields"] == ["sender", "timestamp"]


@pytest.mark.parametrize(
    ("role", "message_type", "field"),
    [
        (Role.PLAYER, "GAME_INVITATION", "game_info"),
        (Role.PLAYER, "PLAY_REQUEST", "game_state"),
        (Role.PLAYER, "GAME_RESULT", "result"),
        (Role.PLAYER, "ROUND_COMPLETE", "round_summary"),
        (Role.PLAYER, "LEAGUE_COMPLETE", "final_standings"),
        (Role.LEAGUE_MANAGER, "LEAGUE_REGISTER_REQUEST", "player_meta"),
        (Role.LEAGUE_MANAGER, "GAME_RESULT", "result"),
    ],
)
def test_a_message_s_own_fields_are_named_as_v1_calls_them(role: Role, message_type: str, field: str) -> None:
    message = example(message_type)
    del message[field]
    with pytest.raises(Refusal) as missing:
        translate_to_v2(message, role)
    assert missing.value.code is ErrorCode.MISSING_REQUIRED_FIELD
    assert missing.value.context["missing_fields"] == [field]
    for wrong in ("text", 5, [1]):
        with pytest.raises(Refusal) as caught:
            translate_to_v2({**message, field: wrong}, role)
        assert (caught.value.code, caught.value.context["field"]) == (ErrorCode.INVALID_MESSAGE_FORMAT, field)


@given(damaged(), st.sampled_from(Role))
def test_whatever_stands_in_a_message_it_is_translated_or_refused(message: dict[str, Any], role: Role) -> None:
    try:
        call = translate_to_v2(message, role)
    except Refusal:
        return
    if call.method is not None:
        read(call)


@pytest.mark.parametrize(
    ("sender", "at_player", "at_manager"),
    [
        ("league_manager", "league_manager", "league_manager"),
        ("referee", "referee:referee", "referee:referee"),
        ("player_candidate", "player:player_candidate", "player:candidate"),
        ("player_001", "player:player_001", "player:P01"),
        ("player_alpha", "player:player_alpha", "player:alpha"),
    ],
)
def test_a_sender_is_who_it_was(sender: str, at_player: str, at_manager: str) -> None:
    message = example("GAME_RESULT", sender=sender)
    assert asked(message).sender == at_player
    assert asked(message, Role.LEAGUE_MANAGER).sender == at_manager


@pytest.mark.parametrize(("role", "seat"), [("challenger", "PLAYER_A"), ("defender", "PLAYER_B")])
def test_an_invitation_tells_game_seat_and_opponent(role: str, seat: str) -> None:
    info = {**example("GAME_INVITATION")["game_info"], "your_role": role}
    invitation: v2.GameInvitation = asked(example("GAME_INVITATION", game_info=info))
    assert (invitation.game_type, invitation.role_in_match) == ("even_odd", seat)
    assert invitation.opponent_id == "player_002"
    assert invitation.league_id == LEAGUE


def test_a_move_request_is_a_play_request() -> None:
    call = translate_to_v2(example("PLAY_REQUEST", message_type="MOVE_REQUEST"), Role.PLAYER)
    assert call.method == "choose_parity"
    assert isinstance(read(call), v2.ChooseParityCall)


def test_a_play_request_that_lists_the_moves_asks_for_one_of_them() -> None:
    state = {
        "turn_number": 3,
        "timeout_seconds": 30,
        "game_specific_state": {
            "previous_plays": [4, 0],
            "game_type": "tic_tac_toe",
            "valid_options": [1, 2, 3],
            "view": {"board": "X.."},
            "your_role": "defender",
        },
    }
    call = translate_to_v2(example("PLAY_REQUEST", game_state=state), Role.PLAYER)
    assert call.method == "make_move"
    move: Any = read(call)
    assert move.game_type == "tic_tac_toe"
    assert move.move_request.model_dump(exclude_unset=True) == {
        "move_type": "tic_tac_toe",
        "valid_options": [1, 2, 3],
        "context": {"board": "X.."},
        "step": 2,
        "your_role": "PLAYER_B",
    }


def test_a_play_request_with_a_schema_of_the_moves_asks_for_one_that_it_allows() -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 10**9}
    state = {"turn_number": 1, "game_specific_state": {"game_type": "highest", "move_schema": schema, "view": [1]}}
    call = translate_to_v2(example("PLAY_REQUEST", game_state=state), Role.PLAYER)
    assert call.method == "make_move"
    assert call.params["move_request"] == {
        "move_type": "highest",
        "move_schema": schema,
        "context": [1],
        "step": 0,
        "your_role": "PLAYER_A",
    }


@pytest.mark.parametrize(
    ("outcome", "status", "winner"),
    [
        ("WIN", "WIN", "player_001"),
        ("DRAW", "DRAW", None),
        ("TIE", "DRAW", None),
        ("FORFEIT", "TECHNICAL_LOSS", "player_002"),
        ("FORFEIT", "TECHNICAL_LOSS", None),
    ],
)
def test_a_result_is_told_to_a_player_and_reported_to_the_manager(
    outcome: str, status: str, winner: str | None
) -> None:
    message = result(outcome=outcome, winner=winner, loser=None)
    told = asked(message).game_result
    assert (told.status, told.winner_player_id) == (status, winner)
    assert told.choices == {"player_001": "even", "player_002": "odd"}
    assert told.model_extra == {"drawn_number": 42, "number_parity": "even"}
    assert told.reason == "player_001 correct, player_002 wrong"
    reported = asked(message, Role.LEAGUE_MANAGER).result
    assert (reported.status, reported.winner) == (status, winner and winner.replace("player_0", "P"))
    assert reported.details == {"drawn_number": 42, "choices": {"P01": "even", "P02": "odd"}}


def test_what_a_referee_adds_to_its_report_reaches_the_manager() -> None:
    added = {"terminations": {"P02": "move_timeout"}, "failures_in_a_row": {"P02": 3}}
    reported = asked(result(outcome="FORFEIT", **added), Role.LEAGUE_MANAGER).result
    assert (reported.terminations, reported.failures_in_a_row) == tuple(added.values())


@pytest.mark.parametrize("role", [Role.PLAYER, Role.LEAGUE_MANAGER])
@pytest.mark.parametrize(
    ("changes", "field"),
    [({"outcome": "WIN", "winner": None}, "result.winner"), ({"outcome": "LOSS"}, "result.outcome")],
)
def test_a_result_that_doesnt_say_who_won_is_refused(role: Role, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Refusal) as caught:
        translate_to_v2(result(**changes), role)
    assert caught.value.context["field"] == field


def test_a_result_of_ours_says_the_same_in_both_forms() -> None:
    turn = {"player_001": "odd", "player_002": "odd"}
    summary = build_game_summary([turn], number=7, number_parity="odd", winner=None, reason="both correct")
    told = asked(result(outcome="DRAW", winner=None, loser=None, game_summary=summary)).game_result
    assert told.choices == turn
    assert told.model_extra == {"drawn_number": 7, "number_parity": "odd"}


def test_the_end_of_a_round_tells_how_many_matches_it_had() -> None:
    completed: v2.RoundCompletedNotice = asked(example("ROUND_COMPLETE"))
    assert (completed.matches_played, completed.matches_completed) == (2, 2)
    assert completed.next_round_id is None


def test_the_end_of_the_league_tells_the_champion_and_the_ranks() -> None:
    end: v2.LeagueCompletedNotice = asked(example("LEAGUE_COMPLETE"))
    assert (end.total_rounds, end.total_matches) == (6, 12)
    assert (end.champion.player_id, end.champion.display_name) == ("player_001", "AlphaAgent")
    assert [(row.rank, row.player_id, row.points) for row in end.final_standings] == [
        (1, "player_001", 5),
        (2, "player_003", 4),
        (3, "player_002", 2),
        (4, "player_004", 1),
    ]


def test_an_applicant_may_name_any_league() -> None:
    assert asked(example("LEAGUE_REGISTER_REQUEST"), Role.LEAGUE_MANAGER).league_id is None


@pytest.mark.parametrize(
    ("address", "called", "fine"),
    [
        ("mcp://localhost:5000/player_alpha", "http://localhost:5000/mcp", True),
        ("http://localhost:5000/mcp", "http://localhost:5000/mcp", True),
        ("mcp://player-alpha", "mcp://player-alpha", False),
    ],
)
def test_an_applicant_is_called_at_its_address_or_refused_for_it(address: str, called: str, fine: bool) -> None:
    meta = {
        **example("LEAGUE_REGISTER_REQUEST")["player_meta"],
        "contact_endpoint": address,
        "protocol_version": "1.0.0",
    }
    request = asked(example("LEAGUE_REGISTER_REQUEST", player_meta=meta), Role.LEAGUE_MANAGER)
    assert request.player_meta.contact_endpoint == called
    assert (find_endpoint_problem(called, ["localhost"]) is None) is fine
    assert request.player_meta.display_name == "AlphaAgent"
    assert request.player_meta.game_types == ["even_odd"]
    assert request.player_meta.protocol_version is None


@pytest.mark.parametrize(("accept", "status"), [(True, "READY"), (False, "DECLINED")])
def test_a_player_s_coming_is_answered_as_the_seed_shows(accept: bool, status: str) -> None:
    ack = v2.GameJoinAck.write(**ENVELOPE, auth_token="tok", match_id="R1M1", player_id="player_001", accept=accept)
    expected = example("GAME_INVITATION_RESPONSE", status=status, timestamp=WRITTEN)
    assert replied(ack, example("GAME_INVITATION")) == expected


@pytest.mark.parametrize(
    "reply",
    [
        v2.ChooseParityResponse.write(**ENVELOPE, player_id="player_001", parity_choice="even"),
        v2.GameMoveResponse.write(**ENVELOPE, player_id="player_001", move_data="even"),
    ],
)
@pytest.mark.parametrize("spelling", ["PLAY_REQUEST", "MOVE_REQUEST"])
def test_a_move_is_answered_as_the_seed_shows(reply: Message, spelling: str) -> None:
    written = replied(reply, example("PLAY_REQUEST", message_type=spelling))
    play = {"action": "choose", "value": "even", "reasoning": written["play"]["reasoning"]}
    assert written == example("PLAY_RESPONSE", timestamp=WRITTEN, play=play)
    assert written["play"]["reasoning"]


def test_an_admission_is_answered_with_the_id_as_v1_writes_it_and_without_secrets() -> None:
    response = v2.LeagueRegisterResponse.write(
        **{**ENVELOPE, "sender": "league_manager", "timestamp": "2025-12-13T21:30:01Z"},
        league_id="league_2025_even_odd",
        status="ACCEPTED",
        player_id="P01",
        auth_token="tok-p01-secret",
        public_key={"kty": "OKP"},
        reason=None,
    )
    request, known = example("LEAGUE_REGISTER_REQUEST"), derive_league_uuid("league_2025_even_odd")
    assert replied(response, request) == example("LEAGUE_REGISTER_RESPONSE", league_id=known, timestamp=WRITTEN)
    instance = response.model_copy(update={"league_uuid": OTHER_LEAGUE})
    assert replied(instance, request)["league_id"] == OTHER_LEAGUE
    assert "league_uuid" not in replied(instance, request)


@pytest.mark.parametrize("reason", RejectReason)
def test_a_rejection_has_one_of_the_four_reasons_of_the_seed(reason: RejectReason) -> None:
    response = v2.LeagueRegisterResponse.write(
        **{**ENVELOPE, "sender": "league_manager"},
        status="REJECTED",
        player_id=None,
        auth_token=None,
        reason=str(reason),
    )
    written = replied(response, example("LEAGUE_REGISTER_REQUEST"))
    assert (written["status"], written["player_id"]) == ("REJECTED", None)
    assert written["reason"] == ("Registration closed" if reason is RejectReason.FULL else str(reason))


@pytest.mark.parametrize("reply", [{"status": "ok"}, {"message_type": "LEAGUE_ERROR", "error_code": "E002"}, None, []])
def test_what_v1_has_no_message_for_is_answered_as_it_is(reply: object) -> None:
    assert translate_reply_to_v1(reply, example("GAME_RESULT"), NOW) == reply


def test_a_player_of_ours_registers_as_the_seed_shows() -> None:
    meta = {
        "display_name": "AlphaAgent",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:8101/mcp",
        "protocol_version": "2.1.0",
    }
    ours = v2.LeagueRegisterRequest.write(
        sender="player:P01",
        timestamp="2025-12-13T21:30:00Z",
        conversation_id="660e8400-e29b-41d4-a716-446655440001",
        application_key="0123456789abcdef",
        player_meta=meta,
    )
    golden = example("LEAGUE_REGISTER_REQUEST")
    uuids = (golden["league_id"], golden["conversation_id"])
    written = translate_registration_to_v1(ours.to_wire(), "player_alpha", NOW, *uuids).to_wire()
    BASE.validate(written)
    shown = {
        **example("LEAGUE_REGISTER_REQUEST")["player_meta"],
        "contact_endpoint": "mcp://localhost:8101/player_alpha",
    }
    assert written == {**golden, "player_meta": shown, "timestamp": WRITTEN}
    assert asked(written, Role.LEAGUE_MANAGER).player_meta.contact_endpoint == meta["contact_endpoint"]


@pytest.mark.parametrize("look", [{}, {"color": "#c0392b"}, {"color": "#c0392b", "avatar": "🦊"}, {"avatar": ["🦊"]}])
def test_a_look_that_was_told_goes_both_ways_and_nothing_is_added_without_one(look: dict[str, Any]) -> None:
    meta = {"display_name": "A", "version": "1", "game_types": [], "contact_endpoint": "http://h:1/mcp", **look}
    ours = v2.LeagueRegisterRequest.write(**{**ENVELOPE, "sender": "player:P07"}, player_meta=meta)
    written = translate_registration_to_v1(ours.to_wire(), "player_007", NOW, LEAGUE, OTHER_LEAGUE).to_wire()
    assert written["player_meta"] == {**meta, "contact_endpoint": "mcp://h:1/player_007"}
    assert asked(written, Role.LEAGUE_MANAGER).to_wire()["player_meta"] == meta


def test_the_last_part_of_an_address_asks_for_an_id() -> None:
    ours = v2.LeagueRegisterRequest.write(
        **{**ENVELOPE, "sender": "player:P07"},
        player_meta={"display_name": "A", "version": "1", "game_types": [], "contact_endpoint": "http://h:1/mcp"},
    )
    written = translate_registration_to_v1(ours.to_wire(), "player_007", NOW, LEAGUE, OTHER_LEAGUE).to_wire()
    BASE.validate(written)
    assert asked(written, Role.LEAGUE_MANAGER).sender == "player:P07"
