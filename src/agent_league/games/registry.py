"""Finding games: built-in and third-party ones by the entry point group `agent_league.games`.

A source of many games, such as OpenSpiel, is found by `agent_league.game_sources`: `openspiel:kuhn_poker` is the game
`kuhn_poker` of the source `openspiel`. The `GAME` of a Python file named in the environment variable AGENT_LEAGUE_GAMES
is found as well, and replaces an installed game of the same name.
"""

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar, Protocol

from agent_league.config.python_files import is_python_file, load_python_file
from agent_league.errors import ConfigError, UserError
from agent_league.games.base import BadParameters, Rules, State
from agent_league.games.game_messages import Moves, PlainWire, RepeatedWire, Wire
from agent_league.games.repeated import HOW_TO_REPEAT, RepeatedRules, repeat_rules
from agent_league.games.scene import SceneFunction
from agent_league.model.agents import ANY_GAME
from agent_league.model.names import list_known_names
from agent_league.text import MAX_PHRASE, capitalise, quote

GAME_ENTRY_POINTS = "agent_league.games"
SOURCE_ENTRY_POINTS = "agent_league.game_sources"
INSTALL_HINT = "pip install 'agent-league[games]' (in a checkout: .venv/bin/pip install -e '.[games]')"
FILES_VARIABLE = "AGENT_LEAGUE_GAMES"
"""Environment variable with paths of Python files, separated as in PATH."""

ShowFunction = Callable[[Any, int | None], str]
"""From a view and the seat that sees it (None: everything is seen) to lines of text."""


class UnknownGame(UserError):
    """A game that isn't installed, or can't be loaded."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game: its rules, messages, default parameters and descriptions.

    Parameters `repeat` and `first_to` make a match of several games out of any game; its messages are then the plain
    ones.
    """

    game_type: str
    rules: Rules
    wire: Wire = field(default_factory=PlainWire)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    how_to_play: str = ""
    """The rules as text, for people and models; the first line is a summary. How repeated games go is appended."""
    goals: tuple[str, str] = ("", "")
    """What wins for each seat, as a sentence to whoever has it."""
    payoffs: bool = False
    """Whether amounts matter, not only who has more; results then have the payoffs of both."""
    show: ShowFunction | None = None
    """Draws a view of a single game as text. It may raise anything on a view that it doesn't know."""
    scene: SceneFunction | None = None
    """Draws a view as plain data: boards, tiles, heaps. Without it, the text is shown."""

    def __post_init__(self) -> None:
        rules = repeat_rules(self.rules, self.parameters)
        object.__setattr__(self, "rules", rules)
        words = self.how_to_play.removesuffix(HOW_TO_REPEAT)
        wire = self.wire.single if isinstance(self.wire, RepeatedWire) else self.wire
        if isinstance(rules, RepeatedRules):
            wire = RepeatedWire(wire, amounts=self.payoffs)
            words = words and words + HOW_TO_REPEAT
        object.__setattr__(self, "wire", wire)
        object.__setattr__(self, "how_to_play", words)

    def with_parameters(self, parameters: Mapping[str, Any]) -> "Game":
        """Return the game under other parameters; raises BadParameters if no state can be made with them."""
        game = replace(self, parameters={**self.parameters, **parameters})
        try:
            game.rules.new(game.parameters)
        except BadParameters:
            raise
        except Exception as error:
            raise BadParameters(
                f"{self.game_type} makes no game of its parameters: {quote(error, MAX_PHRASE)}"
            ) from error
        return game

    def result_fields(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """Return the game's own fields of `game_result`; `state` isn't final if the match was aborted."""
        told = self.wire.result(state, moves, players)
        if self.payoffs and not self.rules.actors(state):
            told["payoffs"] = dict(zip(players, self.final_payoffs(state), strict=True))
        return told

    def final_payoffs(self, state: State) -> tuple[float, float]:
        """Return the payoffs of a finished match: its returns, or the sums of all rounds if it is repeated."""
        a, b = state["scores"] if isinstance(self.rules, RepeatedRules) else self.rules.returns(state)
        return (a, b)


class GameSource(Protocol):
    """A library of many games, found by name."""

    def names(self) -> Sequence[str]:
        """Return the games that can be played here; raises ConfigError if the library is missing."""
        ...

    def load(self, name: str) -> Game:
        """Return a game, whose game type is prefixed with the source's name; raises ConfigError."""
        ...


class LibraryGames(ABC):
    """A source of the games of a library, which is imported on first use."""

    name: ClassVar[str]
    library: ClassVar[str]
    unit: ClassVar[str] = "game"
    """What the library calls its games."""

    @abstractmethod
    def list_all(self) -> Mapping[str, Any]:
        """List all games of the library by name; raises ImportError."""

    @abstractmethod
    def find_obstacle(self, name: str) -> str | None:
        """Describe why a game of the library can't be played in a league; None if it can."""

    @abstractmethod
    def make_game(self, name: str) -> Game:
        """Make a game that can be played."""

    def names(self) -> Sequence[str]:
        return sorted(name for name in self._list_known() if self.find_obstacle(name) is None)

    def load(self, name: str) -> Game:
        known = self._list_known()
        if name not in known:
            near = ", ".join(get_close_matches(name, known, cutoff=0.5))
            like = f" (names like it: {near})" if near else ""
            lists = f"`league games {self.name}` lists them"
            raise ConfigError("game_type", "", f"{self.library} has no {self.unit} {quote(name)}{like}; {lists}")
        if obstacle := self.find_obstacle(name):
            raise ConfigError("game_type", "", f"{self.name}:{name} can't be played in a league: it {obstacle}")
        return self.make_game(name)

    def _list_known(self) -> Mapping[str, Any]:
        try:
            return self.list_all()
        except ImportError as error:
            told = f"{self.library} is not installed ({error}): {INSTALL_HINT}"
            raise ConfigError(self.name, "", told) from None


def game_types() -> tuple[str, ...]:
    """The names of all installed games, without those of sources."""
    return tuple(sorted({*_find_entry_points(GAME_ENTRY_POINTS), *_load_file_games()}))


def declared_game_types(games: Sequence[str]) -> tuple[str, ...]:
    """The games that an agent declares when it registers: with ANY_GAME, all installed ones are declared as well.

    So a manager that looks for its own game's name finds it, and a game with messages of its own is played with them.
    """
    if ANY_GAME not in games:
        return tuple(games)
    named = dict.fromkeys((*games, *game_types()))
    return (*(name for name in named if name != ANY_GAME), ANY_GAME)


def source_names() -> tuple[str, ...]:
    """The names of all sources of games."""
    return tuple(sorted(_find_entry_points(SOURCE_ENTRY_POINTS)))


def is_from_source(game_type: str) -> bool:
    """Whether a game is from a source: loading it, or trying its parameters, may take seconds."""
    by_itself = game_type in _find_entry_points(GAME_ENTRY_POINTS) or game_type in _load_file_games()
    return not by_itself and game_type.partition(":")[0] in source_names()


@cache
def load_source(name: str) -> GameSource:
    """Load a source by its name; raises ConfigError."""
    found = _find_entry_points(SOURCE_ENTRY_POINTS).get(name)
    if found is None:
        told = f"no source of games {name!r} is installed {list_known_names(name, source_names())}"
        raise ConfigError("game_type", "", told)
    source: GameSource = _load_entry_point(found)
    return source


@cache
def load_game(game_type: str) -> Game:
    """Load a game by its name, or by `source:name`; raises ConfigError."""
    if in_file := _load_file_games().get(game_type):
        return in_file
    if point := _find_entry_points(GAME_ENTRY_POINTS).get(game_type):
        game = _load_entry_point(point)
        if not isinstance(game, Game):
            raise ConfigError(f"entry point {GAME_ENTRY_POINTS}", game_type, f"{point.value} is not a Game")
        if game.game_type != game_type:
            told = f"entry point {game_type!r} gives a game called {game.game_type!r}; they must be equal"
            raise ConfigError("game_type", "", told)
        return game
    source, colon, name = game_type.partition(":")
    if colon and source in source_names():
        return load_source(source).load(name)
    if is_python_file(game_type):
        how = f"`export {FILES_VARIABLE}={shlex.quote(game_type)}` makes it known, `league games` lists it"
        raise ConfigError("game_type", "", f"{game_type!r} is a file, expected the name of its game: {how}")
    known = (*game_types(), *(f"{source}:NAME" for source in source_names()))
    raise ConfigError("game_type", "", f"no game {game_type!r} is installed {list_known_names(game_type, known)}")


@cache
def find_game_title(game_type: str) -> str:
    """Return the title by which people know a game; its name in words if it can't be loaded here. May take seconds."""
    try:
        title = load_game(game_type).title
    except Exception:  # noqa: BLE001 - not installed here, or somebody else's package that can't be loaded
        title = ""
    return title or capitalise(game_type.replace("_", " "))


def load_playable_game(game_type: str, parameters: Mapping[str, Any]) -> Game:
    """Load a game under parameters, which are checked at once; raises UnknownGame and BadParameters."""
    try:
        game = load_game(game_type)
    except ConfigError as error:
        raise UnknownGame(str(error).removeprefix("game_type: ")) from None
    except Exception as error:  # noqa: BLE001 - a third-party package
        raise UnknownGame(f"the game {game_type!r} can't be loaded: {error!r}") from None
    return game.with_parameters(parameters)


@cache
def _load_file_games() -> dict[str, Game]:
    """Load the games of the files in AGENT_LEAGUE_GAMES, by game type; raises ConfigError."""
    found = {}
    for name in filter(None, os.environ.get(FILES_VARIABLE, "").split(os.pathsep)):
        game = getattr(load_python_file(Path(name)), "GAME", None)
        if not isinstance(game, Game):
            raise ConfigError(name, "GAME", f"expected a Game, found {'none' if game is None else type(game).__name__}")
        found[game.game_type] = game
    return found


@cache
def _find_entry_points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _load_entry_point(point: EntryPoint) -> Any:
    """Load an entry point; raises ImportError if its module exits the program."""
    try:
        return point.load()
    except SystemExit as end:
        raise ImportError(f"{point.value} ends the program when it is imported") from end


@cache
def seats_differ(game_type: str) -> bool:
    """Whether one seat of a game may be worth more than the other: if both don't move at the same time."""
    try:
        game = load_game(game_type)
        return game.rules.actors(game.rules.new(game.parameters)) != (0, 1)
    except Exception:  # noqa: BLE001 - a game that isn't installed here, or a third party's rules
        return True
