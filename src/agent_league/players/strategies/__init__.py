"""Finding and loading strategies: built-in and third-party ones by the entry point group `agent_league.strategies`.

The path of a Python file names a strategy, too: its class `Strategy`, or its function `choose`. Each built-in strategy
has its own module here.
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
from agent_league.model.names import list_known_names
from agent_league.players.observation import Strategy
from agent_league.text import MAX_PHRASE, quote

STRATEGY_ENTRY_POINTS = "agent_league.strategies"


def strategy_names() -> tuple[str, ...]:
    """The names of all installed strategies."""
    return tuple(sorted(point.name for point in entry_points(group=STRATEGY_ENTRY_POINTS)))


def find_installation_problem(name: str) -> str | None:
    """A sentence if a strategy isn't installed, or its file doesn't exist; else None."""
    if is_python_file(name):
        return None if Path(name).is_file() else f"there is no file {name}"
    if has_argument(name):
        return None if not name.endswith(":") else f"{name!r} should name a model after its colon, such as llm:qwen3:8b"
    known = strategy_names()
    return None if name in known else f"no strategy {name!r} is installed {list_known_names(name, known)}"


def has_argument(name: str) -> bool:
    """Whether this is a strategy that takes an argument, and its argument after a colon, such as `llm:qwen3:8b`."""
    base, colon, _ = name.partition(":")
    return bool(colon) and base in strategy_names() and hasattr(load_strategy_class(base), "with_argument")


def load_strategy(
    name: str, defaults: PlayerDefaults | None = None, remark: Callable[[str], None] | None = None
) -> Strategy:
    """Create a strategy; one with settings gets `defaults`, and `remark` to show its owner a sentence.

    Raises ConfigError if it isn't installed or can't be created.
    """
    made = load_strategy_class(name)
    settings = _apply_argument(name, defaults or PlayerDefaults())
    try:
        strategy: Strategy = made.configured(settings, remark) if has_settings(name) else made()
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError("strategy", "", f"{name!r} can't be made: {quote(error, MAX_PHRASE)}") from error
    return strategy


def strategy_description(name: str) -> str:
    """The docstring of a strategy's class, which describes it for users."""
    return inspect.cleandoc(load_strategy_class(name).__doc__ or "")


def strategy_summary(name: str) -> str:
    """The first line of a strategy's description."""
    return strategy_description(name).partition("\n")[0]


def strategy_games(name: str) -> tuple[str, ...]:
    """The games that a strategy is made for; empty: any. It plays legal moves in all others, too."""
    return tuple(getattr(load_strategy_class(name), "games", ()))


def find_game_mismatch(name: str, game_type: str) -> str | None:
    """A sentence if a strategy is made for other games than this one; else None."""
    games = strategy_games(name)
    return f"{name} is made for {', '.join(games)}, not for {game_type}." if games and game_type not in games else None


def has_settings(name: str) -> bool:
    """Whether a strategy is created from settings."""
    return hasattr(load_strategy_class(name), "configured")


def check_strategy(name: str, defaults: PlayerDefaults) -> None:
    """Raise ConfigError if a strategy with settings can't be created from these."""
    if has_settings(name) and (check := getattr(load_strategy_class(name), "check", None)):
        check(_apply_argument(name, defaults))


def _apply_argument(name: str, defaults: PlayerDefaults) -> PlayerDefaults:
    """Return the defaults for a strategy whose name is followed by an argument, such as `llm:qwen3:8b`."""
    _, colon, argument = name.partition(":")
    if is_python_file(name) or not colon:
        return defaults
    found: PlayerDefaults = load_strategy_class(name).with_argument(defaults, argument)
    return found


def can_learn(name: str) -> bool:
    """Whether a strategy stores what it learns from one league to the next."""
    return hasattr(load_strategy_class(name), "saved")


def can_choose(name: str) -> bool:
    """Whether a strategy can be asked for moves: its class has `choose`, or creates an object from settings."""
    return has_settings(name) or callable(getattr(load_strategy_class(name), "choose", None))


def is_synchronous(name: str) -> bool:
    """Whether a strategy's `choose` is a plain function, no coroutine."""
    choose = getattr(load_strategy_class(name), "choose", None)
    return choose is not None and not inspect.iscoroutinefunction(choose)


@cache
def load_strategy_class(name: str) -> Any:
    """Load a strategy's class; cached, as searching the installed packages for each of many players would be slow."""
    if is_python_file(name):
        return _load_strategy_file(Path(name))
    if problem := find_installation_problem(name):
        raise ConfigError("strategy", "", problem)
    base = name.partition(":")[0]
    point = next(point for point in entry_points(group=STRATEGY_ENTRY_POINTS) if point.name == base)
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise ConfigError("strategy", "", f"{name!r} can't be loaded: {quote(error, MAX_PHRASE)}") from error


def _load_strategy_file(path: Path) -> Any:
    """Load the class `Strategy` of a Python file, or make one of its function `choose`; raises ConfigError."""
    module = load_python_file(path)
    made, choose = getattr(module, "Strategy", None), getattr(module, "choose", None)
    if made is not None and callable(getattr(made, "choose", None)):
        is_static = isinstance(inspect.getattr_static(made, "choose"), staticmethod | classmethod)
        _check_parameters(path, made.choose, "observation" if is_static else "self, observation")
        return made
    if not callable(choose):
        problem = "expected a function choose(observation), or a class Strategy with such a method"
        raise ConfigError(path, "", problem)
    _check_parameters(path, choose, "observation")
    words = choose.__doc__ or module.__doc__
    return type("FileStrategy", (), {"choose": staticmethod(choose), "__doc__": words})


def _check_parameters(path: Path, choose: Callable[..., Any], expected: str) -> None:
    """Raise ConfigError for a `choose` that can't be called with what it gets; one without a signature is let be."""
    try:
        signature = inspect.signature(choose)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*expected.split(", "))
    except TypeError:
        code = getattr(choose, "__code__", None)
        where = f"{path}, line {code.co_firstlineno}" if code else path
        takes = f"choose{signature} can't be asked for a move"
        raise ConfigError(where, "", f"{takes}; expected choose({expected}), which gets one observation") from None
