"""The built-in strategies, one file an idea. They come in by the entry point group `agent_league.strategies`.

The name of a Python file is a strategy too: its class `Strategy`, or its function `choose`.
"""

import inspect
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from agent_league.config import PlayerDefaults
from agent_league.config.python_files import is_python_file, load_python_file
from agent_league.errors import ConfigError, UserError
from agent_league.model.names import there_are
from agent_league.players.observation import Strategy

GROUP = "agent_league.strategies"


def strategy_names() -> tuple[str, ...]:
    """The names of all strategies that are installed."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def not_installed(name: str) -> str | None:
    """A sentence on a strategy that isn't there."""
    if is_python_file(name):
        return None if Path(name).is_file() else f"there is no file {name}"
    known = strategy_names()
    return None if name in known else f"no strategy {name!r} is installed {there_are(name, known)}"


def load_strategy(
    name: str, defaults: PlayerDefaults | None = None, remark: Callable[[str], None] | None = None
) -> Strategy:
    """A new instance of a strategy; one with settings finds them in `defaults`, and talks to its owner by `remark`."""
    made = _strategy_class(name)
    try:
        strategy: Strategy = made.configured(defaults or PlayerDefaults(), remark) if has_settings(name) else made()
    except UserError:
        raise
    except Exception as error:
        raise ConfigError("strategy", "", f"{name!r} can't be made: {error!r:.200}") from error
    return strategy


def strategy_words(name: str) -> str:
    """What a strategy does, in its own words: its class's docstring."""
    return inspect.cleandoc(_strategy_class(name).__doc__ or "")


def strategy_sentence(name: str) -> str:
    """The first line of that."""
    return strategy_words(name).partition("\n")[0]


def strategy_games(name: str) -> tuple[str, ...]:
    """The games that a strategy is made for; none named: any. It plays every other one too, somehow."""
    return tuple(getattr(_strategy_class(name), "games", ()))


def unsuited(name: str, game_type: str) -> str | None:
    """A sentence on a strategy that is made for other games."""
    games = strategy_games(name)
    return f"{name} is made for {', '.join(games)}, not for {game_type}." if games and game_type not in games else None


def has_settings(name: str) -> bool:
    """Whether a strategy is made from settings."""
    return hasattr(_strategy_class(name), "configured")


def check_strategy(name: str, defaults: PlayerDefaults) -> None:
    """Raises ConfigError where a strategy with settings says that it can't be made from these."""
    if has_settings(name) and (check := getattr(_strategy_class(name), "check", None)):
        check(defaults)


def learns(name: str) -> bool:
    """Whether a strategy has something to keep from one league to the next."""
    return hasattr(_strategy_class(name), "saved")


def can_choose(name: str) -> bool:
    """Whether a strategy can be asked at all: its class has a function for it, or makes something else that has."""
    return has_settings(name) or callable(getattr(_strategy_class(name), "choose", None))


def answers_at_once(name: str) -> bool:
    """Whether a strategy chooses by itself: its class has a plain function for it, and no coroutine."""
    choose = getattr(_strategy_class(name), "choose", None)
    return choose is not None and not inspect.iscoroutinefunction(choose)


@cache
def _strategy_class(name: str) -> Any:
    """Looked up once: a host of a hundred players would search the installed packages a hundred times."""
    if is_python_file(name):
        return _strategy_in_file(Path(name))
    for point in entry_points(group=GROUP):
        if point.name == name:
            try:
                return point.load()
            except (Exception, SystemExit) as error:
                raise ConfigError("strategy", "", f"{name!r} can't be loaded: {error!r:.200}") from error
    raise ConfigError("strategy", "", not_installed(name) or "")


def _strategy_in_file(path: Path) -> Any:
    """The class `Strategy` of a Python file, or one made of its function `choose`; raises ConfigError."""
    module = load_python_file(path)
    made, choose = getattr(module, "Strategy", None), getattr(module, "choose", None)
    if callable(getattr(made, "choose", None)):
        return made
    if not callable(choose):
        problem = "expected a function choose(observation), or a class Strategy with such a method"
        raise ConfigError(path, "", problem)
    words = choose.__doc__ or module.__doc__
    return type("FileStrategy", (), {"choose": staticmethod(choose), "__doc__": words})
