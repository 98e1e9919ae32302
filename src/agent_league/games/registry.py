"""Finding games: built-in and third parties' alike come in through the entry point group `agent_league.games`.

A source of many games, such as OpenSpiel, comes in through `agent_league.game_sources`: `openspiel:kuhn_poker` is the
game that the source `openspiel` calls `kuhn_poker`. The `GAME` of a Python file that the environment variable
AGENT_LEAGUE_GAMES names is found as well, and wins over an installed one of its name.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

from agent_league.config.python_files import load_python_file
from agent_league.errors import ConfigError, UserError
from agent_league.games.base import BadParameters, Rules, State
from agent_league.games.game_messages import Moves, PlainWire, RepeatedWire, Wire
from agent_league.games.repeated import HOW_TO_REPEAT, Repeated, repeated
from agent_league.games.scene import SceneOf
from agent_league.model.agents import ANY_GAME
from agent_league.model.names import there_are

GROUP = "agent_league.games"
SOURCES = "agent_league.game_sources"
FILES = "AGENT_LEAGUE_GAMES"
"""The environment variable with the names of Python files, separated as those in PATH."""

Show = Callable[[Any, int | None], str]
"""From a view and the seat that sees it (None: one who sees everything) to lines of text."""


class UnknownGame(UserError):
    """A game that isn't installed, or can't be loaded."""


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
    show: Show | None = None
    """Draws a view of a single game for people. It may raise anything on a view that it doesn't know."""
    scene: SceneOf | None = None
    """The same as plain data: boards, tiles, heaps. Where there is none, the text is shown."""

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
        """The same game under other parameters, tried at once; raises BadParameters."""
        game = replace(self, parameters={**self.parameters, **parameters})
        try:
            game.rules.new(game.parameters)
        except BadParameters:
            raise
        except Exception as error:
            raise BadParameters(f"{self.game_type} makes no game of its parameters: {error!r:.200}") from error
        return game

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """The game's own fields of `game_result`; `state` may be one in which the match broke off."""
        told = self.wire.result(state, moves, players)
        if self.payoffs and not self.rules.actors(state):
            told["payoffs"] = dict(zip(players, self.paid(state), strict=True))
        return told

    def paid(self, state: State) -> tuple[float, float]:
        """What each seat was paid once it is over: its returns, or those of all rounds, even where wins decide."""
        a, b = state["scores"] if isinstance(self.rules, Repeated) else self.rules.returns(state)
        return (a, b)


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
    return tuple(sorted({*_found(GROUP), *_games_in_files()}))


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


def is_from_source(game_type: str) -> bool:
    """Whether a game is a source's: to load it may take seconds, and so may a trial of its parameters."""
    by_itself = game_type in _found(GROUP) or game_type in _games_in_files()
    return not by_itself and game_type.partition(":")[0] in source_names()


@cache
def load_source(name: str) -> GameSource:
    """A source by its name."""
    found = _found(SOURCES).get(name)
    if found is None:
        told = f"no source of games {name!r} is installed {there_are(name, source_names())}"
        raise ConfigError("game_type", "", told)
    source: GameSource = _loaded(found)
    return source


@cache
def load_game(game_type: str) -> Game:
    """A game by its name, or by its source's name, a colon and its name there."""
    if in_file := _games_in_files().get(game_type):
        return in_file
    if point := _found(GROUP).get(game_type):
        game = _loaded(point)
        if not isinstance(game, Game):
            raise ConfigError(f"entry point {GROUP}", game_type, f"{point.value} is not a Game")
        if game.game_type != game_type:
            told = f"entry point {game_type!r} gives a game called {game.game_type!r}; they must be equal"
            raise ConfigError("game_type", "", told)
        return game
    source, colon, name = game_type.partition(":")
    if colon and source in source_names():
        return load_source(source).load(name)
    known = (*game_types(), *(f"{source}:NAME" for source in source_names()))
    raise ConfigError("game_type", "", f"no game {game_type!r} is installed {there_are(game_type, known)}")


def playable(game_type: str, parameters: Mapping[str, Any]) -> Game:
    """A game under parameters that are tried at once; raises UnknownGame, and BadParameters."""
    try:
        game = load_game(game_type)
    except ConfigError as error:
        raise UnknownGame(str(error).removeprefix("game_type: ")) from None
    except Exception as error:  # noqa: BLE001 - somebody else's package
        raise UnknownGame(f"the game {game_type!r} can't be loaded: {error!r}") from None
    return game.with_parameters(parameters)


@cache
def _games_in_files() -> dict[str, Game]:
    """The games of the files that the environment names, by their types; raises ConfigError."""
    found = {}
    for name in filter(None, os.environ.get(FILES, "").split(os.pathsep)):
        game = getattr(load_python_file(Path(name)), "GAME", None)
        if not isinstance(game, Game):
            raise ConfigError(name, "GAME", f"expected a Game, found {type(game).__name__}")
        found[game.game_type] = game
    return found


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _loaded(point: EntryPoint) -> Any:
    """What an entry point names; a package that would end the program is one that can't be imported."""
    try:
        return point.load()
    except SystemExit as end:
        raise ImportError(f"{point.value} ends the program when it is imported") from end
