"""The twelve messages of `league.v1`: read and written exactly as seed 001 shows them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from agent_league.protocol import v1
from agent_league.protocol.v1 import MESSAGES, V1Message
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.messages import GameSummary, build_game_summary, calculate_win_rate
from tests.protocol import examples_v1
from tests.protocol.examples_v1 import BASE, BASE_SCHEMA, example

ENVELOPE: dict[str, Any] = {
    "league_id": "550e8400-e29b-41d4-a716-446655440000",
    "round_id": 1,
    "conversation_id": "880e8400-e29b-41d4-a716-446655440003",
    "sender": "referee",
    "timestamp": "2025-12-13T22:05:00.000Z",
}


def put(message: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """The message with the field at a path replaced."""
    name, _, rest = path.partition(".")
    return {**message, name: put(message[name], rest, value) if rest else value}


def read(message: Mapping[str, Any]) -> V1Message:
    return MESSAGES[message["message_type"]].model_validate(message)


def test_there_are_the_twelve_types_of_the_base_schema_each_with_an_example() -> None:
    assert len(MESSAGES) == 12
    assert set(MESSAGES) == set(examples_v1.MESSAGES) == set(BASE_SCHEMA["properties"]["message_type"]["enum"])


@pytest.mark.parametrize("model", MESSAGES.values(), ids=MESSAGES)
def test_a_model_is_called_like_its_type(model: type[V1Message]) -> None:
    assert model.__name__ == "".join(word.capitalize() for word in model.TYPE.split("_"))


@pytest.mark.parametrize("message_type", MESSAGES)
def test_an_example_is_read_and_written_without_loss(message_type: str) -> None:
    message = example(message_type)
    assert read(message).to_wire() == message


@pytest.mark.parametrize("message_type", MESSAGES)
def test_an_example_is_what_we_write_from_its_own_fields(message_type: str) -> None:
    message = example(message_type)
    model = MESSAGES[message_type]
    given = {name: value for name, value in message.items() if name not in ("protocol", "message_type")}
    if model.MATCH_ID:
        del given["match_id"]
    written = model.write(**given).to_wire()
    assert written == message
    BASE.validate(written)


@pytest.mark.parametrize("message_type", MESSAGES)
def test_fields_that_nobody_knows_survive_at_every_level(message_type: str) -> None:
    strange = {"x_strange": {"deep": [1, None, "ä"]}}
    message = example(message_type)
    objects = {name: {**value, **strange} for name, value in message.items() if isinstance(value, dict)}
    whole = {**message, **objects, **strange}
    assert read(whole).to_wire() == whole


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("league_id", "league_2025_even_odd"),
        ("league_id", "{550e8400-e29b-41d4-a716-446655440000}"),
        ("conversation_id", "880e8400e29b41d4a716446655440003"),
        ("conversation_id", 7),
        ("round_id", -1),
        ("round_id", "1"),
        ("round_id", True),
        ("match_id", 1),
        ("sender", "player:P01"),
        ("sender", "referee_1"),
        ("timestamp", "2025-12-13 22:05:00"),
        ("timestamp", "2025-12-13T22:05:00+02:00"),
    ],
)
def test_an_envelope_that_the_base_schema_forbids_can_t_be_written(field: str, value: object) -> None:
    for message_type in MESSAGES:
        message = example(message_type, **{field: value})
        with pytest.raises(ValidationError, match=field):
            pytest.fail(f"{message_type} was read: {read(message)}")


@pytest.mark.parametrize(
    ("message_type", "path", "values"),
    [
        ("LEAGUE_REGISTER_RESPONSE", "status", ["ACCEPTED", "REJECTED"]),
        (
            "LEAGUE_REGISTER_RESPONSE",
            "reason",
            [
                None,
                "Unsupported game type",
                "Invalid MCP endpoint",
                "Duplicate display name",
                "Registration closed",
            ],
        ),
        ("GAME_INVITATION", "game_info.your_role", ["challenger", "defender"]),
        ("GAME_INVITATION_RESPONSE", "status", ["READY", "DECLINED"]),
        ("PLAY_VALIDATION", "validation.status", ["VALID", "INVALID"]),
        (
            "PLAY_VALIDATION",
            "validation.error",
            [
                None,
                "Invalid choice format",
                "Choice not in allowed values",
                "Timeout exceeded",
                "Malformed JSON",
            ],
        ),
        ("GAME_RESULT", "result.outcome", ["WIN", "DRAW", "FORFEIT"]),
        ("GAME_RESULT", "result.game_summary.number_parity", [None, "even", "odd"]),
    ],
)
def test_a_closed_set_of_the_seed_holds_its_words_and_no_others(
    message_type: str, path: str, values: list[str | None]
) -> None:
    for value in values:
        read(put(example(message_type), path, value))
    for wrong in ("SOMETHING", 1, [values[0]], str(values[-1]).swapcase()):
        with pytest.raises(ValidationError, match=path):
            read(put(example(message_type), path, wrong))


@pytest.mark.parametrize(
    ("message_type", "path", "value"),
    [
        ("LEAGUE_START_ANNOUNCEMENT", "league_info.total_rounds", "6"),
        ("LEAGUE_REGISTER_REQUEST", "player_meta.game_types", "even_odd"),
        ("GAME_START", "game_state.current_player", None),
        ("PLAY_REQUEST", "game_state.turn_number", 1.0),
        ("GAME_RESULT", "result.game_summary.random_number", "42"),
        ("ROUND_COMPLETE", "round_summary.matches_played", True),
        ("LEAGUE_COMPLETE", "final_standings.champion.win_rate", "0.833"),
    ],
)
def test_types_are_exact(message_type: str, path: str, value: object) -> None:
    with pytest.raises(ValidationError, match=path):
        read(put(example(message_type), path, value))


def test_a_moment_is_written_with_milliseconds_in_utc() -> None:
    moment = datetime(2025, 12, 13, 23, 30, 0, 123987, timezone(timedelta(hours=2)))
    assert format_millis(moment) == "2025-12-13T21:30:00.123Z"
    assert format_millis(datetime(2025, 12, 13, 21, 30, tzinfo=UTC)) == "2025-12-13T21:30:00.000Z"


@pytest.mark.parametrize(("wins", "played", "rate"), [(5, 6, 0.833), (0, 6, 0.0), (6, 6, 1.0), (0, 0, 0.0)])
def test_the_win_rate_has_three_places(wins: int, played: int, rate: float) -> None:
    assert calculate_win_rate(wins, played) == rate


def test_a_summary_is_written_in_both_forms_of_the_seed() -> None:
    summary = build_game_summary(
        [{"player_001": "even", "player_002": "odd"}],
        number=42,
        number_parity="even",
        winner="player_001",
        reason="player_001 correct, player_002 wrong",
    )
    moves = summary.pop("moves")
    assert summary == example("GAME_RESULT")["result"]["game_summary"]
    assert moves == [{"turn": 1, "player_001": "even", "player_002": "odd", "number": 42, "winner": "player_001"}]


def test_a_summary_of_several_turns_says_number_and_winner_with_the_last() -> None:
    turns = [{"player_001": 4}, {"player_002": 0}, {"player_001": 8}]
    summary = build_game_summary(turns, number=None, number_parity=None, winner="player_001", reason="three in a row")
    assert summary["player_001_choice"] == [4, 8]
    assert summary["player_002_choice"] == 0
    assert [move.get("winner") for move in summary["moves"]] == [None, None, "player_001"]
    assert [move["turn"] for move in summary["moves"]] == [1, 2, 3]


def test_the_summary_of_a_match_that_nobody_played_is_empty() -> None:
    summary = build_game_summary([], number=None, number_parity=None, winner=None, reason="both are lost")
    assert summary == {"random_number": None, "number_parity": None, "winner_reason": "both are lost", "moves": []}
    written = v1.GameResult.write(
        **ENVELOPE,
        match_id="R1M1",
        result={"winner": None, "loser": None, "outcome": "FORFEIT", "game_summary": summary},
    )
    BASE.validate(written.to_wire())


@pytest.mark.parametrize("form", ["flat", "moves", "both"])
def test_choices_and_number_are_found_in_either_form(form: str) -> None:
    turn = {"player_001": "even", "player_002": "odd"}
    both = build_game_summary([turn], number=0, number_parity="even", winner="player_001", reason="")
    left_out = {"flat": ("moves",), "moves": ("player_001_choice", "player_002_choice", "random_number"), "both": ()}
    summary = GameSummary.model_validate({name: both[name] for name in both if name not in left_out[form]})
    assert summary.collect_choices() == turn
    assert summary.find_drawn_number() == 0
