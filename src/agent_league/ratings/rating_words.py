"""Ratings in the columns and sentences that pages, terminals and reports share. It rates nobody and loads no numpy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from agent_league.model.result_words import MAX_NAMED, format_count, join_names
from agent_league.model.tables import DataTable
from agent_league.ratings.rank_error import RankError
from agent_league.ratings.tables import NO_NAMES, Rating, RatingTable, SeatAdvantage, TechnicalLossRatings

if TYPE_CHECKING:
    from agent_league.ratings.luck import LuckTest
    from agent_league.ratings.transitivity import Transitivity

GameTitles = Callable[[str], str]
"""Returns the title by which people know a game."""
RATING_COLUMN = "Elo, 95%"
RATING_EXPLAINED = "Rating in Elo above or below the mean of all players, with its 95% interval"
LIKELIHOOD_COLUMN = "Above next"
LIKELIHOOD_EXPLAINED = "How likely the player is better than the one with the next lower rating"
GROUP_COLUMN = "Tied"
GROUP_EXPLAINED = "Players of one letter aren't significantly weaker than the best of them"
SEPARATION_COLUMN = "To separate"
SEPARATION_EXPLAINED = "How many more games would make the difference from the next one significant if it stays"
TABLE_EXPLAINED = (
    "Elo above or below the mean of all. Above next: how likely a player is better than the one below. Tied: of one "
    "letter, nobody is significantly weaker than the first. To separate: more games until the one below is."
)


def format_rating(rating: Rating) -> str:
    """Format a rating with its interval: `+120 ±35`; without games it is a dash."""
    return str(rating) if rating.games else "-"


def format_likelihood(rating: Rating) -> str:
    """Format how likely a player is better than the next: `97%`; never 0% or 100%, and empty for the last."""
    likelihood = rating.likelihood_above_next
    if likelihood is None:
        return ""
    return ">99.9%" if likelihood > 0.999 else f"{likelihood:.1%}" if likelihood > 0.99 else f"{likelihood:.0%}"


def format_games_to_separate(rating: Rating) -> str:
    """Format how many more games would separate a player from the next: `1,200`; empty for the last."""
    if rating.likelihood_above_next is None:
        return ""
    return "1M+" if rating.games_to_separate is None else f"{rating.games_to_separate:,}"


def format_group(rating: Rating) -> str:
    """Format the number of a tied group as a letter: A, B ... Z, AA, AB; empty without games."""
    number, letters = rating.tied_group if rating.games else 0, ""
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def tabulate_ratings(table: RatingTable, names: Mapping[str, str] = NO_NAMES, title: str = "Ratings") -> DataTable:
    """Make a table of the ratings, best first, with the likelihood of being better than the next and tied groups."""
    rows = [
        (
            _name(rating, names),
            rating.games,
            format_rating(rating),
            format_likelihood(rating),
            format_group(rating),
            format_games_to_separate(rating),
        )
        for rating in table.ratings
    ]
    columns = ("Player", ">Games", f">{RATING_COLUMN}", f">{LIKELIHOOD_COLUMN}", GROUP_COLUMN, f">{SEPARATION_COLUMN}")
    return DataTable(columns, rows, title, TABLE_EXPLAINED)


def describe_ratings(
    table: RatingTable,
    names: Mapping[str, str] = NO_NAMES,
    *,
    transitivity: "Transitivity | None" = None,
    luck: "LuckTest | None" = None,
    rank_error: RankError | None = None,
    groups: Sequence[Sequence[str]] = (),
    title_game: GameTitles = str,
) -> Iterator[str]:
    """Yield the sentences that belong below a table of ratings, the most important first.

    `groups` are the players by group if not all are linked by opponents. If one number a player doesn't describe the
    results, nothing is called luck; if they go in circles, nothing is said of ties and ranks either.
    """
    goes_in_circles = transitivity is not None and transitivity.goes_in_circles
    is_described = transitivity is None or transitivity.is_described_by_ratings
    is_luck = luck is not None and luck.is_luck and is_described
    if luck is not None and is_luck:
        yield luck.describe(rank_error)
    if transitivity is not None and not transitivity.is_described_by_ratings:
        yield transitivity.describe(names)
    if len(groups) > 1:
        yield from describe_unconnected_groups(groups, names)
    elif not table.is_connected:
        yield "Not all players are linked by common opponents: compare ratings only among those who are."
    if not goes_in_circles:
        yield from describe_ties(table, names)
    yield from describe_seat_advantages(table, title_game)
    if rank_error is not None and not is_luck and not goes_in_circles:
        yield rank_error.describe()


def describe_ties(table: RatingTable, names: Mapping[str, str] = NO_NAMES) -> Iterator[str]:
    """Yield who may be the best of those who played, and how many games would separate the first two.

    Nothing for fewer than two players, and if some who played aren't linked to the others by opponents.

    Groups below the first are columns' matter: a sentence for each would bury the one that counts.
    """
    linked = table.list_linked()
    if len(linked) < 2 or not table.games or not table.can_name_best:
        return
    groups = [list(members) for _, members in groupby(linked, lambda rating: rating.tied_group)]
    best, first = groups[0], table.ratings[0]
    if len(best) == 1:
        yield f"{_name(first, names)} is significantly better than all others."
    elif len(best) == len(linked) > 2:
        yield f"All {len(best)} players are statistically tied: none of them can be ruled out as the best."
    else:
        yield f"Statistically tied for the first place: {join_names([_name(rating, names) for rating in best])}."
    yield describe_next(table, 0, names)


def describe_next(table: RatingTable, place: int, names: Mapping[str, str] = NO_NAMES) -> str:
    """Say how likely the player at this place, from 0, is better than the next, and how many games would separate them.

    The last place has no next one.
    """
    rating, following = table.ratings[place], table.ratings[place + 1]
    one, other = _name(rating, names), _name(following, names)
    if rating.elo == following.elo:
        return f"{one} and {other} have the same rating."
    likelihood = format_likelihood(rating).replace(">", "more than ")
    sentence = f"{one} is better than {other} with a likelihood of {likelihood}"
    if rating.games_to_separate == 0:
        return f"{sentence}."
    if rating.games_to_separate is None:
        return f"{sentence}; no reasonable number of games would separate them."
    return f"{sentence}; about {format_count(rating.games_to_separate, 'more game')} of each would separate them."


def describe_seat_advantages(table: RatingTable, title_game: GameTitles = str) -> Iterator[str]:
    """Yield what the first seat of each game is worth."""
    for advantage in table.seat_advantages:
        yield _describe_seat_advantage(advantage, title_game)


def _describe_seat_advantage(advantage: SeatAdvantage, title_game: GameTitles) -> str:
    half = (advantage.high - advantage.low) / 2
    named = f" of {title_game(advantage.game)}" if advantage.game else ""
    sentence = f"The first seat{named} is worth {advantage.elo:+.0f} ±{half:.0f} Elo"
    return f"{sentence}: that may be chance." if advantage.low <= 0 <= advantage.high else f"{sentence}."


def describe_technical_losses(
    rated: TechnicalLossRatings, matches: int, names: Mapping[str, str] = NO_NAMES
) -> Iterator[str]:
    """Yield what the ratings would be without technical losses, which decided so many matches; nothing without any."""
    before, after = rated.all_results, rated.without_technical_losses
    if after is None or not before.ratings:
        return
    can_name_best = before.can_name_best and after.can_name_best
    first, other = before.ratings[0], after.ratings[0]
    without = f"Without the {format_count(matches, 'match')} that a technical loss decided"
    if first.player_id != other.player_id and can_name_best:
        yield f"{without}, {_name(other, names)} has the best rating instead of {_name(first, names)}."
        return
    ratings = after.by_player()
    most = max(before.ratings, key=lambda rating: abs(ratings[rating.player_id].elo - rating.elo))
    changed = f"the rating of {_name(most, names)} changes the most: {ratings[most.player_id]} instead of {most}"
    unchanged = f" {_name(first, names)} still has the best rating;" if can_name_best else ""
    yield f"{without},{unchanged} {changed}."


def describe_unconnected_groups(groups: Sequence[Sequence[str]], names: Mapping[str, str] = NO_NAMES) -> Iterator[str]:
    """Yield who never met whom, not even through common opponents; nothing if all players are linked."""
    if len(groups) < 2:
        return
    shown = [join_names([names.get(player_id, player_id) for player_id in group]) for group in groups[:MAX_NAMED]]
    rest = f"; and {format_count(len(groups) - len(shown), 'more group')}" if len(groups) > len(shown) else ""
    yield (
        f"These never met, not even through common opponents: {'; '.join(shown)}{rest}."
        " Compare ratings only within a group."
    )


def _name(rating: Rating, names: Mapping[str, str]) -> str:
    return names.get(rating.player_id, rating.player_id)
