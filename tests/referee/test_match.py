"""A match from invitation to result: its states, who is asked when, and every way in which it can end."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.games.base import Move, State
from agent_league.games.draw import compute_commitment
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.even_odd.rules import EvenOddRules, parity_of
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.peers import Params, Script, always_reply, never_reply, reply_garbage
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.referee.golden import golden, missing
from tests.referee.hall import LEAGUE, Hall, hall


def states(match: Hall, match_id: str = "R1M1") -> list[str]:
    return [entry["state"] for entry in match.record(match_id)["lifecycle"]]


@in_virtual_time
async def test_a_match_goes_through_the_states_of_the_seeds_in_order(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        await match.play()
    assert states(match) == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]


@in_virtual_time
async def test_every_message_to_players_and_manager_has_all_fields_of_the_seeds(home: Path) -> None:
    async with hall(home) as match:
        match.pair(a={"choose_parity": always_reply({"parity_choice": "EVEN"})})
        await match.play()
        match.seat("P01", "even")
        report = await match.play("R1M2")
        sent = {
            "GAME_INVITATION": match.players["P01"].received_params("handle_game_invitation"),
            "CHOOSE_PARITY_CALL": match.players["P01"].received_params("choose_parity"),
            "GAME_OVER": match.players["P01"].received_params("notify_match_result"),
            "MATCH_RESULT_REPORT": [report],
        }
    for message_type, messages in sent.items():
        assert len(messages) == 1
        for example in golden(message_type):
            assert missing(example, messages[0], message_type) == []
        assert messages[0]["message_type"] == message_type
        assert messages[0]["sender"] == "referee:REF01"


@in_virtual_time
async def test_each_player_is_told_its_role_and_opponent(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        await match.play(round_id=3)
    first, second = (match.players[player].received_params("handle_game_invitation")[0] for player in ("P01", "P02"))
    assert (first["role_in_match"], first["opponent_id"]) == ("PLAYER_A", "P02")
    assert (second["role_in_match"], second["opponent_id"]) == ("PLAYER_B", "P01")
    assert first["round_id"] == second["round_id"] == 3
    assert first["league_id"] == LEAGUE


@in_virtual_time
async def test_a_question_carries_the_players_standings_and_its_deadline(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair()
        await match.play(P01={"standings": {"wins": 2, "losses": 1, "draws": 4}})
    call = match.players["P01"].received_params("choose_parity")[0]
    assert call["player_id"] == "P01"
    assert call["timestamp"] == "2025-01-15T10:00:00Z"
    assert call["deadline"] == "2025-01-15T10:00:30Z"
    assert call["context"]["opponent_id"] == "P02"
    assert call["context"]["your_standings"] == {"wins": 2, "losses": 1, "draws": 4}
    assert match.players["P02"].received_params("choose_parity")[0]["context"]["your_standings"]["wins"] == 0


@pytest.mark.parametrize("method", ["handle_game_invitation", "choose_parity"])
@in_virtual_time
async def test_both_are_asked_at_the_same_time(home: Path, method: str) -> None:
    """Each answers only once the other was asked: one after the other would never come to an end."""
    async with hall(home) as match:
        match.pair()
        answers = {"handle_game_invitation": {"accept": True}, "choose_parity": {"parity_choice": "odd"}}

        def after(other: str) -> Script:
            async def script(_: Params) -> Any:
                await match.players[other].wait_for_calls(method)
                return answers[method]

            return script

        match.seat("P01", "even", **{method: after("P02")})
        match.seat("P02", "odd", **{method: after("P01")})
        report = await match.play()
    assert report["result"]["status"] in ("WIN", "DRAW")
    assert match.players["P01"].received_params("notify_game_error") == []


@in_virtual_time
async def test_no_choice_is_asked_for_before_both_have_joined(home: Path) -> None:
    joined = asyncio.Event()

    async def late(_: Params) -> Any:
        await asyncio.sleep(4)
        joined.set()
        return {"accept": True}

    async def early(_: Params) -> Any:
        assert joined.is_set()
        return {"parity_choice": "even"}

    async with hall(home) as match:
        match.pair(a={"choose_parity": early}, b={"handle_game_invitation": late})
        report = await match.play()
    assert report["result"]["terminations"] == {}


@in_virtual_time
async def test_the_result_is_told_to_both_and_reported_alike(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        report = await match.play()
    told = [match.players[player].received_params("notify_match_result")[0] for player in ("P01", "P02")]
    assert told[0] == told[1]
    result = told[0]["game_result"]
    number = result["drawn_number"]
    winner = "P01" if number % 2 == 0 else "P02"
    assert 1 <= number <= 10
    assert result["number_parity"] == parity_of(number)
    assert result["choices"] == {"P01": "even", "P02": "odd"}
    assert (result["status"], result["winner_player_id"]) == ("WIN", winner)
    assert report["result"]["winner"] == winner
    assert report["result"]["details"] == {"drawn_number": number, "choices": result["choices"]}
    assert report["result"]["score"] == {"P01": 3 * (winner == "P01"), "P02": 3 * (winner == "P02")}
    assert report["auth_token"] == "tok-ref01-of-the-scripted-manager"


@in_virtual_time
async def test_equal_choices_draw_with_a_point_each(home: Path) -> None:
    async with hall(home) as match:
        match.seat("P01", "odd")
        match.seat("P02", "odd")
        report = await match.play()
    assert report["result"]["status"] == "DRAW"
    assert report["result"]["winner"] is None
    assert report["result"]["score"] == {"P01": 1, "P02": 1}


@in_virtual_time
async def test_points_follow_the_leagues_own_rule(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": never_reply})
        report = await match.play(
            scoring={"win_points": 5, "draw_points": 2, "loss_points": 1, "technical_loss_points": -1}
        )
        assert report["result"]["score"] == {"P01": 5, "P02": -1}


@in_virtual_time
async def test_the_referees_own_token_is_shown_to_no_player(home: Path) -> None:
    async with hall(home) as match:
        match.pair(a={"choose_parity": always_reply({})})
        await match.play()
    for player in match.players.values():
        assert "of-the-scripted-manager" not in json.dumps(player.received_calls)
        assert player.received_params("handle_game_invitation")[0]["auth_token"] == "tok-match-R1M1"


TECHNICAL: dict[str, tuple[dict[str, Script], str, dict[str, str]]] = {
    "silent invitation": ({"handle_game_invitation": never_reply}, "join_timeout", {}),
    "declined invitation": ({"handle_game_invitation": always_reply({"accept": False})}, "declined", {}),
    "rubbish as invitation's answer": ({"handle_game_invitation": reply_garbage}, "unreadable_answer", {}),
    "silent choice": ({"choose_parity": never_reply}, "move_timeout", {"P01": "even"}),
    "illegal choice": ({"choose_parity": always_reply({"parity_choice": "Odd"})}, "illegal_move", {"P01": "even"}),
    "rubbish as choice": ({"choose_parity": reply_garbage}, "unreadable_answer", {"P01": "even"}),
}


@pytest.mark.parametrize("fault", TECHNICAL)
@in_virtual_time
async def test_who_fails_loses_technically_and_the_other_wins(home: Path, fault: str) -> None:
    scripts, termination, choices = TECHNICAL[fault]
    async with hall(home) as match:
        match.pair(b=scripts)
        report = await match.play()
    assert report["result"]["status"] == "TECHNICAL_LOSS"
    assert report["result"]["winner"] == "P01"
    assert report["result"]["score"] == {"P01": 3, "P02": 0}
    assert report["result"]["terminations"] == {"P02": termination}
    for player in match.players.values():
        result = player.received_params("notify_match_result")[0]["game_result"]
        assert (result["status"], result["winner_player_id"]) == ("TECHNICAL_LOSS", "P01")
        assert (result["drawn_number"], result["number_parity"]) == (None, None)
        assert result["choices"] == choices
        assert "P02" in result["reason"]
    assert states(match)[-1] == "FINISHED"
    assert "DRAWING_NUMBER" not in states(match)
    assert match.record()["result"]["terminations"] == {"P01": "normal", "P02": termination}


@in_virtual_time
async def test_a_player_that_is_not_there_loses_technically(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        match.network.detach(match.players["P01"].endpoint)
        assert await match.start() == {"status": "ok"}
        (report,) = await match.manager.wait_for_calls("report_match_result")
    assert report["result"]["winner"] == "P02"
    assert report["result"]["terminations"] == {"P01": "disconnected"}


@pytest.mark.parametrize("method", ["handle_game_invitation", "choose_parity"])
@in_virtual_time
async def test_where_both_fail_nobody_wins_and_nobody_scores(home: Path, method: str) -> None:
    async with hall(home) as match:
        match.pair(a={method: never_reply}, b={method: reply_garbage})
        report = await match.play()
    assert report["result"]["status"] == "TECHNICAL_LOSS"
    assert report["result"]["winner"] is None
    assert report["result"]["score"] == {"P01": 0, "P02": 0}
    result = match.players["P02"].received_params("notify_match_result")[0]["game_result"]
    assert (result["winner_player_id"], result["choices"], result["drawn_number"]) == (None, {}, None)


@in_virtual_time
async def test_a_suspended_player_loses_at_once_and_nobody_is_asked(home: Path) -> None:
    async with hall(home, clock=VirtualClock()) as match:
        match.pair(b=dict.fromkeys(("handle_game_invitation", "choose_parity", "notify_match_result"), never_reply))
        report = await match.play(P02={"state": "SUSPENDED", "failures_in_a_row": 5})
        assert asyncio.get_running_loop().time() == 0
    assert report["result"]["winner"] == "P01"
    assert report["result"]["terminations"] == {"P02": "suspended"}
    assert report["result"]["failures_in_a_row"]["P02"] == 5
    assert [method for method, _ in match.players["P01"].received_calls] == ["notify_match_result"]
    assert [method for method, _ in match.players["P02"].received_calls] == ["notify_match_result"]


@in_virtual_time
async def test_two_suspended_players_both_lose(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        report = await match.play(P01={"state": "SUSPENDED"}, P02={"state": "SUSPENDED"})
    assert (report["result"]["winner"], report["result"]["score"]) == (None, {"P01": 0, "P02": 0})


@in_virtual_time
async def test_a_hung_player_in_one_match_holds_up_no_other(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": never_reply})
        match.seat("P03", "even")
        match.seat("P04", "odd")
        await match.start("R1M1")
        await match.play("R1M2", who=("P03", "P04"))
        assert asyncio.get_running_loop().time() < 1
        assert match.referee.health()["running_matches"] >= 1


class Collapsing(EvenOddRules):
    """Rules with a fault in the middle of a match."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        raise ZeroDivisionError("a fault of the game's")


@in_virtual_time
async def test_a_match_that_breaks_down_on_our_side_ends_without_a_winner_and_all_are_told(home: Path) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["even_odd"] = replace(EVEN_ODD, rules=Collapsing())
        match.pair()
        report = await match.play()
    assert report["result"]["status"] == "TECHNICAL_LOSS"
    assert report["result"]["winner"] is None
    assert report["result"]["terminations"] == {"P01": "void", "P02": "void"}
    told = match.players["P01"].received_params("notify_match_result")[0]["game_result"]
    assert (told["winner_player_id"], told["reason"]) == (None, "void: counts for nobody")
    assert states(match)[-1] == "FINISHED"
    fault = report["result"]["details"]["fault"]
    assert fault.startswith(
        "the rules of 'even_odd' failed in apply: ZeroDivisionError(\"a fault of the game's\") (test_m"
    )
    assert match.record()["result"]["fault"] == fault
    assert [line["fault"] for line in match.log() if line["event_type"] == "match_aborted"] == [fault]
    assert match.remarks[-1] == f"R1M1 was aborted, and nobody wins: {fault}"


class Lonely(EvenOddRules):
    """Rules that pay nobody in particular."""

    def returns(self, state: State) -> Any:
        return 1.0


@in_virtual_time
async def test_a_game_that_fails_to_tell_its_own_result_is_reported_all_the_same(home: Path) -> None:
    async with hall(home) as match:
        match.referee._orders.loaded_games["even_odd"] = replace(EVEN_ODD, rules=Lonely(), payoffs=True)
        match.pair()
        report = await match.play()
    assert report["result"]["terminations"] == {"P01": "void", "P02": "void"}
    assert "returns gave 1.0; expected two finite numbers" in report["result"]["details"]["fault"]


@in_virtual_time
async def test_the_draw_follows_from_a_seed_that_was_committed_before_the_first_question(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        await match.play()
    player = match.players["P01"]
    seed = player.received_params("notify_match_result")[0]["draw_seed"]
    assert player.received_params("handle_game_invitation")[0]["draw_commitment"] == compute_commitment(seed)
    assert player.received_params("choose_parity")[0]["context"]["draw_commitment"] == compute_commitment(seed)
    assert match.record()["draw"] == {"commitment": compute_commitment(seed), "seed": seed}
    before = [entry for entry in player.received_calls if entry[0] != "notify_match_result"]
    assert seed not in json.dumps(before)


@in_virtual_time
async def test_without_a_league_seed_no_two_matches_share_theirs(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        for match_id in ("R1M1", "R1M2"):
            await match.play(match_id)
    assert match.record("R1M1")["draw"]["seed"] != match.record("R1M2")["draw"]["seed"]


async def results(home: Path, referees: int) -> dict[str, Any]:
    """What was drawn and chosen in a league of six random players under one seed."""
    make_home(home)
    await play_in_process(
        make_league_plan(ConfigLoader(home, {}), LeagueRequest(home=home, players=6, referees=referees, seed="7"))
    )
    matches = MatchRepository(LEAGUE, home)
    return {match_id: (matches.load(match_id) or {})["result"] for match_id in matches.list()}


async def test_under_a_league_seed_draws_and_players_repeat_whatever_the_concurrency(tmp_path: Path) -> None:
    one_at_a_time = await results(tmp_path / "one", referees=1)
    all_at_once = await results(tmp_path / "all", referees=3)
    assert len(one_at_a_time) == 15
    assert one_at_a_time == all_at_once
    assert len({result["drawn_number"] for result in one_at_a_time.values()}) > 3


def told_last(match: Hall, player_id: str) -> tuple[str, str | None, str]:
    told = match.players[player_id].received_params("notify_match_result")[-1]["game_result"]
    return told["status"], told["winner_player_id"], told["reason"]


VOID = ("TECHNICAL_LOSS", None, "void: counts for nobody")


@in_virtual_time
async def test_players_are_told_that_a_match_is_void_whose_report_came_too_late(home: Path) -> None:
    refusal = {"message_type": "LEAGUE_ERROR", "error_code": "E002", "message": "void", "context": {"void": True}}
    async with hall(home, manager={"report_match_result": always_reply(refusal)}) as match:
        match.pair()
        assert await match.start() == {"status": "ok"}
        for player_id in ("P01", "P02"):
            told = await match.players[player_id].wait_for_calls("notify_match_result", 2)
            assert told[0]["game_result"]["status"] == "WIN"
            assert told_last(match, player_id) == VOID
    assert MatchRepository(LEAGUE, home).load("R1M1") is None


@in_virtual_time
async def test_a_match_that_is_void_when_its_round_is_completed_is_given_up_while_it_is_played(home: Path) -> None:
    async with hall(home) as match:
        match.pair(b={"choose_parity": never_reply})
        assert await match.start() == {"status": "ok"}
        await match.players["P02"].wait_for_calls("choose_parity")
        summary = {"total_matches": 1, "wins": 0, "draws": 0, "technical_losses": 0, "void": 1}
        over = {"round_id": 1, "matches_completed": 1, "matches_played": 1, "next_round_id": None, "summary": summary}
        notice = match.manager.build_message("ROUND_COMPLETED", **over, void_match_ids=["R9M9", "R1M1"])
        assert await match.call("notify_round_completed", notice) == {"status": "ok"}
        for player_id in ("P01", "P02"):
            await match.players[player_id].wait_for_calls("notify_match_result")
            assert told_last(match, player_id) == VOID
        assert match.manager.received_params("report_match_result") == []
        match.seat("P02", "odd")
        await match.play("R2M1")
