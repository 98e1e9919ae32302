"""Comparing two players: the loop of `league compare` with its sequential test."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from agent_league.config import PlayerDefaults
from agent_league.errors import UserError
from agent_league.games.registry import load_game, load_playable_game
from agent_league.lab.comparison import (
    ALIKE_PAIRS,
    Comparison,
    PairOutcome,
    PlannedPairs,
    RunningComparison,
    count_pairs,
    plan_pairs,
    plays_by_rules,
)
from agent_league.lab.evaluation.practice_league import is_address
from agent_league.lab.experiment.calls import CallSettings
from agent_league.ratings.sequential_test import SequentialTest, Verdict
from agent_league.testing.peers import Params, ScriptedPlayer, never_reply
from tests.conftest import BOUND, free_ports
from tests.lab.test_evaluation import cache, guest, our_player  # noqa: F401 - a fixture

NAMES = ("Ann", "Bob")
ONE_ROUND = {"repeat": 1}


def play(
    strategies: tuple[str, str], game: str, seed: str, test: SequentialTest, warm_up: int = 0, pairs: int = 5000
) -> Comparison:
    """Plays as the command does, by the rules alone."""
    comparison = Comparison(strategies, test, max_pairs=pairs)
    loaded = load_playable_game(game, ONE_ROUND if game == "rock_paper_scissors" else {})
    work = plan_pairs(loaded, strategies, seed, warm_up, pairs)
    count_pairs(comparison, (pair for item in work for pair in item.run()), lambda _: None)
    return comparison


def write_strategy(folder: Path, name: str, body: str) -> str:
    (folder / name).write_text(f"def choose(game):\n    return {body}\n")
    return str(folder / name)


def test_the_error_rates_are_those_asked_for_in_games_that_are_really_played(tmp_path: Path) -> None:
    """Of 200 comparisons of equals, and of 200 with 100 Elo between the two, 5% wrong are 10; 19 are rare."""
    test = SequentialTest(0, 100)
    equal = [play(("random", "random"), "rock_paper_scissors", f"e{seed}", test) for seed in range(200)]
    assert 0 < sum(one.verdict is Verdict.BETTER for one in equal) <= 19
    paper = write_strategy(tmp_path, "paper.py", '"paper"')
    rocky = write_strategy(  # paper scores 0.64 against it, which is 100 Elo
        tmp_path, "rocky.py", '"rock" if game.random.random() < 0.52 else game.random.choice(["paper", "scissors"])'
    )
    better = [play((paper, rocky), "rock_paper_scissors", f"b{seed}", test) for seed in range(200)]
    assert 0 < sum(one.verdict is Verdict.NOT_BETTER for one in better) <= 19
    assert all(one.is_over and one.verdict is not Verdict.UNDECIDED for one in (*equal, *better))


def test_pairs_count_in_their_order_whatever_the_order_in_which_they_come() -> None:
    chance = Random(3)
    pairs = [PairOutcome(number, (chance.choice((0.0, 1.0)), 1.0), bytes([number])) for number in range(60)]
    ordered, mixed = (Comparison(NAMES, SequentialTest(0, 200), max_pairs=60) for _ in range(2))
    count_pairs(ordered, pairs, lambda _: None)
    count_pairs(mixed, sorted(pairs, key=lambda pair: (pair.number // 7, -pair.number)), lambda _: None)
    assert ordered.verdict is Verdict.BETTER
    assert (mixed.counts, mixed.verdict) == (ordered.counts, ordered.verdict)
    assert ordered.counts.pairs < 60


def test_players_that_always_play_the_same_are_told_to_do_so_and_no_interval_is_claimed() -> None:
    even = play(("first_legal", "last_legal"), "nim", "7", SequentialTest())
    assert even.counts.pairs == ALIKE_PAIRS
    assert even.verdict is Verdict.NOT_BETTER
    (sentence,) = even.describe()
    assert sentence.startswith("Neither of first_legal and last_legal is better: they play the same two games again")
    assert even.to_json()["elo"] is None
    unchanged = play(("first_legal", "last_legal"), "nim", "7", SequentialTest(-50, -10))
    assert unchanged.verdict is Verdict.BETTER, "even is above both of its limits"
    assert next(unchanged.describe()).startswith(
        "first_legal isn't weaker than last_legal by 50 Elo or more: they play"
    )
    short = play(("first_legal", "last_legal"), "nim", "7", SequentialTest(0, 400), pairs=10)
    assert short.verdict is Verdict.UNDECIDED
    assert "all 10 pairs of games were alike" in next(short.describe())
    won = Comparison(NAMES, SequentialTest(), max_pairs=100)
    count_pairs(won, (PairOutcome(number, (1.0, 0.5), b"") for number in range(100)), lambda _: None)
    assert won.verdict is Verdict.BETTER
    assert "Ann wins one and draws the other" in next(won.describe())


def test_one_pair_that_differs_makes_it_a_matter_of_statistics() -> None:
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=1000)
    for number in range(ALIKE_PAIRS + 1):
        comparison.add_pair(PairOutcome(number, (1.0, 1.0), b"other" if number == 3 else b"same"))
    assert not comparison.is_settled
    assert not comparison.is_over


def test_both_games_of_a_pair_have_the_same_draws_and_swapped_sides() -> None:
    """One always says even and one always odd: the draws alone decide, and both seats are worth the same."""
    (item,) = plan_pairs(load_game("even_odd"), ("always_even", "always_odd"), "7", 0, 10)
    points = [pair.points for pair in item.run()]
    assert set(points) == {(0.0, 0.0), (1.0, 1.0)}


@pytest.mark.parametrize("warm_up", [0, 3])
def test_a_pair_swaps_the_seats_also_after_games_that_do_not_count(tmp_path: Path, warm_up: int) -> None:
    seats = write_strategy(tmp_path, "seats.py", "game.legal_moves[0]")
    item = PlannedPairs("tic_tac_toe", {}, (seats, "first_legal"), "7", warm_up, 0, 1)
    assert [pair.points for pair in item.run()] == [(1.0, 0.0)]


def test_a_large_difference_that_the_limit_left_open_is_decided_by_the_question_that_is_named() -> None:
    found = play(("minimax", "first_legal"), "tic_tac_toe", "1", SequentialTest(), pairs=30)
    assert found.verdict is Verdict.UNDECIDED
    assert "--elo1 140 would decide it in fewer games" in " ".join(found.describe())
    assert (
        play(("minimax", "first_legal"), "tic_tac_toe", "1", SequentialTest(0, 140), pairs=30).verdict is Verdict.BETTER
    )


def test_what_went_wrong_is_counted_and_told(tmp_path: Path) -> None:
    broken = write_strategy(tmp_path, "broken.py", "no_such_name")
    found = play((broken, "random"), "even_odd", "7", SequentialTest(), pairs=4)
    told = " ".join(found.describe())
    assert found.faults == (8, 0)
    assert "failed 8 times, and another move was made; first: NameError" in told
    assert "The limit came first" in told
    paid = play(("always_defect", "tit_for_tat"), "prisoners_dilemma", "7", SequentialTest(), pairs=30)
    assert "mean payoff 54.00 of always_defect, 49.00 of tit_for_tat" in " ".join(paid.describe())
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=10)
    comparison.add_pair(PairOutcome(0, None, b"", technical_losses=(1, 2)))
    comparison.add_pair(PairOutcome(1, (0.0, 1.0), b"", technical_losses=(1, 0), spoiled=True))
    told = " ".join(comparison.describe())
    assert "Ann lost 2 games technically; they count as lost." in told
    assert "1 pair of games don't count" in told
    assert "changed the game's state" in told


def test_what_is_a_player_and_what_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_strategy(tmp_path, "player.py", "1")
    assert plays_by_rules(("random", "player.py"))
    assert not plays_by_rules(("random", "localhost:8101"))
    assert is_address("http://localhost:8101/mcp")
    (tmp_path / "mine").mkdir()
    (tmp_path / "player.js").touch()
    write_strategy(tmp_path / "mine", "player.py", "1")
    for text, problem in (
        ("gone.py", "there is no file gone.py"),
        ("mine", "mine is a folder: name its file, mine/player.py"),
        ("player.js", "is a file that isn't Python: start the player"),
        ("nobody", "nor a Python file, nor a strategy"),
    ):
        with pytest.raises(UserError, match=problem):
            plays_by_rules(("random", text))


async def compare_in_private_league(players: tuple[str, str], comparison: Comparison, **settings: object) -> list[str]:
    """Returns the remarks."""
    calls = CallSettings(**settings)  # type: ignore[arg-type]
    remarks: list[str] = []
    running = RunningComparison(players, load_game("even_odd"), "7", calls, PlayerDefaults(), remarks.append)
    async with asyncio.timeout(BOUND):
        await running.run(comparison, lambda _: None)
    return remarks


async def test_strategies_that_wait_for_others_are_compared_in_a_private_league(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("async def choose(game):\n    return game.legal_moves[0]\n")
    assert not plays_by_rules((str(slow), "random"))
    found = [Comparison(NAMES, SequentialTest(), max_pairs=4) for _ in range(2)]
    for comparison in found:
        await compare_in_private_league((str(slow), "random"), comparison)
    assert found[0].counts.pairs == 4
    assert found[0].counts == found[1].counts


async def test_running_players_are_compared_over_http_under_their_own_names(home: Path) -> None:
    port = free_ports(3)
    manager = f"http://localhost:{port + 2}/mcp"
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=3)
    async with our_player(home, port, manager), our_player(home, port + 1, manager, display_name="Old"):
        players = (f"localhost:{port}", f"localhost:{port + 1}")
        await compare_in_private_league(players, comparison, manager_port=port + 2, wait_seconds=BOUND)
    assert comparison.names == ("Alpha", "Old")
    assert comparison.counts.pairs == 3
    assert comparison.technical_losses == (0, 0)


async def test_a_player_that_fails_loses_technically_and_ends_the_comparison_soon() -> None:
    visitor = guest()

    async def shout(params: Params) -> object:
        return visitor.player.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice="EVEN")

    visitor.player._scripts["choose_parity"] = shout
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=100)
    async with visitor.present():
        players = ("random", f"localhost:{visitor.port}")
        await compare_in_private_league(players, comparison, manager_port=visitor.port + 1)
    assert comparison.names == ("random", "guest")
    (announced,) = visitor.player.received_params("notify_round")
    assert len({match["player_A_id"] for match in announced["matches"][:2]}) == 2
    assert len(announced["matches"]) == 100
    assert comparison.technical_losses == (0, 6)
    assert comparison.counts.counts == (0, 0, 0, 0, 3)
    told = " ".join(comparison.describe())
    assert "It ended early: guest lost 6 games technically in 3 pairs in a row." in told
    assert "guest lost 6 games technically" in told


async def test_a_player_that_is_silent_ends_the_comparison_by_its_failed_calls_not_its_lost_games() -> None:
    visitor = guest(scripts={"choose_parity": never_reply})
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=100)
    async with visitor.present():
        players = ("random", f"localhost:{visitor.port}")
        await compare_in_private_league(players, comparison, manager_port=visitor.port + 1, timeout=0.2)
    assert comparison.technical_losses == (0, 2)
    assert comparison.cut_short_reason == "5 or more calls in a row to guest failed, each attempt counted"


@pytest.mark.parametrize(
    ("registered", "name"),
    [
        ("http://127.0.0.1:{port}/mcp", "guest"),
        ("http://0.0.0.0:{port}/other", "guest"),
        ("http://localhost:9/mcp", "localhost:{port}"),
        ("http://elsewhere.example:{port}/mcp", "localhost:{port}"),
    ],
)
async def test_nobody_else_is_taken_for_a_player_that_does_not_register(registered: str, name: str) -> None:
    """Only who registers with the same host and port is this player, whatever the path and the name of the host."""
    visitor = guest()
    visitor.registrant = ScriptedPlayer("guest", registered.format(port=visitor.port))
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=1)
    async with visitor.present():
        players = (f"localhost:{visitor.port}", "random")
        await compare_in_private_league(players, comparison, manager_port=visitor.port + 1, wait_seconds=0.5)
    assert comparison.names[0].removeprefix("http://").removesuffix("/mcp") == name.format(port=visitor.port)
    assert comparison.technical_losses == (0, 0)


async def test_a_registration_that_is_refused_is_told_with_the_reason() -> None:
    visitor = guest(display_name="P01")
    comparison = Comparison(NAMES, SequentialTest(), max_pairs=1)
    async with visitor.present():
        players = (f"localhost:{visitor.port}", "random")
        remarks = await compare_in_private_league(players, comparison, manager_port=visitor.port + 1, wait_seconds=0.5)
    told = f"The registration of the player at http://localhost:{visitor.port}/mcp is refused: "
    (refusal,) = (remark for remark in remarks if remark.startswith(told))
    assert refusal.endswith("choose a name of its own).")


async def test_an_address_is_not_compared_with_itself() -> None:
    with pytest.raises(UserError, match="compared with itself"):
        await compare_in_private_league(("localhost:9", "localhost:9"), Comparison(NAMES, SequentialTest(), 1))
