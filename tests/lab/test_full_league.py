"""Whole leagues in memory: the counts add up, and they agree with the rules alone."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agent_league.errors import LeagueFailed
from agent_league.lab import full_league
from agent_league.lab.full_league import plan_leagues
from agent_league.lab.scoreboard import Scoreboard, ScoreboardRow
from agent_league.lab.tournament import Tournament
from agent_league.lab.workers import run_all
from agent_league.launch import agent_plan
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan
from agent_league.players.observation import Move, Observation


def table(tournament: Tournament, *, whole_leagues: bool = True) -> list[ScoreboardRow]:
    board = Scoreboard(tournament.player_labels, by_payoff=tournament.game.payoffs)
    with TemporaryDirectory() as folder:
        for meeting in run_all(plan_leagues(tournament, Path(folder)) if whole_leagues else tournament.plan_series()):
            board.add_tallies(meeting)
        assert not list(Path(folder).iterdir())
    return board.rows()


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
    monkeypatch.setattr(agent_plan, "load_strategy", lambda *_: Cheat())
    rows = table(Tournament("even_odd", ("random", "random", "random"), 4, "7"))
    assert sum(row.total.tally.faults for row in rows) == 4  # both players of R1M1, in two leagues
    assert sorted(score.tally.faults for row in rows for score in row.against.values()) == [0, 0, 0, 0, 2, 2]


def test_a_match_file_that_does_not_hold_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play_and_lie(plan: LeaguePlan) -> Any:
        played = await play_in_process(plan)
        path = next(plan.home.rglob("R1M1.json"))
        content = json.loads(path.read_bytes())
        content["result"]["drawn_number"] += 1
        path.write_text(json.dumps(content))
        return played

    monkeypatch.setattr(full_league, "play_in_process", play_and_lie)
    with pytest.raises(LeagueFailed, match="round 1 with seed 7, R1M1: "):
        table(Tournament("even_odd", ("random", "random"), 1, "7"))
