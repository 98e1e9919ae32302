"""The built-in strategies, one file an idea. They come in by the entry point group `agent_league.strategies`."""

from importlib.metadata import entry_points

from agent_league.errors import ConfigError
from agent_league.players.observation import Strategy

GROUP = "agent_league.strategies"


def strategy_names() -> tuple[str, ...]:
    """The names of all strategies that are installed."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def load_strategy(name: str) -> Strategy:
    """A new instance of a strategy."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            strategy: Strategy = point.load()()
            return strategy
    known = ", ".join(strategy_names()) or "none"
    raise ConfigError("strategy", "", f"no strategy {name!r} is installed (there are: {known})")
