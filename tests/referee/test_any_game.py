"""Any game: referees that take every one, players that are asked in the plain words, and moves that nobody can list."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.games.base import Move
from agent_league.games.registry import Game, game_types, load_game
from agent_league.referee.verify import verify_match
from agent_league.testing.peers import Params, always_reply
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.games.highest import HIGHEST, MOST
from tests.games.sticks import STICKS
from tests.games.toys import Toys, toys
from tests.referee.hall import Hall, hall
from tests.referee.tampering import Content, assert_found, lines, put, wrong
from tests.referee.test_guests import announcement, reports
from tests.referee.v1_player import seat_v1

__all__ = ["toys"]
PLAINLY = {"move_method": "make_move"}
V1 = {"protocol": "league.v1"}
EVEN_OR_ODD = {
    "move_type": "even_odd",
    "valid_options": ["even", "odd"],
    "context": {"range": [1, 10], "choices": None, "number": None},
    "step": 0,
    "your_role": "PLAYER_B",
}


@in_virtual_time
async def test_a_referee_of_any_game_names_all_that_are_installed_and_the_star(home: Path) -> None:
    async with hall(home, game_types=("*",)) as match:
        (request,) = match.manager.received_params("register_referee")
    assert request["referee_meta"]["game_types"] == [*game_types(), "*"]


@in_virtual_time
async def test_a_game_is_loaded_when_it_is_ordered(home: Path) -> None:
    async with hall(home, game_types=("*",)) as match:
        assert match.referee._orders.loaded_games == {}
        match.pair()
        report = await match.play(game_type="even_odd")
    assert report["result"]["status"] in ("WIN", "DRAW")


async def test_a_game_of_a_source_is_loaded_in_a_thread_so_that_other_matches_go_on(home: Path, toys: Toys) -> None:
    async with hall(home, game_types=("*",)) as match:
        match.pair()
        await match.play(game_type="toys:even_odd")
    assert toys.in_main_thread == [False]


async def test_so_is_one_that_is_only_announced(home: Path, toys: Toys) -> None:
    async with hall(home, game_types=("*",)) as match:
        match.pair()
        await match.call("notify_round", announcement(match, ("R1M1", "P01", "P02"), game_type="toys:even_odd"))
        assert await reports(match, 1) == ["R1M1"]
    assert toys.in_main_thread == [False]


async def test_a_game_that_a_referee_doesnt_take_is_not_loaded(home: Path, toys: Toys) -> None:
    async with hall(home) as match:
        match.pair()
        refusal = await match.start(game_type="toys:even_odd")
    assert "doesn't referee" in refusal["message"]
    assert toys.in_main_thread == []


@pytest.mark.parametrize(
    ("game_type", "why"),
    [
        ("chess_boxing", "no game 'chess_boxing' is installed"),
        ("nowhere:chess", "no game 'nowhere:chess' is installed"),
    ],
)
@in_virtual_time
async def test_a_game_that_cannot_be_loaded_is_refused_with_the_reason(home: Path, game_type: str, why: str) -> None:
    async with hall(home, game_types=("*",)) as match:
        match.pair()
        refusal = await match.start(game_type=game_type)
        assert match.referee.health()["running_matches"] == 0
    assert refusal["error_code"] == "E002"
    assert refusal["context"]["field"] == "game_type"
    assert why in refusal["message"]


@in_virtual_time
async def test_a_match_is_played_by_the_parameters_of_its_order(home: Path) -> None:
    async with hall(home, game_types=("*",), clock=VirtualClock()) as match:
        match.pair()
        await match.play(game_type="even_odd", game_parameters={"repeat": 3})
        (invited,) = match.players["P01"].received_params("handle_game_invitation")
        await match.play("R1M2", game_type="even_odd")
    record = match.record()
    assert invited["game_parameters"] == record["game_parameters"] == {"min_number": 1, "max_number": 10, "repeat": 3}
    assert len(record["moves"]) == 3
    assert record["move_methods"] == {"P01": "make_move", "P02": "make_move"}
    assert wrong(record) == {}
    assert match.record("R1M2")["game_parameters"] == {"min_number": 1, "max_number": 10}
    assert len(match.players["P01"].received_params("choose_parity")) == 1


@in_virtual_time
async def test_the_own_registry_counts_only_where_an_order_brings_no_parameters(home: Path) -> None:
    games = ConfigLoader(home).load_games_registry().with_parameters("even_odd", {"max_number": 4, "repeat": 2})
    async with hall(home, games=games, clock=VirtualClock()) as match:
        match.pair()
        await match.play("R1M1", game_parameters={"max_number": 6})
        await match.play("R1M2", game_parameters={})
        await match.play("R1M3")
    played = [match.record(match_id)["game_parameters"] for match_id in ("R1M1", "R1M2", "R1M3")]
    assert played == [
        {"min_number": 1, "max_number": 6},
        {"min_number": 1, "max_number": 10},
        {"min_number": 1, "max_number": 4, "repeat": 2},
    ]


@pytest.mark.parametrize("parameters", [{"repeat": 0}, {"min_number": "1"}, {"min_number": [[]]}])
@in_virtual_time
async def test_parameters_that_make_no_game_are_refused(home: Path, parameters: dict[str, Any]) -> None:
    async with hall(home) as match:
        match.pair()
        refusal = await match.start(game_parameters=parameters)
    assert (refusal["error_code"], refusal["context"]["field"]) == ("E002", "game_parameters")
    assert "must be" in refusal["message"]


async def mixed(home: Path, a: Any = None, b: Any = None, **settings: Any) -> tuple[Hall, dict[str, Any]]:
    """Even/Odd between P01, who knows the game, and P02, who takes any."""
    async with hall(home, clock=VirtualClock(), seed="7", **settings) as match:
        match.pair(a, b)
        report = await match.play(P02=PLAINLY)
    return match, report


@in_virtual_time
async def test_one_match_may_ask_each_player_in_its_own_way(home: Path) -> None:
    match, report = await mixed(home, b={"make_move": always_reply({"move_data": "odd"})})
    first, second = match.players["P01"], match.players["P02"]
    assert (len(first.received_params("choose_parity")), first.received_params("make_move")) == (1, [])
    (asked,) = second.received_params("make_move")
    assert second.received_params("choose_parity") == []
    assert asked["message_type"] == "GAME_MOVE_CALL"
    assert asked["game_type"] == "even_odd"
    assert asked["move_request"] == EVEN_OR_ODD
    assert asked["context"]["draw_commitment"]
    record = match.record()
    assert record["move_methods"] == {"P01": "choose_parity", "P02": "make_move"}
    assert record["moves"] == [{"P01": "even", "P02": "odd"}]
    assert wrong(record) == {}
    assert report["result"]["details"].keys() == {"drawn_number", "choices"}
    for player in (first, second):
        (over,) = player.received_params("notify_match_result")
        told = over["game_result"]
        assert told["choices"] == {"P01": "even", "P02": "odd"}
        assert told.keys() == {"status", "winner_player_id", "drawn_number", "number_parity", "choices", "reason"}


@pytest.mark.parametrize("move", ["Even", 1, True, None, ["even"]])
@in_virtual_time
async def test_an_illegal_move_is_e010_or_e004_by_the_way_it_was_asked_for(home: Path, move: Any) -> None:
    match, report = await mixed(
        home,
        a={"choose_parity": always_reply({"parity_choice": move})},
        b={"make_move": always_reply({"move_data": move})},
    )
    codes = {
        player_id: {error["error_code"] for error in player.received_params("notify_game_error")}
        for player_id, player in match.players.items()
    }
    missing = "E003" if move is None else None
    assert codes == {"P01": {missing or "E004"}, "P02": {missing or "E010"}}
    assert set(report["result"]["terminations"]) == {"P01", "P02"}
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_an_answer_to_another_question_says_what_is_missing(home: Path) -> None:
    match, report = await mixed(
        home,
        a={"choose_parity": always_reply({"message_type": "GAME_MOVE_RESPONSE", "move_data": "even"})},
        b={"make_move": always_reply({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd"})},
    )
    told = {
        player_id: player.received_params("notify_game_error")[0]["message"]
        for player_id, player in match.players.items()
    }
    assert told == {
        "P01": "CHOOSE_PARITY_RESPONSE: missing: parity_choice",
        "P02": "GAME_MOVE_RESPONSE: missing: move_data",
    }
    assert report["result"]["terminations"] == dict.fromkeys(("P01", "P02"), "unreadable_answer")
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_a_move_under_the_name_of_a_choice_is_taken_and_noted(home: Path) -> None:
    match, report = await mixed(home, b={"make_move": always_reply({"choice": "odd"})})
    assert report["result"]["details"]["choices"]["P02"] == "odd"
    assert "'choice' for 'move_data'" in report["result"]["tolerated"]["P02"]
    assert wrong(match.record()) == {}


@pytest.mark.parametrize("name", ["choice", "move", "value"])
@in_virtual_time
async def test_an_object_that_names_the_move_is_read_as_that_move_and_noted(home: Path, name: str) -> None:
    said = {"move_data": {"move_type": "even_odd", name: "odd"}}
    match, report = await mixed(home, b={"make_move": always_reply(said)})
    assert report["result"]["details"]["choices"]["P02"] == "odd"
    assert f"'move_data' with '{name}' for the move itself" in report["result"]["tolerated"]["P02"]
    assert match.record()["moves"] == [{"P01": "even", "P02": "odd"}]
    assert wrong(match.record()) == {}


@pytest.mark.parametrize(
    "data",
    [
        {"move_type": "even_odd", "choice": "Odd"},
        {"move_type": "even_odd", "choice": "odd", "move": "odd"},
        {"move_type": "even_odd", "parity": "odd"},
        [{"choice": "odd"}],
    ],
)
@in_virtual_time
async def test_an_object_that_names_no_legal_move_or_several_is_an_illegal_one(home: Path, data: Any) -> None:
    match, report = await mixed(home, b={"make_move": always_reply({"move_data": data})})
    assert {error["error_code"] for error in match.players["P02"].received_params("notify_game_error")} == {"E010"}
    assert report["result"]["terminations"] == {"P02": "illegal_move"}
    assert wrong(match.record()) == {}


@in_virtual_time
async def test_a_player_of_001_that_takes_any_game_is_told_the_moves(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        knows, takes_any = seat_v1(match, "P01", "even"), seat_v1(match, "P02", "odd")
        await match.start(P01=V1, P02={**V1, **PLAINLY})
        await takes_any.wait_for_calls("GAME_RESULT")
    (plain,) = knows.received_params("PLAY_REQUEST")
    assert plain["game_state"]["game_specific_state"] == {"previous_plays": []}
    (asked,) = takes_any.received_params("PLAY_REQUEST")
    assert asked["game_state"]["game_specific_state"] == {
        "previous_plays": [],
        "game_type": "even_odd",
        "valid_options": ["even", "odd"],
        "view": {"range": [1, 10], "choices": None, "number": None},
        "your_role": "defender",
    }
    record = match.record()
    assert record["moves"] == [{"P01": "even", "P02": "even"}]
    assert wrong(record) == {}
    assert_found({**record, "move_methods": {}}, "dialogue")


def answered(move: Move) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        lines(content, direction="received", method="make_move")[0]["message"]["move_data"] = move

    return change


SENT = {"direction": "sent", "method": "make_move"}
TAMPERED: dict[str, tuple[Callable[[Content], None], str]] = {
    "how a player was asked": (put("move_methods", "P02", value="choose_parity"), "dialogue"),
    "how the other one was asked": (put("move_methods", "P01", value="make_move"), "dialogue"),
    "a way that nobody asks in": (put("move_methods", "P01", value="guess"), "messages"),
    "somebody who doesn't play": (put("move_methods", "P09", value="make_move"), "messages"),
    "the moves to choose from": (
        put("transcript", SENT, "message", "move_request", "valid_options", value=[]),
        "messages",
    ),
    "what was seen": (put("transcript", SENT, "message", "move_request", "context", value={"a": 1}), "messages"),
    "a schema beside the list": (
        put("transcript", SENT, "message", "move_request", "move_schema", value={"type": "boolean"}),
        "messages",
    ),
    "the answer": (answered("even"), "moves"),
    "an illegal answer": (answered("Odd"), "moves"),
    "the recorded move": (put("moves", 0, "P02", value="even"), "moves"),
    "the type of the question": (
        put("transcript", SENT, "message", "message_type", value="CHOOSE_PARITY_CALL"),
        "messages",
    ),
    "the method in the transcript": (put("transcript", SENT, "method", value="choose_parity"), "dialogue"),
}


@pytest.mark.parametrize("name", TAMPERED)
@in_virtual_time
async def test_what_is_changed_in_the_file_of_such_a_match_is_found(home: Path, name: str) -> None:
    match, _ = await mixed(home, b={"make_move": always_reply({"move_data": "odd"})})
    content = match.record()
    change, check = TAMPERED[name]
    change(content)
    assert_found(content, check)


@in_virtual_time
async def test_a_file_that_does_not_say_how_players_were_asked_is_of_the_games_own_words(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        await match.play()
    content = match.record()
    del content["move_methods"]
    assert wrong(content) == {}


def highest(most: int = MOST, **parameters: Any) -> Any:
    return HIGHEST.with_parameters({"most": most, **parameters})


def names(number: Any) -> Any:
    return {"make_move": always_reply({"move_data": number})}


@in_virtual_time
async def test_moves_that_nobody_can_list_are_told_as_a_schema(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.referee._orders.loaded_games["highest"] = highest(step=10)
        match.pair(names(MOST), names(70))
        report = await match.play(game_type="highest")
    (asked,) = match.players["P01"].received_params("make_move")
    assert asked["move_request"] == {
        "move_type": "highest",
        "move_schema": {"type": "integer", "minimum": 0, "maximum": MOST, "multipleOf": 10},
        "context": {"most": MOST, "step": 10, "named": None},
        "step": 0,
        "your_role": "PLAYER_A",
    }
    assert report["result"]["winner"] == "P01"
    record = match.record()
    findings = verify_match(record, lambda _: highest(step=10))
    assert [finding.sentence for finding in findings if not finding.ok] == []
    narrower = copy.deepcopy(record)
    lines(narrower, **SENT)[0]["message"]["move_request"]["move_schema"]["maximum"] = 5
    assert any(not finding.ok for finding in verify_match(narrower, lambda _: highest(step=10)))


@pytest.mark.parametrize("move", [-10, MOST + 10, 5, True, 10.0, "10", [10], None])
@in_virtual_time
async def test_a_number_that_is_not_among_them_is_told_with_e010(home: Path, move: Any) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["highest"] = highest(step=10)
        match.pair(names(move), names(70))
        report = await match.play(game_type="highest")
    error = match.players["P01"].received_params("notify_game_error")[0]
    assert error["error_code"] == ("E003" if move is None else "E010")
    if move is not None:
        assert error["message"] == f"expected one of the whole numbers from 0 to {MOST} in steps of 10"
    assert report["result"]["winner"] == "P02"


@in_virtual_time
async def test_a_player_of_001_is_told_the_schema_beside_the_view(home: Path) -> None:
    async def name(asked: Params) -> Any:
        state = asked["game_state"]["game_specific_state"]
        return player.response("PLAY_RESPONSE", asked, play={"value": state["move_schema"]["maximum"]})

    async with hall(home, clock=VirtualClock()) as match:
        match.referee._orders.loaded_games["highest"] = highest()
        match.pair(names(3))
        player = seat_v1(match, "P02", "", {"PLAY_REQUEST": name})
        await match.start(game_type="highest", P02=V1)
        await player.wait_for_calls("GAME_RESULT")
        (report,) = await match.manager.wait_for_calls("report_match_result")
    (asked,) = player.received_params("PLAY_REQUEST")
    assert asked["game_state"]["game_specific_state"] == {
        "previous_plays": [],
        "game_type": "highest",
        "move_schema": {"type": "integer", "minimum": 0, "maximum": MOST},
        "view": {"most": MOST, "step": 1, "named": None},
        "your_role": "defender",
    }
    assert report["result"]["winner"] == "P02"
    findings = verify_match(match.record(), lambda _: highest())
    assert [finding.sentence for finding in findings if not finding.ok] == []


class Wordy:
    """Sticks with a view that no message holds, from the second move on."""

    def __init__(self) -> None:
        self._sticks = STICKS.rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sticks, name)

    def view(self, state: Any, seat: int | None) -> Any:
        return {**state, "tale": "x" * 2_000_000} if state["turn"] else state


@in_virtual_time
async def test_a_question_that_no_player_takes_ends_the_match_and_is_no_players_fault(home: Path) -> None:
    wordy = Game("sticks", Wordy(), parameters=STICKS.parameters)
    async with hall(home, clock=VirtualClock()) as match:
        match.referee._orders.loaded_games["sticks"] = wordy
        match.pair()
        report = await match.play(game_type="sticks")
    assert report["result"]["terminations"] == dict.fromkeys(("P01", "P02"), "void")
    assert report["result"]["score"] == {"P01": 0, "P02": 0}
    assert match.players["P02"].received_params("make_move") == []
    (line,) = [line for line in match.log() if line["event_type"] == "match_aborted"]
    assert "a GAME_MOVE_CALL of 2000" in line["error"]
    findings = verify_match(match.record(), lambda _: wordy)
    assert [finding.sentence for finding in findings if not finding.ok] == []


@in_virtual_time
async def test_a_match_of_200_rounds_is_played_and_found_true(home: Path) -> None:
    game = load_game("even_odd").with_parameters({"repeat": 200})
    async with hall(home, clock=VirtualClock()) as match:
        match.referee._orders.loaded_games["even_odd"] = game
        match.pair()
        await match.play()
    record = match.record()
    assert len(record["moves"]) == 200
    assert record["result"]["reason"].endswith("after 200 rounds")
    assert wrong(record) == {}
