"""A tournament of whole leagues: the counts add up, and they agree with the rules alone."""

import json
from dataclasses import replace

import pytest

from agent_league.errors import LeagueFailed, UserError
from agent_league.lab.experiment import contestants, league_meetings
from agent_league.lab.scoreboard import ScoreboardRow
from agent_league.lab.tournament import Tournament
from agent_league.launch.plan import LeaguePlan
from agent_league.model.events import Event
from agent_league.players.observation import Move, Observation
from agent_league.players.strategies import load_strategy


def table(tournament: Tournament, *, whole_leagues: bool = True) -> list[ScoreboardRow]:
    return replace(tournament, full=whole_leagues).play().rows()


def test_the_counts_of_leagues_add_up() -> None:
    rows = table(Tournament("kuhn_poker", ("random", "random", "first_legal", "mirror"), 5, "7"))
    assert [row.total.tally.games for row in rows] == [15, 15, 15, 15]
    assert all(score.tally.games == 5 for row in rows for score in row.against.values())
    assert sum(row.total.tally.wins for row in rows) == sum(row.total.tally.losses for row in rows) == 30
    assert sum(row.total.tally.total_payoff for row in rows) == 0
    assert not any(row.total.tally.faults for row in rows)


def test_a_seed_gives_the_same_leagues() -> None:
    tournament = Tournament("even_odd", ("random", "random", "random"), 2, "7")
    assert table(tournament) == table(tournament)


@pytest.mark.parametrize(
    ("game_type", "strategies", "best"),
    [
        ("tic_tac_toe", ("minimax", "minimax"), ("minimax", 0, 2, 0)),
        ("prisoners_dilemma", ("always_defect", "tit_for_tat", "grudger"), ("tit_for_tat", 0, 2, 2)),
        ("nim", ("first_legal", "minimax"), ("minimax", 2, 0, 0)),
    ],
)
def test_leagues_and_rules_alone_agree_where_nothing_is_left_to_chance(
    game_type: str, strategies: tuple[str, ...], best: tuple[str, int, int, int]
) -> None:
    tournament = Tournament(game_type, strategies, 2, "7")
    played = table(tournament)
    assert played == table(tournament, whole_leagues=False)
    tally = played[0].total.tally
    assert (played[0].name, tally.wins, tally.draws, tally.losses) == best


class Cheat:
    """Breaks the rules in its first match of a league."""

    instant = True

    def choose(self, observation: Observation) -> Move:
        return "neither" if observation.match_id == "R1M1" else "even"


def test_faults_are_counted_where_they_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        contestants, "load_strategy", lambda name: Cheat() if name == "always_odd" else load_strategy(name)
    )
    rows = table(Tournament("even_odd", ("random", "always_odd", "random"), 4, "7"))
    faults = {row.name: {name: score.tally.faults for name, score in row.against.items()} for row in rows}
    assert faults["always_odd"] == {"random": 2, "random #2": 2}  # once in each of two leagues
    assert sum(row.total.tally.faults for row in rows) == 4


def test_a_match_file_that_does_not_hold_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = league_meetings.serve_league

    async def play_and_lie(plan: LeaguePlan) -> list[Event]:
        played = await serve(plan)
        path = next(plan.home.rglob("R1M1.json"))
        content = json.loads(path.read_bytes())
        content["result"]["drawn_number"] += 1
        path.write_text(json.dumps(content))
        return played

    monkeypatch.setattr(league_meetings, "serve_league", play_and_lie)
    with pytest.raises(LeagueFailed, match="The league of random and random #2 in even_odd with seed 7-1, R1M1: "):
        table(Tournament("even_odd", ("random", "random"), 1, "7"))


def test_a_league_has_both_sides_as_often() -> None:
    with pytest.raises(UserError, match="series: expected an even number of games in each league, found 5"):
        Tournament("even_odd", ("random", "random"), 10, "7", series=5, full=True).check_players()
