"""Stages: who goes on, with which seeds, and how rounds are counted through."""

from typing import ClassVar

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.base import TournamentRecord, make_round
from agent_league.formats.bracket import build_bracket
from agent_league.formats.groups import Groups, list_groups
from agent_league.formats.knockout import Knockout
from agent_league.formats.stages import Stage, Stages
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing
from tests.formats.played_tournament import PlayedTournament, let_better_seed_win, make_result, play

WORLD_CUP = Stages((Stage(Groups()), Stage(Knockout(third_place=True))))


def test_groups_then_knockout() -> None:
    played = play(WORLD_CUP, 16)
    rounds = played.tournament.rounds
    assert [(round_.round_id, round_.stage, round_.title) for round_ in rounds] == [
        (1, 1, "Group stage, round 1"),
        (2, 1, "Group stage, round 2"),
        (3, 1, "Group stage, round 3"),
        (4, 2, "Knockout, quarter-finals"),
        (5, 2, "Knockout, semi-finals"),
        (6, 2, "Knockout, final and third place"),
    ]
    assert rounds[4].pairings[0].match_id == "R5M1"
    assert rounds[4].pairings[0].reason == "winner of R4M1 (P01) meets winner of R4M2 (P04)"
    assert [group[0] for group in played.rank_players()[:4]] == ["P01", "P02", "P03", "P04"]
    assert sorted(played.rank_players()[4]) == ["P05", "P06", "P07", "P08"]
    assert played.rank_players()[5] == ["P09", "P10", "P11", "P12"], "third in the groups"
    knockout = WORLD_CUP.get_stage_tournament(played.tournament, 2)
    assert [entrant.seed for entrant in knockout.entrants] == list(range(1, 9))
    order = [entrant.player_id for entrant in knockout.entrants]
    assert order == ["P01", "P02", "P03", "P04", "P06", "P07", "P08", "P05"], "swapped, as P04 met P05 in its group"
    assert build_bracket(knockout, Knockout(third_place=True)).champion == "P01"


@pytest.mark.parametrize("advance", [1, 2, 3])
def test_two_of_a_group_do_not_meet_in_the_first_round_of_the_knockout(advance: int) -> None:
    format_ = Stages((Stage(Groups(), advance), Stage(Knockout())))
    for players in (*range(5, 30), 33, 47, 64, 65):

        def judge(pairing: Pairing, turn: int = players) -> MatchResult:
            """Let the order of runners-up differ from that of the winners: some give a point away."""
            key = sum(int(player_id[1:]) for player_id in pairing.players) * turn % 7
            return make_result(pairing, None if key == 0 else min(pairing.players) if key < 5 else max(pairing.players))

        played = PlayedTournament(format_, players, judge)
        groups = {
            player_id: group.name
            for group in list_groups(Groups(), played.tournament.entrants)
            for player_id in group.player_ids
        }
        while (round_ := played.play_round()) and round_.stage == 1:
            pass
        for pairing in round_.pairings if round_ else ():
            assert groups[pairing.player_a] != groups[pairing.player_b], (players, advance)
        knockout = format_.get_stage_tournament(played.tournament, 2)
        count = len(set(groups.values()))
        order = [entrant.player_id for entrant in knockout.entrants]
        for place in range(0, len(order), count):
            tier = order[place : place + count]
            assert len({groups[player_id] for player_id in tier}) == len(tier), "winners before runners-up"


def test_who_is_out_at_the_change_is_replaced_by_the_next_of_its_group() -> None:
    played = PlayedTournament(WORLD_CUP, 8, let_better_seed_win)
    for _ in range(3):
        played.play_round()
    played.set_out(["P01", "P07"])
    round_ = played.pair_round()
    assert round_ is not None
    groups = list_groups(Groups(), played.tournament.entrants)
    assert groups[0].player_ids == ("P01", "P04", "P05", "P08")
    assert {player_id for pairing in round_.pairings for player_id in pairing.players} == {"P04", "P02", "P05", "P03"}
    played.play_round()
    played.set_out([])
    played.play_to_end()
    assert played.rank_players()[4] == ["P01"], "first of those who didn't go on"


def test_the_seeds_of_a_stage_stay_whoever_is_out_later() -> None:
    format_ = Stages((Stage(Knockout(), 4), Stage(Knockout(best_of=3))))
    played = PlayedTournament(format_, 8, let_better_seed_win)
    played.play_round()
    played.play_round()
    played.set_out(["P02"])
    first = played.play_round()
    assert first is not None
    assert (first.stage, first.title) == (2, "Knockout, semi-finals, game 1 of 3")
    before = format_.get_stage_tournament(played.tournament, 2)
    assert [one.player_id for one in before.entrants] == ["P01", "P03", "P04", "P05"], "the final was a walkover"
    played.set_out(["P01"])
    after = format_.get_stage_tournament(played.tournament, 2)
    assert [one.player_id for one in after.entrants] == ["P01", "P03", "P04", "P05"]
    assert after.entrants[0].is_out


class OneMatch:
    """A format of a single match between two players, in whose ranking those who are out come last."""

    name: ClassVar[str] = "one_match"
    is_fixed: ClassVar[bool] = True
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        one, other, *_ = (entrant.player_id for entrant in tournament.entrants if not entrant.is_out)
        return None if tournament.rounds else make_round(tournament, [(one, other, "they come first")])

    def count_rounds(self, tournament: TournamentRecord) -> int:
        return 1

    def rank_players(self, tournament: TournamentRecord) -> list[list[str]]:
        order = sorted(tournament.entrants, key=lambda entrant: (entrant.is_out, entrant.seed))
        return [[entrant.player_id] for entrant in order]


def test_players_and_seeds_of_a_stage_stay_in_formats_of_any_kind() -> None:
    format_ = Stages((Stage(OneMatch(), 6), Stage(OneMatch(), 4), Stage(Knockout(best_of=3))))
    played = PlayedTournament(format_, 9, let_better_seed_win)
    played.set_out(["P02"])
    second = [played.play_round(), played.play_round()][1]
    assert second is not None
    assert second.title == "One match, round 1"
    assert second.byes == dict.fromkeys(("P04", "P05", "P06", "P07"), "has no match in the first round of this stage")
    played.play_round()
    for out in ([], ["P01"], ["P01", "P04"], ["P03", "P05", "P06"]):
        played.set_out(out)
        entrants = [format_.get_stage_tournament(played.tournament, stage).entrants for stage in (2, 3)]
        assert [[one.player_id for one in stage] for stage in entrants] == [
            ["P01", "P03", "P04", "P05", "P06", "P07"],
            ["P01", "P03", "P04", "P05"],
        ]
        assert played.pair_round()


def test_it_ends_if_nobody_is_left_to_go_on() -> None:
    played = PlayedTournament(WORLD_CUP, 4, let_better_seed_win)
    for _ in range(3):
        played.play_round()
    played.set_out(["P01", "P02", "P03"])
    assert played.play_round() is None
    assert played.rank_players()[0] == ["P01"]


def test_the_number_of_rounds_is_known_if_each_stage_knows_its_own() -> None:
    two = Stages((Stage(Groups()), Stage(Groups(groups=1))))
    played = play(two, 16)
    assert two.count_rounds(play(two, 16).tournament) == len(played.tournament.rounds) == 3 + 7
    assert two.count_rounds(PlayedTournament(two, 16, let_better_seed_win).tournament) == 10
    assert WORLD_CUP.count_rounds(played.tournament) is None


def test_it_tells_what_it_takes_to_go_on() -> None:
    assert WORLD_CUP.describe_advance(1) == "the first 2 of each group go to the knockout"
    assert WORLD_CUP.describe_advance(2) == "", "the bracket has words of its own for it"
    cup = Stages((Stage(Knockout(), 8, "Qualifying"), Stage(Groups(), 1), Stage(Knockout(), title="Finals")))
    assert cup.describe_advance(1) == "the first 8 go to the group stage"
    assert cup.describe_advance(2) == "the first of each group goes to the finals"
    assert play(cup, 16).tournament.rounds[0].title == "Qualifying, round of 16"


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="stages: stages: expected at least one stage"):
        Stages(())
    with pytest.raises(ConfigError, match="stage 1, advance: expected a whole number from 1, found None"):
        Stages((Stage(Knockout()), Stage(Knockout())))
    with pytest.raises(ConfigError, match="stage 1, format: expected a format without stages"):
        Stages((Stage(WORLD_CUP),))
