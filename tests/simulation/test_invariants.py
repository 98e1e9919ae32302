"""Every invariant can fail: the evidence of a good league is tampered with, and the one that must notices."""

import asyncio
import copy
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from agent_league.errors import PeerTimeout
from agent_league.storage.base import MatchRow
from agent_league.testing import simulation
from agent_league.testing.faults import Scenario, make_scenario
from agent_league.testing.invariants import INVARIANTS
from agent_league.testing.league_evidence import LeagueEvidence, RecordedCall

Tamper = Callable[[LeagueEvidence], None]
SEED = 5


@pytest.fixture(scope="module")
def good() -> LeagueEvidence:
    """A league without faults."""
    return play_league(make_scenario(SEED, players=4, referees=2, faults=()))


@pytest.fixture(scope="module")
def good_rounds() -> LeagueEvidence:
    """A league of three games a match, in which P02 doesn't keep them."""
    scenario = make_scenario(SEED, players=4, referees=2, faults=())
    return play_league(replace(scenario, repeat=3, forgetful_players=("P02",)))


def play_league(scenario: Scenario) -> LeagueEvidence:
    """The evidence of a league, read while it was there."""
    kept: list[LeagueEvidence] = []

    def keep(evidence: LeagueEvidence) -> Any:
        kept.append(evidence)
        return iter(
            [
                str(
                    (
                        evidence.recorded_calls,
                        evidence.saved_league,
                        evidence.match_rows,
                        evidence.log_lines,
                        evidence.sent_tokens,
                    )
                )[:0]
            ]
        )

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(simulation, "INVARIANTS", (keep,))
        simulation.simulate_scenario(scenario)
    return kept[0]


def tampered(good: LeagueEvidence, tamper: Tamper) -> LeagueEvidence:
    evidence = copy.copy(good)
    evidence.world = copy.copy(good.world)
    tamper(evidence)
    return evidence


def the_first(evidence: LeagueEvidence, method: str) -> RecordedCall:
    return next(said for said in evidence.calls_of(method) if said.result)


def change_match(evidence: LeagueEvidence, **changes: Any) -> None:
    """Changes the result of one match that was won."""
    row = next(row for row in evidence.match_rows.values() if row.result and row.result["winner"])
    put_match(evidence, replace(row, result={**(row.result or {}), **changes}))


def put_match(evidence: LeagueEvidence, row: MatchRow) -> None:
    """Puts a changed row in the place of the one with its id, wherever rows are read."""
    saved = evidence.saved_league
    assert saved
    rows = [row if one.match_id == row.match_id else one for one in saved.matches]
    evidence.saved_league = replace(saved, matches=rows)
    evidence.all_match_rows = {**evidence.all_match_rows, row.match_id: row}
    evidence.match_rows = {**evidence.match_rows, row.match_id: row}


def drop_result(evidence: LeagueEvidence) -> None:
    match_id, row = next(iter(evidence.match_rows.items()))
    evidence.match_rows = {**evidence.match_rows, match_id: replace(row, result=None)}


def swap_a_pairing(evidence: LeagueEvidence) -> None:
    row = next(iter(evidence.match_rows.values()))
    put_match(evidence, replace(row, player_a=row.player_b, player_b=row.player_a))


def take_points(evidence: LeagueEvidence) -> None:
    change_match(evidence, outcome="DRAW", winner=None)


def tell_too_much(evidence: LeagueEvidence) -> None:
    *_, last = evidence.calls_of("update_standings")
    evidence.recorded_calls = [*evidence.recorded_calls, replace(last, params={**last.params, "round_id": 1})]


def leave_unannounced(evidence: LeagueEvidence) -> None:
    assert evidence.saved_league
    evidence.saved_league = replace(
        evidence.saved_league, season=replace(evidence.saved_league.season, announced=False)
    )


def move_an_agent(evidence: LeagueEvidence) -> None:
    assert evidence.saved_league
    first, *others = evidence.saved_league.agents
    evidence.saved_league = replace(
        evidence.saved_league, agents=[replace(first, endpoint="http://localhost:1/mcp"), *others]
    )


def double_an_agent(evidence: LeagueEvidence) -> None:
    assert evidence.saved_league
    evidence.saved_league = replace(
        evidence.saved_league, agents=[*evidence.saved_league.agents, evidence.saved_league.agents[0]]
    )


def refuse_a_good_token(evidence: LeagueEvidence) -> None:
    admitted = the_first(evidence, "register_player")
    params = {"auth_token": admitted.result["auth_token"]}
    answer = {"result": {"error_code": "E012"}}
    refused = replace(
        admitted, method="league_query", params=params, answer=answer, answered_at=admitted.answered_at + 1
    )
    evidence.recorded_calls = [*evidence.recorded_calls, refused]


def report_from_another(evidence: LeagueEvidence) -> None:
    report = the_first(evidence, "report_match_result")
    evidence.recorded_calls = [*evidence.recorded_calls, replace(report, call=replace(report.call, source="REF09"))]


def give_up_reporting(evidence: LeagueEvidence) -> None:
    with closing(asyncio.new_event_loop()) as loop:
        outcome: asyncio.Future[tuple[int, bytes]] = loop.create_future()
        outcome.set_exception(PeerTimeout("no answer"))
    report = the_first(evidence, "report_match_result")
    call = replace(report.call, source="REF09", outcome=outcome)
    evidence.world.trace = copy.copy(evidence.world.trace)
    evidence.world.trace.entries = [
        replace(moment, at=moment.at + 1000)
        for moment in evidence.world.trace.entries
        if moment.event == "LeagueCompleted"
    ]
    evidence.recorded_calls = [*evidence.recorded_calls, replace(report, call=call, answer=None)]


def name_another_winner(evidence: LeagueEvidence) -> None:
    report = the_first(evidence, "report_match_result")
    params = {**report.params, "result": {**report.params["result"], "winner": "P99"}}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(report, params=params)]


def show_another_seed(evidence: LeagueEvidence) -> None:
    told = the_first(evidence, "notify_match_result")
    evidence.recorded_calls = [*evidence.recorded_calls, replace(told, params={**told.params, "draw_seed": "00" * 32})]


def draw_another_number(evidence: LeagueEvidence) -> None:
    told = the_first(evidence, "notify_match_result")
    result = {**told.params["game_result"], "drawn_number": 11}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(told, params={**told.params, "game_result": result})]


def send_without_a_field(evidence: LeagueEvidence) -> None:
    said = the_first(evidence, "notify_round")
    params = {key: value for key, value in said.params.items() if key != "matches"}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(said, params=params)]


def answer_with_another_message(evidence: LeagueEvidence) -> None:
    said = the_first(evidence, "handle_game_invitation")
    result = {**said.result, "message_type": "GAME_OVER"}
    evidence.recorded_calls = [
        *evidence.recorded_calls,
        replace(said, answer={**(said.answer or {}), "result": result}),
    ]


def answer_with_a_fault_of_ones_own(evidence: LeagueEvidence) -> None:
    said = the_first(evidence, "choose_parity")
    evidence.recorded_calls = [
        *evidence.recorded_calls,
        replace(said, answer={"jsonrpc": "2.0", "error": {"code": -32603}, "id": 1}),
    ]


def log_a_failure(evidence: LeagueEvidence) -> None:
    evidence.log_lines = [*evidence.log_lines, ("P01", '{"event_type": "handler_failed"}')]


def log_a_token(evidence: LeagueEvidence) -> None:
    evidence.log_lines = [*evidence.log_lines, ("P01", f'{{"event_type": "x", "mine": "{min(evidence.sent_tokens)}"}}')]


def raise_something(evidence: LeagueEvidence) -> None:
    evidence.world.escaped_errors = ["P01 ended with ValueError()"]


def forget_to_tell(evidence: LeagueEvidence) -> None:
    evidence.world.uninformed_agents = lambda: ["P01"]  # type: ignore[method-assign]


def lose_for_nothing(evidence: LeagueEvidence) -> None:
    change_match(evidence, outcome="TECHNICAL_LOSS", terminations={"P01": "join_timeout"})


def void_what_was_played(evidence: LeagueEvidence) -> None:
    match_id, row = next((key, row) for key, row in evidence.match_rows.items() if row.result)
    ends = {row.player_a: "void", row.player_b: "void"}
    changed: MatchRow = replace(row, result={**(row.result or {}), "terminations": ends})
    evidence.match_rows = {**evidence.match_rows, match_id: changed}


def replay_without_command(evidence: LeagueEvidence) -> None:
    row = next(iter(evidence.match_rows.values()))
    put_match(evidence, replace(row, replaces="R1M1"))


def find_question(evidence: LeagueEvidence, *, is_short: bool) -> RecordedCall:
    """A question that has rounds, or leaves some out."""
    asked = (said for said in evidence.calls_of("make_move") if said.params["move_request"]["context"]["rounds"])
    return next(said for said in asked if ("rounds_since" in said.params["context"]) == is_short)


def ask_without_rounds(evidence: LeagueEvidence, said: RecordedCall, since: int) -> None:
    params = {**said.params, "context": {**said.params["context"], "rounds_since": since}}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(said, params=params, answer=None)]


def leave_out_what_was_never_shown(evidence: LeagueEvidence) -> None:
    ask_without_rounds(evidence, find_question(evidence, is_short=True), 99)


def leave_out_what_isnt_kept(evidence: LeagueEvidence) -> None:
    said = next(said for said in evidence.calls_of("make_move") if said.call.target == "P02")
    ask_without_rounds(evidence, said, 1)


def show_a_round_in_two_ways(evidence: LeagueEvidence) -> None:
    said = find_question(evidence, is_short=False)
    request = said.params["move_request"]
    context = {**request["context"], "rounds": [["maybe", "maybe"]]}
    params = {**said.params, "move_request": {**request, "context": context}}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(said, params=params)]


def see_too_little(evidence: LeagueEvidence) -> None:
    *others, last = evidence.world.seen_views
    evidence.world.seen_views = [*others, replace(last, rounds=last.rounds[1:])]


def let_another_win_the_rounds(evidence: LeagueEvidence) -> None:
    told = the_first(evidence, "notify_match_result")
    result = {**told.params["game_result"], "winner_player_id": "P99"}
    evidence.recorded_calls = [*evidence.recorded_calls, replace(told, params={**told.params, "game_result": result})]


ROUND_TAMPERS: list[tuple[Tamper, str]] = [
    (leave_out_what_was_never_shown, "only_known_rounds_are_left_out"),
    (leave_out_what_isnt_kept, "only_known_rounds_are_left_out"),
    (show_a_round_in_two_ways, "players_see_all_rounds"),
    (see_too_little, "players_see_all_rounds"),
    (let_another_win_the_rounds, "draws_match_their_commitments"),
]
TAMPERS: list[tuple[Tamper, str]] = [
    (replay_without_command, "acknowledged_corrections_are_kept"),
    (drop_result, "each_pairing_has_one_result"),
    (swap_a_pairing, "rounds_follow_from_the_results"),
    (take_points, "standings_follow_from_the_matches"),
    (tell_too_much, "updates_tell_the_table_of_their_round"),
    (take_points, "acknowledged_results_are_kept"),
    (leave_unannounced, "league_is_completed"),
    (move_an_agent, "acknowledged_registrations_are_kept"),
    (double_an_agent, "ids_are_unique"),
    (refuse_a_good_token, "tokens_stay_good"),
    (report_from_another, "results_come_from_their_referees"),
    (give_up_reporting, "results_are_reported_until_answered"),
    (name_another_winner, "no_match_has_two_winners"),
    (show_another_seed, "draws_match_their_commitments"),
    (draw_another_number, "draws_match_their_commitments"),
    (send_without_a_field, "messages_are_valid"),
    (answer_with_another_message, "messages_are_valid"),
    (answer_with_a_fault_of_ones_own, "nobody_raised"),
    (log_a_failure, "nobody_raised"),
    (raise_something, "nobody_raised"),
    (log_a_token, "no_token_is_written"),
    (forget_to_tell, "everybody_knows_the_end"),
    (lose_for_nothing, "nobody_loses_without_a_fault"),
    (void_what_was_played, "only_what_a_silent_referee_took_is_void"),
]


@pytest.mark.parametrize("check", INVARIANTS, ids=lambda check: check.__name__)
def test_a_good_league_breaks_no_invariant(good: LeagueEvidence, check: Callable[[LeagueEvidence], Any]) -> None:
    assert list(check(good)) == []


@pytest.mark.parametrize("check", INVARIANTS, ids=lambda check: check.__name__)
def test_neither_does_one_of_several_games_a_match(
    good_rounds: LeagueEvidence, check: Callable[[LeagueEvidence], Any]
) -> None:
    assert list(check(good_rounds)) == []
    assert good_rounds.world.seen_views


@pytest.mark.parametrize(("tamper", "name"), ROUND_TAMPERS, ids=lambda value: getattr(value, "__name__", value))
def test_an_invariant_notices_what_is_wrong_with_rounds(good_rounds: LeagueEvidence, tamper: Tamper, name: str) -> None:
    check = next(check for check in INVARIANTS if check.__name__ == name)
    assert list(check(tampered(good_rounds, tamper)))


@pytest.mark.parametrize(("tamper", "name"), TAMPERS, ids=lambda value: getattr(value, "__name__", value))
def test_an_invariant_notices_what_it_is_there_for(good: LeagueEvidence, tamper: Tamper, name: str) -> None:
    check = next(check for check in INVARIANTS if check.__name__ == name)
    assert list(check(tampered(good, tamper)))


def test_every_invariant_was_seen_to_fail() -> None:
    assert {name for _, name in (*TAMPERS, *ROUND_TAMPERS)} == {check.__name__ for check in INVARIANTS}
