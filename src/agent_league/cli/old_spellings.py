"""Commands and options that had other names in the last version, and what they are called now.

Old spellings are rewritten before anything reads them, and each is followed by a hint; the next version may drop them.
Knows names alone, not what they mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

OLD_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "start": ("admin", "start"),
    "version": ("--version",),
    **{name: ("dev", name) for name in ("bench", "schemas", "simulate-faults", "spec")},
}
"""What stands now where a command had one word."""
OLD_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "admin": {"--league": "--league-id", "--url": "--public-url"},
    "assess": {"--limit": "--time-limit"},
    "class": {"--url": "--public-url"},
    "connect": {"--to": "--manager"},
    "experiment": {"--csv": "--games-csv"},
    "grades": {"--csv": "--everything", "--url": "--public-url"},
    "invite-a2a": {"--to": "--manager"},
    "player": {"--stay": "--rejoin"},
    "simulate": {"--players": "--strategy", "--rounds": "--games"},
}
"""By command, as it is called now: old options and what they are called now."""

OLD_VALUES: Mapping[str, Mapping[str, str]] = {"export": {"--json": "--json-file"}}
"""By command: options that took a value, and what those are called now that take one; without it they are others."""


@dataclass(frozen=True, slots=True)
class Respelled:
    """Arguments in today's spelling, and a hint for each old one."""

    arguments: list[str]
    hints: list[str]


def respell(arguments: Sequence[str]) -> Respelled:
    """Rewrite the arguments of the command `league`, up to a lone `--`, as they are spelled now."""
    command, *rest = arguments or [""]
    hints = []
    if now := OLD_COMMANDS.get(command):
        hints.append(f"`league {command}` is called `league {' '.join(now)}` now.")
    spelled = [*now, *rest] if now else [*arguments]
    renamed = OLD_OPTIONS.get(spelled[0] if spelled else "", {})
    valued = OLD_VALUES.get(spelled[0] if spelled else "", {})
    end = spelled.index("--") if "--" in spelled else len(spelled)
    for at, argument in enumerate(spelled[:end]):
        name, equals, value = argument.partition("=")
        has_value = bool(equals) or (at + 1 < end and not spelled[at + 1].startswith("--"))
        if new := renamed.get(name) or (valued.get(name) if has_value else None):
            spelled[at] = f"{new}{equals}{value}"
            hints.append(f"{name} is called {new} now.")
    return Respelled(spelled, hints)
