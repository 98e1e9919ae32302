"""The words for ratings, on tables with known numbers."""

from agent_league.ratings.bradley_terry import fit_ratings
from agent_league.ratings.luck import LuckTest
from agent_league.ratings.rating_words import (
    describe_ratings,
    format_group,
    format_likelihood,
    format_rating,
    tabulate_ratings,
)
from agent_league.ratings.results import ResultTable
from agent_league.ratings.tables import Rating, RatingTable, ResultRow, SeatAdvantage
from agent_league.ratings.transitivity import check_transitivity


def rate(player_id: str, elo: float, likelihood: float | None, group: int = 1, more: int | None = None) -> Rating:
    return Rating(player_id, elo, elo - 30, elo + 30, 10, likelihood, group, more)


def test_a_table_in_words_names_the_tied_players_the_games_to_separate_them_and_the_seat() -> None:
    ratings = (rate("P02", 40, 0.7, more=55), rate("P01", 20, 0.9995, more=0), rate("P03", -60, None, group=2))
    table = RatingTable(ratings, 15, (SeatAdvantage("nim", 12, -8, 32),), is_connected=False)
    assert list(describe_ratings(table, {"P01": "Ann", "P02": "Bob"})) == [
        "Not all players are linked by common opponents: compare ratings only among those who are.",
        "Statistically tied for the first place: Bob and Ann.",
        "Bob is better than Ann with a likelihood of 70%; about 55 more games of each would separate them.",
        "The first seat of nim is worth +12 ±20 Elo: that may be chance.",
    ]
    assert [format_rating(one) for one in ratings] == ["+40 ±30", "+20 ±30", "-60 ±30"]
    assert [format_likelihood(one) for one in ratings] == ["70%", ">99.9%", ""]
    assert [format_group(one) for one in ratings] == ["A", "A", "B"]
    assert format_group(rate("P99", 0, None, group=28)) == "AB"


def test_a_clear_winner_and_players_without_games_are_told_as_such() -> None:
    alone = RatingTable((rate("P01", 100, 0.999, more=0), rate("P02", -100, None, group=2)), 10)
    assert list(describe_ratings(alone)) == [
        "P01 is significantly better than all others.",
        "P01 is better than P02 with a likelihood of 99.9%.",
    ]
    unplayed = fit_ratings(ResultTable.from_rows([], ["P01", "P02"]))
    assert "tied" not in " ".join(describe_ratings(unplayed))
    assert format_rating(unplayed.ratings[0]) == "-"


def test_circles_are_told_by_name_and_nothing_is_said_of_luck_and_ties_then() -> None:
    beats = [("P01", "P02"), ("P02", "P03"), ("P03", "P01")]
    results = ResultTable.from_rows(ResultRow(one, other, 1.0, count=30) for one, other in beats)
    names = {"P01": "Rock", "P02": "Scissors", "P03": "Paper"}
    luck, table = LuckTest(0.5, 0.9, 0.05), fit_ratings(results)
    (sentence,) = describe_ratings(table, names, transitivity=check_transitivity(results), luck=luck)
    assert sentence == (
        "The results go in circles: Rock beats Scissors (30 of 30), Scissors beats Paper (30 of 30), Paper beats Rock "
        "(30 of 30). One number can't rank them; the ratings mislead."
    )
    first, second, *_ = describe_ratings(table, names, luck=luck)
    assert first == "These points can't be told from coin flips (p = 0.9): ranks may be luck so far."
    assert second == "All 3 players are statistically tied: none of them can be ruled out as the best."
    shown = tabulate_ratings(table, names)
    assert shown.text_rows()[0] == ["Rock", "60", "+0 ±58", "50%", "A", "1M+"]
