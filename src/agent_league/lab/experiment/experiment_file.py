"""The TOML file of an experiment: its form, and errors that name the setting, what was expected and what came.

It opens nothing else: whether games and players exist is found out by `resolution`.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from agent_league.config.base import ConfigModel
from agent_league.config.loader import CUSTOM_KEY_PREFIX, describe_first_error, find_unknown_key
from agent_league.errors import ConfigError
from agent_league.model.names import is_displayable, list_known_names
from agent_league.ratings.sequential_test import SequentialTest
from agent_league.ratings.tables import RankMethod
from agent_league.text import MAX_WORD

MAX_SEEDS = 1_000_000
MAX_ROUNDS = 100_000
MISSING = "is missing"
EXAMPLES = {
    "games": '; expected such as games = ["tic_tac_toe", "nim"]',
    "players": '; expected such as players = ["random", "mine.py:choose"]',
    "seeds": "; expected such as seeds = 20",
}
SHORT_FORM_PLACES = re.compile(r"(games|players)\.[0-9]+")
SEEDS_FORM = f"should be a number from 1 to {MAX_SEEDS}, or a list of numbers or texts that differ"


def _check_seeds(given: Any) -> Any:
    """Return the seeds as texts: 3 stands for 1, 2 and 3."""
    if isinstance(given, bool) or not isinstance(given, int | list | tuple):
        raise ValueError(SEEDS_FORM)
    if isinstance(given, int):
        if not 1 <= given <= MAX_SEEDS:
            raise ValueError(SEEDS_FORM)
        return tuple(map(str, range(1, given + 1)))
    if not 1 <= len(given) <= MAX_SEEDS or any(
        isinstance(one, bool) or not isinstance(one, int | str) for one in given
    ):
        raise ValueError(SEEDS_FORM)
    texts = tuple(map(str, given))
    if len(set(texts)) < len(texts):
        twice = next(text for place, text in enumerate(texts) if text in texts[:place])
        raise ValueError(f"{SEEDS_FORM}; {twice!r} is there twice")
    if not all(map(is_displayable, texts)):
        raise ValueError(f"{SEEDS_FORM}; a text must be printable")
    return texts


def _check_name(given: Any) -> Any:
    if isinstance(given, str) and (len(given) > MAX_WORD or not is_displayable(given)):
        raise ValueError(f"should be a printable name of 1 to {MAX_WORD} characters")
    return given


Name = Annotated[str, BeforeValidator(_check_name)]


class GameEntry(ConfigModel):
    """A game: its name alone, or a table."""

    game: str
    """As `league games` lists it."""
    name: Name | None = None
    """What rows and tables call it; needed if a game is there with several parameters."""
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, given: Any) -> Any:
        return {"game": given} if isinstance(given, str) else given


class ContestantEntry(ConfigModel):
    """A player: a text alone, or a table."""

    player: str
    """An installed strategy, `path/to/file.py:name`, an address, or `llm:MODEL`."""
    name: Name | None = None
    """What rows and tables call it."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What its class takes; of a model, its settings."""

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, given: Any) -> Any:
        return {"player": given} if isinstance(given, str) else given


class StoppingRule(ConfigModel):
    """When a pair has played enough in a game: a sequential test of whether the first of the two is better."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05

    @model_validator(mode="after")
    def _check_test(self) -> Self:
        self.make_test()
        return self

    def make_test(self) -> SequentialTest:
        return SequentialTest(self.elo0, self.elo1, self.alpha, self.beta)


class ExperimentFile(ConfigModel):
    """An experiment as it is written down."""

    name: Name = "experiment"
    games: tuple[GameEntry, ...]
    players: tuple[ContestantEntry, ...]
    seeds: Annotated[tuple[str, ...], BeforeValidator(_check_seeds)]
    """Every pair plays `2 * rounds` games with each."""
    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] = 1
    """With each seed, the games that a pair plays on each side, with memory."""
    pairs: Literal["all", "first"] = "all"
    """Who meets whom: everybody everybody, or the first player all others."""
    full: bool = False
    """Whether a meeting is a whole league over HTTP: a manager, a referee and both players, with every message."""
    messages: bool = False
    """Whether players are asked by messages, as running ones are, and not by the rules alone."""
    ranking: RankMethod = RankMethod.ELO
    stop: StoppingRule | None = None
    """None: all games are played."""
    resolved: dict[str, Any] | None = None
    """In the file that an experiment writes: the versions and the hash of its games."""


def load_experiment_file(path: Path) -> ExperimentFile:
    """Read and check a file; raises ConfigError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(path, "", "there is no such file; expected a TOML file with an experiment") from None
    except IsADirectoryError:
        raise ConfigError(path, "", f"is a folder; expected a TOML file, such as {path / 'experiment.toml'}") from None
    except UnicodeDecodeError:
        raise ConfigError(path, "", "not text in UTF-8; expected a TOML file") from None
    except OSError as error:
        raise ConfigError(path, "", f"can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(path, "", f"not TOML: {error}") from None
    return parse_experiment(data, path)


def parse_experiment(data: Mapping[str, Any], where: object) -> ExperimentFile:
    """Check the content of a file, which `where` names in errors; raises ConfigError."""
    if unknown := find_unknown_key(ExperimentFile, data):
        setting, known = unknown
        hint = list_known_names(setting.rpartition(".")[2], known)
        raise ConfigError(where, setting, f"no such setting {hint}; a key of your own begins with {CUSTOM_KEY_PREFIX}")
    plain = json.loads(json.dumps(data, default=str))
    try:
        # As JSON, because only there strict means: a list is a tuple, but "30" is no number.
        return ExperimentFile.model_validate_json(json.dumps(plain), strict=True)
    except ValidationError as error:
        setting, problem = describe_first_error(plain, error)
        if problem == MISSING:
            problem += EXAMPLES.get(setting, "")
        elif setting == "stop" and "; found" in problem:  # it says what it found by itself
            problem = problem.partition(", found")[0]
        tables = "a text or a table" if SHORT_FORM_PLACES.fullmatch(setting) else "a table"
        for json_word, toml_word in (("a valid array", "a list"), ("an object", tables)):
            problem = problem.replace(json_word, toml_word)
        raise ConfigError(where, setting, problem) from None
