"""Learning: what a round teaches, what is kept of it, and how it gets from one league to the next."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.games.registry import load_game
from agent_league.lab.game_series import Series
from agent_league.players import learning
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.strategies import load_strategy, table
from agent_league.players.strategies.bandit import Bandit
from agent_league.players.strategies.experience import Lesson, MatchExperience
from agent_league.players.strategies.q_learning import QLearning
from agent_league.players.strategies.table import MoveValueTable, short_key
from tests.players.chair import chair, game_over, invitation

PENNIES = [[1, 1, -1, 1], [1, 2, 1, -1], [2, 1, 1, -1], [2, 2, -1, 1]]
"""Seat 0 wants two numbers that differ."""
PLACE = "odds_and_evens/0"


def observe(*rounds: list[Move], match_id: str = "R1M1", **fields: Any) -> Observation:
    """Asked in seat 0, after these rounds."""
    own = {"view": {"rounds": list(rounds), "game": {"payoffs": PENNIES}}, "random": Random(1)}
    return Observation("odds_and_evens", match_id, "P01", "P02", (1, 2), **{**own, **fields})


def over(mine: tuple[Move, ...], theirs: tuple[Move, ...], match_id: str = "R1M1", outcome: str = "WIN") -> GameRecord:
    return GameRecord(match_id, "odds_and_evens", "P02", outcome, mine, theirs)


def test_each_round_is_learned_once_with_what_it_paid_from_0_to_1() -> None:
    experience = MatchExperience()
    assert experience.learn_new_rounds(observe()) == []
    first = Lesson(PLACE, None, (1, 1), 0.0, is_last=False)
    assert experience.learn_new_rounds(observe([1, 1])) == [first]
    assert experience.learn_new_rounds(observe([1, 1])) == []
    assert experience.learn_new_rounds(observe([1, 1], [1, 2], [2, 1])) == [
        Lesson(PLACE, (1, 1), (1, 2), 1.0, is_last=False),
        Lesson(PLACE, (1, 2), (2, 1), 1.0, is_last=False),
    ]
    end = over((1, 1, 2, 2, 2), (1, 2, 1, 2, 1))
    assert experience.finish_match(end) == [
        Lesson(PLACE, (2, 1), (2, 2), 0.0, is_last=False),
        Lesson(PLACE, (2, 2), (2, 1), 1.0, is_last=True),
    ]
    assert experience.finish_match(end) == []


def test_rounds_are_seen_from_the_own_seat() -> None:
    (lesson,) = MatchExperience().learn_new_rounds(observe([1, 2], seat=1))
    assert lesson == Lesson("odds_and_evens/1", None, (2, 1), 0.0, is_last=False)


def test_a_match_that_is_played_again_is_learned_anew() -> None:
    experience = MatchExperience()
    experience.learn_new_rounds(observe([1, 1], [1, 2]))
    assert [lesson.round for lesson in experience.learn_new_rounds(observe([2, 1]))] == [(2, 1)]


def test_matches_go_on_beside_each_other() -> None:
    experience = MatchExperience()
    assert len(experience.learn_new_rounds(observe([1, 1]))) == 1
    assert len(experience.learn_new_rounds(observe([1, 2], match_id="R1M2"))) == 1
    assert experience.learn_new_rounds(observe([1, 1])) == []


@pytest.mark.parametrize(("outcome", "reward"), [("WIN", 1.0), ("DRAW", 0.5), ("LOSS", 0.0), ("TECHNICAL_LOSS", 0.0)])
def test_where_nobody_says_what_a_round_pays_the_outcome_counts_for_every_move(outcome: str, reward: float) -> None:
    experience = MatchExperience()
    experience.learn_new_rounds(observe(view={"board": "..."}))
    lessons = experience.finish_match(over((4, 0), (1, 2), outcome=outcome))
    assert lessons == [Lesson(PLACE, None, (move, None), reward, is_last=True) for move in (4, 0)]


def test_a_round_that_the_table_doesnt_know_teaches_nothing() -> None:
    assert MatchExperience().learn_new_rounds(observe([1, "x"], [1, 2], [["a"], []])) == [
        Lesson(PLACE, (1, "x"), (1, 2), 1.0, is_last=False)
    ]


def test_matches_that_never_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.players.strategies.experience.MAX_OPEN_MATCHES", 3)
    experience = MatchExperience()
    for number in range(9):
        experience.learn_new_rounds(observe(match_id=f"R{number}M1"))
    assert len(experience._open_matches) == 3
    assert experience.finish_match(over((1,), (2,), "R0M1")) == []
    assert len(experience.finish_match(over((1,), (2,), "R8M1"))) == 1


def test_payoffs_beyond_all_measure_teach_nothing_and_leave_a_table_that_can_be_saved() -> None:
    most = 1.7e308
    view = {"game": {"payoffs": [[1, 1, most, 0], [1, 2, -most, 0], [2, 1, 0, 0], [2, 2, 0, 0]]}, "rounds": [[1, 1]]}
    assert MatchExperience().learn_new_rounds(observe(view=view)) == []
    known = MoveValueTable(max_count=2)
    for value in (math.inf, math.nan, 1.0):
        known.add_value("here", "rock", value)
    assert known.to_json() == {"here": {"rock": [1, 1.0]}}


def test_a_table_knows_the_mean_of_the_latest_tries() -> None:
    known = MoveValueTable(max_count=2)
    for value in (1.0, 0.0, 0.0):
        known.add_value("here", "rock", value)
    tried = known.find_moves("here")["rock"]
    assert (tried.count, tried.value) == (2, 0.25)  # 1, then 1/2, then halfway from there to 0
    assert known.find_moves("elsewhere") == {}


def test_a_table_doesnt_grow_without_end_and_forgets_what_was_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_ENTRIES", 10)
    known = MoveValueTable(max_count=5)
    for number in range(100):
        known.add_value("again and again", "a", 1.0)
        known.add_value(f"situation {number}", "a" * number, 1.0)
    saved = known.to_json()
    assert sum(map(len, saved.values())) == 10
    assert "again and again" in saved
    assert "situation 99" in saved
    assert all(len(name) <= table.MAX_KEY_LENGTH for moves in saved.values() for name in moves)


def test_long_names_stay_apart() -> None:
    assert short_key("x" * 1000) != short_key("x" * 1001)
    assert short_key([1, 2]) != short_key("(1, 2)")
    assert short_key("short") == "short"


SPOILT: list[Any] = [
    None,
    [],
    {"a": 1},
    {"a": {"b": 1}},
    {"a": {"b": [0, 1.0]}},
    {"a": {"b": [1, "x"]}},
    {"a": {"b": [True, 1]}},
]


@pytest.mark.parametrize("saved", SPOILT)
def test_a_spoilt_table_is_refused_and_what_was_known_stays(saved: Any) -> None:
    known = MoveValueTable(max_count=5)
    known.add_value("here", "rock", 1.0)
    with pytest.raises(ValueError, match="found"):
        known.load_json(saved)
    assert set(known.to_json()) == {"here"}


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_ENTRIES", 2)
    with pytest.raises(ValueError, match="2 moves at most, found 3"):
        MoveValueTable(max_count=5).load_json({"a": {name: [1, 0.5] for name in "bcd"}})


@pytest.mark.parametrize("strategy", [Bandit(), QLearning()])
def test_every_move_is_tried_before_one_is_preferred(strategy: Bandit | QLearning) -> None:
    played: list[list[Move]] = []
    for _ in range(2):
        played.append([strategy.choose(observe(match_id=f"M{len(played)}")).move, 1])
        strategy.learn(over((played[-1][0],), (1,), f"M{len(played) - 1}"))
    assert {move for move, _ in played} == {1, 2}


@pytest.mark.parametrize("name", ["bandit", "q_learning"])
@pytest.mark.parametrize(("repeat", "games"), [(15, 100), (1, 600)])
def test_who_learns_beats_a_habit(name: str, repeat: int, games: int) -> None:
    game = load_game("odds_and_evens").with_parameters({"repeat": repeat})
    series = Series(game, (load_strategy(name), load_strategy("biased")), "learning")
    series.play(games // 2)
    series.take()
    series.play(games // 2)
    returns, _ = series.take()
    assert sum(count for (own, other), count in returns.items() if own > other) > 0.65 * games // 2


def test_q_learning_finds_that_a_grudge_is_not_worth_it() -> None:
    """Against tit for tat, cooperation pays 3 a round and defection 1 in the long run."""
    game = load_game("prisoners_dilemma")
    learner = QLearning()
    series = Series(game, (learner, load_strategy("tit_for_tat")), "patience")
    series.play(30)
    series.take()
    series.play(10)
    paid = sum(own * count for (own, _), count in series.take()[0].items()) / 10 / 50
    assert paid > 2


class Taught:
    """Counts its matches, and says so in the way that it plays: even first, then odd."""

    instant = True

    def __init__(self) -> None:
        self.matches = 0

    def choose(self, observation: Observation) -> Move:
        return ("even", "odd")[min(self.matches, 1)]

    def learn(self, game: GameRecord) -> None:
        self.matches += 1

    def saved(self) -> Any:
        return {"matches": self.matches}

    def restore(self, saved: Any) -> None:
        self.matches = int(saved["matches"])


def files(home: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_bytes()) for path in (home / "data/learned").glob("*.json")}


async def test_what_is_learned_in_one_league_is_known_in_the_next_under_whatever_id(home: Path) -> None:
    async with chair(home, Taught()) as seat:
        await seat.plays("R1M1")
        await seat.plays("R2M1")
    (content,) = files(home).values()
    strategy = f"{Taught.__module__}.Taught"
    assert content == {"display_name": "Agent Alpha", "strategy": strategy, "learned": {"matches": 2}}
    again = Taught()
    async with chair(home, again, wanted_id="P07") as seat:
        assert again.matches == 2
        assert await seat.choice() == "odd"


async def test_with_a_seed_nothing_learned_is_loaded_or_saved(home: Path) -> None:
    async with chair(home, Taught()) as seat:
        await seat.plays("R1M1")
        await seat.plays("R2M1")
    before = files(home)
    again = Taught()
    async with chair(home, again, seed="7") as seat:
        assert again.matches == 0
        await seat.plays("R3M1")
        assert again.matches == 1, "within the league it learns"
    assert files(home) == before


async def test_what_was_learned_is_the_players_and_the_strategys_own(home: Path) -> None:
    class Other(Taught): ...

    async with chair(home, Taught()) as seat:
        await seat.plays()
    for strategy, name, matches in (
        (Taught(), "Agent-Alpha", 0),
        (Other(), "Agent Alpha", 0),
        (Taught(), "Agent Alpha", 1),
    ):
        async with chair(home, strategy, display_name=name):
            assert strategy.matches == matches


async def test_a_result_that_is_told_twice_teaches_once(home: Path) -> None:
    strategy = Taught()
    async with chair(home, strategy) as seat:
        await seat.plays()
        await seat.call("notify_match_result", game_over(choices={"P01": "even", "P02": "odd"}))
    assert strategy.matches == 1


async def test_a_doubtful_result_teaches_nothing(home: Path) -> None:
    strategy = Taught()
    async with chair(home, strategy) as seat:
        await seat.call("handle_game_invitation", invitation())
        assert await seat.choice() == "even"
        await seat.call("notify_match_result", game_over(choices={"P01": "odd", "P02": "odd"}))
        assert "result_doubtful" in seat.events()
    assert strategy.matches == 0
    assert not (home / "data/learned").exists()


async def test_it_is_saved_while_the_league_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = asyncio.Event()
    monkeypatch.setattr(learning, "SAVE_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(learning, "write_atomically", lambda path, content: written.set())
    async with chair(home, Taught()) as seat:
        await seat.plays()
        await written.wait()  # within the chair's bound


SPOILT_FILES: dict[str, Callable[[bytes], bytes]] = {
    "no JSON": lambda good: good[:-3],
    "no object": lambda good: b"[" + good + b"]",
    "nothing": lambda good: b"",
    "of another player": lambda good: good.replace(b"Alpha", b"Beta"),
    "of another strategy": lambda good: good.replace(b"Taught", b"Learned"),
    "nothing learned": lambda good: json.dumps({**json.loads(good), "learned": None}).encode(),
    "too large": lambda good: good + b" " * learning.MAX_FILE_BYTES,
}


@pytest.mark.parametrize("fault", SPOILT_FILES)
async def test_a_spoilt_file_costs_the_learning_and_not_the_player(home: Path, fault: str) -> None:
    async with chair(home, Taught()) as seat:
        await seat.plays()
    (path,) = (home / "data/learned").iterdir()
    spoilt = SPOILT_FILES[fault](path.read_bytes())
    path.write_bytes(spoilt)
    strategy = Taught()
    async with chair(home, strategy) as seat:
        assert strategy.matches == 0
        await seat.plays("R2M1")
        assert "learning_put_aside" in seat.events()
    assert path.with_suffix(".damaged.json").read_bytes() == spoilt
    assert json.loads(path.read_bytes())["learned"] == {"matches": 1}


async def test_a_folder_in_its_place_costs_nothing_but_a_line(home: Path) -> None:
    async with chair(home, Taught()) as seat:
        await seat.plays()
    (path,) = (home / "data/learned").iterdir()
    path.unlink()
    (path.with_suffix(".damaged.json") / "full").mkdir(parents=True)
    path.mkdir()
    async with chair(home, Taught()) as seat:
        await seat.plays("R2M1")
    assert {"read_failed", "write_failed"} <= seat.events()


class Failing(Taught):
    """Fails in one of its hooks."""

    def __init__(self, hook: str) -> None:
        super().__init__()
        setattr(self, hook, self.fail)

    def fail(self, *_: Any) -> Any:
        raise RuntimeError("no idea")


@pytest.mark.parametrize("hook", ["learn", "saved", "restore"])
async def test_a_hook_that_raises_costs_nothing_but_a_line(home: Path, hook: str) -> None:
    for match_id in ("R1M1", "R2M1"):
        async with chair(home, Failing(hook)) as seat:
            await seat.plays(match_id)
            assert len((await seat.state())["matches"]) >= 1
    lines = [line for line in seat.log() if line["event_type"] == "strategy_failed"]
    assert lines
    assert all("no idea" in line["error"] for line in lines)


@pytest.mark.parametrize("saved", [{1, 2}, float, "x" * learning.MAX_FILE_BYTES])
async def test_what_cant_be_saved_isnt_and_what_was_saved_before_stays(home: Path, saved: Any) -> None:
    async with chair(home, Taught()) as seat:
        await seat.plays()
    strategy = Taught()
    strategy.saved = lambda: saved  # type: ignore[method-assign]
    async with chair(home, strategy) as seat:
        await seat.plays("R2M1")
    assert [content["learned"] for content in files(home).values()] == [{"matches": 1}]
    assert seat.events() & {"strategy_failed", "learning_too_large"}


async def test_a_strategy_without_hooks_leaves_no_file(home: Path) -> None:
    async with chair(home) as seat:
        await seat.plays()
    assert not (home / "data/learned").exists()


@pytest.mark.parametrize("name", ["bandit", "q_learning"])
async def test_the_learners_come_back_with_what_they_know(home: Path, name: str) -> None:
    async with chair(home, load_strategy(name)) as seat:
        for number in range(6):
            await seat.plays(f"R{number}M1")
    (content,) = files(home).values()
    (moves,) = content["learned"].values()
    assert sum(count for count, _ in moves.values()) == 6
    again: Any = load_strategy(name)
    async with chair(home, again):
        assert again.saved() == content["learned"]
