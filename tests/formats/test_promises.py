"""What any format promises, for those with a bracket, groups and stages: see `played_tournament`."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.bracket import BracketFormat, build_bracket
from agent_league.formats.double_elimination import DoubleElimination
from agent_league.formats.groups import Groups
from agent_league.formats.knockout import Knockout
from agent_league.formats.stages import Stage, Stages
from tests.formats.played_tournament import PlayedTournament, make_entrants, make_random_judge, name_player

FORMATS: Sequence[Format] = (
    Knockout(),
    Knockout(best_of=3, third_place=True),
    Knockout(best_of=2),
    DoubleElimination(),
    DoubleElimination(best_of=3),
    Groups(),
    Groups(groups=3, cycles=2),
    Stages((Stage(Groups(group_size=5)), Stage(Knockout(best_of=3)))),
    Stages((Stage(Groups(), advance=3), Stage(DoubleElimination()))),
    Stages((Stage(Knockout(third_place=True), 5), Stage(DoubleElimination(), 3), Stage(Groups(groups=1)))),
)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.name)
@given(players=st.one_of(st.integers(2, 9), st.integers(10, 33), st.integers(34, 65)), seed=st.integers(0, 2**32))
@settings(max_examples=7, deadline=None)
def test_it_goes_to_its_end_whoever_leaves_and_comes_back(format_: Format, players: int, seed: int) -> None:
    chance = Random(seed)
    played = PlayedTournament(format_, players, make_random_judge(chance), lot=seed)
    leaving = chance.choice((0, 0.02, 0.1, 0.5))
    while True:
        played.set_out(change_out(chance, players, played.out, leaving))
        before = played.tournament
        if played.play_round() is None:
            break
        if chance.random() < 0.25:
            check_nothing_flips(chance, format_, before, played.tournament)
    played.rank_players()


def change_out(chance: Random, players: int, out: set[str], leaving: float) -> set[str]:
    """Let some players leave, and some of those who left come back."""
    names = [name_player(seed) for seed in range(1, players + 1)]
    return {name for name in names if chance.random() < (0.7 if name in out else leaving)}


def check_nothing_flips(chance: Random, format_: Format, before: TournamentRecord, after: TournamentRecord) -> None:
    """Check that whatever was decided when a round was paired is so afterwards, whoever is out by then."""
    players = len(before.entrants)
    others = {name_player(seed) for seed in range(1, players + 1) if chance.random() < 0.5}
    later = TournamentRecord(make_entrants(players, others), after.rounds, after.results, lot=after.lot)
    if isinstance(format_, BracketFormat):
        assert list_winners(format_, before).items() <= list_winners(format_, later).items()
    elif isinstance(format_, Stages):
        for stage in range(1, after.rounds[-1].stage + 1):
            now, then = (format_.get_stage_tournament(one, stage) for one in (after, later))
            assert [(one.player_id, one.seed) for one in now.entrants] == [
                (one.player_id, one.seed) for one in then.entrants
            ]


def list_winners(format_: BracketFormat, tournament: TournamentRecord) -> dict[int, tuple[str | None, str | None]]:
    return {
        series.number: (series.winner, series.decision)
        for level in build_bracket(tournament, format_).levels
        for series in level.series
        if series.decision is not None
    }
