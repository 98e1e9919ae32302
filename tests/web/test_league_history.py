"""The chronicle: places after each round, form, news, and how long the rest will take."""

import tracemalloc
from pathlib import Path

import pytest

from agent_league.model.event_words import describe_event
from agent_league.model.events import (
    LeagueResumed,
    LeagueStarted,
    MatchFinished,
    RegistrationRefused,
    RoundStarted,
    StoreChanged,
)
from agent_league.web.league_reader import FORM_LENGTH, MOST_NEWS, MOST_REFUSED, LeagueHistory, RoundRank, RoundRanks
from tests.web.seasons import NOW, SteppedClock, play_on, season_of


def ranks(chronicle: LeagueHistory, round_id: int) -> list[str]:
    places = chronicle.ranks_by_round[round_id - 1]
    return sorted(places, key=lambda player_id: places[player_id].rank)


def test_whoever_comes_late_knows_the_same_as_who_was_there_all_along() -> None:
    season = season_of(6, 0)
    there = LeagueHistory(season)
    for _ in range(10):
        play_on(season, 1)
    late = LeagueHistory(season)
    assert there.ranks_by_round == late.ranks_by_round
    assert len(late.ranks_by_round) == season.rounds_completed == 3
    assert {player_id: list(form) for player_id, form in there.recent_results.items()} == {
        player_id: list(form) for player_id, form in late.recent_results.items()
    }


def test_the_last_places_are_those_of_the_table() -> None:
    season = season_of(5)
    chronicle = LeagueHistory(season)
    assert ranks(chronicle, 5) == [row.player_id for row in season.standings()]


def test_places_are_found_by_player_the_leader_first() -> None:
    season = season_of(5)
    places, rows = LeagueHistory(season).ranks_by_round[-1], season.standings()
    assert [*places.items()] == [(row.player_id, RoundRank(row.shared_rank, row.points)) for row in rows]
    assert [*places.to_dict().items()] == [*places.items()]
    assert "P99" not in places


def test_a_place_takes_less_memory_than_an_object() -> None:
    rows = season_of(5).standings() * 100
    tracemalloc.start()
    kept = [RoundRanks(rows) for _ in range(20)]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / (len(kept) * len(rows)) < 30


@pytest.mark.parametrize(("played", "round_before"), [(0, None), (1, None), (2, None), (3, 1), (4, 1), (5, 2), (6, 2)])
def test_movement_is_counted_from_before_the_latest_round_with_a_result(played: int, round_before: int | None) -> None:
    chronicle = LeagueHistory(season_of(4, played))
    assert chronicle.ranks_before == (chronicle.ranks_by_round[round_before - 1] if round_before else {})


def test_form_is_the_latest_results_the_newest_last() -> None:
    season = season_of(10)
    form = LeagueHistory(season).recent_results["P01"]
    mine = [result for result in season.results.values() if "P01" in result.players]
    assert list(form) == mine[-FORM_LENGTH:]


def test_news_carry_their_time_and_that_a_match_was_given_out_is_none() -> None:
    season, clock = season_of(2, started=False), SteppedClock()
    chronicle = LeagueHistory(season, clock)
    season.start_league()
    clock.wait(5)
    play_on(season, 1)
    told = [(type(news.event), news.at) for news in chronicle.news]
    assert told[:3] == [(LeagueStarted, NOW), (RoundStarted, clock.moment), (MatchFinished, clock.moment)]
    assert [news.number for news in chronicle.news] == list(range(1, len(told) + 1))
    assert chronicle.version == len(told) + 1, "the version grows with what is no news too"
    assert (chronicle.started_at, chronicle.ended_at) == (NOW, clock.moment)


def test_of_an_earlier_manager_the_results_are_known_and_not_their_times() -> None:
    season = season_of(4, 3)
    chronicle = LeagueHistory(season)
    assert [news.event for news in chronicle.news] == [MatchFinished(result) for result in season.results.values()]
    assert {news.at for news in chronicle.news} == {None}
    season.emit_resumed()
    assert isinstance(chronicle.news[-1].event, LeagueResumed)
    assert len(chronicle.news) == 4


def test_news_do_not_grow_without_end() -> None:
    assert len(LeagueHistory(season_of(30)).news) == MOST_NEWS


def test_the_rest_is_estimated_from_the_pace_since_the_start() -> None:
    season, clock = season_of(6, started=False), SteppedClock()
    chronicle = LeagueHistory(season, clock)
    season.start_league()
    clock.wait(4)
    play_on(season, 4)
    assert chronicle.seconds_left() is None, "after a few results it would be a guess"
    clock.wait(1)
    play_on(season, 1)
    assert chronicle.seconds_left() == pytest.approx(10)
    season.set_paused(is_paused=True)
    assert chronicle.seconds_left() is None
    season.set_paused(is_paused=False)
    play_on(season, 10)
    assert chronicle.seconds_left() is None


def test_a_pause_is_not_counted_into_the_pace() -> None:
    season, clock = season_of(8, started=False), SteppedClock()
    chronicle = LeagueHistory(season, clock)
    season.start_league()
    clock.wait(10)
    play_on(season, 10)
    assert chronicle.seconds_left() == pytest.approx(18)
    season.set_paused(is_paused=True)
    clock.wait(3600)
    season.set_paused(is_paused=False)
    assert chronicle.seconds_left() == pytest.approx(18)


def test_a_manager_that_was_started_again_in_a_pause_does_not_count_it_either() -> None:
    season, clock = season_of(8, 10), SteppedClock()
    season.set_paused(is_paused=True)
    chronicle = LeagueHistory(season, clock)
    season.emit_resumed()
    clock.wait(3600)
    season.set_paused(is_paused=False)
    clock.wait(5)
    play_on(season, 5)
    assert chronicle.seconds_left() == pytest.approx(13)


def test_whoever_knocks_in_ever_new_words_pushes_no_result_out_of_the_news() -> None:
    season = season_of(4, 2)
    chronicle = LeagueHistory(season)
    for number in range(300):
        season.report_refused_registration(f"Somebody {number}", "it is too late")
    told = [type(news.event) for news in chronicle.news]
    assert told.count(RegistrationRefused) == MOST_REFUSED
    assert told.count(MatchFinished) == 2


def test_a_manager_that_goes_on_judges_by_its_own_pace() -> None:
    season, clock = season_of(6, 5), SteppedClock()
    chronicle = LeagueHistory(season, clock)
    clock.wait(3600)
    season.emit_resumed()
    clock.wait(5)
    play_on(season, 5)
    assert chronicle.seconds_left() == pytest.approx(5)


def test_a_database_that_is_away_is_remembered_until_it_is_back(tmp_path: Path) -> None:
    season = season_of(2, 0)
    chronicle = LeagueHistory(season)
    season.emit(StoreChanged(is_there=False, why=f"{tmp_path} is full"))
    assert chronicle.store_problem.startswith("The database is away")
    assert str(tmp_path) not in f"{chronicle.store_problem} {describe_event(chronicle.news[-1].event, {})}"
    season.emit(StoreChanged(is_there=True, why=""))
    assert chronicle.store_problem == ""
