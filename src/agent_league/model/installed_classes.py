"""Classes that others install by an entry point group: found by name, and made with the settings of a league file.

An entry point names a dataclass whose fields are its settings. Knows nothing of what the classes do.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agent_league.errors import ConfigError, UserError
from agent_league.model.names import list_known_names
from agent_league.text import MAX_PHRASE, quote


class InstalledClasses:
    """All installed classes of one kind."""

    def __init__(self, kind: str, group: str) -> None:
        """`kind` is the noun for one of them in a sentence, `group` the entry point group."""
        self._kind = kind
        self._group = group
        self._loaded: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._entry_points))

    def forget(self) -> None:
        """Look for installed classes again when they are next asked for."""
        self.__dict__.pop("_entry_points", None)
        self._loaded.clear()

    def make(self, name: str, settings: Mapping[str, Any] | None = None) -> Any:
        """Make one with settings, as a league file has them; raises ConfigError if there are wrong ones."""
        made = self.load_class(name)
        given = dict(settings or {})
        self._check_setting_names(name, given)
        try:
            return made(**given)
        except UserError:
            raise
        except Exception as error:
            raise ConfigError(f"{self._kind} {name}", "", f"can't be made: {quote(error, MAX_PHRASE)}") from error

    def load_class(self, name: str) -> Any:
        """Load a class; raises ConfigError if it isn't installed or can't be loaded."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def setting_names(self, name: str) -> tuple[str, ...]:
        """The names of its settings."""
        return tuple(setting.name for setting in fields(self.load_class(name)) if setting.init)

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self._group)}

    def _load(self, name: str) -> Any:
        point = self._entry_points.get(name)
        if point is None:
            known = list_known_names(name, self.names)
            raise ConfigError(self._kind, "", f"no {self._kind} {quote(name)} is installed {known}")
        try:
            made = point.load()
        except (Exception, SystemExit) as error:
            raise ConfigError(self._kind, "", f"{name!r} can't be loaded: {quote(error, MAX_PHRASE)}") from error
        if not (isinstance(made, type) and is_dataclass(made)):
            raise ConfigError(f"entry point {self._group}", name, f"{point.value} is not a dataclass")
        own_name = getattr(made, "name", None)
        if own_name != name:
            told = f"entry point {name!r} gives a {self._kind} called {own_name!r}; they must be equal"
            raise ConfigError(f"entry point {self._group}", name, told)
        return made

    def _check_setting_names(self, name: str, given: Mapping[str, Any]) -> None:
        known, where = self.setting_names(name), f"{self._kind} {name}"
        for unknown in sorted(given.keys() - set(known)):
            told = f"expected a setting of this {self._kind} {list_known_names(unknown, known)}, found {quote(unknown)}"
            raise ConfigError(where, "", told)
        for setting in fields(self.load_class(name)):
            has_default = setting.default is not MISSING or setting.default_factory is not MISSING
            if setting.init and not has_default and setting.name not in given:
                raise ConfigError(where, setting.name, "expected a value, found none")
