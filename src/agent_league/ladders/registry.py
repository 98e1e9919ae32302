"""Finding ladders: built-in and third-party ones by the entry point group `agent_league.ladders`.

An entry point names a ladder's class, a dataclass whose fields are its settings.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agent_league.errors import ConfigError, UserError
from agent_league.ladders.base import Ladder
from agent_league.model.names import list_known_names
from agent_league.text import MAX_PHRASE, quote

LADDER_ENTRY_POINTS = "agent_league.ladders"


def ladder_names() -> tuple[str, ...]:
    """The names of all installed ladders."""
    return tuple(sorted(_find_entry_points()))


def load_ladder(name: str, settings: Mapping[str, Any] | None = None) -> Ladder:
    """Create a ladder with settings, as a league file has them; raises ConfigError if there are wrong ones."""
    made = load_ladder_class(name)
    given = dict(settings or {})
    _check_setting_names(name, given)
    try:
        ladder: Ladder = made(**given)
    except UserError:
        raise
    except Exception as error:
        raise ConfigError(f"ladder {name}", "", f"can't be made: {quote(error, MAX_PHRASE)}") from error
    return ladder


@cache
def load_ladder_class(name: str) -> Any:
    """Load the class of a ladder; raises ConfigError if it isn't installed or can't be loaded."""
    point = _find_entry_points().get(name)
    if point is None:
        known = list_known_names(name, ladder_names())
        raise ConfigError("ladder", "", f"no ladder {quote(name)} is installed {known}")
    try:
        made = point.load()
    except (Exception, SystemExit) as error:
        raise ConfigError("ladder", "", f"{name!r} can't be loaded: {quote(error, MAX_PHRASE)}") from error
    if not (isinstance(made, type) and is_dataclass(made)):
        raise ConfigError(f"entry point {LADDER_ENTRY_POINTS}", name, f"{point.value} is not a dataclass")
    own_name = getattr(made, "name", None)
    if own_name != name:
        told = f"entry point {name!r} gives a ladder called {own_name!r}; they must be equal"
        raise ConfigError(f"entry point {LADDER_ENTRY_POINTS}", name, told)
    return made


def setting_names(name: str) -> tuple[str, ...]:
    """The names of a ladder's settings."""
    return tuple(setting.name for setting in fields(load_ladder_class(name)) if setting.init)


def _check_setting_names(name: str, given: Mapping[str, Any]) -> None:
    known = setting_names(name)
    for unknown in sorted(given.keys() - set(known)):
        told = f"expected a setting of this ladder {list_known_names(unknown, known)}, found {quote(unknown)}"
        raise ConfigError(f"ladder {name}", "", told)
    for setting in fields(load_ladder_class(name)):
        has_default = setting.default is not MISSING or setting.default_factory is not MISSING
        if setting.init and not has_default and setting.name not in given:
            raise ConfigError(f"ladder {name}", setting.name, "expected a value, found none")


@cache
def _find_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=LADDER_ENTRY_POINTS)}
