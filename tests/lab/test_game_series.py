"""Games by rules and strategies alone: what a strategy is shown, what is counted, and what it costs to remember."""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.games.positions import Question
from agent_league.games.prisoners_dilemma.rules import PrisonersDilemmaRules
from agent_league.games.registry import Game, load_game
from agent_league.lab.game_series import Series
from agent_league.lab.series_player import SeriesObservation, SeriesPlayer
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.players.observation import GameRecord, Move, Observation, Strategy, Thought
from agent_league.players.strategies import load_strategy


class Witness:
    """Plays the last legal move and notes all that it is shown."""

    instant = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def choose(self, observation: Observation) -> Move:
        self.seen.append(
            {
                "game": observation.game_type,
                "match": observation.match_id,
                "round": observation.round_id,
                "step": observation.step,
                "seat": observation.seat,
                "players": (observation.player_id, observation.opponent_id),
                "legal": observation.legal_moves,
                "view": observation.view,
                "rules": observation.rules is not None,
                "earlier": [remembered(game) for game in observation.history],
                "recalled": (observation.my_moves, observation.opponent_moves),
            }
        )
        return observation.legal_moves[-1]

    def learn(self, game: GameRecord) -> None:
        self.seen.append(remembered(game))


def remembered(game: GameRecord) -> GameRecord:
    """A record without what only a league has."""
    return replace(game, league_id=None, season=None)


def play(game: Game, strategies: tuple[Strategy, Strategy], games: int, seed: str = "1") -> Series:
    series = Series(game, strategies, seed)
    series.play(games)
    return series


@pytest.mark.parametrize(
    ("game_type", "parameters"),
    [("tic_tac_toe", {}), ("prisoners_dilemma", {"repeat": 3}), ("nim", {}), ("nim", {"repeat": 2})],
)
async def test_a_strategy_sees_what_it_sees_in_a_league(
    tmp_path: Path, game_type: str, parameters: dict[str, Any]
) -> None:
    make_home(tmp_path)
    loader = ConfigLoader(tmp_path, {"scheduling.format": "double_round_robin"})
    plan = make_league_plan(
        loader, LeagueRequest(tmp_path, players=2, referees=1, game=game_type, parameters=parameters)
    )
    there = (Witness(), Witness())
    seats = [replace(seat, strategy=witness) for seat, witness in zip(plan.players, there, strict=True)]
    await play_in_process(replace(plan, players=tuple(seats)))
    here = (Witness(), Witness())
    play(load_game(game_type).with_parameters(parameters), here, games=2)
    assert [witness.seen for witness in here] == [witness.seen for witness in there]
    assert sum(isinstance(what, GameRecord) for what in here[0].seen) == 2


def test_sides_alternate_and_results_are_told_by_player() -> None:
    always_two = load_game("even_odd").with_parameters({"min_number": 2, "max_number": 2})
    one, other = Witness(), load_strategy("always_even")  # the last legal move is "odd"
    returns, faults = play(always_two, (one, other), games=5).take()
    assert returns == {(-1.0, 1.0): 5}
    assert faults == (0, 0)
    assert [shown["seat"] for shown in one.seen if isinstance(shown, dict)] == [0, 1, 0, 1, 0]


def test_payoffs_are_what_the_arithmetic_says() -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": 50})
    series = play(game, (load_strategy("tit_for_tat"), load_strategy("always_defect")), games=4)
    assert series.take()[0] == {(49.0, 54.0): 4}  # 0 and 5 once, then 1 and 1


def test_each_part_of_a_series_is_told_once() -> None:
    series = Series(load_game("even_odd"), (load_strategy("random"), load_strategy("random")), "1")
    series.play(3)
    first = series.take()[0]
    series.play(4)
    assert (first.total(), series.take()[0].total(), series.take()[0].total()) == (3, 4, 0)


def test_a_seed_decides_everything() -> None:
    def results(seed: str) -> object:
        return play(load_game("kuhn_poker"), (load_strategy("random"), load_strategy("random")), 200, seed).take()

    assert results("1") == results("1")
    assert results("1") != results("2")


class Cheat:
    def choose(self, observation: Observation) -> Move:
        return "neither"


class Broken:
    def choose(self, observation: Observation) -> Move:
        raise ZeroDivisionError


class Leaving:
    """Ends the program, if it can."""

    def choose(self, observation: Observation) -> Move:
        sys.exit(0)


class Greedy:
    """Takes away legal moves of the rules, if it can."""

    def choose(self, observation: Observation) -> Move:
        observation.legal_moves.clear()  # type: ignore[attr-defined]
        return None


class Forgetful:
    """Plays well, and fails to learn."""

    def choose(self, observation: Observation) -> Move:
        return observation.legal_moves[0]

    def learn(self, game: GameRecord) -> None:
        raise ZeroDivisionError


@pytest.mark.parametrize("faulty", [Cheat(), Broken(), Leaving(), Greedy(), Forgetful()])
def test_a_strategy_that_fails_is_counted_and_the_series_goes_on(faulty: Strategy) -> None:
    always_two = load_game("even_odd").with_parameters({"min_number": 2, "max_number": 2})
    returns, faults = play(always_two, (faulty, load_strategy("always_odd")), games=50).take()
    assert faults == (50, 0)
    assert returns.total() == 50
    assert set(returns) <= {(0.0, 0.0), (1.0, -1.0)}, "whatever is legal loses nothing to odd, where even is right"


@pytest.mark.parametrize(
    ("faulty", "fault"),
    [(Cheat(), "chose 'neither', which isn't legal"), (Broken(), r"ZeroDivisionError: .*\(test_game_series.py:\d+\)")],
)
def test_the_first_fault_is_told_with_its_place(faulty: Strategy, fault: str) -> None:
    one, other = play(load_game("even_odd"), (faulty, load_strategy("random")), games=3).first_faults
    assert re.match(fault, one)
    assert other == ""


class Vandal:
    """Writes into what it is shown."""

    def choose(self, observation: Observation) -> Move:
        for row in observation.view["game"]["payoffs"]:
            row[2 + observation.seat] = 99
        return "cooperate"


def test_what_a_strategy_writes_into_its_view_changes_nothing() -> None:
    series = play(load_game("prisoners_dilemma"), (Vandal(), load_strategy("always_defect")), games=2)
    assert series.take()[0] == {(0.0, 250.0): 2}
    assert not series.is_start_changed


class UnusualRules(PrisonersDilemmaRules):
    """Rules whose states JSON can't hold, so that they are played by the six functions alone."""

    def new(self, config: Mapping[str, Any]) -> Any:
        return {**super().new(config), "unusual": {1}}


@pytest.mark.parametrize(("strategy", "changed"), [(Vandal(), True), (load_strategy("always_cooperate"), False)])
def test_a_state_that_was_changed_is_found_out(strategy: Strategy, changed: bool) -> None:
    game = replace(load_game("prisoners_dilemma"), rules=UnusualRules())
    series = play(game, (strategy, load_strategy("always_defect")), games=2)
    assert series.is_start_changed is changed


class Nearly:
    """Says a whole number as a float, among more moves than could be gone through."""

    def choose(self, observation: Observation) -> Move:
        return float(observation.legal_moves[-1])


def test_a_long_range_is_not_gone_through() -> None:
    contestant = SeriesPlayer(Nearly(), SeriesObservation("any", "R1M1", "P01", "P02", ()))
    assert contestant.answer(Question({}, range(10**12)), 0) == 10**12 - 1
    assert contestant.faults == 0


class Wordy:
    """Says its moves in other ways than the rules do."""

    def choose(self, observation: Observation) -> Move:
        return Thought(True)  # equal to the legal 1


def test_a_move_counts_in_the_spelling_of_the_rules() -> None:
    game = load_game("odds_and_evens").with_parameters({"repeat": 1})
    one, other = Wordy(), Witness()
    _, faults = play(game, (one, other), games=2).take()
    assert faults == (0, 0)
    assert [type(record.opponent_moves[0]) for record in other.seen if isinstance(record, GameRecord)] == [int, int]


class Historian:
    """Looks at everything, at every move."""

    def choose(self, observation: Observation) -> Move:
        assert len(observation.history) == len(observation.against_opponent) == len(list(observation.history))
        return observation.random.choice(observation.legal_moves)


@pytest.mark.parametrize(("strategy", "written"), [("random", 0), (Historian(), 29)])
def test_a_game_is_written_down_once_and_only_for_who_looks(
    monkeypatch: pytest.MonkeyPatch, strategy: Any, written: int
) -> None:
    indices: list[int] = []
    write = Series._make_game_record

    def counted(series: Series, index: int, place: int) -> GameRecord:
        indices.append(index)
        return write(series, index, place)

    monkeypatch.setattr(Series, "_make_game_record", counted)
    own = load_strategy(strategy) if isinstance(strategy, str) else strategy
    _, faults = play(load_game("even_odd"), (own, load_strategy("random")), games=30).take()
    assert indices == list(range(written))
    assert faults == (0, 0)
