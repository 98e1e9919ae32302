"""A source of games that notes where it was asked for one."""

import threading
from dataclasses import replace

import pytest

from agent_league.games import registry
from agent_league.games.registry import Game, load_game


class Toys:
    """The source `toys`: every game of ours, under its own name."""

    def __init__(self) -> None:
        self.in_main_thread: list[bool] = []

    def names(self) -> list[str]:
        return ["even_odd"]

    def load(self, name: str) -> Game:
        self.in_main_thread.append(threading.current_thread() is threading.main_thread())
        return replace(load_game(name), game_type=f"toys:{name}")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Toys:
    source = Toys()
    monkeypatch.setattr(registry, "source_names", lambda: ("toys",))
    monkeypatch.setattr(registry, "load_source", lambda _name: source)
    return source
