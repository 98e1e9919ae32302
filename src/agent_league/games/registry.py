"""Finding games: built-in and third parties' alike come in through the entry point group `agent_league.games`.

A source of many games, such as OpenSpiel, comes in through `agent_league.game_sources`: `openspiel:kuhn_poker` is the
game that the source `openspiel` calls `kuhn_poker`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from agent_league.errors import ConfigError
from agent_league.games.base import BadParameters, Rules, State
from agent_league.games.repeated import HOW_TO_REPEAT, Repeated, repeated
from agent_league.games.wire import Moves, PlainWire, RepeatedWire, Wire
from agent_league.model.agents import ANY_GAME

GROUP = "agent_league.games"
SOURCES = "agent_league.game_sources"


@dataclass(frozen=True, slots=True)
class Game:
    """A game that can be refereed: its rules, its words, and its parameters where the registry sets none.

    Parameters `repeat` and `first_to` make a match of several games out of any game; its words are then the plain ones.
    """

    game_type: str
    rules: Rules
    wire: Wire = field(default_factory=PlainWire)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    how_to_play: str = ""
    """The rules in plain words, for a person or a model; the first line is a summary. How rounds go is added to it."""
    payoffs: bool = False
    """Whether it counts how much a seat has, not only who has more; a result then tells both."""

    def __post_init__(self) -> None:
        rules = repeated(self.rules, self.parameters)
        object.__setattr__(self, "rules", rules)
        words = self.how_to_play.removesuffix(HOW_TO_REPEAT)
        wire = self.wire.single if isinstance(self.wire, RepeatedWire) else self.wire
        if isinstance(rules, Repeated):
            wire = RepeatedWire(wire, amounts=self.payoffs)
            words = words and words + HOW_TO_REPEAT
        object.__setattr__(self, "wire", wire)
        object.__setattr__(self, "how_to_play", words)

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Game":
        """The same game under other parameters, tried at once."""
        merged = {**self.parameters, **parameters}
        game = replace(self, parameters=merged)
        try:
            game.rules.new(merged)
        except BadParameters as error:
            raise ConfigError("games/games_registry.json", f"{self.game_type}.parameters", str(error)) from None
        return game

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """The game's own fields of `game_result`; `state` may be one in which the match broke off."""
        told = self.wire.result(state, moves, players)
        if self.payoffs and not self.rules.actors(state):
            told["payoffs"] = dict(zip(players, self.rules.returns(state), strict=True))
        return told


class GameSource(Protocol):
    """Many games under one roof, found by name."""

    def names(self) -> Sequence[str]:
        """Those that can be played here; raises ConfigError where the library is missing."""
        ...

    def load(self, name: str) -> Game:
        """One of them, its game type with the source's name before it; raises ConfigError."""
        ...


def game_types() -> tuple[str, ...]:
    """The names of all games that are installed by themselves; those of sources are beside them."""
    return tuple(sorted(_found(GROUP)))


def declared(games: Sequence[str]) -> tuple[str, ...]:
    """The games that an agent names when it registers: one that takes any game names all that are installed as well.

    Whoever looks for the name of its own game finds it there, and a game that has words of its own is played in them.
    """
    if ANY_GAME not in games:
        return tuple(games)
    named = dict.fromkeys((*games, *game_types()))
    return (*(name for name in named if name != ANY_GAME), ANY_GAME)


def source_names() -> tuple[str, ...]:
    """The names of all sources of games."""
    return tuple(sorted(_found(SOURCES)))


@cache
def load_source(name: str) -> GameSource:
    """A source by its name."""
    found = _found(SOURCES).get(name)
    if found is None:
        known = ", ".join(source_names()) or "none"
        raise ConfigError("game_type", "", f"no source of games {name!r} is installed (there are: {known})")
    source: GameSource = found.load()
    return source


@cache
def load_game(game_type: str) -> Game:
    """A game by its name, or by its source's name, a colon and its name there."""
    if point := _found(GROUP).get(game_type):
        game = point.load()
        if not isinstance(game, Game):
            raise ConfigError(f"entry point {GROUP}", game_type, f"{point.value} is not a Game")
        return game
    source, colon, name = game_type.partition(":")
    if colon:
        return load_source(source).load(name)
    known = ", ".join(game_types()) or "none"
    raise ConfigError("game_type", "", f"no game {game_type!r} is installed (there are: {known})")


def _found(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
