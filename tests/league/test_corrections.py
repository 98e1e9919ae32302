"""Corrections: matches played again, made void and awarded, players withdrawn and admitted, in every format."""

import asyncio
import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.clock import SystemClock
from agent_league.errors import Refusal
from agent_league.launch.league_start import describe_progress
from agent_league.league.organiser_commands import OrganiserCommand, OrganiserCommands
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.model.audit import CORRECTIONS, OrganiserAction
from agent_league.model.events import MatchFinished, MatchReplaced
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import make_rerun_id
from agent_league.ratings.tables import ResultRow
from agent_league.storage.files import read_json_object
from agent_league.storage.paths import DataPaths
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, at_work, within
from tests.league.scripted_referee import won_by_lowest
from tests.league.test_formats import FORMATS, GROUPS_THEN_KNOCKOUT, StoredLeague, make_result
from tests.league.test_resume import QUICK, Succession

OK = {"status": "ok"}
Action = OrganiserAction


REPAIRED: tuple[tuple[dict[str, Any], int], ...] = (
    ({"format": "knockout"}, 8),
    ({"format": "knockout", "settings": {"third_place": True}}, 11),
    ({"format": "knockout", "settings": {"best_of": 3}}, 6),
    ({"format": "double_elimination"}, 8),
    ({"format": "double_elimination", "settings": {"best_of": 3}}, 5),
    (GROUPS_THEN_KNOCKOUT, 12),
    ({"stages": [{"format": "groups", "settings": {"group_size": 3}, "advance": 1}, {"format": "round_robin"}]}, 9),
    ({"stages": [{"format": "knockout", "advance": 4}, {"format": "swiss", "settings": {"rounds": 3}}]}, 8),
    ({"stages": [{"format": "swiss", "settings": {"rounds": 3}, "advance": 4}, {"format": "double_elimination"}]}, 9),
)
"""Formats, with the number of players, in which results decide who meets whom later."""


def command(
    state: LeagueState,
    action: OrganiserAction,
    target: str,
    winner: str = "",
    reason: str = "appeal",
    *,
    void_followers: bool = False,
) -> str:
    order = OrganiserCommand(action, target, reason, "Ada", winner, void_followers=void_followers)
    return OrganiserCommands(state, SystemClock(), lambda: None).carry_out(order)


def play_open_matches(state: LeagueState) -> None:
    """Play whatever is to be played again in rounds that are over."""
    while open_reruns := state.list_open_reruns():  # the result of one may set another aside
        state.assign_match(open_reruns[0].match_id, "REF01")
        state.record_result(make_result(open_reruns[0]), "REF01")
    state.pair_further_rounds()


def count_points(state: LeagueState) -> dict[str, int]:
    """The points of a round robin or a Swiss tournament by its results alone."""
    points = dict.fromkeys(state.roster.players(), 0)
    for round_ in state.schedule.rounds:
        for pairing in () if round_.is_play_off else round_.pairings:
            if result := state.results.get(pairing.match_id):
                for player_id in pairing.players:
                    points[player_id] += state.scoring.points_for(result, player_id)
        if round_.round_id <= state.rounds_completed and state.format.name == "swiss":
            for player_id in round_.byes:
                points[player_id] += state.scoring.win_points
    return points


def correct_at_random(state: LeagueState, dice: Random, *, void_followers: bool = False) -> str:
    """Try one correction of any match that has a result; returns what came of it."""
    match_id = dice.choice(sorted(state.results))
    players = state.get_pairing(match_id).players
    action = dice.choice((Action.RERUN_MATCH, Action.VOID_MATCH, Action.AWARD_MATCH, Action.AWARD_MATCH))
    winner = dice.choice((*players, "draw")) if action is Action.AWARD_MATCH else ""
    before = (state.schedule, state.standings(), dict(state.results))
    try:
        return command(state, action, match_id, winner, void_followers=void_followers)
    except Refusal as refusal:
        assert (state.schedule, state.standings(), dict(state.results)) == before, "a refusal changes nothing"
        return f"refused: {refusal.message}"


@pytest.mark.parametrize(("scheduling", "players"), FORMATS, ids=lambda one: str(one)[:40])
def test_a_corrected_league_equals_one_built_anew_from_its_rows(
    home: Path, scheduling: dict[str, Any], players: int
) -> None:
    told = []
    for seed in range(12):
        dice = Random(seed)
        league = StoredLeague(home, scheduling, players)
        for _ in range(40):
            if not league.has_next_round:
                break
            league.play_round()
            told.append(correct_at_random(league.state, dice))
            again = league.load_again()
            assert again.standings() == league.state.standings()
            assert again.standings_after_round() == league.state.standings_after_round()
            assert list(again.iter_standings()) == list(league.state.iter_standings())
            if dice.random() < 0.3:
                league.state = again
            play_open_matches(league.state)
        assert not league.has_next_round, "the league comes to its end whatever was corrected"
        league.state.complete_league()
        told.append(correct_at_random(league.state, dice))
        league.state.pair_further_rounds()
        again = league.load_again()
        assert (again.phase, again.schedule) == (league.state.phase, league.state.schedule)
        assert again.standings() == league.state.standings()
        assert (again.audit_log, again.replaced_matches) == (league.state.audit_log, league.state.replaced_matches)
        if league.state.format.rank_players(league.state.tournament) is None:
            assert {row.player_id: row.points for row in again.standings()} == count_points(again)
    assert any("played again" in one for one in told)
    assert any("awarded" in one for one in told)
    assert any("void" in one for one in told)


def test_a_swiss_round_that_was_paired_stays_and_the_next_is_paired_by_the_corrected_points(home: Path) -> None:
    league = StoredLeague(home, {"format": "swiss"}, 8)
    league.play_round()
    paired = league.state.schedule.rounds[1]
    first = league.state.schedule.rounds[0].pairings[0]
    loser = max(first.players)
    command(league.state, Action.AWARD_MATCH, first.match_id, loser)
    assert league.state.schedule.rounds[1] == paired
    assert next(row.points for row in league.state.standings() if row.player_id == loser) == 3
    league.play_round()
    assert len(league.state.schedule.rounds) == 3


def test_the_same_correction_twice_is_told_as_such_and_the_first_reason_stands(home: Path) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 4)
    league.play_round()
    first, second = league.state.schedule.rounds[0].pairings
    loser = max(first.players)
    for winner, words in ((loser, f"awarded to {loser}"), ("draw", "awarded as a draw")):
        assert command(league.state, Action.AWARD_MATCH, first.match_id, winner) == f"{first.match_id} is {words}."
        again = command(league.state, Action.AWARD_MATCH, first.match_id, winner, "typed twice")
        assert again == f"nothing changed: {first.match_id} is {words} already."
        assert league.state.results[first.match_id].details["corrected"]["reason"] == "appeal"
    assert command(league.state, Action.VOID_MATCH, second.match_id).startswith(f"{second.match_id} is void: ")
    again = command(league.state, Action.VOID_MATCH, second.match_id)
    assert again == f"nothing changed: {second.match_id} is void already."
    assert league.load_again().standings() == league.state.standings()


def play_round(state: LeagueState, *, upsets: bool = False) -> None:
    """Play the next round: the lower id wins, with `upsets` the higher one."""
    round_ = state.schedule.rounds[state.rounds_completed]
    state.begin_round(round_)
    for pairing in round_.pairings:
        state.assign_match(pairing.match_id, "REF01")
        winner = max(pairing.players) if upsets else min(pairing.players)
        result = MatchResult(pairing.match_id, round_.round_id, pairing.players, Outcome.WIN, winner)
        state.record_result(result, "REF01")
    state.complete_round(round_.round_id)


def play_to_end(state: LeagueState) -> None:
    while state.rounds_completed < len(state.schedule.rounds) or state.pair_further_rounds():
        play_round(state)
    state.complete_league()


def test_an_appeal_in_a_knockout_needs_consent_to_what_it_makes_void(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 8)
    state = league.state
    for _ in range(2):
        play_round(state)
    before = (state.schedule, state.standings(), dict(state.results))
    first = state.schedule.rounds[0].pairings[0]
    went_on, out = min(first.players), max(first.players)
    for action, winner in ((Action.AWARD_MATCH, out), (Action.RERUN_MATCH, ""), (Action.VOID_MATCH, "")):
        with pytest.raises(Refusal) as refused:
            command(state, action, first.match_id, winner)
        assert f"{first.match_id} decided who plays R2M1 (played)" in refused.value.message
        assert "--void-followers" in refused.value.message
        assert (state.schedule, state.standings(), dict(state.results)) == before
    assert "awarded" in command(state, Action.AWARD_MATCH, first.match_id, went_on), "who went on stays: no consent"


def test_an_appeal_after_the_end_of_a_knockout_sends_the_right_player_on(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 8)
    state = league.state
    play_to_end(state)
    state.mark_end_announced()
    first = next(one for one in state.schedule.rounds[0].pairings if "P01" in one.players)
    robbed = max(first.players)
    semi = next(one for one in state.schedule.rounds[1].pairings if "P01" in one.players)
    rival = next(one for one in semi.players if one != "P01")
    other_semi = next(one for one in state.schedule.rounds[1].pairings if one is not semi)
    said = command(state, Action.AWARD_MATCH, first.match_id, robbed, void_followers=True)
    assert f"{first.match_id} is awarded to {robbed}; {semi.match_id}, R3M1 are void" in said
    assert "another round" in said
    assert state.phase is LeaguePhase.RUNNING
    for match_id in (semi.match_id, "R3M1"):
        assert state.results[match_id].is_void
        assert state.results[match_id].cause == first.match_id
        assert state.results[match_id].reported_outcome == ("WIN", "P01"), "what was played stays in the record"
        assert state.results[match_id].fault.startswith(
            f"void, as it would not have been paired after the correction of {first.match_id}: "
        )
    assert not state.results[other_semi.match_id].is_void
    assert state.pair_further_rounds()
    again = league.load_again()
    assert (again.schedule, again.set_aside) == (state.schedule, {semi.match_id, "R3M1"})
    assert [set(one.players) for one in state.schedule.rounds[3].pairings] == [{robbed, rival}]
    assert state.schedule.rounds[3].title == "Semi-finals"
    play_to_end(again)
    finalists = {min(robbed, rival), min(other_semi.players)}
    assert [set(one.players) for one in again.schedule.rounds[-1].pairings] == [finalists]
    assert again.standings()[0].player_id == min(finalists)
    with pytest.raises(
        Refusal, match=f"void for good, as it would not have been paired after {first.match_id} was corrected"
    ):
        command(again, Action.RERUN_MATCH, "R3M1")


def test_a_round_that_has_not_begun_is_paired_anew_without_a_trace(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 4)
    state = league.state
    play_round(state)
    first = state.schedule.rounds[0].pairings[0]
    other = min(state.schedule.rounds[0].pairings[1].players)
    said = command(state, Action.AWARD_MATCH, first.match_id, max(first.players))
    assert f"paired anew: R2M1: {' against '.join(state.get_pairing('R2M1').players)}" in said
    assert set(state.get_pairing("R2M1").players) == {max(first.players), other}
    assert state.set_aside == set()
    assert league.load_again().schedule == state.schedule
    command(state, Action.RERUN_MATCH, first.match_id)
    assert len(state.schedule.rounds) == 1, "the final waits for the match that is played again"
    assert league.load_again().schedule == state.schedule
    play_open_matches(state)
    assert set(state.get_pairing("R2M1").players) == {min(first.players), other}


@pytest.mark.parametrize("is_upset", [False, True])
def test_followers_of_a_match_that_is_played_again_fall_only_if_another_wins_it(home: Path, is_upset: bool) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 4)
    state = league.state
    play_to_end(state)
    first = state.schedule.rounds[0].pairings[0]
    champion = state.standings()[0].player_id
    said = command(state, Action.RERUN_MATCH, first.match_id, void_followers=True)
    assert "with another winner R2M1 will be void" in said
    assert state.standings()[0].player_id == champion, "the bracket stands as long as it isn't decided"
    assert league.load_again().standings() == state.standings()
    again = state.get_pairing(f"{first.match_id}-2")
    state.assign_match(again.match_id, "REF01")
    winner = max(again.players) if is_upset else min(again.players)
    state.record_result(MatchResult(again.match_id, 1, again.players, Outcome.WIN, winner), "REF01")
    assert state.results["R2M1"].is_void is is_upset
    assert ("R2M1" in state.set_aside) is is_upset
    if is_upset:
        assert state.results["R2M1"].details["corrected"]["reason"] == "appeal"
        assert winner in state.schedule.rounds[2].players
    assert len(state.schedule.rounds) == (3 if is_upset else 2)
    assert league.load_again().schedule == state.schedule


def test_a_series_that_is_open_again_goes_on_before_its_followers(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout", "settings": {"best_of": 3}}, 4)
    state = league.state
    play_to_end(state)
    assert [round_.title for round_ in state.schedule.rounds][::2] == ["Semi-finals, game 1 of 3", "Final, game 1 of 3"]
    first = state.schedule.rounds[1].pairings[0]
    command(state, Action.AWARD_MATCH, first.match_id, max(first.players), void_followers=True)
    state.pair_further_rounds()
    assert state.set_aside == {"R3M1", "R4M1"}
    assert [set(one.players) for one in state.schedule.rounds[4].pairings] == [set(first.players)]
    assert state.schedule.rounds[4].title == "Semi-finals, game 3 of 3"
    play_round(state, upsets=True)
    assert max(first.players) in state.schedule.rounds[5].players


def test_a_group_result_that_sends_another_on_changes_its_part_of_the_bracket_alone(home: Path) -> None:
    league = StoredLeague(home, GROUPS_THEN_KNOCKOUT, 16)
    state = league.state
    while len(state.schedule.rounds) < 5:
        play_round(state)
    play_to_end(state)
    bracket = state.schedule.rounds[3]
    group = next(table for table in state.find_group_tables() if "P01" in {row.player_id for row in table.rows})
    second, third = group.rows[1].player_id, group.rows[2].player_id
    decisive = next(
        one for round_ in state.schedule.rounds[:3] for one in round_.pairings if set(one.players) == {second, third}
    )
    said = command(state, Action.AWARD_MATCH, decisive.match_id, third, void_followers=True)
    state.pair_further_rounds()
    fallen = {one.match_id for one in bracket.pairings if one.match_id in state.set_aside}
    assert fallen, said
    assert len(fallen) < len(bracket.pairings), "the rest of the bracket stands"
    assert third in state.schedule.rounds[-1].players
    assert league.load_again().schedule == state.schedule
    play_to_end(state)
    assert league.load_again().standings() == state.standings()
    assert second not in {one for round_ in state.tournament.rounds[3:] for one in round_.players}


def test_what_was_decided_without_a_match_stays_when_another_branch_is_corrected(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 8)
    state = league.state
    play_round(state)
    gone = min(state.schedule.rounds[1].pairings[1].players)
    state.current_round = state.rounds_completed
    command(state, Action.SUSPEND_PLAYER, gone)
    first = state.schedule.rounds[0].pairings[0]
    command(state, Action.AWARD_MATCH, first.match_id, max(first.players))
    assert state.schedule.rounds[1].absent == (gone,)
    play_round(state)
    command(state, Action.REINSTATE_PLAYER, gone)
    command(state, Action.AWARD_MATCH, first.match_id, min(first.players), void_followers=True)
    state.pair_further_rounds()
    assert gone not in state.schedule.rounds[-1].players
    assert state.schedule.rounds[-1].title == "Semi-finals"
    assert league.load_again().schedule == state.schedule


@pytest.mark.parametrize(("scheduling", "players"), REPAIRED, ids=lambda one: str(one)[:60])
def test_brackets_come_to_their_end_whatever_is_corrected_in_them(
    home: Path, scheduling: dict[str, Any], players: int
) -> None:
    """Each match that counts is one that the bracket would have paired, and nobody's other matches fall with it."""
    told = []
    for seed in range(8):
        dice = Random(seed)
        league = StoredLeague(home, scheduling, players)
        for _ in range(80):
            if not league.has_next_round and not league.state.pair_further_rounds():
                break
            league.play_round()
            for _ in range(dice.choice((0, 0, 1, 2))):
                told.append(correct_at_random(league.state, dice, void_followers=True))
                change_players_at_random(league.state, dice)
                league.state.pair_further_rounds()
                assert_equals_rows(league)
                if dice.random() < 0.3:
                    league.state = league.load_again()
                if dice.random() < 0.8:
                    play_open_matches(league.state)
            play_open_matches(league.state)
            if league.state.rounds_completed > 30:
                break
        while league.has_next_round or league.state.pair_further_rounds():
            league.play_round()
        league.state.complete_league()
        assert_equals_rows(league)
    assert any("would not have been paired" in one for one in told)
    assert any("paired anew" in one for one in told)
    assert not any("decided who plays" in one for one in told)


def assert_equals_rows(league: StoredLeague) -> None:
    """A league built anew from its rows has the same rounds, bracket and tables."""
    state, again = league.state, league.load_again()
    assert again.schedule == state.schedule
    assert (again.set_aside, again.results, again.phase) == (state.set_aside, state.results, state.phase)
    assert again.standings() == state.standings()
    assert list(again.iter_standings()) == list(state.iter_standings())
    assert all(state.results[match_id].is_void for match_id in state.set_aside)


def change_players_at_random(state: LeagueState, dice: Random) -> None:
    """Suspend somebody now and then, or let somebody play again."""
    barred = [one for one in state.roster.players() if state.roster[one].is_barred]
    if barred and dice.random() < 0.5:
        command(state, Action.REINSTATE_PLAYER, dice.choice(barred))
    elif dice.random() < 0.15:
        command(state, Action.SUSPEND_PLAYER, dice.choice(sorted(state.roster.players())))


def test_the_final_of_a_knockout_that_is_void_after_the_end_is_decided_by_another_game(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 4)
    while league.has_next_round:
        league.play_round()
    state = league.state
    state.complete_league()
    final = state.schedule.rounds[-1].pairings[0]
    assert "needs another round" in command(state, Action.VOID_MATCH, final.match_id)
    assert state.phase is LeaguePhase.RUNNING
    assert not state.is_end_announced
    assert state.pair_further_rounds()
    assert set(state.schedule.rounds[-1].pairings[0].players) == set(final.players)
    assert league.load_again().schedule == state.schedule


def test_an_awarded_match_counts_by_the_rules_and_no_rating_counts_it() -> None:
    pairing = StoredPairing
    result = MatchResult("R1M1", 1, pairing, Outcome.WIN, "P01", {"drawn_number": 7})
    awarded = result.award_to("P02", {"action": "AWARD_MATCH", "reason": "x"})
    assert (awarded.outcome, awarded.winner) == (Outcome.TECHNICAL_LOSS, "P02")
    assert awarded.terminations == {"P01": Termination.AWARDED, "P02": Termination.NORMAL}
    assert awarded.reported_outcome == ("WIN", "P01")
    assert awarded.details["drawn_number"] == 7
    assert ResultRow.from_result(awarded) is None
    again = awarded.award_to(None, {}).make_void({"reason": "y"})
    assert again.reported_outcome == ("WIN", "P01"), "the first report is kept through every correction"
    assert again.is_void
    assert not again.is_awarded
    drawn = again.award_to(None, {})
    assert (drawn.outcome, drawn.is_void, ResultRow.from_result(drawn)) == (Outcome.DRAW, False, None)


StoredPairing = ("P01", "P02")


def test_each_rerun_has_an_id_of_its_own() -> None:
    assert make_rerun_id("R1M1", "") == "R1M1-2"
    assert make_rerun_id("R1M1-2", "R1M1") == "R1M1-3"
    assert make_rerun_id("R1M1-9", "R1M1-8") == "R1M1-10"


@pytest.mark.parametrize(
    ("action", "target", "winner", "says"),
    [
        (Action.RERUN_MATCH, "R9M9", "", "no match 'R9M9'"),
        (Action.AWARD_MATCH, "R1M1", "P04", "doesn't play R1M1; expected"),
        (Action.AWARD_MATCH, "R1M1", "Nobody", "no player 'Nobody'"),
        (Action.AWARD_MATCH, "R1M1", "", "missing: player_id"),
        (Action.VOID_MATCH, "", "", "missing: match_id"),
        (Action.RERUN_MATCH, "R2M1", "", "has no result yet"),
        (Action.VOID_MATCH, "R3M1", "", "has not begun"),
        (Action.WITHDRAW_PLAYER, "P99", "", "no player 'P99'"),
        (Action.ADMIT_PLAYER, "P01", "", "takes part already"),
        (Action.ADMIT_PLAYER, "Zoe", "", "round robin, takes nobody after the start"),
    ],
)
def test_what_can_t_be_corrected_is_refused_with_the_reason(
    home: Path, action: OrganiserAction, target: str, winner: str, says: str
) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 4)
    league.play_round()
    with pytest.raises(Refusal) as refused:
        command(league.state, action, target, winner)
    assert says in refused.value.message
    assert league.state.audit_log == []


@pytest.mark.parametrize("action", sorted(CORRECTIONS))
def test_a_correction_needs_a_reason(home: Path, action: str) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 4)
    with pytest.raises(Refusal, match="missing: reason"):
        command(league.state, OrganiserAction(action), "R1M1", "P01", reason="  ")


def test_who_withdraws_loses_what_is_left_stands_last_and_may_be_admitted_again(home: Path) -> None:
    league = StoredLeague(home, {"format": "round_robin"}, 4)
    league.play_round()
    state = league.state
    command(state, Action.WITHDRAW_PLAYER, "Agent P01")
    assert state.standings()[-1].player_id == "P01"
    assert "nothing changed" in command(state, Action.WITHDRAW_PLAYER, "P01")
    with pytest.raises(Refusal, match="withdrawn; admit it instead"):
        command(state, Action.REINSTATE_PLAYER, "P01")
    first = next(one for one in state.schedule.rounds[0].pairings if "P01" in one.players)
    with pytest.raises(Refusal, match=r"has withdrawn, so that .* can't be played again"):
        command(state, Action.RERUN_MATCH, first.match_id)
    league.play_round()
    lost = next(result for result in state.results.values() if result.round_id == 2 and "P01" in result.players)
    assert lost.terminations["P01"] is Termination.WITHDRAWN, "not merely suspended"
    assert lost.winner not in ("P01", None)
    again = league.load_again()
    assert again.roster["P01"].is_withdrawn
    assert again.standings() == state.standings()
    command(again, Action.ADMIT_PLAYER, "P01")
    league.state = again
    league.play_round()
    won = next(result for result in again.results.values() if result.round_id == 3 and "P01" in result.players)
    assert Termination.WITHDRAWN not in won.terminations.values()
    command(again, Action.WITHDRAW_PLAYER, "P02")
    assert again.standings()[-1].player_id == "P02"


def test_a_withdrawal_after_the_end_gives_the_title_to_the_next(home: Path) -> None:
    league = StoredLeague(home, {"format": "knockout"}, 4)
    while league.has_next_round:
        league.play_round()
    league.state.complete_league()
    champion = league.state.standings()[0].player_id
    league.state.mark_end_announced()
    command(league.state, Action.WITHDRAW_PLAYER, champion)
    assert league.state.standings()[0].player_id != champion
    assert league.state.standings()[-1].player_id == champion
    assert not league.state.is_end_announced, "the end is announced again"
    assert league.load_again().standings() == league.state.standings()
    command(league.state, Action.ADMIT_PLAYER, champion)
    assert league.state.standings()[0].player_id == champion


def test_a_late_player_is_admitted_by_name_if_the_format_allows_it(home: Path) -> None:
    league = StoredLeague(home, {"format": "swiss", "rounds": 4}, 6)
    league.state.set_registration_open(is_open=False)
    assert "'Zoe' may enter" in command(league.state, Action.ADMIT_PLAYER, " Zoe ")
    assert "nothing changed" in command(league.state, Action.ADMIT_PLAYER, "Zoe")
    again = league.load_again()
    assert list(again.admitted_names) == ["Zoe"]
    assert again._registration_closed_reason("Zoe") is None
    assert again._registration_closed_reason("Zoé") == "registration is closed by the organiser"


async def play_league(office: Office, players: int = 4) -> None:
    await office.seat_players(players)
    await office.seat_referee(verdict=won_by_lowest)
    assert await office.start() == OK
    await office.completed()


def saw(office: Office, method: str, number: int) -> list[dict[str, Any]]:
    return office.referees[number].received_params(method)


async def correct(office: Office, action: str, match_id: str | None = None, player: str | None = None) -> Any:
    fields = {"match_id": match_id} if match_id else {}
    return await office.manage(action, player, reason="appeal", **fields)


async def test_a_match_is_played_again_after_the_end_and_everybody_is_told(office: OfficeMaker) -> None:
    here = office()
    await play_league(here)
    state, judge = here.manager.state, here.referees[0]
    before = state.standings()
    assert before[0].player_id == "P01"
    judge._verdict = lambda order: {"winner": max(order["player_A_id"], order["player_B_id"]), "score": {}}
    first = next(one for one in state.schedule.pairings if set(one.players) == {"P01", "P02"})
    assert await correct(here, "RERUN_MATCH", first.match_id.lower()) == OK
    again = f"{first.match_id}-2"
    assert here.change == f"{first.match_id} is played again as {again}; its first result counts no more."
    await here.event(lambda event: isinstance(event, MatchFinished) and event.result.match_id == again)
    await here.completed()
    assert state.results[again].winner == "P02"
    assert first.match_id not in state.results
    assert state.replaced_matches[first.match_id].result.winner == "P01"
    assert state.standings()[0].player_id == "P02"
    ends = judge.received_params("notify_league_completed")
    assert [end["champion"]["player_id"] for end in ends] == ["P01", "P02"]
    updates = judge.received_params("update_standings")
    assert updates[-1]["standings"][0]["player_id"] == "P02"
    assert any(isinstance(event, MatchReplaced) for event in here.events)
    match = await here.ask("get_match", {"match_id": first.match_id})
    assert (match["state"], match["result"]["winner_player_id"], match["replaced_by"]) == ("FINISHED", "P01", again)


async def test_a_repeated_report_of_the_first_match_is_not_taken_for_the_second(office: OfficeMaker) -> None:
    here = office()
    await play_league(here)
    judge = here.referees[0]
    judge._auto_report = False
    first = here.manager.state.schedule.pairings[0]
    told = won_by_lowest({"player_A_id": first.player_a, "player_B_id": first.player_b})
    assert await correct(here, "RERUN_MATCH", first.match_id) == OK
    await within(judge.wait_for_calls("start_match", 7))
    assert await judge.report(first.match_id, told) == OK, "as it was answered the first time"
    other = {**told, "winner": max(first.players)}
    refused = await judge.report(first.match_id, other)
    assert refused["error_code"] == "E002"
    assert refused["context"]["replaced_by"] == f"{first.match_id}-2"
    assert f"{first.match_id}-2" not in here.manager.state.results
    assert await judge.report(f"{first.match_id}-2", other) == OK
    await here.completed()
    assert here.manager.state.results[f"{first.match_id}-2"].winner == max(first.players)


async def test_an_award_after_the_end_is_told_with_the_new_champion_and_stands_in_the_match_file(
    office: OfficeMaker,
) -> None:
    here = office()
    await play_league(here, 2)
    state, judge = here.manager.state, here.referees[0]
    assert await correct(here, "AWARD_MATCH", "R1M1", "Agent 2") == OK
    await within(judge.wait_for_calls("notify_league_completed", 2))
    await here.completed()
    assert state.phase is LeaguePhase.COMPLETED
    assert [end["champion"]["player_id"] for end in judge.received_params("notify_league_completed")] == ["P01", "P02"]
    assert state.standings_table.get_tally("P01").technical_losses == 1
    filed = read_json_object(DataPaths(here.home).match_file(LEAGUE_ID, "R1M1"))
    assert filed is not None
    assert [(one["action"], one["reason"]) for one in filed["corrections"]] == [("AWARD_MATCH", "appeal")]
    assert (filed["result"]["status"], filed["result"]["winner_player_id"]) == ("WIN", "P01"), "as it was played"


async def test_a_match_in_play_is_awarded_and_its_report_comes_too_late(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    judge = await here.seat_referee(auto_report=False)
    assert await here.start() == OK
    await within(judge.wait_for_calls("start_match"))
    assert await correct(here, "VOID_MATCH", "R1M1") == OK
    await here.completed()
    refused = await judge.report("R1M1", {"winner": "P01", "score": {}})
    assert (refused["error_code"], refused["context"]["void"]) == ("E002", True)
    assert here.manager.state.results["R1M1"].is_void


async def test_a_rerun_in_the_middle_of_a_league_holds_up_the_end_of_its_round(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(4)
    judge = await here.seat_referee(auto_report=False, capacity=4)
    assert await here.start() == OK
    await within(judge.wait_for_calls("start_match", 2))
    won = {"score": {}, "winner": here.manager.state.get_pairing("R1M1").player_a}
    assert await judge.report("R1M1", won) == OK
    assert await correct(here, "RERUN_MATCH", "R1M1") == OK
    await within(judge.wait_for_calls("start_match", 3))
    assert await judge.report("R1M2", {"winner": None, "score": {}}) == OK
    for _ in range(300):
        await asyncio.sleep(0)
    assert here.manager.state.rounds_completed == 0
    assert await judge.report("R1M1-2", won) == OK
    await within(judge.wait_for_calls("start_match", 5))
    assert here.manager.state.rounds_completed == 1
    assert {order["match_id"] for order in judge.orders} == {"R1M1", "R1M2", "R1M1-2", "R2M1", "R2M2"}


@pytest.mark.parametrize("is_over", [False, True])
async def test_a_manager_that_is_killed_in_the_middle_of_a_rerun_goes_on_with_it(home: Path, is_over: bool) -> None:
    succession = Succession(home, QUICK)
    async with at_work(succession.next()) as first:
        await first.seat_players(4)
        judge = await first.seat_referee(verdict=won_by_lowest, capacity=4)
        if not is_over:
            judge._auto_report = False
        assert await first.start() == OK
        if is_over:
            await first.completed()
            judge._auto_report = False
        else:
            await within(judge.wait_for_calls("start_match", 2))
            for match_id in ("R1M1", "R1M2"):
                pairing = first.manager.state.get_pairing(match_id)
                await judge.report(match_id, {"winner": min(pairing.players), "score": {}})
            await within(judge.wait_for_calls("start_match", 4))
        asked = len(judge.orders)
        assert await correct(first, "RERUN_MATCH", "R1M1") == OK
        if is_over:
            await within(judge.wait_for_calls("start_match", asked + 1))
            assert judge.orders[-1]["match_id"] == "R1M1-2"
        first.manager._mark_dismissed = lambda: None  # type: ignore[method-assign]  # as after kill -9
    async with at_work(succession.next()) as second:
        second.referees.append(judge)
        judge._auto_report = True
        await judge.register(second.network, "http://localhost:8000/mcp")
        for order in list(judge.orders):
            if order["match_id"] not in second.manager.state.results and order["match_id"] != "R1M1":
                await judge.report(order["match_id"], won_by_lowest(order))
        await second.completed()
        state = second.manager.state
        assert state.results["R1M1-2"].winner == min(state.get_pairing("R1M1").players)
        assert [entry.action for entry in state.audit_log] == ["START_LEAGUE", "RERUN_MATCH"]
        assert len(state.results) == 6


async def test_a_league_paused_at_its_end_is_corrected_and_ends_with_the_corrected_table(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    judge = await here.seat_referee(auto_report=False)
    assert await here.start() == OK
    await within(judge.wait_for_calls("start_match"))
    assert await here.manage("PAUSE") == OK
    assert await judge.report("R1M1", {"winner": "P01", "score": {}}) == OK
    assert await correct(here, "RERUN_MATCH", "R1M1") == OK
    for _ in range(300):
        await asyncio.sleep(0)
    assert len(judge.orders) == 1, "paused"
    assert await here.manage("RESUME") == OK
    await within(judge.wait_for_calls("start_match", 2))
    assert await judge.report("R1M1-2", {"winner": "P02", "score": {}}) == OK
    await here.completed()
    assert here.manager.state.standings()[0].player_id == "P02"


async def wait_for_result(office: Office, match_id: str) -> None:
    await office.event(lambda event: isinstance(event, MatchFinished) and event.result.match_id == match_id)


async def test_many_corrections_in_a_row_leave_one_truth(office: OfficeMaker) -> None:
    here = office()
    await play_league(here, 2)
    state = here.manager.state
    last = "R1M1"
    for number, action in enumerate(itertools.islice(itertools.cycle(("AWARD_MATCH", "RERUN_MATCH", "VOID_MATCH")), 9)):
        player = ("P02", "draw")[number % 2] if action == "AWARD_MATCH" else None
        assert await correct(here, action, last, player) == OK
        if action == "RERUN_MATCH":
            last = make_rerun_id(last, "" if last == "R1M1" else "x")
            await within(wait_for_result(here, last))
    await here.completed()
    assert list(state.results) == [last]
    assert last == "R1M1-4"
    assert set(state.replaced_matches) == {"R1M1", "R1M1-2", "R1M1-3"}
    assert state.results[last].is_void
    assert [row.points for row in state.standings()] == [0, 0]


async def test_a_league_whose_manager_was_stopped_after_the_end_is_corrected_by_the_next_one(home: Path) -> None:
    succession = Succession(home, QUICK)
    async with at_work(succession.next()) as first:
        await play_league(first, 2)
        judge = first.referees[0]
    assert succession.saved.season.phase == "DISMISSED"
    async with at_work(succession.next()) as second:
        await second.completed()
        assert await correct(second, "AWARD_MATCH", "R1M1", "P02") == OK
        await within(judge.wait_for_calls("notify_league_completed", 2))
        await second.completed()
        assert second.manager.state.standings()[0].player_id == "P02"
        judge._auto_report = False
        assert await correct(second, "RERUN_MATCH", "R1M1") == OK
        await within(judge.wait_for_calls("start_match", 2))
    assert succession.saved.season.phase == "RUNNING", "it goes on with the rerun when it is started again"
    assert describe_progress(succession.saved) == "0 of 1 matches played"
