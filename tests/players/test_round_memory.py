"""Rounds that a question leaves out: what a player remembers of them, and what it asks to be sent again."""

import copy
from pathlib import Path
from typing import Any

import pytest

from agent_league.errors import ErrorCode, Refusal
from agent_league.http.carrier import MAX_BODY
from agent_league.players.round_memory import MAX_MATCHES, RoundMemory
from agent_league.protocol import v2
from tests.players.chair import Fixed, chair, invitation, move_call

ROUNDS = [["C", "D"], ["D", "D"], ["D", "C"], ["C", "C"]]


def ask(
    rounds: Any, since: Any = None, match_id: str = "R1M1", token: str = "tok-1", draw: str = "ab12"
) -> dict[str, Any]:
    """A question of a repeated game with these rounds; `since` earlier ones are left out."""
    step = len(rounds or ()) + (since if type(since) is int and since > 0 else 0)
    call = move_call(["C", "D"], step, match_id, {"rounds": copy.deepcopy(rounds)})
    context = {"draw_commitment": draw, **({} if since is None else {"rounds_since": since})}
    return {**call, "auth_token": token, "context": context}


def complete(memory: RoundMemory, *question: Any, **fields: Any) -> Any:
    """The rounds in a question's view after it was completed."""
    call = v2.GameMoveCall.model_validate(ask(*question, **fields))
    return memory.complete_question(call).move_request.context["rounds"]


def refused(memory: RoundMemory, *question: Any, **fields: Any) -> str:
    with pytest.raises(Refusal) as caught:
        complete(memory, *question, **fields)
    assert caught.value.code is ErrorCode.SERVICE_UNAVAILABLE
    assert caught.value.context["field"] == "context.rounds_since"
    return caught.value.message


def test_what_a_question_leaves_out_comes_from_those_before_it() -> None:
    memory = RoundMemory()
    assert complete(memory, []) == []
    assert complete(memory, ROUNDS[:1]) == ROUNDS[:1]
    assert complete(memory, ROUNDS[1:2], 1) == ROUNDS[:2]
    assert complete(memory, [], 2) == ROUNDS[:2]
    assert complete(memory, ROUNDS[2:], 2) == ROUNDS


def test_a_question_that_leaves_out_what_was_never_shown_is_refused() -> None:
    memory = RoundMemory()
    assert refused(memory, ROUNDS[2:], 2).startswith(
        "the first 2 rounds were left out, of which 0 are known here; send"
    )
    complete(memory, ROUNDS[:1])
    assert "of which 1 are known here" in refused(memory, ROUNDS[2:], 2)
    assert complete(memory, ROUNDS) == ROUNDS


def test_a_question_that_comes_late_or_again_takes_nothing_away() -> None:
    memory = RoundMemory()
    complete(memory, ROUNDS[:1])
    for since in (1, 2, 3):
        complete(memory, ROUNDS[since : since + 1], since)
    assert complete(memory, ROUNDS[1:2], 1) == ROUNDS[:2]
    assert complete(memory, [], 4) == ROUNDS


@pytest.mark.parametrize("other", [{"token": "tok-2"}, {"draw": "cd34"}])
def test_a_match_that_is_played_again_has_rounds_of_its_own(other: dict[str, Any]) -> None:
    memory = RoundMemory()
    complete(memory, ROUNDS)
    assert "of which 0" in refused(memory, [], 4, **other)
    complete(memory, [["D", "D"]], **other)
    assert complete(memory, [], 1, **other) == [["D", "D"]]
    assert complete(memory, [], 4) == ROUNDS


def test_a_view_that_a_strategy_changes_changes_no_later_one() -> None:
    memory = RoundMemory()
    for question in ((ROUNDS[:2],), (ROUNDS[2:], 2)):
        shown = complete(memory, *question)
        shown[0].reverse()
        shown.clear()
    assert complete(memory, [], 4) == ROUNDS


@pytest.mark.parametrize("rounds", [None, {"a": 1}])
def test_a_view_without_rounds_is_left_as_it_is_but_none_can_be_left_out_of_it(rounds: Any) -> None:
    memory = RoundMemory()
    assert complete(memory, rounds) == rounds
    assert complete(memory, rounds, 0) == rounds
    assert refused(memory, rounds, 1).startswith("the view has no list of rounds")


def test_finished_matches_are_forgotten_and_the_oldest_of_many() -> None:
    memory = RoundMemory()
    complete(memory, ROUNDS)
    complete(memory, ROUNDS, match_id="R1M2")
    memory.forget_match("R1M1")
    assert "of which 0" in refused(memory, [], 4)
    for number in range(MAX_MATCHES):
        complete(memory, ROUNDS, match_id=f"R2M{number}")
    assert "of which 0" in refused(memory, [], 4, match_id="R1M2")
    assert complete(memory, [], 4, match_id="R2M0") == ROUNDS


def test_no_more_is_kept_than_a_message_could_hold() -> None:
    memory, long = RoundMemory(), ["x" * (MAX_BODY // 2), "y"]
    complete(memory, [long])
    assert complete(memory, [["C", "D"]], 1) == [long, ["C", "D"]]
    assert len(complete(memory, [long], 2)) == 3
    assert "of which 0" in refused(memory, [], 3)


@pytest.mark.parametrize(
    ("parameters", "keeps"),
    [({"repeat": 10}, True), ({"first_to": 2}, True), ({"repeat": 1}, False), ({}, False), (None, False)],
)
async def test_a_player_offers_to_keep_rounds_where_there_are_some(
    home: Path, parameters: dict[str, Any] | None, keeps: bool
) -> None:
    async with chair(home) as seat:
        given: dict[str, Any] = {} if parameters is None else {"game_parameters": parameters}
        asked = invitation(**given)
        answer = await seat.call("handle_game_invitation", asked)
    assert answer["accept"] is True
    assert answer.get("rounds_since", False) is keeps


async def test_a_player_that_declines_offers_nothing(home: Path) -> None:
    async with chair(home, game_types=("nim",)) as seat:
        asked = invitation(game_type="tic_tac_toe", game_parameters={"repeat": 3})
        answer = await seat.call("handle_game_invitation", asked)
    assert answer["accept"] is False
    assert "rounds_since" not in answer


async def test_a_strategy_sees_all_rounds_and_a_question_sent_whole_again_has_the_same_answer(home: Path) -> None:
    strategy = Fixed("C")
    async with chair(home, strategy) as seat:
        for question in (ask(ROUNDS[:2]), ask(ROUNDS[2:], 2), ask(ROUNDS)):
            assert (await seat.call("make_move", question))["move_data"] == "C"
    assert [observation.view["rounds"] for observation in strategy.seen] == [ROUNDS[:2], ROUNDS]


async def test_a_player_that_lacks_rounds_refuses_and_plays_on_with_the_whole_view(home: Path) -> None:
    strategy = Fixed("C")
    async with chair(home, strategy) as seat:
        refusal = await seat.call("make_move", ask(ROUNDS[3:], 3))
        assert (refusal["message_type"], refusal["error_code"]) == ("LEAGUE_ERROR", "E016")
        assert not strategy.seen
        await seat.call("make_move", ask(ROUNDS))
    (seen,) = strategy.seen
    assert seen.view["rounds"] == ROUNDS


@pytest.mark.parametrize("since", [-1, "2", 1.5, True])
async def test_a_wrong_number_of_rounds_is_refused_as_a_wrong_field(home: Path, since: Any) -> None:
    async with chair(home) as seat:
        refusal = await seat.call("make_move", ask(ROUNDS, since))
    assert (refusal["message_type"], refusal["error_code"]) == ("LEAGUE_ERROR", "E002")
