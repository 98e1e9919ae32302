"""The gauntlet: challengers against the field."""

from collections import Counter

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import TournamentRecord
from agent_league.formats.gauntlet import Gauntlet
from agent_league.testing.format_contract import check_format
from tests.formats.playing import make_entrants, play_all


def test_each_challenger_meets_each_of_the_field_in_as_few_rounds_as_possible() -> None:
    for players in range(2, 12):
        for number in range(1, players):
            for cycles in (1, 2, 3):
                tournament = play_all(Gauntlet(number, cycles), TournamentRecord(make_entrants(players)))
                ids = [entrant.player_id for entrant in tournament.entrants]
                pairs = [pairing.players for round_ in tournament.rounds for pairing in round_.pairings]
                expected = {frozenset((one, other)): cycles for one in ids[:number] for other in ids[number:]}
                assert Counter(frozenset(pair) for pair in pairs) == expected
                assert len(tournament.rounds) == cycles * max(number, players - number)
                balances = Counter(a for a, _ in pairs)
                balances.subtract(Counter(b for _, b in pairs))
                assert all(abs(balance) <= cycles % 2 for balance in balances.values())


def test_a_single_challenger_changes_sides_from_round_to_round() -> None:
    tournament = play_all(Gauntlet(), TournamentRecord(make_entrants(7)))
    assert [round_.pairings[0].players.index("P01") for round_ in tournament.rounds] == [0, 1, 0, 1, 0, 1]
    assert tournament.rounds[0].pairings[0].reason == "P01 challenges everybody else"
    assert all(not round_.byes for round_ in tournament.rounds)


def test_challengers_may_be_named() -> None:
    tournament = play_all(Gauntlet(["P04", "P02"], cycles=2), TournamentRecord(make_entrants(5)))
    first = tournament.rounds[0].pairings[0]
    assert set(first.players) == {"P04", "P01"}
    assert first.reason == "P04 is a challenger, P01 is not; they meet 2 times, and this is meeting 1"
    assert len(tournament.rounds) == 6
    everybody = Gauntlet([entrant.player_id for entrant in tournament.entrants])
    with pytest.raises(ConfigError, match="challengers: expected at least one player that is none"):
        everybody.next_round(TournamentRecord(tournament.entrants))


def test_wrong_challengers_are_named() -> None:
    for challengers in (0, True, "P01", [], ["P01", "P01"], [1], None):
        with pytest.raises(ConfigError, match=r"format gauntlet: challengers: expected .* found"):
            Gauntlet(challengers)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="challengers: expected ids among P01, P02, P03, found 'P09'"):
        Gauntlet(["P09"]).next_round(TournamentRecord(make_entrants(3)))


def test_it_keeps_the_contract() -> None:
    check_format(Gauntlet, max_side_gap=1, sizes=(*range(2, 13), 64, 65))
    check_format(lambda: Gauntlet(3, 2), max_side_gap=0, sizes=(2, 3, 4, 5, 6, 7, 17))
