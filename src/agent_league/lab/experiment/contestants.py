"""The games and players of an experiment as plain data that any process can load: no meeting is played here."""

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.config.python_files import SUFFIX, load_python_file
from agent_league.errors import ConfigError, UserError
from agent_league.games.registry import Game, load_playable_game
from agent_league.players.observation import Strategy
from agent_league.players.strategies import load_strategy, load_strategy_class
from agent_league.text import MAX_PHRASE, quote

LEAST_COST_USD = 1e-6
"""What is left of a spent budget: a limit can't be 0."""


class PlayerKind(StrEnum):
    """Where a player's moves come from."""

    STRATEGY = "strategy"
    """An installed strategy."""
    FILE = "file"
    """A function or class of a Python file."""
    MODEL = "model"
    """A language model."""
    ADDRESS = "address"
    """A running player."""


@dataclass(frozen=True, slots=True)
class GameSpec:
    """A game with its parameters."""

    label: str
    game_type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Game:
        """Load the game; raises UnknownGame and BadParameters."""
        return load_playable_game(self.game_type, self.parameters)


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """A player as an experiment's file names it."""

    label: str
    kind: PlayerKind
    source: str
    """A strategy's name, `path/to/file.py:name`, an address, or a model."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    home: str = ""
    """The folder that a file's path is relative to. Where it doesn't exist, as on another machine that got the files
    alone, the path is relative to the current folder."""
    digest: str = ""
    """SHA-256 of a file, so that no other version of it plays; empty: any."""
    llm: LlmSettings | None = None
    """The settings of a model."""

    @property
    def file_name(self) -> str:
        """The path of the Python file of a player of that kind, as it is named."""
        return self.source if self.source.endswith(SUFFIX) else self.source.rpartition(":")[0]

    @property
    def file(self) -> Path:
        """The Python file of a player of that kind."""
        name = self.file_name
        place = Path(self.home, name)
        return place if place.is_file() or not Path(name).is_file() else Path(name)

    def make_strategy(self) -> Strategy:
        """Make the strategy anew, without memory; raises UserError. A player at an address has none here."""
        if self.kind is PlayerKind.ADDRESS:
            raise ValueError(f"{self.label} plays at its address")
        if self.kind is PlayerKind.MODEL:
            return load_strategy("llm", PlayerDefaults(llm=self.llm or LlmSettings()))
        if self.kind is PlayerKind.STRATEGY and not self.parameters:
            return load_strategy(self.source)
        made = self.load_class()
        try:
            strategy: Strategy = made(**self.parameters)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise ConfigError("player", self.label, f"can't be made: {quote(error, MAX_PHRASE)}") from error
        return strategy

    def deduct_usage(self, tokens: int, cost: float) -> "PlayerSpec":
        """Return the player with what is left of its model's budget; a player without one stays as it is."""
        if self.llm is None:
            return self
        most_tokens, most_cost = self.llm.max_tokens, self.llm.max_cost_usd
        left = {
            "max_tokens": None if most_tokens is None else max(1, most_tokens - tokens),
            "max_cost_usd": None if most_cost is None else max(LEAST_COST_USD, most_cost - cost),
        }
        return replace(self, llm=self.llm.model_copy(update=left))

    def load_class(self) -> Any:
        """Load what makes the strategy; raises ConfigError."""
        if self.kind is PlayerKind.STRATEGY:
            return load_strategy_class(self.source)
        name = "" if self.source.endswith(SUFFIX) else self.source.rpartition(":")[2]
        return _load_from_file(self.file, name, self.digest)

    @property
    def is_synchronous(self) -> bool:
        """Whether the player chooses by itself: then the same seed gives the same games."""
        if self.kind in (PlayerKind.MODEL, PlayerKind.ADDRESS):
            return False
        choose = getattr(self.load_class(), "choose", None)
        return choose is not None and not inspect.iscoroutinefunction(choose)


def make_series_seed(game: str, players: Sequence[str], seed: str) -> str:
    """Return the seed of a meeting's draws and dice: by labels, so that others in the file don't change them."""
    return "/".join((seed, game, *players))


@cache
def _load_from_file(path: Path, name: str, digest: str) -> Any:
    """Load a class of a file, or make one of a function; raises ConfigError.

    Without a name it is the class `Strategy` or the function `choose`.
    """
    if digest and path.is_file() and hash_file(path) != digest:
        raise ConfigError(path, "", "is another version than the one that the experiment was begun with")
    module = load_python_file(path)
    if not name:
        name = "Strategy" if isinstance(getattr(module, "Strategy", None), type) else "choose"
    found = getattr(module, name, None)
    if isinstance(found, type) and callable(getattr(found, "choose", None)):
        return found
    if found is not None and callable(found) and not isinstance(found, type):
        words = found.__doc__ or module.__doc__
        return type("FileStrategy", (), {"choose": staticmethod(found), "__doc__": words})
    there = f"found {quote(found)}" if found is not None else "there is no such name in it"
    problem = f"expected a function {name}(observation), or a class {name} with a method `choose`; {there}"
    raise ConfigError(path, name, problem)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
