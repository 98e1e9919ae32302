"""Other libraries that play games in Python, each by the loop that its own documentation shows, without anything else.

They are development tools (the dependency group `peers`); one that isn't installed is skipped with a sentence.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import Any

HOW_TO_INSTALL = ".venv/bin/pip install --upgrade pip, then .venv/bin/pip install --group peers"
DILEMMA_ROUNDS = 200

PlayGames = Callable[[int], None]
"""Plays so many games."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A game that another library plays, and the same game of ours."""

    library: str
    module: str
    game: str
    strategies: tuple[str, str]
    games: int
    load: Callable[[], PlayGames]
    parameters: tuple[tuple[str, Any], ...] = ()
    least_ratio: float = 1.0
    """How many times as fast as it we aim to be."""

    def find_problem(self) -> str | None:
        """A sentence if the library isn't installed; else None."""
        try:
            import_module(self.module)
        except ImportError as error:
            return f"{self.library} is not installed ({error}): {HOW_TO_INSTALL}"
        return None


def load_axelrod() -> PlayGames:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axelrod = import_module("axelrod")
    match = axelrod.Match((axelrod.TitForTat(), axelrod.Random(0.5)), turns=DILEMMA_ROUNDS, seed=1)

    def play(games: int) -> None:
        for _ in range(games):
            match.play()

    return play


def load_openspiel(name: str) -> PlayGames:
    game, dice = import_module("pyspiel").load_game(name), Random(1)

    def play(games: int) -> None:
        for _ in range(games):
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(dice.choices(outcomes, weights)[0])
                else:
                    state.apply_action(dice.choice(state.legal_actions()))
            state.returns()

    return play


def load_pettingzoo(module: str) -> PlayGames:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = import_module(module).env()

    def play(games: int) -> None:
        for seed in range(games):
            env.reset(seed=seed)
            for agent in env.agent_iter():
                seen, _, terminated, truncated, _ = env.last()
                over = terminated or truncated
                env.step(None if over else env.action_space(agent).sample(seen["action_mask"]))

    return play


def list_peers() -> Iterator[Peer]:
    both, repeat = ("random", "random"), (("repeat", DILEMMA_ROUNDS),)
    dilemma = ("tit_for_tat", "random")
    yield Peer("Axelrod", "axelrod", "prisoners_dilemma", dilemma, 200, load_axelrod, repeat, least_ratio=3)
    for game, games in (("tic_tac_toe", 5000), ("connect_four", 2000), ("kuhn_poker", 10_000), ("nim", 5000)):
        yield Peer("OpenSpiel", "pyspiel", game, both, games, lambda game=game: load_openspiel(game))  # type: ignore[misc]
    for game, module, games in (("tic_tac_toe", "tictactoe_v3", 200), ("connect_four", "connect_four_v3", 80)):
        home = f"pettingzoo.classic.{module}"
        yield Peer("PettingZoo", home, game, both, games, lambda home=home: load_pettingzoo(home))  # type: ignore[misc]
