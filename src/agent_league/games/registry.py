"""Finding games: built-in and third parties' alike come in through the entry point group `agent_league.games`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from agent_league.errors import ConfigError
from agent_league.games.base import BadParameters, Rules
from agent_league.games.wire import PlainWire, Wire

GROUP = "agent_league.games"


@dataclass(frozen=True, slots=True)
class Game:
    """A game that can be refereed: its rules, its words, and its parameters where the registry sets none."""

    game_type: str
    rules: Rules
    wire: Wire = field(default_factory=PlainWire)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    how_to_play: str = ""
    """The rules in plain words, for a person or a model."""

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Game":
        """The same game under other parameters, tried at once."""
        merged = {**self.parameters, **parameters}
        try:
            self.rules.new(merged)
        except BadParameters as error:
            raise ConfigError("games/games_registry.json", f"{self.game_type}.parameters", str(error)) from None
        return replace(self, parameters=merged)


def game_types() -> tuple[str, ...]:
    """The names of all games that are installed."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


@cache
def load_game(game_type: str) -> Game:
    """A game by its name."""
    for point in entry_points(group=GROUP):
        if point.name == game_type:
            game = point.load()
            if not isinstance(game, Game):
                raise ConfigError(f"entry point {GROUP}", game_type, f"{point.value} is not a Game")
            return game
    known = ", ".join(game_types()) or "none"
    raise ConfigError("game_type", "", f"no game {game_type!r} is installed (there are: {known})")
