"""The honours of a league that is over: podium, decisive matches, records."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.league.state import LeagueState
from agent_league.league.visibility import VISITOR
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.honours import read_honours
from agent_league.web.pages.overview import OVERVIEW_PAGE
from tests.web.browsing import shown
from tests.web.format_seasons import knockout_season
from tests.web.seasons import reader_of, season_of

NOTHING: dict[str, Any] = {"podium": [], "decisive": [], "records": []}


def play(winners: dict[str, str | None], lengths: dict[str, int]) -> LeagueState:
    """A league of four whose matches end like this; who isn't named wins as the first in the pairing."""
    season = season_of(4, 0)
    for round_ in season.schedule.rounds:
        if season.current_round < round_.round_id:
            season.begin_round(round_)
        for pairing in round_.pairings:
            if pairing.match_id not in season.assigned_referees:
                season.assign_match(pairing.match_id, "REF01")
            winner = winners.get(pairing.match_id, pairing.player_a)
            moves = [{pairing.player_a: 1}] * lengths.get(pairing.match_id, 5)
            outcome = Outcome.WIN if winner else Outcome.DRAW
            result = MatchResult(
                pairing.match_id,
                round_.round_id,
                pairing.players,
                outcome,
                winner,
                {"moves": moves},
                dict.fromkeys(pairing.players, Termination.NORMAL),
            )
            season.record_result(result, season.assigned_referees[pairing.match_id])
        season.complete_round(round_.round_id)
    season.complete_league()
    return season


@pytest.mark.parametrize("season", [season_of(4, started=False), season_of(4, 3)])
def test_there_are_none_before_the_end(season: LeagueState, tmp_path: Path) -> None:
    assert read_honours(reader_of(season, tmp_path)) == NOTHING


def test_the_podium_is_the_top_of_the_final_table(tmp_path: Path) -> None:
    season = season_of(8)
    rows = season.standings()
    podium = read_honours(reader_of(season, tmp_path))["podium"]
    assert [one["player_id"] for one in podium] == [row.player_id for row in rows[:3]]
    assert [one["rank"] for one in podium] == [row.shared_rank for row in rows[:3]]
    page = shown(OVERVIEW_PAGE, reader_of(season, tmp_path))
    assert [step.one("a").text for step in page.one("ol", "podium").all("li")] == [row.display_name for row in rows[:3]]


def test_what_the_first_three_played_against_each_other_was_decisive(tmp_path: Path) -> None:
    season = season_of(8)
    best = {row.player_id for row in season.standings()[:3]}
    found = read_honours(reader_of(season, tmp_path))["decisive"]
    assert len(found) == 3
    assert all({player["player_id"] for player in match["players"]} <= best for match in found)


def test_the_final_of_a_knockout_was_decisive(tmp_path: Path) -> None:
    season = knockout_season(8)
    (final,) = season.schedule.rounds[-1].pairings
    (found,) = read_honours(reader_of(season, tmp_path))["decisive"]
    assert found["match_id"] == final.match_id


def records_of(season: LeagueState, home: Path) -> dict[str, tuple[str, str]]:
    found = read_honours(reader_of(season, home))["records"]
    return {one["title"]: (one["match"]["match_id"], one["figure"]) for one in found}


def test_the_longest_match_and_the_fastest_win_are_remembered(tmp_path: Path) -> None:
    season = play({"R2M1": None}, {"R1M2": 40, "R2M1": 2, "R3M1": 3})
    found = records_of(season, tmp_path)
    assert found["Longest match"] == ("R1M2", "40 moves")
    assert found["Fastest win"] == ("R3M1", "3 moves"), "a draw is no win, however short"


def test_where_all_matches_are_alike_none_is_the_longest(tmp_path: Path) -> None:
    assert not {"Longest match", "Fastest win"} & records_of(play({}, {}), tmp_path).keys()


def test_the_greatest_upset_is_a_win_of_the_player_who_is_rated_lower(tmp_path: Path) -> None:
    season = season_of(12)
    reader = reader_of(season, tmp_path)
    report = reader.rate_players()
    assert report
    elo = {one.player_id: one.elo for one in report.table.ratings}
    match_id, figure = records_of(season, tmp_path)["Greatest upset"]
    result = season.results[match_id]
    (loser,) = set(result.players) - {result.winner}
    margins = [
        elo[({*one.players} - {one.winner}).pop()] - elo[one.winner]
        for one in season.results.values()
        if one.outcome is Outcome.WIN and one.winner
    ]
    assert elo[loser] - elo[str(result.winner)] == max(margins) > 0
    assert figure == f"{max(margins):.0f} Elo"


def test_a_visitor_of_a_league_with_pseudonyms_reads_no_name_in_the_honours(tmp_path: Path) -> None:
    season = season_of(4, names=[f"Secret {number}" for number in range(4)])
    season.config = season.config.model_copy(update={"visibility": "pseudonyms"})
    reader: LeagueReader = reader_of(season, tmp_path).seen_by(VISITOR)
    assert read_honours(reader)["podium"]
    assert "Secret" not in repr(read_honours(reader))
