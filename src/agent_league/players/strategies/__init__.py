"""The built-in strategies, one file an idea. They come in by the entry point group `agent_league.strategies`."""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from agent_league.errors import ConfigError
from agent_league.players.observation import Strategy

GROUP = "agent_league.strategies"


def strategy_names() -> tuple[str, ...]:
    """The names of all strategies that are installed."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def load_strategy(name: str) -> Strategy:
    """A new instance of a strategy."""
    strategy: Strategy = _strategy_class(name)()
    return strategy


@cache
def _strategy_class(name: str) -> Any:
    """Looked up once: a host of a hundred players would search the installed packages a hundred times."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            return point.load()
    known = ", ".join(strategy_names()) or "none"
    raise ConfigError("strategy", "", f"no strategy {name!r} is installed (there are: {known})")
