"""A meeting as a whole league: rows of the same form, equal in every run, from match files that hold."""

import socket
from pathlib import Path
from typing import Any

import pytest

from agent_league.errors import ConfigError, LeagueFailed
from agent_league.http.server import HttpServer
from agent_league.lab import played_league
from agent_league.lab.experiment import league_meetings
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec
from agent_league.lab.experiment.experiment import Experiment
from agent_league.lab.experiment.league_meetings import play_league_meeting
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.row_store import DATABASE_NAME
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan
from agent_league.model.events import Event
from tests.lab.experiment.test_pieces import play_plan

RANDOM, BANDIT = (PlayerSpec(name, PlayerKind.STRATEGY, name) for name in ("random", "bandit"))
DILEMMA = GameSpec("dilemma", "prisoners_dilemma", {"repeat": 3})


def test_rows_are_the_same_in_one_process_and_in_two() -> None:
    plan = ExperimentPlan((DILEMMA, GameSpec("nim", "nim")), (RANDOM, BANDIT), ("1", "2"), rounds=2, full=True)
    alone = play_plan(plan)
    assert play_plan(plan, jobs=2) == alone
    assert alone.count("\n") == 1 + 2 * 2 * 4


def test_all_four_agents_are_servers_and_the_rows_are_those_without_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    start = HttpServer.start

    async def count_and_start(server: HttpServer) -> None:
        started.append(server.port)
        await start(server)

    async def play_without_sockets(plan: LeaguePlan) -> list[Event]:
        return (await play_in_process(plan))[1]

    monkeypatch.setattr(HttpServer, "start", count_and_start)
    over_http = play_league_meeting(DILEMMA, (RANDOM, BANDIT), "1", 4)
    assert len(set(started)) == 4
    monkeypatch.setattr(league_meetings, "serve_league", play_without_sockets)
    assert play_league_meeting(DILEMMA, (RANDOM, BANDIT), "1", 4) == over_http
    assert len(started) == 4


def test_a_port_that_somebody_took_meanwhile_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    find = league_meetings.find_free_ports
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = iter([taken.getsockname()[1] - 2, find(4)])
        monkeypatch.setattr(league_meetings, "find_free_ports", lambda _: next(found))
        assert len(play_league_meeting(DILEMMA, (RANDOM, BANDIT), "1", 2)) == 2
    assert next(found, None) is None


def test_sides_alternate_and_payoffs_count_where_they_matter() -> None:
    rows = play_league_meeting(DILEMMA, (RANDOM, BANDIT), "1", 4)
    assert [(row.round, row.first, row.second) for row in rows] == [
        (1, "random", "bandit"),
        (2, "bandit", "random"),
        (3, "random", "bandit"),
        (4, "bandit", "random"),
    ]
    assert all(row.steps == 3 and 6 <= row.first_return + row.second_return <= 18 for row in rows)
    for row in play_league_meeting(GameSpec("nim", "nim"), (RANDOM, BANDIT), "1", 2):
        assert (row.first_return, row.second_return) == ((1, -1) if row.winner == "first" else (-1, 1))


def test_a_match_file_that_does_not_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finding:
        ok = False
        sentence = "the draw isn't the one that was promised"

    monkeypatch.setattr(played_league, "verify_match", lambda _: [Finding()])
    wanted = r"^The league of random and bandit in nim with seed 1, R1M1: the draw isn't"
    with pytest.raises(LeagueFailed, match=wanted):
        play_league_meeting(GameSpec("nim", "nim"), (RANDOM, BANDIT), "1", 2)


def test_a_full_experiment_is_another_one_and_takes_no_running_players(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"games": ["nim"], "players": ["random", "first_legal"], "seeds": 1}
    whole = Experiment(**settings, full=True)
    assert whole.resolved.content_hash != Experiment(**settings).resolved.content_hash
    whole.run(tmp_path / "whole")
    assert (tmp_path / "whole" / DATABASE_NAME).is_file()
    (tmp_path / "again.toml").write_bytes((tmp_path / "whole" / "experiment.toml").read_bytes())
    assert Experiment.from_file(tmp_path / "again.toml").resolved.content_hash == whole.resolved.content_hash
    with pytest.raises(ConfigError, match=r"full: whole leagues are played by strategies and Python files alone"):
        Experiment(games=["nim"], players=["random", "http://localhost:1/mcp"], seeds=1, full=True)
