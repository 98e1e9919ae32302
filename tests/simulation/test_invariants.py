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
from agent_league.testing.faults import make_scenario
from agent_league.testing.invariants import INVARIANTS
from agent_league.testing.league_evidence import Evidence, Said

Tamper = Callable[[Evidence], None]
SEED = 5


@pytest.fixture(scope="module")
def good() -> Evidence:
    """A league without faults, read while it was there."""
    kept: list[Evidence] = []

    def keep(evidence: Evidence) -> Any:
        kept.append(evidence)
        return iter([str((evidence.said, evidence.saved, evidence.matches, evidence.log, evidence.tokens))[:0]])

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(simulation, "INVARIANTS", (keep,))
        simulation.simulate(make_scenario(SEED, players=4, referees=2, faults=()))
    return kept[0]


def tampered(good: Evidence, tamper: Tamper) -> Evidence:
    evidence = copy.copy(good)
    evidence.world = copy.copy(good.world)
    tamper(evidence)
    return evidence


def the_first(evidence: Evidence, method: str) -> Said:
    return next(said for said in evidence.of(method) if said.result)


def change_match(evidence: Evidence, **changes: Any) -> None:
    """Changes the result of one match that was won."""
    match_id, row = next((key, row) for key, row in evidence.matches.items() if row.result and row.result["winner"])
    changed: MatchRow = replace(row, result={**(row.result or {}), **changes})
    evidence.matches = {**evidence.matches, match_id: changed}


def drop_result(evidence: Evidence) -> None:
    match_id, row = next(iter(evidence.matches.items()))
    evidence.matches = {**evidence.matches, match_id: replace(row, result=None)}


def take_points(evidence: Evidence) -> None:
    change_match(evidence, outcome="DRAW", winner=None)


def tell_too_much(evidence: Evidence) -> None:
    *_, last = evidence.of("update_standings")
    evidence.said = [*evidence.said, replace(last, params={**last.params, "round_id": 1})]


def leave_unannounced(evidence: Evidence) -> None:
    assert evidence.saved
    evidence.saved = replace(evidence.saved, season=replace(evidence.saved.season, announced=False))


def move_an_agent(evidence: Evidence) -> None:
    assert evidence.saved
    first, *others = evidence.saved.agents
    evidence.saved = replace(evidence.saved, agents=[replace(first, endpoint="http://localhost:1/mcp"), *others])


def double_an_agent(evidence: Evidence) -> None:
    assert evidence.saved
    evidence.saved = replace(evidence.saved, agents=[*evidence.saved.agents, evidence.saved.agents[0]])


def refuse_a_good_token(evidence: Evidence) -> None:
    admitted = the_first(evidence, "register_player")
    params = {"auth_token": admitted.result["auth_token"]}
    answer = {"result": {"error_code": "E012"}}
    refused = replace(admitted, method="league_query", params=params, answer=answer, at=admitted.at + 1)
    evidence.said = [*evidence.said, refused]


def report_from_another(evidence: Evidence) -> None:
    report = the_first(evidence, "report_match_result")
    evidence.said = [*evidence.said, replace(report, call=replace(report.call, source="REF09"))]


def give_up_reporting(evidence: Evidence) -> None:
    with closing(asyncio.new_event_loop()) as loop:
        outcome: asyncio.Future[tuple[int, bytes]] = loop.create_future()
        outcome.set_exception(PeerTimeout("no answer"))
    report = the_first(evidence, "report_match_result")
    call = replace(report.call, source="REF09", outcome=outcome)
    evidence.world.trace = copy.copy(evidence.world.trace)
    evidence.world.trace.moments = [
        replace(moment, at=moment.at + 1000)
        for moment in evidence.world.trace.moments
        if moment.what == "LeagueCompleted"
    ]
    evidence.said = [*evidence.said, replace(report, call=call, answer=None)]


def name_another_winner(evidence: Evidence) -> None:
    report = the_first(evidence, "report_match_result")
    params = {**report.params, "result": {**report.params["result"], "winner": "P99"}}
    evidence.said = [*evidence.said, replace(report, params=params)]


def show_another_seed(evidence: Evidence) -> None:
    told = the_first(evidence, "notify_match_result")
    evidence.said = [*evidence.said, replace(told, params={**told.params, "draw_seed": "00" * 32})]


def draw_another_number(evidence: Evidence) -> None:
    told = the_first(evidence, "notify_match_result")
    result = {**told.params["game_result"], "drawn_number": 11}
    evidence.said = [*evidence.said, replace(told, params={**told.params, "game_result": result})]


def send_without_a_field(evidence: Evidence) -> None:
    said = the_first(evidence, "notify_round")
    params = {key: value for key, value in said.params.items() if key != "matches"}
    evidence.said = [*evidence.said, replace(said, params=params)]


def answer_with_another_message(evidence: Evidence) -> None:
    said = the_first(evidence, "handle_game_invitation")
    result = {**said.result, "message_type": "GAME_OVER"}
    evidence.said = [*evidence.said, replace(said, answer={**(said.answer or {}), "result": result})]


def answer_with_a_fault_of_ones_own(evidence: Evidence) -> None:
    said = the_first(evidence, "choose_parity")
    evidence.said = [*evidence.said, replace(said, answer={"jsonrpc": "2.0", "error": {"code": -32603}, "id": 1})]


def log_a_failure(evidence: Evidence) -> None:
    evidence.log = [*evidence.log, ("P01", '{"event_type": "handler_failed"}')]


def log_a_token(evidence: Evidence) -> None:
    evidence.log = [*evidence.log, ("P01", f'{{"event_type": "x", "mine": "{min(evidence.tokens)}"}}')]


def raise_something(evidence: Evidence) -> None:
    evidence.world.raised = ["P01 ended with ValueError()"]


def forget_to_tell(evidence: Evidence) -> None:
    evidence.world.untold = lambda: ["P01"]  # type: ignore[method-assign]


def lose_for_nothing(evidence: Evidence) -> None:
    change_match(evidence, outcome="TECHNICAL_LOSS", terminations={"P01": "join_timeout"})


def void_what_was_played(evidence: Evidence) -> None:
    match_id, row = next((key, row) for key, row in evidence.matches.items() if row.result)
    ends = {row.player_a: "void", row.player_b: "void"}
    changed: MatchRow = replace(row, result={**(row.result or {}), "terminations": ends})
    evidence.matches = {**evidence.matches, match_id: changed}


TAMPERS: list[tuple[Tamper, str]] = [
    (drop_result, "each_pair_has_one_result"),
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
def test_a_good_league_breaks_no_invariant(good: Evidence, check: Callable[[Evidence], Any]) -> None:
    assert list(check(good)) == []


@pytest.mark.parametrize(("tamper", "name"), TAMPERS, ids=lambda value: getattr(value, "__name__", value))
def test_an_invariant_notices_what_it_is_there_for(good: Evidence, tamper: Tamper, name: str) -> None:
    check = next(check for check in INVARIANTS if check.__name__ == name)
    assert list(check(tampered(good, tamper)))


def test_every_invariant_was_seen_to_fail() -> None:
    assert {name for _, name in TAMPERS} == {check.__name__ for check in INVARIANTS}
