"""How far a tournament is and what it takes to advance, in words; and the tables of its groups."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.double_elimination import DoubleElimination
from agent_league.formats.gauntlet import Gauntlet
from agent_league.formats.groups import Groups
from agent_league.formats.knockout import Knockout
from agent_league.formats.progress import describe_progress
from agent_league.formats.round_robin import DoubleRoundRobin, RoundRobin
from agent_league.formats.stage_views import find_brackets, find_group_tables
from agent_league.formats.stages import Stage, Stages
from agent_league.formats.swiss import Swiss
from agent_league.testing.format_contract import check_format
from tests.formats.played_tournament import PlayedTournament, let_better_seed_win

CUP = Stages((Stage(Groups(group_size=4), 2), Stage(Knockout(best_of=3))))


def play_rounds(format_: Format, players: int, rounds: int) -> TournamentRecord:
    """A tournament after so many rounds, in which the better seed always wins."""
    played = PlayedTournament(format_, players, let_better_seed_win)
    for _ in range(rounds):
        assert played.play_round()
    return played.tournament


DOUBLE_ELIMINATION_WORDS = (
    "Winners' round 2 and losers' round 1: who loses a second match is out; 2 unbeaten, 4 in the losers' bracket, 2 out"
)
WORDS: list[tuple[Format, int, int, str]] = [
    (RoundRobin(), 4, 2, "Round 2 of 3: everybody meets everybody"),
    (DoubleRoundRobin(), 4, 0, "6 rounds: everybody meets everybody twice"),
    (Swiss(), 16, 3, "Swiss round 3 of 6: players who are level on points meet; the table after round 6 decides"),
    (Knockout(), 13, 0, "Knockout of 13 players: the winner of each match advances, the loser is out"),
    (Knockout(), 13, 3, "Semi-finals: the winner of each match advances, the loser is out"),
    (Knockout(best_of=3), 4, 3, "Final, game 1 of 3: the winner of this best of 3 takes the first place"),
    (
        DoubleElimination(),
        8,
        2,
        DOUBLE_ELIMINATION_WORDS,
    ),
    (Groups(groups=2), 7, 1, "Round 1 of 3 in 2 groups of 3 or 4"),
    (Gauntlet(), 5, 2, "Round 2 of 4: P01 against everybody else"),
    (Gauntlet(challengers=2), 5, 1, "Round 1 of 3: 2 challengers against the other 3"),
    (
        CUP,
        16,
        1,
        "Stage 1 of 2, group stage. Round 1 of 3 in 4 groups of 4; the first 2 of each group go to the knockout",
    ),
    (
        CUP,
        16,
        4,
        "Stage 2 of 2, knockout. Quarter-finals, game 1 of 3: the winner of each best of 3 advances, the loser is out",
    ),
]


@pytest.mark.parametrize(("format_", "players", "rounds", "words"), WORDS)
def test_a_format_says_what_is_played_and_what_it_takes_to_advance(
    format_: Format, players: int, rounds: int, words: str
) -> None:
    assert describe_progress(format_, play_rounds(format_, players, rounds)) == words


class WordyFormat(RoundRobin):
    """A format of somebody else, with words of its own."""

    name: ClassVar = "wordy"
    words: ClassVar[Any] = "First to the post"

    def describe_progress(self, tournament: TournamentRecord) -> str:
        if isinstance(self.words, Exception):
            raise self.words
        told: str = self.words
        return told


class SilentFormat:
    """A format of somebody else, without words."""

    name: ClassVar = "silent_one"
    is_fixed: ClassVar = True
    takes_late_entries: ClassVar = False
    bye_is_win: ClassVar = False
    next_round = RoundRobin().next_round
    count_rounds = RoundRobin().count_rounds
    rank_players = RoundRobin().rank_players


def test_formats_of_others_say_theirs_or_their_rounds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tournament = play_rounds(RoundRobin(), 4, 2)
    assert describe_progress(WordyFormat(), tournament) == "First to the post"
    assert describe_progress(SilentFormat(), tournament) == "Round 2 of 3"
    monkeypatch.setattr(WordyFormat, "words", ValueError("no words"))
    assert describe_progress(WordyFormat(), tournament) == "Round 2 of 3", "words never stop a league"
    monkeypatch.setattr(WordyFormat, "words", "\x1b[2J")
    assert "\x1b" not in describe_progress(WordyFormat(), tournament)
    monkeypatch.setattr(WordyFormat, "words", None)
    with pytest.raises(AssertionError, match="`describe_progress` must give a text, found None"):
        check_format(WordyFormat, sizes=[4])


def test_the_tables_of_groups_mark_who_goes_on() -> None:
    tables = find_group_tables(CUP, play_rounds(CUP, 16, 3), {"P01": "Ann"})
    assert [table.name for table in tables] == ["A", "B", "C", "D"]
    first = tables[0]
    assert [(row.place, row.player_id, row.wins, row.losses, row.points) for row in first.rows] == [
        (1, "P01", 3, 0, 9),
        (2, "P08", 2, 1, 6),
        (3, "P09", 1, 2, 3),
        (4, "P16", 0, 3, 0),
    ]
    assert first.rows[0].display_name == "Ann"
    assert [row.is_advancing for row in first.rows] == [True, True, False, False]
    assert first.is_over
    assert first.advance == "the first 2 of each group go to the knockout"
    assert not any(table.is_cut_by_seed for table in tables)


def test_who_went_on_stays_marked_when_it_is_out_later() -> None:
    tournament = play_rounds(CUP, 16, 4)
    gone = [replace(one, is_out=one.player_id == "P01") for one in tournament.entrants]
    row = find_group_tables(CUP, replace(tournament, entrants=gone), {})[0].rows[0]
    assert (row.player_id, row.is_advancing) == ("P01", True)


def test_a_group_that_is_cut_by_seed_says_so_and_one_that_goes_nowhere_marks_nobody() -> None:
    begun = replace(play_rounds(CUP, 16, 1), results={})
    assert all(table.is_cut_by_seed and not table.is_over for table in find_group_tables(CUP, begun, {}))
    alone = find_group_tables(Groups(), play_rounds(Groups(), 8, 3), {})
    assert [table.name for table in alone] == ["A", "B"]
    assert not any(row.is_advancing for table in alone for row in table.rows)
    assert find_group_tables(Swiss(), play_rounds(Swiss(), 8, 1), {}) == []


def test_the_bracket_of_a_stage_is_there_once_the_stage_has_begun() -> None:
    assert find_brackets(CUP, play_rounds(CUP, 16, 2)) == []
    (bracket,) = find_brackets(CUP, play_rounds(CUP, 16, 4))
    assert [level.title for level in bracket.levels] == ["Quarter-finals", "Semi-finals", "Final"]
    assert all(series.match_ids for series in bracket.levels[0].series)
