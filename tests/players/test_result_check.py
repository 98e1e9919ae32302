"""Scrutiny: a referee that lies is noticed by the player it lies to."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.games.draw import compute_commitment, draw_outcome
from agent_league.players.result_check import MAX_MATCHES, ResultChecker
from agent_league.protocol import v2
from tests.players.chair import Fixed, chair, game_over, invitation

SEED = "5eed" * 16
NUMBER = draw_outcome(SEED, 1, [(number, 1.0) for number in range(1, 11)])
PARITY = "even" if NUMBER % 2 == 0 else "odd"
OTHER = "odd" if PARITY == "even" else "even"
"""P01 chooses what will be drawn and wins; P02 chooses the other."""


def honest_invitation(**fields: Any) -> dict[str, Any]:
    parameters = {"number_range": [1, 10]}
    return invitation(draw_commitment=compute_commitment(SEED), **fields) | {"game_parameters": parameters}


def honest_result(seed: str | None = SEED, **changes: Any) -> dict[str, Any]:
    result: dict[str, Any] = {
        "status": "WIN",
        "winner_player_id": "P01",
        "drawn_number": NUMBER,
        "number_parity": PARITY,
        "choices": {"P01": PARITY, "P02": OTHER},
    }
    message = game_over(**{**result, **changes})
    return message if seed is None else {**message, "draw_seed": seed}


def problem(result: dict[str, Any], answer: Any = PARITY, **invited: Any) -> str | None:
    scrutiny = ResultChecker()
    scrutiny.record_invitation(v2.GameInvitation.model_validate(honest_invitation(**invited)))
    scrutiny.record_answer("R1M1", 0, answer)
    return scrutiny.find_problem(v2.GameOver.model_validate(result), "P01")


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "our choice": (honest_result(choices={"P01": OTHER, "P02": OTHER}), "it says that we chose"),
    "the number": (honest_result(drawn_number=NUMBER % 10 + 1), "drawn_number"),
    "the parity": (honest_result(number_parity=OTHER), "number_parity"),
    "the winner": (honest_result(winner_player_id="P02"), "winner_player_id"),
    "the seed": (honest_result(seed="bad5eed"), "the revealed seed's hash"),
    "no seed": (honest_result(seed=None), "promised and not revealed"),
    "a choice that there isn't": (honest_result(choices={"P01": PARITY, "P02": "both"}), "the rules don't allow"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_told_in_a_sentence(lie: str) -> None:
    result, sentence = LIES[lie]
    found = problem(result)
    assert found is not None
    assert sentence in found


def test_an_honest_result_has_no_problem() -> None:
    assert problem(honest_result()) is None
    assert problem(honest_result(), role_in_match="PLAYER_A") is None


@pytest.mark.parametrize(
    "result",
    [
        honest_result(seed=None, status="TECHNICAL_LOSS", winner_player_id="P01", choices={}, drawn_number=None),
        honest_result(seed=None, status="TECHNICAL_LOSS", choices={"P01": OTHER}),
    ],
)
def test_a_technical_loss_is_not_measured_by_the_game(result: dict[str, Any]) -> None:
    assert problem(result) is None


def test_where_nothing_was_promised_only_our_own_choice_is_checked() -> None:
    scrutiny = ResultChecker()
    scrutiny.record_invitation(v2.GameInvitation.model_validate(invitation()))
    scrutiny.record_answer("R1M1", 0, "even")
    assert scrutiny.find_problem(v2.GameOver.model_validate(game_over(drawn_number=3)), "P01") is None
    lie = game_over(choices={"P01": "odd", "P02": "odd"})
    assert scrutiny.find_problem(v2.GameOver.model_validate(lie), "P01") is not None


def test_a_match_that_nobody_invited_us_to_cannot_be_checked() -> None:
    assert ResultChecker().find_problem(v2.GameOver.model_validate(honest_result(seed="x")), "P01") is None


def test_a_longer_game_is_compared_move_by_move() -> None:
    scrutiny = ResultChecker()
    scrutiny.record_invitation(v2.GameInvitation.model_validate(invitation(game_type="nim")))
    for step, move in ((0, 3), (2, 1)):
        scrutiny.record_answer("R1M1", step, move)
    for told, is_right in (([3, 1], True), ([1, 3], False), (3, False)):
        over = {**game_over(choices={"P01": told, "P02": [1]}), "game_type": "nim"}
        assert (scrutiny.find_problem(v2.GameOver.model_validate(over), "P01") is None) == is_right


def test_of_one_match_so_many_answers_are_kept_and_with_more_they_arent_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent_league.players.result_check.MAX_ANSWERS", 3)
    scrutiny = ResultChecker()
    scrutiny.record_invitation(v2.GameInvitation.model_validate(invitation(game_type="nim")))
    lie = v2.GameOver.model_validate({**game_over(choices={"P01": [9], "P02": [1]}), "game_type": "nim"})
    for step in range(5):
        scrutiny.record_answer("R1M1", step, 1)
        assert (scrutiny.find_problem(lie, "P01") is None) == (step >= 2)
    assert len(scrutiny._memos_by_match["R1M1"].answers) == 3


def test_a_match_with_more_outcomes_than_anybody_has_time_for_is_not_played_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("agent_league.games.fairness.draw_outcome")
    scrutiny = ResultChecker()
    wide = {"min_number": 1, "max_number": 1_000_000, "repeat": 1000}
    scrutiny.record_invitation(
        v2.GameInvitation.model_validate(
            {**invitation(draw_commitment=compute_commitment(SEED)), "game_parameters": wide}
        )
    )
    over = honest_result(choices={"P01": ["even"] * 1000, "P02": ["odd"] * 1000})
    assert scrutiny.find_problem(v2.GameOver.model_validate(over), "P01") is None
    unhonest = v2.GameOver.model_validate({**over, "draw_seed": "bad5eed"})
    assert "the revealed seed's hash" in str(scrutiny.find_problem(unhonest, "P01"))


def test_an_invitation_said_again_is_no_new_match_and_one_with_another_token_is() -> None:
    scrutiny = ResultChecker()
    first = v2.GameInvitation.model_validate(invitation())
    assert scrutiny.record_invitation(first)
    scrutiny.record_answer("R1M1", 0, "even")
    assert not scrutiny.record_invitation(first)
    assert scrutiny.record_invitation(
        v2.GameInvitation.model_validate(invitation(auth_token="tok-match-again", opponent="P03"))
    )
    known = scrutiny.find_invitation("R1M1")
    assert known is not None
    assert known.opponent_id == "P03"
    lie = v2.GameOver.model_validate(game_over(choices={"P01": "odd"}))
    assert scrutiny.find_problem(lie, "P01") is None, "what was answered before belongs to the match before"


def test_only_the_latest_matches_are_kept() -> None:
    scrutiny = ResultChecker()
    for number in range(MAX_MATCHES + 10):
        scrutiny.record_invitation(v2.GameInvitation.model_validate(invitation(f"R{number}M1")))
    assert scrutiny.find_invitation("R9M1") is None
    assert scrutiny.find_invitation("R10M1") is not None


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_is_logged_told_at_the_terminal_and_kept_in_the_history(home: Path, lie: str) -> None:
    result, sentence = LIES[lie]
    async with chair(home, Fixed(PARITY)) as seat:
        await seat.call("handle_game_invitation", honest_invitation())
        assert await seat.choice() == PARITY
        assert await seat.call("notify_match_result", result) == {"status": "ok"}
        (match,) = (await seat.state())["matches"]
    assert sentence in match["details"]["problem"]
    (line,) = [line for line in seat.log() if line["event_type"] == "result_doubtful"]
    assert (line["match_id"], sentence in line["problem"]) == ("R1M1", True)
    (remark,) = seat.remarks
    assert remark.startswith("R1M1: something is wrong with what the referee says: ")


async def test_of_an_honest_result_nothing_is_said(home: Path) -> None:
    async with chair(home, Fixed(PARITY)) as seat:
        await seat.call("handle_game_invitation", honest_invitation())
        await seat.choice()
        await seat.call("notify_match_result", honest_result())
        (match,) = (await seat.state())["matches"]
    assert "problem" not in match["details"]
    assert seat.remarks == []
    assert "result_doubtful" not in seat.events()
